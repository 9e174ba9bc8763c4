package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"encbench/bench"
	"encbench/bench/assets/assettest"
	"encbench/bench/rerank"
	"encbench/corpus/tokenize"
	"encbench/engine/cpu"
	"encbench/engine/model"
	"encbench/engine/model/modeltest"
)

// rerankWords are the words that the tests' reranker knows; it spells others.
const rerankWords = "this text number is about it says more of than most what known the a tides harbour how glass blown migration geese recipe for rye bread repair bicycle chain rules chess opening growth coral tuning piano mapping cave price copper vaccine horses law sea"

// writeReranker makes a directory with a cross-encoder: BERT of two layers with seeded
// random weights and a tokenizer of its own, rows of up to 96 tokens.
func writeReranker(t *testing.T, dir string) {
	t.Helper()
	vocab := map[string]int{}
	add := func(tokens ...string) {
		for _, token := range tokens {
			if _, ok := vocab[token]; !ok {
				vocab[token] = len(vocab)
			}
		}
	}
	add("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
	add(strings.Fields(rerankWords)...)
	for c := '!'; c <= '~'; c++ {
		add(strings.ToLower(string(c)), "##"+strings.ToLower(string(c)))
	}
	added := []any{}
	for id, token := range []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"} {
		added = append(added, map[string]any{"id": id, "content": token, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true})
	}
	special := func(token string, kind int) any {
		return map[string]any{"SpecialToken": map[string]any{"id": token, "type_id": kind}}
	}
	sequence := func(name string, kind int) any {
		return map[string]any{"Sequence": map[string]any{"id": name, "type_id": kind}}
	}
	ids := func(token string) any {
		return map[string]any{"id": token, "ids": []int{vocab[token]}, "tokens": []string{token}}
	}
	modeltest.WriteJSON(t, filepath.Join(dir, "tokenizer.json"), map[string]any{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": added,
		"normalizer":    map[string]any{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": nil, "lowercase": true},
		"pre_tokenizer": map[string]any{"type": "BertPreTokenizer"},
		"post_processor": map[string]any{"type": "TemplateProcessing",
			"single":         []any{special("[CLS]", 0), sequence("A", 0), special("[SEP]", 0)},
			"pair":           []any{special("[CLS]", 0), sequence("A", 0), special("[SEP]", 0), sequence("B", 1), special("[SEP]", 1)},
			"special_tokens": map[string]any{"[CLS]": ids("[CLS]"), "[SEP]": ids("[SEP]")}},
		"decoder": nil,
		"model":   map[string]any{"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocab},
	})
	modeltest.WriteJSON(t, filepath.Join(dir, "tokenizer_config.json"), map[string]any{"model_max_length": 96})
	const hidden, ffn, positions = 32, 64, 128
	modeltest.WriteJSON(t, filepath.Join(dir, "config.json"), map[string]any{
		"model_type": "bert", "architectures": []string{"BertForSequenceClassification"}, "hidden_size": hidden, "intermediate_size": ffn,
		"num_attention_heads": 2, "num_hidden_layers": 2, "max_position_embeddings": positions, "type_vocab_size": 2, "vocab_size": len(vocab),
		"hidden_act": "gelu", "layer_norm_eps": 1e-12, "pad_token_id": 0, "position_embedding_type": "absolute",
		"id2label": map[string]string{"0": "LABEL_0"}, "label2id": map[string]int{"LABEL_0": 0},
	})
	rng := rand.New(rand.NewPCG(20, 64))
	var tensors []modeltest.Tensor
	tensor := func(name string, mean, spread float64, shape ...int) {
		n := 1
		for _, d := range shape {
			n *= d
		}
		var data []byte
		for range n {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(mean+spread*rng.NormFloat64())))
		}
		tensors = append(tensors, modeltest.Tensor{Name: name, DType: model.F32, Shape: shape, Data: data})
	}
	linear := func(name string, out, in int) {
		tensor(name+".weight", 0, 0.3, out, in)
		tensor(name+".bias", 0, 0.1, out)
	}
	norm := func(name string) {
		tensor(name+".weight", 1, 0.1, hidden)
		tensor(name+".bias", 0, 0.1, hidden)
	}
	const e = "bert.embeddings."
	tensor(e+"word_embeddings.weight", 0, 1, len(vocab), hidden)
	tensor(e+"position_embeddings.weight", 0, 0.3, positions, hidden)
	tensor(e+"token_type_embeddings.weight", 0, 1, 2, hidden)
	norm(e + "LayerNorm")
	for i := range 2 {
		l := fmt.Sprintf("bert.encoder.layer.%d.", i)
		for _, part := range []string{"query", "key", "value"} {
			linear(l+"attention.self."+part, hidden, hidden)
		}
		linear(l+"attention.output.dense", hidden, hidden)
		norm(l + "attention.output.LayerNorm")
		linear(l+"intermediate.dense", ffn, hidden)
		linear(l+"output.dense", hidden, ffn)
		norm(l + "output.LayerNorm")
	}
	linear("bert.pooler.dense", hidden, hidden)
	linear("classifier", 1, hidden)
	modeltest.WriteTensors(t, filepath.Join(dir, "model.safetensors"), tensors, 0)
}

// labelledTexts are the documents and queries of writeLabelled.
func labelledTexts(t *testing.T) (docs, queries map[string]string, ids []string) {
	t.Helper()
	data, err := os.ReadFile("labelled.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	docs, queries = map[string]string{}, map[string]string{}
	for line := range strings.Lines(string(data)) {
		var d struct {
			ID      string `json:"_id"`
			Text    string
			Queries []struct {
				ID   string `json:"_id"`
				Text string
			}
		}
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		docs[d.ID] = d.Text
		for _, q := range d.Queries {
			queries[q.ID] = q.Text
			ids = append(ids, q.ID)
		}
	}
	return docs, queries, ids
}

// rerankExamples writes what the examples of rerank and latency read: a reranker, and
// a first stage and vectors of labelled.jsonl.
func rerankExamples(t *testing.T) {
	t.Helper()
	writeReranker(t, "reranker")
	writeFirstStage(t)
	ok(t, "run", "convert", "first.run", "first.ebrun")
	ok(t, "eval", "--data", "labelled.jsonl", "--vectors-out", "v")
}

// writeFirstStage ranks the 24 documents for every query, in an order drawn for each.
func writeFirstStage(t *testing.T) {
	t.Helper()
	docs, _, ids := labelledTexts(t)
	var b strings.Builder
	for q, id := range ids {
		for rank, d := range rand.New(rand.NewPCG(uint64(q), 1)).Perm(len(docs)) {
			fmt.Fprintf(&b, "%s Q0 d%d %d %g first\n", id, d, rank+1, 30-float64(rank)/2)
		}
	}
	writeFiles(t, map[string]string{"first.run": b.String()})
}

// listOf gives the documents and scores of a query in TREC text.
func listOf(t *testing.T, run, query string) (docs []string, scores []float64) {
	t.Helper()
	for line := range strings.Lines(run) {
		var q, q0, doc, tag string
		var rank int
		var score float64
		if _, err := fmt.Sscan(line, &q, &q0, &doc, &rank, &score, &tag); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if q == query {
			docs, scores = append(docs, doc), append(scores, score)
		}
	}
	return docs, scores
}

func rerankRecord(t *testing.T, args ...string) *rerank.Record {
	t.Helper()
	var r rerank.Record
	if err := json.Unmarshal([]byte(ok(t, append([]string{"rerank", "--format", "json"}, args...)...)), &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// From a directory, a run and a collection to a new run whose scores are the logits of
// the plain reference encoder, pair by pair.
func TestRerank(t *testing.T) {
	assettest.Need(t, "onnxruntime")
	t.Chdir(t.TempDir())
	writeLabelled(t)
	writeReranker(t, "reranker")
	writeFirstStage(t)
	ok(t, "run", "convert", "first.run", "first.ebrun")
	first, err := os.ReadFile("first.run")
	if err != nil {
		t.Fatal(err)
	}
	r := rerankRecord(t, "--model", "reranker", "--run", "first.ebrun", "--data", "labelled.jsonl", "--top", "7", "--max-query-tokens", "5", "--max-tokens", "40",
		"--batch-size", "3", "--run-out", "new.ebrun", "--out", "r.json")
	c := r.Collections[0]
	if r.Status != bench.StatusComplete || r.Kind != rerank.Kind || !r.Accuracy.Passed || r.Accuracy.Level != bench.LevelReference || r.Model.Name != "reranker" ||
		r.Protocol.Top != 7 || r.Protocol.QueryTk != 5 || r.Protocol.MaxTokens != 40 || r.Protocol.Template != "2 query 3 document 3, token types 0 0 0 1 1" {
		t.Errorf("record %+v", r)
	}
	if l := c.Ledger; l.Pairs != 42 || l.QueriesReranked != 6 || l.PairsCut == 0 || l.QueriesCut == 0 || l.Longest != 40 || l.Tokens != l.SpecialTokens+l.QueryTokens+l.DocumentTokens || l.SpecialTokens != 3*42 {
		t.Errorf("ledger %+v", l)
	}
	if len(c.Before) != 4 || c.Before[0].N != 6 || c.First.Tag != "first" || len(c.First.SHA256) != 64 || c.Run != "new.ebrun" || !c.Pairs.Known() || r.Memory.PeakRSS == 0 {
		t.Errorf("collection %+v", c)
	}

	m, err := model.Open("reranker")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	reference, err := cpu.NewReference(m)
	if err != nil {
		t.Fatal(err)
	}
	tok, _, err := tokenize.LoadFile(m.TokenizerPath)
	if err != nil {
		t.Fatal(err)
	}
	docs, queries, ids := labelledTexts(t)
	text := ok(t, "run", "cat", "new.ebrun")
	for _, q := range ids {
		before, _ := listOf(t, string(first), q)
		after, scores := listOf(t, text, q)
		if len(after) != 24 || !slices.Equal(after[7:], before[7:]) || !slices.IsSortedFunc(scores, func(a, b float64) int { return -int(math.Copysign(1, a-b)) }) {
			t.Errorf("%s: %v of %v\n%v", q, after, before, scores)
		}
		if got, want := slices.Sorted(slices.Values(after[:7])), slices.Sorted(slices.Values(before[:7])); !slices.Equal(got, want) {
			t.Errorf("%s: candidates %v, want %v", q, got, want)
		}
		query := tok.AppendIDs(nil, []byte(queries[q]))
		query = query[:min(5, len(query))]
		for i, doc := range after[:7] {
			content := tok.AppendIDs(nil, []byte(docs[doc]))
			row, types := tok.Template().AppendPair(nil, nil, query, content[:min(len(content), 40-3-len(query))])
			logit, err := reference.Encode(row, types)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(scores[i]-float64(logit[0])) > 1e-4 {
				t.Errorf("%s, %s: score %v, the reference's logit %v", q, doc, scores[i], logit[0])
			}
		}
		// The tail's differences are those of the first stage.
		for i := 8; i < 24; i++ {
			if d := scores[i-1] - scores[i]; math.Abs(d-0.5) > 1e-9 {
				t.Errorf("%s: ranks %d and %d are %v apart, 0.5 before", q, i, i+1, d)
			}
		}
		if d := scores[6] - scores[7]; math.Abs(d-1) > 1e-9 {
			t.Errorf("%s: the tail begins %v below", q, d)
		}
	}

	// The values are those that score gives the two runs.
	writeFiles(t, map[string]string{"qrels.txt": "q0 0 d0 1\nq2 0 d2 1\nq4 0 d4 1\nq6 0 d6 1\nq8 0 d8 1\nq10 0 d10 1\n"})
	var scored struct {
		Runs []struct {
			Measures []struct {
				Measure string
				Value   float64
			}
		}
		Comparisons []struct {
			Diff float64
			P    float64
		}
	}
	if err := json.Unmarshal([]byte(ok(t, "score", "qrels.txt", "first.run", "new.ebrun", "-m", "nDCG@10,R@5,RR,Success@5", "--format", "json")), &scored); err != nil {
		t.Fatal(err)
	}
	for i := range c.After {
		if before, after := scored.Runs[0].Measures[i].Value, scored.Runs[1].Measures[i].Value; c.Before[i].Mean != before || c.After[i].Mean != after || c.Differences[i].Diff != scored.Comparisons[i].Diff || c.Differences[i].P != scored.Comparisons[i].P {
			t.Errorf("%s: %v and %v, score says %v and %v", c.After[i].Measure, c.Before[i].Mean, c.After[i].Mean, before, after)
		}
	}

	// The other formats and places, the same from text and from another batch.
	for _, out := range []string{"new.run", "new.txt.zst"} {
		md := ok(t, "rerank", "--model", "reranker", "--run", "first.run", "--data", "labelled.jsonl", "--top", "7", "--max-query-tokens", "5", "--max-tokens", "40", "--run-out", out, "--format", "md")
		if !strings.HasPrefix(md, "# encbench rerank: reranker on labelled\n") || !strings.Contains(md, "| measure | before |") {
			t.Errorf("%s", md)
		}
		for _, q := range ids {
			a, _ := listOf(t, ok(t, "run", "cat", out), q)
			if b, _ := listOf(t, text, q); !slices.Equal(a, b) {
				t.Errorf("%s, %s: %v, want %v", out, q, a, b)
			}
		}
	}
	if lines := ok(t, "rerank", "--model", "reranker", "--run", "first.run", "--data", "labelled.jsonl", "--top", "2", "--format", "jsonl"); strings.Count(lines, "\n") != 1 {
		t.Errorf("%d lines", strings.Count(lines, "\n"))
	}
	// Standard input, and what compare says of a record.
	if piped := encbench(string(first), "rerank", "--model", "reranker", "--run", "-", "--data", "labelled.jsonl", "--top", "2", "--format", "jsonl"); piped.code != 0 || !strings.Contains(piped.stdout, `"file":"-"`) {
		t.Errorf("exit %d\n%s%s", piped.code, piped.stdout, piped.stderr)
	}
	if r := encbench("", "compare", "r.json", "r.json"); r.code != exitUsage || r.stderr != "encbench compare: r.json is a record of encbench rerank; compare takes two of speed or two of eval\nSee `encbench compare --help`.\n" {
		t.Errorf("exit %d\n%s", r.code, r.stderr)
	}
	if left, _ := filepath.Glob("*.partial*"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// Synthetic weights have their speed, marked, and nothing else.
func TestRerankSynthetic(t *testing.T) {
	assettest.Need(t, "onnxruntime")
	t.Chdir(t.TempDir())
	writeLabelled(t)
	writeReranker(t, "reranker")
	writeFirstStage(t)
	var config map[string]any
	modeltest.ReadJSON(t, "reranker/config.json", &config)
	args := []string{"rerank", "--model", "reranker", "--run", "first.run", "--data", "labelled.jsonl"}
	for _, tokenizer := range []string{"stand-in", "real"} {
		config["encbench_synthetic"] = map[string]any{"shape": "tiny", "seed": 1, "tokenizer": tokenizer}
		modeltest.WriteJSON(t, "reranker/config.json", config)
		text := ok(t, args...)
		head, _, _ := strings.Cut(text, "What ran")
		if !strings.Contains(head, "synthetic weights: speed only") || !strings.Contains(head, "tokens/s") || strings.Contains(text, "nDCG") {
			t.Errorf("%s", text)
		}
		if strings.Contains(head, "pairs/s") != (tokenizer == "real") {
			t.Errorf("pairs/s with a %s tokenizer\n%s", tokenizer, head)
		}
	}
	r := encbench("", append(args, "--run-out", "new.ebrun")...)
	if want := "encbench rerank: --run-out: model reranker has synthetic weights, whose order means nothing; leave it out, speed is all there is\nSee `encbench rerank --help`.\n"; r.code != exitUsage || r.stderr != want {
		t.Errorf("exit %d\n%s\nwant\n%s", r.code, r.stderr, want)
	}
}

// Each kind of model has its commands.
func TestKindsOfModels(t *testing.T) {
	needAll(t)
	t.Chdir(t.TempDir())
	writeLabelled(t)
	writeReranker(t, "reranker")
	writeFirstStage(t)
	embedder := assettest.Need(t, "all-minilm-l6-v2")
	for _, args := range [][]string{{"speed", "--model", "reranker"}, {"eval", "--model", "reranker", "--data", "labelled.jsonl"}, {"latency", "--model", "reranker"}} {
		r := encbench("", args...)
		want := fmt.Sprintf("encbench %s: model reranker is a reranker (BertForSequenceClassification): it scores pairs and gives no vectors; use encbench rerank\nSee `encbench %s --help`.\n", args[0], args[0])
		if r.code != exitUsage || r.stderr != want || r.stdout != "" {
			t.Errorf("%v: exit %d\n%s\nwant\n%s", args, r.code, r.stderr, want)
		}
	}
	r := encbench("", "rerank", "--model", embedder, "--run", "first.run", "--data", "labelled.jsonl")
	want := fmt.Sprintf("encbench rerank: model %s is no reranker (BertModel): it gives vectors and scores no pairs; name a cross-encoder\nSee `encbench rerank --help`.\n", embedder)
	if r.code != exitUsage || r.stderr != want {
		t.Errorf("exit %d\n%s\nwant\n%s", r.code, r.stderr, want)
	}
}

func TestRerankUsage(t *testing.T) {
	assettest.Need(t, "onnxruntime")
	t.Chdir(t.TempDir())
	writeLabelled(t)
	writeReranker(t, "reranker")
	writeFirstStage(t)
	writeFiles(t, map[string]string{
		"taken.ebrun": "no run\n", "bad.run": "q0 Q0 d1 1 x first\n", "three.run": "q0 d1 3\n", "twice.run": "q0 Q0 d1 1 3 f\nq0 Q0 d2 2 2 f\nq0 Q0 d1 3 1 f\n",
		"other.run": "x0 Q0 d1 1 3 f\n", "gone.run": "q0 Q0 y1 1 3 f\n", "a/labelled.jsonl": "", "spaced.json": `{"q0":{"d 1":2,"d2":1}}`,
	})
	base := "--model reranker --run first.run --data labelled.jsonl "
	see := "\nSee `encbench rerank --help`.\n"
	for _, c := range []struct{ args, want string }{
		{"", "--model: name a cross-encoder, a Hugging Face directory\n--run: name the first stage's run" + see},
		{"--model reranker --run a,b --data x", "--run names 2 files, --data 1 collection: give a run for each collection, in the same order" + see},
		{"--model reranker --run -,- --data x,x", "--run: standard input can be read once\n--data x is given twice" + see},
		{base + "--top 0 --max-query-tokens 0 --max-tokens -1 --queries -1 --threads -1 --batch-size 0", "--top 0: at least 1\n--max-query-tokens 0: at least 1\n--max-tokens -1: at least 0\n--queries -1: at least 0\n--threads -1: at least 0\n--batch-size 0: 1 to 65536" + see},
		{base + "--format xml --split held-out --run-format x --dtype x", "--run-format: unknown run format \"x\": auto, trec, msmarco, scores, pairs, json\n" + checkDeviceDType("x").Error() + "\nunknown format \"xml\": text, json, jsonl, md\n--split held-out: it is called heldout" + see},
		{base + "-m NumQ", "--measures NumQ: a mean over queries is what is compared, name one that has it" + see},
		{base + "--run-out r.json", "--run-out r.json: the ending says the format: .ebrun (compressed columns), or .run, .txt or .trec (TREC text), which .gz or .zst may follow" + see},
		{base + "--run-out taken.ebrun", "--run-out taken.ebrun exists and is no earlier result; name another file, or remove it" + see},
		{base + "--run-out first.run", "--run-out first.run is an input of this command; name another file" + see},
		{base + "--run-out both.run --out ./both.run", "--run-out and --out both name both.run; give the record a name of its own" + see},
		{base + "--out labelled.jsonl", "--out labelled.jsonl is an input of this command; name another file" + see},
		{base + "--max-tokens 129", "--max-tokens 129 is longer than the 128 positions of model reranker; use 128 or less" + see},
		{base + "--max-tokens 67", "67 tokens leave no room for a document beside 3 special tokens and a query of 64" + see},
		{base + "extra", "unexpected argument \"extra\"" + see},
		{"--model reranker --run first.run --data nope", "unknown collection \"nope\": neither a folder or file nor one of: techdocs-qa" + see},
		{"--model reranker --run none.run --data labelled.jsonl", "run: open input: open none.run: no such file or directory\n"},
		{"--model reranker --run bad.run --data labelled.jsonl", "run: bad.run:1:12: score \"x\" is not a number\n"},
		{"--model reranker --run three.run --data labelled.jsonl", "run: three.run:1: 3 columns, expected 6 (query Q0 document rank score tag); they may be query, document and score (format scores) or MS MARCO's query, document and rank (format msmarco): name the format with --run-format\n"},
		{"--model reranker --run twice.run --data labelled.jsonl", "run twice.run: query \"q0\": document \"d1\" stands at ranks 1 and 3; a document is ranked once\n"},
		{"--model reranker --run other.run --data labelled.jsonl", "collection labelled: none of the 1 queries of the run other.run is one of the 6 judged queries of the collection: the run has \"x0\", the collection \"q0\", \"q2\", \"q4\", …; do they belong together?\n"},
		{"--model reranker --run gone.run --data labelled.jsonl", "collection labelled: none of the 1 candidates of the run gone.run is among the 24 documents of the collection: the run has \"y1\"; do they belong together?\n"},
		{"--model reranker --run spaced.json --data labelled.jsonl --run-out s.run", "--run-out s.run: document id \"d 1\" of spaced.json is empty or holds white space; name the file .ebrun, which carries any id\n"},
	} {
		r := encbench("", append([]string{"rerank"}, strings.Fields(c.args)...)...)
		code := exitFailure
		if strings.HasSuffix(c.want, see) {
			code = exitUsage
		}
		if got := strings.TrimPrefix(r.stderr, "encbench rerank: "); r.code != code || r.stdout != "" || !strings.HasSuffix(got, c.want) {
			t.Errorf("%s: exit %d\n%s\nwant\n%s", c.args, r.code, got, c.want)
		}
	}
	// A bare graph does not say how its pairs are made.
	writeFiles(t, map[string]string{"bare/model.onnx": "x", "bare/tokenizer.json": "{}"})
	if r := encbench("", strings.Fields("rerank --model bare/model.onnx --run first.run --data labelled.jsonl")...); r.code == 0 || r.stdout != "" {
		t.Errorf("exit %d\n%s", r.code, r.stdout)
	}
	if left, _ := filepath.Glob("*.partial*"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// Each of several collections has its run; interrupted before the first is done,
// nothing is left.
func TestRerankSeveral(t *testing.T) {
	assettest.Need(t, "onnxruntime")
	t.Chdir(t.TempDir())
	writeLabelled(t)
	writeReranker(t, "reranker")
	writeFirstStage(t)
	data, err := os.ReadFile("labelled.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, map[string]string{"second.jsonl": string(data)})
	args := []string{"rerank", "--model", "reranker", "--run", "first.run,first.run", "--data", "labelled.jsonl,second.jsonl", "--batch-size", "1", "--top", "24", "--run-out", "new.run", "--out", "r.json"}
	ended, stop := context.WithCancel(context.Background())
	stop()
	if r := encbenchContext(ended, "", args...); r.code != exitFailure || r.stdout != "" {
		t.Errorf("interrupted at once: exit %d, printed %q", r.code, r.stdout)
	}
	if left, _ := filepath.Glob("[nr].*"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	text := ok(t, args...)
	if !strings.HasPrefix(text, "encbench rerank: reranker\n\n  labelled: nDCG@10 ") || !strings.Contains(text, "\n  second: nDCG@10 ") {
		t.Errorf("%s", text)
	}
	for _, name := range []string{"new-labelled.run", "new-second.run"} {
		if run, err := os.ReadFile(name); err != nil || strings.Count(string(run), "\n") != 6*24 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A recorded held-out part stays out unless it is asked for, and then the look is
// counted.
func TestRerankHeldOut(t *testing.T) {
	assettest.Need(t, "onnxruntime")
	t.Chdir(t.TempDir())
	inhouseFolder(t)
	writeReranker(t, "reranker")
	ok(t, "labels", "split", "mydata", "--share", "0.5")
	args := []string{"--model", "reranker", "--run", "bm25.run", "--data", "mydata", "--max-query-tokens", "20"}
	dev := rerankRecord(t, args...).Collections[0]
	held := rerankRecord(t, append(args, "--split", "heldout")...)
	h := held.Collections[0]
	if dev.Part != "dev" || dev.Looks != nil || h.Part != "heldout" || h.Looks == nil || h.Looks.Total != 1 || len(dev.QueryIDs)+len(h.QueryIDs) != 10 || dev.Ledger.QueriesUnknown != 12-len(dev.QueryIDs) {
		t.Errorf("parts %q of %v and %q of %v, looks %+v, %d queries of the run left out", dev.Part, dev.QueryIDs, h.Part, h.QueryIDs, h.Looks, dev.Ledger.QueriesUnknown)
	}
	if w := held.Warnings[len(held.Warnings)-1]; w.Code != "held-out" || !strings.HasPrefix(w.Text, h.Name+": look 1 at the held-out part") {
		t.Errorf("warnings %+v", held.Warnings)
	}
}
