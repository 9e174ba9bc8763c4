// An entry point of the tile search. Queries and rows are bfloat16 where bfloat is 1, else
// float16.
//
// Registers, shared memory and occupancy: kernels/ptx/resources.md.
#pragma once

#include "tile.cuh"

#define SEARCH(queries_in_tile, per_multiprocessor) \
	KERNEL(256, per_multiprocessor) encbench_search_##queries_in_tile( \
		const u16 *queries, i64 n_queries, const u16 *rows, i64 n_rows, i64 dim, i64 stride, i64 first, i64 step, i64 bfloat, \
		const float *scale, const float *bias, const u64 *threshold, const u64 *ceiling, const u32 *active, u64 *keys, u32 *count, i64 room) { \
		tiles<queries_in_tile>(queries, (u32)n_queries, rows, (u32)n_rows, (u32)dim, (u64)stride, (u32)first, (u32)step, bfloat != 0, \
			Measure{scale, bias}, Lists{threshold, ceiling, active, keys, count, (u32)room}); \
	}
