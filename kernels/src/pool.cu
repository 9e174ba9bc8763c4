// A model's hidden states made into rows, where its graph does not do that itself.
//
// Registers, shared memory and occupancy: kernels/ptx/resources.md.
#include "block.cuh"
#include "warp.cuh"

namespace {
// How the states of a row become one.
enum { MEAN, FIRST, LAST };

// sum adds n states' values, dim apart, in order.
template <class T> DEVICE double sum(const T *states, u32 n, u64 dim) {
	double all = 0;
	for (u32 t = 0; t < n; t++)
		all += (double)widen(states[t * dim]);
	return all;
}

} // namespace

// encbench_pool_T makes a row of each row's states [tokens][dim], float16 where half is
// not 0, else float32, of which the first lengths[row] count: their mean, in order in float64, the first or the last; rounded to
// float32, divided by its length where normalized is not 0, and rounded to the type of
// rows. A row without states, or whose length is 0, is zeros, and so is what lies between
// dim and stride. infinite counts values that became infinite. A block makes a row, in
// shared memory of dim floats.
#define POOL(to) \
	KERNEL(256, 4) encbench_pool_##to(const void *states, i64 half, const u32 *lengths, i64 n_rows, i64 tokens, i64 dim, i64 how, i64 normalized, \
		to *out, i64 stride, u32 *infinite) { \
		float *pooled = shared<float>(0); \
		NOUNROLL for (u32 r = block(); r < (u32)n_rows; r += blocks()) { \
			const u32 n = lengths[r] < (u32)tokens ? lengths[r] : (u32)tokens; \
			const u32 begin = how == LAST && n ? n - 1 : 0, end = how == FIRST && n ? 1 : n; \
			NOUNROLL for (u32 d = thread(); d < (u32)dim; d += THREADS) { \
				const u64 at = ((u64)r * (u64)tokens + begin) * (u64)dim + d; \
				const double all = half ? sum((const f16 *)states + at, end - begin, (u64)dim) : sum((const float *)states + at, end - begin, (u64)dim); \
				pooled[d] = n ? (float)quotient(all, (double)(end - begin)) : 0; \
			} \
			barrier(); \
			double squares = 0; /* every warp adds all of them: so they need not wait for one */ \
			NOUNROLL for (u32 d = lane(); d < (u32)dim; d += 32) \
				squares += (double)pooled[d] * (double)pooled[d]; \
			const double length = normalized ? root(sum_of_warp(squares)) : 1; \
			NOUNROLL for (u32 d = thread(); d < (u32)stride; d += THREADS) { \
				const float v = d < (u32)dim && length != 0 ? (float)quotient((double)pooled[d], length) : 0; \
				to *at = out + (u64)r * (u64)stride + d; \
				narrow(v, at); \
				const float back = widen(*at); \
				if (v - v == 0 && back - back != 0) \
					atomic_add(infinite, 1); \
			} \
			barrier(); /* the next row takes the same memory */ \
		} \
	}

POOL(float)
POOL(f16)
POOL(bf16)
