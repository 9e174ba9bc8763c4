package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"encbench/engine"
)

// unit makes the rows' norms 1.
func unit(v []float32, dim int) []float32 {
	for r := 0; r < len(v); r += dim {
		var square float64
		for _, x := range v[r : r+dim] {
			square += float64(x) * float64(x)
		}
		for i := range v[r : r+dim] {
			v[r+i] = float32(float64(v[r+i]) / max(math.Sqrt(square), 1e-30))
		}
	}
	return v
}

// benchRows are the rows of the benchmarks, made once.
var benchRows = map[shape][]float32{}

func rowsOf(s shape) []float32 {
	if benchRows[s] != nil {
		return benchRows[s]
	}
	kind := s.kind
	if kind == "sorted" {
		kind = "gaussian"
	}
	v := unit(vectors(rand.New(rand.NewPCG(1, 2)), kind, s.n, s.dim), s.dim)
	if s.kind == "sorted" { // every query like the first one finds better and better rows
		first := unit(vectors(rand.New(rand.NewPCG(3, 4)), kind, 1, s.dim), s.dim)
		order := make([]uint64, s.n)
		for i := range order {
			order[i] = keyOf(-engine.Dot(first, v[i*s.dim:(i+1)*s.dim]), uint32(i))
		}
		slices.Sort(order)
		sorted := make([]float32, 0, len(v))
		for _, key := range order {
			sorted = append(sorted, v[int(uint32(key))*s.dim:][:s.dim]...)
		}
		v = sorted
	}
	benchRows[s] = v
	return v
}

// BenchmarkSearch searches 100,000 rows of 384 values: data, instruction set, path,
// queries, k. GFLOP/s are those that computing all the products in float32 would
// need in that time.
func BenchmarkSearch(b *testing.B) {
	for _, kind := range []string{"gaussian", "clustered", "crowded", "duplicated", "sorted"} {
		b.Run(kind, func(b *testing.B) { benchmarkKind(b, shape{kind, 100_000, 384}) })
	}
}

// BenchmarkSearchLarge has a million rows of 768 values.
func BenchmarkSearchLarge(b *testing.B) { benchmarkKind(b, shape{"gaussian", 1_000_000, 768}) }

func benchmarkKind(b *testing.B, data shape) {
	kind := data.kind
	if kind == "sorted" {
		kind = "gaussian"
	}
	queries := unit(vectors(rand.New(rand.NewPCG(3, 4)), kind, 1000, data.dim), data.dim)
	for _, c := range setups() {
		if c.isa == "go" || c.path == PathInt8 {
			continue
		}
		b.Run(fmt.Sprintf("%s/%s", c.isa, c.path), func(b *testing.B) {
			s, err := NewSearcher(Options{Dim: data.dim, Path: c.path, ISA: c.isa})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			if err := s.Append(b.Context(), 0, nil, engine.HostRows(rowsOf(data), data.dim)); err != nil {
				b.Fatal(err)
			}
			for _, nq := range []int{1000, 1} {
				for _, k := range []int{10, 100, 1000} {
					b.Run(fmt.Sprintf("q%d/k%d", nq, k), func(b *testing.B) {
						benchmark(b, s, engine.HostRows(queries[:nq*data.dim], data.dim), k)
					})
				}
			}
		})
	}
}

// BenchmarkSearchDocuments gives the best of five rows of each document.
func BenchmarkSearchDocuments(b *testing.B) {
	data := shape{"gaussian", 100_000, 384}
	owner := make([]int32, data.n)
	for i := range owner {
		owner[i] = int32(i / 5)
	}
	s, err := NewSearcher(Options{Dim: data.dim})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if err := s.Append(b.Context(), 0, owner, engine.HostRows(rowsOf(data), data.dim)); err != nil {
		b.Fatal(err)
	}
	queries := unit(vectors(rand.New(rand.NewPCG(3, 4)), data.kind, 1000, data.dim), data.dim)
	for _, k := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("k%d", k), func(b *testing.B) { benchmark(b, s, engine.HostRows(queries, data.dim), k) })
	}
}

// processorTime is that of all threads, which means more than the clock where others
// use the machine too.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func benchmark(b *testing.B, s *Searcher, q engine.Rows, k int) {
	var hits engine.Hits
	if err := s.Search(b.Context(), q, k, &hits); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	before := processorTime(b)
	for b.Loop() {
		if err := s.Search(b.Context(), q, k, &hits); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((processorTime(b)-before).Seconds()*1e3/float64(b.N), "cpu-ms/op")
	seconds := b.Elapsed().Seconds() / float64(b.N)
	b.ReportMetric(2*float64(q.N)*float64(q.Dim)*float64(s.Rows())/seconds/1e9, "GFLOP/s")
	b.ReportMetric(seconds*1e3/float64(q.N), "ms/query")
	t := s.Stats()
	b.ReportMetric(float64(t.Rescored)/float64(q.N), "scored/query")
	b.ReportMetric(float64(t.Exact), "exact")
	b.ReportMetric(float64(t.Rescanned), "rescanned")
}

// BenchmarkBuild is what a search costs before the first query: storing the rows and
// making codes.
func BenchmarkBuild(b *testing.B) {
	const n, dim = 100_000, 384
	values := rowsOf(shape{"gaussian", n, dim})
	for _, isa := range ISAs() {
		b.Run(isa, func(b *testing.B) {
			for b.Loop() {
				s, err := NewSearcher(Options{Dim: dim, ISA: isa})
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Append(b.Context(), 0, nil, engine.HostRows(values, dim)); err != nil {
					b.Fatal(err)
				}
				if err := s.Build(b.Context()); err != nil {
					b.Fatal(err)
				}
				s.Close()
			}
			b.SetBytes(4 * n * dim)
		})
	}
}
