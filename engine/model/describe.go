package model

// The types below describe an encoder as data: tensors by the name they have in
// the weights file, with the sizes that were checked against it. A family that
// needs more (gates, windows, rotary positions, norms before the block) adds
// fields whose zero value means what BERT does.

// Activation names the non-linearity of a feed-forward block.
type Activation string

// GELU is x·Φ(x) with the exact Φ, by the error function (Hendrycks and Gimpel,
// 2016); not its tanh approximation.
const GELU Activation = "gelu"

// Table is an embedding table of Rows × Dim.
type Table struct {
	Weight    string
	Rows, Dim int
}

// Norm is a layer normalisation over Dim values (Ba et al., 2016):
// (x−mean)/√(variance+Eps) · weight + bias.
type Norm struct {
	Weight, Bias string
	Dim          int
	Eps          float64
}

// Linear is y = W·x + b with W stored as [Out, In], the layout of Hugging Face
// checkpoints.
type Linear struct {
	Weight, Bias string
	In, Out      int
}

// Embedding turns ids into states: the sum of the word, position and token type
// rows, normalised.
type Embedding struct {
	Word, Position, Type Table
	Norm                 Norm
}

// Attention is multi-head self-attention (Vaswani et al., 2017) over the whole
// row, scores scaled by 1/√HeadDim.
type Attention struct {
	Query, Key, Value, Output Linear
	Heads, HeadDim            int
}

// FeedForward is Down(act(Up(x))).
type FeedForward struct {
	Up, Down Linear
	Act      Activation
}

// Layer is one encoder block with the normalisations after the sums:
// a = AttentionNorm(x + Attention(x)), y = OutputNorm(a + FeedForward(a)).
type Layer struct {
	Attention     Attention
	AttentionNorm Norm
	FeedForward   FeedForward
	OutputNorm    Norm
}

// tensorUse is a tensor that the description names, with the shape it needs.
type tensorUse struct {
	name  string
	shape []int
}

func (t Table) uses() []tensorUse { return []tensorUse{{t.Weight, []int{t.Rows, t.Dim}}} }

func (n Norm) uses() []tensorUse {
	return []tensorUse{{n.Weight, []int{n.Dim}}, {n.Bias, []int{n.Dim}}}
}

func (l Linear) uses() []tensorUse {
	return []tensorUse{{l.Weight, []int{l.Out, l.In}}, {l.Bias, []int{l.Out}}}
}

func (e Embedding) uses() []tensorUse {
	u := append(e.Word.uses(), e.Position.uses()...)
	u = append(u, e.Type.uses()...)
	return append(u, e.Norm.uses()...)
}

func (l Layer) uses() []tensorUse {
	var u []tensorUse
	for _, lin := range l.linears() {
		u = append(u, lin.uses()...)
	}
	u = append(u, l.AttentionNorm.uses()...)
	return append(u, l.OutputNorm.uses()...)
}

// uses lists every tensor of the encoder, in the order of computation.
func (m *Model) uses() []tensorUse {
	u := m.Embedding.uses()
	for _, l := range m.Layers {
		u = append(u, l.uses()...)
	}
	return u
}

// linears lists the layer's matrix multiplications with weights.
func (l Layer) linears() []Linear {
	a, f := l.Attention, l.FeedForward
	return []Linear{a.Query, a.Key, a.Value, a.Output, f.Up, f.Down}
}
