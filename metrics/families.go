package metrics

import (
	"math"
	"sort"
)

// family is a measure without its cut-off.
type family struct {
	name  string
	uncut bool // may stand without @k
	// worth is what a judged document of this grade adds; an unjudged one adds 0.
	worth func(grade float64) float64
	score func(r ranking) float64
}

// Note: worth is a function of the grade and not a branch in the loops, so each
// measure reads one table of a few entries per ranked document. A further gain
// (2^g−1) or relevance level is a further worth, not a further loop.
var families = []family{
	{"nDCG", true, gain, ndcg},
	{"R", false, relevant, recall},
	{"P", false, relevant, precision},
	{"RR", true, relevant, reciprocalRank},
	{"AP", true, relevant, averagePrecision},
	{"Success", false, relevant, success},
	{"Judged", false, judged, judgedShare},
}

func gain(grade float64) float64 { return max(grade, 0) }

func relevant(grade float64) float64 {
	if grade >= Level {
		return 1
	}
	return 0
}

func judged(float64) float64 { return 1 }

// ranking is one query as a family sees it.
type ranking struct {
	top   []int32   // codes of the ranks up to k
	value []float64 // worth by code+1; entry 0 is Unjudged
	ideal []float64 // positive grades of the judgements, best first
	k     int
}

func (r ranking) worth(code int32) float64 { return r.value[code+1] }

// sum adds the worth of the ranks up to k.
func (r ranking) sum() float64 {
	var sum float64
	for _, code := range r.top {
		sum += r.worth(code)
	}
	return sum
}

// relevant is the number of relevant judgements, retrieved or not.
func (r ranking) relevant() float64 {
	return float64(sort.Search(len(r.ideal), func(i int) bool { return r.ideal[i] < Level }))
}

func ndcg(r ranking) float64 {
	var got, ideal float64
	for i, code := range r.top {
		got += r.worth(code) / discount(i+1)
	}
	for i, g := range r.ideal[:min(r.k, len(r.ideal))] {
		ideal += g / discount(i+1)
	}
	// Rounding can lift a swap of nearly equal grades past the ideal.
	return min(share(got, ideal), 1)
}

func recall(r ranking) float64 { return share(r.sum(), r.relevant()) }

func precision(r ranking) float64 { return r.sum() / float64(r.k) }

func reciprocalRank(r ranking) float64 {
	for i, code := range r.top {
		if r.worth(code) > 0 {
			return 1 / float64(i+1)
		}
	}
	return 0
}

func averagePrecision(r ranking) float64 {
	var hits, sum float64
	for i, code := range r.top {
		if r.worth(code) > 0 {
			hits++
			sum += hits / float64(i+1)
		}
	}
	return share(sum, r.relevant())
}

func success(r ranking) float64 { return min(r.sum(), 1) }

func judgedShare(r ranking) float64 { return share(r.sum(), float64(len(r.top))) }

// share is part/whole, and 0 of nothing.
func share(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole
}

// discount is log2(rank+1). Ranks beyond the table are rare enough to compute.
func discount(rank int) float64 {
	if rank < len(discounts) {
		return discounts[rank]
	}
	return math.Log2(float64(rank + 1))
}

var discounts = func() (d [1025]float64) {
	for rank := range d {
		d[rank] = math.Log2(float64(rank + 1))
	}
	return d
}()
