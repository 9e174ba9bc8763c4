package stat

import (
	"cmp"
	"math"
	"slices"
)

// Holm adjusts the p-values of a family so that the chance of one false rejection
// or more is at most the level they are compared with (Holm, A Simple Sequentially
// Rejective Multiple Test Procedure, 1979): sorted, times m−i+1, running maximum,
// at most 1. The result is in the order of p. NaN stays NaN and is not of the
// family.
func Holm(p []float64) []float64 {
	out, order := family(p)
	running := 0.0
	for i, at := range order {
		running = max(running, min(1, p[at]*float64(len(order)-i)))
		out[at] = running
	}
	return out
}

// BenjaminiHochberg adjusts the p-values of a family so that the expected share of
// false rejections among all is at most the level they are compared with (Benjamini
// and Hochberg, Controlling the False Discovery Rate, 1995): sorted, times m/i,
// running minimum from the largest. The result is in the order of p. NaN stays NaN
// and is not of the family.
func BenjaminiHochberg(p []float64) []float64 {
	out, order := family(p)
	running := 1.0
	for i := len(order) - 1; i >= 0; i-- {
		running = min(running, p[order[i]]*(float64(len(order))/float64(i+1)))
		out[order[i]] = running
	}
	return out
}

// family gives room for the result, NaN where p is, and the places of the others
// by ascending p.
func family(p []float64) (out []float64, order []int) {
	out = slices.Clone(p)
	for i, x := range p {
		if !math.IsNaN(x) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	return out, order
}
