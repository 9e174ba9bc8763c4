package onnx

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"encbench/engine/model/modeltest"
)

// TestCPUGraphsStay compares the bytes of every CPU form of every checkpoint in
// engine/model/testdata with those of the release before there was another target:
// optimised copies of them lie in caches under names that do not know of targets.
func TestCPUGraphsStay(t *testing.T) {
	var b strings.Builder
	for _, dir := range modeltest.Goldens(t) {
		if filepath.Base(filepath.Dir(dir)) != "testdata" {
			continue
		}
		m := open(t, dir)
		for _, opt := range []Options{{}, {Mask: true}, {Types: true}, {Mask: true, Types: true}, {Plain: true}, {Mask: true, Plain: true}, {DenseWindows: true}, {Mask: true, DenseWindows: true}} {
			if opt.Types && m.Types() < 2 {
				continue
			}
			fmt.Fprintf(&b, "%s mask=%t types=%t plain=%t dense=%t %x\n", filepath.Base(dir), opt.Mask, opt.Types, opt.Plain, opt.DenseWindows, sha256.Sum256(build(t, m, opt)))
		}
	}
	path := filepath.Join("testdata", "cpu-graphs.sha256")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the CPU graphs differ from %s, found\n%s", path, b.String())
	}
}
