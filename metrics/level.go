package metrics

import (
	"math"
	"slices"
)

// levelPlan computes the measures that only ask whether a document is relevant,
// for one level.
type levelPlan struct {
	level float64
	cutPlan
	precise  bool      // some measure asks for sums of precision
	curve    bool      // some measure asks for interpolated precision
	sums     []float64 // scratch: sum of precision before each cut-off
	relevant []int32   // scratch: places of the relevant documents
	highest  []float64 // scratch: highest precision at or behind each of them
}

// judgedBefore counts what stands before a relevant document.
type judgedBefore struct {
	relevant, nonrelevant, unjudged float64
}

func (p *levelPlan) finish(measures []Measure) {
	p.cutPlan.finish(measures)
	p.sums = make([]float64, len(p.cuts))
	for _, o := range p.outputs {
		p.precise = p.precise || o.kind == averagePrecision || o.kind == gmMap
		p.curve = p.curve || o.kind == iprec
	}
}

func (p *levelPlan) score(dst [][]float64, j *Judged, q int) {
	var total int32
	for _, r := range j.judgements(q) {
		if j.grade[r.code] < p.level {
			break
		}
		total += r.count
	}
	at := p.find(j, q)
	p.walk(at)
	if p.curve {
		p.interpolate(at)
	}
	r, depth := float64(total), float64(j.depth[q])
	found := float64(len(at))
	for i := range p.outputs {
		o := &p.outputs[i]
		n := float64(p.counts[o.cut])
		var v float64
		switch o.kind {
		case recall:
			v = share(n, r)
		case recallCap:
			v = share(n, min(r, o.k))
		case precision:
			v = n / o.k
		case reciprocalRank:
			if n > 0 {
				v = 1 / float64(at[0]+1)
			}
		case averagePrecision:
			v = share(p.sums[o.cut], r)
		case gmMap:
			v = math.Log(max(share(p.sums[o.cut], r), leastGeometric))
		case success:
			v = min(n, 1)
		case rPrecision:
			v = share(before(at, total), r)
		case bpref:
			v = p.preference(j, q, r)
		case infAP:
			v = p.inferred(j, q, r)
		case iprec:
			v = p.atRecall(r, o.param)
		case rbp:
			v = rankBiased(at[:p.counts[o.cut]], o.param)
		case setP:
			v = share(found, depth)
		case setR:
			v = share(found, r)
		case setF:
			if found > 0 {
				pr, re := found/depth, found/r
				v = min((o.param+1)*pr*re/(float64(o.param*pr)+re), 1) // rounding
			}
		case numRel:
			v = r
		case numRelRet:
			v = found
		}
		dst[o.index][q] = v
	}
}

// find lists the places of the relevant documents, ascending.
func (p *levelPlan) find(j *Judged, q int) []int32 {
	rank, code := j.hits(q)
	at := p.relevant[:0]
	for i, r := range rank {
		if j.grade[code[i]] >= p.level {
			at = append(at, r)
		}
	}
	p.relevant = at
	return at
}

// walk counts the relevant documents before each cut-off and adds up precision at
// each of them.
func (p *levelPlan) walk(at []int32) {
	i := 0
	var sum float64
	for c, cut := range p.cuts {
		if p.precise {
			for i < len(at) && at[i] < cut {
				i++
				sum += float64(i) / float64(at[i-1]+1)
			}
			p.sums[c] = sum
		} else {
			for i < len(at) && at[i] < cut {
				i++
			}
		}
		p.counts[c] = int32(i)
	}
}

// before is the number of places before cut.
func before(at []int32, cut int32) float64 {
	n := 0
	for n < len(at) && at[n] < cut {
		n++
	}
	return float64(n)
}

// leastGeometric stands for an average precision of 0 in the geometric mean.
const leastGeometric = 1e-5

// preference is bpref: the share, averaged over the relevant documents, of the
// first R judged nonrelevant ones that stand behind each.
func (p *levelPlan) preference(j *Judged, q int, r float64) float64 {
	var nonrelevant float64
	for _, run := range j.judgements(q) {
		if g := j.grade[run.code]; g < p.level && !(g < 0 && j.NegativeUnjudged) {
			nonrelevant += float64(run.count)
		}
	}
	rank, code := j.hits(q)
	var sum float64
	var b judgedBefore
	for i := range rank {
		if b.step(j, code[i], p.level) {
			if b.nonrelevant > 0 {
				sum += 1 - min(b.nonrelevant, r)/min(nonrelevant, r)
			} else {
				sum++
			}
		}
	}
	return share(sum, r)
}

// smoothing keeps the share of relevant documents among none defined; the value is
// trec_eval's.
const smoothing = 1e-5

// inferred is infAP: the precision expected at each relevant document when the
// pool was judged in part.
func (p *levelPlan) inferred(j *Judged, q int, r float64) float64 {
	rank, code := j.hits(q)
	var sum float64
	var b judgedBefore
	for i := range rank {
		if !b.step(j, code[i], p.level) {
			continue
		}
		place := float64(rank[i])
		if place == 0 {
			sum++
			continue
		}
		above := b.relevant - 1
		pooled := (above + b.nonrelevant + b.unjudged) / place
		inPool := (above + smoothing) / (above + b.nonrelevant + 2*smoothing)
		sum += 1/(place+1) + float64(place/(place+1)*pooled*inPool)
	}
	return min(share(sum, r), 1) // rounding
}

// step counts one judged document and says whether it is relevant.
func (b *judgedBefore) step(j *Judged, code int32, level float64) bool {
	switch g := j.grade[code]; {
	case g >= level:
		b.relevant++
		return true
	case g < 0 && j.NegativeUnjudged:
		b.unjudged++
	default:
		b.nonrelevant++
	}
	return false
}

// interpolate finds the highest precision at or behind each relevant document.
func (p *levelPlan) interpolate(at []int32) {
	p.highest = slices.Grow(p.highest[:0], len(at))[:len(at)]
	var best float64
	for i := len(at) - 1; i >= 0; i-- {
		best = max(best, float64(i+1)/float64(at[i]+1))
		p.highest[i] = best
	}
}

// atRecall is the highest precision at or behind the place where this share of the
// relevant documents has been seen. The share becomes a number of documents as in
// trec_eval 9, whose rounding is up from a tenth; version 10 rounds to the nearest.
func (p *levelPlan) atRecall(r, recall float64) float64 {
	need := max(int(float64(recall*r)+.9), 1)
	if need > len(p.highest) {
		return 0
	}
	return p.highest[need-1]
}

// rankBiased is (1−p)·Σ p^place.
func rankBiased(at []int32, p float64) float64 {
	var sum float64
	for _, place := range at {
		sum += math.Pow(p, float64(place))
	}
	return (1 - p) * sum
}
