//go:build cuda && linux && cgo && (amd64 || arm64)

#include "tensormap.h"

#include <cuda.h>

int encbench_launch_maps(uintptr_t function, const unsigned grid[3], const unsigned block[3], unsigned shared,
	uintptr_t stream, const void *maps, int n_maps, const uint64_t *args, int n) {
	void *each[36];
	if (n < 0 || n > 32 || n_maps < 0 || n_maps > 4)
		return CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < n_maps; i++)
		each[i] = (char *)maps + i * sizeof(CUtensorMap);
	for (int i = 0; i < n; i++)
		each[n_maps + i] = (void *)(args + i);
	return cuLaunchKernel((CUfunction)function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
		shared, (CUstream)stream, each, NULL);
}
