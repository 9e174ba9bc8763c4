//go:build cuda && linux && cgo && (amd64 || arm64)

package gpu

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"encbench/cuda"
	"encbench/cuda/cudatest"
	"encbench/engine"
	"encbench/engine/cpu"
	"encbench/kernels"
)

func TestMain(m *testing.M) {
	const dir = "../../kernels/"
	stamp, err := kernels.Stamp(os.DirFS(dir + "src"))
	if err != nil {
		panic(err)
	}
	cudatest.Main(m, cudatest.Kernels{Sources: []string{dir + "src/all.cu", dir + "emu/emu.cc"}, Include: []string{dir + "emu", dir + "src"}, PTX: kernels.PTX(), Stamp: stamp})
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
				b := engine.F32ToF16(v)
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

// Random searches give the ids and the score bits of the definition, whatever the data,
// the type, the metric, the order of threads, and how often lists overflow.
func TestSearch(t *testing.T) {
	w := cudatest.Open(t)
	var widened, scanned, redone int
	for n := range cudatest.Cases(120) {
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		kind := kinds[n%len(kinds)]
		elem := engine.Elem(n / len(kinds) % 3)
		metric := Metric(rng.IntN(3))
		dim, rows, queries, k := 1+rng.IntN(70), rng.IntN(400), 1+rng.IntN(20), 1+rng.IntN(40)
		cudatest.Order(t, n)
		opt := Options{Dim: dim, Metric: metric, Kept: 1 + rng.IntN(64), PanelRows: 1 + rng.IntN(300), BlockRows: 1 + rng.IntN(400)}
		if n%2 == 1 {
			opt.most = k + rng.IntN(32)
			opt.room = opt.most + 1 + rng.IntN(64)
		}
		name := fmt.Sprintf("%d: %s, %v, metric %d, %d × %d, %d queries, k %d, %+v", n, kind.name, elem, metric, rows, dim, queries, k, opt)
		all := make([][]float32, rows+queries)
		for i := range all {
			all[i] = make([]float32, dim)
			kind.row(rng, i, all[i], all[:i])
		}
		stats := compare(t, w, name, opt, elem, all[:rows], all[rows:], k, rng)
		widened, scanned, redone = widened+stats.Widened, scanned+stats.Scanned, redone+stats.Redone
		if t.Failed() {
			return
		}
	}
	t.Logf("%d queries widened, %d scanned, %d panels redone", widened, scanned, redone)
	if widened == 0 || scanned == 0 || redone == 0 {
		t.Error("a way was never taken")
	}
}

// compare runs the device and the definition.
func compare(t *testing.T, w *cuda.Worker, name string, opt Options, elem engine.Elem, rows, queries [][]float32, k int, rng *rand.Rand) Stats {
	t.Helper()
	ctx := context.Background()
	s, err := New(w, opt)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := cpu.NewPlain(cpu.Options{Dim: opt.Dim, Metric: cpu.Metric(opt.Metric)})
	if err != nil {
		t.Fatal(err)
	}
	for at, base := 0, int64(5); at < len(rows); {
		n := 1 + rng.IntN(len(rows)-at)
		for _, to := range []engine.Searcher{s, plain} {
			if err := to.Append(ctx, base, nil, rowsOf(rows[at:at+n], elem)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		at += n
		base += int64(n + rng.IntN(3)) // numbers may leave some out
	}
	var got, want engine.Hits
	q := rowsOf(queries, engine.Elem(rng.IntN(3)))
	if err := s.Search(ctx, q, k, &got); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if err := plain.Search(ctx, q, k, &want); err != nil {
		t.Fatal(err)
	}
	for i := range want.Row {
		if got.Row[i] != want.Row[i] || math.Float32bits(got.Score[i]+0) != math.Float32bits(want.Score[i]+0) {
			t.Errorf("%s: query %d, place %d: row %d, score %g, want %d, %g", name, i/k, i%k, got.Row[i], got.Score[i], want.Row[i], want.Score[i])
			break
		}
	}
	if err := s.Close(); err != nil {
		t.Errorf("%s: close: %v", name, err)
	}
	return s.Stats
}
