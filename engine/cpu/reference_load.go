package cpu

import (
	"errors"
	"fmt"

	"encbench/engine/model"
)

// NewReference reads the model's weights. The model may be closed afterwards. A
// description that asks for what is not computed, or whose sizes do not fit together
// or the weights, is refused.
func NewReference(m *model.Model) (*Reference, error) {
	l := loader{w: m.Weights, floats: map[string][]float32{}, codes: map[string][]int8{}}
	r := l.reference(m)
	if l.err != nil {
		return nil, fmt.Errorf("load reference encoder of %s: %w", m.Name, l.err)
	}
	return r, nil
}

// loader reads tensors and keeps the first error. Tensors that hold several maps are
// read once.
type loader struct {
	w      *model.Weights
	floats map[string][]float32
	codes  map[string][]int8
	err    error
}

func (l *loader) reference(m *model.Model) *Reference {
	e := m.Embedding
	if e.Word.Weight == "" || e.Word.Dim < 1 {
		l.fail("%w: no table of words", errDescription)
		return nil
	}
	r := &Reference{
		name: m.Name, positions: m.MaxPositions(), types: m.Types(), pooling: m.Pooling, normalize: m.Normalize,
		embedding: embedding{
			word: l.table(e.Word, e.Word.Dim), position: l.table(e.Position, e.Word.Dim), tokenType: l.table(e.Type, e.Word.Dim),
			vocab: e.Word.Rows, dim: e.Word.Dim, firstPosition: e.FirstPosition, norm: l.norm(e.Norm, e.Word.Dim),
		},
		finalNorm: l.norm(m.FinalNorm, e.Word.Dim),
	}
	switch m.Pooling {
	case model.PoolMean, model.PoolCLS, model.PoolLast, model.PoolMax:
	default:
		l.fail("%w: pooling %q", ErrUnsupported, m.Pooling)
	}
	if e.Position.Weight != "" && e.FirstPosition+r.positions > e.Position.Rows {
		l.fail("%w: %d positions from row %d of a table of %d", errDescription, r.positions, e.FirstPosition, e.Position.Rows)
	}
	for i, d := range m.Layers {
		if l.err != nil {
			return nil
		}
		r.layers = append(r.layers, l.layer(d, e.Word.Dim))
		if l.err != nil {
			l.err = fmt.Errorf("layer %d: %w", i, l.err)
		}
	}
	r.relative = l.relativeBias(m)
	r.dim = e.Word.Dim
	for _, h := range m.Head {
		r.head = append(r.head, l.headLayer(h, &r.dim))
	}
	return r
}

// errDescription says that a description contradicts itself or the weights, which
// model.OpenWith lets through to nobody.
var errDescription = errors.New("bad description")

func (l *loader) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf(format, args...)
	}
}

// read gives a tensor, which must have n values; "" is none.
func (l *loader) read(name string, n int) []float32 {
	if name == "" || l.err != nil {
		return nil
	}
	v, ok := l.floats[name]
	if !ok {
		v, l.err = l.w.Float32(name)
		l.floats[name] = v
	}
	l.size(name, len(v), n)
	return v
}

func (l *loader) readInt8(name string, n int) []int8 {
	if l.err != nil {
		return nil
	}
	v, ok := l.codes[name]
	if !ok {
		v, l.err = l.w.Int8(name)
		l.codes[name] = v
	}
	l.size(name, len(v), n)
	return v
}

func (l *loader) size(name string, has, want int) {
	if has != want {
		l.fail("%w: tensor %s has %d values, described are %d", errDescription, name, has, want)
	}
}

func (l *loader) table(t model.Table, dim int) []float32 {
	if t.Weight != "" && t.Dim != dim {
		l.fail("%w: table %s has rows of %d values, expected are %d", errDescription, t.Weight, t.Dim, dim)
	}
	return l.read(t.Weight, t.Rows*t.Dim)
}

func (l *loader) norm(n model.Norm, dim int) norm {
	return norm{weight: l.read(n.Weight, dim), bias: l.read(n.Bias, dim), eps: n.Eps, rms: n.RMS}
}

// linear reads a map of in values to out.
func (l *loader) linear(d model.Linear, in, out int) linear {
	if d.In != in || d.Out != out {
		l.fail("%w: map %s is %d × %d, expected is %d × %d", errDescription, d.Weight, d.Out, d.In, out, in)
	}
	rows := d.Rows
	if rows == 0 {
		rows = d.Row + d.Out
	}
	if in < 1 || out < 1 || d.Row < 0 || d.Row+out > rows {
		l.fail("%w: map %s has rows %d to %d of %d, %d values each", errDescription, d.Weight, d.Row, d.Row+out, rows, in)
	}
	m := linear{in: in, out: out, bias: l.read(d.Bias, rows), scale: l.read(d.Scale, rows)}
	if d.Scale != "" {
		m.codes = l.readInt8(d.Weight, rows*in)
	} else {
		m.weight = l.read(d.Weight, rows*in)
	}
	if l.err != nil {
		return linear{}
	}
	m.weight, m.codes = part(m.weight, d.Row*in, out*in), part(m.codes, d.Row*in, out*in)
	m.bias, m.scale = part(m.bias, d.Row, out), part(m.scale, d.Row, out)
	return m
}

// part gives n values from first on; of nothing, nothing.
func part[T any](v []T, first, n int) []T {
	if v == nil {
		return nil
	}
	return v[first:][:n]
}

func (l *loader) activation(a model.Activation) func(float64) float64 {
	f, err := activation(a)
	if err != nil {
		l.fail("%w", err)
	}
	return f
}

func (l *loader) layer(d model.Layer, dim int) layer {
	f := d.FeedForward
	out := layer{
		attention:     l.attention(d.Attention, dim),
		attentionNorm: l.norm(d.AttentionNorm, dim),
		feedForward: feedForward{
			up: l.linear(f.Up, dim, f.Up.Out), down: l.linear(f.Down, f.Up.Out, dim), act: l.activation(f.Act),
		},
		outputNorm: l.norm(d.OutputNorm, dim),
		preNorm:    d.PreNorm,
	}
	if f.Gate.Weight != "" {
		out.feedForward.gate = l.linear(f.Gate, dim, f.Up.Out)
	}
	return out
}

func (l *loader) attention(d model.Attention, dim int) attention {
	if d.Heads < 1 || d.HeadDim < 1 || d.KVHeads < 1 || d.Heads%d.KVHeads != 0 {
		l.fail("%w: %d heads of %d values, %d heads of keys", errDescription, d.Heads, d.HeadDim, d.KVHeads)
	}
	if d.Rope.Dim < 0 || d.Rope.Dim > d.HeadDim || d.Rope.Dim%2 != 0 {
		l.fail("%w: %d values rotated in heads of %d", errDescription, d.Rope.Dim, d.HeadDim)
	}
	queries, keys := d.Heads*d.HeadDim, d.KVHeads*d.HeadDim
	return attention{
		query: l.linear(d.Query, dim, queries), key: l.linear(d.Key, dim, keys),
		value: l.linear(d.Value, dim, keys), output: l.linear(d.Output, queries, dim),
		heads: d.Heads, kvHeads: d.KVHeads, headDim: d.HeadDim,
		queryNorm: l.norm(d.QueryNorm, d.HeadDim), keyNorm: l.norm(d.KeyNorm, d.HeadDim),
		rope: d.Rope, window: d.Window, causal: d.Causal,
	}
}

func (l *loader) relativeBias(m *model.Model) relativeBias {
	t := m.RelativeBias.Table
	if t.Weight == "" {
		return relativeBias{}
	}
	if t.Rows < 4 || m.RelativeBias.MaxDistance <= t.Rows/4 {
		l.fail("%w: %d buckets of distances up to %d", errDescription, t.Rows, m.RelativeBias.MaxDistance)
	}
	for _, d := range m.Layers {
		if d.Attention.Heads != t.Dim {
			l.fail("%w: table %s is for %d heads, a layer has %d", errDescription, t.Weight, t.Dim, d.Attention.Heads)
		}
	}
	return relativeBias{table: l.table(t, t.Dim), buckets: t.Rows, heads: t.Dim, maxDistance: m.RelativeBias.MaxDistance}
}

// headLayer reads a step after the pooling, which takes *dim values and leaves in it
// how many it gives.
func (l *loader) headLayer(d model.HeadLayer, dim *int) headLayer {
	h := headLayer{act: l.activation(d.Act)}
	if d.Linear.Weight != "" {
		h.linear = l.linear(d.Linear, *dim, d.Linear.Out)
		*dim = d.Linear.Out
	}
	h.norm = l.norm(d.Norm, *dim)
	return h
}
