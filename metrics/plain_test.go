package metrics

import (
	"math"
	"slices"
)

// plainQuery is one query on document names, with the parameters of a measure.
type plainQuery struct {
	ranked   []string
	grades   map[string]float64
	cut      int // 0: none
	level    float64
	param    float64
	gains    map[float64]float64
	exp      bool
	unjudged bool // negative grades are
}

// plain is the definition of every measure: no columns, no codes, no tables, every
// rank visited.
var plain = map[string]func(q plainQuery) float64{
	"nDCG": func(q plainQuery) float64 {
		var best []float64
		for _, g := range q.grades {
			best = append(best, q.gain(g))
		}
		slices.Sort(best)
		slices.Reverse(best)
		var ideal, got float64
		for i := range upTo(q.cut, len(best)) {
			ideal += best[i] / math.Log2(float64(i)+2)
		}
		for i, d := range q.top(q.cut) {
			if g, ok := q.grades[d]; ok {
				got += q.gain(g) / math.Log2(float64(i)+2)
			}
		}
		return over(got, ideal)
	},
	"R":         func(q plainQuery) float64 { return over(q.hits(q.cut), q.relevant()) },
	"R_cap":     func(q plainQuery) float64 { return over(q.hits(q.cut), min(q.relevant(), float64(q.cut))) },
	"P":         func(q plainQuery) float64 { return q.hits(q.cut) / float64(q.cut) },
	"AP":        averageOf,
	"gm_map":    func(q plainQuery) float64 { return math.Log(max(averageOf(q), .00001)) },
	"Rprec":     func(q plainQuery) float64 { return over(q.hits(max(1, int(q.relevant()))), q.relevant()) },
	"SetP":      func(q plainQuery) float64 { return over(q.hits(0), float64(len(q.ranked))) },
	"SetR":      func(q plainQuery) float64 { return over(q.hits(0), q.relevant()) },
	"NumQ":      func(plainQuery) float64 { return 1 },
	"NumRet":    func(q plainQuery) float64 { return float64(len(q.ranked)) },
	"NumRel":    func(q plainQuery) float64 { return q.relevant() },
	"NumRelRet": func(q plainQuery) float64 { return q.hits(0) },
	"RR": func(q plainQuery) float64 {
		for i, d := range q.top(q.cut) {
			if q.isRelevant(d) {
				return 1 / float64(i+1)
			}
		}
		return 0
	},
	"Success": func(q plainQuery) float64 {
		if q.hits(q.cut) > 0 {
			return 1
		}
		return 0
	},
	"SetF": func(q plainQuery) float64 {
		p, r := over(q.hits(0), float64(len(q.ranked))), over(q.hits(0), q.relevant())
		return over((1+q.param)*p*r, q.param*p+r)
	},
	"IPrec": func(q plainQuery) (best float64) {
		for i := 1; i <= len(q.ranked); i++ {
			seen := q.hits(i)
			if seen > 0 && seen >= math.Floor(float64(q.param*q.relevant())+.9) {
				best = max(best, seen/float64(i))
			}
		}
		return best
	},
	"Bpref": func(q plainQuery) float64 {
		r, n := q.relevant(), q.nonrelevantOf(nil)
		var sum, above float64
		for _, d := range q.ranked {
			switch {
			case q.isRelevant(d) && above == 0:
				sum++
			case q.isRelevant(d):
				sum += 1 - min(above, r)/min(n, r)
			case q.isNonrelevant(d):
				above++
			}
		}
		return over(sum, r)
	},
	"infAP": func(q plainQuery) float64 {
		const epsilon = .00001
		var sum float64
		for i, d := range q.ranked {
			if !q.isRelevant(d) {
				continue
			}
			if i == 0 {
				sum++
				continue
			}
			rel, non := q.hits(i), q.nonrelevantOf(q.ranked[:i])
			var pool float64
			for _, d := range q.ranked[:i] {
				if _, ok := q.grades[d]; ok {
					pool++
				}
			}
			n := float64(i + 1)
			sum += 1/n + (n-1)/n*(pool/(n-1))*((rel+epsilon)/(rel+non+2*epsilon))
		}
		return over(sum, q.relevant())
	},
	"ERR": func(q plainQuery) float64 {
		sum, reach := 0., 1.
		for i, d := range q.top(q.cut) {
			stop := (math.Pow(2, min(4, max(0, q.grades[d]))) - 1) / 16
			sum += reach * stop / float64(i+1)
			reach *= 1 - stop
		}
		return sum
	},
	"RBP": func(q plainQuery) float64 {
		sum, reach := 0., 1.
		for _, d := range q.top(q.cut) {
			if q.isRelevant(d) {
				sum += reach * (1 - q.param)
			}
			reach *= q.param
		}
		return sum
	},
	"Judged": func(q plainQuery) float64 { return over(q.judged(q.cut), float64(upTo(q.cut, len(q.ranked)))) },
	"unj": func(q plainQuery) float64 {
		return (float64(upTo(q.cut, len(q.ranked))) - q.judged(q.cut)) / float64(q.cut)
	},
}

func averageOf(q plainQuery) float64 {
	var sum float64
	for i, d := range q.top(q.cut) {
		if q.isRelevant(d) {
			sum += q.hits(i+1) / float64(i+1)
		}
	}
	return over(sum, q.relevant())
}

func over(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole
}

func upTo(cut, n int) int {
	if cut == 0 {
		return n
	}
	return min(cut, n)
}

func (q plainQuery) top(cut int) []string { return q.ranked[:upTo(cut, len(q.ranked))] }

func (q plainQuery) gain(grade float64) float64 {
	if g, ok := q.gains[grade]; ok {
		return g
	}
	if q.exp {
		return math.Pow(2, max(0, grade)) - 1
	}
	return max(0, grade)
}

func (q plainQuery) isRelevant(doc string) bool {
	g, ok := q.grades[doc]
	return ok && g >= q.level
}

func (q plainQuery) isNonrelevant(doc string) bool {
	g, ok := q.grades[doc]
	return ok && g < q.level && !(q.unjudged && g < 0)
}

// nonrelevantOf counts among some documents, nil for all judged ones.
func (q plainQuery) nonrelevantOf(docs []string) (n float64) {
	if docs == nil {
		for d := range q.grades {
			docs = append(docs, d)
		}
	}
	for _, d := range docs {
		if q.isNonrelevant(d) {
			n++
		}
	}
	return n
}

func (q plainQuery) judged(cut int) (n float64) {
	for _, d := range q.top(cut) {
		if g, ok := q.grades[d]; ok && !(q.unjudged && g < 0) {
			n++
		}
	}
	return n
}

func (q plainQuery) hits(cut int) (n float64) {
	for _, d := range q.top(cut) {
		if q.isRelevant(d) {
			n++
		}
	}
	return n
}

func (q plainQuery) relevant() (n float64) {
	for _, g := range q.grades {
		if g >= q.level {
			n++
		}
	}
	return n
}
