package model

import (
	"fmt"
	"strconv"
)

var nomicFamily = family{
	Family: Family{
		Name:      "Nomic BERT",
		ModelType: "nomic_bert",
		Embedders: []string{"NomicBertModel", "NomicBertForMaskedLM"},
		Checked:   "mean; token types",
	},
	prefixes:  []string{"", "nomic_bert."},
	words:     "embeddings.word_embeddings.weight",
	layers:    "encoder.layers.",
	layersKey: "num_hidden_layers",
	scopes:    []string{"embeddings.", "emb_ln.", "encoder."},
	positions: "rope",
	read:      readNomic,
}

// rotaryConfig is config.json of the two families that put rotary positions and gates
// into BERT.
type rotaryConfig struct {
	bertConfig
	ropeConfig
	HeadDim *int `json:"head_dim"`
}

// read reads the sizes and the rotary embedding; types may be 0 with noTypes.
func (raw *rotaryConfig) read(c *Config, noTypes bool) (Rope, error) {
	sizes := raw.sizes(c)
	if !noTypes || raw.Types == nil || *raw.Types != 0 {
		sizes = append(sizes, size{"type_vocab_size", raw.Types, &c.Types})
	}
	if err := readSizes(sizes); err != nil {
		return Rope{}, err
	}
	if err := raw.finish(c, 1e-12); err != nil {
		return Rope{}, err
	}
	if raw.HeadDim != nil && *raw.HeadDim != c.HeadDim {
		return Rope{}, fmt.Errorf("%w: head_dim is %d; supported is hidden_size / num_attention_heads, %d", ErrUnsupported, *raw.HeadDim, c.HeadDim)
	}
	return raw.ropeConfig.read(c.HeadDim)
}

// nomicLayout is Nomic BERT (Nussbaum et al., 2024): BERT with rotary positions and
// SwiGLU, without biases.
type nomicLayout struct {
	c    *Config
	rope Rope
}

func readNomic(data []byte, c *Config) (layout, error) {
	var raw rotaryConfig
	if err := decodeConfig(data, &raw); err != nil {
		return nil, err
	}
	var old nomicOld
	if err := decodeConfig(data, &old); err != nil {
		return nil, err
	}
	if old.Layers != nil {
		if err := old.translate(&raw); err != nil {
			return nil, err
		}
	}
	rope, err := raw.read(c, false)
	return &nomicLayout{c, rope}, err
}

// nomicOld is config.json as the authors' own code writes it.
type nomicOld struct {
	Layers    *int     `json:"n_layer"`
	Hidden    *int     `json:"n_embd"`
	Heads     *int     `json:"n_head"`
	FFN       *int     `json:"n_inner"`
	Positions *int     `json:"n_positions"`
	NormEps   *float64 `json:"layer_norm_epsilon"`
	Act       *string  `json:"activation_function"`
	Theta     *float64 `json:"rotary_emb_base"`
	Fraction  *float64 `json:"rotary_emb_fraction"`
	Scaling   *float64 `json:"rotary_scaling_factor"`
	ScaleBase *float64 `json:"rotary_emb_scale_base"`

	Interleaved bool `json:"rotary_emb_interleaved"`
	PreNorm     bool `json:"prenorm"`
	Parallel    bool `json:"parallel_block"`
	RMS         bool `json:"use_rms_norm"`
	Causal      bool `json:"causal"`
	QKVBias     bool `json:"qkv_proj_bias"`
	UpBias      bool `json:"mlp_fc1_bias"`
	DownBias    bool `json:"mlp_fc2_bias"`
}

// translate writes the old names' values under the new ones and refuses what the
// newer code does not know.
func (old *nomicOld) translate(raw *rotaryConfig) error {
	for _, f := range []struct {
		name string
		on   bool
	}{
		{"rotary_emb_interleaved", old.Interleaved}, {"prenorm", old.PreNorm}, {"parallel_block", old.Parallel},
		{"use_rms_norm", old.RMS}, {"causal", old.Causal}, {"qkv_proj_bias", old.QKVBias},
		{"mlp_fc1_bias", old.UpBias}, {"mlp_fc2_bias", old.DownBias},
	} {
		if f.on {
			return fmt.Errorf("%w: %s is true; supported is false", ErrUnsupported, f.name)
		}
	}
	switch {
	case old.Fraction == nil || *old.Fraction != 1:
		return fmt.Errorf("%w: rotary_emb_fraction is not 1, the supported value", ErrUnsupported)
	case old.Scaling != nil:
		return fmt.Errorf("%w: rotary_scaling_factor is %v; supported is null", ErrUnsupported, *old.Scaling)
	case old.ScaleBase != nil:
		return fmt.Errorf("%w: rotary_emb_scale_base is %v; supported is null", ErrUnsupported, *old.ScaleBase)
	case old.Act == nil || *old.Act != "swiglu":
		return fmt.Errorf("%w: activation_function is not swiglu, the supported value", ErrUnsupported)
	}
	silu := string(SiLU)
	raw.Layers, raw.Hidden, raw.Heads, raw.FFN = old.Layers, old.Hidden, old.Heads, old.FFN
	raw.Positions, raw.NormEps, raw.Theta, raw.Act = old.Positions, old.NormEps, old.Theta, &silu
	return nil
}

func (l *nomicLayout) embedding(n *names) Embedding {
	c := l.c
	return Embedding{
		Word: n.table("embeddings.word_embeddings", c.Vocab, c.Hidden),
		Type: n.table("embeddings.token_type_embeddings", c.Types, c.Hidden),
		Norm: n.norm("emb_ln", c.Hidden, c.NormEps, true),
	}
}

func (l *nomicLayout) layer(n *names, i int) Layer {
	c, p := l.c, "encoder.layers."+strconv.Itoa(i)+"."
	d := c.Hidden
	return Layer{
		Attention: Attention{
			Query:   n.rows(p+"attn.Wqkv", d, d, 0, 3*d, false),
			Key:     n.rows(p+"attn.Wqkv", d, d, d, 3*d, false),
			Value:   n.rows(p+"attn.Wqkv", d, d, 2*d, 3*d, false),
			Output:  n.linear(p+"attn.out_proj", d, d, false),
			Heads:   c.Heads,
			KVHeads: c.Heads,
			HeadDim: c.HeadDim,
			Rope:    l.rope,
		},
		AttentionNorm: n.norm(p+"norm1", d, c.NormEps, true),
		FeedForward: FeedForward{ // fc12 is the half that is activated
			Up:   n.linear(p+"mlp.fc12", d, c.FFN, false),
			Gate: n.linear(p+"mlp.fc11", d, c.FFN, false),
			Down: n.linear(p+"mlp.fc2", c.FFN, d, false),
			Act:  c.Act,
		},
		OutputNorm: n.norm(p+"norm2", d, c.NormEps, true),
	}
}
