//go:build cuda && linux && cgo && (amd64 || arm64)

#include "shim.h"

#include <cuda.h>
#include <stdlib.h>
#include <string.h>

const char *encbench_error_name(int code) {
	const char *s = NULL;
	return cuGetErrorName((CUresult)code, &s) == CUDA_SUCCESS ? s : NULL;
}

const char *encbench_error_text(int code) {
	const char *s = NULL;
	return cuGetErrorString((CUresult)code, &s) == CUDA_SUCCESS ? s : NULL;
}

int encbench_device_pci(char *to, int size, int device) { return cuDeviceGetPCIBusId(to, size, device); }

int encbench_device_uuid(unsigned char to[16], int device) {
	CUuuid u;
	int code = cuDeviceGetUuid_v2(&u, device); /* of a MIG slice its own */
	memcpy(to, u.bytes, 16);
	return code;
}

int encbench_host_alloc(void **p, size_t bytes) { return cuMemHostAlloc(p, bytes, CU_MEMHOSTALLOC_PORTABLE); }

int encbench_host_register(void *p, size_t bytes) { return cuMemHostRegister(p, bytes, CU_MEMHOSTREGISTER_PORTABLE); }

int encbench_host_unregister(void *p) { return cuMemHostUnregister(p); }

void *encbench_plain_alloc(size_t bytes) {
	void *p = NULL;
	if (posix_memalign(&p, 4096, bytes) != 0)
		return NULL;
	return memset(p, 0, bytes);
}

int encbench_module_load(uintptr_t *module, const void *image, char *log, size_t log_bytes) {
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)log_bytes};
	CUmodule m = NULL;
	log[0] = 0;
	int code = cuModuleLoadDataEx(&m, image, 2, options, values);
	*module = (uintptr_t)m;
	return code;
}

int encbench_module_unload(uintptr_t module) { return cuModuleUnload((CUmodule)module); }

int encbench_function(uintptr_t *function, uintptr_t module, const char *name) {
	CUfunction f = NULL;
	int code = cuModuleGetFunction(&f, (CUmodule)module, name);
	*function = (uintptr_t)f;
	return code;
}

int encbench_function_attribute(int *value, uintptr_t function, int attribute) {
	return cuFuncGetAttribute(value, (CUfunction_attribute)attribute, (CUfunction)function);
}

int encbench_function_shared(uintptr_t function, int bytes) {
	return cuFuncSetAttribute((CUfunction)function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes);
}

int encbench_function_blocks(int *blocks, uintptr_t function, int threads, size_t shared) {
	return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (CUfunction)function, threads, shared);
}

int encbench_launch(uintptr_t function, const unsigned grid[3], const unsigned block[3], unsigned cluster,
	unsigned shared, uintptr_t stream, const uint64_t *args, int n) {
	void *each[32];
	if (n < 0 || n > 32)
		return CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < n; i++)
		each[i] = (void *)(args + i);
	if (cluster <= 1)
		return cuLaunchKernel((CUfunction)function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
			shared, (CUstream)stream, each, NULL);
	CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
	attribute.value.clusterDim.x = cluster;
	attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
	CUlaunchConfig config = {
		.gridDimX = grid[0], .gridDimY = grid[1], .gridDimZ = grid[2],
		.blockDimX = block[0], .blockDimY = block[1], .blockDimZ = block[2],
		.sharedMemBytes = shared, .hStream = (CUstream)stream, .attrs = &attribute, .numAttrs = 1,
	};
	return cuLaunchKernelEx(&config, (CUfunction)function, each, NULL);
}

int encbench_tensor_map(void *map128, int bfloat16, uintptr_t rows_at, uint64_t rows, uint64_t columns,
	uint64_t row_bytes, uint32_t box_rows, uint32_t box_columns) {
	CUtensorMap map;
	cuuint64_t size[] = {columns, rows}, stride[] = {row_bytes};
	cuuint32_t box[] = {box_columns, box_rows}, step[] = {1, 1};
	int code = cuTensorMapEncodeTiled(&map,
		bfloat16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, (void *)rows_at,
		size, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
		CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
	memcpy(map128, &map, sizeof map);
	return code;
}

int encbench_capture_begin(uintptr_t stream) {
	return cuStreamBeginCapture((CUstream)stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

int encbench_capture_end(uintptr_t stream, uintptr_t *exec) {
	CUgraph graph = NULL;
	CUgraphExec e = NULL;
	int code = cuStreamEndCapture((CUstream)stream, &graph);
	if (code == CUDA_SUCCESS)
		code = cuGraphInstantiateWithFlags(&e, graph, 0);
	if (graph) {
		int gone = cuGraphDestroy(graph);
		if (code == CUDA_SUCCESS)
			code = gone;
	}
	*exec = (uintptr_t)e;
	return code;
}

int encbench_graph_launch(uintptr_t exec, uintptr_t stream) {
	return cuGraphLaunch((CUgraphExec)exec, (CUstream)stream);
}

int encbench_graph_destroy(uintptr_t exec) { return cuGraphExecDestroy((CUgraphExec)exec); }
