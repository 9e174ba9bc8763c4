package onnx

import (
	"path/filepath"
	"slices"
	"testing"

	"encbench/engine/model/modeltest"
)

// TestRotationsOfOlderRuntimes checks that what is computed in float64, on the CPU when
// a session loads the graph, are operators that ONNX Runtime has had in that type since
// 1.24: a session does not load otherwise, or computes the table again in every run.
func TestRotationsOfOlderRuntimes(t *testing.T) {
	known := []string{"Add", "Cast", "Mul", "Sin", "Unsqueeze"}
	found := false
	for _, dir := range modeltest.Goldens(t) {
		m := open(t, dir)
		for _, target := range []Target{CPU, CUDA} {
			nodes, err := Place(build(t, m, Options{Target: target}))
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range nodes {
				if !slices.Contains(n.In, Float64) {
					continue
				}
				found = true
				if !slices.Contains(known, n.Op) {
					t.Errorf("%s for %s: %s", filepath.Base(dir), target, &n)
				}
			}
		}
	}
	if !found {
		t.Error("no checkpoint has rotations")
	}
}
