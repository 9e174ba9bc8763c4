package stat

import (
	"fmt"
	"math"
	"slices"
)

// BCa is the bias-corrected and accelerated bootstrap interval of the mean (Efron,
// Better Bootstrap Confidence Intervals, 1987): values drawn with replacement, z0
// from the share of replicates below the mean (half of the equal ones), the
// acceleration from the jackknife, which for a mean is Σd³ / (6 (Σd²)^1.5). With
// Options.Groups whole groups are drawn, as [ClusterBCa] does. Where all values
// are equal or z0 is infinite it is the percentile interval, and Method says so.
func BCa(values []float64, opt Options) Interval {
	s, reason := newSample(values, opt)
	if reason != "" {
		return none("%s", reason)
	}
	v, _ := s.bca(opt)
	return v
}

// ClusterBCa is BCa with groups drawn whole: the mean of a replicate is its total
// over its number of values, and the jackknife leaves out a group at a time.
// groups gives each value's group; "" is one of its own.
func ClusterBCa(values []float64, groups []string, opt Options) Interval {
	opt.Groups = groups
	return BCa(values, opt)
}

// means draws the replicates and gives their means, sorted, and the mean of the
// sample as they reckon it.
func (s *sample) means(opt Options) (draws []float64, center float64) {
	b := opt.replicates()
	sums := make([]int64, b)
	var counts []int64
	if s.count != nil {
		counts = make([]int64, b)
	}
	drawSums(s.fixed, s.count, opt.Seed, opt.threads(), sums, counts)
	mean := func(sum, n int64) float64 { return math.Ldexp(float64(sum)/float64(n), -s.shift) }
	draws = make([]float64, b)
	for r, sum := range sums {
		n := int64(s.n)
		if counts != nil {
			n = counts[r]
		}
		draws[r] = mean(sum, n)
	}
	slices.Sort(draws)
	var total int64
	for _, x := range s.fixed {
		total += x
	}
	return draws, mean(total, int64(s.n))
}

// bca gives the BCa interval, or the percentile interval and false.
func (s *sample) bca(opt Options) (Interval, bool) {
	draws, center := s.means(opt)
	return s.bcaOf(draws, center)
}

func (s *sample) bcaOf(draws []float64, center float64) (Interval, bool) {
	method := "BCa bootstrap"
	if !s.single() {
		method = fmt.Sprintf("BCa bootstrap over %d groups", s.units())
	}
	below, _ := slices.BinarySearch(draws, center)
	upto, _ := slices.BinarySearch(draws, math.Nextafter(center, math.Inf(1)))
	z0 := NormalQuantile((float64(below) + float64(upto)) / 2 / float64(len(draws)))
	a := s.acceleration()
	reason := ""
	switch {
	case s.units() < 2:
		reason = "one " + s.unitName(1)
	case s.flat():
		reason = "all values are equal"
	case math.IsInf(z0, 0):
		reason = "all replicates lie on one side of the mean"
	}
	at := func(z float64) float64 {
		t := 1 - a*(z0+z)
		if t <= 0 {
			reason = "the acceleration is out of range"
		}
		return Normal(z0 + (z0+z)/t)
	}
	low, high := at(-z975), at(z975)
	if reason != "" {
		return Interval{quantile(draws, 0.025), quantile(draws, 0.975), "percentile bootstrap (" + reason + ")"}, false
	}
	return Interval{quantile(draws, low), quantile(draws, high), method}, true
}

// acceleration is the jackknife's: leaving out unit u moves the mean by d.
func (s *sample) acceleration() float64 {
	var squares, cubes float64
	for u := range s.sums {
		d := s.deviation(u) / s.size // whose powers no scale can take out of range
		if s.count != nil {
			d /= float64(int64(s.n) - s.count[u])
		}
		squares += float64(d * d)
		cubes += float64(d * d * d)
	}
	if !(squares > 0) {
		return 0
	}
	return cubes / (6 * squares * math.Sqrt(squares))
}

// quantile is that of sorted values with linear interpolation between the two
// around (len-1)·p, the usual definition (Hyndman and Fan's type 7).
func quantile(sorted []float64, p float64) float64 {
	at := float64(len(sorted)-1) * p
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
