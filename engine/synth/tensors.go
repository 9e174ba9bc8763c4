package synth

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"encbench/engine/model"
)

// Gains of the linear maps: the standard deviation of an output whose inputs have
// deviation 1. Random weights make a network that forgets its input (all tokens and
// texts alike) or one that magnifies rounding errors, or both; these gains keep it
// between the two, as training does. Two texts have cosines of 0.3 to 0.9, and weights
// rounded to bfloat16 give vectors with a cosine of 0.9995 to the exact ones. Gains
// twice as large made that 0.8, and a larger gainOut made all tokens of a text equal.
//
//   - Scores of attention have deviation gainQK², about 3: a token attends to few.
//   - A plain feed-forward block weighs its hidden values in pairs of opposite sign.
//     Their mean, which GELU makes positive, would add one direction to all states
//     (cosines above 0.9 after 12 layers).
//   - A gated block weighs them less, for the sake of the next paragraph.
//
// No input overflows float16 (65,504). Every map reads a normalised state, ‖x‖ ≤
// 1.2·√hidden, or averages of what such states give. With gain g an entry of the output
// is at most r·g·‖x‖, since rows of n values have norms of at most r·g with r =
// 1+5·√(0.425/n), five deviations; and the norm of n entries is at most about
// g·(1+√(n/hidden))·‖x‖, the largest singular value of a random matrix (Marčenko and
// Pastur, 1967). At hidden 1024, where r is 1.1: scores stay below 900, what attention
// adds below 190 a layer, the products in a gated block below 1,800, and what it adds
// below 0.43·42.3·105 < 2,000 a layer, so that the sum over 28 layers stays below
// 58,000 (the tests compute it). That would need every layer to be at its worst,
// in one direction; what texts reach is below 50. Families that normalise after every
// block stay far below.
const (
	gainQK    = 1.7
	gainValue = 1.0
	gainOut   = 0.8
	gainUp    = 1.0
	gainDown  = 0.8
	gainGated = 0.4
	gainHead  = 1.0

	stdWord     = 0.05 // normalised at once, so only the ratio to the next counts
	stdPosition = 0.015
	stdBias     = 0.02
	stdNorm     = 0.05 // around 1
)

// tensor is a tensor with how it is filled. Rows come in parts, since checkpoints
// keep several maps in one tensor.
type tensor struct {
	name  string
	shape []int
	parts []part
}

// part is a run of rows of one distribution.
type part struct {
	rows      int
	mean, std float64
	paired    bool // every second value is the one before it, negated
}

// builder collects the tensors of a shape.
type builder struct {
	prefix string
	list   []tensor
}

func (b *builder) add(name string, shape []int, parts ...part) {
	b.list = append(b.list, tensor{b.prefix + name, shape, parts})
}

func (b *builder) table(name string, rows, dim int, std float64) {
	b.add(name, []int{rows, dim}, part{rows: rows, std: std})
}

// linear adds a map from in to out values, and its bias where biased.
func (b *builder) linear(name string, in, out int, gain float64, biased bool) {
	b.add(name+".weight", []int{out, in}, part{rows: out, std: gain / math.Sqrt(float64(in))})
	if biased {
		b.add(name+".bias", []int{out}, part{rows: out, std: stdBias})
	}
}

// norm adds a normalisation, with a bias where biased.
func (b *builder) norm(name string, dim int, biased bool) {
	b.add(name+".weight", []int{dim}, part{rows: dim, mean: 1, std: stdNorm})
	if biased {
		b.add(name+".bias", []int{dim}, part{rows: dim, std: stdBias})
	}
}

// tensors lists the tensors in the order of their names, as the files of Hugging
// Face have them.
func (s Shape) tensors() []tensor {
	b := &builder{}
	switch s.Family {
	case BERT, XLMR:
		s.bert(b)
	case ModernBERT:
		s.modernBERT(b)
	case Qwen3:
		s.qwen3(b)
	default:
		panic("synth: shape " + s.Name + " of family " + string(s.Family))
	}
	slices.SortFunc(b.list, func(a, c tensor) int { return cmp.Compare(a.name, c.name) })
	return b.list
}

// firstPosition is the row of the position table that a row's first token takes.
func (s Shape) firstPosition() int {
	if s.Family == XLMR {
		return s.Special.PAD + 1
	}
	return 0
}

func (s Shape) bert(b *builder) {
	d := s.Hidden
	if s.Kind == model.Reranker {
		b.prefix = map[Family]string{BERT: "bert.", XLMR: "roberta."}[s.Family]
	}
	b.table("embeddings.word_embeddings.weight", s.Vocab, d, stdWord)
	b.table("embeddings.position_embeddings.weight", s.Positions+s.firstPosition(), d, stdPosition)
	b.table("embeddings.token_type_embeddings.weight", s.Types, d, stdPosition)
	b.norm("embeddings.LayerNorm", d, true)
	for i := range s.Layers {
		p := fmt.Sprintf("encoder.layer.%d.", i)
		b.linear(p+"attention.self.query", d, d, gainQK, true)
		b.linear(p+"attention.self.key", d, d, gainQK, true)
		b.linear(p+"attention.self.value", d, d, gainValue, true)
		b.linear(p+"attention.output.dense", d, d, gainOut, true)
		b.norm(p+"attention.output.LayerNorm", d, true)
		b.linear(p+"intermediate.dense", d, s.FFN, gainUp, true)
		b.linear(p+"output.dense", s.FFN, d, gainDown, true)
		b.list[len(b.list)-2].parts[0].paired = true
		b.norm(p+"output.LayerNorm", d, true)
	}
	if s.Family == BERT || s.Kind == model.Embedder {
		b.linear("pooler.dense", d, d, gainHead, true)
	}
	if s.Kind != model.Reranker {
		return
	}
	b.prefix = ""
	if s.Family == BERT {
		b.linear("classifier", d, 1, gainHead, true)
		return
	}
	b.linear("classifier.dense", d, d, gainHead, true)
	b.linear("classifier.out_proj", d, 1, gainHead, true)
}

func (s Shape) modernBERT(b *builder) {
	d := s.Hidden
	if s.Kind == model.Reranker {
		b.prefix = "model."
	}
	b.table("embeddings.tok_embeddings.weight", s.Vocab, d, stdWord)
	b.norm("embeddings.norm", d, false)
	in := math.Sqrt(float64(d))
	for i := range s.Layers {
		p := fmt.Sprintf("layers.%d.", i)
		if i > 0 {
			b.norm(p+"attn_norm", d, false)
		}
		b.add(p+"attn.Wqkv.weight", []int{3 * d, d}, part{rows: 2 * d, std: gainQK / in}, part{rows: d, std: gainValue / in})
		b.linear(p+"attn.Wo", d, d, gainOut, false)
		b.norm(p+"mlp_norm", d, false)
		b.linear(p+"mlp.Wi", d, 2*s.FFN, gainUp, false)
		b.linear(p+"mlp.Wo", s.FFN, d, gainGated, false)
	}
	b.norm("final_norm", d, false)
	if s.Kind != model.Reranker {
		return
	}
	b.prefix = ""
	b.linear("head.dense", d, d, gainHead, false)
	b.norm("head.norm", d, false)
	b.linear("classifier", d, 1, gainHead, true)
}

func (s Shape) qwen3(b *builder) {
	d, q, kv := s.Hidden, s.Heads*s.HeadDim, s.KVHeads*s.HeadDim
	b.table("embed_tokens.weight", s.Vocab, d, 1) // no normalisation follows
	for i := range s.Layers {
		p := fmt.Sprintf("layers.%d.", i)
		b.norm(p+"input_layernorm", d, false)
		b.linear(p+"self_attn.q_proj", d, q, gainQK, false)
		b.linear(p+"self_attn.k_proj", d, kv, gainQK, false)
		b.linear(p+"self_attn.v_proj", d, kv, gainValue, false)
		b.linear(p+"self_attn.o_proj", q, d, gainOut, false)
		b.norm(p+"self_attn.q_norm", s.HeadDim, false)
		b.norm(p+"self_attn.k_norm", s.HeadDim, false)
		b.norm(p+"post_attention_layernorm", d, false)
		b.linear(p+"mlp.gate_proj", d, s.FFN, gainUp, false)
		b.linear(p+"mlp.up_proj", d, s.FFN, gainUp, false)
		b.linear(p+"mlp.down_proj", s.FFN, d, gainGated, false)
	}
	b.norm("norm", d, false)
}
