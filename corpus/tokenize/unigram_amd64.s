//go:build !noasm

#include "go_asm.h"
#include "textflag.h"

#define SPACES(text, mask) \
	VPCMPEQB  Y12, text, Y2 \
	VPCMPEQB  Y13, text, Y3 \
	VPCMPEQB  Y14, text, Y4 \
	VPCMPEQB  Y15, text, Y5 \
	VPOR      Y2, Y3, Y2    \
	VPOR      Y4, Y5, Y4    \
	VPOR      Y2, Y4, Y2    \
	VPMOVMSKB Y2, mask

// func classifySpacesAVX2(c *chunk, s []byte, carry uint64, set [4]byte) uint64
TEXT ·classifySpacesAVX2(SB), NOSPLIT, $0-56
	MOVQ         c+0(FP), DI
	MOVQ         s_base+8(FP), SI
	MOVQ         s_len+16(FP), CX
	MOVQ         carry+32(FP), AX
	VPBROADCASTB set_0+40(FP), Y12
	VPBROADCASTB set_1+41(FP), Y13
	VPBROADCASTB set_2+42(FP), Y14
	VPBROADCASTB set_3+43(FP), Y15
	LEAQ         chunk_starts(DI), R12
	LEAQ         chunk_stops(DI), R13
	SHRQ         $6, CX

block:
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, 32(DI)
	SPACES(Y0, R8)
	SPACES(Y1, R10)
	SHLQ    $32, R10
	ORQ     R10, R8
	NOTQ    R8                 // runs
	LEAQ    (AX)(R8*2), BX     // runs<<1 | carry
	ANDQ    R8, BX             // inside
	MOVQ    R8, AX
	SHRQ    $63, AX
	NOTQ    BX
	ANDQ    BX, R8
	MOVQ    R8, (R12)
	MOVQ    BX, (R13)
	ADDQ    $64, SI
	ADDQ    $64, DI
	ADDQ    $8, R12
	ADDQ    $8, R13
	DECQ    CX
	JNZ     block

	VZEROUPPER
	MOVQ AX, ret+48(FP)
	RET
