package model_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"encbench/engine/model"
	"encbench/engine/model/modeltest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const (
	microDense      = "testdata/micro-bert-dense"
	microRoberta    = "testdata/micro-roberta-reranker"
	microDistilbert = "testdata/micro-distilbert-reranker"
	microMPNet      = "testdata/micro-mpnet-reranker"
	microModern     = "testdata/micro-modernbert-reranker"
	microShards     = "testdata/micro-modernbert-shards"
	microNomic      = "testdata/micro-nomic-mean"
	microGTE        = "testdata/micro-gte-cls"
	microGTEPairs   = "testdata/micro-gte-reranker"
	microQwen       = "testdata/micro-qwen3-last"
)

// TestDescriptions holds what is understood of every checkpoint in testdata against
// a text that was read line by line beside the reference implementation's code. That
// the numbers come out is tested by who computes them.
func TestDescriptions(t *testing.T) {
	dirs, err := filepath.Glob("testdata/*/config.json")
	if err != nil || len(dirs) < 12 {
		t.Fatalf("%d checkpoints, %v", len(dirs), err)
	}
	var b strings.Builder
	for _, path := range dirs {
		describe(&b, open(t, filepath.Dir(path), model.Options{}))
	}
	golden := filepath.Join("testdata", "descriptions.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	got, expected := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(got), len(expected)) {
		g, w := at(got, i), at(expected, i)
		if g != w {
			t.Fatalf("line %d:\n got %s\nwant %s", i+1, g, w)
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "nothing"
}

// describe prints a model; of layers that differ only in their number one.
func describe(b *strings.Builder, m *model.Model) {
	enc, pooler := m.Parameters()
	fmt.Fprintf(b, "%s: %s %s, pooling %s, normalize %t, dim %d, longest row %d, %d token types, pad %d\n",
		m.Name, m.Config.Family, m.Kind, m.Pooling, m.Normalize, m.Dim(), m.MaxPositions(), m.Types(), m.Config.PadID)
	fmt.Fprintf(b, "  %d parameters, %d of an unused pooler, %.0f linear FLOP a token, %.0f FLOP in a row of 40\n",
		enc, pooler, m.LinearFLOPPerToken(), m.RowFLOP(40))
	e := m.Embedding
	fmt.Fprintf(b, "  word %s, position %s from %d, type %s, norm %s\n", table(e.Word), table(e.Position), e.FirstPosition, table(e.Type), norm(e.Norm))
	if m.RelativeBias.Table.Weight != "" {
		fmt.Fprintf(b, "  bias %s to distance %d\n", table(m.RelativeBias.Table), m.RelativeBias.MaxDistance)
	}
	var before string
	for i, l := range m.Layers {
		text := layer(l)
		if same := strings.ReplaceAll(text, fmt.Sprintf(".%d.", i), ".N."); same != before {
			fmt.Fprintf(b, "  layer %d%s", i, text)
			before = same
		}
	}
	fmt.Fprintf(b, "  %d layers, final norm %s\n", len(m.Layers), norm(m.FinalNorm))
	for _, h := range m.Head {
		fmt.Fprintf(b, "  head %s %s norm %s\n", linear(h.Linear), orNone(string(h.Act)), norm(h.Norm))
	}
}

func layer(l model.Layer) string {
	a, f := l.Attention, l.FeedForward
	return fmt.Sprintf(" prenorm %t, %d/%d heads of %d, window %d, causal %t, rope %g/%d, act %s\n    attention norm %s\n    q %s, k %s, v %s, out %s, q norm %s, k norm %s\n    output norm %s\n    up %s, gate %s, down %s\n",
		l.PreNorm, a.Heads, a.KVHeads, a.HeadDim, a.Window, a.Causal, a.Rope.Theta, a.Rope.Dim, f.Act, norm(l.AttentionNorm),
		linear(a.Query), linear(a.Key), linear(a.Value), linear(a.Output), norm(a.QueryNorm), norm(a.KeyNorm),
		norm(l.OutputNorm), linear(f.Up), linear(f.Gate), linear(f.Down))
}

func table(t model.Table) string {
	if t.Weight == "" {
		return "none"
	}
	return fmt.Sprintf("%s %d×%d", t.Weight, t.Rows, t.Dim)
}

func norm(n model.Norm) string {
	if n.Weight == "" {
		return "none"
	}
	kind := "layer"
	if n.RMS {
		kind = "rms"
	}
	return fmt.Sprintf("%s %s+%s %d eps %g", kind, n.Weight, orNone(n.Bias), n.Dim, n.Eps)
}

func linear(l model.Linear) string {
	if l.Weight == "" {
		return "none"
	}
	rows := ""
	if l.Rows > 0 {
		rows = fmt.Sprintf(" rows %d of %d", l.Row, l.Rows)
	}
	return fmt.Sprintf("%s+%s %d→%d%s", l.Weight, orNone(l.Bias), l.In, l.Out, rows)
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// TestGoldensOpen opens every checkpoint with reference outputs that is at hand, the
// project's shared ones among them, and holds what golden.json says of it against
// the description.
func TestGoldensOpen(t *testing.T) {
	families := map[string]bool{}
	for _, dir := range modeltest.Goldens(t) {
		m, g := open(t, dir, model.Options{}), modeltest.ReadGolden(t, dir)
		families[m.Config.Family] = true
		if m.Dim() != len(g.Outputs()[0]) || m.Normalize != g.Normalize || (m.Kind == model.Reranker) != (g.Logits != nil) {
			t.Errorf("%s: %s of %d values, normalize %t; golden.json has %d values, normalize %t",
				dir, m.Kind, m.Dim(), m.Normalize, len(g.Outputs()[0]), g.Normalize)
		}
		want := g.Pooling
		if want == "lasttoken" {
			want = "last"
		}
		if m.Kind == model.Embedder && string(m.Pooling) != want {
			t.Errorf("%s: pooling %s, golden.json has %s", dir, m.Pooling, want)
		}
		for i, ids := range g.InputIDs {
			if len(ids) > m.MaxPositions() || int(slices.Max(ids)) >= m.Config.Vocab {
				t.Errorf("%s: row %d of %d ids does not fit", dir, i, len(ids))
			}
		}
	}
	for _, f := range model.Families() {
		if f.Name != "XLM-RoBERTa" && !families[f.Name] { // RoBERTa under another name
			t.Errorf("no golden for family %s", f.Name)
		}
		if f.Checked == "" || len(f.Embedders) == 0 {
			t.Errorf("family %+v says too little", f)
		}
	}
}

// TestPrefixes opens checkpoints under the names that models with heads save.
func TestPrefixes(t *testing.T) {
	for _, c := range []struct{ dir, prefix string }{
		{tinyMean, "bert."}, {microNomic, "nomic_bert."}, {microGTE, "gte."}, {microGTE, "new."}, {microQwen, ""},
	} {
		f := modeltest.Fault{Prefix: c.prefix}
		if c.dir == microQwen { // its own file has the prefix
			f.Rename = map[string]string{}
			for _, x := range modeltest.ReadTensors(t, filepath.Join(c.dir, "model.safetensors")) {
				f.Rename[x.Name] = strings.TrimPrefix(x.Name, "model.")
			}
		}
		m, as := open(t, modeltest.Damage(t, c.dir, f), model.Options{}), open(t, c.dir, model.Options{})
		a, _ := m.Parameters()
		b, _ := as.Parameters()
		if a != b || len(m.Tensors()) != len(as.Tensors()) {
			t.Errorf("%s with prefix %q: %d parameters, want %d", c.dir, c.prefix, a, b)
		}
	}
}

// TestNomicConfigStyles writes the authors' config in place of the one that
// transformers writes, and expects the same model.
func TestNomicConfigStyles(t *testing.T) {
	old := map[string]any{
		"n_layer": 2, "n_embd": 16, "n_head": 2, "n_inner": 24, "n_positions": 50, "layer_norm_epsilon": 1e-12,
		"activation_function": "swiglu", "rotary_emb_base": 1000, "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": false,
		"rotary_emb_scale_base": nil, "rotary_scaling_factor": nil, "prenorm": false, "qkv_proj_bias": false,
		"mlp_fc1_bias": false, "mlp_fc2_bias": false, "use_rms_norm": false, "parallel_block": false, "causal": false,
	}
	for _, key := range []string{"num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size",
		"max_position_embeddings", "layer_norm_eps", "hidden_act", "rope_parameters", "head_dim"} {
		old[key] = nil
	}
	var got, want strings.Builder
	describe(&got, open(t, modeltest.Damage(t, microNomic, modeltest.Fault{Config: old}), model.Options{}))
	describe(&want, open(t, microNomic, model.Options{}))
	if got.String() != want.String() {
		t.Errorf("got %s\nwant %s", got.String(), want.String())
	}
	for key, c := range map[string]struct {
		v    any
		want string
	}{
		"rotary_emb_interleaved": {true, "rotary_emb_interleaved is true; supported is false"},
		"prenorm":                {true, "prenorm is true; supported is false"},
		"causal":                 {true, "causal is true; supported is false"},
		"qkv_proj_bias":          {true, "qkv_proj_bias is true; supported is false"},
		"rotary_emb_fraction":    {0.5, "rotary_emb_fraction is not 1, the supported value"},
		"rotary_scaling_factor":  {2, "rotary_scaling_factor is 2; supported is null"},
		"rotary_emb_scale_base":  {512, "rotary_emb_scale_base is 512; supported is null"},
		"activation_function":    {"gelu", "activation_function is not swiglu, the supported value"},
		"rotary_emb_base":        {nil, "no rope_parameters.rope_theta and no rope_theta"},
	} {
		changed := map[string]any{}
		for k, v := range old {
			changed[k] = v
		}
		changed[key] = c.v
		dir := modeltest.Damage(t, microNomic, modeltest.Fault{Config: changed})
		if _, err := model.Open(dir); !strings.HasSuffix(text(err, dir), ": "+c.want) || !strings.HasPrefix(text(err, dir), "open model: read DIR/config.json: ") {
			t.Errorf("%s %v:\n got %s\nwant %s", key, c.v, text(err, dir), c.want)
		}
	}
}

// TestModernbertConfigStyles writes the older style in place of the newer.
func TestModernbertConfigStyles(t *testing.T) {
	base := modeltest.Damage(t, microModern, modeltest.Fault{Config: map[string]any{
		"layer_types": []string{"full_attention", "sliding_attention", "full_attention"},
	}})
	older := modeltest.Damage(t, base, modeltest.Fault{Config: map[string]any{
		"layer_types": nil, "rope_parameters": nil, "global_attn_every_n_layers": 2, "global_rope_theta": 160000.0, "local_rope_theta": 10000.0,
		"position_embedding_type": "absolute", // which ModernBERT's first configs say
	}})
	var got, want strings.Builder
	describe(&got, open(t, older, model.Options{Name: "m"}))
	describe(&want, open(t, base, model.Options{Name: "m"}))
	if got.String() != want.String() {
		t.Errorf("got %s\nwant %s", got.String(), want.String())
	}
}

// TestOpenRefusesOfFamilies asks each family for what it does not compute, and for
// weights that do not belong to the config.
func TestOpenRefusesOfFamilies(t *testing.T) {
	config := func(kv ...any) modeltest.Fault {
		f := modeltest.Fault{Config: map[string]any{}}
		for i := 0; i < len(kv); i += 2 {
			f.Config[kv[i].(string)] = kv[i+1]
		}
		return f
	}
	rope := func(kind string, theta any) map[string]any {
		return map[string]any{"rope_type": kind, "rope_theta": theta}
	}
	const (
		unsupported = "read DIR/config.json: unsupported model: "
		bad         = "read DIR/config.json: bad model description: "
		weights     = "read weights DIR/model.safetensors: "
	)
	for _, c := range []struct {
		dir   string
		fault modeltest.Fault
		want  string
	}{
		// Rerankers.
		{microRoberta, config("id2label", map[string]any{"0": "a", "1": "b", "2": "c"}),
			unsupported + "RobertaForSequenceClassification has 3 labels (id2label, num_labels); a reranker has one: its logit is the score of a pair"},
		{microRoberta, config("num_labels", 3),
			unsupported + "RobertaForSequenceClassification has 3 labels (id2label, num_labels); a reranker has one: its logit is the score of a pair"},
		{microRoberta, config("id2label", nil),
			unsupported + "RobertaForSequenceClassification has 2 labels (id2label, num_labels); a reranker has one: its logit is the score of a pair"},
		{microRoberta, modeltest.Fault{Drop: "classifier.out_proj.bias"},
			weights + "missing tensor: classifier.out_proj.bias, of shape [1] by config.json"},
		{microModern, config("classifier_pooling", "max"), unsupported + `classifier_pooling "max"; supported are cls, mean`},
		{microModern, config("classifier_activation", "mish"), unsupported + `classifier_activation "mish"; supported are gelu, gelu_new, gelu_pytorch_tanh, silu, relu, tanh`},
		// RoBERTa and MPNet.
		{microRoberta, config("pad_token_id", nil), bad + "no pad_token_id; positions are counted from it"},
		{microRoberta, config("pad_token_id", 64), bad + "pad_token_id 64 lies outside the vocabulary of 64"},
		{microRoberta, config("pad_token_id", 60), bad + "max_position_embeddings is 50, positions start at 61, after pad_token_id"},
		{microRoberta, config("hidden_act", "gelu_10"), unsupported + `hidden_act "gelu_10"; supported are gelu, gelu_new, gelu_pytorch_tanh, silu, relu, tanh`},
		{microRoberta, modeltest.Fault{Drop: "roberta.encoder.layer.1.attention.self.key.bias"},
			weights + "missing tensor: roberta.encoder.layer.1.attention.self.key.bias, of shape [16] by config.json"},
		{microRoberta, config("num_hidden_layers", 1),
			weights + `bad model description: tensor "roberta.encoder.layer.1.attention.output.LayerNorm.bias" belongs to a layer that config.json does not name: the weights have 2 layers, num_hidden_layers is 1`},
		{microRoberta, config("vocab_size", 65), weights + "shape mismatch: tensor roberta.embeddings.word_embeddings.weight is [65, 16] by config.json, the file has [64, 16]; these are of two models: get config.json and the weights of one"},
		{microMPNet, config("pad_token_id", 0), unsupported + "pad_token_id is 0; MPNet counts positions from 1 whatever the id"},
		{microMPNet, config("relative_attention_num_buckets", 64), unsupported + "relative_attention_num_buckets is 64; MPNet computes with 32 whatever the number"},
		{microMPNet, modeltest.Fault{Drop: "mpnet.encoder.relative_attention_bias.weight"},
			weights + "missing tensor: mpnet.encoder.relative_attention_bias.weight, of shape [32, 2] by config.json"},
		{microMPNet, config("num_hidden_layers", 1),
			weights + `bad model description: tensor "mpnet.encoder.layer.1.attention.LayerNorm.bias" belongs to a layer that config.json does not name: the weights have 2 layers, num_hidden_layers is 1`},
		{microMPNet, config("type_vocab_size", 2, "architectures", []string{"MPNetForTokenClassification"}),
			unsupported + "architecture MPNetForTokenClassification, model_type mpnet; of this type supported are MPNetModel, MPNetForMaskedLM, MPNetForSequenceClassification"},
		// DistilBERT.
		{microDistilbert, config("dim", nil), bad + "no dim"},
		{microDistilbert, config("n_heads", 3), bad + "dim 16 is not a multiple of n_heads 3"},
		{microDistilbert, config("activation", "swiglu"), unsupported + `activation "swiglu"; supported are gelu, gelu_new, gelu_pytorch_tanh, silu, relu, tanh`},
		{microDistilbert, modeltest.Fault{Drop: "pre_classifier.weight"}, weights + "missing tensor: pre_classifier.weight, of shape [16, 16] by config.json"},
		{microDistilbert, config("n_layers", 1),
			weights + `bad model description: tensor "distilbert.transformer.layer.1.attention.k_lin.bias" belongs to a layer that config.json does not name: the weights have 2 layers, n_layers is 1`},
		{microDistilbert, modeltest.Fault{Rename: map[string]string{"distilbert.embeddings.word_embeddings.weight": "words"}},
			weights + `missing tensor: embeddings.word_embeddings.weight (looked for with the prefixes ["" "distilbert."])`},
		// ModernBERT.
		{microModern, config("hidden_activation", "geglu"), unsupported + `hidden_activation "geglu"; supported are gelu, gelu_new, gelu_pytorch_tanh, silu, relu, tanh`},
		{microModern, config("local_attention", 1), bad + "local_attention is 1, must be 2 to 268435456"},
		{microModern, config("local_attention", nil), bad + "no local_attention"},
		{microModern, config("layer_types", nil), bad + "no layer_types and no global_attn_every_n_layers"},
		{microModern, config("layer_types", nil, "global_attn_every_n_layers", 0), bad + "global_attn_every_n_layers is 0, must be 1 to 268435456"},
		{microModern, config("layer_types", []string{"full_attention"}), bad + "layer_types has 1 entries, num_hidden_layers is 3"},
		{microModern, config("layer_types", []string{"full_attention", "linear_attention", "full_attention"}),
			unsupported + `layer_types[1] is "linear_attention"; supported are full_attention, sliding_attention`},
		{microModern, config("global_attn_every_n_layers", 3), bad + "layer_types[0] is sliding_attention, global_attn_every_n_layers is 3: they must agree"},
		{microModern, config("rope_parameters", nil), bad + "no rope_parameters.full_attention.rope_theta and no global_rope_theta"},
		{microModern, config("rope_parameters", nil, "global_rope_theta", 160000), bad + "no rope_parameters.sliding_attention.rope_theta and no local_rope_theta"},
		{microModern, config("local_rope_theta", 5000), bad + "rope_parameters.sliding_attention.rope_theta is 10000, local_rope_theta is 5000: they must agree"},
		{microModern, config("rope_parameters", nil, "global_rope_theta", 0.5), bad + "global_rope_theta is 0.5, must be above 1"},
		{microModern, config("rope_parameters", map[string]any{"full_attention": rope("yarn", 1e5)}),
			unsupported + `rope_parameters.full_attention asks for type "yarn"; supported is default`},
		{microModern, config("rope_scaling", map[string]any{"type": "linear", "factor": 4}), unsupported + `rope_scaling asks for type "linear"; supported is default`},
		{microModern, config("rope_scaling", map[string]any{"rope_type": "default", "rope_theta": 77.0}),
			bad + "rope_scaling.rope_theta is 77, the base that config.json names elsewhere is 160000: they must agree"},
		{microModern, config("rope_parameters", rope("linear", 1e5)), unsupported + `rope_parameters asks for type "linear"; supported is default`},
		{microModern, config("rope_parameters", rope("default", 1e5)),
			bad + "rope_parameters.rope_theta is 100000; layers with and without a window have a base each, in rope_parameters.full_attention and sliding_attention"},
		{microModern, config("sliding_window", 2), bad + "sliding_window is 2, local_attention is 6: the first must be half of the second"},
		{microModern, config("attention_bias", false),
			weights + `bad model description: tensor "model.layers.0.attn.Wo.bias" is no part of the ModernBERT encoder that config.json describes; config.json and the weights do not belong together`},
		{microModern, config("norm_bias", false),
			weights + `bad model description: tensor "model.embeddings.norm.bias" is no part of the ModernBERT encoder that config.json describes; config.json and the weights do not belong together`},
		{microModern, modeltest.Fault{Drop: "model.layers.2.mlp.Wi.bias"}, weights + "missing tensor: model.layers.2.mlp.Wi.bias, of shape [48] by config.json"},
		{microModern, modeltest.Fault{Drop: "model.final_norm.weight"}, weights + "missing tensor: model.final_norm.weight, of shape [16] by config.json"},
		{microModern, modeltest.Fault{Drop: "head.norm.weight"}, weights + "missing tensor: head.norm.weight, of shape [16] by config.json"},
		{microModern, config("intermediate_size", 32), weights + "shape mismatch: tensor model.layers.0.mlp.Wi.weight is [64, 16] by config.json, the file has [48, 16]; these are of two models: get config.json and the weights of one"},
		{microModern, config("num_attention_heads", 16), bad + "rotary positions turn pairs of values, heads have 1"},
		// Nomic BERT and GTE.
		{microNomic, config("head_dim", 4), unsupported + "head_dim is 4; supported is hidden_size / num_attention_heads, 8"},
		{microNomic, config("rope_parameters", rope("dynamic", 1000)), unsupported + `rope_parameters asks for type "dynamic"; supported is default`},
		{microNomic, config("partial_rotary_factor", 0.5), unsupported + "partial_rotary_factor is 0.5; supported is 1"},
		{microNomic, config("position_embedding_type", "absolute"), unsupported + `position_embedding_type "absolute"; supported is rope`},
		{microNomic, modeltest.Fault{Drop: "encoder.layers.1.mlp.fc12.weight"}, weights + "missing tensor: encoder.layers.1.mlp.fc12.weight, of shape [24, 16] by config.json"},
		{microNomic, config("num_hidden_layers", 1),
			weights + `bad model description: tensor "encoder.layers.1.attn.Wqkv.weight" belongs to a layer that config.json does not name: the weights have 2 layers, num_hidden_layers is 1`},
		{microGTE, config("rope_scaling", map[string]any{"type": "ntk", "factor": 8.0}), unsupported + `rope_scaling asks for type "ntk"; supported is default`},
		{microGTE, config("layer_norm_type", "rms_norm"), unsupported + `layer_norm_type "rms_norm"; supported is layer_norm`},
		{microGTE, config("pack_qkv", false), unsupported + "pack_qkv is false; supported is true"},
		{microGTE, config("logn_attention_scale", true), unsupported + "logn_attention_scale is true; supported is false"},
		{microGTE, config("type_vocab_size", 1), weights + "missing tensor: embeddings.token_type_embeddings.weight, of shape [1, 16] by config.json"},
		{microGTEPairs, config("type_vocab_size", 0),
			weights + `bad model description: tensor "gte.embeddings.token_type_embeddings.weight" is no part of the GTE encoder that config.json describes; config.json and the weights do not belong together`},
		{microGTEPairs, modeltest.Fault{Drop: "gte.pooler.dense.weight"}, weights + "missing tensor: gte.pooler.dense.weight, of shape [16, 16] by config.json"},
		// Qwen3.
		{microQwen, config("use_sliding_window", true), unsupported + "use_sliding_window is true; supported is attention to all that is before"},
		{microQwen, config("layer_types", []string{"full_attention", "sliding_attention"}), unsupported + "layer_types[1] is sliding_attention; supported is full_attention"},
		{microQwen, config("num_key_value_heads", 3), bad + "num_attention_heads 4 is not a multiple of num_key_value_heads 3"},
		{microQwen, config("num_attention_heads", 1<<28, "num_key_value_heads", 1), bad + "num_attention_heads 268435456 of head_dim 8 are more than 268435456 values"},
		{microQwen, config("head_dim", nil), bad + "no head_dim"},
		{microQwen, config("attention_bias", false),
			weights + `bad model description: tensor "model.layers.0.self_attn.k_proj.bias" is no part of the Qwen3 encoder that config.json describes; config.json and the weights do not belong together`},
		{microQwen, config("rope_theta", 1e4), bad + "rope_parameters.rope_theta is 1e+06, rope_theta is 10000: they must agree"},
		{microQwen, config("architectures", []string{"Qwen3ForSequenceClassification"}),
			unsupported + "architecture Qwen3ForSequenceClassification, model_type qwen3; of this type supported are Qwen3Model, Qwen3ForCausalLM"},
		{microQwen, modeltest.Fault{Drop: "model.layers.1.self_attn.q_norm.weight"}, weights + "missing tensor: model.layers.1.self_attn.q_norm.weight, of shape [8] by config.json"},
		{microQwen, config("num_hidden_layers", 1, "layer_types", nil),
			weights + `bad model description: tensor "model.layers.1.input_layernorm.weight" belongs to a layer that config.json does not name: the weights have 2 layers, num_hidden_layers is 1`},
		{microQwen, config("rope_scaling", map[string]any{"rope_theta": 77.0}),
			bad + "rope_scaling.rope_theta is 77, the base that config.json names elsewhere is 1e+06: they must agree"},
		// Synthetic directories.
		{microNomic, config("encbench_synthetic", map[string]any{"tokenizer": "none"}), bad + `encbench_synthetic.tokenizer is "none", must be real or stand-in`},
	} {
		dir := modeltest.Damage(t, c.dir, c.fault)
		m, err := model.Open(dir)
		if got := text(err, dir); got != "open model: "+c.want {
			t.Errorf("%s, fault %+v:\n got %s\nwant open model: %s", c.dir, c.fault, got, c.want)
		}
		if err == nil {
			m.Close()
		} else if !errors.Is(err, model.ErrConfig) && !errors.Is(err, model.ErrUnsupported) && !errors.Is(err, model.ErrMissingTensor) && !errors.Is(err, model.ErrShape) {
			t.Errorf("%s: the error is of no kind: %v", c.dir, err)
		}
	}
}

// TestQwenLooksBothWays opens a decoder without a causal mask.
func TestQwenLooksBothWays(t *testing.T) {
	for value, causal := range map[any]bool{nil: true, true: true, false: false} {
		dir := modeltest.Damage(t, microQwen, modeltest.Fault{Config: map[string]any{"is_causal": value}})
		for i, l := range open(t, dir, model.Options{}).Layers {
			if l.Attention.Causal != causal {
				t.Errorf("is_causal %v: layer %d is causal: %t", value, i, l.Attention.Causal)
			}
		}
	}
}

// TestEveryTensorIsNeeded leaves out each tensor of each checkpoint in turn.
func TestEveryTensorIsNeeded(t *testing.T) {
	for _, from := range []string{microRoberta, microDistilbert, microMPNet, microModern, microNomic, microGTE, microGTEPairs, microQwen} {
		for _, x := range modeltest.ReadTensors(t, filepath.Join(from, "model.safetensors")) {
			dir := modeltest.Damage(t, from, modeltest.Fault{Drop: x.Name})
			m, err := model.Open(dir)
			if err == nil {
				m.Close()
				t.Errorf("%s opens without %s", from, x.Name)
			} else if !errors.Is(err, model.ErrMissingTensor) {
				t.Errorf("%s without %s: %v", from, x.Name, err)
			}
		}
	}
}

func TestSynthetic(t *testing.T) {
	for tokenizer, standIn := range map[string]bool{model.SyntheticReal: false, model.SyntheticStandIn: true} {
		dir := modeltest.Damage(t, microNomic, modeltest.Fault{Config: map[string]any{
			"encbench_synthetic": map[string]any{"shape": "nomic-bert", "seed": 7, "tokenizer": tokenizer}}})
		m := open(t, dir, model.Options{})
		s, ok := m.SyntheticShape()
		if !m.Synthetic || !ok || s != (model.Synthetic{Shape: "nomic-bert", Seed: 7, Tokenizer: tokenizer}) || m.SyntheticTokenizer() != standIn {
			t.Errorf("%s: synthetic %t, %+v, stand-in %t", tokenizer, m.Synthetic, s, m.SyntheticTokenizer())
		}
	}
	m := open(t, microNomic, model.Options{})
	if _, ok := m.SyntheticShape(); ok || m.Synthetic || m.SyntheticTokenizer() {
		t.Error("real weights are called synthetic")
	}
}
