package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

var (
	systemA = []float64{0.5, 0.25, 1.0, 0.0, 0.3333333333333333, 0.75, 0.125, 0.6, 0.9, 0.2}
	systemB = []float64{0.25, 0.25, 0.5, 0.1, 0.2, 0.7, 0.3, 0.1, 0.8, 0.15}
)

// SciPy 1.17.1: stats.ttest_rel(a, b).pvalue; stats.permutation_test((a, b), mean
// of x−y, permutation_type='samples', n_resamples=inf).pvalue; and
// stats.bootstrap((a−b,), np.mean, method='BCa', n_resamples=2_000_000), 0.01417 to
// 0.28333.
func TestCompareAgainstSciPy(t *testing.T) {
	p := Compare(systemA, systemB, Options{B: 200_000, Seed: 1})
	if !near(p.PT, 0.10198906315777519, 1e-11) {
		t.Errorf("t test p = %.17g, want 0.10198906315777519", p.PT)
	}
	if p.P != 0.109375 || p.Test != "paired randomisation, exact" {
		t.Errorf("%s p = %v, want exact 0.109375", p.Test, p.P)
	}
	if math.Abs(p.CI.Low-0.014166) > 0.002 || math.Abs(p.CI.High-0.283333) > 0.002 || p.CI.Method != "paired BCa bootstrap" {
		t.Errorf("interval %+v, want 0.014166 to 0.283333", p.CI)
	}
	if p.N != 10 || p.Wins != 7 || p.Ties != 1 || p.Losses != 2 {
		t.Errorf("%d queries, %d won, %d tied, %d lost, want 10, 7, 1, 2", p.N, p.Wins, p.Ties, p.Losses)
	}
	if !near(p.MeanA, 0.46583333333333332, 1e-15) || !near(p.MeanB, 0.335, 1e-15) || !near(p.Diff, 0.13083333333333333, 1e-14) {
		t.Errorf("means %v and %v, difference %v", p.MeanA, p.MeanB, p.Diff)
	}
	if !near(p.Effect, p.Diff/p.SD, 1e-15) || !near(p.Detectable, 2.8*p.SD/math.Sqrt(10), 1e-14) || p.B != 200_000 || p.Seed != 1 {
		t.Errorf("effect %v, detectable %v, B %d, seed %d", p.Effect, p.Detectable, p.B, p.Seed)
	}
	// The bootstrap test is liberal for 10 queries, but near.
	if p.PBootstrap < 0.03 || p.PBootstrap > 0.11 {
		t.Errorf("bootstrap p = %v, want about 0.06", p.PBootstrap)
	}
}

func TestIdenticalSystemsDoNotDiffer(t *testing.T) {
	for _, n := range []int{1, 2, 21, 300} {
		v := unitValues(1, n)
		p := Compare(v, v, Options{B: 100})
		if p.Diff != 0 || p.P != 1 || p.PT != 1 || p.PBootstrap != 1 || p.Ties != n || p.Wins+p.Losses != 0 || p.Effect != 0 || p.Warnings != nil {
			t.Errorf("n=%d: %+v, want no difference and p = 1", n, p)
		}
	}
}

// Values that were added in another order are no wins.
func TestRoundingIsATie(t *testing.T) {
	a, b := make([]float64, 40), make([]float64, 40)
	for i := range a {
		a[i], b[i] = (0.1+0.2)+float64(i%5)/7, 0.3+float64(i%5)/7
	}
	if p := Compare(a, b, Options{B: 100}); p.Ties != 40 || p.P != 1 || p.PT != 1 {
		t.Errorf("%d ties, p = %v and %v, want 40, 1 and 1", p.Ties, p.P, p.PT)
	}
}

func TestCompareWithoutSpread(t *testing.T) {
	a, b := make([]float64, 12), make([]float64, 12)
	for i := range a {
		a[i], b[i] = 0.5+float64(i)/100, 0.4+float64(i)/100
	}
	p := Compare(a, b, Options{})
	want := 2.0 / 4096
	if p.P != want || p.PT != want || p.PBootstrap != want || p.CI.Known() || p.Effect != 0 {
		t.Errorf("%+v, want p = %v and no interval", p, want)
	}
	if w := []string{"the differences show no spread between 12 values: there is no interval, and the t test is undefined"}; !slices.Equal(p.Warnings, w) {
		t.Errorf("warnings %q, want %q", p.Warnings, w)
	}
}

func TestCompareNothing(t *testing.T) {
	for _, c := range []struct {
		a, b    []float64
		warning string
	}{
		{nil, nil, "the systems cannot be compared: no values"},
		{[]float64{math.NaN()}, []float64{1}, "the systems cannot be compared: a value is not finite"},
		{[]float64{math.Inf(1), 1}, []float64{math.Inf(1), 2}, "the systems cannot be compared: a value is not finite"},
	} {
		p := Compare(c.a, c.b, Options{})
		if !slices.Equal(p.Warnings, []string{c.warning}) || p.P != 1 || p.CI.Known() || p.Test != "none" || p.Wins+p.Ties+p.Losses != 0 {
			t.Errorf("Compare(%v, %v) = %+v, want %q", c.a, c.b, p, c.warning)
		}
	}
	defer func() {
		if got := recover(); got != "stat: 1 values against 2" {
			t.Errorf("panic %v", got)
		}
	}()
	Compare([]float64{1}, []float64{1, 2}, Options{})
}

// The exact test against all patterns of the differences themselves, in floating
// point with a tolerance.
func TestExactTestAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for n := 1; n <= 12; n++ {
		for round := range 8 {
			a, b := make([]float64, n), make([]float64, n)
			for i := range a {
				a[i], b[i] = rng.Float64(), rng.Float64()
				if round%2 == 0 { // many equal sums
					a[i], b[i] = float64(rng.IntN(4))/10, float64(rng.IntN(4))/10
				}
			}
			var observed float64
			for i := range a {
				observed += a[i] - b[i]
			}
			reached := 0
			for p := range 1 << n {
				var sum float64
				for i := range a {
					if p>>i&1 == 1 {
						sum -= a[i] - b[i]
					} else {
						sum += a[i] - b[i]
					}
				}
				if math.Abs(sum) >= math.Abs(observed)-1e-9 {
					reached++
				}
			}
			want := float64(reached) / float64(int(1)<<n)
			if got := Compare(a, b, Options{B: 10}); got.P != want {
				t.Errorf("n=%d, %v against %v: p = %v, want %v", n, a, b, got.P, want)
			}
		}
	}
}

// With more than 20 differences the test samples: it must be near the exact value,
// which for 24 is still within reach.
func TestSampledTestNearsTheExactOne(t *testing.T) {
	a, b := unitValues(4, 24), unitValues(5, 24)
	for i := range a {
		a[i] += 0.1
	}
	p := Compare(a, b, Options{B: 50_000, Seed: 2})
	s, _ := newSample(subtract(a, b), Options{})
	var total int64
	for _, x := range s.fixed {
		total += x
	}
	reached, all := countFlips(s.fixed, max(total, -total)-24)
	exact := float64(reached) / float64(all)
	if math.Abs(p.P-exact) > 0.01 || p.Test != "paired randomisation" {
		t.Errorf("%s gives %v, all patterns %v", p.Test, p.P, exact)
	}
	if math.Abs(p.PT-exact) > 0.03 || math.Abs(p.PBootstrap-exact) > 0.05 {
		t.Errorf("t gives %v, bootstrap %v, all patterns %v", p.PT, p.PBootstrap, exact)
	}
}

func subtract(a, b []float64) []float64 {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return d
}

// Without a difference p-values are uniform: among 400 experiments the share below
// q is q within 3 standard errors, and never does p reach 0.
func TestPIsUniformWithoutADifference(t *testing.T) {
	const experiments = 400
	rng := rand.New(rand.NewPCG(8, 2))
	var flips, student, grouped []float64
	for range experiments {
		a, b := make([]float64, 40), make([]float64, 40)
		groups := make([]string, 40)
		var shared float64
		for i := range a {
			a[i], b[i] = rng.Float64(), rng.Float64()
			if i%4 == 0 {
				shared = rng.NormFloat64()
			}
			groups[i] = strconv.Itoa(i / 4)
		}
		p := Compare(a, b, Options{B: 400, Seed: rng.Uint64()})
		flips, student = append(flips, p.P), append(student, p.PT)
		// Differences that a group shares: only a test that knows the groups holds
		// its level.
		for i := range a {
			if i%4 == 0 {
				shared = rng.NormFloat64()
			}
			a[i] = b[i] + shared
		}
		g := Compare(a, b, Options{B: 400, Seed: rng.Uint64(), Groups: groups})
		if g.Groups != 10 || g.Test != "paired randomisation, exact" {
			t.Fatalf("%d groups, %s, want 10, exact", g.Groups, g.Test)
		}
		grouped = append(grouped, g.P)
	}
	for name, ps := range map[string][]float64{"randomisation": flips, "t": student, "grouped": grouped} {
		for _, q := range []float64{0.05, 0.25, 0.5, 0.75} {
			below := 0
			for _, p := range ps {
				if p <= q {
					below++
				}
				if p <= 0 || p > 1 {
					t.Fatalf("%s: p = %v", name, p)
				}
			}
			share := float64(below) / experiments
			if math.Abs(share-q) > 3.2*math.Sqrt(q*(1-q)/experiments) {
				t.Errorf("%s: p <= %v in %.3f of the experiments", name, q, share)
			}
		}
	}
}

func TestCompareDoesNotDependOnThreads(t *testing.T) {
	a, b := unitValues(6, 333), unitValues(7, 333)
	want := fmt.Sprintf("%+v", Compare(a, b, Options{B: 2000, Seed: 9, Threads: 1}))
	for _, threads := range []int{2, 3, 8, 100} {
		if got := fmt.Sprintf("%+v", Compare(a, b, Options{B: 2000, Seed: 9, Threads: threads})); got != want {
			t.Errorf("%d threads give\n%s, one gives\n%s", threads, got, want)
		}
	}
}

// Swapping the systems turns every sign and leaves the p-values of the tests.
func TestCompareIsAntisymmetric(t *testing.T) {
	a, b := unitValues(6, 60), unitValues(7, 60)
	p, q := Compare(a, b, Options{B: 2000}), Compare(b, a, Options{B: 2000})
	if p.Diff != -q.Diff || p.P != q.P || p.PT != q.PT || p.Effect != -q.Effect || p.Wins != q.Losses {
		t.Errorf("%+v\nswapped\n%+v", p, q)
	}
}

// A scale changes nothing but the figures that carry it.
func TestCompareIsScaleInvariant(t *testing.T) {
	a, b := unitValues(6, 60), unitValues(7, 60)
	p := Compare(a, b, Options{B: 2000})
	for _, scale := range []float64{0x1p-300, 0x1p-20, 0x1p40, 0x1p500} {
		x, y := make([]float64, 60), make([]float64, 60)
		for i := range a {
			x[i], y[i] = a[i]*scale, b[i]*scale
		}
		q := Compare(x, y, Options{B: 2000})
		if q.Diff != p.Diff*scale || q.P != p.P || q.PBootstrap != p.PBootstrap || !near(q.CI.Low, p.CI.Low*scale, 1e-12) || !near(q.CI.High, p.CI.High*scale, 1e-12) {
			t.Errorf("scaled by %v:\n%+v\nwant\n%+v", scale, q, p)
		}
	}
}

func TestNeededN(t *testing.T) {
	for _, c := range []struct {
		sd, delta float64
		want      int
	}{
		{0.25, 0.04, 307}, // (2.8 · .25 / .04)² = 306.25
		{0.25, -0.04, 307},
		{0.01, 1, 2},
		{0, 0.1, 0},
		{0.1, 0, 0},
		{math.NaN(), 0.1, 0},
		{1, 1e-12, 1 << 53},
	} {
		if got := NeededN(c.sd, c.delta); got != c.want {
			t.Errorf("NeededN(%v, %v) = %d, want %d", c.sd, c.delta, got, c.want)
		}
	}
}

func TestWide(t *testing.T) {
	for _, c := range []struct {
		v        Interval
		diff, sd float64
		want     string
	}{
		{Interval{0.01, 0.03, ""}, 0.02, 0.1, ""},
		{Interval{-0.02, 0.06, ""}, 0.02, 0.25, "the interval, 0.0800 wide, is wider than the difference, 0.0200, and holds 0: about 1,225 queries would show such a difference with 80 % power"},
		{Interval{-0.02, 0.06, ""}, 0.02, 0, "the interval, 0.0800 wide, is wider than the difference, 0.0200, and holds 0"},
		{Interval{0.005, 0.06, ""}, 0.02, 0.25, "the interval, 0.0550 wide, is wider than the difference, 0.0200"},
		{none("x"), 0.02, 0.1, ""},
	} {
		if got := Wide(c.v, c.diff, c.sd); got != c.want {
			t.Errorf("Wide(%+v, %v, %v) = %q, want %q", c.v, c.diff, c.sd, got, c.want)
		}
	}
	p := Compare(systemA, systemB, Options{})
	if len(p.Warnings) != 1 {
		t.Errorf("warnings %q, want one about the wide interval", p.Warnings)
	}
}
