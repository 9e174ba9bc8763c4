package metrics

import (
	"fmt"
	"math"
	"slices"
)

// Unjudged marks a ranked document without a judgement, in a ranking given to
// Append.
const Unjudged = -1

// MaxGrade bounds the size of a grade, so that no sum of gains can overflow.
const MaxGrade = 1e15

// Judged is a block of queries whose rankings have been looked up in the
// judgements. Of a ranking it keeps the length and the judged documents only: a
// thousand ranked documents hold a few judged ones, and no measure asks for more.
// The zero value is an empty block. Fill it with Append or AppendSparse; scoring
// only reads, so that several goroutines may score one block.
type Judged struct {
	// NegativeUnjudged reads a negative grade as trec_eval does: the document was
	// in the pool and nobody judged it. Otherwise it is judged and not relevant.
	// Bpref, infAP, Judged and unj tell the two apart; set it at any time before
	// scoring.
	NegativeUnjudged bool

	depth []int32 // length of each ranking

	// The judged documents that were ranked: those of query q lie from off[q].
	off  []int
	rank []int32 // place in the ranking, from 0, ascending
	code []int32 // code of the grade

	// All judgements of query q, ranked or not, counted by grade, the best grade
	// first: from runOff[q].
	runOff []int
	runs   []run

	// By code. The codes of whole grades of common size are fixed; others are
	// given out as they come.
	grade  []float64
	linear []float64 // gain of nDCG
	exp    []float64 // gain of nDCG(dcg='exp-log2') and of ERR
	codes  map[float64]int32

	// Scratch of one Append.
	count   []int32 // judgements by code
	touched []int32 // codes whose count is not 0
	codeOf  []int32 // code by judgement; ^code once it was ranked
	places  []int32
	which   []int32
}

// run is a number of judgements that share a grade.
type run struct{ code, count int32 }

// Whole grades in this range have the codes 0, 1, 2, …: a look-up in a map for
// each judgement took longer than all measures together.
const (
	lowGrade   = -8
	fixedCodes = 64
)

var fixedGrade, fixedLinear, fixedExp = func() (grade, linear, exp []float64) {
	for code := range fixedCodes {
		g := float64(code + lowGrade)
		grade, linear, exp = append(grade, g), append(linear, max(g, 0)), append(exp, expGain(g))
	}
	return
}()

// expGain is 2^grade−1. Grades beyond MaxExpGrade count as that: see Check.
func expGain(grade float64) float64 {
	if grade <= 0 {
		return 0
	}
	return math.Exp2(min(grade, MaxExpGrade)) - 1
}

// Queries is the number of queries in the block.
func (j *Judged) Queries() int { return len(j.depth) }

// Reset empties the block and keeps its memory and NegativeUnjudged.
func (j *Judged) Reset() {
	j.depth = j.depth[:0]
	j.off, j.rank, j.code = j.off[:0], j.rank[:0], j.code[:0]
	j.runOff, j.runs = j.runOff[:0], j.runs[:0]
	if len(j.grade) > fixedCodes {
		j.grade, j.linear, j.exp = j.grade[:fixedCodes], j.linear[:fixedCodes], j.exp[:fixedCodes]
		clear(j.codes)
	}
}

// Append adds a query. grades holds the grades of all the query's judgements, in
// any order; ranked holds, best first, which of them each ranked document has, or
// Unjudged. Neither slice is kept. It is an error, and the block stays as it was,
// when a grade is not a number within ±MaxGrade, when ranked points outside
// grades, and when it points to one judgement twice, which is a document ranked
// twice.
func (j *Judged) Append(ranked []int32, grades []float64) error {
	j.places, j.which = j.places[:0], j.which[:0]
	for i, d := range ranked {
		if d != Unjudged {
			j.places, j.which = append(j.places, int32(i)), append(j.which, d)
		}
	}
	return j.AppendSparse(len(ranked), j.places, j.which, grades)
}

// AppendSparse adds a query whose ranking is n documents long, of which only the
// judged ones are named: rank holds their places, from 0 and ascending, and which
// holds for each of these the judgement as an index into grades. grades is as for
// Append, and so are the errors; places that do not ascend or lie outside the
// ranking are a further one. No slice is kept. It allocates nothing once the block
// has reached its size.
func (j *Judged) AppendSparse(n int, rank, which []int32, grades []float64) error {
	if err := j.append(n, rank, which, grades); err != nil {
		return fmt.Errorf("query %d of the block: %w", j.Queries(), err)
	}
	return nil
}

func (j *Judged) append(n int, rank, which []int32, grades []float64) error {
	if n < 0 || n > math.MaxInt32 {
		return fmt.Errorf("a ranking of %d documents: from 0 to %d can be scored", n, math.MaxInt32)
	}
	if len(rank) != len(which) {
		return fmt.Errorf("%d places for %d judged documents", len(rank), len(which))
	}
	if len(j.grade) == 0 {
		j.grade = append(j.grade, fixedGrade...)
		j.linear = append(j.linear, fixedLinear...)
		j.exp = append(j.exp, fixedExp...)
		j.count = append(j.count, make([]int32, fixedCodes)...)
	}
	defer j.clearCounts()
	if err := j.encode(grades); err != nil {
		return err
	}
	from := len(j.rank)
	if err := j.place(n, rank, which); err != nil {
		j.rank, j.code = j.rank[:from], j.code[:from]
		return err
	}
	if len(j.off) == 0 {
		j.off, j.runOff = append(j.off, 0), append(j.runOff, 0)
	}
	j.sortTouched()
	for _, c := range j.touched {
		j.runs = append(j.runs, run{c, j.count[c]})
	}
	j.depth = append(j.depth, int32(n))
	j.off = append(j.off, len(j.rank))
	j.runOff = append(j.runOff, len(j.runs))
	return nil
}

// encode finds the codes of the judgements and counts them.
func (j *Judged) encode(grades []float64) error {
	j.codeOf = slices.Grow(j.codeOf[:0], len(grades))[:len(grades)]
	for i, g := range grades {
		if !(math.Abs(g) <= MaxGrade) { // NaN fails every comparison
			return fmt.Errorf("judgement %d has grade %v: must be a number from %g to %g", i, g, -MaxGrade, MaxGrade)
		}
		c := int32(0)
		if whole := int(g); float64(whole) == g && uint(whole-lowGrade) < fixedCodes {
			c = int32(whole - lowGrade)
		} else {
			c = j.rareCode(g)
		}
		j.codeOf[i] = c
		if j.count[c] == 0 {
			j.touched = append(j.touched, c)
		}
		j.count[c]++
	}
	return nil
}

func (j *Judged) rareCode(grade float64) int32 {
	c, ok := j.codes[grade]
	if !ok {
		if j.codes == nil {
			j.codes = make(map[float64]int32)
		}
		c = int32(len(j.grade))
		j.codes[grade] = c
		j.grade = append(j.grade, grade)
		j.linear = append(j.linear, max(grade, 0))
		j.exp = append(j.exp, expGain(grade))
		if len(j.count) < len(j.grade) {
			j.count = append(j.count, 0)
		}
	}
	return c
}

// place appends the judged documents of a ranking.
func (j *Judged) place(n int, rank, which []int32) error {
	last := int32(-1)
	for i, r := range rank {
		d := which[i]
		switch {
		case r <= last || int(r) >= n:
			return fmt.Errorf("judged document %d stands at place %d: places ascend, from 0, in a ranking of %d documents", i, r, n)
		case d < 0 || int(d) >= len(j.codeOf):
			return fmt.Errorf("rank %d names judgement %d: there are %d, numbered from 0", r+1, d, len(j.codeOf))
		}
		last = r
		c := j.codeOf[d]
		if c < 0 {
			return fmt.Errorf("rank %d names judgement %d, which stands at an earlier rank: a document may be ranked once", r+1, d)
		}
		j.codeOf[d] = ^c
		j.rank, j.code = append(j.rank, r), append(j.code, c)
	}
	return nil
}

// sortTouched puts the codes of the query's grades in order, the best first.
func (j *Judged) sortTouched() {
	t := j.touched
	if len(t) > 16 {
		slices.SortFunc(t, func(a, b int32) int {
			if j.grade[a] > j.grade[b] {
				return -1
			}
			return 1 // equal grades have one code
		})
		return
	}
	for i := 1; i < len(t); i++ {
		for k := i; k > 0 && j.grade[t[k]] > j.grade[t[k-1]]; k-- {
			t[k], t[k-1] = t[k-1], t[k]
		}
	}
}

func (j *Judged) clearCounts() {
	for _, c := range j.touched {
		j.count[c] = 0
	}
	j.touched = j.touched[:0]
}

// hits gives the places and codes of the judged documents in the ranking of
// query q, views into the block.
func (j *Judged) hits(q int) (rank, code []int32) {
	return j.rank[j.off[q]:j.off[q+1]], j.code[j.off[q]:j.off[q+1]]
}

// judgements gives the judgements of query q, counted by grade, best first.
func (j *Judged) judgements(q int) []run { return j.runs[j.runOff[q]:j.runOff[q+1]] }
