package metrics

import (
	"fmt"
	"math"
	"slices"
)

// Unjudged marks a ranked document without a judgement, in a ranking given to
// Append and in Grade.
const Unjudged = -1

// Level is the lowest grade that counts as relevant in the binary measures.
// nDCG reads the grades themselves: 0.5 has a gain and is not relevant.
const Level = 1

// MaxGrade bounds the size of a grade, so that no sum of gains can overflow.
const MaxGrade = 1e15

// Judged is a block of queries whose rankings have been looked up in the
// judgements, stored by column. The zero value is an empty block. Fill it with
// Append; scoring only reads, so measures may share one from several goroutines.
type Judged struct {
	Off   []int64   // queries+1 offsets into Grade
	Grade []int32   // code of each ranked document, best first; or Unjudged
	Gain  []float64 // grade by code: negative and fractional grades keep their value

	IdealOff []int64   // queries+1 offsets into Ideal
	Ideal    []float64 // positive grades of all the query's judgements, best first

	codes map[float64]int32 // code by grade
	seen  []bool            // scratch: judgements ranked so far
}

// Queries is the number of queries in the block.
func (j *Judged) Queries() int { return max(len(j.Off)-1, 0) }

// Reset empties the block and keeps its memory.
func (j *Judged) Reset() {
	j.Off, j.Grade, j.Gain = j.Off[:0], j.Grade[:0], j.Gain[:0]
	j.IdealOff, j.Ideal = j.IdealOff[:0], j.Ideal[:0]
	clear(j.codes)
}

// Append adds a query. grades holds the grades of all the query's judgements, in
// any order; ranked holds, best first, which of them each ranked document has, or
// Unjudged. Neither slice is kept. It is an error, and the block stays as it was,
// when a grade is not a number within ±MaxGrade, when ranked points outside
// grades, and when it points to one judgement twice, which is a document ranked
// twice.
func (j *Judged) Append(ranked []int32, grades []float64) error {
	if err := j.check(ranked, grades); err != nil {
		return fmt.Errorf("query %d of the block: %w", j.Queries(), err)
	}
	if len(j.Off) == 0 {
		j.Off, j.IdealOff = append(j.Off, 0), append(j.IdealOff, 0)
	}
	for _, d := range ranked {
		code := int32(Unjudged)
		if d != Unjudged {
			code = j.code(grades[d])
		}
		j.Grade = append(j.Grade, code)
	}
	from := len(j.Ideal)
	for _, g := range grades {
		if g > 0 {
			j.Ideal = append(j.Ideal, g)
		}
	}
	slices.SortFunc(j.Ideal[from:], func(a, b float64) int {
		switch {
		case a > b:
			return -1
		case a < b:
			return 1
		}
		return 0
	})
	j.Off = append(j.Off, int64(len(j.Grade)))
	j.IdealOff = append(j.IdealOff, int64(len(j.Ideal)))
	return nil
}

func (j *Judged) check(ranked []int32, grades []float64) error {
	for i, g := range grades {
		if !(math.Abs(g) <= MaxGrade) { // NaN fails every comparison
			return fmt.Errorf("judgement %d has grade %v: must be a number from %g to %g", i, g, -MaxGrade, MaxGrade)
		}
	}
	j.seen = append(j.seen[:0], make([]bool, len(grades))...)
	for i, d := range ranked {
		switch {
		case d == Unjudged:
		case d < 0 || int(d) >= len(grades):
			return fmt.Errorf("rank %d names judgement %d: there are %d, numbered from 0", i+1, d, len(grades))
		case j.seen[d]:
			return fmt.Errorf("rank %d names judgement %d, which stands at an earlier rank: a document may be ranked once", i+1, d)
		default:
			j.seen[d] = true
		}
	}
	return nil
}

// code gives the code of a grade, a new one for a grade not seen before.
func (j *Judged) code(grade float64) int32 {
	code, ok := j.codes[grade]
	if !ok {
		if j.codes == nil {
			j.codes = make(map[float64]int32)
		}
		code = int32(len(j.Gain))
		j.Gain = append(j.Gain, grade)
		j.codes[grade] = code
	}
	return code
}

// query gives the codes and the ideal of one query, views into the block.
func (j *Judged) query(q int) (grade []int32, ideal []float64) {
	return j.Grade[j.Off[q]:j.Off[q+1]], j.Ideal[j.IdealOff[q]:j.IdealOff[q+1]]
}
