//go:build cgo && amd64 && !noasm

#include "search_kernels.h"

#include <cpuid.h>
#include <float.h>
#include <immintrin.h>
#include <stdlib.h>
#include <string.h>

/* The square of L2 must not be fused; gcc fuses nothing with -std=c11. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#define ALWAYS_INLINE __attribute__((always_inline)) inline

/* ---- lists of a scan ---- */

struct encbench_scan *encbench_scan_new(int64_t queries)
{
	const int64_t n = queries == 1 ? 1 : (queries + 5) / 6 * 6;
	struct encbench_scan *s = calloc(1, sizeof *s + (size_t)n * sizeof s->list[0]);
	if (s == NULL)
		return NULL;
	s->queries = n;
	encbench_scan_reset(s);
	return s;
}

void encbench_scan_reset(struct encbench_scan *s)
{
	enum { LONG = 1 << 13 };
	s->seen = 0;
	s->failed = 0;
	for (int64_t i = 0; i < s->queries; i++) {
		struct encbench_list *l = &s->list[i];
		l->n = 0;
		l->overflow = 0;
		l->bound = __builtin_inff(); /* stays so where a list only fills the last six */
		if (l->cap > LONG) {
			free(l->upper);
			l->upper = NULL;
			l->cap = 0;
		}
	}
}

void encbench_scan_free(struct encbench_scan *s)
{
	if (s == NULL)
		return;
	for (int64_t i = 0; i < s->queries; i++)
		free(s->list[i].upper);
	free(s);
}

struct encbench_list *encbench_scan_list(struct encbench_scan *s, int64_t i) { return &s->list[i]; }

/* How many of the n values reach v. */
static int64_t reach(const float *x, int64_t n, float v)
{
	int32_t count[16] = {0};
	int64_t i = 0, sum = 0;
	for (; i + 16 <= n; i += 16)
		for (int j = 0; j < 16; j++)
			count[j] += x[i + j] >= v;
	for (int j = 0; j < 16; j++)
		sum += count[j];
	for (; i < n; i++)
		sum += x[i] >= v;
	return sum;
}

/* The rank of values, see search_kernels.h. */
static float rank_of(const float *x, int64_t n, int64_t rank)
{
	if (n < rank || n == 0)
		return -__builtin_inff();
	float lo = x[0], hi = x[0];
	for (int64_t i = 1; i < n; i++) {
		lo = x[i] < lo ? x[i] : lo;
		hi = x[i] > hi ? x[i] : hi;
	}
	/* lo is reached by rank values at least. */
	for (int i = 0; i < 20; i++) {
		const float mid = lo / 2 + hi / 2;
		if (!(mid > lo && mid < hi))
			break;
		const int64_t c = reach(x, n, mid);
		if (c < rank) {
			hi = mid;
			continue;
		}
		lo = mid;
		if (c <= rank + rank / 32)
			break;
	}
	return lo;
}

float encbench_search_rank(const float *x, const uint32_t *slot, int64_t n, int64_t rank, const uint32_t *owner,
                           uint32_t *marks)
{
	if (owner == NULL || n < rank || n == 0)
		return rank_of(x, n, rank);
	/* A document reaches what its greatest value does. */
	float *most = malloc((size_t)n * sizeof *most);
	if (most == NULL)
		return -__builtin_inff();
	uint32_t documents = 0;
	for (int64_t i = 0; i < n; i++) {
		uint32_t *mark = &marks[owner[slot[i]]];
		if (*mark == 0) {
			most[documents] = x[i];
			*mark = ++documents;
		} else if (x[i] > most[*mark - 1]) {
			most[*mark - 1] = x[i];
		}
	}
	for (int64_t i = 0; i < n; i++)
		marks[owner[slot[i]]] = 0;
	const float at = rank_of(most, documents, rank);
	free(most);
	return at;
}

/* Raises the bound to where the k-th best row is likely to end up, and drops what
 * lies below it. seen of rows were seen, so the k-th best of all is near rank
 * k*seen/rows of these; five standard deviations and six more make a bound that is
 * too high rare. Whether it was is checked when the scores are known.
 *
 * Of documents nothing like that holds, because a document with many rows is met
 * early; nor where the guess failed, because rows that are alike stand together. There
 * the k-th best so far, which can only rise, has to do. */
static void raise_bound(const struct encbench_scan *s, struct encbench_list *l, const uint32_t *owner, uint32_t *marks)
{
	const double expect = (double)s->k * (double)s->seen / (double)s->rows;
	const int64_t rank = s->guess == ENCBENCH_EXPECTED
	                         ? (int64_t)(expect + 5 * __builtin_sqrt(expect)) + 6
	                         : s->k + s->k / 16 + 2;
	if (l->n <= rank)
		return;
	const float at = encbench_search_rank(l->upper, l->slot, l->n, rank, owner, marks);
	const float bound = at - l->gap;
	if (!(bound > l->bound))
		return;
	l->bound = bound;
	int64_t kept = 0;
	for (int64_t i = 0; i < l->n; i++) {
		l->upper[kept] = l->upper[i];
		l->slot[kept] = l->slot[i];
		kept += !(l->upper[i] < bound);
	}
	l->n = kept;
}

/* Makes room for a panel more; 0 where there is none. */
__attribute__((noinline)) static int make_room(struct encbench_scan *s, struct encbench_list *l, const uint32_t *owner,
                                               uint32_t *marks)
{
	if (l->overflow)
		return 0;
	if (s->guess && l->n > 0)
		raise_bound(s, l, owner, marks);
	if (l->n <= l->cap / 2 && l->cap > 0)
		return 1;
	if (l->n >= s->limit) {
		l->overflow = 1;
		l->n = 0;
		l->bound = __builtin_inff();
		return 0;
	}
	const int64_t cap = l->cap == 0 ? (s->k > 256 ? 4096 : 1024) : 2 * l->cap;
	/* Both arrays in one piece. */
	float *upper = malloc((size_t)cap * 8);
	if (upper == NULL) {
		s->failed = 1;
		return 0;
	}
	uint32_t *slot = (uint32_t *)(upper + cap);
	if (l->n > 0) {
		memcpy(upper, l->upper, (size_t)l->n * 4);
		memcpy(slot, l->slot, (size_t)l->n * 4);
	}
	free(l->upper);
	l->upper = upper;
	l->slot = slot;
	l->cap = cap;
	return 1;
}

/* The score of a sum by the rules of search.go. */
static ALWAYS_INLINE float finish(int metric, double sum, const double *qnorm, int64_t q, const double *norm, int64_t row)
{
	if (metric == ENCBENCH_IP)
		return (float)sum;
	if (metric == ENCBENCH_L2)
		return (float)(0.0 - sum);
	const double norms = qnorm[q] * norm[row];
	return norms == 0 ? 0.0f : (float)(sum / norms);
}

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")))
#define ISA(name) wide_##name
#define V8 __m512d
#define V8_ZERO() _mm512_setzero_pd()
#define V8_LOAD(p) _mm512_loadu_pd(p)
#define V8_WIDEN(f) _mm512_cvtps_pd(f)
#define V8_FMA(c, a, b) _mm512_fmadd_pd(a, b, c)
#define V8_SQUARE(c, a, b) wide_square(c, _mm512_sub_pd(a, b))
#define V8_SUM(v) wide_sum(v)
#define TILE_ROWS 4
#define TILE_QUERIES 4
TARGET ALWAYS_INLINE static __m512d wide_square(__m512d c, __m512d d) { return _mm512_add_pd(c, _mm512_mul_pd(d, d)); }
TARGET ALWAYS_INLINE static double fold(__m256d s)
{
	/* s: 0+4, 1+5, 2+6, 3+7 */
	const __m128d t = _mm_add_pd(_mm256_castpd256_pd128(s), _mm256_extractf128_pd(s, 1));
	return _mm_cvtsd_f64(_mm_add_sd(t, _mm_unpackhi_pd(t, t)));
}
TARGET ALWAYS_INLINE static double wide_sum(__m512d v)
{
	return fold(_mm256_add_pd(_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd(v, 1)));
}
#include "search_exact.h"
#define FINITE(name) wide_finite##name
#include "search_finite.h"
#define ENCODE(name) wide_encode_##name
#include "search_codes.h"
#undef ISA
#undef TARGET

#define TARGET __attribute__((target("avx2,fma,f16c")))
#define ISA(name) narrow_##name
typedef struct {
	__m256d lo, hi;
} pair8;
#define V8 pair8
#define V8_ZERO() ((pair8){_mm256_setzero_pd(), _mm256_setzero_pd()})
#define V8_LOAD(p) ((pair8){_mm256_loadu_pd(p), _mm256_loadu_pd((p) + 4)})
#define V8_WIDEN(f) narrow_widen(f)
#define V8_FMA(c, a, b) ((pair8){_mm256_fmadd_pd((a).lo, (b).lo, (c).lo), _mm256_fmadd_pd((a).hi, (b).hi, (c).hi)})
#define V8_SQUARE(c, a, b) narrow_square(c, a, b)
#define V8_SUM(v) narrow_sum(v)
#define TILE_ROWS 2
#define TILE_QUERIES 2
TARGET ALWAYS_INLINE static pair8 narrow_widen(__m256 f)
{
	return (pair8){_mm256_cvtps_pd(_mm256_castps256_ps128(f)), _mm256_cvtps_pd(_mm256_extractf128_ps(f, 1))};
}
TARGET ALWAYS_INLINE static pair8 narrow_square(pair8 c, pair8 a, pair8 b)
{
	const __m256d lo = _mm256_sub_pd(a.lo, b.lo), hi = _mm256_sub_pd(a.hi, b.hi);
	return (pair8){_mm256_add_pd(c.lo, _mm256_mul_pd(lo, lo)), _mm256_add_pd(c.hi, _mm256_mul_pd(hi, hi))};
}
TARGET ALWAYS_INLINE static double narrow_sum(pair8 v)
{
	const __m256d s = _mm256_add_pd(v.lo, v.hi);
	const __m128d t = _mm_add_pd(_mm256_castpd256_pd128(s), _mm256_extractf128_pd(s, 1));
	return _mm_cvtsd_f64(_mm_add_sd(t, _mm_unpackhi_pd(t, t)));
}
#include "search_exact.h"
#define FINITE(name) narrow_finite##name
#include "search_finite.h"
#define ENCODE(name) narrow_encode_##name
#include "search_codes.h"
#undef ISA
#undef TARGET

/* ---- scans ---- */

#define TARGET_WIDE __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")))
#define TARGET_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma")))

/* A compress with a memory operand is slow on Zen 4: compress in a register, store
 * all of it. */
TARGET_WIDE ALWAYS_INLINE static void push_wide(struct encbench_list *l, __m512 v, uint32_t m, uint32_t slot)
{
	const __m512i step = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
	const __m512i slots = _mm512_add_epi32(_mm512_set1_epi32((int)slot), step);
	const __m512 top = _mm512_set1_ps(FLT_MAX);
	/* min takes its second operand where the first is NaN. */
	v = _mm512_max_ps(_mm512_min_ps(v, top), _mm512_set1_ps(-FLT_MAX));
	_mm512_storeu_ps(l->upper + l->n, _mm512_maskz_compress_ps((__mmask16)m, v));
	_mm512_storeu_si512(l->slot + l->n, _mm512_maskz_compress_epi32((__mmask16)m, slots));
	l->n += __builtin_popcount(m);
}

#define TARGET TARGET_VNNI
#define SCAN(name) vnni8_##name
#define VI __m512i
#define VF __m512
#define LANES 16
#define VECTORS 4
#define EACH_VECTOR(X) X(0) X(1) X(2) X(3)
#define EACH_VECTOR_OF(X, j) X(j, 0) X(j, 1) X(j, 2) X(j, 3)
#define STOREI(p, v) _mm512_storeu_si512(p, v)
#define LOADI(p) _mm512_loadu_si512(p)
#define SETI(x) _mm512_set1_epi32(x)
#define DOT(acc, rows, query) _mm512_dpbusd_epi32(acc, rows, query)
#define FLOATS(v) _mm512_cvtepi32_ps(v)
#define LOADF(p) _mm512_loadu_ps(p)
#define SETF(x) _mm512_set1_ps(x)
#define MUL(a, b) _mm512_mul_ps(a, b)
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define NOTLESS(a, b) _mm512_cmp_ps_mask(a, b, _CMP_NLT_UQ)
#define PUSH push_wide
#include "search_scan.h"

#define SCAN(name) vnni16_##name
#define VI __m512i
#define VF __m512
#define LANES 16
#define VECTORS 4
#define EACH_VECTOR(X) X(0) X(1) X(2) X(3)
#define EACH_VECTOR_OF(X, j) X(j, 0) X(j, 1) X(j, 2) X(j, 3)
#define STOREI(p, v) _mm512_storeu_si512(p, v)
#define LOADI(p) _mm512_loadu_si512(p)
#define SETI(x) _mm512_set1_epi32(x)
#define DOT(acc, rows, query) _mm512_dpwssd_epi32(acc, rows, query)
#define FLOATS(v) _mm512_cvtepi32_ps(v)
#define LOADF(p) _mm512_loadu_ps(p)
#define SETF(x) _mm512_set1_ps(x)
#define MUL(a, b) _mm512_mul_ps(a, b)
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define NOTLESS(a, b) _mm512_cmp_ps_mask(a, b, _CMP_NLT_UQ)
#define PUSH push_wide
#include "search_scan.h"
#undef TARGET

#define TARGET TARGET_WIDE
#define SCAN(name) wide16_##name
#define VI __m512i
#define VF __m512
#define LANES 16
#define VECTORS 4
#define EACH_VECTOR(X) X(0) X(1) X(2) X(3)
#define EACH_VECTOR_OF(X, j) X(j, 0) X(j, 1) X(j, 2) X(j, 3)
#define STOREI(p, v) _mm512_storeu_si512(p, v)
#define LOADI(p) _mm512_loadu_si512(p)
#define SETI(x) _mm512_set1_epi32(x)
#define DOT(acc, rows, query) _mm512_add_epi32(acc, _mm512_madd_epi16(rows, query))
#define FLOATS(v) _mm512_cvtepi32_ps(v)
#define LOADF(p) _mm512_loadu_ps(p)
#define SETF(x) _mm512_set1_ps(x)
#define MUL(a, b) _mm512_mul_ps(a, b)
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define NOTLESS(a, b) _mm512_cmp_ps_mask(a, b, _CMP_NLT_UQ)
#define PUSH push_wide
#include "search_scan.h"
#undef TARGET

#define TARGET __attribute__((target("avx2,fma")))
TARGET ALWAYS_INLINE static void push_narrow(struct encbench_list *l, __m256 v, uint32_t m, uint32_t slot)
{
	float lane[8];
	v = _mm256_max_ps(_mm256_min_ps(v, _mm256_set1_ps(FLT_MAX)), _mm256_set1_ps(-FLT_MAX));
	_mm256_storeu_ps(lane, v);
	for (; m != 0; m &= m - 1) {
		const int i = __builtin_ctz(m);
		l->upper[l->n] = lane[i];
		l->slot[l->n++] = slot + (uint32_t)i;
	}
}
#define SCAN(name) narrow16_##name
#define VI __m256i
#define VF __m256
#define LANES 8
#define VECTORS 2
#define EACH_VECTOR(X) X(0) X(1)
#define EACH_VECTOR_OF(X, j) X(j, 0) X(j, 1)
#define STOREI(p, v) _mm256_storeu_si256((__m256i *)(p), v)
#define LOADI(p) _mm256_loadu_si256((const __m256i *)(p))
#define SETI(x) _mm256_set1_epi32(x)
#define DOT(acc, rows, query) _mm256_add_epi32(acc, _mm256_madd_epi16(rows, query))
#define FLOATS(v) _mm256_cvtepi32_ps(v)
#define LOADF(p) _mm256_loadu_ps(p)
#define SETF(x) _mm256_set1_ps(x)
#define MUL(a, b) _mm256_mul_ps(a, b)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define NOTLESS(a, b) (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_NLT_UQ))
#define PUSH push_narrow
#include "search_scan.h"
#undef TARGET

/* ---- choice ---- */

/* clang 14 does not know "f16c" here. */
static int has_f16c(void)
{
	unsigned a, b, c = 0, d;
	return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
}
static int has_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
}
static int has_avx512(void)
{
	return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}
static int has_vnni(void) { return has_avx512() && __builtin_cpu_supports("avx512vnni"); }

typedef void scan_func(struct encbench_scan *, const uint8_t *, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                       const uint8_t *, const uint32_t *, uint32_t *);

static const struct isa {
	const char *name;
	int (*has)(void);
	int panel8, panel16;
	scan_func *scan8, *scan16;
	int wide;
} isas[] = {
    {"avx512vnni", has_vnni, vnni8_rows, vnni16_rows, vnni8_run, vnni16_run, 1},
    {"avx512", has_avx512, 0, wide16_rows, NULL, wide16_run, 1},
    {"avx2", has_avx2, 0, narrow16_rows, NULL, narrow16_run, 0},
};

int encbench_search_isas(void) { return (int)(sizeof isas / sizeof isas[0]); }
const char *encbench_search_name(int isa) { return isas[isa].name; }
int encbench_search_has(int isa) { return isas[isa].has() != 0; }
int encbench_search_panel(int isa, int bits) { return bits == 8 ? isas[isa].panel8 : isas[isa].panel16; }

double encbench_search_dot64(int isa, const float *a, const float *b, int64_t dim)
{
	return isas[isa].wide ? wide_dot64(a, b, dim) : narrow_dot64(a, b, dim);
}

int encbench_search_finite32(int isa, const uint32_t *v, int64_t n)
{
	return isas[isa].wide ? wide_finite32(v, n) : narrow_finite32(v, n);
}

int encbench_search_finite16(int isa, const uint16_t *v, int64_t n, uint16_t exponent)
{
	return isas[isa].wide ? wide_finite16(v, n, exponent) : narrow_finite16(v, n, exponent);
}

void encbench_search_tile(int isa, int type, int metric, float *dst, const uint8_t *rows, int64_t stride, int64_t n,
                          int64_t dim, const float *scale, const double *norm, const double *q, int64_t pad,
                          const double *qnorm, int64_t nq)
{
	(isas[isa].wide ? wide_tile : narrow_tile)(type, metric, dst, rows, stride, n, dim, scale, norm, q, pad, qnorm, nq);
}

void encbench_search_pairs(int isa, int type, int metric, float *dst, const struct encbench_pair *pairs, int64_t n,
                           const uint8_t *rows, int64_t first, int64_t stride, int64_t dim, const float *scale,
                           const double *norm, const double *q, int64_t pad, const double *qnorm)
{
	(isas[isa].wide ? wide_pairs : narrow_pairs)(type, metric, dst, pairs, n, rows, first, stride, dim, scale, norm, q, pad,
	                                             qnorm);
}

void encbench_search_encode(int isa, int bits, uint8_t *panel, const float *x, const double *factor, int64_t n,
                            int64_t dim, const double *mean, double meannorm, int l2, double *scratch, double *totals)
{
	(isas[isa].wide ? wide_encode_rows : narrow_encode_rows)(bits, encbench_search_panel(isa, bits), panel, x, factor, n, dim,
	                                                         mean, meannorm, l2, scratch, totals);
}

void encbench_scan_run(int isa, int bits, struct encbench_scan *s, const uint8_t *codes, int64_t dim, int64_t panels,
                       int64_t rows_in, int64_t first, int64_t step, int64_t count, const uint8_t *q,
                       const uint32_t *owner, uint32_t *marks)
{
	const int64_t steps = bits == 8 ? (dim + 3) / 4 : (dim + 1) / 2;
	(bits == 8 ? isas[isa].scan8 : isas[isa].scan16)(s, codes, steps, panels, rows_in, first, step, count, q, owner, marks);
}
