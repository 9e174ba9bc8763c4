//go:build cuda && linux && cgo && (amd64 || arm64)

package ort

/*
#include "cuda_shim.h"
#include <stdlib.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"encbench/cuda"
	"encbench/engine"
)

// status makes an error of the text that a function of the shim gives, and frees it.
func status(text *C.char) error {
	if text == nil {
		return nil
	}
	defer C.free(unsafe.Pointer(text))
	return errors.New(strings.Trim(C.GoString(text), " ;\n"))
}

// text calls f with a C copy of s.
func text(s string, f func(*C.char) error) error {
	c := C.CString(s)
	defer C.free(unsafe.Pointer(c))
	return f(c)
}

// Preload opens libraries by their paths, in the order given, so that the CUDA provider
// finds them by name wherever they lie.
func Preload(paths []string) error {
	for _, path := range paths {
		if err := text(path, func(c *C.char) error { return status(C.encbench_ort_preload(c)) }); err != nil {
			return fmt.Errorf("open %s: %w", path, err)
		}
	}
	return nil
}

// library is the API of the loaded ONNX Runtime.
type library struct{ o *C.encbench_ort }

func openLibrary(rt *Runtime) (l library, err error) {
	err = text(rt.Path, func(c *C.char) error { return status(C.encbench_ort_open(&l.o, c)) })
	return l, err
}

// CUDA says whether the library was built with the CUDA provider. The libraries that the
// provider needs may still be missing.
func (rt *Runtime) CUDA() (bool, error) {
	l, err := openLibrary(rt)
	if err != nil {
		return false, fmt.Errorf("ask ONNX Runtime for its providers: %w", err)
	}
	defer l.close()
	var yes C.int
	if err := text(provider, func(c *C.char) error { return status(C.encbench_ort_provides(l.o, c, &yes)) }); err != nil {
		return false, fmt.Errorf("ask ONNX Runtime for its providers: %w", err)
	}
	return yes != 0, nil
}

func (l library) close() {
	if l.o != nil {
		C.encbench_ort_close(l.o)
	}
}

// deviceSession is a session of the CUDA provider. Its methods but new are called on the
// thread of its device.
type deviceSession struct{ s *C.encbench_ort_session }

// pair is an option.
type pair struct{ key, value string }

// providerOptions are what the CUDA provider is told.
func (o CUDAOptions) providerOptions(stream uintptr) []pair {
	flag := func(b bool) string {
		if b {
			return "1"
		}
		return "0"
	}
	out := []pair{
		{"device_id", strconv.Itoa(o.Device)},
		{"has_user_compute_stream", "1"},
		{"user_compute_stream", strconv.FormatUint(uint64(stream), 10)},
		{"do_copy_in_default_stream", "1"}, // a stream of its own races with the arena
		{"use_tf32", flag(o.TF32)},
		{"enable_cuda_graph", flag(o.Graphs)},
		{"arena_extend_strategy", "kSameAsRequested"}, // doubling takes memory that the rows need
		// Of fixed shapes a sum and the LayerNormalization behind it become one operator, which in
		// older releases adds squares up in float16, beyond its range, unless told not to.
		{"enable_skip_layer_norm_strict_mode", "1"},
	}
	if o.MemoryLimit > 0 {
		out = append(out, pair{"gpu_mem_limit", strconv.FormatInt(o.MemoryLimit, 10)})
	}
	return out
}

func (l library) session(g *Graph, o CUDAOptions, stream uintptr) (s deviceSession, err error) {
	var c *C.encbench_ort_config
	if err := status(C.encbench_ort_config_new(l.o, &c)); err != nil {
		return s, fmt.Errorf("ONNX Runtime session options: %w", err)
	}
	defer C.encbench_ort_config_free(c)
	entries := []pair{
		{"session.record_ep_graph_assignment_info", "1"},
		{"session.intra_op.allow_spinning", "0"},
	}
	if g.WeightsDir != "" {
		entries = append(entries, pair{weightsFolder, g.WeightsDir})
	}
	for _, p := range entries {
		err := text(p.key, func(key *C.char) error {
			return text(p.value, func(value *C.char) error { return status(C.encbench_ort_config_set(c, key, value)) })
		})
		if err != nil {
			return s, fmt.Errorf("ONNX Runtime session option %s: %w", p.key, err)
		}
	}
	if err := provide(c, o.providerOptions(stream)); err != nil {
		return s, fmt.Errorf("ONNX Runtime's CUDA provider on device %d: %w; `encbench doctor` names what is missing", o.Device, err)
	}
	if len(g.Bytes) > 0 {
		err = status(C.encbench_ort_session_new(c, unsafe.Pointer(&g.Bytes[0]), C.size_t(len(g.Bytes)), nil, &s.s))
	} else {
		err = text(g.Path, func(path *C.char) error { return status(C.encbench_ort_session_new(c, nil, 0, path, &s.s)) })
	}
	if err != nil {
		return s, fmt.Errorf("load the graph into ONNX Runtime on device %d: %w", o.Device, err)
	}
	return s, nil
}

// provide hands all options of the provider over at once: each call forgets the last.
func provide(c *C.encbench_ort_config, options []pair) error {
	n := len(options)
	table := (*[64]*C.char)(C.calloc(64, C.size_t(unsafe.Sizeof(uintptr(0)))))
	defer C.free(unsafe.Pointer(table))
	for i, p := range options {
		table[i], table[n+i] = C.CString(p.key), C.CString(p.value)
	}
	defer func() {
		for _, s := range table[:2*n] {
			C.free(unsafe.Pointer(s))
		}
	}()
	return status(C.encbench_ort_config_cuda(c, &table[0], &table[n], C.size_t(n)))
}

// placement says where the nodes run.
func (s deviceSession) placement(shapes []string) (Placement, error) {
	var lines *C.char
	if err := status(C.encbench_ort_session_nodes(s.s, &lines)); err != nil {
		return Placement{}, fmt.Errorf("ask ONNX Runtime where the graph's nodes run: %w", err)
	}
	defer C.free(unsafe.Pointer(lines))
	return place(C.GoString(lines), shapes), nil
}

func (s deviceSession) close() {
	if s.s != nil {
		C.encbench_ort_session_free(s.s)
	}
}

// Numbers of ONNX's element types.
const (
	typeFloat    = 1
	typeInt32    = 6
	typeInt64    = 7
	typeFloat16  = 10
	typeBFloat16 = 16
)

// elemType is ONNX's number of a type of rows.
func elemType(e engine.Elem) int {
	switch e {
	case engine.F16:
		return typeFloat16
	case engine.BF16:
		return typeBFloat16
	}
	return typeFloat
}

// tensor is a named place on the device.
type tensor struct {
	name   string
	at     *cuda.Buffer
	shape  []int64
	elem   int // ONNX's number
	output bool
}

// deviceRun is a shape bound to memory of a device.
type deviceRun struct {
	binding, options unsafe.Pointer
	values           []unsafe.Pointer
	captured         bool // with Graphs: it has run before
}

// bind makes a run of tensors; graph is the number of its captured graph, "" for none.
func (s deviceSession) bind(device int, tensors []tensor, graph string) (*deviceRun, error) {
	r := &deviceRun{}
	err := func() error {
		if err := status(C.encbench_ort_binding_new(s.s, &r.binding)); err != nil {
			return err
		}
		for _, t := range tensors {
			var v unsafe.Pointer
			if err := status(C.encbench_ort_value(s.s, C.int(device), C.uintptr_t(t.at.Ptr), C.size_t(t.at.Bytes), (*C.int64_t)(&t.shape[0]), C.size_t(len(t.shape)), C.int(t.elem), &v)); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			r.values = append(r.values, v)
			output := C.int(0)
			if t.output {
				output = 1
			}
			if err := text(t.name, func(name *C.char) error { return status(C.encbench_ort_bind(s.s, r.binding, output, name, v)) }); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
		if graph == "" {
			return status(C.encbench_ort_options_new(s.s, nil, &r.options))
		}
		return text(graph, func(c *C.char) error { return status(C.encbench_ort_options_new(s.s, c, &r.options)) })
	}()
	if err != nil {
		s.unbind(r)
		return nil, fmt.Errorf("bind the graph's inputs and output on device %d: %w", device, err)
	}
	return r, nil
}

func (s deviceSession) unbind(r *deviceRun) {
	if r.binding != nil {
		C.encbench_ort_binding_free(s.s, r.binding)
	}
	for _, v := range r.values {
		C.encbench_ort_value_free(s.s, v)
	}
	if r.options != nil {
		C.encbench_ort_options_free(s.s, r.options)
	}
}

// run gives the work to the session's stream; it does not wait for it.
func (s deviceSession) run(r *deviceRun) error {
	err := status(C.encbench_ort_run(s.s, r.options, r.binding))
	runtime.KeepAlive(r)
	return err
}
