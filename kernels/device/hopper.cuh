// What kernels of capability 9.0a have beside prim.cuh: barriers in memory that copies
// complete, copies of boxes of a matrix, products of a whole warpgroup, four warps.
// kernels/emu has the same names for the CPU.
#pragma once

#include "prim.cuh"

// TensorMap is the driver's description of a matrix; the first parameters of a kernel.
struct __attribute__((aligned(64))) TensorMap {
	u8 opaque[128];
};

// MAP is where parameter number i of a kernel lies, a map of the given name. The map must
// stay in the memory of parameters: a copy of it is no map to the copy engine, so the
// parameter is found by the name it has in PTX.
#define MAP(kernel, i, name) parameter_##kernel##_##i()
#define MAP_OF(kernel, i) \
	DEVICE const TensorMap *parameter_##kernel##_##i() { \
		u64 p; \
		__asm__("{ .reg .u64 t; mov.u64 t, " #kernel "_param_" #i "; cvta.param.u64 %0, t; }" : "=l"(p)); \
		return reinterpret_cast<const TensorMap *>(p); \
	}

// A barrier in shared memory goes from phase to phase, numbered by parity from 0: when as
// many have arrived as it was made for, and all bytes that were expected have come.
// mbarriers_ready makes new barriers known to the copy engine.
DEVICE void mbarrier_init(u64 *b, u32 count) {
	__asm__ volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(b)), "r"(count) : "memory");
}
DEVICE void mbarriers_ready() { __asm__ volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async;" ::: "memory"); }
DEVICE void mbarrier_arrive(u64 *b) { __asm__ volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(b)) : "memory"); }
// mbarrier_expect arrives, and has the phase wait for bytes of copies too.
DEVICE void mbarrier_expect(u64 *b, u32 bytes) {
	__asm__ volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(b)), "r"(bytes) : "memory");
}
// mbarrier_wait waits until the phase of the parity is over. Of a new barrier phase 1 is.
DEVICE void mbarrier_wait(u64 *b, u32 parity) {
	u32 over;
	do
		__asm__ volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
						 : "=r"(over)
						 : "r"(address(b)), "r"(parity)
						 : "memory");
	while (!over);
}

// tma_load begins the copy of the map's box whose first element is of the column and row
// into shared memory, with parts swizzled and zeros outside the matrix; its bytes are
// told to the barrier.
DEVICE void tma_load(void *to, const TensorMap *map, u32 column, u32 row, u64 *b) {
	__asm__ volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
					 :
					 : "r"(address(to)), "l"(map), "r"(column), "r"(row), "r"(address(b))
					 : "memory");
}

// registers_fewer and registers_more change how many registers each thread of a warpgroup
// has: what some give up others take. n is a multiple of 8; all threads call it.
template <int n> DEVICE void registers_fewer() { __asm__ volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(n)); }
template <int n> DEVICE void registers_more() { __asm__ volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(n)); }

// wgmma adds a·b to c, of which a warpgroup's threads hold 64 × 256 elements: warp w the
// rows 16·w on, as c of mma, 32 of them beside each other. a and b are described: 64 and
// 256 rows of 16 elements in shared memory. It runs on after the call. wgmma_fence comes
// first when other instructions wrote c; commit closes a group; wait waits until at most n
// groups run on, and only at 0 may c be touched.
DEVICE void wgmma_fence() { __asm__ volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE void wgmma_commit() { __asm__ volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int n> DEVICE void wgmma_wait() { __asm__ volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(n) : "memory"); }

// settle keeps the compiler from moving c before what comes before it, or behind.
DEVICE void settle(float (&c)[32][4]) {
	UNROLL for (int n = 0; n < 32; n++)
		UNROLL for (int j = 0; j < 4; j++)
			__asm__ volatile("" : "+f"(c[n][j])::"memory");
}

#define C4(n) "+f"(c[n][0]), "+f"(c[n][1]), "+f"(c[n][2]), "+f"(c[n][3])
#define WGMMA(type, name) \
	DEVICE void wgmma(float (&c)[32][4], u64 a, u64 b, type) { \
		__asm__ volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32." name "." name " {" \
			"%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
			"%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
			"%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
			"%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
			"%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
			"%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
			"%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
			"%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, %128, %129, 1, 1, 1, 0, 0;" \
			: C4(0), C4(1), C4(2), C4(3), \
			  C4(4), C4(5), C4(6), C4(7), \
			  C4(8), C4(9), C4(10), C4(11), \
			  C4(12), C4(13), C4(14), C4(15), \
			  C4(16), C4(17), C4(18), C4(19), \
			  C4(20), C4(21), C4(22), C4(23), \
			  C4(24), C4(25), C4(26), C4(27), \
			  C4(28), C4(29), C4(30), C4(31) \
			: "l"(a), "l"(b)); \
	}

WGMMA(f16, "f16")
WGMMA(bf16, "bf16")
