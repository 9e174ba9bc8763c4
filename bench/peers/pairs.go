package peers

import (
	"context"
	"errors"
	"fmt"

	"encbench/bench"
)

// Timer runs one side once and gives its seconds.
type Timer func() (seconds float64, err error)

// Interleave times two sides pairs times in ABBA order: ours, peer, peer, ours,
// ours, … so that a drift of the machine falls on both alike. It gives the
// seconds of both sides by pair. One untimed run of each comes first, because
// the first run after another program's pays for cold caches. On an error or the
// end of ctx it gives the complete pairs so far and the error.
func Interleave(ctx context.Context, pairs int, ours, peer Timer) (a, b []float64, err error) {
	if pairs < 1 {
		return nil, nil, fmt.Errorf("interleave: pairs is %d, want at least 1", pairs)
	}
	a, b = make([]float64, 0, pairs), make([]float64, 0, pairs)
	for i := -1; i < pairs; i++ {
		x, y, err := pair(ctx, i&1 == 1, ours, peer)
		if err != nil {
			if i < 0 {
				return a, b, fmt.Errorf("interleave: untimed pair: %w", err)
			}
			return a, b, fmt.Errorf("interleave: pair %d of %d: %w", i+1, pairs, err)
		}
		if i >= 0 {
			a, b = append(a, x), append(b, y)
		}
	}
	return a, b, nil
}

// pair runs both sides, the peer first when swapped, and gives ours and peer's seconds.
func pair(ctx context.Context, swapped bool, ours, peer Timer) (x, y float64, err error) {
	first, second := timed("ours", ours), timed("peer", peer)
	if swapped {
		first, second = second, first
	}
	for _, side := range []Timer{first, second} {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		seconds, err := side()
		if err != nil {
			return 0, 0, err
		}
		x, y = y, seconds
	}
	if swapped {
		x, y = y, x
	}
	return x, y, nil
}

func timed(name string, t Timer) Timer {
	return func() (float64, error) {
		s, err := t()
		switch {
		case err != nil:
			return 0, fmt.Errorf("%s: %w", name, err)
		case !(s > 0): // also NaN
			return 0, fmt.Errorf("%s: took %v s", name, s)
		}
		return s, nil
	}
}

// Trial is what calibration saw of one candidate.
type Trial struct {
	Config  Config    `json:"config"`
	Seconds []float64 `json:"seconds"`         // timed passes
	Median  float64   `json:"median_s"`        // 0 when it failed
	Error   string    `json:"error,omitempty"` // why it could not run
}

// Calibrate times each candidate and gives the number of the fastest by median,
// with what it saw of all. measure sets the candidate up, runs it once untimed
// and then repeats times. A candidate that cannot run is recorded and passed
// over, unless none can: then the error joins all of theirs. A worker that died
// and the end of ctx stop the calibration.
func Calibrate(ctx context.Context, candidates []Config, repeats int, measure func(context.Context, Config, int) ([]float64, error)) (best int, trials []Trial, err error) {
	if len(candidates) == 0 || repeats < 1 {
		return -1, nil, fmt.Errorf("calibrate: %d candidates, %d repeats, want at least 1 of each", len(candidates), repeats)
	}
	best = -1
	var faults []error
	for _, c := range candidates {
		if err := ctx.Err(); err != nil {
			return -1, trials, fmt.Errorf("calibrate %s: %w", c.Peer, err)
		}
		seconds, err := measure(ctx, c, repeats)
		t := Trial{Config: c, Seconds: seconds}
		var fault *Fault
		switch {
		case errors.As(err, &fault):
			t.Error = err.Error()
			faults = append(faults, err)
		case err != nil:
			return -1, trials, fmt.Errorf("calibrate %s: %w", c.Peer, err)
		case len(seconds) == 0:
			return -1, trials, fmt.Errorf("calibrate %s: no timed pass", c.Peer)
		default:
			t.Median = bench.Median(seconds)
			if best < 0 || t.Median < trials[best].Median {
				best = len(trials)
			}
		}
		trials = append(trials, t)
	}
	if best < 0 {
		return -1, trials, fmt.Errorf("calibrate: no candidate could run: %w", errors.Join(faults...))
	}
	return best, trials, nil
}

// Measure is the usual measure of [Calibrate]: it loads c into w and runs the
// input that w holds.
func (w *Worker) Measure(ctx context.Context, c Config, repeats int) ([]float64, error) {
	if _, err := w.Load(ctx, c); err != nil {
		return nil, err
	}
	seconds := make([]float64, 0, repeats)
	for i := -1; i < repeats; i++ {
		r, err := w.Run(ctx, "")
		if err != nil {
			return nil, err
		}
		if i >= 0 {
			seconds = append(seconds, r.WallS)
		}
	}
	return seconds, nil
}
