package model_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"encbench/engine/model"
	"encbench/engine/model/modeltest"
)

// TestCrossEncoderDirectories opens the layouts in which cross-encoders are saved.
func TestCrossEncoderDirectories(t *testing.T) {
	put := func(dir, name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir := modeltest.Damage(t, microModern, modeltest.Fault{Config: map[string]any{
		"sentence_transformers": map[string]any{"activation_fn": "torch.nn.modules.activation.Sigmoid", "version": "4.1.0"}}})
	for _, modules := range []string{"", `[{"idx":0,"name":"0","path":"","type":"sentence_transformers.base.modules.transformer.Transformer"}]`} {
		if modules != "" {
			put(dir, "modules.json", modules)
			put(dir, "sentence_bert_config.json", `{"transformer_task": "sequence-classification", "max_seq_length": 50}`)
			put(dir, "config_sentence_transformers.json", `{"model_type": "CrossEncoder", "prompts": {}, "activation_fn": "torch.nn.modules.linear.Identity"}`)
		}
		m := open(t, dir, model.Options{})
		if m.Kind != model.Reranker || m.Dim() != 1 || m.Normalize || m.Pooling != model.PoolMean || len(m.Head) != 2 {
			t.Errorf("modules %q: %s of %d values, normalize %t, pooling %s", modules, m.Kind, m.Dim(), m.Normalize, m.Pooling)
		}
	}
	put(dir, "modules.json", `[{"type":"sentence_transformers.models.Transformer"},{"path":"1_LogitScore","type":"sentence_transformers.models.LogitScore"}]`)
	if _, err := model.Open(dir); text(err, dir) != "open model: read DIR/modules.json: unsupported model: the modules are Transformer, LogitScore; supported are Transformer, Pooling, any number of Dense, Normalize, the last two optional" {
		t.Errorf("LogitScore: %s", text(err, dir))
	}
	if err := os.Remove(filepath.Join(dir, "modules.json")); err != nil {
		t.Fatal(err)
	}
	_, err := model.OpenWith(dir, model.Options{Pooling: model.PoolCLS})
	if want := "open model: bad model description: --pooling cls, but ModernBertForSequenceClassification is a reranker, whose classifier says how it pools; leave the flag out"; text(err, dir) != want {
		t.Errorf("got %s\nwant %s", text(err, dir), want)
	}
	// A pooling in modules.json makes an embedder of the same weights, however many
	// labels their classifier has.
	put(dir, "modules.json", `[{"type":"sentence_transformers.models.Transformer"},{"path":"1_Pooling","type":"sentence_transformers.models.Pooling"}]`)
	if err := os.Mkdir(filepath.Join(dir, "1_Pooling"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(dir, "1_Pooling/config.json", `{"pooling_mode": ["cls"], "embedding_dimension": 16}`)
	put(dir, "sentence_bert_config.json", `{"transformer_task": "feature-extraction"}`)
	three := modeltest.Damage(t, dir, modeltest.Fault{Config: map[string]any{"id2label": map[string]any{"0": "a", "1": "b", "2": "c"}}})
	if m := open(t, three, model.Options{}); m.Kind != model.Embedder || m.Pooling != model.PoolCLS || m.Dim() != 16 || m.Head != nil {
		t.Errorf("%s of %d values, pooling %s", m.Kind, m.Dim(), m.Pooling)
	}
}

// TestPoolings opens every pooling, in the config's old form and by the user's word.
func TestPoolings(t *testing.T) {
	flags := map[model.Pooling]string{
		model.PoolMean: "pooling_mode_mean_tokens", model.PoolCLS: "pooling_mode_cls_token",
		model.PoolLast: "pooling_mode_lasttoken", model.PoolMax: "pooling_mode_max_tokens",
	}
	for _, p := range model.Poolings() {
		dir := modeltest.Copy(t, tinyMean)
		modeltest.WriteJSON(t, filepath.Join(dir, "1_Pooling", "config.json"), map[string]any{flags[p]: true, "word_embedding_dimension": 64})
		if m := open(t, dir, model.Options{}); m.Pooling != p {
			t.Errorf("%s gives %s", flags[p], m.Pooling)
		}
		bare := modeltest.Damage(t, tinyMean, modeltest.Fault{NoModules: true})
		if m := open(t, bare, model.Options{Pooling: p}); m.Pooling != p {
			t.Errorf("--pooling %s gives %s", p, m.Pooling)
		}
	}
}

func TestDenseRefuses(t *testing.T) {
	const first = "2_Dense/config.json"
	for _, c := range []struct{ file, content, want string }{
		{first, `{"in_features": 15, "out_features": 12, "activation_function": "torch.nn.modules.activation.Tanh"}`,
			"DIR: bad model description: module 2_Dense expects 15 values, what is before it gives 16"},
		{"3_Dense/config.json", `{"in_features": 11, "out_features": 5, "bias": false, "activation_function": "torch.nn.modules.linear.Identity"}`,
			"DIR: bad model description: module 3_Dense expects 11 values, what is before it gives 12"},
		{first, `{"in_features": 16, "out_features": 13, "activation_function": "torch.nn.modules.activation.Tanh"}`,
			"read weights DIR/2_Dense/model.safetensors: shape mismatch: tensor 2_Dense/linear.weight is [13, 16] by config.json, the file has [12, 16]; these are of two models: get config.json and the weights of one"},
		{first, `{"in_features": 16, "out_features": 12, "bias": false}`,
			"read weights DIR/2_Dense/model.safetensors: bad model description: tensor linear.bias is there, the module's config.json says that it has no bias"},
		{"3_Dense/config.json", `{"in_features": 12, "out_features": 5}`,
			"read weights DIR/3_Dense/model.safetensors: missing tensor: 3_Dense/linear.bias, of shape [5] by config.json"},
		{first, `{"in_features": 16}`, "read DIR/2_Dense/config.json: bad model description: no out_features"},
		{first, `{"in_features": 0, "out_features": 12}`, "read DIR/2_Dense/config.json: bad model description: in_features is 0, must be 1 to 268435456"},
		{first, `{"in_features": 16, "out_features": 12, "activation_function": "torch.nn.modules.activation.Mish"}`,
			`read DIR/2_Dense/config.json: unsupported model: activation_function "torch.nn.modules.activation.Mish"; supported are Identity, Tanh, GELU, ReLU and SiLU of torch.nn`},
		{first, `{"in_features": 16, "out_features": 12, "activation_function": "own.module.Tanh"}`,
			`read DIR/2_Dense/config.json: unsupported model: activation_function "own.module.Tanh"; supported are Identity, Tanh, GELU, ReLU and SiLU of torch.nn`},
		{first, `{"in_features": 16, "out_features": 12, "activation_function": null}`,
			`read DIR/2_Dense/config.json: unsupported model: activation_function ""; supported are Identity, Tanh, GELU, ReLU and SiLU of torch.nn`},
		{first, `{"in_features": 16, "out_features": 12, "activation_function": 3}`,
			`read DIR/2_Dense/config.json: bad model description: activation_function: found number, expected a string`},
		{first, `{"in_features": 16, "out_features": 12, "use_residual": true}`,
			"read DIR/2_Dense/config.json: unsupported model: use_residual is true; supported is a plain map"},
		{first, `{"in_features": 16, "out_features": 12, "module_output_name": "token_embeddings"}`,
			`read DIR/2_Dense/config.json: unsupported model: the module works on "token_embeddings"; supported is sentence_embedding`},
		{first, "", "bad model description: modules.json names a Dense module, but DIR/2_Dense/config.json does not exist; get the directory again"},
		{"2_Dense/model.safetensors", "", "read weights DIR/2_Dense/model.safetensors: no such file or directory"},
		{"2_Dense/pytorch_model.bin", "x", "DIR/2_Dense/pytorch_model.bin: unsupported model: weights in PyTorch's own format are not read; convert them to model.safetensors"},
		{"2_Dense/model.safetensors", "short", "read weights DIR/2_Dense/model.safetensors: truncated: a safetensors file has at least 8 bytes, the file has 5; get the file again"},
	} {
		dir := modeltest.Copy(t, microDense)
		if c.content == "" {
			if err := os.Remove(filepath.Join(dir, c.file)); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.content), 0o644); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(c.file, ".bin") {
			if err := os.Remove(filepath.Join(dir, "2_Dense", "model.safetensors")); err != nil {
				t.Fatal(err)
			}
		}
		m, err := model.Open(dir)
		if text(err, dir) != "open model: "+c.want {
			t.Errorf("%s with %s:\n got %s\nwant open model: %s", c.file, c.content, text(err, dir), c.want)
		}
		if err == nil {
			m.Close()
		}
	}
}

// TestDenseWeights reads a module's tensors beside the encoder's, from a plain
// directory and through the links of a hub cache.
func TestDenseWeights(t *testing.T) {
	const commit = "dddd567890123456789012345678901234567890"
	t.Setenv("HF_HUB_CACHE", modeltest.Hub(t, "", microDense, "org/dense", commit, "main"))
	linked, _, err := model.ResolveHub("org/dense")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{microDense, linked} {
		m := open(t, dir, model.Options{})
		w, plain := m.Weights, dir == microDense
		got, ok := w.Tensor("2_Dense/linear.weight")
		if !ok || (w.Location(got) == "2_Dense/model.safetensors") != plain {
			t.Errorf("%s: tensor of the module %t in %s", dir, ok, w.Location(got))
		}
		word, _ := w.Tensor(m.Embedding.Word.Weight)
		if filepath.Join(w.Folder(), w.Location(word)) != w.RealPath && !plain {
			t.Errorf("%s: %s in %s is not %s", dir, w.Location(word), w.Folder(), w.RealPath)
		}
		values, err := w.Float32("2_Dense/linear.weight")
		if err != nil {
			t.Fatal(err)
		}
		stored := modeltest.ReadTensors(t, filepath.Join(dir, "2_Dense", "model.safetensors"))
		raw := make([]byte, got.Bytes)
		if n, err := w.Section(got).ReadAt(raw, 0); n != len(raw) || err != nil {
			t.Fatal(n, err)
		}
		for _, x := range stored {
			if x.Name == "linear.weight" && string(x.Data) != string(raw) {
				t.Errorf("%s: the module's weights are others", dir)
			}
		}
		real, err := os.ReadFile(filepath.Join(w.Folder(), w.Location(got)))
		if err != nil || string(real[got.Offset:got.Offset+got.Bytes]) != string(raw) || len(values) != 12*16 {
			t.Errorf("%s: %d values, %v; Location and Offset lead elsewhere", dir, len(values), err)
		}
	}
	// The module's weights decide the vectors, so they are in the fingerprint.
	a, err := open(t, microDense, model.Options{}).Fingerprint()
	if err != nil {
		t.Fatal(err)
	}
	dir := modeltest.Copy(t, microDense)
	path := filepath.Join(dir, "2_Dense", "model.safetensors")
	ts := modeltest.ReadTensors(t, path)
	ts[0].Data[0] ^= 1
	modeltest.WriteTensors(t, path, ts, 0)
	b, err := open(t, dir, model.Options{}).Fingerprint()
	if err != nil || a == b {
		t.Errorf("another Dense module has the same fingerprint, %v", err)
	}
	modeltest.WriteJSON(t, filepath.Join(dir, "2_Dense", "config.json"), map[string]any{"in_features": 16, "out_features": 12, "activation_function": "torch.nn.modules.activation.GELU"})
	if c, err := open(t, dir, model.Options{}).Fingerprint(); err != nil || c == b {
		t.Errorf("another activation has the same fingerprint, %v", err)
	}
}

// TestFoldersOfWeights refuses weights that a runtime could not take from one folder.
func TestFoldersOfWeights(t *testing.T) {
	dir, elsewhere := modeltest.Copy(t, microDense), filepath.Join(t.TempDir(), "elsewhere.safetensors")
	path := filepath.Join(dir, "3_Dense", "model.safetensors")
	if err := errors.Join(os.Rename(path, elsewhere), os.Symlink(elsewhere, path)); err != nil {
		t.Fatal(err)
	}
	_, err := model.Open(dir)
	want := "open model: read weights DIR/3_Dense/model.safetensors: unsupported model: it really is " + elsewhere +
		", DIR/model.safetensors is in DIR: the files must lie in one folder; copy the model's directory without its links and open the copy"
	if text(err, dir) != want || !errors.Is(err, model.ErrUnsupported) {
		t.Errorf("got %s\nwant %s", text(err, dir), want)
	}
}
