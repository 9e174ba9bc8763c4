//go:build cgo

package ort

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// The first two members of OrtApiBase have been stable since API 1.
typedef struct {
	const void *(*get_api)(uint32_t);
	const char *(*get_version)(void);
} encbench_ort_base;

// Returns 0 when the library has the API, 1 when it is too old or too new for
// it, 2 when it is no ONNX Runtime, 3 when it cannot be opened. text receives the
// version or the loader's message.
static int encbench_ort_probe(const char *path, uint32_t api, char *text, size_t n) {
	text[0] = 0;
	void *lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!lib) {
		strncpy(text, dlerror(), n - 1);
		return 3;
	}
	encbench_ort_base *(*base)(void) = (encbench_ort_base * (*)(void)) dlsym(lib, "OrtGetApiBase");
	if (!base) return 2;
	encbench_ort_base *b = base();
	strncpy(text, b->get_version(), n - 1);
	return b->get_api(api) ? 0 : 1;
}
*/
import "C"

import (
	"fmt"
	"path/filepath"
	"sync"
	"unsafe"

	ort "github.com/yalue/onnxruntime_go"
)

// apiVersion is the C API that onnxruntime_go v1.27.0 is compiled against.
const apiVersion = 24

// Runtime is the loaded ONNX Runtime library.
type Runtime struct {
	Path    string
	Version string
}

var loaded struct {
	sync.Mutex
	rt *Runtime
}

// Load opens the ONNX Runtime shared library at path. The process holds one
// library: loading the same path again gives the same Runtime, another path is
// an error.
func Load(path string) (*Runtime, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("load ONNX Runtime: %w", err)
	}
	loaded.Lock()
	defer loaded.Unlock()
	if loaded.rt != nil {
		if loaded.rt.Path != path {
			return nil, fmt.Errorf("load ONNX Runtime %s: %s is already loaded in this process", path, loaded.rt.Path)
		}
		return loaded.rt, nil
	}
	version, err := probe(path)
	if err != nil {
		return nil, err
	}
	ort.SetSharedLibraryPath(path)
	if err := ort.InitializeEnvironment(ort.WithLogLevelError()); err != nil {
		return nil, fmt.Errorf("load ONNX Runtime %s: %w", path, err)
	}
	loaded.rt = &Runtime{Path: path, Version: version}
	return loaded.rt, nil
}

// probe checks a library before onnxruntime_go opens it, to name both versions.
func probe(path string) (version string, err error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	const size = 512
	text := (*C.char)(C.calloc(1, size))
	defer C.free(unsafe.Pointer(text))
	switch C.encbench_ort_probe(name, apiVersion, text, size) {
	case 0:
		return C.GoString(text), nil
	case 1:
		return "", fmt.Errorf("%w: %s is version %s; encbench needs C API %d, which version 1.%d and newer have. Run `encbench assets get onnxruntime` or name a newer library with --ort-library",
			ErrTooOld, path, C.GoString(text), apiVersion, apiVersion)
	case 2:
		return "", fmt.Errorf("load ONNX Runtime %s: the library has no OrtGetApiBase, so it is not ONNX Runtime (in the Python wheel the file is onnxruntime/capi/libonnxruntime.so.VERSION)", path)
	}
	return "", fmt.Errorf("load ONNX Runtime %s: %s", path, C.GoString(text))
}
