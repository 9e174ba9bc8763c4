package rerank

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestReorder(t *testing.T) {
	all := func(n int) []bool { return slices.Repeat([]bool{true}, n) }
	for _, c := range []struct {
		name   string
		logits []float32
		scored []bool
		n      int
		want   []int
	}{
		{"by logit, the rest below", []float32{-1, 3, 0.5}, all(3), 5, []int{1, 2, 0, 3, 4}},
		{"equal logits keep their order", []float32{1, 2, 1, 2, 1}, all(5), 5, []int{1, 3, 0, 2, 4}},
		{"unscored below scored, above the rest", []float32{-5, 0, -9, 0}, []bool{true, false, true, false}, 6, []int{0, 2, 1, 3, 4, 5}},
		{"none scored", []float32{0, 0}, []bool{false, false}, 3, []int{0, 1, 2}},
		{"no candidate", nil, nil, 2, []int{0, 1}},
		{"empty list", nil, nil, 0, []int{}},
		{"minus zero is zero", []float32{float32(math.Copysign(0, -1)), 0}, all(2), 2, []int{0, 1}},
	} {
		if got := Reorder(nil, c.logits, c.scored, c.n); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestRescore(t *testing.T) {
	below := func(x float64) float64 { return math.Nextafter(x, math.Inf(-1)) }
	for _, c := range []struct {
		name   string
		logits []float32
		rest   []float64
		want   []float64
	}{
		{"logits as they are", []float32{2.5, -1}, nil, []float64{2.5, -1}},
		{"the rest moved to 1 below, differences kept", []float32{4, -3}, []float64{20, 18, 10}, []float64{4, -3, -4, -6, -14}},
		{"the rest moved up as well", []float32{4, 3}, []float64{-20, -21}, []float64{4, 3, 2, 1}},
		{"equal logits fall by a hair", []float32{1, 1, 0}, nil, []float64{1, below(1), 0}},
		{"equal scores of the rest too", []float32{1}, []float64{7, 7, 6}, []float64{1, 0, below(0), -1}},
		{"a difference lost in rounding", []float32{8}, []float64{1e-17, 0}, []float64{8, 7, below(7)}},
		{"infinite scores", []float32{0}, []float64{math.Inf(1), 3, math.Inf(-1)}, []float64{0, below(0), below(below(0)), below(below(below(0)))}},
		{"without a logit scores stay", nil, []float64{9, 9, 2}, []float64{9, below(9), 2}},
	} {
		if got := Rescore(nil, c.logits, c.rest); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		} else if !falling(got) {
			t.Errorf("%s: %v does not fall", c.name, got)
		}
	}
}

func falling(scores []float64) bool {
	for i, s := range scores {
		if math.IsNaN(s) || math.IsInf(s, 0) || i > 0 && !(s < scores[i-1]) {
			return false
		}
	}
	return true
}

// checkOrder makes a list from bytes and compares the new ranking with its definition:
// document by document, who comes before whom.
func checkOrder(t *testing.T, data []byte, candidates uint8) {
	t.Helper()
	n := len(data)
	top := min(int(candidates), n)
	logits, scored, score := make([]float32, top), make([]bool, top), make([]float64, n)
	last := 1e3
	for i, c := range data {
		last -= float64(c%3) / 7
		score[i] = last
		if i < top {
			logits[i], scored[i] = float32(int(c)%5-2)/3, c%7 != 0
		}
	}
	order := Reorder(nil, logits, scored, n)
	at := make([]int, n) // new place of each old one
	if len(order) != n {
		t.Fatalf("%d documents of %d", len(order), n)
	}
	for i := range at {
		at[i] = -1
	}
	for to, from := range order {
		at[from] = to
	}
	class := func(i int) int {
		if i < top && scored[i] {
			return 0
		}
		if i < top {
			return 1
		}
		return 2
	}
	for a := range n {
		if at[a] < 0 {
			t.Fatalf("document %d is gone from %v", a, order)
		}
		for b := a + 1; b < n; b++ {
			first := true
			switch ca, cb := class(a), class(b); {
			case ca != cb:
				first = ca < cb
			case ca == 0 && logits[a] != logits[b]:
				first = logits[a] > logits[b]
			}
			if (at[a] < at[b]) != first {
				t.Fatalf("documents %d and %d of logits %v, scored %v: %v", a, b, logits, scored, order)
			}
		}
	}
	var best []float32
	var rest []float64
	for _, i := range order {
		if class(i) == 0 {
			best = append(best, logits[i])
		} else {
			rest = append(rest, score[i])
		}
	}
	scores := Rescore(nil, best, rest)
	if len(scores) != n || !falling(scores) {
		t.Fatalf("scores %v of logits %v and %v do not fall", scores, best, rest)
	}
	for i, x := range best {
		if math.Abs(scores[i]-float64(x)) > 1e-9 {
			t.Fatalf("score %v for logit %v", scores[i], x)
		}
	}
}

func TestOrderIsItsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		data := make([]byte, rng.IntN(40))
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		checkOrder(t, data, uint8(rng.IntN(45)))
	}
}

func FuzzOrder(f *testing.F) {
	f.Add([]byte("reranking"), uint8(4))
	f.Add([]byte{0, 0, 0, 0}, uint8(255))
	f.Fuzz(func(t *testing.T, data []byte, candidates uint8) {
		if len(data) < 60 {
			checkOrder(t, data, candidates)
		}
	})
}
