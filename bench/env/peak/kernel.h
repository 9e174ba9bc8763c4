/*
 * Template of one peak kernel. Before including it define
 *
 *   NAME            function name
 *   TARGET          target attribute, empty where the baseline suffices
 *   VEC, LANES      vector type and its floats
 *   SET1(x)         all lanes x
 *   FMA(a, m, c)    a*m + c
 *   STORE(p, v)     store a vector, unaligned
 *   ACCUMULATORS(X) X(0) X(1) ... X(COUNT-1): the accumulators, in registers
 *
 * The function equals the loop
 *
 *   for (i = 0; i < iterations; i++)
 *     for (k = 0; k < COUNT*LANES; k++) acc[k] = acc[k]*m + c;
 *   return sum(acc);
 *
 * on acc[k] = k/LANES, that is 2*COUNT*LANES*iterations FLOP. With m = c = 1 the
 * sum is LANES*(COUNT*iterations + COUNT*(COUNT-1)/2), exactly, as long as no
 * accumulator passes 2^24. m and c come from the caller, so the compiler cannot
 * know that.
 *
 * Note: the accumulators start at different values because a compiler computes
 * equal ones once (gcc 12 did, and the "peak" was three times the real one).
 */
TARGET static double NAME(int64_t iterations, float m1, float c1)
{
	const VEC m = SET1(m1), c = SET1(c1);
#define DECLARE(i) VEC a##i = SET1((float)i);
#define STEP(i) a##i = FMA(a##i, m, c);
#define ADD(i) \
	STORE(lane, a##i); \
	for (int k = 0; k < LANES; k++) \
		sum += lane[k];
	ACCUMULATORS(DECLARE)
	for (int64_t i = 0; i < iterations; i++) {
		ACCUMULATORS(STEP)
	}
	float lane[LANES];
	double sum = 0;
	ACCUMULATORS(ADD)
	return sum;
#undef DECLARE
#undef STEP
#undef ADD
}

#undef NAME
#undef TARGET
#undef VEC
#undef LANES
#undef SET1
#undef FMA
#undef STORE
#undef ACCUMULATORS
