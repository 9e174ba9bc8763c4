// Entry points of the tile search: for each type of rows, for up to 16, 64 and more
// queries in a tile.
#include "tile.cuh"

#define SEARCH(type, queries_in_tile, per_multiprocessor) \
	KERNEL(256, per_multiprocessor) encbench_search_##type##_##queries_in_tile( \
		const type *queries, i64 n_queries, const type *rows, i64 n_rows, i64 dim, i64 stride, i64 first, i64 step, \
		const float *scale, const float *bias, const u64 *threshold, const u64 *ceiling, const u32 *active, u64 *keys, u32 *count, i64 room) { \
		tiles<type, queries_in_tile>(queries, (u32)n_queries, rows, (u32)n_rows, (u32)dim, (u64)stride, (u32)first, (u32)step, \
			Measure{scale, bias}, Lists{threshold, ceiling, active, keys, count, (u32)room}); \
	}

SEARCH(f16, 16, 2)
SEARCH(f16, 64, 1)
SEARCH(f16, 128, 1)
SEARCH(bf16, 16, 2)
SEARCH(bf16, 64, 1)
SEARCH(bf16, 128, 1)
