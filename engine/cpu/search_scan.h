/*
 * Template of a scan. Before including it define
 *
 *   SCAN(name)      name of a function
 *   TARGET          target attribute
 *   VI, VF          vectors of LANES int32 and floats
 *   LANES, VECTORS  a panel has LANES * VECTORS rows
 *   EACH_VECTOR(X), EACH_VECTOR_OF(X, j)  X(0) X(1) ..., X(j, 0) X(j, 1) ...
 *   LOADI(p), STOREI(p, v), SETI(x), DOT(acc, rows, query)
 *                   DOT adds, in each 32-bit lane, the products of the four bytes
 *                   (or two 16-bit numbers) of rows and query
 *   FLOATS(v)       int32 to float
 *   LOADF(p), SETF(x), MUL(a, b), FMA(a, b, c)
 *   NOTLESS(a, b)   bit mask of the lanes where a < b is false, NaN included
 *   PUSH(l, v, m, slot)  appends the lanes of mask m to a list with their slots
 *
 * Layout of a panel: for each step of four bytes of a row's code, one such step of
 * each row in turn; then floats, one a row each: scale s, norm n, residual r, bias b.
 *
 * For each query of codes a and factors f, g, h and each row the scan
 * computes, with I = start + sum of products,
 *
 *   upper = s*I + f*n + g*r + h*b
 *
 * and keeps the rows whose upper is not below the query's bound. search_bound.go
 * says why upper is one.
 *
 * A register tile is 6 queries x VECTORS vectors of rows, the sums in registers: 24
 * accumulators for AVX-512, 12 for AVX2. Rows are the lanes, so that no sum crosses
 * lanes and the comparison is a vector one: 6 operations for LANES pairs.
 */

enum { SCAN(rows) = LANES * VECTORS };

/* Sums of products of a panel with six queries, or one: sums[j*rows + r]. The
 * accumulators have names because gcc 12 keeps an array of them in memory. One query
 * waits for memory, so the panel ahead is fetched meanwhile. */
TARGET ALWAYS_INLINE static void SCAN(sums6)(int32_t *sums, const struct encbench_list *list, const uint8_t *p,
                                             int64_t steps, const uint8_t *q)
{
#define NEW(j, v) VI a##j##v = SETI(list[j].start);
#define ADD(j, v) a##j##v = DOT(a##j##v, x##v, y);
#define PUT(j, v) STOREI(sums + j * SCAN(rows) + v * LANES, a##j##v);
#define ROWS(v) const VI x##v = LOADI(p + v * LANES * 4);
#define QUERY(j) \
	{ \
		int32_t word; \
		memcpy(&word, q + j * 4, 4); \
		const VI y = SETI(word); \
		EACH_VECTOR_OF(ADD, j) \
	}
	EACH_VECTOR_OF(NEW, 0) EACH_VECTOR_OF(NEW, 1) EACH_VECTOR_OF(NEW, 2)
	EACH_VECTOR_OF(NEW, 3) EACH_VECTOR_OF(NEW, 4) EACH_VECTOR_OF(NEW, 5)
	for (int64_t i = 0; i < steps; i++) {
		EACH_VECTOR(ROWS)
		QUERY(0) QUERY(1) QUERY(2) QUERY(3) QUERY(4) QUERY(5)
		p += SCAN(rows) * 4;
		q += 24;
	}
	EACH_VECTOR_OF(PUT, 0) EACH_VECTOR_OF(PUT, 1) EACH_VECTOR_OF(PUT, 2)
	EACH_VECTOR_OF(PUT, 3) EACH_VECTOR_OF(PUT, 4) EACH_VECTOR_OF(PUT, 5)
}

TARGET ALWAYS_INLINE static void SCAN(sums1)(int32_t *sums, const struct encbench_list *list, const uint8_t *p,
                                             int64_t steps, const uint8_t *q, const uint8_t *ahead)
{
	EACH_VECTOR_OF(NEW, 0)
	for (int64_t i = 0; i < steps; i++) {
		for (int line = 0; line < SCAN(rows) * 4; line += 64)
			_mm_prefetch((const char *)ahead + line, _MM_HINT_T1);
		EACH_VECTOR(ROWS)
		QUERY(0)
		p += SCAN(rows) * 4;
		ahead += SCAN(rows) * 4;
		q += 4;
	}
	EACH_VECTOR_OF(PUT, 0)
#undef NEW
#undef ADD
#undef PUT
#undef ROWS
#undef QUERY
}

TARGET ALWAYS_INLINE static void SCAN(tile)(struct encbench_scan *s, struct encbench_list *list, int nq,
                                            const uint8_t *panel, const uint8_t *ahead, int64_t steps,
                                            const uint8_t *q, uint32_t slot, int64_t rows_in, const uint32_t *owner, uint32_t *marks)
{
	_Alignas(64) int32_t sums[6 * LANES * VECTORS];
	if (nq == 1)
		SCAN(sums1)(sums, list, panel, steps, q, ahead);
	else
		SCAN(sums6)(sums, list, panel, steps, q);
	const float *f = (const float *)(panel + SCAN(rows) * 4 * steps);
	for (int j = 0; j < nq; j++) {
		const VF bound = SETF(list[j].bound), factor = SETF(list[j].row_factor),
			 residual = SETF(list[j].residual_factor), bias = SETF(list[j].bias_factor);
		VF upper[VECTORS];
		uint64_t hit = 0;
#pragma GCC unroll 4
		for (int v = 0; v < VECTORS; v++) {
			const float *g = f + v * LANES;
			VF e = MUL(LOADF(g + 2 * SCAN(rows)), residual);
			e = FMA(LOADF(g + SCAN(rows)), factor, e);
			e = FMA(LOADF(g + 3 * SCAN(rows)), bias, e);
			upper[v] = FMA(FLOATS(LOADI(sums + j * SCAN(rows) + v * LANES)), LOADF(g), e);
			hit |= (uint64_t)NOTLESS(upper[v], bound) << (v * LANES);
		}
		if (__builtin_expect(hit != 0, 0)) {
			if (rows_in - slot < SCAN(rows))
				hit &= ((uint64_t)1 << (rows_in - slot)) - 1;
			if (list[j].n + SCAN(rows) + LANES > list[j].cap && !make_room(s, &list[j], owner, marks))
				continue;
#pragma GCC unroll 4
			for (int v = 0; v < VECTORS; v++)
				PUSH(&list[j], upper[v], (uint32_t)(hit >> (v * LANES)) & ((1u << LANES) - 1), slot + v * LANES);
		}
	}
}

TARGET static void SCAN(run)(struct encbench_scan *s, const uint8_t *codes, int64_t steps, int64_t panels,
                             int64_t rows_in, int64_t first, int64_t step, int64_t count, const uint8_t *q,
                             const uint32_t *owner, uint32_t *marks)
{
	const int64_t bytes = SCAN(rows) * (steps * 4 + 16), lines = (bytes + 63) / 64;
	const int64_t sixes = (s->queries + 5) / 6, share = (lines + sixes - 1) / sixes;
	int64_t at = first;
	for (int64_t c = 0; c < count; c++) {
		const uint8_t *panel = codes + at * bytes;
		const uint32_t slot = (uint32_t)(at * SCAN(rows));
		at += step;
		if (at >= panels)
			at -= panels;
		const uint8_t *ahead = codes + at * bytes, *end = ahead + bytes;
		if (s->queries == 1) {
			SCAN(tile)(s, s->list, 1, panel, ahead, steps, q, slot, rows_in, owner, marks);
		} else {
			for (int64_t j = 0; j < sixes; j++) {
				/* The next panel is elsewhere: fetch it piece by piece. */
				for (int64_t i = 0; i < share && ahead < end; i++, ahead += 64)
					_mm_prefetch((const char *)ahead, _MM_HINT_T1);
				SCAN(tile)(s, s->list + 6 * j, 6, panel, NULL, steps, q + j * steps * 24, slot, rows_in, owner, marks);
			}
		}
		s->seen += rows_in - slot < SCAN(rows) ? rows_in - slot : SCAN(rows);
		if (s->guess && s->seen >= s->refresh) {
			s->refresh = 2 * s->seen;
			for (int64_t j = 0; j < s->queries; j++)
				raise_bound(s, &s->list[j], owner, marks);
		}
	}
}

#undef SCAN
#undef VI
#undef VF
#undef LANES
#undef VECTORS
#undef EACH_VECTOR
#undef EACH_VECTOR_OF
#undef LOADI
#undef STOREI
#undef SETI
#undef DOT
#undef FLOATS
#undef LOADF
#undef SETF
#undef MUL
#undef FMA
#undef NOTLESS
#undef PUSH
