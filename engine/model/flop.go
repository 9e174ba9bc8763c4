package model

import "strings"

// Parameters counts the values of the encoder's tensors, each tensor once and scales
// of int8 weights not at all, and apart from them those of poolers that are in the
// weights and that nothing uses.
func (m *Model) Parameters() (encoder, pooler int64) {
	used := map[string]bool{}
	for _, u := range m.uses() {
		if !used[u.name] && u.role != scaleRole {
			encoder += elements(u.shape)
		}
		used[u.name] = true
	}
	for _, t := range m.Weights.tensors {
		for _, name := range []string{"pooler.dense.weight", "pooler.dense.bias"} {
			if !used[t.Name] && (t.Name == name || strings.HasSuffix(t.Name, "."+name)) {
				pooler += elements(t.Shape)
			}
		}
	}
	return encoder, pooler
}

// LinearFLOPPerToken is the floating-point work of one token in the layers' matrix
// multiplications with weights, gates included, a multiply-add counted as 2. Look-ups,
// normalisations, activations, rotations, pooling and what follows it count as 0.
func (m *Model) LinearFLOPPerToken() float64 {
	var n float64
	for _, l := range m.Layers {
		for _, lin := range l.linears() {
			n += 2 * float64(lin.In) * float64(lin.Out)
		}
	}
	return n
}

// AttentionFLOP is the floating-point work of attention in a row of n tokens: for each
// token and each key that it attends to 4·Heads·HeadDim a layer, 2 a value for the
// scores and 2 for the weighted sum. One convention for all families: a token attends
// to n keys; in a layer with a window of W to each side to min(n, 2W+1), the window's
// loss at the ends of a row left aside; in a causal layer to (n+1)/2 on average.
func (m *Model) AttentionFLOP(n int) float64 {
	var sum float64
	for _, l := range m.Layers {
		a := l.Attention
		sum += 4 * float64(a.Heads) * float64(a.HeadDim) * float64(n) * a.keys(n)
	}
	return sum
}

// keys is the mean number of keys that a token of a row of n tokens attends to.
func (a Attention) keys(n int) float64 {
	switch {
	case a.Causal:
		return float64(n+1) / 2
	case a.Window > 0:
		return float64(min(n, 2*a.Window+1))
	}
	return float64(n)
}

// AttentionFLOPPerToken2 is AttentionFLOP of a row of n tokens divided by n² where no
// layer has a window or is causal, and an upper bound of it where one does.
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
	return float64(n)*m.LinearFLOPPerToken() + m.AttentionFLOP(n)
}
