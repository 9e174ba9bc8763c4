/* ONNX Runtime's C API, as far as the CUDA encoder calls it and onnxruntime_go does not.
   The table of the API is addressed by position, so no header of ONNX Runtime's is needed;
   a test compares the positions with the header that onnxruntime_go carries.

   Functions that can fail give NULL, or a text that the caller frees. */
#ifndef ENCBENCH_ORT_CUDA_SHIM_H
#define ENCBENCH_ORT_CUDA_SHIM_H

#include <stddef.h>
#include <stdint.h>

typedef struct encbench_ort encbench_ort;           /* the library and an environment */
typedef struct encbench_ort_config encbench_ort_config;
typedef struct encbench_ort_session encbench_ort_session;

char *encbench_ort_open(encbench_ort **out, const char *path);
void encbench_ort_close(encbench_ort *o);

/* Whether the library was built with a provider; what that needs may be missing. */
char *encbench_ort_provides(encbench_ort *o, const char *provider, int *yes);

/* Options of a session: entries, and those of the CUDA provider, all at once. */
char *encbench_ort_config_new(encbench_ort *o, encbench_ort_config **out);
char *encbench_ort_config_set(encbench_ort_config *c, const char *key, const char *value);
char *encbench_ort_config_cuda(encbench_ort_config *c, const char *const *keys, const char *const *values, size_t n);
void encbench_ort_config_free(encbench_ort_config *c);

/* A session of a model in memory, or of a file where bytes is NULL. */
char *encbench_ort_session_new(encbench_ort_config *c, const void *bytes, size_t n, const char *path, encbench_ort_session **out);
void encbench_ort_session_free(encbench_ort_session *s);

/* Lines "provider, tab, operator, tab, node" of all nodes; the caller frees them. */
char *encbench_ort_session_nodes(encbench_ort_session *s, char **lines);

/* A tensor over memory of a device, which stays the caller's. type is ONNX's number. */
char *encbench_ort_value(encbench_ort_session *s, int device, uintptr_t at, size_t bytes, const int64_t *shape,
	size_t dims, int type, void **out);
void encbench_ort_value_free(encbench_ort_session *s, void *value);

char *encbench_ort_binding_new(encbench_ort_session *s, void **out);
char *encbench_ort_bind(encbench_ort_session *s, void *binding, int output, const char *name, void *value);
void encbench_ort_binding_free(encbench_ort_session *s, void *binding);

/* Options of runs that do not wait for the device; graph is the number of a captured
   graph, NULL for none. */
char *encbench_ort_options_new(encbench_ort_session *s, const char *graph, void **out);
void encbench_ort_options_free(encbench_ort_session *s, void *options);
char *encbench_ort_run(encbench_ort_session *s, void *options, void *binding);

/* Opens a library so that others find it by its soname. */
char *encbench_ort_preload(const char *path);

#endif
