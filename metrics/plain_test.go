package metrics

import (
	"math"
	"slices"
)

// plain is the definition of every measure, on one query and on document names:
// no columns, no codes, no tables. cut 0 means none.
var plain = map[string]func(ranked []string, grades map[string]float64, cut int) float64{
	"nDCG": func(ranked []string, grades map[string]float64, cut int) float64 {
		var best []float64
		for _, g := range grades {
			best = append(best, g)
		}
		slices.Sort(best)
		slices.Reverse(best)
		dcg := func(gain func(i int) float64, n int) (sum float64) {
			for i := range n {
				sum += max(0, gain(i)) / math.Log2(float64(i)+2)
			}
			return sum
		}
		ideal := dcg(func(i int) float64 { return best[i] }, upTo(cut, len(best)))
		if ideal == 0 {
			return 0
		}
		return dcg(func(i int) float64 { return grades[ranked[i]] }, upTo(cut, len(ranked))) / ideal
	},
	"R": func(ranked []string, grades map[string]float64, cut int) float64 {
		if relevantOf(grades) == 0 {
			return 0
		}
		return hits(ranked, grades, cut) / relevantOf(grades)
	},
	"P": func(ranked []string, grades map[string]float64, cut int) float64 {
		return hits(ranked, grades, cut) / float64(cut)
	},
	"RR": func(ranked []string, grades map[string]float64, cut int) float64 {
		for i := range upTo(cut, len(ranked)) {
			if grades[ranked[i]] >= 1 {
				return 1 / float64(i+1)
			}
		}
		return 0
	},
	"AP": func(ranked []string, grades map[string]float64, cut int) float64 {
		if relevantOf(grades) == 0 {
			return 0
		}
		var sum float64
		for i := range upTo(cut, len(ranked)) {
			if grades[ranked[i]] >= 1 {
				sum += hits(ranked, grades, i+1) / float64(i+1)
			}
		}
		return sum / relevantOf(grades)
	},
	"Success": func(ranked []string, grades map[string]float64, cut int) float64 {
		if hits(ranked, grades, cut) > 0 {
			return 1
		}
		return 0
	},
	"Judged": func(ranked []string, grades map[string]float64, cut int) float64 {
		n := upTo(cut, len(ranked))
		if n == 0 {
			return 0
		}
		known := 0
		for _, d := range ranked[:n] {
			if _, ok := grades[d]; ok {
				known++
			}
		}
		return float64(known) / float64(n)
	},
}

func upTo(cut, n int) int {
	if cut == 0 {
		return n
	}
	return min(cut, n)
}

func hits(ranked []string, grades map[string]float64, cut int) (n float64) {
	for _, d := range ranked[:upTo(cut, len(ranked))] {
		if grades[d] >= 1 {
			n++
		}
	}
	return n
}

func relevantOf(grades map[string]float64) (n float64) {
	for _, g := range grades {
		if g >= 1 {
			n++
		}
	}
	return n
}
