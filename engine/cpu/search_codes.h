/*
 * Template of the row encoder. Before including it define
 *
 *   ENCODE(name)  name of a function
 *   TARGET        target attribute
 *
 * For each row x with factor t it computes in float64 y = t*x - mean and codes c,
 * whole numbers, and a float scale s, and stores
 *
 *   s
 *   n >= |y|       the norm
 *   r >= |y - s*c| the residual
 *   b >= -|y|^2/2  the bias of L2; for other metrics b = mean*y, rounded, and
 *                  where that is no float, b = 0 and n is infinite
 *
 * for the y of exact arithmetic: SLACK times the norms covers the rounding of y, and
 * WIDEN that of the sums and of the conversion to float. Codes of 8 bits run from
 * -127 to 127 and are stored plus 128; those of 16 bits run from -32767 to 32767, and
 * s is so large that |c| <= 46340: then the product with a query of the same bound
 * fits 31 bits, and so does every part of it.
 */

#ifndef ENCBENCH_CODES
#define ENCBENCH_CODES
typedef double d8 __attribute__((vector_size(64)));
typedef float f8 __attribute__((vector_size(32)));
typedef int64_t l8 __attribute__((vector_size(64)));
typedef int32_t w8 __attribute__((vector_size(32)));

#define SLACK 0x1p-48
#define WIDEN (1 + 0x1p-20)

/* Adding and taking away 1.5 * 2^52 rounds to the nearest whole number, ties to even. */
#define ROUNDER 0x1.8p52

static double sum8(const double *v)
{
	return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

/* The nearest float, or FLT_MAX beyond all; an upper bound after WIDEN. */
static float upper_float(double v)
{
	v *= WIDEN;
	return v > 3.4e38 ? __builtin_inff() : v < 1.2e-38 && v > 0 ? 1.2e-38f : (float)v;
}
#endif

TARGET static void ENCODE(rows)(int bits, int rows, uint8_t *panel, const float *x, const double *factor, int64_t n,
                                int64_t dim, const double *mean, double meannorm, int l2, double *y, double *totals)
{
	const int64_t steps = bits == 8 ? (dim + 3) / 4 : (dim + 1) / 2;
	float *param = (float *)(panel + rows * steps * 4);
	const double limit = 46338 - 0.5 * __builtin_sqrt((double)dim);
	memset(panel, bits == 8 ? 128 : 0, (size_t)(rows * steps * 4));
	memset(param, 0, (size_t)rows * 16);
	for (int64_t r = 0; r < n; r++, x += dim) {
		double lane[8];
		const d8 zero = {0}, t = zero + factor[r];
		d8 most = zero, square = zero, given = zero, along = zero;
		int64_t i = 0;
		for (; i < dim; i += 8) {
			f8 f = {0};
			d8 m = {0};
			if (i + 8 <= dim) {
				memcpy(&f, x + i, sizeof f);
				memcpy(&m, mean + i, sizeof m);
			} else {
				memcpy(&f, x + i, (size_t)(dim - i) * sizeof(float));
				memcpy(&m, mean + i, (size_t)(dim - i) * sizeof(double));
			}
			const d8 z = __builtin_convertvector(f, d8) * t;
			const d8 v = z - m;
			memcpy(y + i, &v, sizeof v);
			const d8 a = (d8)((l8)v & INT64_MAX);
			const l8 more = (l8)(a > most);
			most = (d8)(((l8)a & more) | ((l8)most & ~more));
			square += v * v;
			given += z * z;
			along += m * v;
		}
		memcpy(lane, &most, sizeof lane);
		double top = 0;
		for (int j = 0; j < 8; j++)
			top = lane[j] > top ? lane[j] : top;
		memcpy(lane, &square, sizeof lane);
		const double norm = __builtin_sqrt(sum8(lane));
		memcpy(lane, &given, sizeof lane);
		const double before = __builtin_sqrt(sum8(lane)), slack = SLACK * (before + meannorm);

		double want = bits == 8 ? top / 127 : top / 32767 > norm / limit ? top / 32767 : norm / limit;
		float scale = (float)(want * (1 + 0x1p-22));
		if (!(scale >= 1e-37f && scale <= 1e36f))
			scale = 0; /* no code: the residual is everything */
		const double unit = scale, inverse = scale > 0 ? 1 / unit : 0;
		d8 left = zero;
		for (i = 0; i < dim; i += 8) {
			d8 v;
			memcpy(&v, y + i, sizeof v);
			const d8 c = (v * inverse + ROUNDER) - ROUNDER;
			const d8 e = v - c * unit;
			left += e * e;
			const w8 whole = __builtin_convertvector(c, w8);
			int32_t code[8];
			memcpy(code, &whole, sizeof code);
			const int64_t some = dim - i < 8 ? dim - i : 8;
			if (bits == 8) {
				uint8_t *to = panel + (i / 4 * rows + r) * 4;
				if (some == 8) {
					for (int j = 0; j < 4; j++) {
						to[j] = (uint8_t)(code[j] + 128);
						to[rows * 4 + j] = (uint8_t)(code[j + 4] + 128);
					}
				} else {
					for (int64_t j = 0; j < some; j++)
						to[j / 4 * rows * 4 + j % 4] = (uint8_t)(code[j] + 128);
				}
			} else {
				uint8_t *to = panel + (i / 2 * rows + r) * 4;
				for (int64_t j = 0; j < some; j++) {
					const int16_t word = (int16_t)code[j];
					memcpy(to + j / 2 * rows * 4 + j % 2 * 2, &word, 2);
				}
			}
		}
		memcpy(lane, &along, sizeof lane);
		const double shift = sum8(lane);
		memcpy(lane, &left, sizeof lane);
		param[r] = scale;
		param[rows + r] = upper_float(norm + slack);
		param[2 * rows + r] = upper_float(__builtin_sqrt(sum8(lane)) + slack);
		if (l2) {
			const double least = norm * (1 - 0x1p-22) - slack;
			const double bias = least > 0 ? least * least / 2 * (1 - 0x1p-20) : 0;
			param[3 * rows + r] = bias < 1e-37 ? 0 : bias > 3.4e38 ? -3.4e38f : -(float)bias;
		} else if (shift > -3e38 && shift < 3e38) {
			param[3 * rows + r] = (float)shift;
		} else {
			param[rows + r] = __builtin_inff();
		}
		totals[0] += norm;
		totals[1] += __builtin_sqrt(sum8(lane));
		totals[2] = before > totals[2] ? before : totals[2];
	}
}

#undef ENCODE
