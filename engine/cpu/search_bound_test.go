//go:build cgo && amd64 && !noasm

package cpu

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"encbench/engine"
)

// scanners lists every scanner of this machine.
func scanners() map[string]setup {
	all := map[string]setup{}
	for _, isa := range ISAs() {
		k, _ := pick(isa)
		for _, p := range []Path{PathInt16, PathInt8} {
			if k.has(p) {
				all[isa+"/"+p.String()] = setup{isa, p, 2}
			}
		}
	}
	return all
}

// bounds gives for each query the upper bounds of all rows, by row.
func bounds(t testing.TB, s *Searcher, q *queries) ([]asked, [][]float32) {
	t.Helper()
	sc := s.kernels.int8
	if s.opt.Path == PathInt16 {
		sc = s.kernels.int16
	}
	if err := s.Build(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := &hunt{s: s, sc: sc, c: &s.index.codes[sc.bits/16], q: q, k: 1 << 20}
	h.stride = coprime(h.c.panels(sc))
	list := make([]int, q.n)
	for i := range list {
		list[i] = i
	}
	asked, code := h.ask(list)
	scan, err := h.scan(t.Context(), new(worker), asked, code, 0, 1, proven)
	if err != nil {
		t.Fatal(err)
	}
	defer scan.free()
	out := make([][]float32, q.n)
	for i := range out {
		upper, slot, _, ok := scan.list(i)
		if !ok || len(upper) != len(s.index.first) {
			t.Fatalf("query %d: %d of %d rows scanned, ok %v", i, len(upper), len(s.index.first), ok)
		}
		out[i] = make([]float32, s.rows.n)
		for j := range out[i] {
			out[i][j] = float32(math.NaN())
		}
		for j, u := range upper {
			for row := s.index.first[slot[j]] + 1; row != 0; {
				out[i][row-1] = u
				if s.index.next == nil {
					break
				}
				row = s.index.next[row-1]
			}
		}
	}
	return asked, out
}

// TestBoundHolds compares the bound of every row with the limit that its own score
// sets: a row below it would be left out where it is the k-th best.
func TestBoundHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for name, c := range scanners() {
		for _, kind := range kinds {
			for _, m := range []Metric{InnerProduct, Cosine, L2} {
				for _, dim := range []int{1, 7, 64, 131} {
					const n, nq = 330, 8
					s, err := NewSearcher(Options{Dim: dim, Metric: m, Threads: 1, Path: c.path, ISA: c.isa})
					if err != nil {
						t.Fatal(err)
					}
					values := vectors(rng, kind, n, dim)
					asking := vectors(rng, kind, nq, dim)
					copy(asking, values[:dim])
					copy(asking[dim:], vectors(rng, kinds[rng.IntN(len(kinds))], 1, dim))
					if err := s.Append(t.Context(), 0, nil, engine.HostRows(values, dim)); err != nil {
						t.Fatal(err)
					}
					q := s.newQueries(engine.HostRows(asking, dim))
					asked, upper := bounds(t, s, q)
					for i := range nq {
						for row := range n {
							score := m.Score(q.row(i), values[row*dim:(row+1)*dim])
							if limit := asked[i].limit(score); !(upper[i][row] >= limit) {
								t.Fatalf("%s, %s, %s, dim %d, query %d, row %d: score %v needs %v, the bound is %v",
									name, kind, m, dim, i, row, score, limit, upper[i][row])
							}
						}
					}
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
}

// TestBoundIsTight makes sure that the bound separates: the distance from a row's
// score is, in standard deviations of the scores, near what the rounding of a
// Gaussian row and query to so many bits explains.
func TestBoundIsTight(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	const n, dim, nq = 2000, 384, 4
	values, asking := vectors(rng, "gaussian", n, dim), vectors(rng, "gaussian", nq, dim)
	for i := range values { // as embeddings crowd
		values[i] += 2
	}
	for i := range asking {
		asking[i] += 2
	}
	for name, c := range scanners() {
		s, err := NewSearcher(Options{Dim: dim, Path: c.path, ISA: c.isa})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Append(t.Context(), 0, nil, engine.HostRows(values, dim)); err != nil {
			t.Fatal(err)
		}
		q := s.newQueries(engine.HostRows(asking, dim))
		asked, upper := bounds(t, s, q)
		most := 0.35
		if c.path == PathInt16 {
			most = 0.01
		}
		for i, a := range asked {
			var above, sum, square float64
			for row := range n {
				score := float64(engine.Dot(q.row(i), values[row*dim:(row+1)*dim]))
				above += a.constant + a.scale*float64(upper[i][row]) - score
				sum += score
				square += score * score
			}
			deviation := math.Sqrt(square/n - sum/n*(sum/n))
			if got := above / n / deviation; got > most {
				t.Errorf("%s: query %d: bounds are %.3f standard deviations above the scores, want %v at most", name, i, got, most)
			}
		}
		s.Close()
	}
}

func TestSearchWhileItGrows(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	const dim, total = 20, 6000
	for name, c := range scanners() {
		values := vectors(rng, "duplicated", total, dim)
		asked := engine.HostRows(vectors(rng, "gaussian", 40, dim), dim)
		s, _ := NewSearcher(Options{Dim: dim, Metric: L2, Threads: 2, Path: c.path, ISA: c.isa})
		p, _ := NewPlain(Options{Dim: dim, Metric: L2})
		var got, want engine.Hits
		for from := 0; from < total; {
			to := min(total, from+1+rng.IntN(2000))
			r := some(engine.HostRows(values, dim), from, to)
			for _, x := range []engine.Searcher{s, p} {
				if err := x.Append(t.Context(), int64(2*from), nil, r); err != nil {
					t.Fatal(err)
				}
				hits := &got
				if x == engine.Searcher(p) {
					hits = &want
				}
				if err := x.Search(t.Context(), asked, 15, hits); err != nil {
					t.Fatal(err)
				}
			}
			if err := sameHits(&got, &want); err != nil {
				t.Fatalf("%s: after %d rows: %v", name, to, err)
			}
			from = to
		}
		s.Close()
	}
}

func TestSearchesAtTheSameTime(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	const dim = 16
	s, _ := NewSearcher(Options{Dim: dim, Threads: 2})
	if err := s.Append(t.Context(), 0, nil, engine.HostRows(vectors(rng, "clustered", 5000, dim), dim)); err != nil {
		t.Fatal(err)
	}
	asked := engine.HostRows(vectors(rng, "clustered", 50, dim), dim)
	var want engine.Hits
	e, _ := NewSearcher(Options{Dim: dim, Path: PathExact})
	if err := e.Append(t.Context(), 0, nil, engine.HostRows(vectors(rand.New(rand.NewPCG(6, 6)), "clustered", 5000, dim), dim)); err != nil {
		t.Fatal(err)
	}
	if err := e.Search(t.Context(), asked, 12, &want); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			var got engine.Hits
			if err := s.Search(t.Context(), asked, 12, &got); err != nil {
				t.Error(err)
			} else if err := sameHits(&got, &want); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s.Close()
}

func TestStatsTell(t *testing.T) {
	if ISAs()[0] == "go" {
		t.Skip("no AVX2")
	}
	rng := rand.New(rand.NewPCG(7, 7))
	const n, dim, nq = 6000, 64, 100
	search := func(kind string, k int, opt Options) Stats {
		t.Helper()
		opt.Dim, opt.Threads = dim, 2
		s, err := NewSearcher(opt)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.Append(t.Context(), 0, nil, engine.HostRows(vectors(rng, kind, n, dim), dim)); err != nil {
			t.Fatal(err)
		}
		q := vectors(rng, "gaussian", nq, dim)
		if kind == "near" {
			clear(q) // to a query of zeros all rows are equal
		}
		var hits engine.Hits
		if err := s.Search(t.Context(), engine.HostRows(q, dim), k, &hits); err != nil {
			t.Fatal(err)
		}
		return s.Stats()
	}
	got := search("gaussian", 5, Options{})
	if got.Queries != nq || got.ISA != ISAs()[0] || got.Path == PathExact || got.Distinct != n || got.Rescored < 5*nq || got.Rescored > 200*nq {
		t.Errorf("gaussian: %+v", got)
	}
	reason := fmt.Sprintf("%d-bit codes separate: 13 probed queries left", map[Path]int{PathInt8: 8, PathInt16: 16}[got.Path])
	if len(got.Reason) < len(reason) || got.Reason[:len(reason)] != reason {
		t.Errorf("the reason is %q, want %q…", got.Reason, reason)
	}
	got = search("near", 5, Options{})
	if want := "16-bit codes do not separate: 13 probed queries left 6000 of 6000 rows to score at k 5"; got.Path != PathExact || got.Exact < nq-2*13 || got.Reason != want {
		t.Errorf("rows that no codes separate: %+v, want reason %s", got, want)
	}
	if got := search("equal", 5, Options{}); got.Path == PathExact || got.Exact != 0 || got.Distinct != 1 || got.Rescored != nq {
		t.Errorf("equal rows: %+v", got)
	}
	if got := search("gaussian", 5, Options{Path: PathExact}); got.Exact != nq || got.Reason != "the exact path was asked for" {
		t.Errorf("exact: %+v", got)
	}
	if got := search("gaussian", 5, Options{ISA: "go"}); got.Exact != nq || got.Reason != "this build or machine has no instructions for codes" {
		t.Errorf("go: %+v", got)
	}
	if got := search("gaussian", 5, Options{Path: PathInt16}); got.Path != PathInt16 || got.Reason != "the int16 path was asked for" {
		t.Errorf("int16: %+v", got)
	}
}

func TestBuildStops(t *testing.T) {
	if ISAs()[0] == "go" {
		t.Skip("no AVX2")
	}
	s, _ := NewSearcher(Options{Dim: 2})
	if err := s.Append(t.Context(), 0, nil, engine.HostRows(make([]float32, 20), 2)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err, want := s.Build(ctx), "prepare 10 rows for searches: context canceled"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if want := "out of memory for the candidates of a search; search fewer queries at once"; errMemory.Error() != want {
		t.Errorf("got %v, want %s", errMemory, want)
	}
}

// TestGuessThatFails scans rows whose bounds are guessed too high, because great
// ones are met first: then there are enough of them to prove the right bound, or too
// few, as where rows that are alike stand together.
func TestGuessThatFails(t *testing.T) {
	const n, dim, k = 40_000, 4, 900
	rng := rand.New(rand.NewPCG(3, 3))
	for name, c := range scanners() {
		for _, great := range []int{2560, 512} {
			s, _ := NewSearcher(Options{Dim: dim, Threads: 1, Path: c.path, ISA: c.isa})
			sc := s.kernels.int8
			if c.path == PathInt16 {
				sc = s.kernels.int16
			}
			panels := (n + sc.rows - 1) / sc.rows
			stride := coprime(panels)
			values := vectors(rng, "gaussian", n, dim)
			for visit, at := 0, 0; visit < panels; visit, at = visit+1, (at+stride)%panels {
				for row := at * sc.rows; row < min(n, (at+1)*sc.rows); row++ {
					switch met := visit * sc.rows; {
					case met < great:
						values[row*dim] = 10 + rng.Float32()
					case great > k && met > great+5*sc.rows:
						values[row*dim] = -10 - rng.Float32()
					}
				}
			}
			p, _ := NewSearcher(Options{Dim: dim, Path: PathExact, ISA: "go"})
			asked := engine.HostRows(slices.Repeat([]float32{1, 0.01, 0, 0}, 20), dim)
			var got, want engine.Hits
			for _, x := range []*Searcher{s, p} {
				if err := x.Append(t.Context(), 0, nil, engine.HostRows(values, dim)); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Search(t.Context(), asked, k, &got); err != nil {
				t.Fatal(err)
			}
			if err := p.Search(t.Context(), asked, k, &want); err != nil {
				t.Fatal(err)
			}
			if err := sameHits(&got, &want); err != nil || s.Stats().Rescanned < 20 || s.Stats().Exact > 0 {
				t.Errorf("%s, %d great rows: %v, stats %+v", name, great, err, s.Stats())
			}
			s.Close()
		}
	}
}

func TestTwinsOfSmallKernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, isa := range ISAs() {
		k, _ := pick(isa)
		for n := 1; n < 70; n++ {
			a, b := vectors(rng, "gaussian", 1, n), vectors(rng, "mixed", 1, n)
			if got, want := k.dot64(a, b), engine.Dot64(a, b); got != want {
				t.Fatalf("%s: dot64 of %d values is %v, want %v", isa, n, got, want)
			}
			for _, e := range []engine.Elem{engine.F32, engine.F16, engine.BF16} {
				v := slices.Clone(a)
				if rng.IntN(2) == 0 {
					v[rng.IntN(n)] = []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}[rng.IntN(3)]
				}
				r := typed(v, n, e)
				if e == engine.F16 {
					r = typed(a, n, e)
				}
				if got, want := k.finite(r, 0), rowFinite(r, 0); got != want {
					t.Fatalf("%s: finite of %d values of %s is %v, want %v", isa, n, e, got, want)
				}
			}
		}
		if k.rank == nil {
			continue
		}
		for n := range 300 {
			v, slot := vectors(rng, "integers", 1, n), make([]uint32, n)
			owner, marks := make([]uint32, n+1), make([]uint32, n+1)
			for i := range slot {
				slot[i], owner[i] = uint32(i), uint32(rng.IntN(n/2+1))
				v[i] += rng.Float32()
			}
			rank := 1 + rng.IntN(n+3)
			for _, o := range [][]uint32{nil, owner} {
				at := k.rank(v, slot, rank, o, marks)
				reach := map[uint32]bool{}
				for i, x := range v {
					if x >= at {
						id := slot[i]
						if o != nil {
							id = o[i]
						}
						reach[id] = true
					}
				}
				if math.IsInf(float64(at), -1) {
					if len(reach) >= rank {
						t.Fatalf("%s: no rank %d of %d values, documents %v", isa, rank, n, o != nil)
					}
				} else if len(reach) < rank || len(reach) > rank+rank/32+n/20+2 {
					t.Fatalf("%s: rank %d of %d values, documents %v: %d reach %v", isa, rank, n, o != nil, len(reach), at)
				}
				if slices.Max(marks) != 0 {
					t.Fatalf("%s: marks are left", isa)
				}
			}
		}
	}
}
