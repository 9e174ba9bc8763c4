package stat

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// skewed are 20 values of a measure with a long tail.
var skewed = []float64{0.0, 0.1, 0.15, 0.2, 0.2, 0.3, 0.35, 0.5, 0.63, 1.0, 0.05, 0.12, 0.9, 0.07, 0.22, 0.41, 0.33, 0.0, 0.0, 0.26}

// Known answers of SciPy 1.17.1, stats.binomtest(hits, n).proportion_ci(method='wilson').
func TestWilsonAgainstSciPy(t *testing.T) {
	for _, c := range []struct {
		hits, n   int
		low, high float64
	}{
		{11, 12, 0.64612008885888306, 0.98513490559508299},
		{0, 12, 0, 0.24249400665524085},
		{12, 12, 0.75750599334475921, 1},
		{240, 300, 0.7510710762322137, 0.84134314103305874},
		{1, 3, 0.061491944720396263, 0.79234039919795229},
		{213, 300, 0.65625449818887438, 0.75843545389681621},
		{6000, 6980, 0.85125097271452199, 0.86755114064955874},
	} {
		v := Wilson(c.hits, c.n)
		if !near(v.Low, c.low, 1e-12) || !near(v.High, c.high, 1e-12) || v.Method != "Wilson" {
			t.Errorf("Wilson(%d, %d) = %+v, want %v to %v", c.hits, c.n, v, c.low, c.high)
		}
	}
	for _, c := range [][2]int{{1, 0}, {-1, 4}, {5, 4}} {
		if v := Wilson(c[0], c[1]); v.Known() {
			t.Errorf("Wilson(%d, %d) = %+v, want none", c[0], c[1], v)
		}
	}
}

// SciPy 1.17.1, stats.bootstrap((x,), np.mean, method=m, n_resamples=2_000_000,
// rng=np.random.default_rng(1)).confidence_interval: BCa 0.1900 to 0.4395,
// percentile 0.1775 to 0.4180. Its means are multiples of 0.0005 here.
func TestBCaAgainstSciPy(t *testing.T) {
	v := BCa(skewed, Options{B: 400_000, Seed: 1})
	if math.Abs(v.Low-0.1900) > 0.0011 || math.Abs(v.High-0.4395) > 0.0016 {
		t.Errorf("BCa is %+v, want 0.1900 to 0.4395", v)
	}
	s, _ := newSample(skewed, Options{})
	draws, _ := s.means(Options{B: 400_000, Seed: 1})
	low, high := quantile(draws, 0.025), quantile(draws, 0.975)
	if math.Abs(low-0.1775) > 0.0011 || math.Abs(high-0.4180) > 0.0011 {
		t.Errorf("percentile interval is %v to %v, want 0.1775 to 0.4180", low, high)
	}
}

// SciPy 1.17.1, stats.t.interval(.95, 9, np.mean(a), stats.sem(a)).
func TestStudentTAgainstSciPy(t *testing.T) {
	v := StudentT(systemA, Options{Unit: true})
	if !near(v.Low, 0.22245667075029602, 1e-12) || !near(v.High, 0.7092099959163707, 1e-12) || v.Method != "Student's t" {
		t.Errorf("t interval %+v, want 0.22245667075029602 to 0.7092099959163707", v)
	}
}

func TestForPicksTheMethod(t *testing.T) {
	nan := math.NaN()
	pairs := []string{"a", "a", "b", "b", "c", "c"}
	for _, c := range []struct {
		name   string
		values []float64
		opt    Options
		low    float64
		high   float64
		method string
	}{
		{"binary", []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0}, Options{Binary: true}, 0.64612008885888306, 0.98513490559508299, "Wilson"},
		{"all hits", []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, Options{Binary: true}, 0.75750599334475921, 1, "Wilson"},
		{"no hit", make([]float64, 12), Options{Binary: true}, 0, 0.24249400665524085, "Wilson"},
		{"one query, hit", []float64{1}, Options{Binary: true}, 0.20654931437723745, 1, "Wilson"},
		{"graded, by chance all hits", []float64{1, 1, 1}, Options{}, nan, nan, "none: all 3 values are equal"},
		{"expected values", []float64{0.2, 0.4, 0.6, 0.8}, Options{Binary: true}, 0.3, 0.7, "BCa bootstrap"},
		{"graded", []float64{0.2, 0.4, 0.6, 0.8}, Options{}, 0.3, 0.7, "BCa bootstrap"},
		{"no values", nil, Options{}, nan, nan, "none: no values"},
		{"one value", []float64{0.5}, Options{}, nan, nan, "none: one value"},
		{"one group", []float64{0.5, 0.6}, Options{Groups: []string{"g", "g"}}, nan, nan, "none: one group"},
		{"no spread", []float64{0.5, 0.5, 0.5}, Options{}, nan, nan, "none: all 3 values are equal"},
		{"NaN", []float64{0.5, nan}, Options{}, nan, nan, "none: a value is not finite"},
		{"infinite", []float64{0.5, math.Inf(-1)}, Options{}, nan, nan, "none: a value is not finite"},
		{"groups of binary values", []float64{1, 1, 0, 1, 0, 0}, Options{Groups: pairs, Binary: true}, 0, 1, "BCa bootstrap over 3 groups"},
		{"groups of one", []float64{1, 1, 0, 1, 1, 1}, Options{Groups: make([]string, 6), Binary: true}, 0.43649717781352976, 0.9699466302516933, "Wilson"},
	} {
		v := For(c.values, c.opt)
		if !(near(v.Low, c.low, 1e-7) || math.IsNaN(v.Low) && math.IsNaN(c.low)) ||
			!(near(v.High, c.high, 1e-7) || math.IsNaN(v.High) && math.IsNaN(c.high)) || v.Method != c.method {
			t.Errorf("%s: %+v, want %v to %v, %s", c.name, v, c.low, c.high, c.method)
		}
	}
}

func TestBCaSaysWhenItIsPercentile(t *testing.T) {
	for _, c := range []struct {
		values []float64
		method string
	}{
		{[]float64{0.5, 0.5, 0.5}, "percentile bootstrap (all values are equal)"},
		{[]float64{0.25}, "percentile bootstrap (one value)"},
	} {
		v := BCa(c.values, Options{})
		if v.Low != c.values[0] || v.High != c.values[0] || v.Method != c.method {
			t.Errorf("BCa(%v) = %+v, want %v to itself, %s", c.values, v, c.values[0], c.method)
		}
	}
	// A replicate alone cannot lie on both sides of the mean.
	s, _ := newSample(skewed, Options{})
	if v, ok := s.bcaOf([]float64{0.9}, 0.3); ok || v.Method != "percentile bootstrap (all replicates lie on one side of the mean)" {
		t.Errorf("one-sided replicates give %+v, %v", v, ok)
	}
}

func TestStudentTIsClipped(t *testing.T) {
	v := StudentT([]float64{0, 0, 0.9}, Options{Unit: true})
	if v.Low != 0 || v.High != 1 || v.Method != "Student's t, clipped to [0, 1]" {
		t.Errorf("clipped interval is %+v", v)
	}
	v = StudentT([]float64{0, 0, 0.9}, Options{})
	if !(v.Low < 0) || !(v.High > 1) || v.Method != "Student's t" {
		t.Errorf("free interval is %+v", v)
	}
	v = StudentT([]float64{0.1, 0.2, 0.5, 0.4}, Options{Groups: []string{"a", "a", "b", "b"}, Unit: true})
	if v.Low != 0 || v.High != 1 || v.Method != "Student's t over 2 groups, clipped to [0, 1]" {
		t.Errorf("grouped interval is %+v", v)
	}
}

func TestIntervalJSON(t *testing.T) {
	for _, c := range []struct {
		v    Interval
		want string
	}{
		{Wilson(12, 12), `{"low":0.7575059933447592,"high":1,"method":"Wilson"}`},
		{none("one %s", "value"), `{"low":null,"high":null,"method":"none: one value"}`},
	} {
		b, err := json.Marshal(c.v)
		if err != nil || string(b) != c.want {
			t.Errorf("JSON %s, %v, want %s", b, err, c.want)
		}
		var back Interval
		if err := json.Unmarshal(b, &back); err != nil || back.Known() != c.v.Known() || back.Method != c.v.Method || c.v.Known() && back != c.v {
			t.Errorf("%s is read as %+v, %v", b, back, err)
		}
	}
	var v Interval
	if err := json.Unmarshal([]byte(`{"low":"x"}`), &v); err == nil {
		t.Error("a text as an end passes")
	}
}

// Coverage by simulation, loosely: 500 experiments, so ±3 standard errors are
// ±2.9 points around 95 %.
func TestIntervalsCover(t *testing.T) {
	const experiments = 500
	rng := rand.New(rand.NewPCG(7, 7))
	// Skewed values in [0, 1] with the mean 1/3 of u² and binary ones with p = .8.
	square := func() float64 { u := rng.Float64(); return u * u }
	hit := func() float64 {
		if rng.Float64() < 0.8 {
			return 1
		}
		return 0
	}
	draw := func(n int, f func() float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = f()
		}
		return v
	}
	for _, c := range []struct {
		name     string
		mean     float64
		least    float64
		interval func() Interval
	}{
		{"BCa n=50", 1.0 / 3, 0.91, func() Interval { return BCa(draw(50, square), Options{B: 1000, Seed: rng.Uint64()}) }},
		{"t n=50", 1.0 / 3, 0.91, func() Interval { return StudentT(draw(50, square), Options{Unit: true}) }},
		{"Wilson n=30", 0.8, 0.91, func() Interval { return For(draw(30, hit), Options{Binary: true}) }},
		{"clusters of 4", 1.0 / 3, 0.90, func() Interval {
			// The values of a cluster are the same: 40 clusters, 160 values.
			var values []float64
			var groups []string
			for g, x := range draw(40, square) {
				for range 4 {
					values, groups = append(values, x), append(groups, strconv.Itoa(g))
				}
			}
			return ClusterBCa(values, groups, Options{B: 1000, Seed: rng.Uint64()})
		}},
	} {
		covered := 0
		for range experiments {
			if c.interval().Holds(c.mean) {
				covered++
			}
		}
		if share := float64(covered) / experiments; share < c.least || share > 0.985 {
			t.Errorf("%s: covers the mean in %.3f of the experiments, want about 0.95", c.name, share)
		}
	}
}

func TestIntervalsDoNotDependOnThreads(t *testing.T) {
	values := unitValues(3, 100)
	groups := make([]string, len(values))
	for i := range groups {
		groups[i] = strconv.Itoa(i / 3)
	}
	for _, g := range [][]string{nil, groups} {
		want := BCa(values, Options{Seed: 3, Groups: g, Threads: 1})
		for _, threads := range []int{2, 3, 7, 64} {
			if got := BCa(values, Options{Seed: 3, Groups: g, Threads: threads}); got != want {
				t.Errorf("%d threads give %+v, one gives %+v", threads, got, want)
			}
		}
		if other := BCa(values, Options{Seed: 4, Groups: g}); other == want {
			t.Errorf("another seed gives the same interval %+v", other)
		}
	}
}

// A group of one value each is no group; a whole group doubled is the same sample.
func TestClusterBCaMeetsBCa(t *testing.T) {
	names := make([]string, len(skewed))
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	if a, b := ClusterBCa(skewed, names, Options{}), BCa(skewed, Options{}); a != b {
		t.Errorf("groups of one value give %+v, no groups %+v", a, b)
	}
	twice, both := slices.Concat(skewed, skewed), slices.Concat(names, names)
	a, b := ClusterBCa(twice, both, Options{}), BCa(skewed, Options{})
	if !near(a.Low, b.Low, 1e-12) || !near(a.High, b.High, 1e-12) || a.Method != "BCa bootstrap over 20 groups" {
		t.Errorf("doubled groups give %+v, single values %+v", a, b)
	}
	s, _ := newSample(twice, Options{Groups: both})
	one, _ := newSample(skewed, Options{})
	if !near(s.se, one.se, 1e-12) || !near(s.acceleration(), one.acceleration(), 1e-12) {
		t.Errorf("doubled groups have error %v, acceleration %v, single values %v, %v", s.se, s.acceleration(), one.se, one.acceleration())
	}
}

func TestGatherLeavesEmptyNamesAlone(t *testing.T) {
	sums, count := gather([]float64{1, 2, 3, 4, 5}, []string{"", "a", "", "b", "a"})
	if !slices.Equal(sums, []float64{1, 7, 3, 4}) || !slices.Equal(count, []int64{1, 2, 1, 1}) {
		t.Errorf("groups add up to %v of %v values", sums, count)
	}
}

// The jackknife in closed form against leaving out unit after unit.
func TestAccelerationEqualsJackknife(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for n := 2; n < 40; n++ {
		var values []float64
		var groups []string
		for i := range n {
			for range 1 + rng.IntN(4) {
				values, groups = append(values, rng.ExpFloat64()), append(groups, strconv.Itoa(i))
			}
		}
		s, _ := newSample(values, Options{Groups: groups})
		left := make([]float64, n)
		for g := range left {
			var sum, count float64
			for i, x := range values {
				if groups[i] != strconv.Itoa(g) {
					sum, count = sum+x, count+1
				}
			}
			left[g] = sum / count
		}
		// About the mean of all, not that of the left-out means: what the closed form
		// for a ratio does, and the same thing for single values.
		var squares, cubes float64
		for _, x := range left {
			d := s.mean - x
			squares, cubes = squares+d*d, cubes+d*d*d
		}
		if want := cubes / (6 * math.Pow(squares, 1.5)); !near(s.acceleration(), want, 1e-9) && math.Abs(s.acceleration()-want) > 1e-12 {
			t.Errorf("%d groups: acceleration %v, want %v", n, s.acceleration(), want)
		}
	}
}

func TestMeanAndSD(t *testing.T) {
	if m := Mean([]float64{1e16, 1, -1e16, 1}); m != 0.5 {
		t.Errorf("the mean of values that cancel is %v, want 0.5", m)
	}
	if Mean(nil) != 0 || SD(nil) != 0 || SD([]float64{4}) != 0 {
		t.Error("the mean or deviation of too few values is not 0")
	}
	if sd := SD([]float64{2, 4, 4, 4, 5, 5, 7, 9}); !near(sd, math.Sqrt(32.0/7), 1e-15) {
		t.Errorf("deviation %v, want %v", sd, math.Sqrt(32.0/7))
	}
}

func TestGroupsOfAnotherLengthPanic(t *testing.T) {
	defer func() {
		if got := recover(); got != "stat: 1 groups for 2 values" {
			t.Errorf("panic %v", got)
		}
	}()
	For([]float64{0.1, 0.2}, Options{Groups: []string{"a"}})
}
