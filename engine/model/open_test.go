package model_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"encbench/engine/model"
	"encbench/engine/model/modeltest"
)

const (
	tinyMean = "testdata/tiny-bert-mean"
	tinyCLS  = "testdata/tiny-bert-cls"
)

func open(t *testing.T, dir string, opt model.Options) *model.Model {
	t.Helper()
	m, err := model.OpenWith(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func TestOpen(t *testing.T) {
	for _, c := range []struct {
		dir     string
		pooling model.Pooling
		pooler  int64
	}{{tinyMean, model.PoolMean, 0}, {tinyCLS, model.PoolCLS, 64*64 + 64}} {
		m := open(t, c.dir, model.Options{})
		if m.Name != filepath.Base(c.dir) || m.Source != model.SourceDirectory || m.Revision != "" {
			t.Errorf("%s: name %q, source %q, revision %q", c.dir, m.Name, m.Source, m.Revision)
		}
		want := model.Config{
			Family: "BERT", Architecture: "BertModel", ModelType: "bert", Layers: 3, Hidden: 64, Heads: 4, KVHeads: 4, HeadDim: 16, FFN: 128,
			Vocab: 500, Positions: 80, Types: 2, Act: model.GELU, NormEps: 1e-12, PadID: 0,
		}
		if m.Config != want {
			t.Errorf("%s: config %+v, want %+v", c.dir, m.Config, want)
		}
		if m.Pooling != c.pooling || !m.Normalize || m.Dim() != 64 || m.MaxPositions() != 80 || len(m.Layers) != 3 {
			t.Errorf("%s: pooling %s, normalize %t, dim %d, positions %d, %d layers",
				c.dir, m.Pooling, m.Normalize, m.Dim(), m.MaxPositions(), len(m.Layers))
		}
		if m.TokenizerPath != "" || m.MaxSeqLength != 0 || m.TokenizerMaxLength != 0 || len(m.Prompts) != 0 {
			t.Errorf("%s: tokenizer %q, limits %d and %d, prompts %v; the directory has none",
				c.dir, m.TokenizerPath, m.MaxSeqLength, m.TokenizerMaxLength, m.Prompts)
		}
		// (V+P+2)d + 2d + L(4(d²+d) + 2df + f + d + 4d)
		if enc, pooler := m.Parameters(); enc != 137_792 || pooler != c.pooler {
			t.Errorf("%s: %d parameters and %d of the pooler, want 137792 and %d", c.dir, enc, pooler, c.pooler)
		}
	}
}

func TestOpenReadsTheExtras(t *testing.T) {
	dir := modeltest.Copy(t, tinyMean)
	put := func(name string, v any) { modeltest.WriteJSON(t, filepath.Join(dir, name), v) }
	put("tokenizer.json", map[string]any{})
	put("sentence_bert_config.json", map[string]any{"max_seq_length": 40, "do_lower_case": true})
	put("tokenizer_config.json", map[string]any{"model_max_length": 1e30})
	put("config_sentence_transformers.json", map[string]any{
		"prompts":             map[string]any{"query": "query: ", "passage": "passage: ", "none": nil},
		"default_prompt_name": "query",
		"truncate_dim":        32,
	})
	m := open(t, dir, model.Options{Name: "e5", Revision: "abc"})
	if m.Name != "e5" || m.Revision != "abc" || m.Source != model.SourceHub {
		t.Errorf("name %q, revision %q, source %q", m.Name, m.Revision, m.Source)
	}
	if m.TokenizerPath != filepath.Join(dir, "tokenizer.json") || m.MaxSeqLength != 40 || m.TokenizerMaxLength != 0 || !m.LowerCase {
		t.Errorf("tokenizer %q, max_seq_length %d, model_max_length %d, lower case %t",
			m.TokenizerPath, m.MaxSeqLength, m.TokenizerMaxLength, m.LowerCase)
	}
	if m.TruncateDim != 32 || m.Dim() != 64 {
		t.Errorf("truncate_dim %d, dim %d; the model's vectors stay whole", m.TruncateDim, m.Dim())
	}
	for _, most := range []int{64, 65, 1 << 28} {
		all := modeltest.Copy(t, tinyMean)
		modeltest.WriteJSON(t, filepath.Join(all, "config_sentence_transformers.json"), map[string]any{"truncate_dim": most})
		if m := open(t, all, model.Options{}); m.TruncateDim != 0 {
			t.Errorf("truncate_dim %d of 64 values is read as %d", most, m.TruncateDim)
		}
	}
	if text, name := m.DocumentPrompt(); text != "passage: " || name != "passage" {
		t.Errorf("document prompt %q named %q", text, name)
	}
	delete(m.Prompts, "passage")
	if text, name := m.DocumentPrompt(); text != "query: " || name != "query" {
		t.Errorf("default prompt %q named %q", text, name)
	}
	put("sentence_bert_config.json", map[string]any{"transformer_task": "feature-extraction", "module_output_name": "token_embeddings",
		"modality_config": map[string]any{"text": map[string]any{"method": "forward", "method_output_name": "last_hidden_state"}}})
	put("tokenizer_config.json", map[string]any{"model_max_length": 512})
	if m := open(t, dir, model.Options{}); m.TokenizerMaxLength != 512 {
		t.Errorf("model_max_length %d, want 512", m.TokenizerMaxLength)
	}
}

// A pooling that leaves out the prompt's tokens takes the same last token, and without
// a prompt the same as any.
func TestCheckPrompt(t *testing.T) {
	dir := modeltest.Copy(t, tinyMean)
	for _, test := range []struct {
		mode, prompt string
		include      bool
		want         string
	}{
		{"mean", "query: ", true, ""},
		{"lasttoken", "query: ", false, ""},
		{"cls", "", false, ""},
		{"cls", "query: ", false, `unsupported model: the pooling module of DIR has include_prompt false: the tokens of the prompt "query: " cannot be left out of pooling cls; encode without a prompt`},
		{"mean", "query: ", false, `unsupported model: the pooling module of DIR has include_prompt false: the tokens of the prompt "query: " cannot be left out of pooling mean; encode without a prompt`},
	} {
		modeltest.WriteJSON(t, filepath.Join(dir, "1_Pooling", "config.json"), map[string]any{"pooling_mode": test.mode, "include_prompt": test.include})
		m := open(t, dir, model.Options{})
		got := ""
		if err := m.CheckPrompt(test.prompt); err != nil {
			got = text(err, dir)
		}
		if got != test.want {
			t.Errorf("%s, %q, include_prompt %t: got %s\nwant %s", test.mode, test.prompt, test.include, got, test.want)
		}
	}
}

// TestOpenOlderTransformerConfigs reads the length limit and the lower-casing from the
// first of the names that are there.
func TestOpenOlderTransformerConfigs(t *testing.T) {
	dir := modeltest.Copy(t, tinyMean)
	for i, name := range []string{
		"sentence_xlnet_config.json", "sentence_xlm-roberta_config.json", "sentence_albert_config.json", "sentence_camembert_config.json",
		"sentence_distilbert_config.json", "sentence_roberta_config.json", "sentence_bert_config.json",
	} {
		modeltest.WriteJSON(t, filepath.Join(dir, name), map[string]any{"max_seq_length": 10 + i, "do_lower_case": i%2 == 0})
		if m := open(t, dir, model.Options{}); m.MaxSeqLength != 10+i || m.LowerCase != (i%2 == 0) {
			t.Errorf("%s: limit %d, lower case %t", name, m.MaxSeqLength, m.LowerCase)
		}
	}
}

func TestOpenWithoutModules(t *testing.T) {
	dir := modeltest.Damage(t, tinyMean, modeltest.Fault{NoModules: true})
	m := open(t, dir, model.Options{Pooling: model.PoolCLS})
	if m.Pooling != model.PoolCLS || !m.Normalize {
		t.Errorf("pooling %s, normalize %t", m.Pooling, m.Normalize)
	}
}

func TestOpenOtherNames(t *testing.T) {
	for name, f := range map[string]modeltest.Fault{
		"prefix": {Prefix: "bert.", Config: map[string]any{"architectures": []string{"BertForMaskedLM"}}},
		"gamma and beta": {Rename: map[string]string{
			"embeddings.LayerNorm.weight":                       "embeddings.LayerNorm.gamma",
			"embeddings.LayerNorm.bias":                         "embeddings.LayerNorm.beta",
			"encoder.layer.1.attention.output.LayerNorm.weight": "encoder.layer.1.attention.output.LayerNorm.gamma",
			"encoder.layer.1.attention.output.LayerNorm.bias":   "encoder.layer.1.attention.output.LayerNorm.beta",
		}},
		"half":      {DType: model.F16},
		"bfloat":    {DType: model.BF16},
		"unaligned": {Pad: 3},
	} {
		m := open(t, modeltest.Damage(t, tinyCLS, f), model.Options{})
		if enc, pooler := m.Parameters(); enc != 137_792 || pooler != 4160 {
			t.Errorf("%s: %d parameters and %d of the pooler", name, enc, pooler)
		}
	}
}

func TestFingerprint(t *testing.T) {
	prints := map[string]string{}
	for name, dir := range map[string]string{
		"as it is":         tinyMean,
		"other weight":     modeltest.Damage(t, tinyMean, modeltest.Fault{Tensor: "encoder.layer.0.output.dense.weight", Add: 0.1}),
		"other pooling":    modeltest.Damage(t, tinyMean, modeltest.Fault{Pooling: model.PoolCLS}),
		"other head count": modeltest.Damage(t, tinyMean, modeltest.Fault{Config: map[string]any{"num_attention_heads": 2}}),
	} {
		p, err := open(t, dir, model.Options{}).Fingerprint()
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := prints[p]; ok {
			t.Errorf("%s and %s have one fingerprint", name, other)
		}
		prints[p] = name
	}
	again, err := open(t, modeltest.Copy(t, tinyMean), model.Options{}).Fingerprint()
	if err != nil || prints[again] != "as it is" {
		t.Errorf("a copy has the fingerprint of %q, %v", prints[again], err)
	}
	const want = "6182ffb908281166c6101cd9cbcad9150da521abc3952179a4bd6c0a36d5df34"
	if sum, err := open(t, tinyMean, model.Options{}).SHA256(); err != nil || sum != want {
		t.Errorf("sha256 %s, %v; want %s", sum, err, want)
	}
}

// text gives err with the model's directory as DIR.
func text(err error, dir string) string {
	if err == nil {
		return "no error"
	}
	return strings.ReplaceAll(err.Error(), dir, "DIR")
}

func TestOpenRefuses(t *testing.T) {
	config := func(key string, v any) modeltest.Fault {
		return modeltest.Fault{Config: map[string]any{key: v}}
	}
	for _, c := range []struct {
		fault modeltest.Fault
		opt   model.Options
		is    error
		want  string
	}{
		{modeltest.Fault{Cut: 100}, model.Options{}, model.ErrTruncated,
			"open model: read weights DIR/model.safetensors: truncated: header says 573504 bytes, file has 573404; get the file again"},
		{modeltest.Fault{Drop: "encoder.layer.2.output.dense.bias"}, model.Options{}, model.ErrMissingTensor,
			"open model: read weights DIR/model.safetensors: missing tensor: encoder.layer.2.output.dense.bias, of shape [64] by config.json"},
		{modeltest.Fault{Drop: "embeddings.word_embeddings.weight"}, model.Options{}, model.ErrMissingTensor,
			`open model: read weights DIR/model.safetensors: missing tensor: embeddings.word_embeddings.weight (looked for with the prefixes ["" "bert."])`},
		{config("intermediate_size", 96), model.Options{}, model.ErrShape,
			"open model: read weights DIR/model.safetensors: shape mismatch: tensor encoder.layer.0.intermediate.dense.weight is [96, 64] by config.json, the file has [128, 64]; these are of two models: get config.json and the weights of one"},
		{config("num_hidden_layers", 4), model.Options{}, model.ErrMissingTensor,
			"open model: read weights DIR/model.safetensors: missing tensor: encoder.layer.3.attention.self.query.weight, of shape [64, 64] by config.json"},
		{modeltest.Fault{Config: map[string]any{"architectures": []string{"DebertaV2Model"}, "model_type": "deberta-v2"}}, model.Options{}, model.ErrUnsupported,
			"open model: read DIR/config.json: unsupported model: architecture DebertaV2Model, model_type deberta-v2; supported model types are bert, roberta, xlm-roberta, modernbert, distilbert, mpnet, nomic_bert, gte, qwen3"},
		{modeltest.Fault{Config: map[string]any{"architectures": nil, "model_type": "new"}}, model.Options{}, model.ErrUnsupported,
			"open model: read DIR/config.json: unsupported model: architecture new; supported model types are bert, roberta, xlm-roberta, modernbert, distilbert, mpnet, nomic_bert, gte, qwen3"},
		{config("architectures", []string{"BertForTokenClassification"}), model.Options{}, model.ErrUnsupported,
			"open model: read DIR/config.json: unsupported model: architecture BertForTokenClassification, model_type bert; of this type supported are BertModel, BertForMaskedLM, BertForPreTraining, BertForSequenceClassification"},
		{config("model_type", nil), model.Options{}, model.ErrConfig,
			"open model: read DIR/config.json: bad model description: no model_type"},
		{config("hidden_act", "gelu_10"), model.Options{}, model.ErrUnsupported,
			`open model: read DIR/config.json: unsupported model: hidden_act "gelu_10"; supported are gelu, gelu_new, gelu_pytorch_tanh, silu, relu, tanh`},
		{config("hidden_act", nil), model.Options{}, model.ErrConfig,
			"open model: read DIR/config.json: bad model description: no hidden_act"},
		{config("position_embedding_type", "relative_key"), model.Options{}, model.ErrUnsupported,
			`open model: read DIR/config.json: unsupported model: position_embedding_type "relative_key"; supported is absolute`},
		{config("is_decoder", true), model.Options{}, model.ErrUnsupported,
			"open model: read DIR/config.json: unsupported model: is_decoder is true; supported are encoders"},
		{config("add_cross_attention", true), model.Options{}, model.ErrUnsupported,
			"open model: read DIR/config.json: unsupported model: add_cross_attention is true; supported are encoders"},
		{config("quantization_config", map[string]any{"bits": 4}), model.Options{}, model.ErrUnsupported,
			"open model: read DIR/config.json: unsupported model: quantization_config is set; supported are unquantized weights"},
		{config("hidden_size", nil), model.Options{}, model.ErrConfig,
			"open model: read DIR/config.json: bad model description: no hidden_size"},
		{config("vocab_size", -1), model.Options{}, model.ErrConfig,
			"open model: read DIR/config.json: bad model description: vocab_size is -1, must be 1 to 268435456"},
		{config("num_attention_heads", 5), model.Options{}, model.ErrConfig,
			"open model: read DIR/config.json: bad model description: hidden_size 64 is not a multiple of num_attention_heads 5"},
		{config("layer_norm_eps", -1), model.Options{}, model.ErrConfig,
			"open model: read DIR/config.json: bad model description: layer_norm_eps is -1, must be at least 0 and below 1"},
		{config("pad_token_id", 500), model.Options{}, model.ErrConfig,
			"open model: read DIR/config.json: bad model description: pad_token_id 500 lies outside the vocabulary of 500"},
		{modeltest.Fault{NoModules: true}, model.Options{}, model.ErrPooling,
			"open model: pooling is not known: DIR has no modules.json; say how with --pooling mean, cls, last or max (the model's card tells which)"},
		{modeltest.Fault{NoModules: true}, model.Options{Pooling: "median"}, model.ErrUnsupported,
			`open model: unsupported model: pooling "median"; supported are mean, cls, last, max`},
		{modeltest.Fault{}, model.Options{Pooling: model.PoolMean}, model.ErrConfig,
			"open model: bad model description: --pooling mean contradicts DIR/modules.json, which says cls; leave the flag out"},
		{modeltest.Fault{Remove: "1_Pooling/config.json"}, model.Options{}, model.ErrPooling,
			"open model: pooling is not known: modules.json names a Pooling module, but DIR/1_Pooling/config.json does not exist; get the directory again"},
		{modeltest.Fault{Remove: "config.json"}, model.Options{}, os.ErrNotExist,
			"open model: read DIR/config.json: no such file or directory"},
		{modeltest.Fault{NoModules: true, Remove: "config.json"}, model.Options{}, os.ErrNotExist,
			"open model: read DIR/config.json: no such file or directory"},
		{config("num_hidden_layers", 2), model.Options{}, model.ErrConfig,
			`open model: read weights DIR/model.safetensors: bad model description: tensor "encoder.layer.2.attention.output.LayerNorm.bias" belongs to a layer that config.json does not name: the weights have 3 layers, num_hidden_layers is 2`},
		{modeltest.Fault{Prefix: "bert.", Config: map[string]any{"num_hidden_layers": 1}}, model.Options{}, model.ErrConfig,
			`open model: read weights DIR/model.safetensors: bad model description: tensor "bert.encoder.layer.1.attention.output.LayerNorm.bias" belongs to a layer that config.json does not name: the weights have 3 layers, num_hidden_layers is 1`},
		{modeltest.Fault{Remove: "model.safetensors"}, model.Options{}, os.ErrNotExist,
			"open model: read weights DIR/model.safetensors: no such file or directory"},
	} {
		dir := modeltest.Damage(t, tinyCLS, c.fault)
		m, err := model.OpenWith(dir, c.opt)
		if got := text(err, dir); got != c.want || !errors.Is(err, c.is) {
			t.Errorf("fault %+v:\n got %s\nwant %s\n(%v)", c.fault, got, c.want, c.is)
		}
		if err == nil {
			m.Close()
		}
	}
}

// TestOpenRefusesSizesBeforeAllocating claims the largest sizes that config.json
// may have.
func TestOpenRefusesSizesBeforeAllocating(t *testing.T) {
	const huge = 1 << 28
	for key, want := range map[string]string{
		"num_hidden_layers":       "missing tensor: encoder.layer.3.attention.self.query.weight, of shape [64, 64] by config.json",
		"hidden_size":             "the pooling expects 64 values a token, config.json has hidden_size 268435456",
		"intermediate_size":       "shape mismatch: tensor encoder.layer.0.intermediate.dense.weight is [268435456, 64] by config.json, the file has [128, 64]; these are of two models: get config.json and the weights of one",
		"vocab_size":              "shape mismatch: tensor embeddings.word_embeddings.weight is [268435456, 64] by config.json, the file has [500, 64]; these are of two models: get config.json and the weights of one",
		"max_position_embeddings": "shape mismatch: tensor embeddings.position_embeddings.weight is [268435456, 64] by config.json, the file has [80, 64]; these are of two models: get config.json and the weights of one",
		"type_vocab_size":         "shape mismatch: tensor embeddings.token_type_embeddings.weight is [268435456, 64] by config.json, the file has [2, 64]; these are of two models: get config.json and the weights of one",
		"num_attention_heads":     "hidden_size 64 is not a multiple of num_attention_heads 268435456",
	} {
		dir := modeltest.Damage(t, tinyCLS, modeltest.Fault{Config: map[string]any{key: huge}})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := model.Open(dir)
		runtime.ReadMemStats(&after)
		if got := text(err, dir); !strings.HasSuffix(got, ": "+want) {
			t.Errorf("%s:\n got %s\nwant %s", key, got, want)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
			t.Errorf("%s: %d bytes were allocated for a file of 573 kB", key, n)
		}
	}
}

// TestOpenReadsKeysAsSpelt puts other spellings beside and in place of keys.
func TestOpenReadsKeysAsSpelt(t *testing.T) {
	beside := modeltest.Damage(t, tinyCLS, modeltest.Fault{Config: map[string]any{"Num_Hidden_Layers": 1, "HIDDEN_SIZE": "x"}})
	if m := open(t, beside, model.Options{}); len(m.Layers) != 3 {
		t.Errorf("%d layers, want 3", len(m.Layers))
	}
	instead := modeltest.Damage(t, tinyCLS, modeltest.Fault{Config: map[string]any{"num_hidden_layers": nil, "Num_hidden_layers": 3}})
	_, err := model.Open(instead)
	if want := "open model: read DIR/config.json: bad model description: no num_hidden_layers"; text(err, instead) != want {
		t.Errorf("got %s\nwant %s", text(err, instead), want)
	}
}

func TestOpenRefusesFiles(t *testing.T) {
	for _, c := range []struct{ file, content, want string }{
		{"config.json", "{", "open model: read DIR/config.json: bad model description: unexpected end of JSON input"},
		{"config.json", `{"model_type": 3}`, "open model: read DIR/config.json: bad model description: model_type: found number, expected a string"},
		{"config.json", `{"model_type": "bert", "hidden_size": 384.5}`, "open model: read DIR/config.json: bad model description: hidden_size: found number 384.5, expected a whole number"},
		{"config.json", `{"model_type": "bert", "vocab_size": 99999999999999999999}`, "open model: read DIR/config.json: bad model description: vocab_size: found number 99999999999999999999, expected a whole number"},
		{"config.json", `{"model_type": "bert", "layer_norm_eps": 1e999}`, "open model: read DIR/config.json: bad model description: layer_norm_eps: found number 1e999, expected a number"},
		{"config.json", `{"model_type": "bert", "is_decoder": "no"}`, "open model: read DIR/config.json: bad model description: is_decoder: found string, expected true or false"},
		{"config.json", `{"model_type": "bert", "architectures": "BertModel"}`, "open model: read DIR/config.json: bad model description: architectures: found string, expected a list"},
		{"config.json", `[]`, "open model: read DIR/config.json: bad model description: found array, expected an object"},
		{"modules.json", `[]`, "open model: read DIR/modules.json: unsupported model: modules.json lists no modules; supported are Transformer, Pooling, any number of Dense, Normalize, the last two optional"},
		{"modules.json", `{}`, "open model: read DIR/modules.json: bad model description: found object, expected a list"},
		{"modules.json", `[{"type":"sentence_transformers.models.Transformer"},{"type":7}]`, "open model: read DIR/modules.json: bad model description: [1].type: found number, expected a string"},
		{"modules.json", `[{"path":"","type":"sentence_transformers.models.Transformer"},{"path":"1_Pooling"}]`, "open model: read DIR/modules.json: bad model description: module 1 has no type"},
		{"1_Pooling/config.json", `{"pooling_mode": "cls", "embedding_dimension": 64.5}`,
			"open model: read DIR/1_Pooling/config.json: bad model description: embedding_dimension: found number 64.5, expected a whole number from 1 to 268435456"},
		{"sentence_bert_config.json", `{"max_seq_length": "long"}`, "open model: read DIR/sentence_bert_config.json: bad model description: max_seq_length: found string, expected a whole number"},
		{"sentence_bert_config.json", `{"transformer_task": "fill-mask"}`,
			`open model: read DIR/sentence_bert_config.json: unsupported model: transformer_task "fill-mask" before a Pooling; supported is feature-extraction`},
		{"sentence_bert_config.json", `{"transformer_task": "feature-extraction", "modality_config": {"text": {"method": "forward", "method_output_name": "pooler_output"}}}`,
			`open model: read DIR/sentence_bert_config.json: unsupported model: modality_config.text.method_output_name is "pooler_output"; supported is last_hidden_state`},
		{"config_sentence_transformers.json", `{"prompts": {"query": 3}}`, "open model: read DIR/config_sentence_transformers.json: bad model description: prompts: found number, expected a string"},
		{"modules.json", `[{"type":"sentence_transformers.models.Transformer"},{"path":"1_Pooling","type":"sentence_transformers.models.Pooling"},{"type":"sentence_transformers.models.Asym"}]`,
			"open model: read DIR/modules.json: unsupported model: the modules are Transformer, Pooling, Asym; supported are Transformer, Pooling, any number of Dense, Normalize, the last two optional"},
		{"modules.json", `[{"type":"sentence_transformers.models.Transformer"},{"path":"1_Pooling","type":"sentence_transformers.models.Pooling"},{"type":"sentence_transformers.models.Dense"}]`,
			"open model: read DIR/modules.json: bad model description: the module Dense has no path; its weights need a folder of their own"},
		{"modules.json", `[{"type":"sentence_transformers.models.Transformer"},{"path":"1_Pooling","type":"custom_st.Pooling"}]`,
			`open model: read DIR/modules.json: unsupported model: module 1 is "custom_st.Pooling", code of the model's own; supported are modules of sentence_transformers.*`},
		{"modules.json", `[{"type":"sentence_transformers.models.Transformer"},{"path":"1_Pooling","type":"sentence_transformers.models.Pooling"},{"path":"./","type":"sentence_transformers.models.Dense"}]`,
			"open model: read DIR/modules.json: bad model description: the module Dense has no path; its weights need a folder of their own"},
		{"2_Normalize/config.json", `{"module_input_name": "token_embeddings"}`,
			`open model: read DIR/2_Normalize/config.json: unsupported model: the module works on "token_embeddings"; supported is sentence_embedding`},
		{"2_Normalize/config.json", `{"module_input_name": 3}`,
			"open model: read DIR/2_Normalize/config.json: bad model description: module_input_name: found number, expected a string"},
		{"modules.json", `[{"type":"sentence_transformers.models.Transformer"}]`,
			"open model: read DIR/modules.json: unsupported model: the modules are Transformer; supported are Transformer, Pooling, any number of Dense, Normalize, the last two optional"},
		{"modules.json", `[{"type":"sentence_transformers.models.WordEmbeddings"},{"path":"1_Pooling","type":"sentence_transformers.models.Pooling"}]`,
			"open model: read DIR/modules.json: unsupported model: the modules are WordEmbeddings, Pooling; supported are Transformer, Pooling, any number of Dense, Normalize, the last two optional"},
		{"modules.json", `[{"type":"sentence_transformers.models.Transformer"},{"path":"1_Pooling","type":"sentence_transformers.models.Pooling"},{"path":"2_Normalize","type":"sentence_transformers.models.Normalize"},{"path":"3_Dense","type":"sentence_transformers.models.Dense"}]`,
			"open model: read DIR/modules.json: unsupported model: the modules are Transformer, Pooling, Normalize, Dense; supported are Transformer, Pooling, any number of Dense, Normalize, the last two optional"},
		{"modules.json", `[{"type":"sentence_transformers.models.Transformer"},{"path":"../1_Pooling","type":"sentence_transformers.models.Pooling"}]`,
			`open model: read DIR/modules.json: bad model description: module path "../1_Pooling" leaves the directory`},
		{"1_Pooling/config.json", `{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true}`,
			"open model: read DIR/1_Pooling/config.json: unsupported model: pooling modes [cls, mean]; supported is exactly one of mean, cls, lasttoken, max"},
		{"1_Pooling/config.json", `{"pooling_mode": ["weightedmean", "cls"]}`,
			"open model: read DIR/1_Pooling/config.json: unsupported model: pooling modes [cls, weightedmean]; supported is exactly one of mean, cls, lasttoken, max"},
		{"1_Pooling/config.json", `{"pooling_mode": ["cls", 3]}`,
			"open model: read DIR/1_Pooling/config.json: bad model description: pooling_mode: expected a name or a list of names"},
		{"1_Pooling/config.json", `{"pooling_mode_weightedmean_tokens": true}`,
			"open model: read DIR/1_Pooling/config.json: unsupported model: pooling modes [weightedmean]; supported is exactly one of mean, cls, lasttoken, max"},
		{"1_Pooling/config.json", `{"pooling_mode": "cls", "embedding_dimension": 65}`,
			"open model: DIR: bad model description: the pooling expects 65 values a token, config.json has hidden_size 64"},
		{"config_sentence_transformers.json", `{"default_prompt_name": "query"}`,
			`open model: read DIR/config_sentence_transformers.json: bad model description: default_prompt_name "query" is not among the prompts`},
		{"config_sentence_transformers.json", `{"truncate_dim": 0}`,
			"open model: read DIR/config_sentence_transformers.json: bad model description: truncate_dim is 0, must be 1 to 268435456"},
	} {
		dir := modeltest.Copy(t, tinyCLS)
		path := filepath.Join(dir, c.file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(c.content), 0o644)); err != nil {
			t.Fatal(err)
		}
		if _, err := model.Open(dir); text(err, dir) != c.want {
			t.Errorf("%s with %s:\n got %s\nwant %s", c.file, c.content, text(err, dir), c.want)
		}
	}
}

func TestOpenNoDirectory(t *testing.T) {
	dir := t.TempDir()
	if _, err := model.Open(dir); text(err, dir) != "open model: read DIR/config.json: no such file or directory" {
		t.Errorf("an empty directory: %s", text(err, dir))
	}
	if _, err := model.Open(filepath.Join(dir, "none")); text(err, dir) != "open model: DIR/none: no such file or directory" {
		t.Error(text(err, dir))
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := model.Open(file); text(err, dir) != "open model: DIR/file: bad model description: not a directory" {
		t.Error(text(err, dir))
	}
	old := modeltest.Damage(t, tinyCLS, modeltest.Fault{Remove: "model.safetensors"})
	if err := os.WriteFile(filepath.Join(old, "pytorch_model.bin"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := model.Open(old)
	if want := "open model: DIR: unsupported model: no model.safetensors but pytorch_model.bin: weights in PyTorch's own format are not read; convert them to model.safetensors"; text(err, old) != want || !errors.Is(err, model.ErrUnsupported) {
		t.Errorf("got %s\nwant %s", text(err, old), want)
	}
}
