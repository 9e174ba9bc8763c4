package peak

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	// minBurst is the length from which the start and the end of a burst, and the
	// kernel's ticks within it, weigh little.
	minBurst = 5 * time.Millisecond
	// aimBurst leaves room for a clock that rises.
	aimBurst = 6 * time.Millisecond
	// minBursts is how many bursts a path gets at least, however short its time.
	minBursts = 8
	// firstIterations is a burst of some microseconds.
	firstIterations = 1 << 12
	// doubtMedian is the share of the best burst that the median one reaches on a
	// machine that is left alone.
	doubtMedian = 0.85
	// exactLimit keeps all accumulators below the float32 from which counting by
	// one stands still.
	exactLimit = 1<<24 - 64
)

// path is one kernel: run gives the sum of its count accumulators of lanes
// floats (see kernel.h).
type path struct {
	name         string
	has          bool
	lanes, count int
	run          func(iterations int64, m, c float32) float64
}

// flop is what one iteration does: a multiplication and an addition for each
// float.
func (p path) flop() float64 { return 2 * float64(p.lanes) * float64(p.count) }

// counted is the sum after iterations with factor and addend one.
func (p path) counted(iterations int64) float64 {
	n := float64(p.count)
	return float64(p.lanes) * (n*float64(iterations) + n*(n-1)/2)
}

// Result is what one path reached.
type Result struct {
	Path    string  // AVX-512 FMA
	FLOPS   float64 // fp32 operations a second, all threads together: of the best burst
	Median  float64 // of the median burst
	Threads int
	Bursts  int           // that counted
	Burst   time.Duration // of the best one
}

// Uncertain tells whether the bursts differ so much that even the best one may
// have been disturbed: the median is more than 15 % below it.
func (r Result) Uncertain() bool { return r.Median < doubtMedian*r.FLOPS }

// String names the source of the figure for a report, and says where it is in
// doubt.
func (r Result) String() string {
	threads := "threads"
	if r.Threads == 1 {
		threads = "thread"
	}
	s := fmt.Sprintf("probe: %s, %d %s, best of %d bursts of %.1f ms", r.Path, r.Threads, threads, r.Bursts, r.Burst.Seconds()*1e3)
	if r.Uncertain() {
		s += fmt.Sprintf(", uncertain: the median burst reached %.0f %% of it", 100*r.Median/r.FLOPS)
	}
	return s
}

// FLOPS is the fp32 peak of the machine on the given number of threads, in
// operations a second (a multiply-add is two), and how it was found: the best of
// All. source holds the word "uncertain" when Result.Uncertain.
func FLOPS(ctx context.Context, threads int, d time.Duration) (flops float64, source string, err error) {
	all, err := All(ctx, threads, d)
	if err != nil {
		return 0, "", err
	}
	best := all[0]
	for _, r := range all[1:] {
		if r.FLOPS > best.FLOPS {
			best = r
		}
	}
	return best.FLOPS, best.String(), nil
}

// All measures every path that this CPU has for d in total, widest first, on
// threads that are locked to OS threads and start together. A path gets bursts
// of at least 5 ms as long as its part of d lasts, and 8 at least; the best one
// counts, as the others met a disturbance. d of 0.2 s is enough on a quiet
// machine. When ctx ends the error is that of ctx.
func All(ctx context.Context, threads int, d time.Duration) ([]Result, error) {
	if threads < 1 || d <= 0 {
		return nil, fmt.Errorf("measure peak: expected at least one thread and a positive time, found %d and %v", threads, d)
	}
	var usable []path
	for _, p := range paths() {
		if p.has {
			usable = append(usable, p)
		}
	}
	if len(usable) == 0 {
		return nil, fmt.Errorf("measure peak: %w", ErrNotBuilt)
	}
	var out []Result
	for _, p := range usable {
		r, err := measure(ctx, p, threads, d/time.Duration(len(usable)))
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, fmt.Errorf("measure peak with %s: %w", p.name, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// span is when one thread ran.
type span struct {
	from, to time.Time
	err      error
}

func measure(ctx context.Context, p path, threads int, d time.Duration) (Result, error) {
	starts := make([]chan int64, threads)
	done := make(chan span, threads)
	var wg sync.WaitGroup
	for i := range starts {
		starts[i] = make(chan int64)
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for iterations := range starts[i] {
				s := span{from: time.Now()}
				s.err = burst(p, iterations)
				s.to = time.Now()
				done <- s
			}
		})
	}
	defer wg.Wait()
	defer func() {
		for _, c := range starts {
			close(c)
		}
	}()
	// together runs one burst on all threads, from the first start to the last end.
	together := func(iterations int64) (time.Duration, error) {
		for _, c := range starts {
			c <- iterations
		}
		var all span
		for i := range starts {
			s := <-done
			if i == 0 || s.from.Before(all.from) {
				all.from = s.from
			}
			if s.to.After(all.to) {
				all.to = s.to
			}
			if s.err != nil {
				all.err = s.err
			}
		}
		return all.to.Sub(all.from), all.err
	}
	samples, err := sample(ctx, d, together)
	if err != nil {
		return Result{}, err
	}
	// Sorted, fastest first.
	best, median := samples[0], samples[len(samples)/2]
	perIteration := p.flop() * float64(threads)
	return Result{Path: p.name, FLOPS: perIteration * best.rate(), Median: perIteration * median.rate(),
		Threads: threads, Bursts: len(samples), Burst: best.took}, nil
}

// timed is one burst.
type timed struct {
	iterations int64
	took       time.Duration
}

func (t timed) rate() float64 { return float64(t.iterations) / t.took.Seconds() }

// sample runs bursts until they took d together and there are minBursts that
// count, and gives those, fastest first. A burst that is too short is not counted
// and the next one is longer; those before it were long only because something
// held them up, so they count no more.
func sample(ctx context.Context, d time.Duration, together func(iterations int64) (time.Duration, error)) ([]timed, error) {
	var out []timed
	var spent time.Duration
	for iterations := int64(firstIterations); spent < d || len(out) < minBursts; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		took, err := together(iterations)
		if err != nil {
			return nil, err
		}
		spent += took
		if took >= minBurst {
			out = append(out, timed{iterations, took})
			continue
		}
		out = out[:0]
		// Small steps at first: this also wakes the clock up.
		grow := aimBurst.Seconds() / max(took.Seconds(), 1e-9)
		iterations = int64(float64(iterations) * min(max(grow, 1.25), 4))
	}
	slices.SortFunc(out, func(a, b timed) int { return cmp.Compare(b.rate(), a.rate()) })
	return out, nil
}

// burst runs a kernel and checks that it did what it is timed for: with factor
// and addend one each accumulator counts its iterations.
func burst(p path, iterations int64) error {
	for left := iterations; left > 0; {
		n := min(left, exactLimit)
		if got, want := p.run(n, 1, 1), p.counted(n); got != want {
			return fmt.Errorf("%w: %d iterations: expected %g, found %g", ErrArithmetic, n, want, got)
		}
		left -= n
	}
	return nil
}
