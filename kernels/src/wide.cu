// Entry point of the tile search of capability 9.0a, for more than 64 queries. Queries and
// rows are bfloat16 where bfloat is 1, else float16.
//
// Registers, shared memory and occupancy: kernels/ptx/resources.md.
#include "wide.cuh"

MAP_OF(encbench_search_wide, 0)
MAP_OF(encbench_search_wide, 1)

KERNEL(384, 1)
encbench_search_wide(const TensorMap queries, const TensorMap rows, i64 n_queries, i64 n_rows, i64 dim, i64 first, i64 step, i64 bfloat,
	const float *scale, const float *bias, const u64 *threshold, const u64 *ceiling, const u32 *active, u64 *keys, u32 *count, i64 room) {
	static_assert(Wide::THREADS == 384, "the bounds of the launch");
	wide(MAP(encbench_search_wide, 0, queries), (u32)n_queries, MAP(encbench_search_wide, 1, rows), (u32)n_rows, (u32)dim, (u32)first, (u32)step, bfloat != 0,
		Measure{scale, bias}, Lists{threshold, ceiling, active, keys, count, (u32)room});
}
