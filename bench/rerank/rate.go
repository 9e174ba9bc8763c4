package rerank

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Window is a stretch of consecutive batches with the time that it took.
type Window struct {
	Pairs   int64   `json:"pairs"`
	Tokens  int64   `json:"tokens"` // real ones, special tokens included
	Seconds float64 `json:"seconds"`
}

// Rate is an amount for each second of the timed part, with the 95 % interval over
// its windows; Low and High are 0 where there are too few of them.
type Rate struct {
	PerS    float64 `json:"per_s"`
	Low     float64 `json:"ci_low"`
	High    float64 `json:"ci_high"`
	Windows int     `json:"windows"`
}

// Known says whether there is an interval.
func (r Rate) Known() bool { return r.High > 0 }

// The intervals of rates.
const (
	// wantedWindows is how many a pass is divided into, where it has the batches.
	wantedWindows = 20
	// windowBatches is the fewest batches of a window: two are in flight.
	windowBatches = 2
	// leastWindows is the fewest that an interval rests on: the range of six values
	// covers their median with 97 %, that of five with 94 %.
	leastWindows = 6

	resamples = 10_000
	rateSeed  = 64 // fixed: the same windows give the same interval
)

// rateOf gives Σ amount ÷ Σ seconds. Its interval is the percentile bootstrap (Efron
// and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13) of that ratio,
// windows drawn with replacement: windows hold pairs of other lengths and take other
// times, and the ratio of the sums is what the pass as a whole did.
func rateOf(windows []Window, amount func(Window) int64) Rate {
	var sum, seconds float64
	for _, w := range windows {
		sum += float64(amount(w))
		seconds += w.Seconds
	}
	r := Rate{Windows: len(windows)}
	if seconds <= 0 {
		return r
	}
	r.PerS = sum / seconds
	if len(windows) < leastWindows {
		return r
	}
	rng := rand.New(rand.NewPCG(rateSeed, uint64(len(windows))))
	draws := make([]float64, resamples)
	for i := range draws {
		var n, s float64
		for range windows {
			w := windows[rng.IntN(len(windows))]
			n += float64(amount(w))
			s += w.Seconds
		}
		draws[i] = n / s
	}
	slices.Sort(draws)
	cut := resamples / 40
	r.Low, r.High = draws[cut], draws[resamples-1-cut]
	return r
}

// stopwatch cuts the timed part into windows.
type stopwatch struct {
	windows []Window
	each    int // batches of a window
	now     Window
	batches int
	mark    time.Time
	own     int // windows of the present run of the clock
}

// start lets the clock run.
func (s *stopwatch) start() { s.mark, s.own = time.Now(), 0 }

// batch counts a batch that has been collected.
func (s *stopwatch) batch(pairs, tokens int64) {
	s.now.Pairs += pairs
	s.now.Tokens += tokens
	if s.batches++; s.batches < s.each {
		return
	}
	s.lap()
	s.windows, s.own = append(s.windows, s.now), s.own+1
	s.now, s.batches = Window{}, 0
}

func (s *stopwatch) lap() {
	now := time.Now()
	s.now.Seconds += now.Sub(s.mark).Seconds()
	s.mark = now
}

// stop halts the clock. What is left over joins the window before it, as does the
// time since the last batch; alone it is a window.
func (s *stopwatch) stop() {
	s.lap()
	if s.own == 0 && s.now.Pairs > 0 {
		s.windows = append(s.windows, Window{})
	}
	if n := len(s.windows); n > 0 {
		w := &s.windows[n-1]
		w.Pairs += s.now.Pairs
		w.Tokens += s.now.Tokens
		w.Seconds += s.now.Seconds
	}
	s.now, s.batches = Window{}, 0
}

// total adds the windows up.
func (s *stopwatch) total() (t Window) {
	for _, w := range s.windows {
		t.Pairs += w.Pairs
		t.Tokens += w.Tokens
		t.Seconds += w.Seconds
	}
	return t
}
