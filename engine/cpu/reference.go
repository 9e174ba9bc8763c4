package cpu

import (
	"fmt"
	"math"

	"encbench/engine/model"
)

// Reference is the plain Go encoder that defines the right answer. It holds all
// weights in memory as float32 and nothing of the model it was made from. It is
// safe for concurrent use; rows are the unit to spread over processors.
type Reference struct {
	name      string
	vocab     int
	positions int
	hidden    int
	pooling   model.Pooling
	normalize bool

	word, position, tokenType []float32
	embedNorm                 norm
	layers                    []layer
}

// norm, linear and layer are model.Norm, Linear and Layer with their weights.
type norm struct {
	weight, bias []float32
	eps          float64
}

type linear struct {
	weight, bias []float32 // weight is [out, in]
	in, out      int
}

type layer struct {
	query, key, value, output linear
	heads, headDim            int
	attentionNorm             norm
	up, down                  linear
	outputNorm                norm
}

// NewReference reads the model's weights. The model may be closed afterwards.
func NewReference(m *model.Model) (*Reference, error) {
	r := &Reference{
		name: m.Name, vocab: m.Config.Vocab, positions: m.MaxPositions(), hidden: m.Dim(),
		pooling: m.Pooling, normalize: m.Normalize, layers: make([]layer, len(m.Layers)),
	}
	if r.pooling != model.PoolMean && r.pooling != model.PoolCLS {
		return nil, fmt.Errorf("%w: pooling %q", ErrUnsupported, r.pooling)
	}
	l := loader{w: m.Weights}
	e := m.Embedding
	r.word, r.position, r.tokenType = l.read(e.Word.Weight), l.read(e.Position.Weight), l.read(e.Type.Weight)
	r.embedNorm = l.norm(e.Norm)
	for i, d := range m.Layers {
		if d.FeedForward.Act != model.GELU {
			return nil, fmt.Errorf("%w: activation %q", ErrUnsupported, d.FeedForward.Act)
		}
		r.layers[i] = layer{
			query: l.linear(d.Attention.Query), key: l.linear(d.Attention.Key),
			value: l.linear(d.Attention.Value), output: l.linear(d.Attention.Output),
			heads: d.Attention.Heads, headDim: d.Attention.HeadDim,
			attentionNorm: l.norm(d.AttentionNorm),
			up:            l.linear(d.FeedForward.Up), down: l.linear(d.FeedForward.Down),
			outputNorm: l.norm(d.OutputNorm),
		}
	}
	if l.err != nil {
		return nil, fmt.Errorf("load reference encoder of %s: %w", m.Name, l.err)
	}
	return r, nil
}

// loader reads tensors and keeps the first error.
type loader struct {
	w   *model.Weights
	err error
}

func (l *loader) read(name string) []float32 {
	if l.err != nil {
		return nil
	}
	var v []float32
	v, l.err = l.w.Float32(name)
	return v
}

func (l *loader) norm(n model.Norm) norm {
	return norm{weight: l.read(n.Weight), bias: l.read(n.Bias), eps: n.Eps}
}

func (l *loader) linear(d model.Linear) linear {
	return linear{weight: l.read(d.Weight), bias: l.read(d.Bias), in: d.In, out: d.Out}
}

// Dim is the number of values in a vector.
func (r *Reference) Dim() int { return r.hidden }

// Encode gives the vector of one row of token ids, special tokens in place and
// no padding; all token types are 0. The caller owns the result. A row that is
// empty, longer than the model's positions, or holds an id outside the
// vocabulary is refused.
func (r *Reference) Encode(ids []int32) ([]float32, error) {
	if len(ids) == 0 {
		return nil, fmt.Errorf("encode with %s: %w: it has no tokens", r.name, ErrRow)
	}
	if len(ids) > r.positions {
		return nil, fmt.Errorf("encode with %s: %w: it has %d tokens, the model has %d positions", r.name, ErrRow, len(ids), r.positions)
	}
	for i, id := range ids {
		if id < 0 || int(id) >= r.vocab {
			return nil, fmt.Errorf("encode with %s: %w: token %d is id %d, the vocabulary ends at %d", r.name, ErrRow, i, id, r.vocab-1)
		}
	}
	x := r.embed(ids)
	for i := range r.layers {
		x = r.layers[i].forward(x)
	}
	return r.pool(x, len(ids)), nil
}

// embed sums the token, position and segment embeddings and normalises.
func (r *Reference) embed(ids []int32) []float32 {
	d := r.hidden
	x := make([]float32, len(ids)*d)
	for i, id := range ids {
		word, position := r.word[int(id)*d:][:d], r.position[i*d:][:d]
		for j := range d {
			x[i*d+j] = float32(float64(word[j]) + float64(position[j]) + float64(r.tokenType[j]))
		}
	}
	r.embedNorm.apply(x)
	return x
}

// forward is one encoder block: LayerNorm(x + MultiHead(x)), then
// LayerNorm(a + FFN(a)).
func (l *layer) forward(x []float32) []float32 {
	a := l.output.apply(l.multiHead(x))
	add(a, x)
	l.attentionNorm.apply(a)

	h := l.up.apply(a)
	gelu(h)
	y := l.down.apply(h)
	add(y, a)
	l.outputNorm.apply(y)
	return y
}

// multiHead is scaled dot-product attention of each head over the whole row,
// softmax(Q·Kᵀ/√headDim)·V, the heads side by side.
func (l *layer) multiHead(x []float32) []float32 {
	q, k, v := l.query.apply(x), l.key.apply(x), l.value.apply(x)
	d, hd := l.query.out, l.headDim
	n := len(q) / d
	out := make([]float32, n*d)
	var (
		scores  = make([]float64, n*n)
		qh, kh  = make([]float64, n*hd), make([]float64, n*hd)
		vt, mix = make([]float64, hd*n), make([]float64, n*hd)
		scale   = 1 / math.Sqrt(float64(hd))
	)
	for h := range l.heads {
		for i := range n {
			for j := range hd {
				at := i*d + h*hd + j
				qh[i*hd+j] = float64(q[at]) * scale
				kh[i*hd+j] = float64(k[at])
				vt[j*n+i] = float64(v[at])
			}
		}
		mulTransposed(scores, qh, kh, n, n, hd)
		for i := range n {
			softmax(scores[i*n:][:n])
		}
		mulTransposed(mix, scores, vt, n, hd, n)
		for i := range n {
			for j := range hd {
				out[i*d+h*hd+j] = float32(mix[i*hd+j])
			}
		}
	}
	return out
}

// pool makes one vector of the n token states, as the model's card says.
func (r *Reference) pool(x []float32, n int) []float32 {
	d := r.hidden
	sum := make([]float64, d)
	if r.pooling == model.PoolCLS {
		n = 1 // the mean over the first token alone is its state
	}
	for i := range n {
		for j := range d {
			sum[j] += float64(x[i*d+j])
		}
	}
	scale := 1 / float64(n)
	if r.normalize {
		var square float64
		for _, s := range sum {
			square += s * s
		}
		// A vector of zeros stays one, as in PyTorch's normalize.
		scale = 1 / max(math.Sqrt(square), 1e-12*float64(n))
	}
	vec := make([]float32, d)
	for j, s := range sum {
		vec[j] = float32(s * scale)
	}
	return vec
}
