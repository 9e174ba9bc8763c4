package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"encbench/bench/assets/assettest"
	"encbench/engine/model"
	"encbench/engine/model/modeltest"
)

// What is wrong with a directory is said before anything is done with it.
func TestOpenModelErrors(t *testing.T) {
	see := "\nSee `encbench model show --help`.\n"
	for name, test := range map[string]struct {
		spoil func(dir string)
		want  string
		code  int
	}{
		"no tokenizer": {func(dir string) { os.Remove(filepath.Join(dir, "tokenizer.json")) },
			"model DIR has no tokenizer.json; put the model's own beside its weights\n", exitFailure},
		"a vocabulary alone": {func(dir string) {
			os.Rename(filepath.Join(dir, "tokenizer.json"), filepath.Join(dir, "vocab.txt"))
		}, "model DIR has no tokenizer.json, only vocab.txt; write it with transformers: AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)\n", exitFailure},
		"another model's tokenizer": {func(dir string) {
			vocab := map[string]int{}
			for _, token := range []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]"} {
				vocab[token] = len(vocab)
			}
			for len(vocab) < 501 {
				vocab["w"+strings.Repeat("x", len(vocab))] = len(vocab)
			}
			writeWordPiece(t, filepath.Join(dir, "tokenizer.json"), vocab)
		}, "tokenizer DIR/tokenizer.json has ids up to 500, the model's embedding ends at 499: it is another model's, or tokens were added to it and the model was not resized\n", exitFailure},
		"config and weights": {func(dir string) {
			var config map[string]any
			modeltest.ReadJSON(t, filepath.Join(dir, "config.json"), &config)
			config["vocab_size"] = 600
			modeltest.WriteJSON(t, filepath.Join(dir, "config.json"), config)
		}, "open model: read weights DIR/model.safetensors: shape mismatch: tensor embeddings.word_embeddings.weight is [600, 64] by config.json, the file has [500, 64]; these are of two models: get config.json and the weights of one\n", exitFailure},
		"lower case": {func(dir string) {
			modeltest.WriteJSON(t, filepath.Join(dir, "sentence_bert_config.json"), map[string]any{"do_lower_case": true})
			var tokenizer map[string]any
			modeltest.ReadJSON(t, filepath.Join(dir, "tokenizer.json"), &tokenizer)
			tokenizer["normalizer"].(map[string]any)["lowercase"] = false
			modeltest.WriteJSON(t, filepath.Join(dir, "tokenizer.json"), tokenizer)
		}, "model DIR: sentence_bert_config.json has do_lower_case true, its tokenizer.json does not lower-case: unsupported; use a tokenizer.json whose normalizer does\n", exitFailure},
		"PyTorch's format": {func(dir string) {
			os.Rename(filepath.Join(dir, "model.safetensors"), filepath.Join(dir, "pytorch_model.bin"))
		}, "open model: DIR: unsupported model: no model.safetensors but pytorch_model.bin: weights in PyTorch's own format are not read; convert them to model.safetensors\n", exitFailure},
		"two graphs": {func(dir string) {
			os.Remove(filepath.Join(dir, "model.safetensors"))
			os.WriteFile(filepath.Join(dir, "a.onnx"), nil, 0o644)
			os.WriteFile(filepath.Join(dir, "b.onnx"), nil, 0o644)
		}, "model directory DIR holds no model.safetensors and 2 graphs; name one of them: DIR/a.onnx, DIR/b.onnx" + see, exitUsage},
	} {
		dir := tinyEmbedder(t, "tiny-bert-mean")
		test.spoil(dir)
		r := encbench("", "model", "show", dir)
		want := "encbench model show: " + strings.ReplaceAll(test.want, "DIR/", dir+"/")
		want = strings.ReplaceAll(want, "model DIR ", "model "+dir+" ")
		want = strings.ReplaceAll(want, "directory DIR ", "directory "+dir+" ")
		want = strings.NewReplacer("model DIR:", "model "+dir+":", "model: DIR:", "model: "+dir+":").Replace(want)
		if r.code != test.code || r.stderr != want {
			t.Errorf("%s: exit %d\n%swant %d\n%s", name, r.code, r.stderr, test.code, want)
		}
	}
}

// Weights in several files are a model's own, whatever graphs lie beside them.
func TestOpenShards(t *testing.T) {
	dir := tinyEmbedder(t, "micro-modernbert-shards")
	if err := os.WriteFile(filepath.Join(dir, "model.onnx"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := encbench("", "model", "show", dir); r.code != 0 || !strings.Contains(r.stdout, "ModernBERT") {
		t.Errorf("exit %d\n%s%s", r.code, r.stdout, r.stderr)
	}
}

// A reranker where an encoder is needed, and the reverse.
func TestKinds(t *testing.T) {
	t.Chdir(t.TempDir())
	writeReranker(t, "reranker")
	embedder := tinyEmbedder(t, "tiny-bert-mean")
	for args, want := range map[string]string{
		"speed --model reranker":   "encbench speed: model reranker is a reranker (BertForSequenceClassification): it scores pairs and gives no vectors; use encbench rerank\nSee `encbench speed --help`.\n",
		"eval --model reranker":    "encbench eval: model reranker is a reranker (BertForSequenceClassification): it scores pairs and gives no vectors; use encbench rerank\nSee `encbench eval --help`.\n",
		"latency --model reranker": "encbench latency: model reranker is a reranker (BertForSequenceClassification): it scores pairs and gives no vectors; use encbench rerank\nSee `encbench latency --help`.\n",
	} {
		if r := encbench("", strings.Fields(args)...); r.code != exitUsage || r.stderr != want {
			t.Errorf("%s: exit %d\n%swant\n%s", args, r.code, r.stderr, want)
		}
	}
	m := &loadedModel{}
	m.facts.Name = "e"
	err := m.openDir(context.Background(), &app{}, embedder, "", modelOptions{kind: model.Reranker})
	if want := "model e is no reranker (BertModel): it gives vectors and scores no pairs; name a cross-encoder"; err == nil || err.Error() != want {
		t.Errorf("an embedder to rerank: %v, want %s", err, want)
	}
}

// A graph has types of its own.
func TestBareGraphHasItsTypes(t *testing.T) {
	assettest.Need(t, "onnxruntime")
	dir := tinyEmbedder(t, "tiny-bert-mean")
	t.Chdir(t.TempDir())
	if r := encbench("", "model", "import", dir, "--out", "g.onnx"); r.code != 0 {
		t.Fatalf("exit %d\n%s", r.code, r.stderr)
	}
	for args, want := range map[string]string{
		"speed --model g.onnx --dtype int8":         "encbench speed: --dtype int8: the graph g.onnx has types of its own; name a Hugging Face directory\nSee `encbench speed --help`.\n",
		"eval --model g.onnx --dtype int8":          "encbench eval: --dtype int8: the graph g.onnx has types of its own; name a Hugging Face directory\nSee `encbench eval --help`.\n",
		"model convert g.onnx --dtype int8 --out x": "encbench model convert: g.onnx is a graph, whose weights have types of their own; name a Hugging Face directory\nSee `encbench model convert --help`.\n",
		"model verify g.onnx --dtype fp8":           "encbench model verify: --dtype \"fp8\": auto, float32, float16, bfloat16 or int8\nSee `encbench model verify --help`.\n",
	} {
		copyTokenizer(t, dir)
		if r := encbench("", strings.Fields(args)...); r.code != exitUsage || r.stderr != want {
			t.Errorf("%s: exit %d\n%swant\n%s", args, r.code, r.stderr, want)
		}
	}
}

// copyTokenizer puts a directory's tokenizer.json beside a graph.
func copyTokenizer(t *testing.T, dir string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("tokenizer.json", data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// The sha256 of weights is remembered in the cache's folder of derived files.
func TestHashes(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("ENCBENCH_CACHE", cache)
	if got, want := hashes(), model.HashDir(filepath.Join(cache, "derived", "hashes")); got != want {
		t.Errorf("hashes in %v, want %v", got, want)
	}
	t.Setenv("ENCBENCH_CACHE", "")
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	if got := hashes(); got != nil {
		t.Errorf("hashes in %v without a cache", got)
	}
}
