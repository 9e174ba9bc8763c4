// What the kernels are made of, on a device: clang's builtins and PTX, no header of
// CUDA's. kernels/emu has the same names for the CPU, and no kernel asks which it is.
//
// Rules: kernel parameters are 8 bytes wide. Shared memory is one arena, cut by shared<T>.
// Rows of 16-bit floats are read as f16 or bf16.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned u32;
typedef unsigned long long u64;
typedef long long i64;

#define DEVICE static inline __attribute__((device, always_inline))
#define KERNEL(threads, blocks) \
	extern "C" __attribute__((global)) \
	__attribute__((launch_bounds(threads, blocks))) void

// UNROLL stands before loops whose counters choose registers.
#define UNROLL _Pragma("unroll")
// NOUNROLL stands before loops of which one copy is enough.
#define NOUNROLL _Pragma("nounroll")

// f16 and bf16 are 16 bits of a float's storage.
struct f16 {
	u16 bits;
};
struct bf16 {
	u16 bits;
};

DEVICE u32 thread() { return (u32)__nvvm_read_ptx_sreg_tid_x(); }
DEVICE u32 lane() { return thread() & 31; }
DEVICE u32 threads() { return (u32)__nvvm_read_ptx_sreg_ntid_x(); }
DEVICE u32 block() { return (u32)__nvvm_read_ptx_sreg_ctaid_x(); }
DEVICE u32 blocks() { return (u32)__nvvm_read_ptx_sreg_nctaid_x(); }

extern __attribute__((shared, aligned(1024))) u8 arena[];

// shared is the part of the block's shared memory from a byte on.
template <class T> DEVICE T *shared(u32 at) { return reinterpret_cast<T *>(arena + at); }

// address is where p lies in shared memory, as instructions name it.
DEVICE u32 address(const void *p) { return (u32)(u64)(const __attribute__((address_space(3))) u8 *)p; }

// barrier waits for all threads of the block.
DEVICE void barrier() { __syncthreads(); }

// ballot gives the bits of the warp's threads for which p holds.
DEVICE u32 ballot(bool p) { return (u32)__nvvm_vote_ballot_sync(0xFFFFFFFFu, p); }

// shuffle gives v of thread from of the warp, shuffle_xor of the thread whose number
// differs in the bits of mask.
DEVICE u32 shuffle(u32 v, u32 from) { return (u32)__nvvm_shfl_sync_idx_i32(0xFFFFFFFFu, (int)v, (int)from, 31); }
DEVICE u32 shuffle_xor(u32 v, u32 mask) { return (u32)__nvvm_shfl_sync_bfly_i32(0xFFFFFFFFu, (int)v, (int)mask, 31); }
DEVICE u64 shuffle_xor(u64 v, u32 mask) {
	return (u64)shuffle_xor((u32)(v >> 32), mask) << 32 | shuffle_xor((u32)v, mask);
}
DEVICE double shuffle_xor(double v, u32 mask) {
	return __builtin_bit_cast(double, shuffle_xor(__builtin_bit_cast(u64, v), mask));
}

// Atomics, in shared or in global memory; each gives what was there before.
DEVICE u32 atomic_add(u32 *p, u32 v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }
DEVICE u32 atomic_max(u32 *p, u32 v) { return __atomic_fetch_max(p, v, __ATOMIC_RELAXED); }
DEVICE u32 atomic_or(u32 *p, u32 v) { return __atomic_fetch_or(p, v, __ATOMIC_RELAXED); }

// cp_async16 begins the copy of 16 bytes from global to shared memory, both aligned; of
// bytes, 0 or 16, the rest is zero, and nothing is read of them.
DEVICE void cp_async16(void *to, const void *from, u32 bytes) {
	__asm__ volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" : : "r"(address(to)), "l"(from), "r"(bytes) : "memory");
}
// cp_async_commit closes a group of copies, cp_async_wait waits until at most n of the
// thread's groups are under way.
DEVICE void cp_async_commit() { __asm__ volatile("cp.async.commit_group;" ::: "memory"); }
template <int n> DEVICE void cp_async_wait() { __asm__ volatile("cp.async.wait_group %0;" ::"n"(n) : "memory"); }

// ldmatrix_x4 reads four matrices of 8 × 8 16-bit elements from shared memory: thread
// 8·m + r of the warp names the 16 bytes of row r of matrix m, and thread t gets of each
// matrix the elements 2·(t mod 4) and the next of row t ÷ 4.
DEVICE void ldmatrix_x4(u32 (&to)[4], const void *row) {
	__asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
					 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
					 : "r"(address(row))
					 : "memory");
}

// mma adds a·b to c: a 16 × 16 by rows, b 16 × 8 by columns, c 16 × 8 in float32. Thread t
// holds of c the elements 2·(t mod 4) and the next of the rows t ÷ 4 and 8 more; of a and
// b what ldmatrix gives.
DEVICE void mma(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1, f16) {
	__asm__("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
			: "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
			: "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
DEVICE void mma(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1, bf16) {
	__asm__("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
			: "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
			: "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// widen gives the float that an element stands for, exactly; narrow the nearest element,
// ties to even.
DEVICE float widen(float v) { return v; }
DEVICE float widen(f16 v) {
	float f;
	__asm__("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(v.bits));
	return f;
}
DEVICE float widen(bf16 v) { return __builtin_bit_cast(float, (u32)v.bits << 16); }
DEVICE void narrow(float v, float *to) { *to = v; }
DEVICE void narrow(float v, f16 *to) { __asm__("cvt.rn.f16.f32 %0, %1;" : "=h"(to->bits) : "f"(v)); }
DEVICE void narrow(float v, bf16 *to) {
	u32 b = __builtin_bit_cast(u32, v);
	to->bits = (u16)((b & 0x7FFFFFFF) > 0x7F800000 ? b >> 16 | 0x40 : (b + 0x7FFF + (b >> 16 & 1)) >> 16);
}

// Correctly rounded: the build contracts nothing and reorders nothing.
DEVICE double root(double v) { return __nvvm_sqrt_rn_d(v); }
DEVICE double quotient(double a, double b) { return __nvvm_div_rn_d(a, b); }
