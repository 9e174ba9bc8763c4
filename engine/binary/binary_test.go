package binary

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"encbench/engine"
)

// plain is the definition: every document's nearest row by Hamming distance, the
// k × rescore nearest of them, scored and sorted.
func plain(rows [][]float32, owner []int32, query []float32, k, rescore int) (row []int64, score []float32) {
	type doc struct {
		row, dist int
		score     float32
	}
	hamming := func(v []float32) int {
		n := 0
		for i := range v {
			if (v[i] > 0) != (query[i] > 0) {
				n++
			}
		}
		return n
	}
	nearest := map[int32]doc{}
	for i, v := range rows {
		o := int32(i)
		if owner != nil {
			o = owner[i]
		}
		if d := hamming(v); nearest[o].score == 0 || d < nearest[o].dist {
			nearest[o] = doc{i, d, 1}
		}
	}
	var all []doc
	for _, d := range nearest {
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b doc) int {
		if a.dist != b.dist {
			return a.dist - b.dist
		}
		return a.row - b.row
	})
	all = all[:min(len(all), k*max(1, rescore))]
	for i := range all {
		d := &all[i]
		if rescore == 0 {
			d.score = float32(1 - 2*float64(d.dist)/float64(len(query)))
			continue
		}
		signs := make([]float32, len(query))
		for c, v := range rows[d.row] {
			signs[c] = -1
			if v > 0 {
				signs[c] = 1
			}
		}
		d.score = float32(engine.Dot64(query, signs) / math.Sqrt(float64(len(query))))
	}
	slices.SortFunc(all, func(a, b doc) int {
		if engine.Before(a.score, int64(a.row), b.score, int64(b.row)) {
			return -1
		}
		return 1
	})
	for _, d := range all[:min(len(all), k)] {
		row, score = append(row, int64(d.row)), append(score, d.score)
	}
	return row, score
}

// hold compares the searcher with its definition on random vectors of few
// distinct values, so that distances and scores tie.
func hold(t *testing.T, seed uint64, dim, n, queries, k, rescore, threads, docs int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	make2 := func(n int) [][]float32 {
		out := make([][]float32, n)
		for i := range out {
			out[i] = make([]float32, dim)
			for c := range out[i] {
				out[i][c] = float32(rng.IntN(5)-2) / 4
			}
			if i > 0 && rng.IntN(4) == 0 {
				copy(out[i], out[rng.IntN(i)])
			}
		}
		return out
	}
	rows, qs := make2(n), make2(queries)
	var owner []int32
	if docs > 0 {
		for range rows {
			owner = append(owner, rng.Int32N(int32(docs)))
		}
	}
	s, err := New(Options{Dim: dim, Rescore: rescore, Threads: threads})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for from := 0; from < n; {
		to := min(n, from+1+rng.IntN(n))
		var o []int32
		if owner != nil {
			o = owner[from:to]
		}
		if err := s.Append(context.Background(), int64(from), o, engine.HostRows(slices.Concat(rows[from:to]...), dim)); err != nil {
			t.Fatal(err)
		}
		from = to
	}
	var hits engine.Hits
	if err := s.Search(context.Background(), engine.HostRows(slices.Concat(qs...), dim), k, &hits); err != nil {
		t.Fatal(err)
	}
	for i, q := range qs {
		wantRow, wantScore := plain(rows, owner, q, k, rescore)
		row, score := hits.Query(i)
		if !slices.Equal(row, wantRow) || !slices.Equal(score, wantScore) {
			t.Fatalf("query %d of %d, %d rows × %d, %d documents, k %d, rescore %d:\n got %v %v\nwant %v %v", i, queries, n, dim, docs, k, rescore, row, score, wantRow, wantScore)
		}
	}
}

func TestEqualsItsDefinition(t *testing.T) {
	for i, c := range []struct{ dim, n, queries, k, rescore, threads, docs int }{
		{1, 5, 3, 2, 1, 1, 0}, {63, 40, 5, 7, 4, 2, 0}, {64, 40, 5, 7, 4, 2, 9}, {65, 200, 9, 10, 0, 3, 0},
		{384, 300, 6, 10, 4, 2, 0}, {384, 300, 6, 10, 4, 2, 50}, {384, 2 * tile, 5, 100, 2, 2, 0},
		{100, 3 * tile / 2, 4, 10, 4, 0, 700}, {8, 3, 2, 10, 4, 1, 0}, {8, 300, 4, 5, 4, 1, 2},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) { hold(t, uint64(i), c.dim, c.n, c.queries, c.k, c.rescore, c.threads, c.docs) })
	}
}

func FuzzSearch(f *testing.F) {
	f.Add(uint64(1), uint16(384), uint16(100), uint8(3), uint8(10), uint8(4), uint8(0))
	f.Add(uint64(2), uint16(5), uint16(50), uint8(1), uint8(60), uint8(0), uint8(7))
	f.Add(uint64(155), uint16(489), uint16(4), uint8(3), uint8(0), uint8('o'), uint8(6)) // 3 of 5 rows
	f.Fuzz(func(t *testing.T, seed uint64, dim, n uint16, queries, k, rescore, docs uint8) {
		hold(t, seed, 1+int(dim%500), 1+int(n%700), 1+int(queries%9), 1+int(k%80), int(rescore%6), 2, int(docs%60))
	})
}

func TestSigns(t *testing.T) {
	v := make([]float32, 130)
	v[0], v[64], v[129], v[1] = 1, 0.5, 1e-30, float32(math.Copysign(0, -1))
	got := signs(nil, v)
	if len(got) != 3 || got[0] != 1 || got[1] != 1 || got[2] != 2 {
		t.Errorf("signs %x", got)
	}
	ones := 0
	for _, w := range got {
		ones += bits.OnesCount64(w)
	}
	if ones != 3 {
		t.Errorf("%d bits are set, want 3: zero and minus zero are not above zero", ones)
	}
}

func TestFaults(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		opt  Options
		want string
	}{
		{Options{}, "binary search: vectors of 0 values, expected 1 to 65535"},
		{Options{Dim: 4, Rescore: -1}, "binary search: -1 candidates for every hit, expected 0 or more"},
		{Options{Dim: 4, Threads: -1}, "binary search: -1 threads, expected 0 or more"},
	} {
		if _, err := New(c.opt); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v, want %s", c.opt, err, c.want)
		}
	}
	s, err := New(Options{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	two := engine.HostRows([]float32{1, 2, 3, 4}, 2)
	if err := s.Append(ctx, 0, []int32{0, 0}, two); err != nil {
		t.Fatal(err)
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for _, c := range []struct {
		base  int64
		owner []int32
		rows  engine.Rows
		want  string
	}{
		{3, []int32{1, 1}, two, "binary search: rows from 3 on, 2 is due"},
		{2, []int32{1}, two, "binary search: 1 owners for 2 rows"},
		{2, nil, two, "binary search: rows with and without owners"},
		{2, []int32{1, -1}, two, "binary search: row 3 has owner -1, expected 0 or more"},
		{2, []int32{1}, engine.HostRows([]float32{1, 2, 3}, 3), "binary search: rows of 3 values, expected 2"},
		{2, []int32{1, 1}, engine.HostRows([]float32{1, 2, 3, nan}, 2), "binary search: row 3, value 1 is NaN, expected a finite number"},
		{2, []int32{1}, engine.HostRows([]float32{inf, 2}, 2), "binary search: row 2, value 0 is -Inf, expected a finite number"},
		{2, []int32{1}, engine.Rows{N: 1, Dim: 2, Type: engine.F16, Host: []byte{0, 0, 0, 0}}, "binary search: rows that are not float32 on the host"},
	} {
		if err := s.Append(ctx, c.base, c.owner, c.rows); err == nil || err.Error() != c.want {
			t.Errorf("append: %v, want %s", err, c.want)
		}
	}
	if s.Rows() != 2 {
		t.Errorf("%d rows after refused blocks, want 2", s.Rows())
	}
	var hits engine.Hits
	if err := s.Search(ctx, two, 0, &hits); err == nil || err.Error() != "binary search: the best 0 rows, expected 1 or more" {
		t.Errorf("search of no rows: %v", err)
	}
	if err := s.Search(ctx, engine.HostRows([]float32{1, nan}, 2), 1, &hits); err == nil || err.Error() != "queries: binary search: row 0, value 1 is NaN, expected a finite number" {
		t.Errorf("search for NaN: %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.Search(ended, two, 1, &hits); err != context.Canceled {
		t.Errorf("search after the end: %v", err)
	}
}

func TestEmpty(t *testing.T) {
	s, err := New(Options{Dim: 3, Rescore: 4})
	if err != nil {
		t.Fatal(err)
	}
	var hits engine.Hits
	if err := s.Search(context.Background(), engine.HostRows([]float32{1, 2, 3}, 3), 2, &hits); err != nil {
		t.Fatal(err)
	}
	if row, _ := hits.Query(0); len(row) != 0 {
		t.Errorf("found %v in nothing", row)
	}
	if s.RowBytes() != 8 {
		t.Errorf("%d bytes a row of 3 values, want 8", s.RowBytes())
	}
}

func BenchmarkSearch(b *testing.B) {
	const dim, n = 384, 100_000
	rng := rand.New(rand.NewPCG(1, 1))
	values := make([]float32, n*dim)
	for i := range values {
		values[i] = float32(rng.NormFloat64())
	}
	for _, rescore := range []int{0, 4} {
		s, err := New(Options{Dim: dim, Rescore: rescore, Threads: 1})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Append(context.Background(), 0, nil, engine.HostRows(values, dim)); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("rescore%d", rescore), func(b *testing.B) {
			var hits engine.Hits
			for b.Loop() {
				if err := s.Search(context.Background(), engine.HostRows(values[:16*dim], dim), 100, &hits); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(16*b.N), "ms/query")
		})
	}
}
