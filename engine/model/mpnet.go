package model

import (
	"fmt"
	"strconv"
)

var mpnetFamily = family{
	Family: Family{
		Name:      "MPNet",
		ModelType: "mpnet",
		Embedders: []string{"MPNetModel", "MPNetForMaskedLM"},
		Rerankers: []string{"MPNetForSequenceClassification"},
		Checked:   "mean; reranker",
	},
	prefixes:  []string{"", "mpnet."},
	words:     "embeddings.word_embeddings.weight",
	layers:    "encoder.layer.",
	layersKey: "num_hidden_layers",
	scopes:    []string{"embeddings.", "encoder."},
	read:      readMPNet,
}

// Constants of MPNet's code, whatever config.json says.
const (
	mpnetPad         = 1
	mpnetBuckets     = 32
	mpnetMaxDistance = 128
)

// mpnetLayout is MPNet (Song et al., 2020): positions from a table and, shared by
// all layers, a bias by the distance.
type mpnetLayout struct{ bertLayout }

func readMPNet(data []byte, c *Config) (layout, error) {
	var raw struct {
		bertConfig
		PadID   *int `json:"pad_token_id"`
		Buckets *int `json:"relative_attention_num_buckets"`
	}
	if err := decodeConfig(data, &raw); err != nil {
		return nil, err
	}
	if err := readSizes(raw.sizes(c)); err != nil {
		return nil, err
	}
	if err := raw.finish(c, 1e-12); err != nil {
		return nil, err
	}
	if raw.PadID != nil && *raw.PadID != mpnetPad {
		return nil, fmt.Errorf("%w: pad_token_id is %d; MPNet counts positions from %d whatever the id", ErrUnsupported, *raw.PadID, mpnetPad)
	}
	if raw.Buckets != nil && *raw.Buckets != mpnetBuckets {
		return nil, fmt.Errorf("%w: relative_attention_num_buckets is %d; MPNet computes with %d whatever the number", ErrUnsupported, *raw.Buckets, mpnetBuckets)
	}
	l := &mpnetLayout{bertLayout{c: c}}
	return l, l.from(mpnetPad)
}

func (l *mpnetLayout) embedding(n *names) Embedding {
	c := l.c
	return Embedding{
		Word:          n.table("embeddings.word_embeddings", c.Vocab, c.Hidden),
		Position:      n.table("embeddings.position_embeddings", c.Positions+l.first, c.Hidden),
		FirstPosition: l.first,
		Norm:          n.norm("embeddings.LayerNorm", c.Hidden, c.NormEps, true),
	}
}

func (l *mpnetLayout) relativeBias(n *names) RelativeBias {
	return RelativeBias{Table: n.table("encoder.relative_attention_bias", mpnetBuckets, l.c.Heads), MaxDistance: mpnetMaxDistance}
}

func (l *mpnetLayout) layer(n *names, i int) Layer {
	c, p := l.c, "encoder.layer."+strconv.Itoa(i)+"."
	return Layer{
		Attention: Attention{
			Query:   n.linear(p+"attention.attn.q", c.Hidden, c.Hidden, true),
			Key:     n.linear(p+"attention.attn.k", c.Hidden, c.Hidden, true),
			Value:   n.linear(p+"attention.attn.v", c.Hidden, c.Hidden, true),
			Output:  n.linear(p+"attention.attn.o", c.Hidden, c.Hidden, true),
			Heads:   c.Heads,
			KVHeads: c.Heads,
			HeadDim: c.HeadDim,
		},
		AttentionNorm: n.norm(p+"attention.LayerNorm", c.Hidden, c.NormEps, true),
		FeedForward: FeedForward{
			Up:   n.linear(p+"intermediate.dense", c.Hidden, c.FFN, true),
			Down: n.linear(p+"output.dense", c.FFN, c.Hidden, true),
			Act:  c.Act,
		},
		OutputNorm: n.norm(p+"output.LayerNorm", c.Hidden, c.NormEps, true),
	}
}

func (l *mpnetLayout) head(n *names) ([]HeadLayer, Pooling) { return denseHead(n, l.c.Hidden), PoolCLS }
