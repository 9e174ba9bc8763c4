//go:build cuda && linux && cgo && (amd64 || arm64)

package gpu

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"encbench/cuda"
	"encbench/cuda/cudatest"
	"encbench/engine"
	"encbench/engine/cpu"
	"encbench/kernels"
)

// Rows that differ by their last bits, in vectors so long that the device's own rounding
// is larger, and thousands of copies of a few rows: what counts is the rule and the order
// of rows, for every type, text and metric.
func TestNearTies(t *testing.T) {
	workers := []*cuda.Worker{openAt(t, 0)}
	for n, c := range []struct {
		rows, dim, k int
		change       func(rng *rand.Rand, i int, row []float32)
	}{
		{400, 1024, 20, func(rng *rand.Rand, i int, row []float32) {
			at := rng.IntN(len(row))
			row[at] = math.Nextafter32(row[at], float32(i%3-1))
		}},
		{150, 4096, 10, func(rng *rand.Rand, _ int, row []float32) {
			for range 5 {
				row[rng.IntN(len(row))] *= 1 + 0x1p-11
			}
		}},
		{3000, 24, 60, func(rng *rand.Rand, i int, row []float32) {
			if kind := i % 5; kind > 0 {
				row[kind] = -row[kind]
			}
		}},
		{500, 1024, 30, func(_ *rand.Rand, i int, row []float32) { // ever better
			for d := range row {
				row[d] *= 1 + float32(i)*0x1p-12
			}
		}},
	} {
		for elem := range engine.Elem(3) {
			rng := rand.New(rand.NewPCG(7, uint64(n)))
			base := make([]float32, c.dim)
			normal(rng, base, 1)
			one := &trial{name: "near ties", elem: elem, k: c.k, devices: 1, rng: rng}
			one.opt = Options{Dim: c.dim, Metric: engine.Metric((n + int(elem)) % 3), Variant: kernels.Variant((n + int(elem)) % 2), PanelRows: 100}
			for i := range c.rows {
				row := append([]float32{}, base...)
				c.change(rng, i, row)
				one.rows = append(one.rows, row)
			}
			far := make([]float32, c.dim)
			normal(rng, far, 1)
			one.queries = [][]float32{base, one.rows[c.rows/2], far}
			one.compare(t, workers)
		}
	}
}

// Rows come after a search, and searches at the same time as others wait for each other.
func TestAppendBetweenSearches(t *testing.T) {
	cudatest.Set(t, "DEVICES", "2")
	s, err := New(Options{Dim: 20, BlockRows: 64, PanelRows: 50}, openAt(t, 0), openAt(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	plain, err := cpu.NewPlain(cpu.Options{Dim: 20})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(8, 8))
	many := func(n int) (out [][]float32) {
		for range n {
			row := make([]float32, 20)
			normal(rng, row, 1)
			out = append(out, row)
		}
		return out
	}
	base := int64(0)
	for _, n := range []int{1, 130, 70, 300} {
		rows := rowsOf(many(n), engine.F32)
		for _, to := range []engine.Searcher{s, plain} {
			if err := to.Append(t.Context(), base, nil, rows); err != nil {
				t.Fatal(err)
			}
		}
		base += int64(n)
		queries := []engine.Rows{rowsOf(many(3), engine.F32), rowsOf(many(9), engine.F16), rowsOf(many(1), engine.BF16)}
		got, want := make([]engine.Hits, len(queries)), make([]engine.Hits, len(queries))
		var all sync.WaitGroup
		for i, q := range queries {
			if err := plain.Search(t.Context(), q, 11, &want[i]); err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				if err := s.Search(t.Context(), q, 11, &got[i]); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for i := range queries {
			if len(got[i].Row) != len(want[i].Row) {
				t.Fatalf("%d rows: %d places, want %d", base, len(got[i].Row), len(want[i].Row))
			}
			for j := range want[i].Row {
				if got[i].Row[j] != want[i].Row[j] || math.Float32bits(got[i].Score[j]) != math.Float32bits(want[i].Score[j]) {
					t.Errorf("%d rows, queries %d, place %d: row %d with %g, want %d with %g", base, i, j, got[i].Row[j], got[i].Score[j], want[i].Row[j], want[i].Score[j])
				}
			}
		}
	}
}
