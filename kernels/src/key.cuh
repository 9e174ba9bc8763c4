// The order of results as one number: score and row in 64 bits, the larger the better.
// Equal scores are in the order of their rows, the lower first.
#pragma once

#include "prim.cuh"

// ordered maps a float to a number of the same order; −0 counts as 0, and what is no
// number comes last.
DEVICE u32 ordered(float v) {
	u32 b = __builtin_bit_cast(u32, v + 0.0f);
	if ((b & 0x7FFFFFFF) > 0x7F800000)
		return 0;
	return b >> 31 ? ~b : b | 0x80000000;
}

// score is the float of a key.
DEVICE float score_of(u64 key) {
	u32 o = (u32)(key >> 32);
	return __builtin_bit_cast(float, o >> 31 ? o & 0x7FFFFFFF : ~o);
}

DEVICE u64 key_of(float score, u32 row) { return (u64)ordered(score) << 32 | (u32)~row; }
DEVICE u32 row_of(u64 key) { return ~(u32)key; }
