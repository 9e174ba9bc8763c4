package peers

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestCompare(t *testing.T) {
	score := []float64{9, 8, 7.5, 7.5, 7.4999999, 1, 0}
	exact := func(_ int, row int64) float64 { return score[row] }
	for _, c := range []struct {
		name         string
		theirs, ours []int64
		want         Difference
		err          string
	}{
		{"equal", []int64{0, 1, 2}, []int64{0, 1, 2}, Difference{Bound: 2e-6}, ""},
		{"order of equal scores", []int64{1, 3, 2}, []int64{1, 2, 3}, Difference{Queries: 1, Bound: 2e-6}, ""},
		{"another row as good", []int64{0, 1, 3, 0, 1, 2}, []int64{0, 1, 2, 0, 1, 2}, Difference{Queries: 1, Sets: 1, Bound: 2e-6}, ""},
		{"a row a rounding away", []int64{0, 1, 4}, []int64{0, 1, 3}, Difference{Queries: 1, Sets: 1, Gap: score[3] - score[4], Bound: 2e-6}, ""},
		{"a worse row", []int64{0, 2, 3}, []int64{0, 1, 2}, Difference{}, ErrRows.Error() + ": query 0, place 2: row 2 instead of 1, exact scores 0.5 apart, 2e-06 explained"},
		{"a row twice", []int64{0, 1, 2, 0, 1, 1}, []int64{0, 1, 2, 0, 1, 2}, Difference{}, ErrRows.Error() + ": query 1: a row twice, or one that is not there"},
		{"no such row", []int64{0, 1, 7}, []int64{0, 1, 2}, Difference{}, ErrRows.Error() + ": query 0: a row twice, or one that is not there"},
		{"an empty place", []int64{0, 1, -1}, []int64{0, 1, 2}, Difference{}, ErrRows.Error() + ": query 0: a row twice, or one that is not there"},
		{"other numbers of rows", []int64{0, 1}, []int64{0, 1, 2}, Difference{}, "compare rows: 2 and 3 of them at k 3"},
	} {
		got, err := Compare(c.theirs, c.ours, 3, int64(len(score)), exact, 1e-6)
		switch {
		case c.err == "" && (err != nil || got != c.want):
			t.Errorf("%s: %+v, %v, want %+v", c.name, got, err, c.want)
		case c.err != "" && (err == nil || err.Error() != c.err):
			t.Errorf("%s: %v\nwant %s", c.name, err, c.err)
		}
	}
}

// TestCompareAcceptsRounding: whoever selects by scores with an error below the
// bound passes, and the gaps that are seen come near it.
func TestCompareAcceptsRounding(t *testing.T) {
	const n, k, bound = 400, 50, 1e-3
	r := rand.New(rand.NewPCG(1, 2))
	best := func(s []float64) []int64 {
		rows := make([]int64, n)
		for i := range rows {
			rows[i] = int64(i)
		}
		slices.SortStableFunc(rows, func(a, b int64) int {
			switch {
			case s[a] > s[b]:
				return -1
			case s[a] < s[b]:
				return 1
			}
			return 0
		})
		return rows[:k]
	}
	var gap float64
	for range 300 {
		exact, rough := make([]float64, n), make([]float64, n)
		for i := range exact {
			exact[i] = r.Float64()
			rough[i] = exact[i] + bound*(2*r.Float64()-1)
		}
		d, err := Compare(best(rough), best(exact), k, n, func(_ int, row int64) float64 { return exact[row] }, bound)
		if err != nil {
			t.Fatal(err)
		}
		gap = max(gap, d.Gap)
	}
	if gap < bound/2 {
		t.Errorf("greatest gap %v: the test tries nothing", gap)
	}
}

// TestDotBound: float32 sums of unit vectors, in order and in lanes, stay within.
func TestDotBound(t *testing.T) {
	for _, dim := range []int{1, 16, 384, 768} {
		a, b, err := Vectors(Gaussian, 200, 200, dim, 3)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 200 {
			x, y := a[i*dim:(i+1)*dim], b[i*dim:(i+1)*dim]
			var sum float32
			var lane [16]float32
			for j := range x {
				sum += x[j] * y[j]
				lane[j%16] += x[j] * y[j]
			}
			var lanes float32
			for _, l := range lane {
				lanes += l
			}
			exact := dot(x, y)
			if worst := max(math.Abs(float64(sum)-exact), math.Abs(float64(lanes)-exact)); worst > DotBound(dim) {
				t.Fatalf("dim %d: error %g above the bound %g", dim, worst, DotBound(dim))
			}
		}
	}
}

func TestDifferenceString(t *testing.T) {
	if got, want := (Difference{}).String(), "the peer's row numbers are ours"; got != want {
		t.Errorf("got %q", got)
	}
	got := Difference{Queries: 23, Sets: 4, Gap: 2.5e-8, Bound: 4.6e-5}.String()
	if want := "the peer's row numbers differ in 23 queries (another set of rows in 4), exact scores at the same place by at most 2.5e-08, of the 4.6e-05 that sums in float32 explain"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if _, err := Compare([]int64{1}, []int64{0}, 1, 2, func(_ int, row int64) float64 { return float64(row) }, 0); !errors.Is(err, ErrRows) {
		t.Errorf("%v is no ErrRows", err)
	}
}
