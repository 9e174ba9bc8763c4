package model

import (
	"fmt"
	"strconv"
)

var modernbertFamily = family{
	Family: Family{
		Name:      "ModernBERT",
		ModelType: "modernbert",
		Embedders: []string{"ModernBertModel", "ModernBertForMaskedLM"},
		Rerankers: []string{"ModernBertForSequenceClassification"},
		Checked:   "CLS; GELU and SiLU gates; biases; both config styles; shards; rerankers by CLS and mean",
	},
	prefixes:  []string{"", "model."},
	words:     "embeddings.tok_embeddings.weight",
	layers:    "layers.",
	layersKey: "num_hidden_layers",
	scopes:    []string{"embeddings.", "layers.", "final_norm."},
	read:      readModernbert,
}

// modernbertConfig is config.json as transformers writes it: up to release 4 with two
// bases and the distance between global layers, from 5 on with a list of layers and
// the parameters of each kind.
type modernbertConfig struct {
	Layers    *int     `json:"num_hidden_layers"`
	Hidden    *int     `json:"hidden_size"`
	Heads     *int     `json:"num_attention_heads"`
	FFN       *int     `json:"intermediate_size"`
	Vocab     *int     `json:"vocab_size"`
	Positions *int     `json:"max_position_embeddings"`
	Act       *string  `json:"hidden_activation"`
	NormEps   *float64 `json:"norm_eps"`
	NormBias  bool     `json:"norm_bias"`
	AttnBias  bool     `json:"attention_bias"`
	MLPBias   bool     `json:"mlp_bias"`

	Local       *int            `json:"local_attention"`
	Sliding     *int            `json:"sliding_window"` // half of Local, over which it goes in transformers
	LayerTypes  []string        `json:"layer_types"`
	Every       *int            `json:"global_attn_every_n_layers"`
	GlobalTheta *float64        `json:"global_rope_theta"`
	LocalTheta  *float64        `json:"local_rope_theta"`
	Rope        *modernbertRope `json:"rope_parameters"`
	Scaling     *ropeParameters `json:"rope_scaling"`

	Pooling  *string `json:"classifier_pooling"`
	HeadAct  *string `json:"classifier_activation"`
	HeadBias bool    `json:"classifier_bias"`
}

type modernbertRope struct {
	ropeParameters                 // of a family with one base: looked at to be refused
	Full           *ropeParameters `json:"full_attention"`
	Sliding        *ropeParameters `json:"sliding_attention"`
}

// modernbertLayout is ModernBERT (Warner et al., 2024): rotary positions, gates,
// normalisations before the blocks, windows in most layers. The tensors of queries,
// keys and values are one, and so are those of the activated half and the gate.
type modernbertLayout struct {
	c                           *Config
	every                       int    // layers from one without a window to the next,
	local                       []bool // or which layers have one
	window                      int    // to each side
	global, narrow              Rope   // of layers without and with a window
	normBias, attnBias, mlpBias bool
	headBias                    bool
	headAct                     Activation
	pooling                     Pooling // of the classifier
}

func readModernbert(data []byte, c *Config) (layout, error) {
	var raw modernbertConfig
	if err := decodeConfig(data, &raw); err != nil {
		return nil, err
	}
	l := &modernbertLayout{c: c, normBias: raw.NormBias, attnBias: raw.AttnBias, mlpBias: raw.MLPBias, headBias: raw.HeadBias}
	for _, step := range []func(*modernbertConfig) error{l.sizes, l.windows, l.ropes, l.classifier} {
		if err := step(&raw); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *modernbertLayout) sizes(raw *modernbertConfig) (err error) {
	c := l.c
	if err := readSizes([]size{
		{"num_hidden_layers", raw.Layers, &c.Layers},
		{"hidden_size", raw.Hidden, &c.Hidden},
		{"num_attention_heads", raw.Heads, &c.Heads},
		{"intermediate_size", raw.FFN, &c.FFN},
		{"vocab_size", raw.Vocab, &c.Vocab},
		{"max_position_embeddings", raw.Positions, &c.Positions},
	}); err != nil {
		return err
	}
	if err := c.heads("hidden_size", "num_attention_heads"); err != nil {
		return err
	}
	if c.Act, err = readActivation("hidden_activation", raw.Act); err != nil {
		return err
	}
	return c.eps("norm_eps", raw.NormEps, 1e-5)
}

// windows reads which layers have one, and how wide it is: local_attention counts
// both sides.
func (l *modernbertLayout) windows(raw *modernbertConfig) error {
	layers := l.c.Layers
	if raw.Every == nil && raw.LayerTypes == nil {
		return fmt.Errorf("%w: no layer_types and no global_attn_every_n_layers", ErrConfig)
	}
	if raw.Every != nil && (*raw.Every < 1 || *raw.Every > maxSize) {
		return fmt.Errorf("%w: global_attn_every_n_layers is %d, must be 1 to %d", ErrConfig, *raw.Every, maxSize)
	}
	if raw.LayerTypes != nil {
		if err := checkLayerTypes(raw.LayerTypes, layers); err != nil {
			return err
		}
		for i, t := range raw.LayerTypes {
			local := t == slidingAttention
			if raw.Every != nil && local != (i%*raw.Every != 0) {
				return fmt.Errorf("%w: layer_types[%d] is %s, global_attn_every_n_layers is %d: they must agree", ErrConfig, i, t, *raw.Every)
			}
			l.local = append(l.local, local)
		}
	}
	if raw.Every != nil {
		l.every = *raw.Every
	}
	if raw.Local == nil {
		return fmt.Errorf("%w: no local_attention", ErrConfig)
	}
	if *raw.Local < 2 || *raw.Local > maxSize {
		return fmt.Errorf("%w: local_attention is %d, must be 2 to %d", ErrConfig, *raw.Local, maxSize)
	}
	l.window = *raw.Local / 2
	if raw.Sliding != nil && *raw.Sliding != l.window {
		return fmt.Errorf("%w: sliding_window is %d, local_attention is %d: the first must be half of the second", ErrConfig, *raw.Sliding, *raw.Local)
	}
	return nil
}

// ropes reads the two bases, in either style.
func (l *modernbertLayout) ropes(raw *modernbertConfig) error {
	var both modernbertRope
	if raw.Rope != nil {
		both = *raw.Rope
	}
	if err := both.ropeParameters.refuse("rope_parameters"); err != nil {
		return err
	}
	if both.Theta != nil {
		return fmt.Errorf("%w: rope_parameters.rope_theta is %v; layers with and without a window have a base each, in rope_parameters.full_attention and sliding_attention", ErrConfig, *both.Theta)
	}
	global, err := both.Full.theta("rope_parameters.full_attention", "global_rope_theta", raw.GlobalTheta)
	if err != nil {
		return err
	}
	narrow, err := both.Sliding.theta("rope_parameters.sliding_attention", "local_rope_theta", raw.LocalTheta)
	if err != nil {
		return err
	}
	for _, theta := range []float64{global, narrow} {
		if err := raw.Scaling.agrees(theta); err != nil {
			return err
		}
	}
	if l.global, err = newRope(global, l.c.HeadDim); err != nil {
		return err
	}
	l.narrow, err = newRope(narrow, l.c.HeadDim)
	return err
}

// classifier reads what only a reranker uses. Its pooling is the classifier's: that
// of an embedder stands in the directory's modules.
func (l *modernbertLayout) classifier(raw *modernbertConfig) (err error) {
	l.headAct, l.pooling = GELU, PoolCLS
	if raw.HeadAct != nil {
		if l.headAct, err = readActivation("classifier_activation", raw.HeadAct); err != nil {
			return err
		}
	}
	if raw.Pooling != nil {
		l.pooling = Pooling(*raw.Pooling)
	}
	if l.pooling != PoolCLS && l.pooling != PoolMean {
		return fmt.Errorf("%w: classifier_pooling %q; supported are cls, mean", ErrUnsupported, string(l.pooling))
	}
	return nil
}

func (l *modernbertLayout) embedding(n *names) Embedding {
	c := l.c
	return Embedding{
		Word: n.table("embeddings.tok_embeddings", c.Vocab, c.Hidden),
		Norm: n.norm("embeddings.norm", c.Hidden, c.NormEps, l.normBias),
	}
}

func (l *modernbertLayout) layer(n *names, i int) Layer {
	c, p := l.c, "layers."+strconv.Itoa(i)+"."
	d, f := c.Hidden, c.FFN
	out := Layer{
		PreNorm: true,
		Attention: Attention{
			Query:   n.rows(p+"attn.Wqkv", d, d, 0, 3*d, l.attnBias),
			Key:     n.rows(p+"attn.Wqkv", d, d, d, 3*d, l.attnBias),
			Value:   n.rows(p+"attn.Wqkv", d, d, 2*d, 3*d, l.attnBias),
			Output:  n.linear(p+"attn.Wo", d, d, l.attnBias),
			Heads:   c.Heads,
			KVHeads: c.Heads,
			HeadDim: c.HeadDim,
			Rope:    l.global,
		},
		FeedForward: FeedForward{
			Up:   n.rows(p+"mlp.Wi", d, f, 0, 2*f, l.mlpBias),
			Gate: n.rows(p+"mlp.Wi", d, f, f, 2*f, l.mlpBias),
			Down: n.linear(p+"mlp.Wo", f, d, l.mlpBias),
			Act:  c.Act,
		},
		OutputNorm: n.norm(p+"mlp_norm", d, c.NormEps, l.normBias),
	}
	if i > 0 { // the embedding's normalisation serves the first layer
		out.AttentionNorm = n.norm(p+"attn_norm", d, c.NormEps, l.normBias)
	}
	if l.isLocal(i) {
		out.Attention.Window, out.Attention.Rope = l.window, l.narrow
	}
	return out
}

func (l *modernbertLayout) isLocal(i int) bool {
	if l.local != nil {
		return l.local[i]
	}
	return i%l.every != 0
}

func (l *modernbertLayout) finalNorm(n *names) Norm {
	return n.norm("final_norm", l.c.Hidden, l.c.NormEps, l.normBias)
}

// head is a dense layer, normalised after its activation, and one linear map.
func (l *modernbertLayout) head(n *names) ([]HeadLayer, Pooling) {
	c := l.c
	n = n.outside()
	return []HeadLayer{
		{
			Linear: n.linear("head.dense", c.Hidden, c.Hidden, l.headBias),
			Act:    l.headAct,
			Norm:   n.norm("head.norm", c.Hidden, c.NormEps, l.normBias),
		},
		{Linear: n.linear("classifier", c.Hidden, 1, true)},
	}, l.pooling
}
