package stat

import (
	"fmt"
	"math"
	"math/bits"
)

// sample is values ready to be resampled: one unit a query, or one a group.
type sample struct {
	n     int       // values
	mean  float64   // of the values
	sums  []float64 // of each unit
	count []int64   // values of each unit; nil where each unit is one value
	se    float64   // standard error of the mean, between units; 0 below 2 units
	size  float64   // of what the values were computed from: rounding is relative to it
	fixed []int64   // sums in fixed point
	shift int       // fixed = sums · 2^shift, rounded
}

// newSample groups and scales values; reason says why nothing can be said.
func newSample(values []float64, opt Options) (s *sample, reason string) {
	if opt.Groups != nil && len(opt.Groups) != len(values) {
		panic(fmt.Sprintf("stat: %d groups for %d values", len(opt.Groups), len(values)))
	}
	if len(values) == 0 {
		return nil, "no values"
	}
	for _, x := range values {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, "a value is not finite"
		}
	}
	s = &sample{n: len(values), mean: Mean(values)}
	s.sums, s.count = gather(values, opt.Groups)
	s.se = s.standardError()
	s.scale(largest(values))
	return s, ""
}

// scale puts the sums in fixed point for values of the given size.
func (s *sample) scale(size float64) {
	s.size = size
	s.fixed, s.shift = fixedPoint(s.sums, size)
}

func largest(values []float64) (size float64) {
	for _, x := range values {
		size = max(size, math.Abs(x))
	}
	return size
}

// gather adds the values of each group, in order of first appearance. count is nil
// where no group has two values.
func gather(values []float64, groups []string) (sums []float64, count []int64) {
	of := make(map[string]int)
	shared := false
	for _, g := range groups {
		if _, seen := of[g]; seen && g != "" {
			shared = true
			break
		}
		of[g] = 0
	}
	if !shared {
		return values, nil
	}
	clear(of)
	for i, x := range values {
		u, seen := of[groups[i]]
		if !seen || groups[i] == "" {
			u = len(sums)
			of[groups[i]] = u
			sums, count = append(sums, 0), append(count, 0)
		}
		sums[u] += x
		count[u]++
	}
	return sums, count
}

// units is the number of independent units, single whether each is one value.
func (s *sample) units() int   { return len(s.sums) }
func (s *sample) single() bool { return s.count == nil }

func (s *sample) unitName(n int) string {
	name := "value"
	if !s.single() {
		name = "group"
	}
	if n != 1 {
		name += "s"
	}
	return name
}

// deviation is a unit's part in the deviation from the mean.
func (s *sample) deviation(u int) float64 {
	if s.count == nil {
		return s.sums[u] - s.mean
	}
	return s.sums[u] - s.mean*float64(s.count[u])
}

// standardError is s/√n for single values; with groups the linearised error of a
// ratio of totals (Cochran, Sampling Techniques, 1977, 6.4), the same thing where
// every group has one value.
func (s *sample) standardError() float64 {
	g := float64(s.units())
	if g < 2 {
		return 0
	}
	var squares float64
	for u := range s.sums {
		d := s.deviation(u)
		squares += float64(d * d)
	}
	return math.Sqrt(squares*g/(g-1)) / float64(s.n)
}

// flat says that no spread is seen beyond rounding.
func (s *sample) flat() bool {
	return s.se*float64(s.n) <= 1e-13*s.size*math.Sqrt(float64(s.units()))
}

// fixedPoint scales sums by a power of two: the largest with which no resample of
// them can leave 62 bits, and the unit is not below the rounding of values of the
// given size.
func fixedPoint(sums []float64, size float64) (fixed []int64, shift int) {
	_, e := math.Frexp(largest(sums))
	_, se := math.Frexp(size)
	shift = min(62-e-bits.Len(uint(len(sums))), 51-se)
	fixed = make([]int64, len(sums))
	for i, x := range sums {
		fixed[i] = int64(math.RoundToEven(math.Ldexp(x, shift)))
	}
	return fixed, shift
}

// Mean is the mean of values, added in order with Neumaier's compensation; 0 for
// none.
func Mean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	var sum, lost float64
	for _, x := range values {
		t := sum + x
		if math.Abs(sum) >= math.Abs(x) {
			lost += (sum - t) + x
		} else {
			lost += (x - t) + sum
		}
		sum = t
	}
	return (sum + lost) / float64(len(values))
}

// SD is the n-1 standard deviation; 0 for fewer than two values.
func SD(values []float64) float64 {
	if len(values) < 2 {
		return 0
	}
	m := Mean(values)
	var squares float64
	for _, x := range values {
		d := x - m
		// Rounded before it is added: fused or not, every machine gives the same.
		squares += float64(d * d)
	}
	return math.Sqrt(squares / float64(len(values)-1))
}
