//go:build !noasm

#include "go_asm.h"
#include "textflag.h"

DATA lanes<>+0(SB)/4, $0
DATA lanes<>+4(SB)/4, $1
DATA lanes<>+8(SB)/4, $2
DATA lanes<>+12(SB)/4, $3
DATA lanes<>+16(SB)/4, $4
DATA lanes<>+20(SB)/4, $5
DATA lanes<>+24(SB)/4, $6
DATA lanes<>+28(SB)/4, $7
DATA lanes<>+32(SB)/4, $8
DATA lanes<>+36(SB)/4, $9
DATA lanes<>+40(SB)/4, $10
DATA lanes<>+44(SB)/4, $11
DATA lanes<>+48(SB)/4, $12
DATA lanes<>+52(SB)/4, $13
DATA lanes<>+56(SB)/4, $14
DATA lanes<>+60(SB)/4, $15
GLOBL lanes<>(SB), RODATA|NOPTR, $64

// func filterAVX512(dst, ids []int32, words *[64]uint32) int
//
// The 64 words lie in Z16 to Z19; the places of the ids at hand in Z8.
TEXT ·filterAVX512(SB), NOSPLIT, $0-64
	MOVQ         dst_base+0(FP), DI
	MOVQ         ids_base+24(FP), SI
	MOVQ         ids_len+32(FP), CX
	MOVQ         words+48(FP), DX
	SHRQ         $4, CX
	JZ           done
	VMOVDQU32    (DX), Z16
	VMOVDQU32    64(DX), Z17
	VMOVDQU32    128(DX), Z18
	VMOVDQU32    192(DX), Z19
	VMOVDQU32    lanes<>(SB), Z8
	MOVL         $16, AX
	VPBROADCASTD AX, Z9
	MOVL         $const_Multiplier, AX
	VPBROADCASTD AX, Z10

loop:
	VPMULLD     (SI), Z10, Z1          // hash
	VPMOVD2M    Z1, K1                 // its highest bit chooses the half
	VPSRLD      $const_wordShift, Z1, Z2
	VMOVDQA32   Z2, Z3
	VPERMI2D    Z17, Z16, Z2
	VPERMI2D    Z19, Z18, Z3
	VPBLENDMD   Z3, Z2, K1, Z2         // word
	VPSRLD      $const_bitShift, Z1, Z3
	VPSRLD      $const_bit2Shift, Z1, Z1
	VPROLVD     Z3, Z2, Z3             // its bit stands highest
	VPROLVD     Z1, Z2, Z2             // and its other bit
	VPANDD      Z3, Z2, Z2
	VPMOVD2M    Z2, K2
	VPCOMPRESSD Z8, K2, Z4
	VMOVDQU32   Z4, (DI)
	KMOVW       K2, AX
	POPCNTL     AX, AX
	LEAQ        (DI)(AX*4), DI
	VPADDD      Z9, Z8, Z8
	ADDQ        $64, SI
	DECQ        CX
	JNZ         loop
	VZEROUPPER

done:
	SUBQ dst_base+0(FP), DI
	SHRQ $2, DI
	MOVQ DI, ret+56(FP)
	RET

// func filterAVX2(dst, ids []int32, words *[32]uint32) int
//
// The 32 words lie in Y8 to Y11; R8 is the place of the ids at hand.
TEXT ·filterAVX2(SB), NOSPLIT, $0-64
	MOVQ         dst_base+0(FP), DI
	MOVQ         ids_base+24(FP), SI
	MOVQ         ids_len+32(FP), CX
	MOVQ         words+48(FP), DX
	XORL         R8, R8
	SHRQ         $3, CX
	JZ           done
	VMOVDQU      (DX), Y8
	VMOVDQU      32(DX), Y9
	VMOVDQU      64(DX), Y10
	VMOVDQU      96(DX), Y11
	MOVL         $31, AX
	VMOVD        AX, X14
	VPBROADCASTD X14, Y14
	MOVL         $const_Multiplier, AX
	VMOVD        AX, X15
	VPBROADCASTD X15, Y15

loop:
	VPMULLD   (SI), Y15, Y0            // hash
	VPSRLD    $const_wordShift, Y0, Y1 // its lowest 3 bits choose the lane
	VPERMD    Y8, Y1, Y2
	VPERMD    Y9, Y1, Y3
	VPERMD    Y10, Y1, Y4
	VPERMD    Y11, Y1, Y5
	VPSLLD    $(31-3-const_wordShift), Y0, Y6
	VBLENDVPS Y6, Y3, Y2, Y2           // the next one within pairs
	VBLENDVPS Y6, Y5, Y4, Y4
	VPSLLD    $(31-4-const_wordShift), Y0, Y6
	VBLENDVPS Y6, Y4, Y2, Y2           // and the one after it the pair
	VPSRLD    $const_bitShift, Y0, Y3
	VPSRLD    $const_bit2Shift, Y0, Y0
	VPAND     Y14, Y3, Y3
	VPAND     Y14, Y0, Y0
	VPSLLVD   Y3, Y2, Y3               // its bit stands highest
	VPSLLVD   Y0, Y2, Y2               // and its other bit
	VPAND     Y3, Y2, Y2
	VMOVMSKPS Y2, AX
	TESTL     AX, AX
	JNZ       some

next:
	ADDQ $32, SI
	ADDL $8, R8
	DECQ CX
	JNZ  loop
	VZEROUPPER

done:
	SUBQ dst_base+0(FP), DI
	SHRQ $2, DI
	MOVQ DI, ret+56(FP)
	RET

some:
	TZCNTL AX, DX
	BLSRL  AX, AX
	ADDL   R8, DX
	MOVL   DX, (DI)
	ADDQ   $4, DI
	TESTL  AX, AX
	JNZ    some
	JMP    next

// func cpuHas() (avx512, avx2 bool)
TEXT ·cpuHas(SB), NOSPLIT, $0-2
	MOVB  $0, avx512+0(FP)
	MOVB  $0, avx2+1(FP)
	XORL  AX, AX
	CPUID
	CMPL  AX, $7
	JLT   out
	MOVL  $1, AX
	XORL  CX, CX
	CPUID
	ANDL  $0x18800000, CX // OSXSAVE, AVX, POPCNT
	CMPL  CX, $0x18800000
	JNE   out
	XORL  CX, CX
	XGETBV
	MOVL  AX, R8
	MOVL  $7, AX
	XORL  CX, CX
	CPUID
	MOVL  R8, AX
	ANDL  $6, AX          // XMM and YMM state
	CMPL  AX, $6
	JNE   out
	MOVL  BX, AX
	ANDL  $0x28, AX       // BMI1, AVX2
	CMPL  AX, $0x28
	JNE   out
	MOVB  $1, avx2+1(FP)
	ANDL  $0xE6, R8       // and mask and ZMM state
	CMPL  R8, $0xE6
	JNE   out
	ANDL  $0x30000, BX    // AVX512F, AVX512DQ
	CMPL  BX, $0x30000
	JNE   out
	MOVB  $1, avx512+0(FP)

out:
	RET
