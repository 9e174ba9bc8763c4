package metrics

import (
	"math"
	"slices"
)

// gainPlan computes nDCG at several cut-offs for one gain.
type gainPlan struct {
	exp    bool
	custom string
	table  gainTable // of custom
	cutPlan
	gain  []float64 // by code, for the block at hand
	sums  []float64 // scratch: discounted gains before each cut-off
	ideal []run     // scratch: the judgements in order of custom gains
}

func newGainPlan(m Measure) gainPlan {
	p := gainPlan{exp: m.exp, custom: m.gains}
	if m.gains != "" {
		table, err := parseGains("{" + m.gains + "}")
		if err != nil {
			panic("metrics: " + err.Error()) // Parse has read it before
		}
		p.table = table
	}
	return p
}

func (p *gainPlan) finish(measures []Measure) {
	p.cutPlan.finish(measures)
	p.sums = make([]float64, len(p.cuts))
}

// prepare looks up the gains of the block's grades.
func (p *gainPlan) prepare(j *Judged) {
	switch {
	case p.table != nil:
		p.gain = p.gain[:0]
		for _, g := range j.grade {
			p.gain = append(p.gain, p.table.gain(g))
		}
	case p.exp:
		p.gain = j.exp
	default:
		p.gain = j.linear
	}
}

func (p *gainPlan) score(dst [][]float64, j *Judged, q int) {
	rank, code := j.hits(q)
	i := 0
	var sum float64
	for c, cut := range p.cuts {
		for ; i < len(rank) && rank[i] < cut; i++ {
			sum += float64(p.gain[code[i]] * weight(rank[i]))
		}
		p.sums[c] = sum
	}
	p.divide(p.order(j.judgements(q)))
	for _, o := range p.outputs {
		dst[o.index][q] = p.sums[o.cut]
	}
}

// order puts judgements in the order of their gains. That is the order of their
// grades, unless somebody has written another.
func (p *gainPlan) order(runs []run) []run {
	if p.table == nil {
		return runs
	}
	p.ideal = append(p.ideal[:0], runs...)
	slices.SortStableFunc(p.ideal, func(a, b run) int {
		switch ga, gb := p.gain[a.code], p.gain[b.code]; {
		case ga > gb:
			return -1
		case ga < gb:
			return 1
		}
		return 0
	})
	return p.ideal
}

// divide turns the sums into shares of the ideal ones: the same judgements, best
// first, up to the same cut-off. Both are added in the same order, so that a
// perfect ranking gives exactly 1.
func (p *gainPlan) divide(runs []run) {
	var sum float64
	place, r, left := int32(0), 0, int32(0)
	if len(runs) > 0 {
		left = runs[0].count
	}
	for c, cut := range p.cuts {
		for r < len(runs) {
			gain := p.gain[runs[r].code]
			if gain <= 0 {
				r = len(runs)
				break
			}
			n := min(left, cut-place)
			for end := place + n; place < end; place++ {
				sum += float64(gain * weight(place))
			}
			if left -= n; left > 0 {
				break
			}
			if r++; r < len(runs) {
				left = runs[r].count
			}
		}
		// Rounding can lift a swap of nearly equal grades past the ideal.
		p.sums[c] = min(share(p.sums[c], sum), 1)
	}
}

// expectedReciprocalRank is ERR: a reader stops at a document of grade g with the
// chance (2^g−1)/2^4, at the latest at cut.
func expectedReciprocalRank(j *Judged, q int, cut int32) float64 {
	rank, code := j.hits(q)
	var sum float64
	reach := 1.
	for i := 0; i < len(rank) && rank[i] < cut; i++ {
		stop := j.exp[code[i]] / (1 << MaxERRGrade)
		stop = min(stop, 1-1./(1<<MaxERRGrade))
		sum += float64(stop * reach / float64(rank[i]+1))
		reach *= 1 - stop
	}
	return sum
}

// weight is 1/log2(place+2). Places beyond the table are rare enough to compute.
func weight(place int32) float64 {
	if int(place) < len(weights) {
		return weights[place]
	}
	return 1 / math.Log2(float64(place)+2)
}

var weights = func() (w [1024]float64) {
	for place := range w {
		w[place] = 1 / math.Log2(float64(place)+2)
	}
	return
}()
