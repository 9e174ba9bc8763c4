package onnx

import (
	"iter"
	"math"

	"encbench/engine/model"
)

// reach is which tokens of a row a layer reads and gives: so many from the first on,
// 0 = all. A reach of the last token alone reads all.
type reach struct {
	in, out int
	last    bool
}

// reaches says what each layer has to give so that the pooling has what it takes.
// CLS pooling takes one token of the last layer; a layer with a window needs for the
// first n tokens only those that lie in their windows. What nothing takes is not
// computed.
func reaches(m *model.Model) []reach {
	rs := make([]reach, len(m.Layers))
	for i, r := range backwards(m) {
		rs[i] = r
	}
	return rs
}

// backwards goes through the layers from the last to the first; it allocates nothing.
func backwards(m *model.Model) iter.Seq2[int, reach] {
	return func(yield func(int, reach) bool) {
		need := 0
		if m.Pooling == model.PoolCLS {
			need = 1
		}
		for i := len(m.Layers) - 1; i >= 0; i-- {
			a := &m.Layers[i].Attention
			r := reach{in: need, out: need, last: m.Pooling == model.PoolLast && i == len(m.Layers)-1}
			switch {
			case need == 0 || a.Causal: // what is before a token is among the first ones
			case a.Window > 0:
				r.in += a.Window
			default:
				r.in = 0
			}
			if !yield(i, r) {
				return
			}
			need = r.in
		}
	}
}

// gives and reads are the numbers of tokens in rows of n.
func (r reach) gives(n int) int {
	switch {
	case r.last:
		return 1
	case r.out > 0:
		return min(r.out, n)
	}
	return n
}

func (r reach) reads(n int) int {
	if r.in > 0 {
		return min(r.in, n)
	}
	return n
}

// narrows says whether the layer gives fewer tokens than it reads.
func (r reach) narrows() bool { return r.last || r.out != r.in }

// reached takes from x, the tokens that a layer reads, those that it gives.
func (e *encoder) reached(name string, r reach, x string) string {
	switch {
	case !r.narrows():
		return x
	case r.last && e.opt.Mask && e.cuda:
		return e.lastStates(name, x)
	case r.last && e.opt.Mask:
		row := e.op(name+".row", "GatherND", []string{x, e.last()}, attrInt("batch_dims", 1))
		return e.op(name, "Unsqueeze", []string{row, e.list(1)})
	case r.last:
		return e.op(name, "Slice", []string{x, e.list(-1), e.list(math.MaxInt64), e.list(1)})
	}
	return e.op(name, "Slice", []string{x, e.list(0), e.list(int64(r.out)), e.list(1)})
}

// last is the place of each row's last token, int64 [rows, 1].
func (e *encoder) last() string {
	return e.once("last", func(name string) string {
		return e.op(name, "Sub", []string{e.lengths(), e.number(1)})
	})
}

// lengths are the tokens of each row, int64 [rows, 1].
func (e *encoder) lengths() string {
	return e.once("lengths.column", func(name string) string {
		wide := e.op(name+".wide", "Cast", []string{InputLengths}, attrInt("to", int64(Int64)))
		return e.op(name, "Unsqueeze", []string{wide, e.list(1)})
	})
}
