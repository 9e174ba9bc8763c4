package cpu

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"encbench/engine"
)

// shape names the data of a test.
type shape struct {
	kind   string
	n, dim int
}

// kinds of data: each is a way in which a bound or a threshold may go wrong.
var kinds = []string{"gaussian", "clustered", "crowded", "duplicated", "equal", "ascending", "descending", "tiny", "huge",
	"mixed", "zero", "integers", "outlier", "near"}

// vectors makes n rows of a kind.
func vectors(rng *rand.Rand, kind string, n, dim int) []float32 {
	out := make([]float32, n*dim)
	normal := func(v []float32, scale float64) {
		for i := range v {
			v[i] = float32(rng.NormFloat64() * scale)
		}
	}
	centres := make([]float32, 7*dim)
	normal(centres, 1)
	for r := range n {
		v := out[r*dim : (r+1)*dim]
		switch kind {
		case "gaussian":
			normal(v, 1)
		case "clustered":
			normal(v, 0.05)
			for i, c := range centres[r%7*dim:][:dim] {
				v[i] += c
			}
		case "crowded": // cosines near 1
			normal(v, 0.1)
			for i := range v {
				v[i] += 3
			}
		case "duplicated":
			if r >= 5 && r%3 != 0 {
				copy(v, out[(r%5)*dim:])
			} else {
				normal(v, 1)
			}
		case "equal":
			for i := range v {
				v[i] = float32(i%3) - 0.7
			}
		case "ascending", "descending":
			normal(v, 0.01)
			up := float32(r)
			if kind == "descending" {
				up = float32(n - r)
			}
			for i := range v {
				v[i] += up / 64
			}
		case "tiny":
			normal(v, 1e-42)
		case "huge":
			normal(v, 1e37)
			if r%3 == 0 {
				normal(v, 1e30)
			}
		case "mixed":
			normal(v, math.Pow(10, float64(r%60)-35))
		case "zero":
			if r%2 == 0 {
				normal(v, 1)
			}
		case "integers": // many ties
			for i := range v {
				v[i] = float32(rng.IntN(3) - 1)
			}
		case "outlier": // one dimension dwarfs the rest
			normal(v, 1)
			v[dim/2] *= 300
		case "near": // rows that 8 bits cannot tell apart
			copy(v, centres)
			for i := range v {
				v[i] += float32(rng.NormFloat64() * 1e-6)
			}
		}
	}
	return out
}

// typed turns values into rows of another element type, with a gap between them.
func typed(values []float32, dim int, e engine.Elem) engine.Rows {
	if e == engine.F32 {
		return engine.HostRows(values, dim)
	}
	stride := dim + 3
	r := engine.Rows{N: len(values) / dim, Dim: dim, Stride: stride, Type: e, Device: -1, Host: make([]byte, 2*stride*len(values)/dim)}
	for i, v := range values {
		code := engine.F32ToBF16(v)
		if e == engine.F16 {
			v = max(-6e4, min(6e4, v))
			code = engine.F32ToF16(v)
		}
		binary.LittleEndian.PutUint16(r.Host[2*(i/dim*stride+i%dim):], code)
	}
	return r
}

// some gives rows from to to of r.
func some(r engine.Rows, from, to int) engine.Rows {
	if from < to {
		r.Host = r.Host[from*r.Stride*r.Type.Size():]
	}
	r.N = to - from
	return r
}

// appendAll adds rows in ragged blocks with gaps in their numbers.
func appendAll(t testing.TB, rng *rand.Rand, r engine.Rows, owner []int32, to ...engine.Searcher) {
	t.Helper()
	base := int64(rng.IntN(3))
	for from := 0; from < r.N; {
		n := min(r.N-from, 1+rng.IntN(1+r.N/2))
		var o []int32
		if owner != nil {
			o = owner[from : from+n]
		}
		for _, s := range to {
			if err := s.Append(t.Context(), base, o, some(r, from, from+n)); err != nil {
				t.Fatal(err)
			}
		}
		from, base = from+n, base+int64(n)
		if rng.IntN(4) == 0 {
			base += int64(rng.IntN(1000))
		}
	}
}

// sameHits compares rows and score bits.
func sameHits(got, want *engine.Hits) error {
	if got.Queries != want.Queries || got.K != want.K {
		return fmt.Errorf("%d × %d hits, want %d × %d", got.Queries, got.K, want.Queries, want.K)
	}
	for i := range want.Row {
		if got.Row[i] != want.Row[i] || math.Float32bits(got.Score[i]) != math.Float32bits(want.Score[i]) {
			return fmt.Errorf("query %d place %d: row %d with %v (%#x), want row %d with %v (%#x)", i/want.K, i%want.K,
				got.Row[i], got.Score[i], math.Float32bits(got.Score[i]), want.Row[i], want.Score[i], math.Float32bits(want.Score[i]))
		}
	}
	return nil
}

// setup is one way to search.
type setup struct {
	isa     string
	path    Path
	threads int
}

// setups lists every path of every instruction set.
func setups() []setup {
	var all []setup
	for _, isa := range ISAs() {
		k, _ := pick(isa)
		for _, p := range []Path{PathAuto, PathExact, PathInt16, PathInt8} {
			if k.has(p) {
				all = append(all, setup{isa, p, 1 + len(all)%3})
			}
		}
	}
	return all
}

// checkSearch runs one shape through all setups and compares with Plain.
func checkSearch(t testing.TB, rng *rand.Rand, kind string, n, dim, nq, k int, m Metric, store Store, e engine.Elem, owners int) {
	t.Helper()
	if kind == "mixed" || kind == "huge" {
		if e == engine.F16 {
			e = engine.BF16
		}
		if store == StoreF16 {
			store = StoreBF16
		}
	}
	values := vectors(rng, kind, n, dim)
	queries := vectors(rng, kind, nq, dim)
	for q := range nq { // some queries are rows, some from elsewhere
		switch {
		case n > 0 && rng.IntN(3) == 0:
			copy(queries[q*dim:(q+1)*dim], values[rng.IntN(n)*dim:])
		case rng.IntN(4) == 0:
			copy(queries[q*dim:(q+1)*dim], vectors(rng, kinds[rng.IntN(len(kinds))], 1, dim))
		}
	}
	var owner []int32
	if owners > 0 {
		owner = make([]int32, n)
		for i := range owner {
			owner[i] = int32(i/7%owners) - 2
			if rng.IntN(3) == 0 {
				owner[i] = int32(rng.IntN(owners))
			}
		}
	}
	rows, asked := typed(values, dim, e), typed(queries, dim, e)
	plain, err := NewPlain(Options{Dim: dim, Metric: m, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	seed := rng.Uint64()
	appendAll(t, rand.New(rand.NewPCG(seed, 1)), rows, owner, plain)
	var want, got engine.Hits
	if err := plain.Search(t.Context(), asked, k, &want); err != nil {
		t.Fatal(err)
	}
	for _, c := range setups() {
		s, err := NewSearcher(Options{Dim: dim, Metric: m, Store: store, Threads: c.threads, Path: c.path, ISA: c.isa})
		if err != nil {
			t.Fatal(err)
		}
		appendAll(t, rand.New(rand.NewPCG(seed, 1)), rows, owner, s)
		if err := s.Search(t.Context(), asked, k, &got); err != nil {
			t.Fatal(err)
		}
		if err := sameHits(&got, &want); err != nil {
			t.Fatalf("%s, n %d, dim %d, %d queries, k %d, %s, store %s, elements %s, %d owners, isa %s, path %s, %d threads, stats %+v: %v",
				kind, n, dim, nq, k, m, store, e, owners, c.isa, c.path, c.threads, s.Stats(), err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSearchIsPlain(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	for _, kind := range kinds {
		for _, m := range []Metric{InnerProduct, Cosine, L2} {
			checkSearch(t, rng, kind, 700, 24, 13, 10, m, StoreGiven, engine.F32, 0)
			checkSearch(t, rng, kind, 300, 19, 3, 120, m, Store(rng.IntN(5)), engine.Elem(rng.IntN(3)), 1+rng.IntN(90))
			checkSearch(t, rng, kind, 130, 1+rng.IntN(70), 1, 1000, m, Store(rng.IntN(5)), engine.Elem(rng.IntN(3)), 0)
		}
	}
	checkSearch(t, rng, "gaussian", 0, 5, 2, 3, L2, StoreGiven, engine.F32, 0)
	checkSearch(t, rng, "gaussian", 1, 1, 1, 1, L2, StoreGiven, engine.F32, 0)
	checkSearch(t, rng, "gaussian", 9000, 33, 70, 5, InnerProduct, StoreGiven, engine.F32, 0)
	checkSearch(t, rng, "clustered", 9000, 40, 7, 20, Cosine, StoreGiven, engine.F32, 30)
	checkSearch(t, rng, "duplicated", 9000, 40, 40, 20, Cosine, StoreGiven, engine.F32, 4000)
}

func FuzzSearch(f *testing.F) {
	f.Add(uint64(1), uint8(0), uint16(100), uint8(8), uint8(3), uint16(10), uint8(0), uint8(0), uint8(0), uint16(0))
	f.Add(uint64(2), uint8(3), uint16(400), uint8(17), uint8(9), uint16(30), uint8(1), uint8(2), uint8(1), uint16(9))
	f.Add(uint64(3), uint8(8), uint16(200), uint8(65), uint8(20), uint16(1), uint8(2), uint8(4), uint8(2), uint16(100))
	f.Fuzz(func(t *testing.T, seed uint64, kind uint8, n uint16, dim, nq uint8, k uint16, m, store, e uint8, owners uint16) {
		checkSearch(t, rand.New(rand.NewPCG(seed, 0)), kinds[int(kind)%len(kinds)], int(n%1500), 1+int(dim), int(nq%40), 1+int(k%600),
			Metric(m%3), Store(store%5), engine.Elem(e%3), int(owners%2000))
	})
}

func TestSearchRefuses(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	rows := func(v ...float32) engine.Rows { return engine.HostRows(v, 2) }
	for _, c := range []struct {
		name string
		base int64
		own  []int32
		rows engine.Rows
		want string
	}{
		{"nan", 10, nil, rows(1, 2, 3, nan), "append rows to a search: row 11: value 1 is NaN; rows must be finite: leave this one out, or correct its encoder"},
		{"inf", 10, nil, typed([]float32{1, 2, inf, 4}, 2, engine.BF16), "append rows to a search: row 11: value 0 is -Inf; rows must be finite: leave this one out, or correct its encoder"},
		{"dim", 10, nil, engine.HostRows(make([]float32, 6), 3), "append rows to a search: expected 2 values a row, found 3"},
		{"base", -1, nil, rows(1, 2), "append rows to a search: expected a first row of 0 or more, found -1"},
		{"order", 3, nil, rows(1, 2), "append rows to a search: blocks must ascend: expected a first row of 6 or more, found 3"},
		{"owner", 10, []int32{1}, rows(1, 2, 3, 4), "append rows to a search: expected one document for each of 2 rows, found 1"},
		{"device", 10, nil, engine.Rows{N: 1, Dim: 2, Stride: 2, Device: 1}, "append rows to a search: expected rows in host memory, found rows on device 1; copy them first"},
		{"stride", 10, nil, engine.Rows{N: 2, Dim: 2, Stride: 1, Host: make([]byte, 16)}, "append rows to a search: expected a stride of at least 2 elements, found 1"},
		{"bytes", 10, nil, engine.Rows{N: 2, Dim: 2, Stride: 2, Host: make([]byte, 15)}, "append rows to a search: expected 16 bytes for 2 rows, found 15"},
		{"count", 10, nil, engine.Rows{N: -2, Dim: 2, Stride: 2}, "append rows to a search: expected 0 rows or more, found -2"},
		{"element", 10, nil, engine.Rows{N: 1, Dim: 2, Stride: 2, Type: 7}, "append rows to a search: expected rows of F32, F16 or BF16, found element type 7"},
		{"type", 10, nil, typed([]float32{1, 2}, 2, engine.F16), "append rows to a search: expected rows of float32 like those before, found float16; set the type to store"},
	} {
		s, _ := NewSearcher(Options{Dim: 2})
		p, _ := NewPlain(Options{Dim: 2})
		for _, x := range []engine.Searcher{s, p} {
			if err := x.Append(t.Context(), 5, nil, rows(1, 1)); err != nil {
				t.Fatal(err)
			}
		}
		err := s.Append(t.Context(), c.base, c.own, c.rows)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
		var got, want engine.Hits
		if err := s.Search(t.Context(), rows(1, 0), 3, &got); err != nil {
			t.Fatal(err)
		}
		if err := p.Search(t.Context(), rows(1, 0), 3, &want); err != nil {
			t.Fatal(err)
		}
		if err := sameHits(&got, &want); err != nil || s.Rows() != 1 {
			t.Errorf("%s: something of the block was added: %d rows, %v", c.name, s.Rows(), err)
		}
	}
	s, _ := NewSearcher(Options{Dim: 2, Store: StoreF16})
	err := s.Append(t.Context(), 7, nil, rows(1, 2, 3, 4, 7e4, 1))
	if want := "append rows to a search: row 9: value 0 is 70000, too large for float16; store float32"; err == nil || err.Error() != want || s.Rows() != 0 {
		t.Errorf("got %v, want %s", err, want)
	}
	var hits engine.Hits
	if err, want := s.Search(t.Context(), rows(1, 2, nan, 1), 1, &hits), "search: query 1: value 0 is NaN; queries must be finite"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err, want := s.Search(t.Context(), rows(1, 2), 0, &hits), "search: expected k of 1 or more, found 0"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = NewSearcher(Options{Metric: 9, Store: 9, Threads: -1, Path: 9})
	want := "open a search: dim: expected 1 or more, found 0\nmetric: expected ip, cosine or l2, found Metric(9)\n" +
		"store: expected given, float32, float16, bfloat16 or int8, found Store(9)\nthreads: expected 0 or more, found -1\n" +
		"path: expected auto, exact, int16 or int8, found Path(9)"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = NewSearcher(Options{Dim: 1, ISA: "mmx"})
	if want := "open a search: isa: expected one of " + strings.Join(ISAs(), ", ") + ", found mmx"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = NewSearcher(Options{Dim: 1, ISA: "go", Path: PathInt8})
	if want := "open a search: path: go has no instructions for int8; use auto"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestSearchStops(t *testing.T) {
	s, _ := NewSearcher(Options{Dim: 2})
	ctx, cancel := context.WithCancel(t.Context())
	r := engine.HostRows(make([]float32, 20), 2)
	if err := s.Append(ctx, 0, nil, r); err != nil {
		t.Fatal(err)
	}
	cancel()
	var hits engine.Hits
	if err := s.Search(ctx, r, 1, &hits); err == nil || err.Error() != "search 10 queries: context canceled" {
		t.Errorf("got %v", err)
	}
	if err := s.Append(ctx, 10, nil, r); err != context.Canceled || s.Rows() != 10 {
		t.Errorf("got %v, %d rows", err, s.Rows())
	}
}

func TestKeysOrder(t *testing.T) {
	scores := []float32{float32(math.Inf(1)), math.MaxFloat32, 1, 1e-45, 0, float32(math.Copysign(0, -1)), -1e-45, -1, -math.MaxFloat32, float32(math.Inf(-1))}
	for _, a := range scores {
		if got := scoreOf(keyOf(a, 9)); got != a {
			t.Errorf("%v comes back as %v", a, got)
		}
		for _, b := range scores {
			for _, rowB := range []uint32{4, 5, 6} {
				if got, want := keyOf(a, 5) < keyOf(b, rowB), engine.Before(a, 5, b, int64(rowB)); got != want {
					t.Errorf("%v in row 5 before %v in row %d: %v, want %v", a, b, rowB, got, want)
				}
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for n := range 700 {
		keys := make([]uint64, n)
		for i := range keys {
			keys[i] = keyOf(float32(rng.IntN(1+n/4))-3, uint32(rng.IntN(1<<31)))
		}
		want := slices.Sorted(slices.Values(keys))
		again := slices.Clone(keys)
		if k := n / 3; k > 0 {
			least := leastKeys(again, k)
			slices.Sort(least)
			if !slices.Equal(least, want[:k]) {
				t.Fatalf("n %d: the least keys are %v, want %v", n, least, want[:k])
			}
		}
		if new(worker).sortKeys(keys); !slices.Equal(keys, want) {
			t.Fatalf("n %d: sorted keys are %v, want %v", n, keys, want)
		}
	}
}
