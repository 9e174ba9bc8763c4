// Scores of queries and rows, of which only those are kept that may be among the best.
//
// A block computes tiles of BM queries × 128 rows, going through the dimensions in steps
// of 64. Copies of the next steps run under the multiplication of this one, across the
// ends of tiles. What passes the query's threshold is appended to its list; scores never
// reach memory otherwise. The order of additions of a score is the same whatever BM, tile
// and block it falls to.
#pragma once

#include "sift.cuh"
#include "swizzle.cuh"

// Tile is the shape for BM queries. 8 warps share it, MW × NW of them.
template <int BM> struct Tile {
	static constexpr int N = 128, K = 64, THREADS = 256;
	static constexpr int MW = BM >= 64 ? 2 : 1, NW = 8 / MW;
	static constexpr int MI = BM / MW / 16, NI = N / NW / 8; // products of a warp
	static constexpr int STAGE = (BM + N) * K * 2;           // bytes
	static constexpr int STAGES = BM >= 128 ? 3 : 4;
	static constexpr int SHARED = STAGE * STAGES;
};

// tiles is the kernel. Row i of the block lies stride elements after row i−1 and is
// number first + i·step, whose scale and bias are those of i·step; dim is a multiple of 8,
// and what lies beyond it counts as 0.
//
// One kernel serves both types, since all but the product is the same: it is compiled
// once by the driver, and the branch at each step costs nothing beside it.
template <int BM>
DEVICE void tiles(const u16 *queries, u32 n_queries, const u16 *rows, u32 n_rows, u32 dim, u64 stride, u32 first, u32 step, bool bfloat, const Measure &measure, const Lists &lists) {
	using S = Tile<BM>;
	const u32 query_tiles = (n_queries + BM - 1) / BM, row_tiles = (n_rows + S::N - 1) / S::N;
	const u32 all = query_tiles * row_tiles, steps = (dim + S::K - 1) / S::K;
	const u32 mine = block() < all ? (all - block() + blocks() - 1) / blocks() : 0;
	const u32 warp = thread() / 32, wm = warp / S::NW, wn = warp % S::NW;
	const u32 total = mine * steps;

	// fetch begins the copies of a step into its stage. Query tiles go by fastest: the
	// rows of a panel are in the cache while all queries meet them.
	auto fetch = [&](u32 i) {
		if (i < total) {
			const u32 tile = block() + i / steps * blocks(), k = i % steps * S::K;
			const u32 q0 = tile % query_tiles * BM, r0 = tile / query_tiles * S::N;
			u8 *stage = shared<u8>(i % S::STAGES * S::STAGE);
			for (u32 c = thread(); c < (BM + S::N) * 8; c += S::THREADS) {
				const u32 row = c / 8, part = c % 8, d = k + part * 8;
				const bool query = row < BM;
				const u32 number = query ? q0 + row : r0 + row - BM;
				const bool there = d < dim && number < (query ? n_queries : n_rows);
				const u16 *from = query ? queries + (u64)number * dim + d : rows + (u64)number * stride + d;
				cp_async16(stage + at(row, part), there ? from : queries, there ? 16 : 0);
			}
		}
		cp_async_commit(); // an empty group too: waiting counts groups
	};

	constexpr u32 AHEAD = S::STAGES - 1; // steps under way beside the one that is multiplied
	u32 fetched = 0;
	NOUNROLL while (fetched < AHEAD)
		fetch(fetched++);
	for (u32 tile = block(); tile < all; tile += blocks()) {
		float acc[S::MI][S::NI][4] = {};
		NOUNROLL for (u32 s = 0; s < steps; s++) {
			cp_async_wait<S::STAGES - 2>();
			barrier(); // the step has come, and nobody reads the stage that is filled next
			fetch(fetched++);
			const u8 *stage = shared<u8>((fetched - S::STAGES) % S::STAGES * S::STAGE);
			auto multiply = [&](auto type) {
				UNROLL for (u32 k = 0; k < S::K / 16; k++) {
					u32 a[S::MI][4];
					UNROLL for (int m = 0; m < S::MI; m++)
						ldmatrix_x4(a[m], stage + at(wm * (S::MI * 16) + (u32)m * 16 + (lane() & 15), k * 2 + lane() / 16));
					UNROLL for (int n = 0; n < S::NI; n += 2) {
						u32 b[4]; // two products' rows
						ldmatrix_x4(b, stage + at(BM + wn * (S::NI * 8) + (u32)n * 8 + (lane() & 7) + lane() / 16 * 8, k * 2 + (lane() >> 3 & 1)));
						UNROLL for (int m = 0; m < S::MI; m++) {
							mma(acc[m][n], a[m], b[0], b[1], type);
							mma(acc[m][n + 1], a[m], b[2], b[3], type);
						}
					}
				}
			};
			if (bfloat)
				multiply(bf16{});
			else
				multiply(f16{});
		}
		sift<S::MI, S::NI>(acc, tile % query_tiles * BM + wm * (S::MI * 16), n_queries, tile / query_tiles * S::N + wn * (S::NI * 8), n_rows, first, step, measure, lists);
	}
}
