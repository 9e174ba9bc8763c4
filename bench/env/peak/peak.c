#include "peak.h"

#define TEN(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9)
#define TWELVE(X) TEN(X) X(10) X(11)
#define TWENTY_FOUR(X) TWELVE(X) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)

struct path {
	const char *name;
	int (*has)(void);
	int lanes, count;
	double (*run)(int64_t, float, float);
};

#if defined(__x86_64__)

#include <immintrin.h>

/* The compiler's run-time support also asks whether the operating system saves
 * the registers. */
static int has_avx512(void) { return __builtin_cpu_supports("avx512f"); }
static int has_avx2(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
static int has_sse2(void) { return 1; }

/* 32 registers: 24 accumulators cover 2 units of 4 cycles three times. */
#define NAME run_avx512
#define TARGET __attribute__((target("avx512f")))
#define VEC __m512
#define LANES 16
#define SET1(x) _mm512_set1_ps(x)
#define FMA(a, m, c) _mm512_fmadd_ps(a, m, c)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define ACCUMULATORS(X) TWENTY_FOUR(X)
#include "kernel.h"

/* 16 registers: 12 accumulators and the two operands. */
#define NAME run_avx2
#define TARGET __attribute__((target("avx2,fma")))
#define VEC __m256
#define LANES 8
#define SET1(x) _mm256_set1_ps(x)
#define FMA(a, m, c) _mm256_fmadd_ps(a, m, c)
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define ACCUMULATORS(X) TWELVE(X)
#include "kernel.h"

#define NAME run_sse2
#define TARGET
#define VEC __m128
#define LANES 4
#define SET1(x) _mm_set1_ps(x)
#define FMA(a, m, c) _mm_add_ps(_mm_mul_ps(a, m), c)
#define STORE(p, v) _mm_storeu_ps(p, v)
#define ACCUMULATORS(X) TWELVE(X)
#include "kernel.h"

static const struct path paths[] = {
	{"AVX-512 FMA", has_avx512, 16, 24, run_avx512},
	{"AVX2 FMA", has_avx2, 8, 12, run_avx2},
	{"SSE2 multiply and add", has_sse2, 4, 12, run_sse2},
};

#elif defined(__aarch64__)

#include <arm_neon.h>

static int has_neon(void) { return 1; }

/* 32 registers; 4 units of 4 cycles need 16. */
#define NAME run_neon
#define TARGET
#define VEC float32x4_t
#define LANES 4
#define SET1(x) vdupq_n_f32(x)
#define FMA(a, m, c) vfmaq_f32(c, a, m)
#define STORE(p, v) vst1q_f32(p, v)
#define ACCUMULATORS(X) TWENTY_FOUR(X)
#include "kernel.h"

static const struct path paths[] = {
	{"NEON FMA", has_neon, 4, 24, run_neon},
};

#endif

int encbench_peak_paths(void) { return (int)(sizeof paths / sizeof paths[0]); }
int encbench_peak_has(int p) { return paths[p].has() != 0; }
const char *encbench_peak_name(int p) { return paths[p].name; }
int encbench_peak_lanes(int p) { return paths[p].lanes; }
int encbench_peak_count(int p) { return paths[p].count; }
double encbench_peak_run(int p, int64_t iterations, float m, float c) { return paths[p].run(iterations, m, c); }
