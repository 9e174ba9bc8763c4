package model

import "testing"

// described gives a model of the sizes without weights.
func described(t *testing.T, c Config) *Model {
	t.Helper()
	m := &Model{Config: c, Weights: &Weights{
		tensors: []Tensor{{Name: bertWords}, {Name: "pooler.dense.weight", Shape: []int{c.Hidden, c.Hidden}}, {Name: "pooler.dense.bias", Shape: []int{c.Hidden}}},
		byName:  map[string]int{bertWords: 0, "pooler.dense.weight": 1, "pooler.dense.bias": 2},
	}}
	n := bertNames{w: m.Weights}
	m.Embedding = n.embedding(c)
	for i := range c.Layers {
		m.Layers = append(m.Layers, n.layer(i, c))
	}
	return m
}

func TestParametersAndWork(t *testing.T) {
	for _, c := range []struct {
		name                    string
		layers, hidden, heads   int
		ffn                     int
		parameters, pooler      int64
		perToken, per512, chunk float64 // MFLOP a token linear, at 512; GFLOP a chunk of 512
	}{
		{"all-MiniLM-L6-v2", 6, 384, 12, 1536, 22_565_376, 147_840, 21.233664, 25.952256, 13.287555072},
		{"e5-small-v2", 12, 384, 12, 1536, 33_212_160, 147_840, 42.467328, 51.904512, 26.575110144},
		{"bge-base-en-v1.5", 12, 768, 12, 3072, 108_891_648, 590_592, 169.869312, 188.743680, 96.63676416},
		{"BERT-large", 24, 1024, 16, 4096, 334_092_288, 1_049_600, 603.979776, 654.311424, 335.007449088},
	} {
		m := described(t, Config{Layers: c.layers, Hidden: c.hidden, Heads: c.heads, FFN: c.ffn, Vocab: 30522, Positions: 512, Types: 2, Act: GELU})
		if enc, pooler := m.Parameters(); enc != c.parameters || pooler != c.pooler {
			t.Errorf("%s: %d parameters and %d of the pooler, want %d and %d", c.name, enc, pooler, c.parameters, c.pooler)
		}
		if got := m.LinearFLOPPerToken(); got != c.perToken*1e6 {
			t.Errorf("%s: %v linear FLOP a token, want %v", c.name, got, c.perToken*1e6)
		}
		if got := m.LinearFLOPPerToken() + 512*m.AttentionFLOPPerToken2(); got != c.per512*1e6 {
			t.Errorf("%s: %v FLOP a token at 512, want %v", c.name, got, c.per512*1e6)
		}
		if got := m.RowFLOP(512); got != c.chunk*1e9 {
			t.Errorf("%s: %v FLOP a chunk, want %v", c.name, got, c.chunk*1e9)
		}
	}
}
