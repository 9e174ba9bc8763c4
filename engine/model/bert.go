package model

import "strconv"

var bertFamily = family{
	Family: Family{
		Name:      "BERT",
		ModelType: "bert",
		Embedders: []string{"BertModel", "BertForMaskedLM", "BertForPreTraining"},
		Rerankers: []string{"BertForSequenceClassification"},
		Checked:   "mean, CLS, max; Dense modules; reranker; all-MiniLM-L6-v2 itself",
	},
	prefixes:  []string{"", "bert."},
	words:     "embeddings.word_embeddings.weight",
	layers:    "encoder.layer.",
	layersKey: "num_hidden_layers",
	scopes:    []string{"embeddings.", "encoder."},
	positions: "absolute",
	read: func(data []byte, c *Config) (layout, error) {
		l := &bertLayout{c: c}
		return l, l.read(data, 1e-12)
	},
}

// bertConfig is config.json of BERT and of what descends from it.
type bertConfig struct {
	Layers    *int     `json:"num_hidden_layers"`
	Hidden    *int     `json:"hidden_size"`
	Heads     *int     `json:"num_attention_heads"`
	FFN       *int     `json:"intermediate_size"`
	Vocab     *int     `json:"vocab_size"`
	Positions *int     `json:"max_position_embeddings"`
	Types     *int     `json:"type_vocab_size"`
	Act       *string  `json:"hidden_act"`
	NormEps   *float64 `json:"layer_norm_eps"`
}

// sizes gives what every descendant of BERT has, the number of token types apart.
func (raw *bertConfig) sizes(c *Config) []size {
	return []size{
		{"num_hidden_layers", raw.Layers, &c.Layers},
		{"hidden_size", raw.Hidden, &c.Hidden},
		{"num_attention_heads", raw.Heads, &c.Heads},
		{"intermediate_size", raw.FFN, &c.FFN},
		{"vocab_size", raw.Vocab, &c.Vocab},
		{"max_position_embeddings", raw.Positions, &c.Positions},
	}
}

// finish reads what is not a size; eps is the family's default.
func (raw *bertConfig) finish(c *Config, eps float64) (err error) {
	if err := c.heads("hidden_size", "num_attention_heads"); err != nil {
		return err
	}
	if c.Act, err = readActivation("hidden_act", raw.Act); err != nil {
		return err
	}
	return c.eps("layer_norm_eps", raw.NormEps, eps)
}

// bertLayout is BERT (Devlin et al., 2018).
type bertLayout struct {
	c     *Config
	first int // row of the position table for a row's first token
}

func (l *bertLayout) read(data []byte, eps float64) error {
	var raw bertConfig
	if err := decodeConfig(data, &raw); err != nil {
		return err
	}
	if err := readSizes(append(raw.sizes(l.c), size{"type_vocab_size", raw.Types, &l.c.Types})); err != nil {
		return err
	}
	return raw.finish(l.c, eps)
}

func (l *bertLayout) embedding(n *names) Embedding {
	c := l.c
	return Embedding{
		Word:          n.table("embeddings.word_embeddings", c.Vocab, c.Hidden),
		Position:      n.table("embeddings.position_embeddings", c.Positions+l.first, c.Hidden),
		Type:          n.table("embeddings.token_type_embeddings", c.Types, c.Hidden),
		FirstPosition: l.first,
		Norm:          n.norm("embeddings.LayerNorm", c.Hidden, c.NormEps, true),
	}
}

func (l *bertLayout) layer(n *names, i int) Layer {
	c, p := l.c, "encoder.layer."+strconv.Itoa(i)+"."
	return Layer{
		Attention: Attention{
			Query:   n.linear(p+"attention.self.query", c.Hidden, c.Hidden, true),
			Key:     n.linear(p+"attention.self.key", c.Hidden, c.Hidden, true),
			Value:   n.linear(p+"attention.self.value", c.Hidden, c.Hidden, true),
			Output:  n.linear(p+"attention.output.dense", c.Hidden, c.Hidden, true),
			Heads:   c.Heads,
			KVHeads: c.Heads,
			HeadDim: c.HeadDim,
		},
		AttentionNorm: n.norm(p+"attention.output.LayerNorm", c.Hidden, c.NormEps, true),
		FeedForward: FeedForward{
			Up:   n.linear(p+"intermediate.dense", c.Hidden, c.FFN, true),
			Down: n.linear(p+"output.dense", c.FFN, c.Hidden, true),
			Act:  c.Act,
		},
		OutputNorm: n.norm(p+"output.LayerNorm", c.Hidden, c.NormEps, true),
	}
}

// head is the pooler of pre-training, tanh(W·x + b) of the first state, and one
// linear map.
func (l *bertLayout) head(n *names) ([]HeadLayer, Pooling) {
	d := l.c.Hidden
	return []HeadLayer{
		{Linear: n.linear("pooler.dense", d, d, true), Act: Tanh},
		{Linear: n.outside().linear("classifier", d, 1, true)},
	}, PoolCLS
}
