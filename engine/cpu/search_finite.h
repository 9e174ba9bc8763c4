/*
 * Template of the check for NaN and infinity. Before including it define
 *
 *   FINITE(name)  name of a function
 *   TARGET        target attribute
 *
 * The greatest word without its sign is below the exponent of all ones exactly where
 * every number is finite. The compiler makes vectors of these loops.
 */
TARGET static int FINITE(32)(const uint32_t *v, int64_t n)
{
	uint32_t top = 0;
	for (int64_t i = 0; i < n; i++) {
		const uint32_t w = v[i] & 0x7fffffff;
		top = w > top ? w : top;
	}
	return top < 0x7f800000;
}

TARGET static int FINITE(16)(const uint16_t *v, int64_t n, uint16_t exponent)
{
	uint16_t top = 0;
	for (int64_t i = 0; i < n; i++) {
		const uint16_t w = v[i] & 0x7fff;
		top = w > top ? w : top;
	}
	return top < exponent;
}

#undef FINITE
