/* What gorgonia.org/cu lacks or does at a price. Every function gives the driver's code;
   handles are the driver's own. */
#ifndef ENCBENCH_SHIM_H
#define ENCBENCH_SHIM_H

#include <stddef.h>
#include <stdint.h>

/* Name and text of a code, NULL where the driver knows none. */
const char *encbench_error_name(int code);
const char *encbench_error_text(int code);

int encbench_device_pci(char *to, int size, int device);
int encbench_device_uuid(unsigned char to[16], int device);

/* Of libnvidia-ml: the release of the driver, "" where it is not told; the power limit
   that a device, by its place on the bus, keeps to, in milliwatts, 0 where it is not told. */
void encbench_driver_release(char *to, unsigned size);
unsigned encbench_power_limit(const char *pci);

/* Page-locked memory, which any context of the process may copy from and to. */
int encbench_host_alloc(void **p, size_t bytes);
int encbench_host_register(void *p, size_t bytes);
int encbench_host_unregister(void *p);

/* Zeroed memory of the host that is not page-locked, NULL where there is none. */
void *encbench_plain_alloc(size_t bytes);

/* A module from PTX text that ends in 0; log takes the compiler's complaints. */
int encbench_module_load(uintptr_t *module, const void *image, char *log, size_t log_bytes);
int encbench_module_unload(uintptr_t module);
int encbench_function(uintptr_t *function, uintptr_t module, const char *name);
int encbench_function_attribute(int *value, uintptr_t function, int attribute);
int encbench_function_shared(uintptr_t function, int bytes);
int encbench_function_blocks(int *blocks, uintptr_t function, int threads, size_t shared);

/* n arguments of 8 bytes each, at most 32; cluster blocks make a cluster, 1 for none. */
int encbench_launch(uintptr_t function, const unsigned grid[3], const unsigned block[3], unsigned cluster,
	unsigned shared, uintptr_t stream, const uint64_t *args, int n);

/* A map of rows × columns 16-bit elements in device memory, read in boxes of box_rows ×
   box_columns with the swizzle of 128 bytes; elements outside are 0. */
int encbench_tensor_map(void *map128, int bfloat16, uintptr_t rows_at, uint64_t rows, uint64_t columns,
	uint64_t row_bytes, uint32_t box_rows, uint32_t box_columns);

int encbench_capture_begin(uintptr_t stream);
int encbench_capture_end(uintptr_t stream, uintptr_t *exec);
int encbench_graph_launch(uintptr_t exec, uintptr_t stream);
int encbench_graph_destroy(uintptr_t exec);

#endif
