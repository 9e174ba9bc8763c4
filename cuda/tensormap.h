/* Launches of kernels that read through tensor maps. */
#ifndef ENCBENCH_TENSORMAP_H
#define ENCBENCH_TENSORMAP_H

#include <stdint.h>

/* As encbench_launch without clusters; the first n_maps parameters are of 128 bytes each,
   at maps, and n arguments of 8 bytes follow. n_maps is at most 4, n at most 32. */
int encbench_launch_maps(uintptr_t function, const unsigned grid[3], const unsigned block[3], unsigned shared,
	uintptr_t stream, const void *maps, int n_maps, const uint64_t *args, int n);

#endif
