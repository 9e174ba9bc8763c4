package ort

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestPlan(t *testing.T) {
	for _, test := range []struct {
		threads, batch, ubatch int
		workers, intra         int
		how                    string
	}{
		{2, 128, 0, 2, 1, "batch 128, run as equal-length groups of up to 512 tokens, on 2 one-thread workers"},
		{2, 128, 128, 1, 2, "batch 128, run as 128 × 1, one run at a time on 2 threads"},
		{2, 128, 64, 2, 1, "batch 128, run as 64 × 2, on 2 one-thread workers"},
		{8, 128, 64, 2, 4, "batch 128, run as 64 × 2, on 2 workers of 4 threads"},
		{1, 128, 0, 1, 1, "batch 128, run as equal-length groups of up to 512 tokens, one run at a time on one thread"},
		{4, 1, 0, 1, 4, "batch 1, run as equal-length groups of up to 512 tokens, one run at a time on 4 threads"},
		{3, 128, 64, 1, 3, "batch 128, run as 64 × 2, one run at a time on 3 threads"},
		{8, 96, 32, 2, 4, "batch 96, run as 32 × 3, on 2 workers of 4 threads"},
		{3, 100, 32, 3, 1, "batch 100, run as 32 × 4, on 3 one-thread workers"},
	} {
		l := Plan(test.threads, test.batch, test.ubatch)
		if l.Workers != test.workers || l.Intra != test.intra {
			t.Errorf("%d threads, batch %d, micro-batch %d: %d workers of %d threads, want %d of %d", test.threads, test.batch, test.ubatch, l.Workers, l.Intra, test.workers, test.intra)
		}
		if l.String() != test.how {
			t.Errorf("how run: %q, want %q", l, test.how)
		}
	}
}

func TestPlanForLongRows(t *testing.T) {
	for _, test := range []struct {
		threads, batch, ubatch, longest int
		workers, intra                  int
	}{
		{2, 128, 0, 512, 2, 1},
		{2, 128, 0, 4095, 2, 1},
		{2, 128, 0, 4096, 1, 2},
		{2, 128, 0, 8192, 1, 2},
		{64, 128, 0, 512, 64, 1},
		{64, 128, 0, 8192, 16, 4},
		{6, 128, 0, 8192, 2, 3}, // 4 does not divide 6
		{7, 128, 0, 8192, 7, 1},
		{8, 128, 64, 4096, 2, 4}, // two groups a batch leave each run 4 threads already
		{1, 128, 0, 32768, 1, 1},
	} {
		l := Plan(test.threads, test.batch, test.ubatch).For(test.longest)
		if l.Workers != test.workers || l.Intra != test.intra || l.Batch != test.batch || l.UBatch != test.ubatch {
			t.Errorf("%+v: %+v", test, l)
		}
	}
}

// The laws of split: the order is a stable sort by length, longest first; groups
// cover it without gap; automatic groups have one length and stay within
// GroupTokens unless they are one row.
func FuzzSplit(f *testing.F) {
	f.Add(uint64(1), 128, 512, 0)
	f.Add(uint64(2), 128, 3, 0)
	f.Add(uint64(3), 5, 512, 4)
	f.Add(uint64(4), 1, 1, 1)
	f.Fuzz(func(t *testing.T, seed uint64, rows, longest, ubatch int) {
		if rows < 1 || rows > 1000 || longest < 1 || longest > 9000 || ubatch < 0 {
			t.Skip("outside the encoder's own checks")
		}
		rng := rand.New(rand.NewPCG(seed, 0))
		off := []int32{0}
		var want []int32
		for r := range rows {
			off = append(off, off[r]+1+rng.Int32N(int32(longest)))
			want = append(want, int32(r))
		}
		length := func(r int32) int { return int(off[r+1] - off[r]) }
		slices.SortStableFunc(want, func(a, b int32) int { return length(b) - length(a) })
		var s sorter
		order, groups := s.split(off, ubatch, nil, nil)
		if !slices.Equal(order, want) {
			t.Fatalf("order %v, want %v", order, want)
		}
		at := 0
		for _, g := range groups {
			if g.from != at || g.n < 1 || g.longest != length(order[g.from]) {
				t.Fatalf("group %+v at %d", g, at)
			}
			last := length(order[g.from+g.n-1])
			if ubatch == 0 && (last != g.longest || g.n > 1 && g.n*g.longest > GroupTokens) {
				t.Fatalf("automatic group %+v ends with a row of %d tokens", g, last)
			}
			if ubatch > 0 && g.n != min(ubatch, rows-g.from) {
				t.Fatalf("group %+v of %d rows, micro-batch %d", g, rows, ubatch)
			}
			at += g.n
		}
		if at != rows {
			t.Fatalf("groups cover %d of %d rows", at, rows)
		}
		again, more := s.split(off, ubatch, order, groups)
		if !slices.Equal(again, want) || len(more) != len(groups) {
			t.Fatal("a second split with reused memory differs")
		}
	})
}

func TestGraphValidate(t *testing.T) {
	good := Graph{Path: "g.onnx", Inputs: []Input{{Name: "input_ids"}}, Output: "last_hidden_state", States: true, Pooling: "last", Dim: 4, MaxLen: 8}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	bad := good
	bad.Pooling = "median"
	want := `pooling "median" of token states: supported are mean, cls, last, max`
	if err := bad.Validate(); err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

func TestPool(t *testing.T) {
	states := []float32{1, 2, 3, 4, 5, 9}
	got := make([]float32, 2)
	pool(got, states, 3, "mean")
	if !slices.Equal(got, []float32{3, 5}) {
		t.Errorf("mean of three states: %v, want [3 5]", got)
	}
	pool(got, states, 2, "last")
	if !slices.Equal(got, []float32{3, 4}) {
		t.Errorf("second of three states: %v, want [3 4]", got)
	}
	pool(got, []float32{-1, 2, -3, 4, 5, 9}, 2, "max")
	if !slices.Equal(got, []float32{-1, 4}) {
		t.Errorf("largest of two states: %v, want [-1 4]", got)
	}
	pool(got, states, 3, "cls")
	if !slices.Equal(got, []float32{1, 2}) {
		t.Errorf("first state: %v, want [1 2]", got)
	}
	normalize(got)
	if n := got[0]*got[0] + got[1]*got[1]; n < 0.999999 || n > 1.000001 {
		t.Errorf("norm² %g, want 1", n)
	}
	zero := []float32{0, 0}
	normalize(zero)
	if !finite(zero) || zero[0] != 0 {
		t.Errorf("zero vector became %v", zero)
	}
}

// Automatic groups of like length: rows whose lengths are equal when rounded up share one,
// up to the tokens of a group, padding counted; what is rounded up is never more than the
// longest row there may be.
func TestSplitByStep(t *testing.T) {
	s := sorter{tokens: 256, step: 64, most: 100}
	lengths := []int{100, 99, 65, 64, 63, 1, 40, 2, 3}
	off := []int32{0}
	for _, n := range lengths {
		off = append(off, off[len(off)-1]+int32(n))
	}
	order, groups := s.split(off, 0, nil, nil)
	want := []group{{0, 2, 100}, {2, 1, 65}, {3, 4, 64}, {7, 2, 2}}
	if !slices.Equal(groups, want) || len(order) != len(lengths) {
		t.Errorf("groups %v in the order %v, want %v", groups, order, want)
	}
	for _, c := range []struct{ length, top int }{{1, 64}, {64, 64}, {65, 100}, {100, 100}, {120, 120}} {
		if got := s.top(c.length); got != c.top {
			t.Errorf("%d tokens are rounded up to %d, want %d", c.length, got, c.top)
		}
	}
	if got := (&sorter{}).top(37); got != 37 {
		t.Errorf("without a step 37 becomes %d", got)
	}
}
