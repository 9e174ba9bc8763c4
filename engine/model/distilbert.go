package model

import "strconv"

var distilbertFamily = family{
	Family: Family{
		Name:      "DistilBERT",
		ModelType: "distilbert",
		Embedders: []string{"DistilBertModel", "DistilBertForMaskedLM"},
		Rerankers: []string{"DistilBertForSequenceClassification"},
		Checked:   "mean; reranker",
	},
	prefixes:  []string{"", "distilbert."},
	words:     "embeddings.word_embeddings.weight",
	layers:    "transformer.layer.",
	layersKey: "n_layers",
	scopes:    []string{"embeddings.", "transformer."},
	read:      readDistilbert,
}

// distilbertLayout is DistilBERT (Sanh et al., 2019): BERT without token types.
type distilbertLayout struct{ c *Config }

func readDistilbert(data []byte, c *Config) (_ layout, err error) {
	var raw struct {
		Layers    *int    `json:"n_layers"`
		Hidden    *int    `json:"dim"`
		Heads     *int    `json:"n_heads"`
		FFN       *int    `json:"hidden_dim"`
		Vocab     *int    `json:"vocab_size"`
		Positions *int    `json:"max_position_embeddings"`
		Act       *string `json:"activation"`
	}
	if err := decodeConfig(data, &raw); err != nil {
		return nil, err
	}
	if err := readSizes([]size{
		{"n_layers", raw.Layers, &c.Layers},
		{"dim", raw.Hidden, &c.Hidden},
		{"n_heads", raw.Heads, &c.Heads},
		{"hidden_dim", raw.FFN, &c.FFN},
		{"vocab_size", raw.Vocab, &c.Vocab},
		{"max_position_embeddings", raw.Positions, &c.Positions},
	}); err != nil {
		return nil, err
	}
	if err := c.heads("dim", "n_heads"); err != nil {
		return nil, err
	}
	if c.Act, err = readActivation("activation", raw.Act); err != nil {
		return nil, err
	}
	c.NormEps = 1e-12 // not in config.json: a constant of the code
	return &distilbertLayout{c}, nil
}

// embedding takes positions from the table also where config.json calls them
// sinusoidal: the table holds the sines.
func (l *distilbertLayout) embedding(n *names) Embedding {
	c := l.c
	return Embedding{
		Word:     n.table("embeddings.word_embeddings", c.Vocab, c.Hidden),
		Position: n.table("embeddings.position_embeddings", c.Positions, c.Hidden),
		Norm:     n.norm("embeddings.LayerNorm", c.Hidden, c.NormEps, true),
	}
}

func (l *distilbertLayout) layer(n *names, i int) Layer {
	c, p := l.c, "transformer.layer."+strconv.Itoa(i)+"."
	return Layer{
		Attention: Attention{
			Query:   n.linear(p+"attention.q_lin", c.Hidden, c.Hidden, true),
			Key:     n.linear(p+"attention.k_lin", c.Hidden, c.Hidden, true),
			Value:   n.linear(p+"attention.v_lin", c.Hidden, c.Hidden, true),
			Output:  n.linear(p+"attention.out_lin", c.Hidden, c.Hidden, true),
			Heads:   c.Heads,
			KVHeads: c.Heads,
			HeadDim: c.HeadDim,
		},
		AttentionNorm: n.norm(p+"sa_layer_norm", c.Hidden, c.NormEps, true),
		FeedForward: FeedForward{
			Up:   n.linear(p+"ffn.lin1", c.Hidden, c.FFN, true),
			Down: n.linear(p+"ffn.lin2", c.FFN, c.Hidden, true),
			Act:  c.Act,
		},
		OutputNorm: n.norm(p+"output_layer_norm", c.Hidden, c.NormEps, true),
	}
}

// head is relu(W·x + b) of the first state and one linear map.
func (l *distilbertLayout) head(n *names) ([]HeadLayer, Pooling) {
	d := l.c.Hidden
	n = n.outside()
	return []HeadLayer{
		{Linear: n.linear("pre_classifier", d, d, true), Act: ReLU},
		{Linear: n.linear("classifier", d, 1, true)},
	}, PoolCLS
}
