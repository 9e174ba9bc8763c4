//go:build !noasm

#include "go_asm.h"
#include "textflag.h"

// A byte's classes are low[low nibble] & high[high nibble], where each bit stands for
// one rectangle of the ASCII table:
//  80 letters A-O a-o   40 letters P-Z p-z   20 digits   10 white space 09-0D
//  08 the space         04 line ends 0A 0D   02 '        01 /
DATA low<>+0(SB)/8, $0xe2e0e0e0e0e0e068
DATA low<>+8(SB)/8, $0x8180949090d4f0e0
DATA low<>+16(SB)/8, $0xe2e0e0e0e0e0e068
DATA low<>+24(SB)/8, $0x8180949090d4f0e0
GLOBL low<>(SB), RODATA|NOPTR, $32

DATA high<>+0(SB)/8, $0x40804080200b0014
DATA high<>+8(SB)/8, $0
DATA high<>+16(SB)/8, $0x40804080200b0014
DATA high<>+24(SB)/8, $0
GLOBL high<>(SB), RODATA|NOPTR, $32

// A bit for each high nibble of a byte below 128.
DATA rows<>+0(SB)/8, $0x8040201008040201
DATA rows<>+8(SB)/8, $0
DATA rows<>+16(SB)/8, $0x8040201008040201
DATA rows<>+24(SB)/8, $0
GLOBL rows<>(SB), RODATA|NOPTR, $32

DATA nibble<>+0(SB)/8, $0x0f
GLOBL nibble<>(SB), RODATA|NOPTR, $8

// MASK stores the top bits of the bytes of x and y.
#define MASK(x, y, to) \
	VPMOVMSKB x, AX  \
	VPMOVMSKB y, BX  \
	SHLQ      $32, BX \
	ORQ       BX, AX \
	MOVQ      AX, to

// func classesAVX2(s *[64]byte, w *classes64)
TEXT ·classesAVX2(SB), NOSPLIT, $0-16
	MOVQ         s+0(FP), SI
	MOVQ         w+8(FP), DI
	VMOVDQU      low<>(SB), Y8
	VMOVDQU      high<>(SB), Y9
	VPBROADCASTB nibble<>(SB), Y10
	VMOVDQU      (SI), Y0
	VMOVDQU      32(SI), Y1
	MASK(Y0, Y1, classes64_high(DI))
	VPSHUFB      Y0, Y8, Y2
	VPSHUFB      Y1, Y8, Y3
	VPSRLW       $4, Y0, Y4
	VPSRLW       $4, Y1, Y5
	VPAND        Y10, Y4, Y4
	VPAND        Y10, Y5, Y5
	VPSHUFB      Y4, Y9, Y4
	VPSHUFB      Y5, Y9, Y5
	VPAND        Y4, Y2, Y2
	VPAND        Y5, Y3, Y3
	VPSLLW       $2, Y0, Y0      // the case bit
	VPSLLW       $2, Y1, Y1
	MASK(Y0, Y1, classes64_lower(DI))
	VPADDB       Y2, Y2, Y4
	VPADDB       Y3, Y3, Y5
	VPOR         Y4, Y2, Y6
	VPOR         Y5, Y3, Y7
	MASK(Y6, Y7, classes64_letter(DI))
	VPADDB       Y4, Y4, Y2      // 20
	VPADDB       Y5, Y5, Y3
	MASK(Y2, Y3, classes64_number(DI))
	VPADDB       Y2, Y2, Y4      // 10
	VPADDB       Y3, Y3, Y5
	VPADDB       Y4, Y4, Y2      // 08
	VPADDB       Y5, Y5, Y3
	VPOR         Y4, Y2, Y6
	VPOR         Y5, Y3, Y7
	MASK(Y6, Y7, classes64_space(DI))
	MASK(Y2, Y3, classes64_blank(DI))
	VPADDB       Y2, Y2, Y2      // 04
	VPADDB       Y3, Y3, Y3
	MASK(Y2, Y3, classes64_line(DI))
	VPADDB       Y2, Y2, Y2      // 02
	VPADDB       Y3, Y3, Y3
	MASK(Y2, Y3, classes64_quote(DI))
	VPADDB       Y2, Y2, Y2      // 01
	VPADDB       Y3, Y3, Y3
	MASK(Y2, Y3, classes64_slash(DI))
	VZEROUPPER
	RET

// IN leaves in to the mask of the 32 bytes at from that are not in the set of table.
// all is -1 where bytes from 128 on are in the set, else 0.
#define NOTIN(from, table, all, to) \
	VMOVDQU   from, Y0      \
	VPSHUFB   Y0, table, Y1 \
	VPSRLW    $4, Y0, Y2    \
	VPAND     Y10, Y2, Y2   \
	VPSHUFB   Y2, Y9, Y2    \
	VPAND     Y1, Y2, Y1    \
	VPCMPEQB  Y11, Y1, Y1   \
	VPMOVMSKB Y1, to        \
	VPMOVMSKB Y0, BX        \
	ANDL      all, BX       \
	NOTL      BX            \
	ANDL      BX, to

// func indexPairAVX2(text []byte, first, second *byteSet) int
TEXT ·indexPairAVX2(SB), NOSPLIT, $0-48
	MOVQ           text_base+0(FP), SI
	MOVQ           text_len+8(FP), CX
	MOVQ           first+24(FP), R8
	MOVQ           second+32(FP), R9
	VBROADCASTI128 (R8), Y7
	VBROADCASTI128 (R9), Y8
	MOVBLZX        byteSet_high(R8), R10
	NEGL           R10
	MOVBLZX        byteSet_high(R9), R11
	NEGL           R11
	VMOVDQU        rows<>(SB), Y9
	VPBROADCASTB   nibble<>(SB), Y10
	VPXOR          Y11, Y11, Y11
	XORL           DI, DI
	SUBQ           $33, CX

next:
	CMPQ DI, CX
	JGT  done
	NOTIN((SI)(DI*1), Y7, R10, AX)
	NOTIN(1(SI)(DI*1), Y8, R11, DX)
	ORL  DX, AX
	NOTL AX
	TESTL AX, AX
	JNZ  found
	ADDQ $32, DI
	JMP  next

found:
	TZCNTL AX, AX
	ADDQ   AX, DI

done:
	VZEROUPPER
	MOVQ DI, ret+40(FP)
	RET
