package gpu

import "math"

// The bound. The device multiplies 16-bit copies q̃ and x̃ of a query and a row and adds in
// float32. The score of the rule differs from what it finds by at most
//
//	|q·x − q̃·x̃| + |rounding|  ≤  |q−q̃|·|x| + |q̃|·|x−x̃| + slack·|q̃|·|x̃|
//
// by Cauchy and Schwarz. Where rows are stored in 16 bits x̃ is x; of float32 rows every
// value is rounded to the nearest, ties to even. slack is for the additions: a tensor
// core aligns products to the largest and may cut what is below its last bit, so that each
// of the dim products, and the sum of every 16 of them, is counted as losing 2⁻²² of all
// magnitudes together. Real losses are a hundredth of that.
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

// Of the copies of float32 rows; rows that are stored in 16 bits are their own.
var (
	toFloat16  = rounding{0x1p-11, 0x1p-25}
	toBFloat16 = rounding{0x1p-9, 0x1p-134}
)

// measure is what the bound knows of rows: the largest length, and the smallest but zero.
type measure struct {
	dim           int
	most, least   float64
	copies        rounding
	metric        Metric
	bias, product float64 // L2: the largest |x|²/2
}

// asked is a query: its length, that of its copy, and how far they are apart.
type asked struct{ norm, copied, apart float64 }

// slack is the relative error of a product.
func slack(dim int) float64 { return float64(dim+dim/16+16) * 0x1p-22 }

// error is the most that the score by the rule of any row differs from score of what the
// device found.
func (m measure) error(q asked) float64 {
	away := m.copies.relative*m.most + m.copies.absolute*math.Sqrt(float64(m.dim))
	product := q.apart*m.most + q.copied*away + slack(m.dim)*q.copied*(m.most+away)
	switch m.metric {
	case Cosine:
		if m.least == 0 || q.norm == 0 {
			return 0 // every score is 0
		}
		// By row: what is relative stays, what is absolute is worst for the shortest row.
		away = m.copies.relative + m.copies.absolute*math.Sqrt(float64(m.dim))/m.least
		product = q.apart + q.copied*away + slack(m.dim)*q.copied*(1+away)
		return (product + 0x1p-21*q.copied) / q.norm
	case L2:
		reach := q.norm + m.most
		return 2*product + 0x1p-21*reach*reach
	}
	return product + 0x1p-22*q.norm*m.most
}

// score gives the score by the rule for what the device found, but for error.
func (m measure) score(q asked, found float64) float64 {
	switch m.metric {
	case Cosine:
		if q.norm == 0 {
			return 0
		}
		return found / q.norm
	case L2:
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
