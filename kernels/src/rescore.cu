// Scores by the rule of all backends: products in float64, where those of two floats are
// exact, added in eight lanes by index mod 8, the lanes in a fixed tree, one rounding.
//
// Registers, shared memory and occupancy: kernels/ptx/resources.md.
#include "lists.cuh"

namespace {

// Metrics, as engine/cpu numbers them.
enum { PRODUCT, COSINE, L2 };

// total adds the lanes of eight neighbouring threads: ((0+4)+(2+6))+((1+5)+(3+7)).
// Addition commutes, so every one of them gets the same bits.
DEVICE double total(double lane) {
	lane += shuffle_xor(lane, 4);
	lane += shuffle_xor(lane, 2);
	lane += shuffle_xor(lane, 1);
	return lane;
}

// exact is the score of a query, in float32, and a row by the eight threads of a group; norm is that of
// the row, query_norm that of the query.
template <class T> DEVICE float exact(const float *q, const T *x, u32 dim, u32 metric, double query_norm, double norm) {
	double lane = 0;
	for (u32 i = thread() & 7; i < dim; i += 8) {
		const double a = q[i], b = widen(x[i]);
		if (metric == L2) {
			const double d = a - b, square = d * d;
			lane = lane + square;
		} else
			lane = lane + a * b;
	}
	const double sum = total(lane);
	if (metric == L2)
		return (float)(0 - sum);
	if (metric == COSINE) {
		const double norms = query_norm * norm;
		return norms == 0 ? 0 : (float)quotient(sum, norms);
	}
	return (float)sum;
}

// norm is √(v·v) by eight threads.
template <class T> DEVICE double norm(const T *v, u32 dim) {
	double lane = 0;
	for (u32 i = thread() & 7; i < dim; i += 8)
		lane = lane + (double)widen(v[i]) * (double)widen(v[i]);
	return root(total(lane));
}

} // namespace

// encbench_rescore_T puts the exact score in place of each key's own. Blocks go over
// queries, the groups of eight threads over a list's keys.
#define RESCORE(type) \
	KERNEL(256, 2) encbench_rescore_##type(const float *queries, const type *rows, i64 dim, i64 stride, i64 metric, \
		const double *query_norms, const double *norms, u64 *keys, const u32 *count, i64 room, i64 n_queries) { \
		for (u32 q = block(); q < (u32)n_queries; q += blocks()) { \
			const u32 n = count[q] < (u32)room ? count[q] : (u32)room; \
			for (u32 i = thread() / 8; i < (n + 31) / 32 * 32; i += 32) { \
				const u64 key = keys[(u64)q * (u64)room + (i < n ? i : 0)]; \
				const u32 row = n ? row_of(key) : 0; \
				const float v = exact(queries + (u64)q * (u64)dim, rows + (u64)row * (u64)stride, n ? (u32)dim : 0, (u32)metric, \
					metric == COSINE ? query_norms[q] : 0, metric == COSINE && n ? norms[row] : 0); \
				if (i < n && (thread() & 7) == 0) \
					keys[(u64)q * (u64)room + i] = key_of(v, row); \
			} \
		} \
	}

RESCORE(f16)
RESCORE(bf16)
RESCORE(float)

// encbench_exact_T keeps rows by their exact scores: for queries of which the tile search
// could not be certain. Blocks go over rows.
#define EXACT(type) \
	KERNEL(256, 2) encbench_exact_##type(const float *queries, i64 n_queries, const type *rows, i64 n_rows, i64 dim, i64 stride, i64 first, \
		i64 metric, const double *query_norms, const double *norms, const u64 *threshold, const u64 *ceiling, const u32 *active, u64 *keys, \
		u32 *count, i64 room) { \
		const Lists lists{threshold, ceiling, active, keys, count, (u32)room}; \
		for (u64 r = (u64)block() * 32 + thread() / 8; r < ((u64)n_rows + 31) / 32 * 32; r += (u64)blocks() * 32) { \
			const u64 row = r < (u64)n_rows ? r : 0; \
			for (u32 q = 0; q < (u32)n_queries; q++) { \
				if (active && !active[q]) \
					continue; \
				const float v = exact(queries + (u64)q * (u64)dim, rows + row * (u64)stride, (u32)dim, (u32)metric, \
					metric == COSINE ? query_norms[q] : 0, metric == COSINE ? norms[row] : 0); \
				if (r < (u64)n_rows && (thread() & 7) == 0) \
					keep(lists, q, key_of(v, (u32)first + (u32)r)); \
			} \
		} \
	}

EXACT(f16)
EXACT(bf16)
EXACT(float)

// encbench_norms_T gives √(v·v) of each row in float64, and counts rows that hold what is no
// finite number.
#define NORMS(type) \
	KERNEL(256, 2) encbench_norms_##type(const type *rows, i64 n_rows, i64 dim, i64 stride, double *norms, u32 *bad) { \
		for (u64 r = (u64)block() * 32 + thread() / 8; r < ((u64)n_rows + 31) / 32 * 32; r += (u64)blocks() * 32) { \
			const u64 row = r < (u64)n_rows ? r : 0; \
			const double v = norm(rows + row * (u64)stride, (u32)dim); \
			if (r < (u64)n_rows && (thread() & 7) == 0) { \
				norms[r] = v; \
				if (!(v <= 1.7976931348623157e308)) \
					atomic_add(bad, 1); \
			} \
		} \
	}

NORMS(f16)
NORMS(bf16)
NORMS(float)
