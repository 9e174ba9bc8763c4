package model

import (
	"encoding/json"
	"testing"
)

// shaped gives the description of a config without looking at weights; pooler puts
// BERT's into them.
func shaped(t *testing.T, config map[string]any, pooler int) *Model {
	t.Helper()
	data, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	d, err := parseConfig(data)
	if err != nil {
		t.Fatal(err)
	}
	n := names{w: newWeights("none")}
	m := &Model{Kind: Embedder, Config: d.config, Weights: n.w, Embedding: d.layout.embedding(&n)}
	for i := range m.Config.Layers {
		m.Layers = append(m.Layers, d.layout.layer(&n, i))
	}
	if l, ok := d.layout.(finalNorm); ok {
		m.FinalNorm = l.finalNorm(&n)
	}
	if pooler > 0 {
		n.w.tensors = []Tensor{{Name: "bert.pooler.dense.weight", Shape: []int{pooler, pooler}}, {Name: "bert.pooler.dense.bias", Shape: []int{pooler}}}
	}
	return m
}

func bertShape(layers, hidden, heads, ffn int) map[string]any {
	return map[string]any{"model_type": "bert", "num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads,
		"intermediate_size": ffn, "vocab_size": 30522, "max_position_embeddings": 512, "type_vocab_size": 2, "hidden_act": "gelu"}
}

func modernShape(layers, hidden, heads, ffn, vocab int) map[string]any {
	return map[string]any{"model_type": "modernbert", "num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads,
		"intermediate_size": ffn, "vocab_size": vocab, "max_position_embeddings": 8192, "hidden_activation": "gelu", "local_attention": 128,
		"global_attn_every_n_layers": 3, "global_rope_theta": 80000.0, "local_rope_theta": 10000.0, "pad_token_id": 0}
}

// TestParametersAndWork counts the models of the field.
func TestParametersAndWork(t *testing.T) {
	for _, c := range []struct {
		name               string
		config             map[string]any
		parameters, pooler int64
		perToken           float64 // FLOP in linear layers
		row                int
		work               float64 // FLOP of a row
	}{
		{"all-MiniLM-L6-v2", bertShape(6, 384, 12, 1536), 22_565_376, 147_840, 21_233_664, 512, 13_287_555_072},
		{"e5-small-v2", bertShape(12, 384, 12, 1536), 33_212_160, 147_840, 42_467_328, 512, 26_575_110_144},
		{"bge-base-en-v1.5", bertShape(12, 768, 12, 3072), 108_891_648, 590_592, 169_869_312, 512, 96_636_764_160},
		{"BERT-large", bertShape(24, 1024, 16, 4096), 334_092_288, 1_049_600, 603_979_776, 512, 335_007_449_088},
		{"granite-small-english-r2", modernShape(12, 384, 12, 1536, 50368), 47_662_464, 0, 56_623_104, 512, 512*56_623_104 + 4*384*512*(4*512+8*129)},
		{"granite-english-r2", modernShape(22, 768, 12, 1152, 50368), 149_014_272, 0, 220_594_176, 512, 512*220_594_176 + 4*768*512*(8*512+14*129)},
		{"granite-97m-multilingual-r2", modernShape(12, 384, 12, 1536, 180000), 97_441_152, 0, 56_623_104, 64, 64*56_623_104 + 4*384*64*12*64},
		{"granite-311m-multilingual-r2", modernShape(22, 768, 12, 1152, 262152), 311_664_384, 0, 220_594_176, 8192, 8192 * (220_594_176 + 4*768*(8*8192+14*129))},
		{"ModernBERT-large", modernShape(28, 1024, 16, 2624, 50368), 394_781_696, 0, 686_292_992, 128, 128*686_292_992 + 4*1024*128*28*128},
		{"Qwen3-Embedding-0.6B", map[string]any{"model_type": "qwen3", "num_hidden_layers": 28, "hidden_size": 1024, "num_attention_heads": 16,
			"num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 3072, "vocab_size": 151669, "max_position_embeddings": 32768,
			"hidden_act": "silu", "rope_theta": 1e6}, 595_776_512, 0, 880_803_840, 512, 512*880_803_840 + 4*28*2048*512*513/2},
	} {
		d := 0
		if c.pooler > 0 {
			d = c.config["hidden_size"].(int)
		}
		m := shaped(t, c.config, d)
		if enc, pooler := m.Parameters(); enc != c.parameters || pooler != c.pooler {
			t.Errorf("%s: %d parameters and %d of the pooler, want %d and %d", c.name, enc, pooler, c.parameters, c.pooler)
		}
		if got := m.LinearFLOPPerToken(); got != c.perToken {
			t.Errorf("%s: %v linear FLOP a token, want %v", c.name, got, c.perToken)
		}
		if got := m.RowFLOP(c.row); got != c.work {
			t.Errorf("%s: %v FLOP in a row of %d, want %v", c.name, got, c.row, c.work)
		}
	}
}

// TestAttentionFLOP counts the pairs of a query and a key that the masks let through,
// one by one, and holds the formula against them: exactly for causal and for whole
// layers, as an upper bound that is the mean inside the row for windows.
func TestAttentionFLOP(t *testing.T) {
	for _, a := range []Attention{{Heads: 3, HeadDim: 8}, {Heads: 3, HeadDim: 8, Window: 4}, {Heads: 4, KVHeads: 2, HeadDim: 8, Causal: true}} {
		m := &Model{Layers: []Layer{{Attention: a}}}
		for n := 1; n < 40; n++ {
			pairs, most := 0, 0
			for q := range n {
				keys := 0
				for k := range n {
					if (a.Window == 0 || max(q-k, k-q) <= a.Window) && (!a.Causal || k <= q) {
						keys++
					}
				}
				pairs, most = pairs+keys, max(most, keys)
			}
			if a.Window > 0 {
				pairs = n * min(n, 2*a.Window+1)
				if most > min(n, 2*a.Window+1) {
					t.Fatalf("%d keys in a window of %d", most, a.Window)
				}
			}
			if want := float64(4 * a.Heads * a.HeadDim * pairs); m.AttentionFLOP(n) != want {
				t.Errorf("%+v, row of %d: %v FLOP, want %v", a, n, m.AttentionFLOP(n), want)
			}
			if m.AttentionFLOP(n) > m.AttentionFLOPPerToken2()*float64(n*n) {
				t.Errorf("%+v, row of %d: above the bound", a, n)
			}
		}
	}
}
