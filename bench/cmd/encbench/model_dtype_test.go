package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"encbench/bench"
	"encbench/bench/assets/assettest"
	"encbench/engine/model"
	"encbench/engine/model/modeltest"
	"encbench/engine/ort"
)

// modelData is an absolute path: tests change the directory.
var modelData = func() string {
	dir, err := filepath.Abs("../../../engine/model/testdata")
	if err != nil {
		panic(err)
	}
	return dir
}()

// tinyEmbedder copies a checkpoint of engine/model and gives it a small WordPiece
// tokenizer.
func tinyEmbedder(t *testing.T, name string) string {
	t.Helper()
	dir := modeltest.Copy(t, filepath.Join(modelData, name))
	vocab := map[string]int{"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3}
	for c := 'a'; c <= 'z'; c++ {
		vocab[string(c)] = len(vocab)
		vocab["##"+string(c)] = len(vocab)
	}
	writeWordPiece(t, filepath.Join(dir, "tokenizer.json"), vocab)
	return dir
}

// writeWordPiece writes the tokenizer.json of a vocabulary that begins with [PAD],
// [UNK], [CLS] and [SEP].
func writeWordPiece(t *testing.T, path string, vocab map[string]int) {
	t.Helper()
	var added []any
	for _, token := range []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]"} {
		added = append(added, map[string]any{"id": vocab[token], "content": token, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true})
	}
	special := func(token string) any {
		return map[string]any{"SpecialToken": map[string]any{"id": token, "type_id": 0}}
	}
	ids := func(token string) any {
		return map[string]any{"id": token, "ids": []int{vocab[token]}, "tokens": []string{token}}
	}
	text := func(name string) any { return map[string]any{"Sequence": map[string]any{"id": name, "type_id": 0}} }
	modeltest.WriteJSON(t, path, map[string]any{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": added,
		"normalizer":    map[string]any{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": nil, "lowercase": true},
		"pre_tokenizer": map[string]any{"type": "BertPreTokenizer"},
		"post_processor": map[string]any{"type": "TemplateProcessing",
			"single":         []any{special("[CLS]"), text("A"), special("[SEP]")},
			"pair":           []any{special("[CLS]"), text("A"), special("[SEP]"), text("B"), special("[SEP]")},
			"special_tokens": map[string]any{"[CLS]": ids("[CLS]"), "[SEP]": ids("[SEP]")}},
		"decoder": nil,
		"model":   map[string]any{"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocab},
	})
}

// records reads the lines that --format jsonl prints.
func records(t *testing.T, r result) []bench.Record {
	t.Helper()
	if r.code != 0 {
		t.Fatalf("exit %d\n%s", r.code, r.stderr)
	}
	var out []bench.Record
	for line := range strings.SplitSeq(strings.TrimSpace(r.stdout), "\n") {
		var rec bench.Record
		if err := json.Unmarshal([]byte(line), &rec); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		out = append(out, rec)
	}
	return out
}

// speedOf runs speed once over the texts, a record for each configuration.
func speedOf(t *testing.T, args ...string) []bench.Record {
	t.Helper()
	if err := os.WriteFile("d.jsonl", []byte(someDocs), 0o644); err != nil {
		t.Fatal(err)
	}
	return records(t, encbench("", append([]string{"speed", "--corpus", "d.jsonl", "--chunk", "40", "--overlap", "8", "--sample", "8", "--repeats", "1", "--min-time", "0s", "--format", "jsonl"}, args...)...))
}

// A tiny checkpoint goes through every type: stored and computed types, level of the
// gate, and bits are in the record; a type that the weights have is auto.
func TestSpeedInEveryType(t *testing.T) {
	assettest.Need(t, "onnxruntime")
	dir := tinyEmbedder(t, "tiny-bert-mean")
	t.Chdir(t.TempDir())
	recs := speedOf(t, "--model", dir, "--dtype", "auto,float32,float16,bfloat16,int8")
	bits := 7
	if ort.ExactInt8() {
		bits = 8
	}
	want := []struct {
		stored, computed, level string
		bits                    int
	}{
		{"float32", "float32", "reference", 0},
		{"float16", "float32", "reference-float16", 0},
		{"bfloat16", "float32", "reference-bfloat16", 0},
		{"int8", "int8", "reference-int8", bits},
	}
	if len(recs) != len(want) {
		t.Fatalf("%d records, want %d: auto is float32 here", len(recs), len(want))
	}
	for i, w := range want {
		r := recs[i]
		if r.Model.Stored != w.stored || r.Model.Computed != w.computed || r.Protocol.DType != w.computed || r.Accuracy.Level != w.level || !r.Accuracy.Passed || r.Engine.ActivationBits != w.bits {
			t.Errorf("record %d: stored %s, computed %s, protocol %s, level %s, passed %t, %d bits; want %+v",
				i, r.Model.Stored, r.Model.Computed, r.Protocol.DType, r.Accuracy.Level, r.Accuracy.Passed, r.Engine.ActivationBits, w)
		}
		if r.Model.SHA256 != recs[0].Model.SHA256 {
			t.Errorf("record %d: sha256 %s is not that of the directory's weights", i, r.Model.SHA256)
		}
		unmeasured := fmt.Sprintf("the nDCG ratio of the %s weights is not measured; run \"encbench model verify %s --dtype %s\"", w.stored, dir, w.stored)
		if got := slices.Contains(r.Verdict.Reasons, unmeasured); got != (i > 0) {
			t.Errorf("record %d: reasons %q, want %q among them: %t", i, r.Verdict.Reasons, unmeasured, i > 0)
		}
	}
	if recs[0].Model.WidenedBytes != 0 || recs[1].Model.WidenedBytes == 0 || recs[1].Model.WidenedBytes > recs[1].Memory.Weights || recs[3].Model.WidenedBytes != 0 {
		t.Errorf("widened %d, %d and %d bytes of float32, float16 and int8", recs[0].Model.WidenedBytes, recs[1].Model.WidenedBytes, recs[3].Model.WidenedBytes)
	}
	if a, b := recs[0].Memory.Weights, recs[3].Memory.Weights; b >= a {
		t.Errorf("int8 weights take %d bytes, float32 %d", b, a)
	}
}

// A checkpoint that is stored narrow stays as it is, and its reference reads what is
// stored; one of int8 has int8's limits all the same, as it rounds activations.
func TestSpeedAsStored(t *testing.T) {
	assettest.Need(t, "onnxruntime")
	dir := tinyEmbedder(t, "tiny-bert-mean")
	t.Chdir(t.TempDir())
	for dtype, want := range map[string][3]string{
		"bfloat16": {"bfloat16", "float32", "reference"},
		"int8":     {"int8", "int8", "reference-int8"},
	} {
		if r := encbench("", "model", "convert", dir, "--dtype", dtype, "--out", dtype); r.code != 0 {
			t.Fatalf("convert to %s: exit %d\n%s", dtype, r.code, r.stderr)
		}
		rec := speedOf(t, "--model", dtype)[0]
		if got := [3]string{rec.Model.Stored, rec.Model.Computed, rec.Accuracy.Level}; got != want {
			t.Errorf("%s: stored, computed and level %v, want %v", dtype, got, want)
		}
	}
	r := encbench("", "speed", "--model", "int8", "--dtype", "float16")
	want := "encbench speed: convert the weights of int8 to float16: weights already quantised: tensor encoder.layer.0.attention.self.query.weight is int8, and what its rounding lost is gone; convert the weights that it was made from\n"
	if r.code != exitFailure || r.stderr != want {
		t.Errorf("int8 to float16: exit %d\n%swant\n%s", r.code, r.stderr, want)
	}
}

// A value that float16 cannot hold ends the command in words of its own, and nothing
// is kept.
func TestSpeedRefusesFloat16Overflow(t *testing.T) {
	assettest.Need(t, "onnxruntime")
	dir := tinyEmbedder(t, "tiny-bert-mean")
	path := filepath.Join(dir, "model.safetensors")
	ts := modeltest.ReadTensors(t, path)
	const name = "encoder.layer.1.output.dense.weight"
	at := slices.IndexFunc(ts, func(s modeltest.Tensor) bool { return s.Name == name })
	binary.LittleEndian.PutUint32(ts[at].Data[4*130:], math.Float32bits(1e5))
	modeltest.WriteTensors(t, path, ts, 0)
	want := "convert the weights of " + dir + " to float16: tensor " + name + ", row 1, column 2: value out of range: 100000; float16 ends at ±65,504; bfloat16 has the range of float32\n"
	r := encbench("", "speed", "--model", dir, "--dtype", "float16")
	if _, got, _ := strings.Cut(r.stderr, "(once; cached afterwards)\n"); r.code != exitFailure || got != "encbench speed: "+want || r.stdout != "" {
		t.Errorf("exit %d\n%s\nwant\n%s", r.code, r.stderr, want)
	}
	t.Chdir(t.TempDir())
	if r := encbench("", "model", "convert", dir, "--dtype", "float16", "--out", "x"); r.code != exitFailure || r.stderr != "encbench model convert: "+want {
		t.Errorf("convert: exit %d\n%s\nwant\n%s", r.code, r.stderr, want)
	}
	if left, _ := filepath.Glob("*"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// Weights of random numbers have no quality, and a tokenizer that is not the model's
// no documents.
func TestSynthetic(t *testing.T) {
	assettest.Need(t, "onnxruntime")
	for tokenizer, documents := range map[string]bool{"real": true, "stand-in": false} {
		dir := tinyEmbedder(t, "tiny-bert-mean")
		var config map[string]any
		modeltest.ReadJSON(t, filepath.Join(dir, "config.json"), &config)
		config["encbench_synthetic"] = map[string]any{"shape": "tiny", "seed": 1, "tokenizer": tokenizer}
		modeltest.WriteJSON(t, filepath.Join(dir, "config.json"), config)
		t.Chdir(t.TempDir())
		r := encbench("", "eval", "--model", dir)
		want := "encbench eval: model " + dir + " has random weights: its vectors mean nothing, so there is no quality to measure; use encbench speed, or trained weights\nSee `encbench eval --help`.\n"
		if r.code != exitUsage || r.stderr != want || r.stdout != "" {
			t.Errorf("eval: exit %d\n%s\nwant\n%s", r.code, r.stderr, want)
		}
		rec := speedOf(t, "--model", dir, "--dtype", "int8")[0]
		if !rec.Model.Synthetic || rec.Model.StandInTokenizer == documents || (rec.Rates.Docs.N > 0) != documents || rec.Rates.Chunks.N == 0 {
			t.Errorf("%s tokenizer: model %+v, rates %+v", tokenizer, rec.Model, rec.Rates)
		}
		reasons := strings.Join(rec.Verdict.Reasons, "\n")
		if !strings.Contains(reasons, "random weights") || strings.Contains(reasons, "nDCG") {
			t.Errorf("reasons %s", reasons)
		}
	}
}

// Damaged weights are told as such, by every command that gates.
func TestWeightsThatAreNoNumbers(t *testing.T) {
	needAll(t)
	dir := tinyEmbedder(t, "tiny-bert-mean")
	t.Chdir(t.TempDir())
	path := filepath.Join(dir, "model.safetensors")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(data) - 64; i < len(data); i += 4 { // the last values of some tensor
		binary.LittleEndian.PutUint32(data[i:], math.Float32bits(float32(math.NaN())))
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	r := encbench("", "model", "verify", dir)
	const want = "reference vectors of DIR: probe of 3 tokens: the output holds a value that is no finite number: weights of the model are damaged, or so large that their products overflow; get the model again\n"
	if _, got, _ := strings.Cut(strings.ReplaceAll(r.stderr, dir, "DIR"), "encbench model verify: "); r.code != exitFailure || got != want || r.stdout != "" {
		t.Errorf("exit %d, %s\nwant %s", r.code, r.stderr, want)
	}
}

// A reranker's logits are gated, of whatever type its weights are.
func TestVerifyReranker(t *testing.T) {
	assettest.Need(t, "onnxruntime")
	t.Chdir(t.TempDir())
	writeReranker(t, "reranker")
	for dtype, level := range map[string]string{"auto": "reference", "bfloat16": "reference-bfloat16", "int8": "reference-int8"} {
		r := encbench("", "model", "verify", "reranker", "--dtype", dtype)
		if r.code != 0 || strings.Count(r.stdout, "passed ("+level+")") != 2 || !strings.Contains(r.stdout, "tokens  logit off by") || !strings.Contains(r.stdout, "  a logit is off by at most ") {
			t.Errorf("%s: exit %d\n%s%s", dtype, r.code, r.stdout, r.stderr)
		}
	}
}

// An evaluation says which type it computed in, and its run which weights made it.
func TestEvalInt8(t *testing.T) {
	needAll(t)
	t.Chdir(t.TempDir())
	r := encbench("", "eval", "--docs", "30", "--queries", "4", "--dtype", "int8", "--run-out", "r.ebrun", "--format", "json")
	if r.code != 0 {
		t.Fatalf("exit %d\n%s", r.code, r.stderr)
	}
	var rec struct {
		Protocol struct{ DType string }
		Model    bench.Model
		Accuracy bench.Accuracy
	}
	if err := json.Unmarshal([]byte(r.stdout), &rec); err != nil {
		t.Fatal(err)
	}
	if rec.Protocol.DType != "int8" || rec.Model.Stored != "int8" || rec.Accuracy.Level != "reference-int8" || !rec.Accuracy.Passed {
		t.Errorf("%+v", rec)
	}
	if info := encbench("", "run", "info", "r.ebrun"); !strings.Contains(info.stdout, "minilm-l6-int8") {
		t.Errorf("the run's header\n%s", info.stdout)
	}
}

// What converted weights cost is measured on real texts, kept, and held against its
// limits.
func TestRetrieval(t *testing.T) {
	needAll(t)
	ctx := context.Background()
	a := &app{stdin: strings.NewReader(""), stdout: &strings.Builder{}, stderr: &strings.Builder{}}
	m, err := a.openModel(ctx, modelOptions{dtype: "int8"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	rt, err := a.runtime(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.measureRetrieval(ctx, m, rt, 60, 20)
	if err != nil {
		t.Fatal(err)
	}
	if r.Collection != embeddedCollection || r.Documents != 60 || r.Queries != 20 || r.Texts != 80 || len(r.SHA256) != 64 || r.Measure != "nDCG@10" {
		t.Errorf("measured %+v", r)
	}
	if !(r.Min > 0.98 && r.Min <= r.P1 && r.P1 <= r.Mean && r.Mean < 1) || !(r.Original > 0.3 && r.Ratio > 0.9 && r.Ratio < 1.1) {
		t.Errorf("measured %+v", r)
	}
	if m.label() != "minilm-l6-int8" {
		t.Errorf("label %s", m.label())
	}
}

// The outcome is measured once; speed takes it from the cache, and fails the gate where
// it is too little.
func TestRetrievalIsKept(t *testing.T) {
	t.Setenv("ENCBENCH_CACHE", t.TempDir())
	ctx := context.Background()
	a := &app{stdin: strings.NewReader(""), stdout: &strings.Builder{}, stderr: &strings.Builder{}}
	m, err := a.openModel(ctx, modelOptions{name: tinyEmbedder(t, "tiny-bert-mean"), dtype: "int8"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	for version, test := range map[string]struct {
		r    bench.Retrieval
		want string
	}{
		"1": {bench.Retrieval{Ratio: 1, Min: 0.99, Mean: 0.995}, ""},
		"2": {bench.Retrieval{Collection: "c", Measure: "nDCG@10", Value: 0.1, Original: 0.2, Ratio: 0.5, Min: 0.99, Mean: 0.995}, "nDCG@10 on c is 0.5000 of the original weights', 0.1000 against 0.2000, at least 0.99 expected"},
	} {
		rt := &ort.Runtime{Version: version}
		acc := bench.Accuracy{Passed: true}
		if err := a.retrievalOf(ctx, m, rt, &acc); err != nil || acc.Retrieval != nil || !acc.Passed {
			t.Errorf("before it is measured: %+v, %v", acc, err)
		}
		times := 0
		for range 2 {
			got, err := a.retrieval(ctx, m, rt, func() (*bench.Retrieval, error) { times++; return &test.r, nil })
			test.r.Least, test.r.Average, test.r.RatioLimit = bench.RetrievalLimits("int8", m.activationBits()) // those of now
			if err != nil || *got != test.r {
				t.Errorf("measured %+v, %v", got, err)
			}
		}
		if times != 1 {
			t.Errorf("measured %d times", times)
		}
		if err := a.retrievalOf(ctx, m, rt, &acc); err != nil || acc.Retrieval == nil || acc.Error != test.want || acc.Passed != (test.want == "") {
			t.Errorf("afterwards: %+v, %v", acc, err)
		}
	}
}

// The facts' account of the work is the model's own, windows and causal rows included.
func TestWorkOfEveryFamily(t *testing.T) {
	for _, dir := range modeltest.Goldens(t) {
		d, err := model.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		m := loadedModel{dir: d}
		m.work()
		for _, n := range []int{1, 7, 33, 100, d.MaxPositions()} {
			want := d.RowFLOP(n)
			if got := m.facts.RowFLOP(n); math.Abs(got-want) > 1e-9*want {
				t.Errorf("%s, %d tokens: %g FLOP, want %g", filepath.Base(dir), n, got, want)
			}
		}
		d.Close()
	}
}
