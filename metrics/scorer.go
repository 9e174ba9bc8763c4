package metrics

import (
	"fmt"
	"math"
	"slices"
)

// Scorer scores several measures in one pass over the queries of a block.
// Measures of one level share the walk over the relevant documents, those of one
// gain the sums of gains and of ideal gains, at all their cut-offs. It holds
// scratch memory: one goroutine at a time may use it, and several goroutines with
// a Scorer each may score one block.
type Scorer struct {
	measures []Measure
	counts   []output // of NumQ and NumRet, which need no judgement
	judged   *cutPlan // Judged and unj
	levels   []levelPlan
	gains    []gainPlan
	errs     []output
}

// output is a measure of a plan.
type output struct {
	kind  kind
	index int // of the measure, and of its row in dst
	cut   int // index into the plan's cut-offs
	k     float64
	param float64
}

// uncut stands for no cut-off: no ranking is longer.
const uncut = math.MaxInt32

// cutPlan lists the cut-offs that a group of measures asks for, ascending.
type cutPlan struct {
	cuts    []int32
	outputs []output
	counts  []int32 // scratch: documents before each cut-off
}

// NewScorer prepares the scoring of measures; nil scores nothing. It panics on a
// zero Measure.
func NewScorer(measures []Measure) *Scorer {
	s := &Scorer{measures: slices.Clone(measures)}
	for i, m := range measures {
		o := output{kind: m.kind, index: i, k: float64(m.cut), param: m.param}
		switch {
		case m.kind == noKind:
			panic(fmt.Sprintf("metrics: measure %d is the zero Measure", i))
		case m.kind == numQ || m.kind == numRet:
			s.counts = append(s.counts, o)
		case m.kind == judgedShare || m.kind == unjudgedShare:
			if s.judged == nil {
				s.judged = new(cutPlan)
			}
			s.judged.add(o, m.cut)
		case m.kind == errMeasure:
			if m.cut == 0 {
				o.k = uncut
			}
			s.errs = append(s.errs, o)
		case m.kind == ndcg:
			s.gainPlan(m).add(o, m.cut)
		default:
			s.levelPlan(m.level).add(o, m.cut)
		}
	}
	if s.judged != nil {
		s.judged.finish(s.measures)
	}
	for i := range s.levels {
		s.levels[i].finish(s.measures)
	}
	for i := range s.gains {
		s.gains[i].finish(s.measures)
	}
	return s
}

// Measures gives the measures in the order of the rows of dst; not to be changed.
func (s *Scorer) Measures() []Measure { return s.measures }

func (s *Scorer) levelPlan(level float64) *levelPlan {
	for i := range s.levels {
		if s.levels[i].level == level {
			return &s.levels[i]
		}
	}
	s.levels = append(s.levels, levelPlan{level: level})
	return &s.levels[len(s.levels)-1]
}

func (s *Scorer) gainPlan(m Measure) *gainPlan {
	for i := range s.gains {
		if s.gains[i].exp == m.exp && s.gains[i].custom == m.gains {
			return &s.gains[i]
		}
	}
	s.gains = append(s.gains, newGainPlan(m))
	return &s.gains[len(s.gains)-1]
}

func (p *cutPlan) add(o output, cut int32) {
	if cut == 0 {
		cut = uncut
	}
	if !slices.Contains(p.cuts, cut) {
		p.cuts = append(p.cuts, cut)
	}
	p.outputs = append(p.outputs, o)
}

// finish orders the cut-offs and tells the outputs which is theirs.
func (p *cutPlan) finish(measures []Measure) {
	slices.Sort(p.cuts)
	for i := range p.outputs {
		cut := measures[p.outputs[i].index].cut
		if cut == 0 {
			cut = uncut
		}
		p.outputs[i].cut, _ = slices.BinarySearch(p.cuts, cut)
	}
	p.counts = make([]int32, len(p.cuts))
}

// Score writes the value of measure m for query q of the block into dst[m][q]. It
// panics unless dst has a row for every measure and each row exactly one place a
// query. It allocates nothing once the Scorer has seen such a block.
func (s *Scorer) Score(dst [][]float64, j *Judged) {
	s.ScoreRange(dst, j, 0, j.Queries())
}

// ScoreRange is Score for the queries from ≤ q < to; the other places of dst stay
// as they are. Values do not depend on how the queries are cut into ranges.
func (s *Scorer) ScoreRange(dst [][]float64, j *Judged, from, to int) {
	if len(dst) != len(s.measures) {
		panic(fmt.Sprintf("metrics: %d rows for the scores of %d measures", len(dst), len(s.measures)))
	}
	for _, row := range dst {
		if len(row) != j.Queries() {
			panic(fmt.Sprintf("metrics: %d places for the scores of %d queries", len(row), j.Queries()))
		}
	}
	if from < 0 || to < from || to > j.Queries() {
		panic(fmt.Sprintf("metrics: queries %d to %d of %d", from, to, j.Queries()))
	}
	for i := range s.gains {
		s.gains[i].prepare(j)
	}
	for q := from; q < to; q++ {
		for _, o := range s.counts {
			v := 1.
			if o.kind == numRet {
				v = float64(j.depth[q])
			}
			dst[o.index][q] = v
		}
		if s.judged != nil {
			s.judged.score(dst, j, q)
		}
		for i := range s.levels {
			s.levels[i].score(dst, j, q)
		}
		for i := range s.gains {
			s.gains[i].score(dst, j, q)
		}
		for _, o := range s.errs {
			dst[o.index][q] = expectedReciprocalRank(j, q, int32(o.k))
		}
	}
}

// score computes the shares of judged and of unjudged documents.
func (p *cutPlan) score(dst [][]float64, j *Judged, q int) {
	rank, code := j.hits(q)
	var n int32
	i := 0
	for c, cut := range p.cuts {
		for ; i < len(rank) && rank[i] < cut; i++ {
			if !j.NegativeUnjudged || j.grade[code[i]] >= 0 {
				n++
			}
		}
		p.counts[c] = n
	}
	for _, o := range p.outputs {
		n, ranked := p.counts[o.cut], min(p.cuts[o.cut], j.depth[q])
		if o.kind == judgedShare {
			dst[o.index][q] = share(float64(n), float64(ranked))
		} else {
			dst[o.index][q] = float64(ranked-n) / o.k
		}
	}
}

// share is part/whole, and 0 of nothing.
func share(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole
}
