package model

import (
	"fmt"
	"strconv"
	"strings"
)

// bertPrefixes are the prefixes of tensor names: none when the file was saved
// from BertModel, "bert." when from a model with a head.
var bertPrefixes = []string{"", "bert."}

// supported lists the architectures, for error messages and Open.
var supported = []string{"BertModel", "BertForMaskedLM", "BertForPreTraining"}

const (
	bertWords = "embeddings.word_embeddings.weight"
	bertLayer = "encoder.layer." // then the layer's number, from 0, and a dot
)

// describeBERT fills m's layer description (Devlin et al., 2018) from its
// config, resolves the tensor names against the weights and checks the tensors,
// one layer after the other: what is allocated is bounded by what the file has,
// whatever number of layers config.json claims.
func (m *Model) describeBERT() error {
	n := bertNames{w: m.Weights}
	if err := n.findPrefix(); err != nil {
		return err
	}
	m.Embedding = n.embedding(m.Config)
	if err := m.checkTensors(m.Embedding.uses()); err != nil {
		return err
	}
	for i := range m.Config.Layers {
		l := n.layer(i, m.Config)
		if err := m.checkTensors(l.uses()); err != nil {
			return err
		}
		m.Layers = append(m.Layers, l)
	}
	return n.checkLeftover(m.Config.Layers)
}

// bertNames turns the names of the BERT papers' code into those of one file.
type bertNames struct {
	w      *Weights
	prefix string
}

func (n *bertNames) findPrefix() error {
	for _, p := range bertPrefixes {
		if _, ok := n.w.Tensor(p + bertWords); ok {
			n.prefix = p
			return nil
		}
	}
	return fmt.Errorf("read weights %s: %w: %s (looked for with the prefixes %q)",
		n.w.Path, ErrMissingTensor, bertWords, bertPrefixes)
}

func (n *bertNames) embedding(c Config) Embedding {
	return Embedding{
		Word:     Table{n.name(bertWords), c.Vocab, c.Hidden},
		Position: Table{n.name("embeddings.position_embeddings.weight"), c.Positions, c.Hidden},
		Type:     Table{n.name("embeddings.token_type_embeddings.weight"), c.Types, c.Hidden},
		Norm:     n.norm("embeddings.LayerNorm", c),
	}
}

// layer describes layer i, counted from 0.
func (n *bertNames) layer(i int, c Config) Layer {
	p := fmt.Sprintf("%s%d.", bertLayer, i)
	return Layer{
		Attention: Attention{
			Query:   n.linear(p+"attention.self.query", c.Hidden, c.Hidden),
			Key:     n.linear(p+"attention.self.key", c.Hidden, c.Hidden),
			Value:   n.linear(p+"attention.self.value", c.Hidden, c.Hidden),
			Output:  n.linear(p+"attention.output.dense", c.Hidden, c.Hidden),
			Heads:   c.Heads,
			HeadDim: c.Hidden / c.Heads,
		},
		AttentionNorm: n.norm(p+"attention.output.LayerNorm", c),
		FeedForward: FeedForward{
			Up:   n.linear(p+"intermediate.dense", c.Hidden, c.FFN),
			Down: n.linear(p+"output.dense", c.FFN, c.Hidden),
			Act:  c.Act,
		},
		OutputNorm: n.norm(p+"output.LayerNorm", c),
	}
}

func (n *bertNames) name(s string) string { return n.prefix + s }

func (n *bertNames) linear(s string, in, out int) Linear {
	return Linear{Weight: n.name(s + ".weight"), Bias: n.name(s + ".bias"), In: in, Out: out}
}

// norm resolves a normalisation, whose tensors checkpoints converted from the
// first TensorFlow release call gamma and beta.
func (n *bertNames) norm(s string, c Config) Norm {
	weight, bias := n.name(s+".weight"), n.name(s+".bias")
	if _, ok := n.w.Tensor(weight); !ok {
		if _, old := n.w.Tensor(n.name(s + ".gamma")); old {
			weight, bias = n.name(s+".gamma"), n.name(s+".beta")
		}
	}
	return Norm{Weight: weight, Bias: bias, Dim: c.Hidden, Eps: c.NormEps}
}

// checkLeftover refuses weights of layers beyond those that config.json names: a
// model cut short gives vectors, only others.
func (n *bertNames) checkLeftover(layers int) error {
	has, name := 0, ""
	for _, t := range n.w.tensors {
		rest, ok := strings.CutPrefix(t.Name, n.prefix+bertLayer)
		number, _, dot := strings.Cut(rest, ".")
		i, err := strconv.Atoi(number)
		if !ok || !dot || err != nil || i < layers {
			continue
		}
		if name == "" {
			name = t.Name
		}
		has = max(has, i+1)
	}
	if name == "" {
		return nil
	}
	return fmt.Errorf("read weights %s: %w: tensor %.200q belongs to a layer that config.json does not name: the weights have %d layers, num_hidden_layers is %d",
		n.w.Path, ErrConfig, name, has, layers)
}

// checkTensors makes sure that every tensor that is used is in the file, with its
// shape and an element type that can be computed with.
func (m *Model) checkTensors(uses []tensorUse) error {
	for _, u := range uses {
		t, ok := m.Weights.Tensor(u.name)
		if !ok {
			return fmt.Errorf("read weights %s: %w: %s, of shape %s by config.json",
				m.Weights.Path, ErrMissingTensor, u.name, shapeText(u.shape))
		}
		if !sameShape(t.Shape, u.shape) {
			return fmt.Errorf("read weights %s: %w: tensor %s is %s by config.json, the file has %s",
				m.Weights.Path, ErrShape, u.name, shapeText(u.shape), shapeText(t.Shape))
		}
		if !t.DType.Float() {
			return fmt.Errorf("read weights %s: %w: tensor %s has dtype %s, needed is one of F32, F16, BF16",
				m.Weights.Path, ErrUnsupported, u.name, t.DType)
		}
	}
	return nil
}

func sameShape(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func shapeText(s []int) string {
	return strings.ReplaceAll(fmt.Sprint(s), " ", ", ")
}
