//go:build !(cuda && linux && cgo && (amd64 || arm64))

package ort

import (
	"errors"
	"testing"

	"encbench/engine"
)

// Without CUDA every call says so, and nothing crashes.
func TestWithoutCUDA(t *testing.T) {
	_, err := OpenCUDA(nil, Graph{}, CUDAOptions{})
	want := "this encbench was built without CUDA; `make build` adds it where the CUDA header can be had, see BUILD.md"
	if !errors.Is(err, ErrNoCUDA) || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	var e CUDAEncoder
	if u := e.Use(); u != (DeviceUse{}) {
		t.Errorf("use %+v", u)
	}
	_, _, err = e.Collect(t.Context(), 0)
	for _, err := range []error{err, Preload(nil), e.Submit(0, &engine.Batch{})} {
		if !errors.Is(err, ErrNoCUDA) {
			t.Error(err)
		}
	}
}
