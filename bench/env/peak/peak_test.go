package peak

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
)

// reference is the loop that kernel.h names.
func reference(p path, iterations int64, m, c float32) float64 {
	acc := make([]float32, p.lanes*p.count)
	for k := range acc {
		acc[k] = float32(k / p.lanes)
	}
	for range iterations {
		for k := range acc {
			acc[k] = acc[k]*m + c
		}
	}
	sum := 0.0
	for _, a := range acc {
		sum += float64(a)
	}
	return sum
}

// TestKernels runs every path that this CPU has against the plain loop. The
// values are exact in float32 with and without fused rounding.
func TestKernels(t *testing.T) {
	ran := 0
	for _, p := range paths() {
		if !p.has {
			t.Logf("%s: this CPU has it not", p.name)
			continue
		}
		ran++
		for _, c := range []struct {
			iterations int64
			m, c       float32
		}{{0, 1, 1}, {1, 1, 1}, {7, 1, 1}, {1000, 1, 1}, {5, -1, 3}, {6, -1, 3}, {3, 2, 1}, {10, 0.5, 8}} {
			got, want := p.run(c.iterations, c.m, c.c), reference(p, c.iterations, c.m, c.c)
			if got != want {
				t.Errorf("%s, %d iterations, factor %g, addend %g: sum %g, expected %g", p.name, c.iterations, c.m, c.c, got, want)
			}
			if want := p.counted(c.iterations); c.m == 1 && c.c == 1 && got != want {
				t.Errorf("%s, %d iterations: sum %g, the formula says %g", p.name, c.iterations, got, want)
			}
		}
	}
	if len(paths()) > 0 && ran == 0 {
		t.Error("no path runs on this CPU")
	}
}

func TestAll(t *testing.T) {
	all, err := All(t.Context(), 1, 30*time.Millisecond)
	if len(paths()) == 0 {
		if !errors.Is(err, ErrNotBuilt) || !strings.Contains(err.Error(), "make build") {
			t.Errorf("without kernels: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	floor := 1e9 // no CPU that runs this is slower
	if runtime.GOARCH == "arm64" {
		floor = 1e6 // these tests also run in an emulator
	}
	for _, r := range all {
		t.Logf("%s: %.1f GFLOP/s", r, r.FLOPS/1e9)
		if r.FLOPS < floor || r.FLOPS > ceiling(r.Path) {
			t.Errorf("%s: %g FLOP/s, expected %g to %g", r, r.FLOPS, floor, ceiling(r.Path))
		}
	}
	flops, source, err := FLOPS(t.Context(), 2, 30*time.Millisecond)
	if err != nil || flops <= 0 || !strings.HasPrefix(source, "probe: ") || !strings.Contains(source, ", 2 threads, ") {
		t.Errorf("FLOPS: %g, %q, %v", flops, source, err)
	}
}

// ceiling is what no core reaches: more than it means that a compiler found a way
// around the work.
func ceiling(name string) float64 {
	const clock = 7e9
	for _, p := range paths() {
		if p.name == name {
			units := 2.0
			if p.name == "NEON FMA" {
				units = 6
			}
			return 2 * float64(p.lanes) * units * clock
		}
	}
	return 0
}

func TestAllRefuses(t *testing.T) {
	for _, c := range []struct {
		threads int
		d       time.Duration
	}{{0, time.Second}, {1, 0}} {
		if _, err := All(t.Context(), c.threads, c.d); err == nil {
			t.Errorf("%d threads for %v: no error", c.threads, c.d)
		}
	}
	if len(paths()) == 0 {
		return
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := FLOPS(ctx, 1, time.Hour); err != context.Canceled {
		t.Errorf("cancelled: %v, expected the context's error and no more", err)
	}
}

// TestSample gives sample a machine that does an iteration in a nanosecond, and
// holds up the bursts of the given numbers for 50 ms.
func TestSample(t *testing.T) {
	for _, c := range []struct {
		name string
		d    time.Duration
		slow func(n int) bool
		want int // bursts that count
	}{
		{"quiet", 100 * time.Millisecond, func(int) bool { return false }, 16},
		{"short", time.Millisecond, func(int) bool { return false }, minBursts},
		{"preempted at the first start", 100 * time.Millisecond, func(n int) bool { return n == 0 }, minBursts},
		{"preempted three times in a row", 200 * time.Millisecond, func(n int) bool { return n < 3 }, minBursts},
		{"preempted in every second", 400 * time.Millisecond, func(n int) bool { return n%2 == 0 }, minBursts},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := 0
			var spent time.Duration
			got, err := sample(t.Context(), c.d, func(iterations int64) (time.Duration, error) {
				took := time.Duration(iterations)
				if c.slow(n) {
					took += 50 * time.Millisecond
				}
				n++
				spent += took
				return took, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != c.want || got[0].took < minBurst || got[0].took > 4*minBurst {
				t.Errorf("%d bursts, the best of %v, expected %d of at least %v", len(got), got[0].took, c.want, minBurst)
			}
			for i, g := range got {
				if i > 0 && g.rate() > got[i-1].rate() {
					t.Errorf("burst %d is faster than the one before it", i)
				}
			}
			// An iteration takes a nanosecond, whatever held up the others.
			if r := got[0].rate(); r < 0.999e9 || r > 1.001e9 {
				t.Errorf("best rate %g, expected 1e9", r)
			}
			if limit := max(c.d, (minBursts+4)*aimBurst) + 200*time.Millisecond; spent > limit {
				t.Errorf("took %v of the machine's time, expected at most %v", spent, limit)
			}
		})
	}
	broken := errors.New("broken")
	if _, err := sample(t.Context(), time.Second, func(int64) (time.Duration, error) { return 0, broken }); err != broken {
		t.Errorf("error: %v", err)
	}
}

func TestResultString(t *testing.T) {
	r := Result{Path: "AVX2 FMA", FLOPS: 200e9, Median: 171e9, Threads: 2, Bursts: 23, Burst: 6123 * time.Microsecond}
	if got, want := r.String(), "probe: AVX2 FMA, 2 threads, best of 23 bursts of 6.1 ms"; got != want {
		t.Errorf("%q, expected %q", got, want)
	}
	r.Median, r.Threads = 142e9, 1
	if got, want := r.String(), "probe: AVX2 FMA, 1 thread, best of 23 bursts of 6.1 ms, uncertain: the median burst reached 71 % of it"; got != want {
		t.Errorf("%q, expected %q", got, want)
	}
}

// TestWrongArithmetic shows that a kernel that skips work is found out.
func TestWrongArithmetic(t *testing.T) {
	lazy := path{name: "lazy", has: true, lanes: 4, count: 2}
	lazy.run = func(n int64, _, _ float32) float64 { return lazy.counted(n - 1) }
	_, err := measure(t.Context(), lazy, 2, time.Millisecond)
	if !errors.Is(err, ErrArithmetic) || err.Error() != "peak probe computed a wrong result: 4096 iterations: expected 32772, found 32764" {
		t.Errorf("error: %v", err)
	}
}

func BenchmarkPeak(b *testing.B) {
	for _, p := range paths() {
		if !p.has {
			continue
		}
		b.Run(strings.ReplaceAll(p.name, " ", "_"), func(b *testing.B) {
			const iterations = 1 << 16
			for b.Loop() {
				if err := burst(p, iterations); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(p.flop()*iterations*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
