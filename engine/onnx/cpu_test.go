package onnx

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"encbench/engine/model/modeltest"
)

// TestCPUGraphsStay compares the bytes of every CPU form of every checkpoint in
// engine/model/testdata with those on record, so that nothing done for another target
// changes what a CPU computes. The
// frequencies of rotary positions come from math.Pow, whose last bit is another where a
// processor fuses products and sums, so graphs with them are compared on amd64 alone.
func TestCPUGraphsStay(t *testing.T) {
	var b strings.Builder
	rotary := map[string]bool{} // checkpoints, by name
	for _, dir := range modeltest.Goldens(t) {
		if filepath.Base(filepath.Dir(dir)) != "testdata" {
			continue
		}
		m := open(t, dir)
		for _, l := range m.Layers {
			rotary[filepath.Base(dir)] = rotary[filepath.Base(dir)] || l.Attention.Rope.Dim > 0
		}
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
	compared := func(text string) string {
		var lines []string
		for line := range strings.Lines(text) {
			if name, _, _ := strings.Cut(line, " "); runtime.GOARCH == "amd64" || !rotary[name] {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "")
	}
	if got, want := compared(b.String()), compared(string(want)); got != want || got == "" {
		t.Errorf("the CPU graphs differ from %s, found\n%s", path, b.String())
	}
}
