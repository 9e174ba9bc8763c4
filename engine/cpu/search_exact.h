/*
 * Template of the exact scores. Before including it define
 *
 *   ISA(name)     name of a function
 *   TARGET        target attribute
 *   V8            eight doubles: the lanes of the summation rule
 *   V8_ZERO()     all zero
 *   V8_LOAD(p)    from doubles, unaligned
 *   V8_WIDEN(f)   from eight floats (__m256)
 *   V8_FMA(c,a,b) c + a*b, a*b exact
 *   V8_SQUARE(c,a,b) c + d*d, d = a-b, each step rounded
 *   V8_SUM(v)     ((0+4)+(2+6)) + ((1+5)+(3+7))
 *   TILE_ROWS, TILE_QUERIES  of a register tile: rows * queries accumulators
 *
 * A tile equals, for each row x and query q,
 *
 *   double lane[8] = {0};
 *   for (i = 0; i < dim; i++) lane[i%8] += q[i]*x[i];       (or the square)
 *   sum = ((lane[0]+lane[4]) + (lane[2]+lane[6])) + ((lane[1]+lane[5]) + (lane[3]+lane[7]))
 *
 * bit for bit: the lanes are the vector, so nothing is added in another order, and
 * zeros behind dim change no lane.
 */

/* Eight values of a row of the given type as floats. */
TARGET ALWAYS_INLINE static __m256 ISA(eight)(int type, const uint8_t *row, int64_t i, float scale)
{
	switch (type) {
	case ENCBENCH_F32:
		return _mm256_loadu_ps((const float *)row + i);
	case ENCBENCH_F16:
		return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(row + 2 * i)));
	case ENCBENCH_BF16:
		return _mm256_castsi256_ps(
		    _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(row + 2 * i))), 16));
	default:
		return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(row + i)))),
		                     _mm256_set1_ps(scale));
	}
}

/* nr rows with nq queries, both constants after inlining. sums[r*nq + j]. */
TARGET ALWAYS_INLINE static void ISA(block)(int type, int l2, int nr, int nq, const uint8_t *const *row,
                                            const float *scale, const double *const *q, int64_t dim, double *sums)
{
	V8 acc[TILE_ROWS * TILE_QUERIES > 4 ? TILE_ROWS * TILE_QUERIES : 4];
	const int size = type == ENCBENCH_F32 ? 4 : type == ENCBENCH_INT8 ? 1 : 2;
#pragma GCC unroll 16
	for (int i = 0; i < nr * nq; i++)
		acc[i] = V8_ZERO();
	int64_t i = 0;
	for (; i + 8 <= dim; i += 8) {
		V8 x[4];
#pragma GCC unroll 4
		for (int r = 0; r < nr; r++)
			x[r] = V8_WIDEN(ISA(eight)(type, row[r], i, scale[r]));
#pragma GCC unroll 4
		for (int j = 0; j < nq; j++) {
			V8 y = V8_LOAD(q[j] + i);
#pragma GCC unroll 4
			for (int r = 0; r < nr; r++)
				acc[r * nq + j] = l2 ? V8_SQUARE(acc[r * nq + j], y, x[r]) : V8_FMA(acc[r * nq + j], y, x[r]);
		}
	}
	if (i < dim) {
#pragma GCC unroll 4
		for (int r = 0; r < nr; r++) {
			uint8_t tail[32] = {0};
			memcpy(tail, row[r] + i * size, (size_t)((dim - i) * size));
			V8 x = V8_WIDEN(ISA(eight)(type, tail, 0, scale[r]));
#pragma GCC unroll 4
			for (int j = 0; j < nq; j++) {
				V8 y = V8_LOAD(q[j] + i);
				acc[r * nq + j] = l2 ? V8_SQUARE(acc[r * nq + j], y, x) : V8_FMA(acc[r * nq + j], y, x);
			}
		}
	}
#pragma GCC unroll 16
	for (int n = 0; n < nr * nq; n++)
		sums[n] = V8_SUM(acc[n]);
}

TARGET ALWAYS_INLINE static void ISA(tile_of)(int type, int metric, float *dst, const uint8_t *rows, int64_t stride,
                                              int64_t n, int64_t dim, const float *scale, const double *norm,
                                              const double *q, int64_t pad, const double *qnorm, int64_t nq)
{
	for (int64_t r = 0; r < n;) {
		const int nr = n - r >= TILE_ROWS ? TILE_ROWS : 1;
		const uint8_t *row[TILE_ROWS];
		float unit[TILE_ROWS];
		for (int i = 0; i < nr; i++) {
			row[i] = rows + (r + i) * stride;
			unit[i] = type == ENCBENCH_INT8 ? scale[r + i] : 0;
		}
		for (int64_t j = 0; j < nq;) {
			const int nj = nq - j >= TILE_QUERIES ? TILE_QUERIES : 1;
			const double *query[TILE_QUERIES];
			double sums[TILE_ROWS * TILE_QUERIES];
			for (int i = 0; i < nj; i++)
				query[i] = q + (j + i) * pad;
			if (nr == 1 && nj == 1)
				ISA(block)(type, metric == ENCBENCH_L2, 1, 1, row, unit, query, dim, sums);
			else if (nr == 1)
				ISA(block)(type, metric == ENCBENCH_L2, 1, TILE_QUERIES, row, unit, query, dim, sums);
			else if (nj == 1)
				ISA(block)(type, metric == ENCBENCH_L2, TILE_ROWS, 1, row, unit, query, dim, sums);
			else
				ISA(block)(type, metric == ENCBENCH_L2, TILE_ROWS, TILE_QUERIES, row, unit, query, dim, sums);
			for (int a = 0; a < nr; a++)
				for (int b = 0; b < nj; b++)
					dst[(j + b) * n + r + a] = finish(metric, sums[a * nj + b], qnorm, j + b, norm, r + a);
			j += nj;
		}
		r += nr;
	}
}

/* Four pairs, each with a row and a query of its own: four chains hide the latency
 * of the addition, which one pair after the other would wait for. ahead: four rows
 * that come next, fetched meanwhile. */
TARGET ALWAYS_INLINE static void ISA(four)(int type, int l2, const uint8_t *const *row, const float *scale,
                                           const double *const *q, const uint8_t *const *ahead, int64_t dim,
                                           double *sums)
{
	const int size = type == ENCBENCH_F32 ? 4 : type == ENCBENCH_INT8 ? 1 : 2;
	V8 a0 = V8_ZERO(), a1 = V8_ZERO(), a2 = V8_ZERO(), a3 = V8_ZERO();
#define STEP(acc, r, p, i) \
	{ \
		const V8 x = V8_WIDEN(ISA(eight)(type, p, i, scale[r])); \
		const V8 y = V8_LOAD(q[r] + at); \
		acc = l2 ? V8_SQUARE(acc, y, x) : V8_FMA(acc, y, x); \
	}
	int64_t at = 0;
	for (; at + 16 <= dim; at += 8) {
		for (int r = 0; r < 4; r++)
			_mm_prefetch((const char *)(ahead[r] + at * size), _MM_HINT_T0);
		STEP(a0, 0, row[0], at) STEP(a1, 1, row[1], at) STEP(a2, 2, row[2], at) STEP(a3, 3, row[3], at)
		at += 8;
		STEP(a0, 0, row[0], at) STEP(a1, 1, row[1], at) STEP(a2, 2, row[2], at) STEP(a3, 3, row[3], at)
	}
	for (; at < dim; at += 8) {
		uint8_t tail[4][32] = {{0}};
		const int64_t rest = dim - at < 8 ? dim - at : 8;
		for (int r = 0; r < 4; r++)
			memcpy(tail[r], row[r] + at * size, (size_t)(rest * size));
		STEP(a0, 0, tail[0], 0) STEP(a1, 1, tail[1], 0) STEP(a2, 2, tail[2], 0) STEP(a3, 3, tail[3], 0)
	}
#undef STEP
	sums[0] = V8_SUM(a0);
	sums[1] = V8_SUM(a1);
	sums[2] = V8_SUM(a2);
	sums[3] = V8_SUM(a3);
}

TARGET ALWAYS_INLINE static void ISA(pairs_of)(int type, int metric, float *dst, const struct encbench_pair *pairs,
                                               int64_t n, const uint8_t *rows, int64_t first, int64_t stride,
                                               int64_t dim, const float *scale, const double *norm, const double *q,
                                               int64_t pad, const double *qnorm)
{
	for (int64_t p = 0; p < n; p += 4) {
		const uint8_t *row[4], *ahead[4];
		const double *query[4];
		float unit[4] = {0};
		double sums[4];
		/* The last pair fills the last four. */
		for (int i = 0; i < 4; i++) {
			const struct encbench_pair *one = &pairs[p + i < n ? p + i : n - 1];
			const struct encbench_pair *next = &pairs[p + i + 4 < n ? p + i + 4 : n - 1];
			row[i] = rows + (one->row - first) * stride;
			ahead[i] = rows + (next->row - first) * stride;
			query[i] = q + one->query * pad;
			if (type == ENCBENCH_INT8)
				unit[i] = scale[one->row - first];
		}
		ISA(four)(type, metric == ENCBENCH_L2, row, unit, query, ahead, dim, sums);
		for (int i = 0; i < 4 && p + i < n; i++)
			dst[p + i] = finish(metric, sums[i], qnorm, pairs[p + i].query, norm, pairs[p + i].row - first);
	}
}

TARGET static double ISA(dot64)(const float *a, const float *b, int64_t dim)
{
	V8 acc = V8_ZERO();
	int64_t i = 0;
	for (; i + 8 <= dim; i += 8)
		acc = V8_FMA(acc, V8_WIDEN(_mm256_loadu_ps(a + i)), V8_WIDEN(_mm256_loadu_ps(b + i)));
	if (i < dim) {
		float x[8] = {0}, y[8] = {0};
		memcpy(x, a + i, (size_t)(dim - i) * sizeof *x);
		memcpy(y, b + i, (size_t)(dim - i) * sizeof *y);
		acc = V8_FMA(acc, V8_WIDEN(_mm256_loadu_ps(x)), V8_WIDEN(_mm256_loadu_ps(y)));
	}
	return V8_SUM(acc);
}

/* One compiled loop for each type, and two metrics: L2 and the products. */
#define EACH_TYPE(CALL) \
	switch (type * 2 + (metric == ENCBENCH_L2)) { \
	case ENCBENCH_F32 * 2: CALL(ENCBENCH_F32, product) break; \
	case ENCBENCH_F32 * 2 + 1: CALL(ENCBENCH_F32, ENCBENCH_L2) break; \
	case ENCBENCH_F16 * 2: CALL(ENCBENCH_F16, product) break; \
	case ENCBENCH_F16 * 2 + 1: CALL(ENCBENCH_F16, ENCBENCH_L2) break; \
	case ENCBENCH_BF16 * 2: CALL(ENCBENCH_BF16, product) break; \
	case ENCBENCH_BF16 * 2 + 1: CALL(ENCBENCH_BF16, ENCBENCH_L2) break; \
	case ENCBENCH_INT8 * 2: CALL(ENCBENCH_INT8, product) break; \
	case ENCBENCH_INT8 * 2 + 1: CALL(ENCBENCH_INT8, ENCBENCH_L2) break; \
	}

TARGET static void ISA(tile)(int type, int metric, float *dst, const uint8_t *rows, int64_t stride, int64_t n,
                             int64_t dim, const float *scale, const double *norm, const double *q, int64_t pad,
                             const double *qnorm, int64_t nq)
{
	const int product = metric == ENCBENCH_COSINE ? ENCBENCH_COSINE : ENCBENCH_IP;
#define CALL(t, m) ISA(tile_of)(t, m, dst, rows, stride, n, dim, scale, norm, q, pad, qnorm, nq);
	EACH_TYPE(CALL)
#undef CALL
}

TARGET static void ISA(pairs)(int type, int metric, float *dst, const struct encbench_pair *pairs, int64_t n,
                              const uint8_t *rows, int64_t first, int64_t stride, int64_t dim, const float *scale,
                              const double *norm, const double *q, int64_t pad, const double *qnorm)
{
	const int product = metric == ENCBENCH_COSINE ? ENCBENCH_COSINE : ENCBENCH_IP;
#define CALL(t, m) ISA(pairs_of)(t, m, dst, pairs, n, rows, first, stride, dim, scale, norm, q, pad, qnorm);
	EACH_TYPE(CALL)
#undef CALL
}

#undef EACH_TYPE
#undef V8
#undef V8_ZERO
#undef V8_LOAD
#undef V8_WIDEN
#undef V8_FMA
#undef V8_SQUARE
#undef V8_SUM
#undef TILE_ROWS
#undef TILE_QUERIES
