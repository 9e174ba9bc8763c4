//go:build cuda && linux && cgo && (amd64 || arm64)

package gpu

import (
	"context"
	"errors"
	"strings"
	"testing"

	"encbench/cuda"
	"encbench/cuda/cudatest"
	"encbench/kernels"
)

// The peak is of the products that were taken, for both kernels, and nothing is left.
func TestPeak(t *testing.T) {
	w := cudatest.Open(t)
	for _, v := range []kernels.Variant{kernels.SM80, kernels.SM90A} {
		flops, how, err := Peak(t.Context(), w, v, PeakSize{130, 300, 60})
		if err != nil {
			t.Fatal(err)
		}
		if flops <= 0 || flops > 1e14 || !strings.Contains(how, v.String()) || !strings.Contains(how, "130 × 300 × 64 in float16, median of 9") {
			t.Errorf("%g FLOP/s, %s", flops, how)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Peak(ctx, w, kernels.SM80, PeakSize{1, 8, 8}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	cudatest.Set(t, "FAIL", "cuMemAlloc_v2:3:2")
	if _, _, err := Peak(t.Context(), w, kernels.SM80, PeakSize{1, 8, 8}); cuda.CodeOf(err) != cuda.CodeOutOfMemory || !strings.HasPrefix(err.Error(), "measure the peak of device 0: ") {
		t.Errorf("out of memory: %v", err)
	}
	cudatest.Clean(t)
}
