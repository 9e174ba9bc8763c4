package model

import (
	"fmt"
	"strconv"
)

var gteFamily = family{
	Family: Family{
		Name:      "GTE",
		ModelType: "gte",
		Embedders: []string{"GteModel", "GteForMaskedLM"},
		Rerankers: []string{"GteForSequenceClassification"},
		Checked:   "CLS; float16; reranker",
	},
	prefixes:  []string{"", "gte.", "new."},
	words:     "embeddings.word_embeddings.weight",
	layers:    "encoder.layer.",
	layersKey: "num_hidden_layers",
	scopes:    []string{"embeddings.", "encoder."},
	positions: "rope",
	read:      readGTE,
}

// gteLayout is the encoder of GTE v1.5 and Arctic-embed-m v2 (Zhang et al., 2024):
// BERT with rotary positions and a gate, whose two halves are one tensor.
type gteLayout struct {
	c    *Config
	rope Rope
}

func readGTE(data []byte, c *Config) (layout, error) {
	var raw struct {
		rotaryConfig
		NormType *string `json:"layer_norm_type"`
		PackQKV  *bool   `json:"pack_qkv"`
		LogN     bool    `json:"logn_attention_scale"`
	}
	if err := decodeConfig(data, &raw); err != nil {
		return nil, err
	}
	switch {
	case raw.NormType != nil && *raw.NormType != "layer_norm":
		return nil, fmt.Errorf("%w: layer_norm_type %.60q; supported is layer_norm", ErrUnsupported, *raw.NormType)
	case raw.PackQKV != nil && !*raw.PackQKV:
		return nil, fmt.Errorf("%w: pack_qkv is false; supported is true", ErrUnsupported)
	case raw.LogN:
		return nil, fmt.Errorf("%w: logn_attention_scale is true; supported is false", ErrUnsupported)
	}
	rope, err := raw.read(c, true)
	return &gteLayout{c, rope}, err
}

func (l *gteLayout) embedding(n *names) Embedding {
	c := l.c
	e := Embedding{
		Word: n.table("embeddings.word_embeddings", c.Vocab, c.Hidden),
		Norm: n.norm("embeddings.LayerNorm", c.Hidden, c.NormEps, true),
	}
	if c.Types > 0 {
		e.Type = n.table("embeddings.token_type_embeddings", c.Types, c.Hidden)
	}
	return e
}

func (l *gteLayout) layer(n *names, i int) Layer {
	c, p := l.c, "encoder.layer."+strconv.Itoa(i)+"."
	d, f := c.Hidden, c.FFN
	return Layer{
		Attention: Attention{
			Query:   n.rows(p+"attention.qkv_proj", d, d, 0, 3*d, true),
			Key:     n.rows(p+"attention.qkv_proj", d, d, d, 3*d, true),
			Value:   n.rows(p+"attention.qkv_proj", d, d, 2*d, 3*d, true),
			Output:  n.linear(p+"attention.o_proj", d, d, true),
			Heads:   c.Heads,
			KVHeads: c.Heads,
			HeadDim: c.HeadDim,
			Rope:    l.rope,
		},
		AttentionNorm: n.norm(p+"attn_ln", d, c.NormEps, true),
		FeedForward: FeedForward{ // the second half is activated
			Gate: n.rows(p+"mlp.up_gate_proj", d, f, 0, 2*f, false),
			Up:   n.rows(p+"mlp.up_gate_proj", d, f, f, 2*f, false),
			Down: n.linear(p+"mlp.down_proj", f, d, true),
			Act:  c.Act,
		},
		OutputNorm: n.norm(p+"mlp_ln", d, c.NormEps, true),
	}
}

// head is BERT's: a pooler and one linear map.
func (l *gteLayout) head(n *names) ([]HeadLayer, Pooling) {
	return (&bertLayout{c: l.c}).head(n)
}
