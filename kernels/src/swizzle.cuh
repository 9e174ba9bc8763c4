// Where 16 bytes lie in shared memory.
#pragma once

#include "prim.cuh"

// at is where part 0 to 7 of a row of 64 16-bit elements lies in a stage that begins at a
// multiple of 1,024 bytes: the parts are turned by the row's number, so that the same part
// of eight rows is in eight different banks. It is what a tensor map calls the swizzle of
// 128 bytes.
DEVICE u32 at(u32 row, u32 part) { return row * 128 + ((part ^ (row & 7)) << 4); }
