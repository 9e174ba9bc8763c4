package model

import (
	"fmt"
	"strconv"
)

var qwen3Family = family{
	Family: Family{
		Name:      "Qwen3",
		ModelType: "qwen3",
		Embedders: []string{"Qwen3Model", "Qwen3ForCausalLM"},
		Checked:   "last token; grouped queries; bfloat16; biases",
	},
	prefixes:  []string{"", "model."},
	words:     "embed_tokens.weight",
	layers:    "layers.",
	layersKey: "num_hidden_layers",
	scopes:    []string{"embed_tokens.", "layers.", "norm."},
	read:      readQwen3,
}

// qwen3Layout is the decoder of Qwen3 (Yang et al., 2025) without its language model
// head: causal, unless is_causal is false, grouped queries, a normalisation of every
// head of queries and keys.
type qwen3Layout struct {
	c        *Config
	rope     Rope
	attnBias bool
	causal   bool
}

func readQwen3(data []byte, c *Config) (_ layout, err error) {
	var raw struct {
		Layers     *int     `json:"num_hidden_layers"`
		Hidden     *int     `json:"hidden_size"`
		Heads      *int     `json:"num_attention_heads"`
		KVHeads    *int     `json:"num_key_value_heads"`
		HeadDim    *int     `json:"head_dim"`
		FFN        *int     `json:"intermediate_size"`
		Vocab      *int     `json:"vocab_size"`
		Positions  *int     `json:"max_position_embeddings"`
		Act        *string  `json:"hidden_act"`
		NormEps    *float64 `json:"rms_norm_eps"`
		AttnBias   bool     `json:"attention_bias"`
		Sliding    bool     `json:"use_sliding_window"`
		LayerTypes []string `json:"layer_types"`
		Causal     *bool    `json:"is_causal"` // of decoders that were trained to look both ways
		ropeConfig
	}
	if err := decodeConfig(data, &raw); err != nil {
		return nil, err
	}
	if err := readSizes([]size{
		{"num_hidden_layers", raw.Layers, &c.Layers},
		{"hidden_size", raw.Hidden, &c.Hidden},
		{"num_attention_heads", raw.Heads, &c.Heads},
		{"num_key_value_heads", raw.KVHeads, &c.KVHeads},
		{"head_dim", raw.HeadDim, &c.HeadDim},
		{"intermediate_size", raw.FFN, &c.FFN},
		{"vocab_size", raw.Vocab, &c.Vocab},
		{"max_position_embeddings", raw.Positions, &c.Positions},
	}); err != nil {
		return nil, err
	}
	if c.Heads%c.KVHeads != 0 {
		return nil, fmt.Errorf("%w: num_attention_heads %d is not a multiple of num_key_value_heads %d", ErrConfig, c.Heads, c.KVHeads)
	}
	if c.Heads > maxSize/c.HeadDim {
		return nil, fmt.Errorf("%w: num_attention_heads %d of head_dim %d are more than %d values", ErrConfig, c.Heads, c.HeadDim, maxSize)
	}
	if raw.Sliding {
		return nil, fmt.Errorf("%w: use_sliding_window is true; supported is attention to all that is before", ErrUnsupported)
	}
	if err := onlyFull(raw.LayerTypes, c.Layers); err != nil {
		return nil, err
	}
	if c.Act, err = readActivation("hidden_act", raw.Act); err != nil {
		return nil, err
	}
	if err := c.eps("rms_norm_eps", raw.NormEps, 1e-6); err != nil {
		return nil, err
	}
	l := &qwen3Layout{c: c, attnBias: raw.AttnBias, causal: raw.Causal == nil || *raw.Causal}
	l.rope, err = raw.ropeConfig.read(c.HeadDim)
	return l, err
}

func (l *qwen3Layout) embedding(n *names) Embedding {
	return Embedding{Word: n.table("embed_tokens", l.c.Vocab, l.c.Hidden)}
}

func (l *qwen3Layout) layer(n *names, i int) Layer {
	c, p := l.c, "layers."+strconv.Itoa(i)+"."
	queries, keys := c.Heads*c.HeadDim, c.KVHeads*c.HeadDim
	return Layer{
		PreNorm:       true,
		AttentionNorm: n.rms(p+"input_layernorm", c.Hidden, c.NormEps),
		Attention: Attention{
			Query:     n.linear(p+"self_attn.q_proj", c.Hidden, queries, l.attnBias),
			Key:       n.linear(p+"self_attn.k_proj", c.Hidden, keys, l.attnBias),
			Value:     n.linear(p+"self_attn.v_proj", c.Hidden, keys, l.attnBias),
			Output:    n.linear(p+"self_attn.o_proj", queries, c.Hidden, l.attnBias),
			Heads:     c.Heads,
			KVHeads:   c.KVHeads,
			HeadDim:   c.HeadDim,
			QueryNorm: n.rms(p+"self_attn.q_norm", c.HeadDim, c.NormEps),
			KeyNorm:   n.rms(p+"self_attn.k_norm", c.HeadDim, c.NormEps),
			Rope:      l.rope,
			Causal:    l.causal,
		},
		OutputNorm: n.rms(p+"post_attention_layernorm", c.Hidden, c.NormEps),
		FeedForward: FeedForward{ // gate_proj is the half that is activated
			Up:   n.linear(p+"mlp.gate_proj", c.Hidden, c.FFN, false),
			Gate: n.linear(p+"mlp.up_proj", c.Hidden, c.FFN, false),
			Down: n.linear(p+"mlp.down_proj", c.FFN, c.Hidden, false),
			Act:  c.Act,
		},
	}
}

func (l *qwen3Layout) finalNorm(n *names) Norm { return n.rms("norm", l.c.Hidden, l.c.NormEps) }
