// Rows made ready: converted and normalised.
//
// Registers, shared memory and occupancy: kernels/ptx/resources.md.
#include "block.cuh"
#include "warp.cuh"

// encbench_convert_F_T copies rows into rows of another type and stride, and zeros what
// lies between dim and stride. infinite counts values that became infinite.
#define CONVERT(from, to) \
	KERNEL(256, 4) encbench_convert_##from##_##to(const from *rows, i64 n_rows, i64 dim, i64 stride, to *out, i64 out_stride, u32 *infinite) { \
		for (u64 i = (u64)block() * THREADS + thread(); i < (u64)n_rows * (u64)out_stride; i += (u64)blocks() * THREADS) { \
			const u64 row = i / (u64)out_stride, d = i % (u64)out_stride; \
			const float v = d < (u64)dim ? widen(rows[row * (u64)stride + d]) : 0; \
			narrow(v, &out[i]); \
			const float back = widen(out[i]); \
			if (v - v == 0 && back - back != 0) \
				atomic_add(infinite, 1); \
		} \
	}

CONVERT(float, f16)
CONVERT(float, bf16)
CONVERT(float, float)
CONVERT(f16, f16)
CONVERT(bf16, bf16)

// encbench_normalize divides each row by its length; a row of zeros stays. A warp is a
// row.
KERNEL(256, 4) encbench_normalize(float *rows, i64 n_rows, i64 dim, i64 stride) {
	for (u64 r = (u64)block() * 8 + thread() / 32; r < (u64)n_rows; r += (u64)blocks() * 8) {
		float *row = rows + r * (u64)stride;
		double squares = 0;
		for (u32 d = lane(); d < (u32)dim; d += 32)
			squares += (double)row[d] * (double)row[d];
		const double length = root(sum_of_warp(squares));
		if (length == 0)
			continue;
		for (u32 d = lane(); d < (u32)dim; d += 32)
			row[d] = (float)quotient((double)row[d], length);
	}
}
