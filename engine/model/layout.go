package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// layout knows the tensors of one family: their names in a checkpoint and the shapes
// that config.json asks for.
type layout interface {
	embedding(n *names) Embedding
	layer(n *names, i int) Layer // i from 0
}

// The parts that only some families have.
type (
	finalNorm    interface{ finalNorm(n *names) Norm }
	relativeBias interface{ relativeBias(n *names) RelativeBias }
	// classifier is a family's head for one label, and how it pools.
	classifier interface {
		head(n *names) ([]HeadLayer, Pooling)
	}
)

// describe fills m's description from the family's layout, resolves the tensor names
// against the weights and checks the tensors, one layer after the other: what is
// allocated is bounded by what the file has, whatever number of layers config.json
// claims.
func (m *Model) describe(d described) error {
	n := names{w: m.Weights}
	if err := n.findPrefix(d.family); err != nil {
		return err
	}
	m.Embedding = d.layout.embedding(&n)
	if err := m.check(m.Embedding.uses()); err != nil {
		return err
	}
	if l, ok := d.layout.(relativeBias); ok {
		m.RelativeBias = l.relativeBias(&n)
		if err := m.check(m.RelativeBias.Table.uses()); err != nil {
			return err
		}
	}
	for i := range m.Config.Layers {
		l := d.layout.layer(&n, i)
		if err := m.check(l.uses()); err != nil {
			return err
		}
		m.Layers = append(m.Layers, l)
	}
	if l, ok := d.layout.(finalNorm); ok {
		m.FinalNorm = l.finalNorm(&n)
		if err := m.check(m.FinalNorm.uses()); err != nil {
			return err
		}
	}
	if l, ok := d.layout.(classifier); ok && m.Kind == Reranker {
		m.Head, m.Pooling = l.head(&n)
		for _, h := range m.Head {
			if err := m.check(h.uses()); err != nil {
				return err
			}
		}
	}
	return m.checkLeftover(&n, d.family)
}

// names turns the names of a family's code into those of one checkpoint.
type names struct {
	w      *Weights
	prefix string // of the encoder's tensors: "" when the file was saved from the encoder alone
}

func (n *names) findPrefix(f *family) error {
	for _, p := range f.prefixes {
		if _, ok := n.w.Tensor(p + f.words); ok {
			n.prefix = p
			return nil
		}
	}
	return fmt.Errorf("read weights %s: %w: %s (looked for with the prefixes %q)",
		n.w.Path, ErrMissingTensor, f.words, f.prefixes)
}

// has says whether the encoder has a tensor of that name.
func (n *names) has(s string) bool {
	_, ok := n.w.Tensor(n.prefix + s)
	return ok
}

// outside gives the names of tensors that stand beside the encoder: a head's.
func (n *names) outside() *names { return &names{w: n.w} }

func (n *names) table(s string, rows, dim int) Table {
	return Table{Weight: n.prefix + s + ".weight", Rows: rows, Dim: dim}
}

// linear resolves a map, and the scales of one that is stored as int8.
func (n *names) linear(s string, in, out int, bias bool) Linear {
	return n.rows(s, in, out, 0, 0, bias)
}

// rows resolves out rows, from row on, of a tensor that has rows of them.
func (n *names) rows(s string, in, out, row, rows int, bias bool) Linear {
	l := Linear{Weight: n.prefix + s + ".weight", In: in, Out: out, Row: row, Rows: rows}
	if bias {
		l.Bias = n.prefix + s + ".bias"
	}
	if t, ok := n.w.Tensor(l.Weight); ok && t.DType == I8 {
		l.Scale = l.Weight + ScaleSuffix
	}
	return l
}

// norm resolves a normalisation, whose tensors checkpoints converted from the
// first TensorFlow release of BERT call gamma and beta.
func (n *names) norm(s string, dim int, eps float64, bias bool) Norm {
	weight, shift := n.prefix+s+".weight", n.prefix+s+".bias"
	if !n.has(s+".weight") && n.has(s+".gamma") {
		weight, shift = n.prefix+s+".gamma", n.prefix+s+".beta"
	}
	if !bias {
		shift = ""
	}
	return Norm{Weight: weight, Bias: shift, Dim: dim, Eps: eps}
}

// rms resolves a normalisation by the root of the mean square.
func (n *names) rms(s string, dim int, eps float64) Norm {
	return Norm{Weight: n.prefix + s + ".weight", Dim: dim, Eps: eps, RMS: true}
}

// buffers are the ends of names of tensors that hold no weights: older releases of
// transformers stored what they compute.
var buffers = []string{".position_ids", ".token_type_ids", ".inv_freq"}

// checkLeftover refuses tensors of the encoder that the description does not use: a
// model cut short, or without its biases, gives vectors too, only others. Heads,
// poolers and language models beside the encoder are left alone.
func (m *Model) checkLeftover(n *names, f *family) error {
	used := map[string]bool{}
	for _, u := range m.uses() {
		used[u.name] = true
	}
	has, beyond, unknown := 0, "", ""
	for _, t := range n.w.tensors {
		own, ok := strings.CutPrefix(t.Name, n.prefix)
		if !ok || used[t.Name] || !slices.ContainsFunc(f.scopes, func(s string) bool { return strings.HasPrefix(own, s) }) ||
			slices.ContainsFunc(buffers, func(s string) bool { return strings.HasSuffix(own, s) }) {
			continue
		}
		if i, ok := layerNumber(own, f.layers); ok && i >= m.Config.Layers {
			if beyond == "" {
				beyond = t.Name
			}
			has = max(has, i+1)
		} else if unknown == "" {
			unknown = t.Name
		}
	}
	if beyond != "" {
		return fmt.Errorf("read weights %s: %w: tensor %.200q belongs to a layer that config.json does not name: the weights have %d layers, %s is %d",
			n.w.Path, ErrConfig, beyond, has, f.layersKey, m.Config.Layers)
	}
	if unknown != "" {
		return fmt.Errorf("read weights %s: %w: tensor %.200q is no part of the %s encoder that config.json describes; config.json and the weights do not belong together",
			n.w.Path, ErrConfig, unknown, f.Name)
	}
	return nil
}

// layerNumber reads the number that follows prefix in a tensor's name.
func layerNumber(name, prefix string) (int, bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	number, _, dot := strings.Cut(rest, ".")
	i, err := strconv.Atoi(number)
	return i, ok && dot && err == nil
}

// check makes sure that every tensor that is used is in the weights, with its shape
// and an element type that can be computed with.
func (m *Model) check(uses []tensorUse) error {
	for _, u := range uses {
		fail := func(kind error, format string, args ...any) error {
			return fmt.Errorf("read weights %s: %w: %s", m.Weights.pathOf(u.name), kind, fmt.Sprintf(format, args...))
		}
		t, ok := m.Weights.Tensor(u.name)
		switch {
		case !ok:
			return fail(ErrMissingTensor, "%s, of shape %s by config.json", u.name, shapeText(u.shape))
		case !slices.Equal(t.Shape, u.shape):
			return fail(ErrShape, "tensor %s is %s by config.json, the file has %s; these are of two models: get config.json and the weights of one", u.name, shapeText(u.shape), shapeText(t.Shape))
		case !slices.Contains(u.dtypes(), t.DType):
			return fail(ErrUnsupported, "tensor %s has dtype %s, needed is %s", u.name, t.DType, oneOf(u.dtypes()))
		}
	}
	return nil
}

func oneOf(types []DType) string {
	text := make([]string, len(types))
	for i, d := range types {
		text[i] = string(d)
	}
	if len(text) > 1 {
		return "one of " + strings.Join(text, ", ")
	}
	return text[0]
}

func shapeText(s []int) string {
	return strings.ReplaceAll(fmt.Sprint(s), " ", ", ")
}
