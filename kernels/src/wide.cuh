// The tile search of capability 9.0a: tiles of 128 queries × 256 rows, steps of 64
// dimensions, which the copy engine brings into four stages.
//
// A warp asks for the copies; two warpgroups multiply, each 64 queries by all
// rows of the tile. A stage is full when its bytes have come, and empty again when the
// eight warps have multiplied; the copies of a tile run under the end of the one before.
// What becomes of scores is as in tile.cuh.
#pragma once

#include "hopper.cuh"
#include "sift.cuh"
#include "swizzle.cuh"

struct Wide {
	static constexpr u32 M = 128, N = 256, K = 64, STAGES = 4;
	static constexpr u32 WARPS = 8;                    // that multiply
	static constexpr u32 THREADS = (WARPS + 4) * 32;   // and a warpgroup of which one warp copies
	static constexpr u32 STAGE = (M + N) * K * 2;            // bytes
	static constexpr u32 BARRIERS = STAGES * STAGE, SHARED = BARRIERS + 2 * STAGES * 8;
};

// described is the operand of a product whose rows, of 64 elements, lie in a stage: eight
// rows are 1,024 bytes, and parts are swizzled as `at` has it. The element 16 further
// begins 2 further.
DEVICE u64 described(const void *rows) {
	const u64 at = address(rows) >> 4 & 0x3FFF, unused = 1, eight = 1024 >> 4, swizzle = 1;
	return at | unused << 16 | eight << 32 | swizzle << 62;
}

// wide is the kernel, for blocks of Wide::THREADS threads. The maps are of the queries in
// boxes of M × K and of the rows in boxes of N × K; row i is number first + i·step.
DEVICE void wide(const TensorMap *queries, u32 n_queries, const TensorMap *rows, u32 n_rows, u32 dim, u32 first, u32 step, bool bfloat, const Measure &measure, const Lists &lists) {
	using W = Wide;
	const u32 query_tiles = (n_queries + W::M - 1) / W::M, row_tiles = (n_rows + W::N - 1) / W::N;
	const u32 all = query_tiles * row_tiles, steps = (dim + W::K - 1) / W::K;
	u64 *full = shared<u64>(W::BARRIERS), *empty = full + W::STAGES;
	if (thread() == 0) {
		for (u32 s = 0; s < W::STAGES; s++) {
			mbarrier_init(full + s, 1);
			mbarrier_init(empty + s, W::WARPS);
		}
		mbarriers_ready();
	}
	barrier();
	const u32 warp = thread() / 32;
	u32 done = 0; // steps
	// Each of 384 threads may have 168 registers, and those that multiply need more.
	if (warp >= W::WARPS) {
		registers_fewer<24>();
		if (thread() == W::WARPS * 32)
			NOUNROLL for (u32 tile = block(); tile < all; tile += blocks())
				NOUNROLL for (u32 s = 0; s < steps; s++, done++) {
					const u32 stage = done % W::STAGES;
					u8 *to = shared<u8>(stage * W::STAGE);
					mbarrier_wait(empty + stage, ~(done / W::STAGES) & 1);
					mbarrier_expect(full + stage, W::STAGE);
					tma_load(to, queries, s * W::K, tile % query_tiles * W::M, full + stage);
					tma_load(to + W::M * W::K * 2, rows, s * W::K, tile / query_tiles * W::N, full + stage);
				}
		return;
	}
	registers_more<240>();
	const u32 group = warp / 4;
	NOUNROLL for (u32 tile = block(); tile < all; tile += blocks()) {
		float acc[1][W::N / 8][4] = {};
		NOUNROLL for (u32 s = 0; s < steps; s++, done++) {
			const u32 stage = done % W::STAGES;
			const u8 *from = shared<u8>(stage * W::STAGE);
			const u64 a = described(from + group * 64 * W::K * 2), b = described(from + W::M * W::K * 2);
			mbarrier_wait(full + stage, done / W::STAGES & 1);
			auto multiply = [&](auto type) {
				wgmma_fence();
				UNROLL for (u32 k = 0; k < W::K / 16; k++)
					wgmma(acc[0], a + 2 * k, b + 2 * k, type);
				wgmma_commit();
			};
			if (bfloat)
				multiply(bf16{});
			else
				multiply(f16{});
			wgmma_wait<1>(); // the step before has ended while this one runs
			if (s > 0 && lane() == 0)
				mbarrier_arrive(empty + (done - 1) % W::STAGES);
		}
		wgmma_wait<0>();
		settle(acc[0]);
		if (lane() == 0)
			mbarrier_arrive(empty + (done - 1) % W::STAGES);
		sift<1, W::N / 8>(acc, tile % query_tiles * W::M + warp * 16, n_queries, tile / query_tiles * W::N, n_rows, first, step, measure, lists);
	}
}
