package run

import (
	"math"
	"slices"
	"strconv"
)

// Kinds of a frame's scores. Each maps a score to an unsigned integer and back,
// larger for the larger score; the integers of a list are stored as the first and
// the differences down the list.
const (
	scoreF32     = 1 // bits of a float32
	scoreF64     = 2 // bits of a float64
	scoreDecimal = 3 // an integer to be divided by a power of ten
	scoreShort   = 4 // bits of the float32 whose shortest decimal form it is
)

// ordered64 maps the bits of a float64 so that integers are ordered as numbers
// are, −0 just before 0. flip maps back.
func ordered64(f float64) uint64 {
	b := math.Float64bits(f)
	return b ^ (uint64(int64(b)>>63) | 1<<63)
}

func unordered64(v uint64) float64 {
	return math.Float64frombits(v ^ (uint64(^int64(v)>>63) | 1<<63))
}

func ordered32(f float32) uint64 {
	b := math.Float32bits(f)
	return uint64(b ^ (uint32(int32(b)>>31) | 1<<31))
}

func unordered32(v uint32) float32 {
	return math.Float32frombits(v ^ (uint32(^int32(v)>>31) | 1<<31))
}

// maxExponent is the largest power of ten that scores are divided by: 10^22 is
// the last that a float64 holds exactly, so that a division of integers rounds as
// a correct parser of the decimal text does (Clinger, PLDI 1990).
const maxExponent = 22

var tens = func() (p [32]float64) { // 32 spares the check of an index
	p[0] = 1
	for i := 1; i <= maxExponent; i++ {
		p[i] = 10 * p[i-1]
	}
	return p
}()

const bias = 1 << 63 // makes a signed integer an ordered unsigned one

// decimal finds the smallest exponent with which every score is an integer up to
// 2^53 divided by a power of ten, to the last bit, and fills out.
func decimal(out []uint64, scores []float64) (exponent int, ok bool) {
	top := 0.0
	for _, s := range scores {
		for !isDecimal(s, exponent) {
			if exponent++; exponent > maxExponent {
				return 0, false
			}
		}
		top = max(top, math.Abs(s))
	}
	if top*tens[exponent] >= 1<<53 {
		return 0, false
	}
	for i, s := range scores {
		m := math.RoundToEven(s * tens[exponent])
		// A score that passed with a smaller exponent passes with this one, unless the
		// product rounded.
		if math.Float64bits(m/tens[exponent]) != math.Float64bits(s) {
			return 0, false
		}
		out[i] = uint64(int64(m)) ^ bias
	}
	return exponent, true
}

func isDecimal(s float64, exponent int) bool {
	m := math.RoundToEven(s * tens[exponent])
	// An integer knows no −0.
	return math.Float64bits(m/tens[exponent]) == math.Float64bits(s) && math.Float64bits(m) != 1<<63
}

// grid holds, for the float32 numbers between two powers of two, the decimal grids
// that their shortest forms lie on. A cell of the coarse one is wider than the
// distance of neighbours, so that at most one of its points rounds to a given
// number; the fine one, ten times finer, has at least one.
type grid struct {
	coarse, fine float64 // powers of ten that numbers are multiplied by
	half         float64 // half of the distance of neighbours, on the fine grid
}

// grids by the exponent bits.
var grids = func() (g [256]grid) {
	for i := range g {
		gap, e := math.Ldexp(1, max(i, 1)-150), 0
		for e < maxExponent-1 && 1/tens[e+1] > gap {
			e++
		}
		g[i] = grid{tens[e], tens[e+1], gap / 2 * tens[e+1]}
	}
	return g
}()

// shortest gives the number with the fewest decimal digits that rounds to f, the
// nearest to f among those. It is right where the products are exact, from shortMin
// to shortMax and but for powers of two, whose lower neighbour is nearer; a writer
// makes sure of the others. Every number takes the same steps, as no processor
// guesses which grid it lies on. A product stands in float64(), so that no compiler
// fuses it with a sum.
func shortest(f float32) float64 {
	g := &grids[math.Float32bits(f)>>23&0xff]
	x := float64(float64(f) * g.fine)
	t := float64(10 * math.RoundToEven(float64(float64(f)*g.coarse)))
	onCoarse := uint64(int64(math.Float64bits(math.Abs(t-x)-g.half)) >> 63)
	return math.Float64frombits(math.Float64bits(t)&onCoarse|math.Float64bits(math.RoundToEven(x))&^onCoarse) / g.fine
}

// Below shortMin, a power of ten times f needs more than 53 bits; from shortMax on,
// digits before the point can be left out.
const shortMin, shortMax = 1.0 / (1 << 17), 1 << 24

// shortForm gives the ordered bits of the float32 whose shortest form s is.
func shortForm(s float64) (uint64, bool) {
	f := float32(s)
	if math.Float64bits(shortest(f)) != math.Float64bits(s) {
		return 0, false
	}
	if size := math.Abs(float64(f)); size < shortMin || size >= shortMax || math.Float32bits(f)<<9 == 0 {
		if v, err := strconv.ParseFloat(strconv.FormatFloat(float64(f), 'g', -1, 32), 64); err != nil || v != s {
			return 0, false
		}
	}
	return ordered32(f), true
}

// scoreColumn is what a frame says of its scores.
type scoreColumn struct {
	kind     byte
	exponent byte
	signed   bool     // some list rises: the differences are zigzag coded
	base     uint64   // of the firsts
	firsts   []uint64 // first score of each list that has one, less base
	steps    []uint64 // every other score: the one before it less itself

	values, best []uint64
}

// build chooses the smallest exact form for the scores of the lists off.
func (c *scoreColumn) build(scores []float64, off []int32) {
	n := len(scores)
	c.values = slices.Grow(c.values[:0], n)[:n]
	c.best = slices.Grow(c.best[:0], n)[:n]
	c.kind = 0
	size := 0
	try := func(kind byte, exponent int) {
		c.differences(off)
		if s := packedSize(c.firsts) + packedSize(c.steps); c.kind == 0 || s < size {
			size, c.kind, c.exponent = s, kind, byte(exponent)
			c.values, c.best = c.best, c.values
		}
	}
	if exponent, ok := decimal(c.values, scores); ok {
		try(scoreDecimal, exponent)
	}
	if fill(c.values, scores, func(s float64) (uint64, bool) { f := float32(s); return ordered32(f), float64(f) == s }) {
		try(scoreF32, 0)
	} else if fill(c.values, scores, shortForm) {
		try(scoreShort, 0)
	}
	if c.kind == 0 {
		fill(c.values, scores, func(s float64) (uint64, bool) { return ordered64(s), true })
		try(scoreF64, 0)
	}
	c.values, c.best = c.best, c.values
	c.differences(off)
}

// fill maps every score, until one has no such form.
func fill(out []uint64, scores []float64, form func(float64) (uint64, bool)) bool {
	for i, s := range scores {
		v, ok := form(s)
		if !ok {
			return false
		}
		out[i] = v
	}
	return true
}

// differences fills base, firsts, steps and signed from values.
func (c *scoreColumn) differences(off []int32) {
	c.base, c.signed, c.firsts, c.steps = math.MaxUint64, false, c.firsts[:0], c.steps[:0]
	for q := range len(off) - 1 {
		list := c.values[off[q]:off[q+1]]
		if len(list) == 0 {
			continue
		}
		c.base = min(c.base, list[0])
		c.firsts = append(c.firsts, list[0])
		for i, v := range list[1:] {
			c.signed = c.signed || v > list[i]
			c.steps = append(c.steps, list[i]-v)
		}
	}
	for i := range c.firsts {
		c.firsts[i] -= c.base
	}
	if c.signed {
		for i, s := range c.steps {
			c.steps[i] = zigzag(int64(s))
		}
	}
}

// restore fills out with the scores of a column; false when it holds what no
// writer makes. steps is used up.
func (c *scoreColumn) restore(out []float64, off []int32) bool {
	firsts, steps := c.firsts, c.steps
	if c.signed {
		for i, s := range steps {
			steps[i] = uint64(unzigzag(s))
		}
	}
	low, high := uint64(math.MaxUint64), uint64(0)
	for q := range len(off) - 1 {
		list := out[off[q]:off[q+1]]
		if len(list) == 0 {
			continue
		}
		first := c.base + firsts[0]
		firsts = firsts[1:]
		mine := steps[:len(list)-1]
		steps = steps[len(mine):]
		lo, hi := c.restoreList(list, first, mine)
		low, high = min(low, lo), max(high, hi)
	}
	switch {
	case low > high: // no score at all
		return true
	case c.kind == scoreF32, c.kind == scoreShort:
		return low >= ordered32(float32(math.Inf(-1))) && high <= ordered32(float32(math.Inf(1)))
	case c.kind == scoreF64:
		return low >= ordered64(math.Inf(-1)) && high <= ordered64(math.Inf(1))
	}
	return true
}

// restoreList fills one list and gives the range of its integers.
func (c *scoreColumn) restoreList(list []float64, v uint64, steps []uint64) (low, high uint64) {
	low, high = v, v
	rest := list[1:]
	rest = rest[:len(steps)]
	switch c.kind {
	case scoreF32:
		list[0] = float64(unordered32(uint32(v)))
		for i, s := range steps {
			v -= s
			low, high = min(low, v), max(high, v)
			rest[i] = float64(unordered32(uint32(v)))
		}
	case scoreShort:
		list[0] = shortest(unordered32(uint32(v)))
		for i, s := range steps {
			v -= s
			low, high = min(low, v), max(high, v)
			rest[i] = shortest(unordered32(uint32(v)))
		}
	case scoreF64:
		list[0] = unordered64(v)
		for i, s := range steps {
			v -= s
			low, high = min(low, v), max(high, v)
			rest[i] = unordered64(v)
		}
	case scoreDecimal:
		ten := tens[c.exponent%32]
		list[0] = float64(int64(v^bias)) / ten
		for i, s := range steps {
			v -= s
			rest[i] = float64(int64(v^bias)) / ten
		}
	}
	return low, high
}
