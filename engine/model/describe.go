package model

// The types below describe an encoder as data: tensors by the name they have in
// the weights, with the sizes that were checked against them. A part that a family
// does not have is its zero value: a Norm, Linear or Table without a Weight.

// Activation names a non-linearity; "" is none.
type Activation string

// The activations that are computed.
const (
	// GELU is x·Φ(x) with the exact Φ, by the error function (Hendrycks and Gimpel,
	// 2016); not its tanh approximation.
	GELU Activation = "gelu"
	// GELUTanh is GELU by the tanh approximation of the same paper.
	GELUTanh Activation = "gelu_tanh"
	// SiLU is x·σ(x) (Elfwing et al., 2018).
	SiLU Activation = "silu"
	ReLU Activation = "relu"
	Tanh Activation = "tanh"
)

// Table is an embedding table of Rows × Dim.
type Table struct {
	Weight    string
	Rows, Dim int
}

// Norm is a layer normalisation over Dim values (Ba et al., 2016):
// (x−mean)/√(variance+Eps) · weight + bias, the bias 0 where its name is "". With
// RMS it is x/√(mean(x²)+Eps) · weight (Zhang and Sennrich, 2019).
type Norm struct {
	Weight, Bias string
	Dim          int
	Eps          float64
	RMS          bool
}

// Linear is y = W·x + b with W stored as [Out, In], the layout of Hugging Face
// checkpoints, and b 0 where its name is "". Tensors that hold several maps on top
// of one another, [Rows, In] with a bias of Rows, are used from row Row on; Rows is
// 0 where the tensor is this map's alone.
type Linear struct {
	Weight, Bias string
	In, Out      int
	Row, Rows    int
	// Scale names the float32 scales, one for each row of the tensor, of a weight that
	// is stored as int8: W[o][i] = Scale[Row+o] · stored[Row+o][i]. "" = stored as
	// floats.
	Scale string
}

// Embedding turns ids into states: the sum of the word, position and token type
// rows, normalised. Token i of a row takes row FirstPosition+i of the position
// table.
type Embedding struct {
	Word, Position, Type Table
	FirstPosition        int
	Norm                 Norm
}

// Rope is a rotary position embedding (Su et al., 2021) of the first Dim values of
// every head, values i and i+Dim/2 rotated together by position · Theta^(−2i/Dim).
// Dim 0 is none.
type Rope struct {
	Theta float64
	Dim   int
}

// Attention is multi-head self-attention (Vaswani et al., 2017), scores scaled by
// 1/√HeadDim. KVHeads heads of keys and values serve Heads/KVHeads heads of queries
// each (Ainslie et al., 2023). QueryNorm and KeyNorm act on every head before the
// rotation.
type Attention struct {
	Query, Key, Value, Output Linear
	Heads, KVHeads, HeadDim   int
	QueryNorm, KeyNorm        Norm
	Rope                      Rope
	// Window is how many tokens to each side a token attends to, besides itself;
	// 0 = all.
	Window int
	Causal bool // a token attends to itself and to what is before it
}

// FeedForward is Down(act(Up(x))), or Down(act(Up(x)) · Gate(x)) where there is a
// gate (Shazeer, 2020).
type FeedForward struct {
	Up, Gate, Down Linear
	Act            Activation
}

// Layer is one encoder block. With the normalisations after the sums:
// a = AttentionNorm(x + Attention(x)), y = OutputNorm(a + FeedForward(a)). With
// PreNorm: a = x + Attention(AttentionNorm(x)), y = a + FeedForward(OutputNorm(a)).
type Layer struct {
	Attention     Attention
	AttentionNorm Norm
	FeedForward   FeedForward
	OutputNorm    Norm
	PreNorm       bool
}

// RelativeBias is added to the scores of every layer (Raffel et al., 2020): the
// table has a row for each bucket of distances and a column for each head. Half of
// the buckets are for keys after the query, half for keys before it; distances from
// a quarter of the buckets on share buckets logarithmically, up to MaxDistance.
type RelativeBias struct {
	Table       Table
	MaxDistance int
}

// HeadLayer is one step of what follows the pooling: Norm(act(Linear(x))). A
// sentence-transformers Dense module is one, and so are the parts of a classifier.
type HeadLayer struct {
	Linear Linear
	Act    Activation
	Norm   Norm
}

// Kind says what the output of a model is.
type Kind string

// The kinds of models.
const (
	Embedder Kind = "embedder" // a vector for a text
	Reranker Kind = "reranker" // one logit for a pair of texts
)

// tensorUse is a tensor that the description names, with the shape it needs.
type tensorUse struct {
	name  string
	shape []int
	role  role
}

// role says which element types a tensor may have.
type role int

const (
	floatRole role = iota // any that can be read as float32
	int8Role              // of a map with scales
	scaleRole             // those scales
)

func (u tensorUse) dtypes() []DType {
	switch u.role {
	case int8Role:
		return []DType{I8}
	case scaleRole:
		return []DType{F32}
	}
	return []DType{F32, F16, BF16}
}

func (t Table) uses() []tensorUse {
	if t.Weight == "" {
		return nil
	}
	return []tensorUse{{name: t.Weight, shape: []int{t.Rows, t.Dim}}}
}

func (n Norm) uses() (u []tensorUse) {
	if n.Weight != "" {
		u = append(u, tensorUse{name: n.Weight, shape: []int{n.Dim}})
	}
	if n.Bias != "" {
		u = append(u, tensorUse{name: n.Bias, shape: []int{n.Dim}})
	}
	return u
}

func (l Linear) uses() (u []tensorUse) {
	if l.Weight == "" {
		return nil
	}
	rows := l.Out
	if l.Rows > 0 {
		rows = l.Rows
	}
	weight := tensorUse{name: l.Weight, shape: []int{rows, l.In}}
	if l.Scale != "" {
		weight.role = int8Role
		u = append(u, weight, tensorUse{name: l.Scale, shape: []int{rows}, role: scaleRole})
	} else {
		u = append(u, weight)
	}
	if l.Bias != "" {
		u = append(u, tensorUse{name: l.Bias, shape: []int{rows}})
	}
	return u
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
	for _, n := range []Norm{l.Attention.QueryNorm, l.Attention.KeyNorm, l.AttentionNorm, l.OutputNorm} {
		u = append(u, n.uses()...)
	}
	return u
}

// uses lists every tensor of the encoder, in the order of computation; tensors that
// hold several maps come once for each.
func (m *Model) uses() []tensorUse {
	u := m.Embedding.uses()
	u = append(u, m.RelativeBias.Table.uses()...)
	for _, l := range m.Layers {
		u = append(u, l.uses()...)
	}
	u = append(u, m.FinalNorm.uses()...)
	for _, h := range m.Head {
		u = append(u, h.uses()...)
	}
	return u
}

func (h HeadLayer) uses() []tensorUse { return append(h.Linear.uses(), h.Norm.uses()...) }

// linears lists the layer's matrix multiplications with weights.
func (l Layer) linears() []Linear {
	a, f := l.Attention, l.FeedForward
	all := []Linear{a.Query, a.Key, a.Value, a.Output, f.Up, f.Gate, f.Down}
	out := all[:0]
	for _, lin := range all {
		if lin.Weight != "" {
			out = append(out, lin)
		}
	}
	return out
}
