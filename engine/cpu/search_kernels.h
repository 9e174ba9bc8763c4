#ifndef ENCBENCH_SEARCH_KERNELS_H
#define ENCBENCH_SEARCH_KERNELS_H

#include <stdint.h>

/* Element types of stored rows; the numbers are those of Store in search.go. */
enum { ENCBENCH_F32 = 1, ENCBENCH_F16 = 2, ENCBENCH_BF16 = 3, ENCBENCH_INT8 = 4 };

/* The numbers are those of Metric in search.go. */
enum { ENCBENCH_IP = 0, ENCBENCH_COSINE = 1, ENCBENCH_L2 = 2 };

/* Instruction sets from 0 to encbench_search_isas()-1, best first. */
int encbench_search_isas(void);
const char *encbench_search_name(int isa);
int encbench_search_has(int isa);

/* Rows of a panel, and whether there is a scan, for codes of 8 or 16 bits; 0 where
 * there is none. */
int encbench_search_panel(int isa, int bits);

/* ---- exact scores: search_exact.h ---- */

/* sum over i of a[i]*b[i] as engine.Dot64 adds. */
double encbench_search_dot64(int isa, const float *a, const float *b, int64_t dim);

/* dst[i*n + j] = the score of query i with row j, for nq queries and n rows.
 * rows: the first row's bytes, stride bytes apart; scale, norm: those of the first
 * row, used by ENCBENCH_INT8 and ENCBENCH_COSINE alone; q: nq rows of pad doubles,
 * zeros behind dim; qnorm: for ENCBENCH_COSINE. */
void encbench_search_tile(int isa, int type, int metric, float *dst, const uint8_t *rows, int64_t stride, int64_t n,
                          int64_t dim, const float *scale, const double *norm, const double *q, int64_t pad,
                          const double *qnorm, int64_t nq);

/* A query and a row, by number. */
struct encbench_pair {
	uint32_t query, row;
};

/* dst[i] = the score of pair i, for n pairs; rows, scale and norm are those of row
 * number first, q and qnorm those of query 0. */
void encbench_search_pairs(int isa, int type, int metric, float *dst, const struct encbench_pair *pairs, int64_t n,
                           const uint8_t *rows, int64_t first, int64_t stride, int64_t dim, const float *scale,
                           const double *norm, const double *q, int64_t pad, const double *qnorm);

/* Whether none of n words has an exponent of all ones: words of 32 bits, or of 16 with
 * the given mask of the exponent. */
int encbench_search_finite32(int isa, const uint32_t *v, int64_t n);
int encbench_search_finite16(int isa, const uint16_t *v, int64_t n, uint16_t exponent);

/* ---- codes: search_codes.h ---- */

/* Encodes up to a panel of rows, given as n*dim floats with a factor each (1, or
 * what normalises it), centred on mean: see search_codes.h. scratch: dim + 8 doubles.
 * Adds to totals[0..1] the sums of the rows' norm and residual, and raises
 * totals[2] to the greatest norm of a row before centring. */
void encbench_search_encode(int isa, int bits, uint8_t *panel, const float *x, const double *factor, int64_t n,
                            int64_t dim, const double *mean, double meannorm, int l2, double *scratch, double *totals);

/* ---- scan: search_scan.h ---- */

/* What a scan knows of a query, and the rows it found for it. */
struct encbench_list {
	float *upper;   /* n upper bounds, in units of the query's scale */
	uint32_t *slot; /* n slots, parallel */
	int64_t n, cap;
	float bound;                    /* rows whose upper bound is below it are left out */
	float row_factor, residual_factor; /* of the rows' norm and residual in the bound */
	float bias_factor;              /* of the rows' bias */
	float gap;                      /* typical distance of upper bound and estimate */
	int32_t start;                  /* of the accumulator: takes the offset of 8-bit codes out */
	int32_t overflow;               /* more than limit were found: the list is empty */
};

/* How a scan raises its bounds: not at all, because they are proven; to the k-th best
 * row so far, which can only rise; or to where that is likely to end up. */
enum { ENCBENCH_PROVEN, ENCBENCH_SO_FAR, ENCBENCH_EXPECTED };

/* A scan of one share of the panels for a group of queries, whose lists lie behind
 * it. */
struct encbench_scan {
	int64_t queries; /* rounded up to whole sixes */
	int64_t limit;   /* of a list */
	int64_t k, rows; /* rows: of all shares */
	int64_t seen;    /* rows that this scan saw */
	int64_t refresh; /* seen from which all bounds are raised */
	int32_t guess;   /* how bounds are raised: one of the three below */
	int32_t failed;  /* out of memory */
	struct encbench_list list[];
};

/* A scan for the given number of queries; NULL when there is no memory. */
struct encbench_scan *encbench_scan_new(int64_t queries);
void encbench_scan_free(struct encbench_scan *s);
/* Empties the lists for another scan and keeps the memory of all but long ones. */
void encbench_scan_reset(struct encbench_scan *s);
/* The list of query i. */
struct encbench_list *encbench_scan_list(struct encbench_scan *s, int64_t i);

/* Scans count panels: first, first + step, ... modulo panels. q: the query codes,
 * six together: for each step of four bytes those of six queries (one query alone
 * where queries is 1). owner: the document of each slot, marks: one for each
 * document, both NULL where every row is its own. rows_in: slots in use. */
void encbench_scan_run(int isa, int bits, struct encbench_scan *s, const uint8_t *codes, int64_t dim, int64_t panels,
                       int64_t rows_in, int64_t first, int64_t step, int64_t count, const uint8_t *q,
                       const uint32_t *owner, uint32_t *marks);

/* A value, found by bisection, that at least rank of the n upper bounds reach, and
 * not many more; with owner at least rank documents have one that does. marks: one
 * for each document, 0, used in between. -INFINITY where there are too few. */
float encbench_search_rank(const float *upper, const uint32_t *slot, int64_t n, int64_t rank, const uint32_t *owner,
                           uint32_t *marks);

#endif
