package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Tolerances of this file: near is rounding, noise is the Monte Carlo error of a
// quantile of 20,000 draws, in standard deviations of the statistic.
const (
	near  = 1e-12
	noise = 0.08
)

func close2(a, b, tol float64) bool { return math.Abs(a-b) <= tol*max(1, math.Abs(a), math.Abs(b)) }

func normals(rng *rand.Rand, n int, mean, sd float64) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = mean + sd*rng.NormFloat64()
	}
	return xs
}

func TestSummarizeSmall(t *testing.T) {
	for _, c := range []struct {
		xs   []float64
		want Estimate
	}{
		{nil, Estimate{}},
		{[]float64{7}, Estimate{Median: 7, Low: 7, High: 7, Min: 7, Max: 7, N: 1}},
		{[]float64{9, 7}, Estimate{Median: 8, Low: 7, High: 9, Min: 7, Max: 9, N: 2, CV: math.Sqrt2 / 8}},
		{[]float64{3, 1, 2, 5, 4}, Estimate{Median: 3, Low: 1, High: 5, Min: 1, Max: 5, N: 5, CV: math.Sqrt(2.5) / 3}},
		{[]float64{4, 4, 4, 4, 4, 4, 4}, Estimate{Median: 4, Low: 4, High: 4, Min: 4, Max: 4, N: 7}},
		{[]float64{1, math.NaN()}, Estimate{}},
		{[]float64{1, math.Inf(1), 2}, Estimate{}},
	} {
		got := Summarize(c.xs)
		if got.N != c.want.N || got.Median != c.want.Median || got.Low != c.want.Low || got.High != c.want.High ||
			got.Min != c.want.Min || got.Max != c.want.Max || !close2(got.CV, c.want.CV, near) {
			t.Errorf("Summarize(%v) = %+v, want %+v", c.xs, got, c.want)
		}
	}
}

func TestSummarizeLeavesItsInputAlone(t *testing.T) {
	xs := []float64{3, 1, 2, 9, 4, 7, 5}
	was := slices.Clone(xs)
	Summarize(xs)
	Drift(xs)
	Outliers(xs)
	RatioCI(xs, xs)
	MannWhitney(xs, xs)
	if !slices.Equal(xs, was) {
		t.Errorf("samples became %v, were %v", xs, was)
	}
}

func TestSummarizeIsScaleAndOrderInvariant(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 1; n < 60; n += 3 {
		xs := normals(rng, n, 100, 3)
		e := Summarize(xs)
		if again := Summarize(xs); again != e {
			t.Fatalf("n=%d: two calls give %+v and %+v", n, e, again)
		}
		scaled := make([]float64, n)
		for i, x := range xs {
			scaled[i] = 1024 * x // exact in binary
		}
		want := Estimate{1024 * e.Median, 1024 * e.Low, 1024 * e.High, e.CV, 1024 * e.Min, 1024 * e.Max, n}
		got := Summarize(scaled)
		if !close2(got.CV, want.CV, near) {
			t.Errorf("n=%d: CV %v of scaled samples, want %v", n, got.CV, want.CV)
		}
		got.CV = want.CV
		if got != want {
			t.Errorf("n=%d: scaled samples give %+v, want %+v", n, got, want)
		}
		shuffled := slices.Clone(xs)
		rng.Shuffle(n, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if got := Summarize(shuffled); got != e {
			t.Errorf("n=%d: shuffled samples give %+v, want %+v", n, got, e)
		}
		if e.Min > e.Low || e.Low > e.Median || e.Median > e.High || e.High > e.Max {
			t.Errorf("n=%d: not ordered: %+v", n, e)
		}
	}
}

// The direct draw of a resample's median must have the law of its plain twin.
func TestMedianDrawEqualsResampling(t *testing.T) {
	for _, n := range []int{6, 7, 10, 11, 24, 101} {
		rng := rand.New(rand.NewPCG(3, uint64(n)))
		xs := slices.Sorted(slices.Values(normals(rng, n, 0, 1)))
		d, buf := newMedianDraw(xs), make([]float64, n)
		fast, plain := make([]float64, 20_000), make([]float64, 20_000)
		for i := range fast {
			fast[i] = d.next(rng)
			plain[i] = resampleMedian(rng, xs, buf)
		}
		slices.Sort(fast)
		slices.Sort(plain)
		if n%2 == 1 {
			// The law is discrete: compare the shares at every sample.
			for _, x := range xs {
				f, p := share(fast, x), share(plain, x)
				if math.Abs(f-p) > 0.016 {
					t.Errorf("n=%d: P(median <= %.3f) is %.4f drawn directly, %.4f resampled", n, x, f, p)
				}
			}
			continue
		}
		sd := 1.2533 / math.Sqrt(float64(n))
		for _, q := range []float64{0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975} {
			at := plain[int(q*float64(len(plain)))]
			if f := share(fast, at+noise*sd/4); f < q-0.016 {
				t.Errorf("n=%d: quantile %.3f of the resampled law is quantile %.4f of the direct one", n, q, f)
			}
			if f := share(fast, at-noise*sd/4); f > q+0.016 {
				t.Errorf("n=%d: quantile %.3f of the resampled law is quantile %.4f of the direct one", n, q, f)
			}
		}
	}
}

func share(sorted []float64, x float64) float64 {
	i, _ := slices.BinarySearchFunc(sorted, x, func(e, t float64) int {
		if e <= t {
			return -1
		}
		return 1
	})
	return float64(i) / float64(len(sorted))
}

// Over many simulated runs the 95 % interval must hold the true median about 95
// times in 100. The percentile interval of a median is known to be a little off
// at small counts; the limits say by how much.
func TestIntervalCoverage(t *testing.T) {
	const runs = 100
	for _, c := range []struct {
		n        int
		low, hig float64
	}{{6, 0.88, 1}, {10, 0.88, 1}, {21, 0.88, 1}, {50, 0.88, 1}} {
		rng := rand.New(rand.NewPCG(5, uint64(c.n)))
		hits := 0
		for range runs {
			if e := Summarize(normals(rng, c.n, 10, 1)); e.Low <= 10 && 10 <= e.High {
				hits++
			}
		}
		if got := float64(hits) / runs; got < c.low || got > c.hig {
			t.Errorf("n=%d: the interval holds the true median in %.3f of the runs, want %.2f to %.2f", c.n, got, c.low, c.hig)
		}
	}
}

func TestRangeCoverage(t *testing.T) {
	for n, want := range map[int]float64{0: 0, 1: 0, 2: 0.5, 5: 0.9375, 6: 0.96875} {
		if got := Coverage(n); got != want {
			t.Errorf("Coverage(%d) = %v, want %v", n, got, want)
		}
	}
	rng := rand.New(rand.NewPCG(6, 6))
	hits := 0
	for range 1000 {
		if e := Summarize(normals(rng, 3, 10, 1)); e.Low <= 10 && 10 <= e.High {
			hits++
		}
	}
	if got := float64(hits) / 1000; math.Abs(got-Coverage(3)) > 0.05 {
		t.Errorf("the range of 3 samples holds the median in %.3f of the runs, Coverage says %.3f", got, Coverage(3))
	}
}

func TestRatioCoverage(t *testing.T) {
	const runs = 100
	rng := rand.New(rand.NewPCG(7, 7))
	independent, paired := 0, 0
	for range runs {
		a, b := normals(rng, 12, 11, 0.3), normals(rng, 12, 10, 0.3)
		if r := RatioCI(a, b); r.Low <= 1.1 && 1.1 <= r.High {
			independent++
		}
		for i := range a { // a slow minute hits both arms of a pair
			slow := 1 - 0.5*rng.Float64()
			a[i] *= slow
			b[i] *= slow
		}
		if r := PairedRatio(a, b); r.Low <= 1.1 && 1.1 <= r.High {
			paired++
		}
	}
	for name, hits := range map[string]int{"RatioCI": independent, "PairedRatio": paired} {
		if got := float64(hits) / runs; got < 0.88 {
			t.Errorf("%s: the interval holds the true ratio in %.3f of the runs, want 0.88 or more", name, got)
		}
	}
}

func TestRatios(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	a, b := normals(rng, 13, 50, 1), normals(rng, 13, 25, 1)
	r := PairedRatio(a, b)
	if back := PairedRatio(b, a); !close2(back.Value, 1/r.Value, near) {
		t.Errorf("swapped arms give %v, want the reciprocal of %v", back.Value, r.Value)
	}
	if r.N != 13 || r.Low > r.Value || r.Value > r.High || math.Abs(r.Value-2) > 0.1 {
		t.Errorf("PairedRatio = %+v of samples around 50 and 25", r)
	}
	u := RatioCI(a, b)
	if !close2(u.Value, Median(a)/Median(b), near) || u.Low > u.Value || u.Value > u.High {
		t.Errorf("RatioCI = %+v, medians %v and %v", u, Median(a), Median(b))
	}
	one := RatioCI([]float64{3}, []float64{2})
	if one != (Ratio{1.5, 1.5, 1.5, 1}) {
		t.Errorf("one sample an arm gives %+v", one)
	}
	few := RatioCI([]float64{8, 12}, []float64{4, 5})
	if few.Low != 8.0/5 || few.High != 12.0/4 || few.N != 2 {
		t.Errorf("two samples an arm give %+v, want the widest ratios 1.6 to 3", few)
	}
	for name, got := range map[string]Ratio{
		"no samples":         RatioCI(nil, b),
		"zero divisor":       RatioCI(a, []float64{0, 1}),
		"NaN":                RatioCI([]float64{math.NaN()}, b),
		"unequal arms":       PairedRatio(a, b[:5]),
		"no pairs":           PairedRatio(nil, nil),
		"negative in a pair": PairedRatio([]float64{1, -1}, []float64{1, 1}),
	} {
		if got != (Ratio{}) {
			t.Errorf("%s: %+v, want the zero Ratio", name, got)
		}
	}
}

func TestDrift(t *testing.T) {
	for _, c := range []struct {
		xs   []float64
		want float64
	}{
		{nil, 0},
		{[]float64{1, 2, 3, 4, 5}, 0},
		{[]float64{10, 10, 5, 5, 11, 11}, 0.1},
		{[]float64{10, 10, 10, 1, 1, 1, 9, 9, 9, 9}, -0.1},
		{[]float64{0, 0, 1, 1, 2, 2}, 0},
	} {
		if got := Drift(c.xs); !close2(got, c.want, near) {
			t.Errorf("Drift(%v) = %v, want %v", c.xs, got, c.want)
		}
	}
}

func TestOutliers(t *testing.T) {
	for _, c := range []struct {
		xs   []float64
		want []int
	}{
		{nil, nil},
		{[]float64{1, 1, 1, 9}, nil},
		{[]float64{10, 10.1, 9.9, 10.05, 9.95, 10}, nil},
		{[]float64{10, 10.1, 5, 9.9, 10.05, 9.95, 30}, []int{2, 6}},
		{[]float64{4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5}, []int{10}},
		{[]float64{4, 4, 4, 4, 4}, nil},
	} {
		if got := Outliers(c.xs); !slices.Equal(got, c.want) {
			t.Errorf("Outliers(%v) = %v, want %v", c.xs, got, c.want)
		}
	}
}

func BenchmarkSummarize(b *testing.B) {
	for _, n := range []int{12, 1200} {
		b.Run(fmt.Sprintf("samples=%d", n), func(b *testing.B) {
			xs := normals(rand.New(rand.NewPCG(1, 1)), n, 10, 0.1)
			b.ReportAllocs()
			for b.Loop() {
				Summarize(xs)
			}
		})
	}
}
