package ort

import "errors"

// When the library is loaded.
var (
	// ErrNotBuilt: this binary was built without cgo.
	ErrNotBuilt = errors.New("this encbench was built without cgo and has no ONNX Runtime backend: build it with `make build` and a C compiler")
	// ErrTooOld: the library lacks the C API that encbench is compiled against.
	ErrTooOld = errors.New("ONNX Runtime library is too old")
)

// When a graph is opened on a device.
var (
	// ErrNoCUDA: this binary was built without CUDA.
	ErrNoCUDA = errors.New("this encbench was built without CUDA; `make build` adds it where the CUDA header can be had, see BUILD.md")
	// ErrFallback: part of the graph would run on the processor.
	ErrFallback = errors.New("the graph would not run on the device alone")
)

// When a batch is encoded.
var (
	// ErrTooLong: a row is longer than the model's positions.
	ErrTooLong = errors.New("row is longer than the model's positions")
	// ErrNotFinite: the model gave NaN or infinity.
	ErrNotFinite = errors.New("model gave a vector that is not finite")
)
