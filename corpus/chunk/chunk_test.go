package chunk

import (
	"math"
	"slices"
	"testing"
)

// protocol is 512 tokens with two special tokens, overlapping by 100.
var protocol = Window{Size: 510, Overlap: 100}

func TestAppendSpansProtocol(t *testing.T) {
	for _, c := range []struct {
		n    int
		want []Span
	}{
		{0, []Span{{0, 0}}},
		{1, []Span{{0, 1}}},
		{510, []Span{{0, 510}}},
		{511, []Span{{0, 510}, {410, 511}}},
		{920, []Span{{0, 510}, {410, 920}}},
		{921, []Span{{0, 510}, {410, 920}, {820, 921}}},
		{1873, []Span{{0, 510}, {410, 920}, {820, 1330}, {1230, 1740}, {1640, 1873}}},
	} {
		if got := protocol.AppendSpans(nil, c.n); !slices.Equal(got, c.want) {
			t.Errorf("%d tokens: got %v, want %v", c.n, got, c.want)
		}
	}
}

// TestWorkedExample is the mean document of the published corpus: 1,873 source
// tokens become 2,273 encoded ones, and 2,283 with two special tokens a window.
func TestWorkedExample(t *testing.T) {
	content, windows := 0, 0
	for _, s := range protocol.AppendSpans(nil, 1873) {
		content += s.Len()
		windows++
	}
	if content != 2273 || content+2*windows != 2283 {
		t.Errorf("got %d content tokens in %d windows, want 2273 in 5", content, windows)
	}
}

// TestCountVariants holds the three readings of "512 tokens, overlap 100" side
// by side: no special tokens, ours, and special tokens subtracted twice.
func TestCountVariants(t *testing.T) {
	ns := []int{508, 510, 511, 512, 513, 920, 921, 923, 1000, 1873, 5000, 10000, 32768, 329116}
	for _, c := range []struct {
		size int
		want []int
	}{
		{512, []int{1, 1, 1, 1, 2, 2, 2, 2, 3, 5, 12, 25, 80, 799}},
		{510, []int{1, 1, 2, 2, 2, 2, 3, 3, 3, 5, 12, 25, 80, 803}},
		{508, []int{1, 2, 2, 2, 2, 3, 3, 3, 3, 5, 13, 25, 81, 807}},
	} {
		w := Window{c.size, 100}
		for i, n := range ns {
			if got := w.Count(n); got != c.want[i] {
				t.Errorf("%+v: %d tokens give %d windows, want %d", w, n, got, c.want[i])
			}
		}
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		w    Window
		want string
	}{
		{Window{1, 0}, ""},
		{Window{510, 509}, ""},
		{Window{0, 0}, "window of 0 content tokens: must be at least 1"},
		{Window{-2, 100}, "window of -2 content tokens: must be at least 1"},
		{Window{510, -1}, "overlap of -1 tokens: must not be negative"},
		{Window{510, 510}, "overlap of 510 tokens is not smaller than the window's 510 content tokens"},
		{Window{98, 100}, "overlap of 100 tokens is not smaller than the window's 98 content tokens"},
	} {
		got := ""
		if err := c.w.Validate(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%+v: got %q, want %q", c.w, got, c.want)
		}
	}
}

// TestExtremes cuts where sums of positions would leave 32 or 64 bits.
func TestExtremes(t *testing.T) {
	got := Window{math.MaxInt, 0}.AppendSpans(nil, math.MaxInt32)
	if want := []Span{{0, math.MaxInt32}}; !slices.Equal(got, want) {
		t.Errorf("a window larger than any text: got %v, want %v", got, want)
	}
	got = Window{math.MaxInt32 - 1, 1}.AppendSpans(nil, math.MaxInt32)
	if want := []Span{{0, math.MaxInt32 - 1}, {math.MaxInt32 - 2, math.MaxInt32}}; !slices.Equal(got, want) {
		t.Errorf("a window one token short of the longest text: got %v, want %v", got, want)
	}
}

func TestAppendSpansAllocatesNothing(t *testing.T) {
	const n = 329116
	dst := make([]Span, 0, protocol.Count(n))
	if allocs := testing.AllocsPerRun(10, func() { dst = protocol.AppendSpans(dst[:0], n) }); allocs != 0 {
		t.Errorf("%v allocations with a reused slice, want 0", allocs)
	}
}

func FuzzLaws(f *testing.F) {
	for _, n := range []int{0, 1, 509, 510, 511, 920, 921, 1873, 101835} {
		f.Add(510, 100, n)
	}
	f.Add(1, 0, 5)
	f.Add(3, 2, 10)
	f.Add(512, 511, 2000)
	f.Fuzz(func(t *testing.T, size, overlap, n int) {
		w := Window{size, overlap}
		if w.Validate() != nil || n < 0 || n > 1<<20 {
			t.Skip("outside the contract")
		}
		prefix := []Span{{7, 9}}
		all := w.AppendSpans(slices.Clone(prefix), n)
		if all[0] != prefix[0] {
			t.Fatalf("%+v, %d tokens: what dst held became %v", w, n, all[0])
		}
		if msg := brokenLaw(w, n, all[1:]); msg != "" {
			t.Fatalf("%+v, %d tokens: %s", w, n, msg)
		}
		if got := w.Count(n); got != len(all)-1 {
			t.Fatalf("%+v, %d tokens: Count says %d, AppendSpans gives %d", w, n, got, len(all)-1)
		}
	})
}

// brokenLaw names the first law that spans break, or gives "". It states the
// laws on the tokens and knows nothing of the formula.
func brokenLaw(w Window, n int, spans []Span) string {
	if len(spans) == 0 {
		return "no window at all"
	}
	// What starts minus what ends at each position: its running sum is the number
	// of windows that hold a token.
	opened := make([]int, n+1)
	for i, s := range spans {
		switch {
		case s.Start < 0 || s.Start > s.End || int(s.End) > n:
			return "a window outside the text"
		case s.Len() > w.Size:
			return "a window longer than its size"
		case i < len(spans)-1 && s.Len() != w.Size:
			return "a window before the last that is not full"
		case i > 0 && s.End <= spans[i-1].End:
			return "a window inside its predecessor"
		case i > 0 && int(spans[i-1].End-s.Start) != w.Overlap:
			return "neighbours that do not share exactly the overlap"
		}
		opened[s.Start]++
		opened[s.End]--
	}
	holding := 0
	for _, d := range opened[:n] {
		if holding += d; holding < 1 {
			return "a token in no window"
		}
	}
	return ""
}

func BenchmarkAppendSpans(b *testing.B) {
	b.ReportAllocs()
	var dst []Span
	for b.Loop() {
		dst = protocol.AppendSpans(dst[:0], 1873)
	}
}
