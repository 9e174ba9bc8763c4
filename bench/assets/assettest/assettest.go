// Package assettest gives tests the assets that they need, or the reason why
// they are skipped. It never downloads.
package assettest

import (
	"errors"
	"os"
	"testing"

	"encbench/bench/assets"
)

// Need gives the path of an asset: the shared library for onnxruntime, the
// model directory for all-minilm-l6-v2, the wheel for techdocs. The user's own
// files (ENCBENCH_ORT_LIBRARY, ENCBENCH_MODEL_DIR) take its place, and
// ENCBENCH_CACHE is honoured.
//
// When the asset is absent, or is the runtime in a test that was built without
// cgo, which cannot open it, the test is skipped with the command that helps,
// or fails when ENCBENCH_REQUIRE_ASSETS is 1, so that a run that means to test
// everything cannot pass by skipping. A corrupt asset always fails.
func Need(tb testing.TB, name string) string {
	tb.Helper()
	if name == "onnxruntime" && !cgo {
		Without(tb, "ONNX Runtime cannot be opened in a build without cgo; run with CGO_ENABLED=1 and a C compiler")
	}
	path, from, err := assets.Override(name, "")
	if err != nil {
		tb.Fatal(err)
	}
	if from != "" {
		return path
	}
	s, err := assets.Open("", assets.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	a, err := s.Lookup(name)
	switch {
	case err == nil:
		return a.Path
	case !errors.Is(err, assets.ErrAbsent) && !errors.Is(err, assets.ErrPlatform):
		tb.Fatal(err)
	}
	Without(tb, "%v (or: make test)", err)
	return ""
}

// Without skips a test that lacks something of the machine, for the reason given,
// or fails it when ENCBENCH_REQUIRE_ASSETS is 1.
func Without(tb testing.TB, format string, args ...any) {
	tb.Helper()
	if os.Getenv("ENCBENCH_REQUIRE_ASSETS") == "1" {
		tb.Fatalf("ENCBENCH_REQUIRE_ASSETS=1: "+format, args...)
	}
	tb.Skipf(format, args...)
}
