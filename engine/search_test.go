package engine

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// hit is a place of a ranked list; rank sorts a plain list of them by Before.
type hit struct {
	row   int64
	score float32
}

func rank(hits []hit, k int) []hit {
	hits = slices.Clone(hits)
	slices.SortFunc(hits, func(a, b hit) int {
		switch {
		case Before(a.score, a.row, b.score, b.row):
			return -1
		case Before(b.score, b.row, a.score, a.row):
			return 1
		}
		return 0
	})
	return hits[:min(k, len(hits))]
}

func TestBefore(t *testing.T) {
	for _, c := range []struct {
		scoreA float32
		rowA   int64
		scoreB float32
		rowB   int64
		want   bool
	}{
		{2, 9, 1, 0, true},
		{1, 0, 2, 9, false},
		{1, 3, 1, 4, true},
		{1, 4, 1, 3, false},
		{1, 4, 1, 4, false}, // a hit is not before itself
		{0, 1, float32(math.Copysign(0, -1)), 2, true},
		{float32(math.Copysign(0, -1)), 1, 0, 2, true}, // the two zeros are one score
		{float32(math.Inf(-1)), 0, -math.MaxFloat32, 1, false},
	} {
		if got := Before(c.scoreA, c.rowA, c.scoreB, c.rowB); got != c.want {
			t.Errorf("Before(%v, %d, %v, %d) = %v", c.scoreA, c.rowA, c.scoreB, c.rowB, got)
		}
	}
}

// TestMerge: merging the best of two shards is ranking the rows of both.
func TestMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	for range 500 {
		queries, k, kSrc := 1+r.IntN(3), 1+r.IntN(5), 1+r.IntN(7)
		var a, b Hits
		a.Reset(queries, k)
		b.Reset(queries, kSrc)
		want := make([][]hit, queries)
		for q := range queries {
			var left, right []hit
			for row := range int64(r.IntN(12)) {
				h := hit{row, float32(r.IntN(4))}
				if r.IntN(2) == 0 {
					left = append(left, h)
				} else {
					right = append(right, h)
				}
			}
			left, right = rank(left, k), rank(right, kSrc)
			for i, h := range left {
				a.Row[q*k+i], a.Score[q*k+i] = h.row, h.score
			}
			for i, h := range right {
				b.Row[q*kSrc+i], b.Score[q*kSrc+i] = h.row, h.score
			}
			want[q] = rank(slices.Concat(left, right), k)
		}
		a.Merge(&b)
		for q := range queries {
			rows, scores := a.Query(q)
			if len(rows) != len(want[q]) || len(scores) != len(rows) {
				t.Fatalf("k %d and %d, query %d: %d hits, want %d", k, kSrc, q, len(rows), len(want[q]))
			}
			for i, h := range want[q] {
				if rows[i] != h.row || scores[i] != h.score {
					t.Fatalf("k %d and %d, query %d: place %d is row %d with %v, want %v", k, kSrc, q, i, rows[i], scores[i], h)
				}
			}
		}
	}
}

func TestHitsReset(t *testing.T) {
	var h Hits
	h.Reset(2, 3)
	h.Row[4], h.Score[4] = 7, 1
	row := &h.Row[0]
	h.Reset(3, 2)
	if &h.Row[0] != row {
		t.Error("a reset that needs no more memory took new memory")
	}
	for q := range 3 {
		if rows, scores := h.Query(q); len(rows) != 0 || len(scores) != 0 {
			t.Errorf("query %d has hits %v after a reset", q, rows)
		}
	}
}

// TestDot: the lanes and the tree are the rule, whatever the length.
func TestDot(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	for n := range 70 {
		a, b := make([]float32, n), make([]float32, n)
		var lane [8]float64
		for i := range a {
			a[i], b[i] = float32(r.NormFloat64()), float32(r.NormFloat64())
			lane[i%8] = math.FMA(float64(a[i]), float64(b[i]), lane[i%8]) // fused or not is the same
		}
		want := ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]))
		if got := Dot64(a, b); math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("%d values: %v, want %v", n, got, want)
		}
		if got := Dot(a, b); got != float32(want) {
			t.Errorf("%d values: rounded to %v, want %v", n, got, float32(want))
		}
	}
	if got := Dot([]float32{1, 1e20, 1, 0, 0, -1e20}, []float32{1, 1e10, 1, 0, 0, 1e10}); got != 2 {
		t.Errorf("cancellation across lanes 1 and 5 gave %v, want 2", got)
	}
}
