// What the fake driver puts into a tensor map, and emulated kernels read of it.
#pragma once

#include <cstdint>

namespace fake {

// TensorMap is a matrix of 16-bit elements and the boxes it is read in.
struct TensorMap {
	static constexpr uint64_t MARK = 0x70616D20726F736E;
	uint64_t mark;
	const unsigned char *at;
	uint64_t rows, columns, row_bytes;
	uint32_t box_rows, box_columns;
	uint64_t rest[10];
};
static_assert(sizeof(TensorMap) == 128, "the driver's maps have 128 bytes");

} // namespace fake
