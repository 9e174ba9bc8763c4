package cpu

import (
	"fmt"
	"iter"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"encbench/engine/model"
)

// lanes is the number of sums that run side by side in accumulate. An addition takes
// three or four cycles, so fewer sums leave the adders waiting; seven sums, seven
// products and the common factor fill the fifteen registers that Go has for them on
// amd64, and two loads a cycle are what remains as the limit.
//
// Note: one core of a Zen 4 server, sums of 768 terms: 10.6 GFLOP/s with 7, 9.8 with 6,
// 7.9 with 4, and 4.8 with 8 or with two rows of x against four of w, where the
// compiler spills. Cutting the longest sums (3,072) into parts that stay in the nearest
// cache brings less than 10 %.
const lanes = 7

// accumulate adds to each s[l] the products x[c]·w[c][l] in the order of c; w has at
// least as many rows as x has values.
func accumulate(s *[lanes]float64, x []float64, w [][lanes]float64) {
	s0, s1, s2, s3, s4, s5, s6 := s[0], s[1], s[2], s[3], s[4], s[5], s[6]
	w = w[:len(x)]
	for c, v := range x {
		r := &w[c]
		s0 += v * r[0]
		s1 += v * r[1]
		s2 += v * r[2]
		s3 += v * r[3]
		s4 += v * r[4]
		s5 += v * r[5]
		s6 += v * r[6]
	}
	s[0], s[1], s[2], s[3], s[4], s[5], s[6] = s0, s1, s2, s3, s4, s5, s6
}

// pack lays rows of src side by side for accumulate: w[c][l] is value c of row l,
// which begins at l·stride. A row has len(w) values; there are 1 to lanes rows, and
// what w holds beyond them is left as it is.
func pack[T float64 | float32 | int8](w [][lanes]float64, src []T, stride, rows int) {
	for l := range rows {
		for c, v := range src[l*stride:][:len(w)] {
			w[c][l] = float64(v)
		}
	}
}

// spread runs work on one goroutine for each processor that Go may use, and shares
// the numbers 0 to n−1 out among them as they ask. A number goes to one goroutine
// only, so what is computed for it must not depend on which.
func spread(n int, work func(mine iter.Seq[int])) {
	var next atomic.Int64
	mine := func(yield func(int) bool) {
		for {
			i := int(next.Add(1)) - 1
			if i >= n || !yield(i) {
				return
			}
		}
	}
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() { work(mine) })
	}
	wg.Wait()
}

// blockTokens is how many tokens one goroutine takes at a time: enough that widening
// the weights for them costs nothing, few enough to stay in a shared cache.
const blockTokens = 512

// linear is model.Linear with its weights: y = W·x + b. W is weight, or with a scale
// for each of its rows scale·codes.
type linear struct {
	weight      []float32 // [out, in], nil = codes
	codes       []int8    // [out, in]
	scale, bias []float32 // [out], nil = all 1, all 0
	in, out     int
}

// apply sets y, [tokens, out], for every token of x, [tokens, in].
func (l *linear) apply(y, x []float64) {
	blocks, panels := ceilDiv(len(x)/l.in, blockTokens), ceilDiv(l.out, lanes)
	spread(blocks*panels, func(mine iter.Seq[int]) {
		w := make([][lanes]float64, l.in)
		for t := range mine {
			block, o := t/panels*blockTokens, t%panels*lanes
			rows := min(lanes, l.out-o)
			if l.weight != nil {
				pack(w, l.weight[o*l.in:], l.in, rows)
			} else {
				pack(w, l.codes[o*l.in:], l.in, rows)
			}
			for i := block; i < min(block+blockTokens, len(x)/l.in); i++ {
				var s [lanes]float64
				accumulate(&s, x[i*l.in:][:l.in], w)
				l.finish(y[i*l.out+o:][:rows], s[:rows], o)
			}
		}
	})
}

// finish scales and shifts the sums of the rows of W from o on.
func (l *linear) finish(y, s []float64, o int) {
	for r, v := range s {
		if l.scale != nil {
			v *= float64(l.scale[o+r])
		}
		if l.bias != nil {
			v += float64(l.bias[o+r])
		}
		y[r] = v
	}
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// norm is model.Norm with its weights; without any it changes nothing.
type norm struct {
	weight, bias []float32
	eps          float64
	rms          bool
}

// apply normalises every token's state in x.
func (n *norm) apply(x []float64) {
	if n.weight == nil {
		return
	}
	for d := len(n.weight); len(x) > 0; x = x[d:] {
		row := x[:d]
		var mean, square float64
		if !n.rms {
			for _, v := range row {
				mean += v
			}
			mean /= float64(d)
		}
		for _, v := range row {
			square += (v - mean) * (v - mean)
		}
		scale := 1 / math.Sqrt(square/float64(d)+n.eps)
		for j, v := range row {
			row[j] = (v - mean) * scale * float64(n.weight[j])
			if n.bias != nil {
				row[j] += float64(n.bias[j])
			}
		}
	}
}

// activation gives the function that model.Activation names.
func activation(a model.Activation) (func(float64) float64, error) {
	switch a {
	case "":
		return func(x float64) float64 { return x }, nil
	case model.GELU:
		return func(x float64) float64 { return x * 0.5 * (1 + math.Erf(x*(1/math.Sqrt2))) }, nil
	case model.GELUTanh:
		return func(x float64) float64 {
			return x * 0.5 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
		}, nil
	case model.SiLU:
		return func(x float64) float64 { return x / (1 + math.Exp(-x)) }, nil
	case model.ReLU:
		return func(x float64) float64 { return max(x, 0) }, nil
	case model.Tanh:
		return math.Tanh, nil
	}
	return nil, fmt.Errorf("%w: activation %q", ErrUnsupported, a)
}

// softmax replaces x by exp(x)/Σexp(x), shifted by the maximum so that nothing
// overflows.
func softmax(x []float64) {
	top := x[0]
	for _, v := range x {
		top = max(top, v)
	}
	var sum float64
	for i, v := range x {
		x[i] = math.Exp(v - top)
		sum += x[i]
	}
	scale := 1 / sum
	for i := range x {
		x[i] *= scale
	}
}

// add adds y to x.
func add(x, y []float64) {
	for i, v := range y {
		x[i] += v
	}
}
