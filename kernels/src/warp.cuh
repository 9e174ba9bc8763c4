// What the threads of a warp add up.
#pragma once

#include "prim.cuh"

// sum_of_warp adds v of all 32 threads, those 16 apart first. Addition commutes, so every
// thread gets the same bits.
DEVICE double sum_of_warp(double v) {
	UNROLL for (u32 m = 16; m; m /= 2)
		v += shuffle_xor(v, m);
	return v;
}
