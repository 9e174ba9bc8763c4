package bench

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Resamples is the number of bootstrap resamples behind every interval.
const Resamples = 10_000

// bootSeed is fixed so that the same samples always give the same interval.
const bootSeed = 0x512_100_128

// Ratio is a ratio with its bootstrap 95 % interval. N is the number of samples
// of the smaller arm, or of pairs.
type Ratio struct {
	Value float64 `json:"ratio"`
	Low   float64 `json:"ci_low"`
	High  float64 `json:"ci_high"`
	N     int     `json:"n"`
}

// Summarize gives the median of xs with its bootstrap 95 % interval, the
// coefficient of variation (n-1 standard deviation ÷ mean), and the range.
//
// The interval is the percentile bootstrap (Efron and Tibshirani, An Introduction
// to the Bootstrap, 1993, chapter 13) of 10,000 resamples with a fixed seed. Its
// bias-corrected relative, BCa, is not used: its acceleration comes from the
// jackknife, which is inconsistent for a median. No interval that lies within the
// samples covers the median with 95 % below 6 of them (see Coverage), so for 2 to
// 5 samples it is their range, and one sample gives Low = High = Median. N says
// which case it is.
//
// An empty xs, or one with a value that is not finite, gives the zero Estimate.
func Summarize(xs []float64) Estimate {
	if len(xs) == 0 || !finite(xs) {
		return Estimate{}
	}
	s := slices.Sorted(slices.Values(xs))
	e := Estimate{Median: medianSorted(s), Min: s[0], Max: s[len(s)-1], N: len(s), CV: variation(s)}
	if len(s) < minInterval {
		e.Low, e.High = e.Min, e.Max
		return e
	}
	rng := rand.New(rand.NewPCG(bootSeed, uint64(len(s))))
	draws := make([]float64, Resamples)
	d := newMedianDraw(s)
	for i := range draws {
		draws[i] = d.next(rng)
	}
	e.Low, e.High = middle95(draws)
	return e
}

// minInterval is the smallest number of samples whose range covers the median
// with at least 95 %.
const minInterval = 6

// Coverage is the probability that the range of n independent samples holds the
// median they come from, 1-2^(1-n): the most that any interval within the samples
// can claim.
func Coverage(n int) float64 {
	if n < 1 {
		return 0
	}
	return 1 - math.Exp2(float64(1-n))
}

// RatioCI gives median(a) ÷ median(b) of two independent sets of samples with its
// percentile bootstrap 95 % interval, each arm resampled by itself. Below 6
// samples in an arm that arm ranges over all of its samples. An empty arm, a value
// that is not finite or a value of b that is not positive gives the zero Ratio.
func RatioCI(a, b []float64) Ratio {
	if len(a) == 0 || len(b) == 0 || !finite(a) || !finite(b) || slices.Min(b) <= 0 {
		return Ratio{}
	}
	sa, sb := slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	r := Ratio{Value: medianSorted(sa) / medianSorted(sb), N: min(len(a), len(b))}
	if r.N < minInterval {
		ea, eb := Summarize(a), Summarize(b)
		r.Low, r.High = ea.Low/eb.High, ea.High/eb.Low
		return r
	}
	rng := rand.New(rand.NewPCG(bootSeed, uint64(len(sa))<<32|uint64(len(sb))))
	da, db := newMedianDraw(sa), newMedianDraw(sb)
	draws := make([]float64, Resamples)
	for i := range draws {
		draws[i] = da.next(rng) / db.next(rng)
	}
	r.Low, r.High = middle95(draws)
	return r
}

// PairedRatio gives the median of a[i] ÷ b[i] over the pairs of an interleaved
// (ABBA) run with its percentile bootstrap 95 % interval, pairs resampled whole:
// what both arms of a pair share, such as a slow minute of the machine, cancels.
// It works on logarithms, so that swapping the arms gives the reciprocal. Arms of
// different length, an empty arm, or a value that is not positive and finite gives
// the zero Ratio.
func PairedRatio(a, b []float64) Ratio {
	if len(a) == 0 || len(a) != len(b) || !finite(a) || !finite(b) || slices.Min(a) <= 0 || slices.Min(b) <= 0 {
		return Ratio{}
	}
	logs := make([]float64, len(a))
	for i := range a {
		logs[i] = math.Log(a[i]) - math.Log(b[i])
	}
	e := Summarize(logs)
	return Ratio{Value: math.Exp(e.Median), Low: math.Exp(e.Low), High: math.Exp(e.High), N: e.N}
}

// medianDraw draws the median of a bootstrap resample without making the
// resample: the middle order statistics of n uniform draws have a known law, a
// Beta variable and, above it, the smallest of the draws that are left. A draw
// costs the same for 10 samples and for 10,000, so a stream of many samples can
// be summarized after each of them. resampleMedian is its plain twin.
type medianDraw struct {
	sorted []float64
	lower  float64 // draws up to and including the lower middle one
	upper  float64 // draws above it
}

func newMedianDraw(sorted []float64) medianDraw {
	n := len(sorted)
	k := (n + 1) / 2
	return medianDraw{sorted: sorted, lower: float64(k), upper: float64(n - k)}
}

func (d medianDraw) next(rng *rand.Rand) float64 {
	// U(k) of n uniforms is Beta(k, n-k+1), a ratio of Gamma variables.
	x, y := gamma(rng, d.lower), gamma(rng, d.upper+1)
	u := x / (x + y)
	mid := d.at(u)
	if len(d.sorted)%2 == 1 {
		return mid
	}
	above := u + (1-u)*(1-math.Pow(1-rng.Float64(), 1/d.upper))
	return halfway(mid, d.at(above))
}

// at gives the sample that a uniform draw u picks.
func (d medianDraw) at(u float64) float64 {
	return d.sorted[min(int(u*float64(len(d.sorted))), len(d.sorted)-1)]
}

// resampleMedian is the definition of a bootstrap draw: as many samples with
// replacement, sorted, their median. buf has the length of xs.
func resampleMedian(rng *rand.Rand, xs, buf []float64) float64 {
	for i := range buf {
		buf[i] = xs[rng.IntN(len(xs))]
	}
	slices.Sort(buf)
	return medianSorted(buf)
}

// gamma draws from a Gamma distribution of the given shape (at least 1) and scale
// 1 (Marsaglia and Tsang, A Simple Method for Generating Gamma Variables, 2000).
func gamma(rng *rand.Rand, shape float64) float64 {
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := rng.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-rng.Float64()) < 0.5*x*x+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

// middle95 gives the 2.5th and the 97.5th percentile of draws, which it sorts.
func middle95(draws []float64) (low, high float64) {
	slices.Sort(draws)
	cut := len(draws) / 40
	return draws[cut], draws[len(draws)-1-cut]
}

// Median gives the median of xs, the mean of the two middle values for an even
// number, or 0 for none.
func Median(xs []float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	return medianSorted(slices.Sorted(slices.Values(xs)))
}

func medianSorted(s []float64) float64 {
	n := len(s)
	if n%2 == 1 {
		return s[n/2]
	}
	return halfway(s[n/2-1], s[n/2])
}

// halfway halves first: the sum of two large values must not overflow.
func halfway(a, b float64) float64 { return a/2 + b/2 }

// variation is the n-1 standard deviation over the mean; 0 for one value or a
// mean of 0.
func variation(xs []float64) float64 {
	n := float64(len(xs))
	var sum float64
	for _, x := range xs {
		sum += x / n
	}
	if len(xs) < 2 || sum == 0 {
		return 0
	}
	var squares float64
	for _, x := range xs {
		d := x/sum - 1
		// Rounded before it is added: fused or not, every machine gives the same.
		squares += float64(d * d)
	}
	return math.Sqrt(squares / (n - 1))
}

func finite(xs []float64) bool {
	for _, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}

// Drift compares the end of a run with its start: median of the last third ÷
// median of the first third - 1, in the order the samples were taken. Fewer than
// 6 samples, or a first third of median 0, have no drift: 0.
func Drift(xs []float64) float64 {
	third := len(xs) / 3
	if third < 2 || !finite(xs) {
		return 0
	}
	first := Median(xs[:third])
	if first == 0 {
		return 0
	}
	return Median(xs[len(xs)-third:])/first - 1
}

// outlierScore is the modified z-score from which a sample is flagged (Iglewicz
// and Hoaglin, How to Detect and Handle Outliers, 1993).
const outlierScore = 3.5

// Outliers gives the positions of samples whose modified z-score, 0.6745 × distance
// from the median ÷ median absolute deviation, is above 3.5. They are flagged,
// never dropped. When more than half of the samples are equal the mean absolute
// deviation stands in (0.7979 × distance ÷ it). Fewer than 5 samples have none.
func Outliers(xs []float64) []int {
	if len(xs) < 5 || !finite(xs) {
		return nil
	}
	center := Median(xs)
	dev := make([]float64, len(xs))
	var mean float64
	for i, x := range xs {
		dev[i] = math.Abs(x - center)
		mean += dev[i] / float64(len(xs))
	}
	unit := Median(dev) / 0.6745
	if unit == 0 {
		unit = mean / 0.7979
	}
	if unit == 0 {
		return nil
	}
	var out []int
	for i, d := range dev {
		if d/unit > outlierScore {
			out = append(out, i)
		}
	}
	return out
}
