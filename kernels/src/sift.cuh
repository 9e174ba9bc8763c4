// What becomes of a tile's scores: the few that pass their query's threshold go into its
// list.
#pragma once

#include "lists.cuh"

// Measure makes a score of an inner product: product · scale + bias, of each row; NULL is
// 1 and 0. Both are in float32, and so is what they make.
struct Measure {
	const float *scale, *bias;
};

// element is acc[m][n][half·2 + j] by one number, in the order m, half, n, j.
template <int MI, int NI> DEVICE float &element(float (&acc)[MI][NI][4], int i) {
	return acc[i / (4 * NI)][i / 2 % NI][i / (2 * NI) % 2 * 2 + i % 2];
}

// sift keeps the scores of a warp's part of a tile: MI × 16 queries from q0 on, NI × 8 rows
// from r0 on, where mma leaves them. Row i is number first + i·step, its scale and bias
// are those of i·step. acc is changed.
//
// About one score of ten thousand passes. So all are compared first, without a branch, and
// one loop serves those that passed: it finds the value by comparing numbers, as registers
// have no index, which costs little so seldom.
template <int MI, int NI>
DEVICE void sift(float (&acc)[MI][NI][4], u32 q0, u32 n_queries, u32 r0, u32 n_rows, u32 first, u32 step, const Measure &measure, const Lists &lists) {
	q0 += lane() / 4;
	r0 += lane() % 4 * 2;
	if (measure.scale)
		UNROLL for (int n = 0; n < NI; n++)
			UNROLL for (int j = 0; j < 2; j++) {
				const u32 row = r0 + (u32)(n * 8 + j);
				const float scale = measure.scale[(u64)(row < n_rows ? row : n_rows - 1) * step];
				UNROLL for (int m = 0; m < MI; m++) {
					acc[m][n][j] *= scale;
					acc[m][n][2 + j] *= scale;
				}
			}
	if (measure.bias)
		UNROLL for (int n = 0; n < NI; n++)
			UNROLL for (int j = 0; j < 2; j++) {
				const u32 row = r0 + (u32)(n * 8 + j);
				const float bias = measure.bias[(u64)(row < n_rows ? row : n_rows - 1) * step];
				UNROLL for (int m = 0; m < MI; m++) {
					acc[m][n][j] += bias;
					acc[m][n][2 + j] += bias;
				}
			}
	float least[MI * 2]; // no number where nothing is kept: nothing compares with it
	UNROLL for (int i = 0; i < MI * 2; i++) {
		const u32 query = q0 + (u32)(i * 8);
		const bool keeps = query < n_queries && (!lists.active || lists.active[query]);
		least[i] = keeps ? score_of(lists.threshold[query]) : __builtin_nanf("");
	}
	constexpr int ALL = MI * NI * 4, WORD = ALL < 32 ? ALL : 32;
	UNROLL for (int word = 0; word < ALL / WORD; word++) {
		u32 passed = 0;
		UNROLL for (int b = 0; b < WORD; b++) {
			const int i = word * WORD + b;
			passed = element(acc, i) >= least[i / (2 * NI)] ? passed | 1u << b : passed;
		}
		while (passed) {
			const int found = __builtin_ctz(passed);
			passed &= passed - 1;
			float v = 0;
			UNROLL for (int b = 0; b < WORD; b++)
				v = b == found ? element(acc, word * WORD + b) : v;
			const int i = word * WORD + found;
			const u32 row = r0 + (u32)(i / 2 % NI * 8 + i % 2);
			if (row < n_rows)
				keep(lists, q0 + (u32)(i / (2 * NI) * 8), key_of(v, first + row * step));
		}
	}
}
