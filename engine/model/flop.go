package model

// Parameters counts the values of the encoder's tensors, and apart from them
// those of the pooler that BERT checkpoints carry and neither pooling uses
// (0 when the file has none).
func (m *Model) Parameters() (encoder, pooler int64) {
	for _, u := range m.uses() {
		encoder += elements(u.shape)
	}
	for _, name := range []string{"pooler.dense.weight", "pooler.dense.bias"} {
		for _, prefix := range bertPrefixes {
			if t, ok := m.Weights.Tensor(prefix + name); ok {
				pooler += elements(t.Shape)
			}
		}
	}
	return encoder, pooler
}

// LinearFLOPPerToken is the floating-point work of one token in the matrix
// multiplications with weights, a multiply-add counted as 2; look-ups, norms,
// activations and pooling count as 0.
func (m *Model) LinearFLOPPerToken() float64 {
	var n float64
	for _, l := range m.Layers {
		for _, lin := range l.linears() {
			n += 2 * float64(lin.In) * float64(lin.Out)
		}
	}
	return n
}

// AttentionFLOPPerToken2 is the floating-point work of attention for one pair
// of tokens, 4·hidden a layer (2·hidden for the scores, 2·hidden for the
// weighted sum): a row of n tokens costs n² times this.
func (m *Model) AttentionFLOPPerToken2() float64 {
	var n float64
	for _, l := range m.Layers {
		n += 4 * float64(l.Attention.Heads) * float64(l.Attention.HeadDim)
	}
	return n
}

// RowFLOP is the floating-point work of one row of n tokens as the model
// defines it, all states of all layers computed.
func (m *Model) RowFLOP(n int) float64 {
	t := float64(n)
	return t*m.LinearFLOPPerToken() + t*t*m.AttentionFLOPPerToken2()
}
