//go:build !noasm

#include "go_asm.h"
#include "textflag.h"

// A byte's class is lo[low nibble] & hi[high nibble], where each bit stands for
// one rectangle of the ASCII table:
//   1 white space 09 0A 0D   2 white space 20    4 punctuation 21-2F
//   8 punctuation 3A-3F     16 punctuation 40 60  32 punctuation 5B-5F
//  64 punctuation 7B-7E
// Zero is left for what belongs to runs.
DATA lo<>+0(SB)/8, $0x0404040404040412
DATA lo<>+8(SB)/8, $0x2c6c6d6c6c0d0504
DATA lo<>+16(SB)/8, $0x0404040404040412
DATA lo<>+24(SB)/8, $0x2c6c6d6c6c0d0504
GLOBL lo<>(SB), RODATA|NOPTR, $32

DATA hi<>+0(SB)/8, $0x4010201008060001
DATA hi<>+8(SB)/8, $0
DATA hi<>+16(SB)/8, $0x4010201008060001
DATA hi<>+24(SB)/8, $0
GLOBL hi<>(SB), RODATA|NOPTR, $32

// Byte constants: 0x0F; 3, the highest white space class; 127-'Z', which moves
// the capitals to the top of the signed range; the highest byte below them
// there.
DATA consts<>+0(SB)/8, $0x650000002503000f
GLOBL consts<>(SB), RODATA|NOPTR, $8

#define CLASSIFY(text, lowered, runs, puncts) \
	VPADDB       Y12, text, Y2    \
	VPCMPGTB     Y13, Y2, Y2      \
	VPAND        Y14, Y2, Y2      \
	VPOR         text, Y2, Y2     \
	VMOVDQU      Y2, lowered      \
	VPSHUFB      text, Y8, Y3     \
	VPSRLW       $4, text, Y4     \
	VPAND        Y10, Y4, Y4      \
	VPSHUFB      Y4, Y9, Y4       \
	VPAND        Y3, Y4, Y3       \
	VPCMPEQB     Y15, Y3, Y4      \
	VPMOVMSKB    Y4, runs         \
	VPCMPGTB     Y11, Y3, Y4      \
	VPMOVMSKB    Y4, puncts

// func classifyAVX2(c *chunk, s []byte, carry, fold uint64) uint64
TEXT ·classifyAVX2(SB), NOSPLIT, $0-56
	MOVQ         c+0(FP), DI
	MOVQ         s_base+8(FP), SI
	MOVQ         s_len+16(FP), CX
	MOVQ         carry+32(FP), AX
	MOVQ         fold+40(FP), DX
	SHRQ         $2, DX            // 0x80 in every byte becomes 0x20
	VMOVQ        DX, X14
	VPBROADCASTB X14, Y14
	VMOVDQU      lo<>(SB), Y8
	VMOVDQU      hi<>(SB), Y9
	VPBROADCASTB consts<>+0(SB), Y10
	VPBROADCASTB consts<>+2(SB), Y11
	VPBROADCASTB consts<>+3(SB), Y12
	VPBROADCASTB consts<>+7(SB), Y13
	VPXOR        Y15, Y15, Y15
	LEAQ         chunk_starts(DI), R12
	LEAQ         chunk_stops(DI), R13
	SHRQ         $6, CX

block:
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	CLASSIFY(Y0, (DI), R8, R9)
	CLASSIFY(Y1, 32(DI), R10, R11)
	SHLQ    $32, R10
	ORQ     R10, R8            // runs
	SHLQ    $32, R11
	ORQ     R11, R9            // puncts
	LEAQ    (AX)(R8*2), BX     // runs<<1 | carry
	ANDQ    R8, BX             // inside
	MOVQ    R8, AX
	SHRQ    $63, AX
	ORQ     R9, R8
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

// func walkAVX2(c *chunk, short *[shortSets]shortSet, out []int32, n int, masks *[shortKey + 1][2]uint64, w *walkState) int
//
// R8 text of the block  R9 starts  R10 stops  R11 beyond  DI next id to store
TEXT ·walkAVX2(SB), NOSPLIT, $0-72
	MOVQ masks+48(FP), DX
	ADDQ $16, DX                 // of the length less one
	MOVQ short+8(FP), SI
	MOVQ out_base+16(FP), DI
	MOVQ n+40(FP), AX
	LEAQ (DI)(AX*4), DI
	MOVQ w+56(FP), BX
	MOVQ walkState_starts(BX), R9
	MOVQ walkState_block(BX), R8
	MOVQ $const_hashMul0, R12
	MOVQ $const_hashMul1, R13
	CMPQ R8, walkState_blocks(BX)
	JGE  end

block:
	// R8 is the block's number, BX the state.
	MOVQ    out_base+16(FP), AX
	MOVQ    out_len+24(FP), CX
	LEAQ    (AX)(CX*4), AX
	SUBQ    DI, AX               // bytes of room
	POPCNTQ R9, CX
	SHLQ    $4, CX
	CMPQ    AX, CX
	JLT     end
	MOVQ    c+0(FP), AX
	MOVQ    chunk_stops(AX)(R8*8), R10
	MOVQ    (chunk_stops+8)(AX)(R8*8), R11
	SHLQ    $6, R8
	ADDQ    AX, R8               // low is the first field of a chunk
	TESTQ   R9, R9
	JZ      next

item:
	TZCNTQ R9, AX
	BLSRQ  R9, R9
	SHRXQ  AX, R10, BX
	SHRQ   $1, BX
	MOVQ   AX, CX
	NOTQ   CX
	SHLXQ  CX, R11, CX
	ORQ    CX, BX
	TZCNTQ BX, CX                // length less one
	CMPQ   CX, $15
	JA     stop
	MOVQ   CX, BX
	SHLQ   $4, BX
	VMOVDQU (R8)(AX*1), X0
	VPAND  (DX)(BX*1), X0, X0
	VMOVQ  X0, BX
	VPEXTRQ $1, X0, R15
	IMULQ  R12, BX
	IMULQ  R13, R15
	XORQ   R15, BX
	SHRQ   $const_shortShift, BX
	SHLQ   $7, BX                // bytes of a set
	VPXOR  (SI)(BX*1), X0, X1
	VPTEST X1, X1
	JNZ    stop
	MOVL   shortSlot_count(SI)(BX*1), R15
	CMPQ   R15, $const_stored
	JA     stop
	VMOVDQU shortSlot_ids(SI)(BX*1), X2
	VMOVDQU X2, (DI)
	LEAQ   (DI)(R15*4), DI
	TESTQ  R9, R9
	JNZ    item

next:
	MOVQ w+56(FP), BX
	MOVQ walkState_block(BX), R8
	INCQ R8
	MOVQ R8, walkState_block(BX)
	XORL R9, R9
	CMPQ R8, walkState_blocks(BX)
	JGE  end
	MOVQ c+0(FP), AX
	MOVQ chunk_starts(AX)(R8*8), R9
	JMP  block

stop:
	// The item at AX, of CX+1 bytes, is the caller's.
	MOVQ w+56(FP), BX
	MOVQ R9, walkState_starts(BX)
	SUBQ c+0(FP), R8
	ADDQ R8, AX
	MOVQ AX, walkState_at(BX)
	INCQ CX
	MOVQ CX, walkState_length(BX)
	JMP  out

end:
	MOVQ R9, walkState_starts(BX)
	MOVQ $0, walkState_length(BX)

out:
	SUBQ out_base+16(FP), DI
	SHRQ $2, DI
	MOVQ DI, ret+64(FP)
	RET

// func cpuHasAVX2() bool
TEXT ·cpuHasAVX2(SB), NOSPLIT, $0-1
	MOVB   $0, ret+0(FP)
	XORL   AX, AX
	CPUID
	CMPL   AX, $7
	JLT    done
	MOVL   $1, AX
	XORL   CX, CX
	CPUID
	ANDL   $0x18800000, CX // OSXSAVE, AVX, POPCNT
	CMPL   CX, $0x18800000
	JNE    done
	XORL   CX, CX
	XGETBV
	ANDL   $6, AX          // XMM and YMM state
	CMPL   AX, $6
	JNE    done
	MOVL   $7, AX
	XORL   CX, CX
	CPUID
	ANDL   $0x128, BX      // BMI1, AVX2, BMI2
	CMPL   BX, $0x128
	JNE    done
	MOVB   $1, ret+0(FP)

done:
	RET
