package cpu

import (
	"encoding/binary"
	"math"
)

// The bound. Let z be a row as the metric sees it (Cosine: divided by its norm), q the
// query likewise, m the mean of the rows, y = z − m. Then
//
//	inner product, cosine   score = q·m + α·(m·y) + p·y           with p = q − α·m
//	L2                      score = −|p|² + 2·(p·y − |y|²/2)      with p = q − m
//
// where α is chosen so that p is short. m·y or −|y|²/2 is the row's bias. With codes
// c, scale s of the row and a, t of p, p·y is
//
//	t·a·s·c + t·a·(y − s·c) + (p − t·a)·y
//	≤ t·(s·(a·c) + |a|·|y − s·c| + |p − t·a|/t·|y|)     by Cauchy and Schwarz
//
// which the scan evaluates in float32, in units of t: a·c exactly in integers, the
// rest from the row's residual ≥ |y − s·c| and norm ≥ |y|. Its roundings, and those
// of the factors and the bias, are fewer than sixteen of 2⁻²⁴ of terms that are below
// |a|·(norm + residual) or |α/t|·|m|·norm: they are in the factors of norm and
// residual, as floatSlack. The bias of L2 is stored shrunk by more than its
// roundings. What is below 2⁻¹²⁶ loses at most denormalSlack, or that times the
// bias's factor.
//
// Towards the other side, a row can be left out when the rule's score must be below
// the k-th best one, T: when it is, rounded to float32, at most T's predecessor. The
// rule's float64 sum is within delta of the exact one.
//
// Note: α is worth it where rows crowd. With |m| = 30·|y| (cosines of 0.999) a query
// is 30 times as long as what tells rows apart, and without α its own rounding hid
// the rest: the probe fell back to 16 bits.
const (
	floatSlack    = 0x1p-20
	normSlack     = 0x1p-48 // of float64 sums and differences, relative to the norms
	denormalSlack = 0x1p-140
)

// asked is what a scan needs to know of a query.
type asked struct {
	query                     int     // its number
	scale                     float64 // t
	constant, double, delta   float64 // score = constant + double·t·(scanned) ± delta
	rowFactor, residualFactor float32
	biasFactor                float32 // α/t; L2: 1/t, at most MaxFloat32
	gap                       float32
	start                     int32
	bound                     float32
}

// ask encodes query n as number j of the group whose codes are in q; p is scratch of
// dim values.
func (s *Searcher) ask(qs *queries, n int, sc *scanner, c *codes, code []byte, j, group int, p []float64) asked {
	x, dim := &s.index, s.opt.Dim
	a := asked{query: n, double: 1, bound: float32(math.Inf(-1))}
	var top, square, given, shift float64
	factor := 1.0
	if qs.norm != nil && qs.norm[n] > 0 {
		factor = 1 / qs.norm[n]
	}
	for i, v := range qs.row(n) {
		p[i] = float64(v) * factor
		given += p[i] * p[i]
		a.constant += p[i] * x.mean[i]
	}
	if shift = 1; s.opt.Metric != L2 {
		if shift = a.constant / (x.meanNorm * x.meanNorm); !(math.Abs(shift) < math.MaxFloat32) {
			shift = 0
		}
	}
	for i, z := range p {
		z -= shift * x.mean[i]
		p[i] = z
		square += z * z
		top = max(top, math.Abs(z))
	}
	norm, before, far := math.Sqrt(square), math.Sqrt(given), c.totals[2]
	if s.opt.Metric == Cosine {
		far = 1
	}
	sums := float64(dim/8+32) * 0x1p-51
	if s.opt.Metric == L2 {
		a.constant, a.double = -square, 2
		reach := norm + far + x.meanNorm
		a.delta = 4 * (sums + float64(dim)*0x1p-52) * reach * reach
	} else {
		a.delta = sums*before*far + float64(dim+8)*0x1p-51*before*x.meanNorm
	}

	a.scale = top / 127 * (1 + 0x1p-40)
	if sc.bits == 16 {
		a.scale = max(top/32767*(1+0x1p-40), norm/(46338-0.5*math.Sqrt(float64(dim))))
	}
	if !(a.scale > 0) {
		a.scale = 1
	}
	steps, width := sc.steps(dim), min(6, group)
	each, inverse := 32/sc.bits, 1/a.scale
	if math.IsInf(inverse, 0) {
		inverse = 0 // no code: all of the query is residual
	}
	var left, codes float64
	sum := int32(0)
	base := (j/width*steps*width + j%width) * 4
	for i, v := range p {
		w := math.RoundToEven(v * inverse)
		e := v - w*a.scale
		left += e * e
		codes += w * w
		at := base + i/each*width*4
		if sc.bits == 8 {
			code[at+i%4] = byte(int8(w))
		} else {
			binary.LittleEndian.PutUint16(code[at+i%2*2:], uint16(int16(w)))
		}
		sum += int32(w)
	}
	if sc.bits == 8 {
		a.start = -128 * sum
	}
	length := math.Sqrt(codes)
	along := math.Abs(shift) * x.meanNorm
	residual := (math.Sqrt(left) + normSlack*(before+along)) / a.scale
	bias := shift / a.scale
	if s.opt.Metric != L2 {
		residual += along / a.scale * floatSlack
	} else {
		bias = min(bias, math.MaxFloat32)
	}
	if !(math.Abs(bias) < math.MaxFloat32) && s.opt.Metric != L2 {
		residual, bias = math.Inf(1), 0 // no bound: every row is kept
	}
	a.rowFactor = above(residual*(1+floatSlack) + length*floatSlack)
	a.residualFactor = above(length * (1 + 2*floatSlack))
	a.biasFactor = float32(bias)
	a.gap = float32((float64(a.rowFactor)*c.totals[0] + float64(a.residualFactor)*c.totals[1]) / float64(c.slots))
	return a
}

// limit gives the bound that keeps every row whose score may reach score.
func (a *asked) limit(score float32) float32 {
	below := float64(math.Nextafter32(score, float32(math.Inf(-1))))
	v := (below - a.delta - a.constant - normSlack*(math.Abs(below)+math.Abs(a.constant))) / a.double / a.scale
	v -= math.Abs(v)*normSlack + denormalSlack*(1+math.Abs(float64(a.biasFactor)))
	f := float32(v)
	if float64(f) > v {
		f = math.Nextafter32(f, float32(math.Inf(-1)))
	}
	return f
}

// above is a float32 that is not below v.
func above(v float64) float32 {
	f := float32(v)
	if float64(f) < v {
		f = math.Nextafter32(f, float32(math.Inf(1)))
	}
	return f
}
