package metrics

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Level is the lowest grade that counts as relevant in the binary measures unless
// rel= says otherwise. nDCG reads the grades themselves: 0.5 has a gain and is not
// relevant.
const Level = 1

// MaxExpGrade is the highest grade that the gain 2^grade−1 is taken of: tools that
// hold it in 32-bit integers break beyond, and no scale of relevance gets there.
const MaxExpGrade = 31

// MaxERRGrade is the highest grade of ERR, whose chance of stopping at a document
// is (2^grade−1)/2^4, as in TREC's gdeval.
const MaxERRGrade = 4

// Measure turns every query of a block into one number. Get one from Parse; the
// zero Measure has no name and cannot score. Measures compare with ==: equal ones
// give equal values.
type Measure struct {
	kind  kind
	cut   int32   // the first so many ranks; 0 for all
	level float64 // lowest relevant grade; 0 where the measure takes none
	param float64 // p of RBP, beta of SetF, the recall of IPrec
	exp   bool    // nDCG with gain 2^grade−1
	gains string  // nDCG with these gains, as String prints them
}

// String gives the canonical name, in the syntax of ir_measures: the name, then
// parameters that differ from their defaults, then the cut-off. Parse accepts it.
func (m Measure) String() string {
	f := m.family()
	var params []string
	if m.exp {
		params = append(params, "dcg='exp-log2'")
	}
	if m.gains != "" {
		params = append(params, "gains={"+m.gains+"}")
	}
	if f.param != "" && m.param != f.normal {
		params = append(params, f.param+"="+number(m.param))
	}
	if f.level && m.level != Level {
		params = append(params, "rel="+number(m.level))
	}
	s := f.name
	if len(params) > 0 {
		s += "(" + strings.Join(params, ",") + ")"
	}
	switch {
	case f.kind == iprec:
		s += "@" + recallName(m.param)
	case m.cut > 0:
		s += "@" + strconv.Itoa(int(m.cut))
	}
	return s
}

// TrecName gives the name under which trec_eval prints the measure, such as
// "ndcg_cut_10", or "" if it has none. It holds no level: trec_eval has one level
// for a whole run of the program (-l), and does not print it.
func (m Measure) TrecName() string {
	f := m.family()
	switch {
	case m.exp, m.gains != "" && m.cut > 0:
		return ""
	case m.gains != "":
		return "ndcg_" + strings.ReplaceAll(m.gains, ":", "=")
	case f.kind == iprec:
		return fmt.Sprintf("iprec_at_recall_%.2f", m.param)
	case f.kind == setF && m.param != f.normal:
		return "set_F_" + number(m.param)
	case m.cut == 0:
		return f.trec
	case f.trecCut == "":
		return ""
	}
	return f.trecCut + "_" + strconv.Itoa(int(m.cut))
}

// Cut gives the cut-off, 0 where there is none.
func (m Measure) Cut() int { return int(m.cut) }

// Rel gives the lowest relevant grade, 0 for a measure that takes no level.
func (m Measure) Rel() float64 { return m.level }

// Counts says that the values are whole numbers and Aggregate their sum.
func (m Measure) Counts() bool { return m.family().sum }

// Binary says that every value is 0 or 1 by the definition of the measure, whatever
// the judgements: its mean is a share of queries.
func (m Measure) Binary() bool { return m.kind == success }

// Coverage says that the measure tells how much of a ranking was judged, and nothing
// of its quality.
func (m Measure) Coverage() bool { return m.kind == judgedShare || m.kind == unjudgedShare }

// PerQuery says that trec_eval prints the measure for single queries too, and not
// only for all of them.
func (m Measure) PerQuery() bool { return m.kind != numQ && m.kind != gmMap }

// Aggregate gives the figure for all queries: the mean, the sum where Counts says
// so, and for gm_map, whose values are logarithms, the exponential of their mean.
// The mean of no values is NaN.
func (m Measure) Aggregate(values []float64) float64 {
	switch {
	case m.Counts():
		return sum(values)
	case m.kind == gmMap:
		return math.Exp(Mean(values))
	}
	return Mean(values)
}

// Check says whether the measure is defined for a grade. Ask it for every grade of
// the judgements before scoring: Score itself takes a grade beyond the highest one
// for the highest one.
func (m Measure) Check(grade float64) error {
	highest := MaxGrade
	switch {
	case m.kind == errMeasure:
		highest = MaxERRGrade
	case m.exp:
		highest = MaxExpGrade
	}
	if !(grade <= highest) {
		return fmt.Errorf("%s is defined for grades up to %g, and a judgement has %v", m, highest, grade)
	}
	return nil
}

// Score writes the value of query q into dst[q] for every query of j. It panics
// unless dst has exactly one place a query. A Scorer scores several measures
// faster.
func (m Measure) Score(dst []float64, j *Judged) {
	NewScorer([]Measure{m}).Score([][]float64{dst}, j)
}

// Mean is the arithmetic mean of per-query values, added in order with Neumaier's
// compensation, so that it does not depend on how the values were computed. It is
// NaN where there are no values.
func Mean(values []float64) float64 { return sum(values) / float64(len(values)) }

func sum(values []float64) float64 {
	var sum, lost float64
	for _, v := range values {
		t := sum + v
		if math.Abs(sum) >= math.Abs(v) {
			lost += (sum - t) + v
		} else {
			lost += (v - t) + sum
		}
		sum = t
	}
	return sum + lost
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// recallName keeps a point in the number, as ir_measures does: IPrec@0.0.
func recallName(v float64) string {
	s := number(v)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
