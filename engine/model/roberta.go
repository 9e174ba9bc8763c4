package model

import "fmt"

var robertaFamily = newRobertaFamily(Family{
	Name:      "RoBERTa",
	ModelType: "roberta",
	Embedders: []string{"RobertaModel", "RobertaForMaskedLM"},
	Rerankers: []string{"RobertaForSequenceClassification"},
	Checked:   "CLS; reranker",
})

var xlmRobertaFamily = newRobertaFamily(Family{
	Name:      "XLM-RoBERTa",
	ModelType: "xlm-roberta",
	Embedders: []string{"XLMRobertaModel", "XLMRobertaForMaskedLM"},
	Rerankers: []string{"XLMRobertaForSequenceClassification"},
	Checked:   "mean; reranker",
})

func newRobertaFamily(f Family) family {
	return family{
		Family:    f,
		prefixes:  []string{"", "roberta."},
		words:     "embeddings.word_embeddings.weight",
		layers:    "encoder.layer.",
		layersKey: "num_hidden_layers",
		scopes:    []string{"embeddings.", "encoder."},
		positions: "absolute",
		read:      readRoberta,
	}
}

// robertaLayout is RoBERTa (Liu et al., 2019): BERT with the position table used
// from the row after the padding id's on, and another classifier. Where a text itself
// spells the padding token, transformers takes it for padding and counts on without
// it; here it counts as any other.
type robertaLayout struct{ bertLayout }

func readRoberta(data []byte, c *Config) (layout, error) {
	l := &robertaLayout{bertLayout{c: c}}
	if err := l.read(data, 1e-12); err != nil {
		return nil, err
	}
	var raw struct {
		PadID *int `json:"pad_token_id"`
	}
	if err := decodeConfig(data, &raw); err != nil {
		return nil, err
	}
	if raw.PadID == nil {
		return nil, fmt.Errorf("%w: no pad_token_id; positions are counted from it", ErrConfig)
	}
	return l, l.from(*raw.PadID)
}

// from makes positions start after the padding id.
func (l *bertLayout) from(pad int) error {
	c := l.c
	if pad < 0 || pad >= c.Vocab {
		return fmt.Errorf("%w: pad_token_id %d lies outside the vocabulary of %d", ErrConfig, pad, c.Vocab)
	}
	l.first = pad + 1
	if c.Positions <= l.first {
		return fmt.Errorf("%w: max_position_embeddings is %d, positions start at %d, after pad_token_id", ErrConfig, c.Positions, l.first)
	}
	c.Positions -= l.first
	return nil
}

func (l *robertaLayout) head(n *names) ([]HeadLayer, Pooling) {
	return denseHead(n, l.c.Hidden), PoolCLS
}

// denseHead is tanh(W·x + b) of the first state and one linear map, both beside the
// encoder.
func denseHead(n *names, hidden int) []HeadLayer {
	n = n.outside()
	return []HeadLayer{
		{Linear: n.linear("classifier.dense", hidden, hidden, true), Act: Tanh},
		{Linear: n.linear("classifier.out_proj", hidden, 1, true)},
	}
}
