package synth

import (
	"fmt"
	"strings"

	"encbench/engine/model"
)

// Family is an architecture that shapes are of.
type Family string

// The families.
const (
	BERT       Family = "BERT"
	XLMR       Family = "XLM-RoBERTa"
	ModernBERT Family = "ModernBERT"
	Qwen3      Family = "Qwen3"
)

// Vocabulary names the tokenizer that the real models of a shape share.
type Vocabulary string

// The vocabularies.
const (
	// WordPieceEnglish is BERT's uncased English one of 30,522 pieces.
	WordPieceEnglish Vocabulary = "BERT uncased"
	// BPEModernBERT is byte-level, 50,368 ids, with the split of GPT-2.
	BPEModernBERT Vocabulary = "ModernBERT"
	// BPEO200k is byte-level, 180,000 ids, with the split of o200k.
	BPEO200k Vocabulary = "Granite multilingual 180k"
	// BPEGemma is over characters with byte fallback, 262,152 ids, without a split.
	BPEGemma Vocabulary = "Gemma 3"
	// UnigramXLMR is SentencePiece's Unigram of XLM-RoBERTa.
	UnigramXLMR Vocabulary = "XLM-RoBERTa"
	// BPEQwen is byte-level with the split of Qwen.
	BPEQwen Vocabulary = "Qwen3"
)

// Shape is everything about a model but the values of its weights.
type Shape struct {
	Name   string // as in `encbench model synth`
	Hub    string // org/name of the model whose shape it is
	Family Family
	Kind   model.Kind

	Layers, Hidden, FFN     int
	Heads, KVHeads, HeadDim int
	Vocab                   int
	Positions               int // longest row; XLM-RoBERTa's table has 2 rows more
	Types                   int // token types, 0 = none
	Act                     model.Activation
	NormEps                 float64
	GlobalTheta, LocalTheta float64 // of the rotary positions, where there are any

	Pooling    model.Pooling // of a reranker: what its head reads
	Normalize  bool
	Prompts    map[string]string
	MaxSeq     int  // sentence_bert_config.json, 0 = no such file
	LowerCase  bool // the same
	Vocabulary Vocabulary
	Special    Special
}

// Special holds ids that config.json names; −1 = it does not.
type Special struct{ PAD, BOS, EOS, CLS, SEP int }

// Find gives the shape of this name; the error lists the names.
func Find(name string) (Shape, error) {
	for _, s := range shapes {
		if s.Name == name {
			return s, nil
		}
	}
	return Shape{}, fmt.Errorf("%w %q; known are %s", ErrUnknownShape, name, strings.Join(Names(), ", "))
}

// Names lists the shapes in the order of Shapes.
func Names() []string {
	names := make([]string, len(shapes))
	for i, s := range shapes {
		names[i] = s.Name
	}
	return names
}

// Shapes lists every shape. The caller owns the slice, not the prompts.
func Shapes() []Shape { return append([]Shape(nil), shapes...) }

// Parameters counts the values of the encoder's tensors, a reranker's head among
// them, and apart from them those of the pooler that BERT checkpoints carry and
// embeddings do not use.
func (s Shape) Parameters() (encoder, pooler int64) {
	for _, t := range s.tensors() {
		n := int64(1)
		for _, d := range t.shape {
			n *= int64(d)
		}
		if s.Kind == model.Embedder && strings.HasPrefix(t.name, "pooler.") {
			pooler += n
		} else {
			encoder += n
		}
	}
	return encoder, pooler
}

// bert gives a post-norm BERT encoder of English text, with CLS pooling.
func bert(name, hub string, layers, hidden, heads, ffn int) Shape {
	return Shape{
		Name: name, Hub: hub, Family: BERT, Kind: model.Embedder,
		Layers: layers, Hidden: hidden, FFN: ffn, Heads: heads, KVHeads: heads, HeadDim: hidden / heads,
		Vocab: 30_522, Positions: 512, Types: 2, Act: model.GELU, NormEps: 1e-12,
		Pooling: model.PoolCLS, Normalize: true, MaxSeq: 512,
		Vocabulary: WordPieceEnglish, Special: Special{PAD: 0, BOS: -1, EOS: -1, CLS: -1, SEP: -1},
	}
}

// modernBERT gives a ModernBERT encoder with the vocabulary of ModernBERT.
func modernBERT(name, hub string, layers, hidden, heads, ffn int, theta float64) Shape {
	return Shape{
		Name: name, Hub: hub, Family: ModernBERT, Kind: model.Embedder,
		Layers: layers, Hidden: hidden, FFN: ffn, Heads: heads, KVHeads: heads, HeadDim: hidden / heads,
		Vocab: 50_368, Positions: 8192, Act: model.GELU, NormEps: 1e-5,
		GlobalTheta: theta, LocalTheta: 10_000,
		Pooling: model.PoolCLS, MaxSeq: 8192,
		Vocabulary: BPEModernBERT, Special: Special{PAD: 50_283, BOS: 50_281, EOS: 50_282, CLS: 50_281, SEP: 50_282},
	}
}

// xlmr gives an XLM-RoBERTa encoder of the base size.
func xlmr(name, hub string) Shape {
	return Shape{
		Name: name, Hub: hub, Family: XLMR, Kind: model.Embedder,
		Layers: 12, Hidden: 768, FFN: 3072, Heads: 12, KVHeads: 12, HeadDim: 64,
		Vocab: 250_002, Positions: 512, Types: 1, Act: model.GELU, NormEps: 1e-5,
		Pooling: model.PoolMean, Normalize: true, MaxSeq: 512,
		Vocabulary: UnigramXLMR, Special: Special{PAD: 1, BOS: 0, EOS: 2, CLS: -1, SEP: -1},
	}
}

// with changes a shape where it is listed.
func (s Shape) with(change func(*Shape)) Shape {
	change(&s)
	return s
}
