//go:build cuda && linux && cgo && (amd64 || arm64)

#include "cuda_shim.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Positions in the table of the API, fixed since the version that brought them. */
enum {
	API_GetErrorMessage = 2,
	API_CreateEnv = 3,
	API_CreateSession = 7,
	API_CreateSessionFromArray = 8,
	API_CreateSessionOptions = 10,
	API_DisableMemPattern = 17,
	API_SetSessionGraphOptimizationLevel = 23,
	API_SetIntraOpNumThreads = 24,
	API_CreateRunOptions = 39,
	API_CreateTensorWithDataAsOrtValue = 49,
	API_CreateMemoryInfo = 68,
	API_ReleaseEnv = 92,
	API_ReleaseStatus = 93,
	API_ReleaseMemoryInfo = 94,
	API_ReleaseSession = 95,
	API_ReleaseValue = 96,
	API_ReleaseRunOptions = 97,
	API_ReleaseSessionOptions = 100,
	API_GetAvailableProviders = 125,
	API_ReleaseAvailableProviders = 126,
	API_AddSessionConfigEntry = 130,
	API_RunWithBinding = 133,
	API_CreateIoBinding = 134,
	API_ReleaseIoBinding = 135,
	API_BindInput = 136,
	API_BindOutput = 137,
	API_AddRunConfigEntry = 165,
	API_SessionOptionsAppendExecutionProvider_CUDA_V2 = 204,
	API_CreateCUDAProviderOptions = 205,
	API_UpdateCUDAProviderOptions = 206,
	API_ReleaseCUDAProviderOptions = 208,
	API_Session_GetEpGraphAssignmentInfo = 407,
	API_EpAssignedSubgraph_GetEpName = 408,
	API_EpAssignedSubgraph_GetNodes = 409,
	API_EpAssignedNode_GetName = 410,
	API_EpAssignedNode_GetOperatorType = 412,
};

enum { VERSION = 24, LOG_ERROR = 3, OPTIMIZE_ALL = 99, DEVICE_ALLOCATOR = 0, MEMORY_DEFAULT = 0 };

typedef const void *const *table;

struct encbench_ort {
	table api;
	void *env;
};

struct encbench_ort_config {
	encbench_ort *ort;
	void *options, *cuda;
};

struct encbench_ort_session {
	encbench_ort *ort;
	void *session;
};

/* CALL calls a function that gives a status, FREE one that gives nothing. */
#define CALL(o, name, types, ...) text(o, ((void *(*)types)(o)->api[API_##name])(__VA_ARGS__))
#define FREE(o, name, p) \
	do { \
		if (p) \
			((void (*)(void *))(o)->api[API_##name])(p); \
	} while (0)

static char *text(encbench_ort *o, void *status) {
	if (!status)
		return NULL;
	char *s = strdup(((const char *(*)(void *))o->api[API_GetErrorMessage])(status));
	FREE(o, ReleaseStatus, status);
	return s;
}

char *encbench_ort_open(encbench_ort **out, const char *path) {
	typedef struct {
		const void *(*get_api)(uint32_t);
	} base;
	void *lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!lib)
		return strdup(dlerror());
	const base *(*get)(void) = (const base *(*)(void))dlsym(lib, "OrtGetApiBase");
	if (!get)
		return strdup("the library has no OrtGetApiBase");
	encbench_ort *o = calloc(1, sizeof *o);
	o->api = (table)get()->get_api(VERSION);
	if (!o->api) {
		free(o);
		return strdup("the library lacks C API 24");
	}
	char *err = CALL(o, CreateEnv, (int, const char *, void **), LOG_ERROR, "encbench", &o->env);
	if (err) {
		free(o);
		return err;
	}
	*out = o;
	return NULL;
}

void encbench_ort_close(encbench_ort *o) {
	FREE(o, ReleaseEnv, o->env);
	free(o);
}

char *encbench_ort_provides(encbench_ort *o, const char *provider, int *yes) {
	char **all;
	int n;
	*yes = 0;
	char *err = CALL(o, GetAvailableProviders, (char ***, int *), &all, &n);
	if (err)
		return err;
	for (int i = 0; i < n; i++)
		*yes |= !strcmp(all[i], provider);
	return CALL(o, ReleaseAvailableProviders, (char **, int), all, n);
}

char *encbench_ort_config_new(encbench_ort *o, encbench_ort_config **out) {
	encbench_ort_config *c = calloc(1, sizeof *c);
	c->ort = o;
	char *err = CALL(o, CreateSessionOptions, (void **), &c->options);
	if (!err)
		err = CALL(o, SetSessionGraphOptimizationLevel, (void *, int), c->options, OPTIMIZE_ALL);
	if (!err)
		err = CALL(o, SetIntraOpNumThreads, (void *, int), c->options, 1);
	if (!err)
		err = CALL(o, DisableMemPattern, (void *), c->options);
	if (err) {
		encbench_ort_config_free(c);
		return err;
	}
	*out = c;
	return NULL;
}

char *encbench_ort_config_set(encbench_ort_config *c, const char *key, const char *value) {
	return CALL(c->ort, AddSessionConfigEntry, (void *, const char *, const char *), c->options, key, value);
}

char *encbench_ort_config_cuda(encbench_ort_config *c, const char *const *keys, const char *const *values, size_t n) {
	char *err = CALL(c->ort, CreateCUDAProviderOptions, (void **), &c->cuda);
	if (!err)
		err = CALL(c->ort, UpdateCUDAProviderOptions, (void *, const char *const *, const char *const *, size_t), c->cuda, keys, values, n);
	if (!err)
		err = CALL(c->ort, SessionOptionsAppendExecutionProvider_CUDA_V2, (void *, void *), c->options, c->cuda);
	return err;
}

void encbench_ort_config_free(encbench_ort_config *c) {
	FREE(c->ort, ReleaseCUDAProviderOptions, c->cuda);
	FREE(c->ort, ReleaseSessionOptions, c->options);
	free(c);
}

char *encbench_ort_session_new(encbench_ort_config *c, const void *bytes, size_t n, const char *path, encbench_ort_session **out) {
	void *s = NULL;
	char *err = bytes
		? CALL(c->ort, CreateSessionFromArray, (void *, const void *, size_t, void *, void **), c->ort->env, bytes, n, c->options, &s)
		: CALL(c->ort, CreateSession, (void *, const char *, void *, void **), c->ort->env, path, c->options, &s);
	if (err)
		return err;
	*out = calloc(1, sizeof **out);
	(*out)->ort = c->ort;
	(*out)->session = s;
	return NULL;
}

void encbench_ort_session_free(encbench_ort_session *s) {
	FREE(s->ort, ReleaseSession, s->session);
	free(s);
}

char *encbench_ort_session_nodes(encbench_ort_session *s, char **lines) {
	encbench_ort *o = s->ort;
	const void *const *parts = NULL;
	size_t n = 0, size = 0;
	FILE *f = open_memstream(lines, &size);
	char *err = CALL(o, Session_GetEpGraphAssignmentInfo, (void *, const void *const **, size_t *), s->session, &parts, &n);
	for (size_t i = 0; !err && i < n; i++) {
		const void *const *nodes = NULL;
		const char *provider = NULL;
		size_t count = 0;
		err = CALL(o, EpAssignedSubgraph_GetEpName, (const void *, const char **), parts[i], &provider);
		if (!err)
			err = CALL(o, EpAssignedSubgraph_GetNodes, (const void *, const void *const **, size_t *), parts[i], &nodes, &count);
		for (size_t j = 0; !err && j < count; j++) {
			const char *op = NULL, *name = NULL;
			err = CALL(o, EpAssignedNode_GetOperatorType, (const void *, const char **), nodes[j], &op);
			if (!err)
				err = CALL(o, EpAssignedNode_GetName, (const void *, const char **), nodes[j], &name);
			if (!err)
				fprintf(f, "%s\t%s\t%s\n", provider, op, name);
		}
	}
	fclose(f);
	if (err) {
		free(*lines);
		*lines = NULL;
	}
	return err;
}

char *encbench_ort_value(encbench_ort_session *s, int device, uintptr_t at, size_t bytes, const int64_t *shape,
	size_t dims, int type, void **out) {
	encbench_ort *o = s->ort;
	void *info = NULL;
	char *err = CALL(o, CreateMemoryInfo, (const char *, int, int, int, void **), "Cuda", DEVICE_ALLOCATOR, device, MEMORY_DEFAULT, &info);
	if (!err)
		err = CALL(o, CreateTensorWithDataAsOrtValue, (void *, void *, size_t, const int64_t *, size_t, int, void **), info, (void *)at, bytes, shape, dims, type, out);
	FREE(o, ReleaseMemoryInfo, info);
	return err;
}

void encbench_ort_value_free(encbench_ort_session *s, void *value) { FREE(s->ort, ReleaseValue, value); }

char *encbench_ort_binding_new(encbench_ort_session *s, void **out) {
	return CALL(s->ort, CreateIoBinding, (void *, void **), s->session, out);
}

char *encbench_ort_bind(encbench_ort_session *s, void *binding, int output, const char *name, void *value) {
	return output ? CALL(s->ort, BindOutput, (void *, const char *, void *), binding, name, value)
	              : CALL(s->ort, BindInput, (void *, const char *, void *), binding, name, value);
}

void encbench_ort_binding_free(encbench_ort_session *s, void *binding) { FREE(s->ort, ReleaseIoBinding, binding); }

char *encbench_ort_options_new(encbench_ort_session *s, const char *graph, void **out) {
	encbench_ort *o = s->ort;
	void *r = NULL;
	char *err = CALL(o, CreateRunOptions, (void **), &r);
	if (!err)
		err = CALL(o, AddRunConfigEntry, (void *, const char *, const char *), r, "disable_synchronize_execution_providers", "1");
	if (!err && graph)
		err = CALL(o, AddRunConfigEntry, (void *, const char *, const char *), r, "gpu_graph_id", graph);
	if (err) {
		FREE(o, ReleaseRunOptions, r);
		return err;
	}
	*out = r;
	return NULL;
}

void encbench_ort_options_free(encbench_ort_session *s, void *options) { FREE(s->ort, ReleaseRunOptions, options); }

char *encbench_ort_run(encbench_ort_session *s, void *options, void *binding) {
	return CALL(s->ort, RunWithBinding, (void *, void *, void *), s->session, options, binding);
}

char *encbench_ort_preload(const char *path) {
	return dlopen(path, RTLD_NOW | RTLD_GLOBAL) ? NULL : strdup(dlerror());
}
