//go:build cuda && linux && cgo && (amd64 || arm64)

package main

import (
	"strings"
	"testing"
)

// What only a device computes is refused on the processor before anything is fetched.
func TestProcessorTF32(t *testing.T) {
	for _, command := range []string{"speed", "eval"} {
		r := start(t, []string{"HOME=" + t.TempDir(), "XDG_CACHE_HOME=" + t.TempDir()}, command, "--device", "cpu", "--dtype", "tf32")
		if r.code != 2 || !strings.HasPrefix(r.stderr, "encbench "+command+": --dtype tf32 is a way of CUDA devices") {
			t.Errorf("%s: exit %d, %s", command, r.code, r.stderr)
		}
	}
}
