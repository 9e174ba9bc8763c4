package cpu

import "iter"

// layer is model.Layer with its weights.
type layer struct {
	attention     attention
	attentionNorm norm
	feedForward   feedForward
	outputNorm    norm
	preNorm       bool
}

// feedForward is model.FeedForward with its weights; a gate without outputs is none.
type feedForward struct {
	up, gate, down linear
	act            func(float64) float64
}

// room holds what the layers of one row compute in between, for use again by the next.
type room struct {
	states, query, key, value, up, gate []float64
}

// sized gives n values of *buf, with whatever they hold.
func sized(buf *[]float64, n int) []float64 {
	if cap(*buf) < n {
		*buf = make([]float64, n)
	}
	*buf = (*buf)[:n]
	return *buf
}

// apply replaces the states x of n tokens by those after the layer.
func (l *layer) apply(x []float64, n int, bias [][]float64, m *room) {
	l.addTo(x, &l.attentionNorm, m, func(a []float64) { l.attention.apply(a, n, bias, m) })
	l.addTo(x, &l.outputNorm, m, func(a []float64) { l.feedForward.apply(a, n, m) })
}

// addTo replaces x by norm(x + block(x)), or by x + block(norm(x)) where the
// normalisation comes before; block replaces its argument by its output.
func (l *layer) addTo(x []float64, norm *norm, m *room, block func(a []float64)) {
	a := sized(&m.states, len(x))
	copy(a, x)
	if l.preNorm {
		norm.apply(a)
	}
	block(a)
	add(x, a)
	if !l.preNorm {
		norm.apply(x)
	}
}

// apply replaces x, the states of n tokens, by the block's output. It goes by blocks
// of tokens, which bounds the room of the wide states in between.
func (f *feedForward) apply(x []float64, n int, m *room) {
	d := len(x) / n
	for i := 0; i < n; i += blockTokens {
		tokens := min(blockTokens, n-i)
		part := x[i*d:][:tokens*d]
		up, gate := sized(&m.up, tokens*f.up.out), sized(&m.gate, tokens*f.gate.out)
		f.up.apply(up, part)
		if len(gate) > 0 {
			f.gate.apply(gate, part)
		}
		spread(tokens, func(mine iter.Seq[int]) {
			for t := range mine {
				h := up[t*f.up.out:][:f.up.out]
				for j, v := range h {
					h[j] = f.act(v)
				}
				if len(gate) > 0 {
					for j, v := range gate[t*f.gate.out:][:f.gate.out] {
						h[j] *= v
					}
				}
			}
		})
		f.down.apply(part, up)
	}
}
