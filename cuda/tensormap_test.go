//go:build cuda && linux && cgo && (amd64 || arm64)

package cuda_test

import (
	"testing"

	"encbench/cuda"
	"encbench/cuda/cudatest"
)

// Maps that the driver refuses, and launches that have none.
func TestTensorMapRefused(t *testing.T) {
	if !cuda.State().Fake {
		t.Skip("texts of the fake driver's device")
	}
	w := cudatest.Open(t)
	err := w.Do(func(c *cuda.Context) error {
		b, err := c.Alloc(4096)
		if err != nil {
			return err
		}
		l := cuda.Layout{At: b, Rows: 4, Columns: 64, RowBytes: 128}
		if _, err := c.TensorMap(l, 4, 64); err != nil {
			t.Error(err)
		}
		l.RowBytes = 120
		_, err = c.TensorMap(l, 4, 64)
		if want := "cuda: make a tensor map of 4 rows of 64 values, 120 bytes apart, in boxes of 4 × 64 on device 0: 1 CUDA_ERROR_INVALID_VALUE: invalid argument"; err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
		err = c.LaunchMaps(&cuda.Function{Name: "f"}, cuda.Geometry{}, nil, nil, 1)
		if want := "cuda: 0 tensor maps and 1 arguments for f, 1 to 4 and 1 to 32 are possible"; err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
		return c.Free(b)
	})
	if err != nil {
		t.Fatal(err)
	}
}
