package gpu

import (
	"math"
	"math/bits"

	"encbench/engine"
)

// The bound. The device multiplies 16-bit copies q̃ and x̃ of a query and a row and adds in
// float32. The score of the rule differs from what it finds by at most
//
//	|q·x − q̃·x̃| + |rounding|  ≤  |q−q̃|·|x| + |q̃|·|x−x̃| + slack·|q̃|·|x̃|
//
// by Cauchy and Schwarz. Where rows are stored in 16 bits x̃ is x; of float32 rows every
// value is rounded to the nearest, ties to even. slack is for the additions: a tensor
// core aligns products to the largest and may cut what is below its last bit, so that each
// of the dim products, and the sum of every 16 of them, is counted as losing 2⁻²² of all
// magnitudes together. Real losses are a hundredth of that. Each may also lose what is below
// the range of float32, whatever the magnitudes.
//
// A row that the search left out scored at most floor, the threshold; its score by the
// rule is at most score(floor) + error. Where that is below the predecessor of the k-th
// best score by the rule, no such row can be among the best: its score, rounded to
// float32, is smaller.

// rounding is how far a row's copy is from the row.
type rounding struct {
	relative float64 // of the row's length
	absolute float64 // of each value
}

// toFloat16 is of the copies of float32 rows; rows that are stored in 16 bits are their
// own.
var toFloat16 = rounding{0x1p-11, 0x1p-25}

// measure is what the bound knows of rows: the largest length, and the smallest but zero.
type measure struct {
	dim         int
	most, least float64
	copies      rounding
	metric      engine.Metric
}

// asked is a query: its length, that of its copy, and how far they are apart.
type asked struct{ norm, copied, apart float64 }

// slack is the relative error of a product.
func slack(dim int) float64 { return float64(dim+dim/16+16) * 0x1p-22 }

// under is the least normal float32: a result below it may become 0.
const under = 0x1p-126

// error is the most that the score by the rule of any row differs from score of what the
// device found.
func (m measure) error(q asked) float64 {
	away := m.copies.relative*m.most + m.copies.absolute*math.Sqrt(float64(m.dim))
	lost := slack(m.dim) * 0x1p22 * under
	product := q.apart*m.most + q.copied*away + slack(m.dim)*q.copied*(m.most+away) + lost
	switch m.metric {
	case engine.Cosine:
		if m.least == 0 || q.norm == 0 {
			return 0 // every score is 0
		}
		// By row: what is relative stays, what is absolute is worst for the shortest row.
		away = m.copies.relative + m.copies.absolute*math.Sqrt(float64(m.dim))/m.least
		product = q.apart + q.copied*away + slack(m.dim)*q.copied*(1+away) + lost/m.least + under
		return (product + 0x1p-21*q.copied) / q.norm
	case engine.L2:
		reach := q.norm + m.most
		return 2*(product+2*under) + 0x1p-21*reach*reach // the bias and the sum with it
	}
	return product + 0x1p-22*q.norm*m.most
}

// score gives the score by the rule for what the device found, but for error.
func (m measure) score(q asked, found float64) float64 {
	switch m.metric {
	case engine.Cosine:
		if q.norm == 0 {
			return 0
		}
		return found / q.norm
	case engine.L2:
		return 2*found - q.norm*q.norm
	}
	return found
}

// certain says whether rows that the device found to have at most floor cannot be among
// the best, of which worst is the last.
func (m measure) certain(q asked, floor, worst float32) bool {
	high := m.score(q, float64(floor)) + m.error(q)
	return high < float64(math.Nextafter32(worst, float32(math.Inf(-1))))
}

// found is the inverse of score.
func (m measure) found(q asked, score float64) float64 {
	switch m.metric {
	case engine.Cosine:
		return score * q.norm
	case engine.L2:
		return (score + q.norm*q.norm) / 2
	}
	return score
}

// bounded says whether the bound holds at all for a query: nothing that the device
// computes on the way may leave the range of float32.
func (m measure) bounded(q asked) bool {
	const top = 0x1p120
	away := m.copies.relative*m.most + m.copies.absolute*math.Sqrt(float64(m.dim))
	reach := q.copied * (m.most + away)
	switch m.metric {
	case engine.Cosine:
		if m.least > 0 && m.least < 1/top {
			return false
		}
	case engine.L2:
		reach = max(reach, (q.norm+m.most)*(q.norm+m.most))
	}
	return reach < top && q.copied < top && m.most < top // a NaN is not
}

// threshold is a value so that rows that the device finds to have at most it are not
// among the best, of which worst is the last; false where there is none.
func (m measure) threshold(q asked, worst float32) (float32, bool) {
	below := float64(math.Nextafter32(worst, float32(math.Inf(-1))))
	return settle(m.found(q, below-m.error(q)), -1, func(v float32) bool { return m.certain(q, v, worst) })
}

// ceiling is a value so that rows that the device finds to have at least it score more
// than last by the rule; false where there is none.
func (m measure) ceiling(q asked, last float32) (float32, bool) {
	above := float64(math.Nextafter32(last, float32(math.Inf(1))))
	e := m.error(q)
	return settle(m.found(q, above+e), 1, func(v float32) bool { return m.score(q, float64(v))-e > above })
}

// settle gives the first number near v, in the direction to, that is right.
func settle(v float64, to int, right func(float32) bool) (float32, bool) {
	f := float32(v)
	for range 8 {
		if f-f != 0 {
			break
		}
		if right(f) {
			return f, true
		}
		f = math.Nextafter32(f, float32(math.Inf(to)))
	}
	return 0, false
}

// unit is the exponent of the lowest bit that a finite number has set; that of zero is
// above all others.
func unit(v float32) int {
	b := math.Float32bits(v)
	exp, frac := int(b>>23&0xff), b&(1<<23-1)
	switch {
	case exp == 0 && frac == 0:
		return math.MaxInt32
	case exp == 0:
		return -149 + bits.TrailingZeros32(frac)
	}
	return exp - 150 + bits.TrailingZeros32(frac|1<<23)
}

// narrowed is the 16 bits of a value's copy.
func narrowed(v float32, elem engine.Elem) uint16 {
	if elem == engine.BF16 {
		return engine.F32ToBF16(v)
	}
	return engine.F32ToF16(v)
}

// ask measures a query whose copy has a type. Its own roundings are far below what the
// bound has to spare.
func ask(v []float32, elem engine.Elem) asked {
	var copied, apart float64
	for _, x := range v {
		y := engine.F16ToF32(engine.F32ToF16(x))
		if elem == engine.BF16 {
			y = engine.BF16ToF32(engine.F32ToBF16(x))
		}
		copied += float64(y) * float64(y)
		away := float64(x) - float64(y)
		apart += away * away
	}
	return asked{math.Sqrt(engine.Dot64(v, v)), math.Sqrt(copied), math.Sqrt(apart) * (1 + 0x1p-30)}
}

// take notes the length of a row, and gives its scale or bias.
func (m *measure) take(norm float64) float32 {
	m.most = max(m.most, norm)
	if norm > 0 && (m.least == 0 || norm < m.least) {
		m.least = norm
	}
	switch {
	case m.metric == engine.Cosine && norm > 0:
		return float32(1 / norm)
	case m.metric == engine.L2:
		return float32(-norm * norm / 2)
	}
	return 0
}
