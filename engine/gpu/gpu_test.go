//go:build cuda && linux && cgo && (amd64 || arm64)

package gpu

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"encbench/cuda"
	"encbench/cuda/cudatest"
	"encbench/engine"
	"encbench/engine/cpu"
	"encbench/kernels"
)

func TestMain(m *testing.M) {
	const dir = "../../kernels/"
	stamp, err := kernels.Stamp(os.DirFS(dir+"device"), os.DirFS(dir+"src"))
	if err != nil {
		panic(err)
	}
	cudatest.Main(m, cudatest.Kernels{
		Sources: []string{dir + "src/all.cu", dir + "src/wide.cu", dir + "emu/emu.cc", dir + "emu/hopper.cc"}, Include: []string{dir + "emu", dir + "src"},
		PTX: slices.Concat(kernels.SM80.PTX(), kernels.SM90A.PTX()), Stamp: stamp,
	})
}

// rowsOf lays values out as rows of a type, with a stride of its own.
func rowsOf(values [][]float32, elem engine.Elem) engine.Rows {
	r := engine.Rows{N: len(values), Type: elem, Device: -1}
	if len(values) == 0 {
		return r
	}
	r.Dim = len(values[0])
	r.Stride = r.Dim + 3
	size := elem.Size()
	r.Host = make([]byte, r.N*r.Stride*size)
	for i, row := range values {
		for d, v := range row {
			at := r.Host[(i*r.Stride+d)*size:]
			switch elem {
			case engine.F16:
				b := engine.F32ToF16(max(-65504, min(65504, v)))
				at[0], at[1] = byte(b), byte(b>>8)
			case engine.BF16:
				b := engine.F32ToBF16(v)
				at[0], at[1] = byte(b), byte(b>>8)
			default:
				b := math.Float32bits(v)
				at[0], at[1], at[2], at[3] = byte(b), byte(b>>8), byte(b>>16), byte(b>>24)
			}
		}
	}
	return r
}

// kinds are data by what makes them hard.
var kinds = []struct {
	name string
	row  func(rng *rand.Rand, i int, row []float32, before [][]float32)
}{
	{"normal", func(rng *rand.Rand, _ int, row []float32, _ [][]float32) { normal(rng, row, 1) }},
	{"unit", func(rng *rand.Rand, _ int, row []float32, _ [][]float32) {
		normal(rng, row, 1)
		n := float32(math.Sqrt(engine.Dot64(row, row)))
		for d := range row {
			row[d] /= n
		}
	}},
	{"lengths", func(rng *rand.Rand, _ int, row []float32, _ [][]float32) {
		normal(rng, row, math.Exp2(float64(rng.IntN(16)-8)))
	}},
	{"duplicates", func(rng *rand.Rand, i int, row []float32, before [][]float32) {
		if normal(rng, row, 1); i > 7 {
			copy(row, before[rng.IntN(8)])
		}
	}},
	{"near", func(rng *rand.Rand, i int, row []float32, before [][]float32) {
		if normal(rng, row, 1); i > 0 {
			for d := range row {
				row[d] = before[0][d] + row[d]*1e-3
			}
		}
	}},
	{"zeros", func(rng *rand.Rand, i int, row []float32, _ [][]float32) {
		if clear(row); i%3 == 0 {
			normal(rng, row, 1e-3)
		}
	}},
	{"ascending", func(_ *rand.Rand, i int, row []float32, _ [][]float32) {
		for d := range row {
			row[d] = float32(i)/16 + float32(d)
		}
	}},
	{"huge", func(rng *rand.Rand, _ int, row []float32, _ [][]float32) { normal(rng, row, 6e4) }},
	{"tiny", func(rng *rand.Rand, i int, row []float32, _ [][]float32) {
		normal(rng, row, math.Exp2(float64(-rng.IntN(90))))
	}},
	{"few values", func(rng *rand.Rand, _ int, row []float32, _ [][]float32) {
		for d := range row {
			row[d] = float32(rng.IntN(3) - 1)
		}
	}},
}

func normal(rng *rand.Rand, row []float32, by float64) {
	for d := range row {
		row[d] = float32(rng.NormFloat64() * by)
	}
}

// trial is a random search: data, shapes, and how it is gone about.
type trial struct {
	name          string
	opt           Options
	elem          engine.Elem
	asked         *engine.Elem // type of the queries; nil is any
	rows, queries [][]float32
	k, devices    int
	owners        int // documents; 0 is none named
	rng           *rand.Rand
}

// random makes case n.
func random(n int) *trial {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	kind := kinds[n%len(kinds)]
	c := &trial{elem: engine.Elem(n / len(kinds) % 3), k: 1 + rng.IntN(40), devices: 1, rng: rng}
	dim, rows, queries := 1+rng.IntN(70), rng.IntN(400), 1+rng.IntN(20)
	c.opt = Options{Dim: dim, Metric: engine.Metric(rng.IntN(3)), Kept: 1 + rng.IntN(64), PanelRows: 1 + rng.IntN(300), BlockRows: 50 + rng.IntN(400)}
	if n%2 == 1 {
		c.opt.most = 1 + c.k/(1+rng.IntN(3)) + rng.IntN(32) // k in one pass, or in more
		c.opt.room = c.opt.most + 1 + rng.IntN(64)
	}
	if n%3 == 1 {
		c.opt.PrimeRows = 1 + rng.IntN(100)
	}
	switch rng.IntN(4) {
	case 0: // all streamed
		c.opt.stay, c.opt.Slots = -1, 1+rng.IntN(2)
	case 1: // some
		c.opt.stay = 1 + rng.Int64N(200)
	case 2:
		c.opt.Rows = int64(rows)
	}
	if n%4 == 3 {
		c.devices = 2 + rng.IntN(2)
	}
	if n%5 == 2 {
		c.owners = 1 + rng.IntN(50)
	}
	if n%7 == 0 && kind.name != "huge" {
		c.opt.Store = engine.Store(1 + rng.IntN(3))
	}
	if n%6 == 1 {
		c.opt.stage = 1 + rng.IntN(2000)
	}
	c.opt.Variant = kernels.Variant(n / 2 % 2)
	if n%11 == 5 {
		c.k = 400 // more than there are
	}
	all := make([][]float32, rows+queries)
	for i := range all {
		all[i] = make([]float32, dim)
		kind.row(rng, i, all[i], all[:i])
	}
	c.rows, c.queries = all[:rows], all[rows:]
	c.name = fmt.Sprintf("%d: %s, %v, %d × %d, %d queries, k %d, %d devices, %d owners, %+v", n, kind.name, c.elem, rows, dim, queries, c.k, c.devices, c.owners, c.opt)
	return c
}

// Random searches give the ids and the score bits of the definition, whatever the data,
// the type, the metric, the way, the order of threads, and how often lists overflow.
func TestSearch(t *testing.T) {
	cudatest.Set(t, "DEVICES", "3")
	workers := []*cuda.Worker{openAt(t, 0), openAt(t, 1), openAt(t, 2)}
	var sum Stats
	for n := range cudatest.Cases(160) {
		cudatest.Order(t, n)
		c := random(n)
		sum.add(c.compare(t, workers[:c.devices]))
		if t.Failed() {
			return
		}
	}
	t.Logf("%+v", sum)
	if sum.Certified == 0 || sum.Widened == 0 || sum.Scanned == 0 || sum.Redone == 0 || sum.Blocks == 0 || sum.Rounds < 2 {
		t.Errorf("a way was never taken: %+v", sum)
	}
}

// openAt opens a device for a test.
func openAt(t *testing.T, ordinal int) *cuda.Worker {
	t.Helper()
	w, err := cuda.Open(ordinal)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Errorf("close device %d: %v", ordinal, err)
		}
		if ordinal == 0 {
			cudatest.Clean(t)
		}
	})
	return w
}

// append gives rows to the searchers, in blocks whose numbers leave some out.
func (c *trial) append(t *testing.T, to ...engine.Searcher) {
	t.Helper()
	for at, base := 0, int64(5); at < len(c.rows); {
		n := 1 + c.rng.IntN(len(c.rows)-at)
		var owner []int32
		if c.owners > 0 && c.rng.IntN(4) > 0 {
			for range n {
				owner = append(owner, int32(c.rng.IntN(c.owners)))
			}
		}
		for _, s := range to {
			if err := s.Append(context.Background(), base, owner, rowsOf(c.rows[at:at+n], c.elem)); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
		}
		at += n
		base += int64(n + c.rng.IntN(3))
	}
}

// compare runs the devices and the definition.
func (c *trial) compare(t *testing.T, workers []*cuda.Worker) Stats {
	t.Helper()
	s, err := New(c.opt, workers...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Errorf("%s: close: %v", c.name, err)
		}
	}()
	plain, err := cpu.NewPlain(cpu.Options{Dim: c.opt.Dim, Metric: c.opt.Metric, Store: c.opt.Store})
	if err != nil {
		t.Fatal(err)
	}
	c.append(t, s, plain)
	elem := engine.Elem(c.rng.IntN(3))
	if c.asked != nil {
		elem = *c.asked
	}
	c.same(t, s, plain, rowsOf(c.queries, elem))
	return s.Stats()
}

// same holds one search against the definition's.
func (c *trial) same(t *testing.T, s, plain engine.Searcher, q engine.Rows) {
	t.Helper()
	var got, want engine.Hits
	if err := s.Search(context.Background(), q, c.k, &got); err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	if err := plain.Search(context.Background(), q, c.k, &want); err != nil {
		t.Fatal(err)
	}
	for i := range want.Row {
		if got.Row[i] != want.Row[i] || math.Float32bits(got.Score[i]) != math.Float32bits(want.Score[i]) {
			t.Errorf("%s: query %d, place %d: row %d, score %g, want %d, %g", c.name, i/c.k, i%c.k, got.Row[i], got.Score[i], want.Row[i], want.Score[i])
			return
		}
	}
}
