package rerank

import (
	"math"
	"testing"
	"time"
)

func pairsOf(w Window) int64 { return w.Pairs }

func TestRateIsTheRatioOfSums(t *testing.T) {
	var windows []Window
	for i := range 20 {
		windows = append(windows, Window{Pairs: int64(100 + i), Tokens: 3000, Seconds: 2 + float64(i%5)/10})
	}
	r := rateOf(windows, pairsOf)
	if want := 2190.0 / 44; math.Abs(r.PerS-want) > 1e-9 || r.Windows != 20 || !r.Known() {
		t.Errorf("%+v, want %v a second", r, want)
	}
	// The normal approximation of the ratio's error, as a check of the bootstrap.
	var square float64
	for _, w := range windows {
		d := float64(w.Pairs) - r.PerS*w.Seconds
		square += d * d
	}
	half := 1.96 * math.Sqrt(square) / 44
	if low, high := r.PerS-half, r.PerS+half; math.Abs(r.Low-low) > 0.2*half || math.Abs(r.High-high) > 0.2*half {
		t.Errorf("interval %v to %v, by the normal approximation %v to %v", r.Low, r.High, low, high)
	}
	if again := rateOf(windows, pairsOf); again != r {
		t.Errorf("the same windows give %+v and %+v", r, again)
	}
	if few := rateOf(windows[:5], pairsOf); few.Known() || few.PerS == 0 || few.Windows != 5 {
		t.Errorf("five windows: %+v", few)
	}
	if none := rateOf(nil, pairsOf); none != (Rate{}) {
		t.Errorf("no window: %+v", none)
	}
}

// Every batch and all of the time is in a window, and windows have the batches that
// they should have, over several runs of the clock.
func TestStopwatch(t *testing.T) {
	s := stopwatch{each: 3}
	begun := time.Now()
	for run, batches := range []int{7, 2, 3} {
		s.start()
		for range batches {
			s.batch(10, 100)
		}
		s.stop()
		if want := []int{2, 3, 4}[run]; len(s.windows) != want {
			t.Errorf("%d windows after run %d, want %d", len(s.windows), run, want)
		}
	}
	all := time.Since(begun).Seconds()
	for i, want := range []int64{30, 40, 20, 30} {
		if s.windows[i].Pairs != want || s.windows[i].Tokens != 10*want {
			t.Errorf("window %d: %+v, want %d pairs", i, s.windows[i], want)
		}
	}
	if sum := s.total(); sum.Pairs != 120 || sum.Seconds <= 0 || sum.Seconds > all {
		t.Errorf("%+v in all, %v s on the clock", sum, all)
	}
}
