// Tensor maps: what the driver checks of them, by its documentation.
#include "fake.h"
#include "tensormap.h"

using namespace fake;

extern "C" int cuTensorMapEncodeTiled(TensorMap *map, int type, uint32_t rank, void *at, const uint64_t *size,
	const uint64_t *stride, const uint32_t *box, const uint32_t *step, int interleave, int swizzle, int, int) {
	ENTER("cuTensorMapEncodeTiled");
	const bool half = type == 6 || type == 9; // CU_TENSOR_MAP_DATA_TYPE_FLOAT16, _BFLOAT16
	if (!half || rank != 2 || interleave != 0 || swizzle != 3) // CU_TENSOR_MAP_SWIZZLE_128B
		return INVALID_VALUE;
	if (uintptr_t(at) % 16 || uintptr_t(map) % 64 || stride[0] % 16 || stride[0] >= 1ull << 40)
		return INVALID_VALUE;
	for (int i = 0; i < 2; i++)
		if (size[i] < 1 || size[i] > 1ull << 32 || box[i] < 1 || box[i] > 256 || step[i] != 1)
			return INVALID_VALUE;
	if (box[0] * 2 > 128 || box[0] * 2 % 16) // a row of the box is what the swizzle turns
		return INVALID_VALUE;
	*map = {TensorMap::MARK, static_cast<const unsigned char *>(at), size[1], size[0], stride[0], box[1], box[0], {}};
	return OK;
}
