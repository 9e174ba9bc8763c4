package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"encbench/bench"
	"encbench/bench/assets/assettest"
	"encbench/bench/eval"
	"encbench/bench/inhouse"
	"encbench/engine/model/modeltest"
	"encbench/metrics/ranking"
	"encbench/metrics/run"
)

// writeLabelled writes labelled.jsonl: documents of a few sentences, every second
// one with a query that it answers.
func writeLabelled(t *testing.T) {
	t.Helper()
	subjects := []string{"the tides of a harbour", "how glass is blown", "the migration of geese", "a recipe for rye bread", "repair of a bicycle chain",
		"rules of a chess opening", "the growth of coral", "tuning a piano", "mapping a cave", "the price of copper", "a vaccine for horses", "the law of the sea"}
	var b strings.Builder
	for i := range 24 {
		s := subjects[i%len(subjects)]
		fmt.Fprintf(&b, `{"_id":"d%d","text":"This text, number %d, is about %s. %s"`, i, i, s, strings.Repeat("It says more of it than most. ", i%7))
		if i%2 == 0 && i < len(subjects) {
			fmt.Fprintf(&b, `,"queries":[{"_id":"q%d","text":"what is known of %s"}]`, i, s)
		}
		b.WriteString("}\n")
	}
	writeFiles(t, map[string]string{"labelled.jsonl": b.String()})
}

func evalRecord(t *testing.T, args ...string) *eval.Record {
	t.Helper()
	r := encbench("", append([]string{"eval", "--format", "json"}, args...)...)
	if r.code != 0 {
		t.Fatalf("eval %v: exit %d\n%s", args, r.code, r.stderr)
	}
	var rec eval.Record
	if err := json.Unmarshal([]byte(r.stdout), &rec); err != nil {
		t.Fatal(err)
	}
	return &rec
}

// From a labelled file to report, record and run, and two records compared.
func TestEval(t *testing.T) {
	needAll(t)
	t.Chdir(t.TempDir())
	writeLabelled(t)
	rec := evalRecord(t, "--data", "labelled.jsonl", "--bm25", "--store", "int8,binary,bfloat16,float16", "--run-out", "r.ebrun", "--out", "a.json", "-m", "ndcg_cut_10, mrr, hit@5")
	if rec.Status != bench.StatusComplete || rec.Kind != eval.Kind || !rec.Accuracy.Passed || rec.Model.Name != "minilm-l6" || rec.Protocol.MaxTokens != 256 || rec.Protocol.K != 1000 {
		t.Errorf("record %+v", rec)
	}
	c := rec.Collections[0]
	if c.Documents != 24 || c.Queries != 6 || c.Run != "r.ebrun" || len(c.Stores) != 5 || c.BM25 == nil || c.Limited() {
		t.Errorf("collection %+v", c)
	}
	if v := c.Value("nDCG@10"); v == nil || v.Mean < 0.5 || len(v.PerQuery) != 6 || c.Value("RR") == nil || c.Value("Success@5") == nil {
		t.Errorf("values %+v", c.Values)
	}
	for _, d := range c.BM25.Differences {
		if d.Holm < d.P || d.Holm > 3*d.P {
			t.Errorf("BM25, %s of 3 measures: p %v, corrected %v", d.Measure, d.P, d.Holm)
		}
	}
	for i, want := range []int{4 * 384, 384 + 4, 48, 2 * 384, 2 * 384} {
		if c.Stores[i].Bytes != want {
			t.Errorf("store %s: %d bytes, want %d", c.Stores[i].Store, c.Stores[i].Bytes, want)
		}
	}
	onDisk, err := eval.ReadRecord("a.json")
	if err != nil || onDisk.Collections[0].SHA256 != c.SHA256 || onDisk.Memory.PeakRSS == 0 {
		t.Errorf("record on disk: %v", err)
	}
	f, err := os.Open("r.ebrun")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rd, err := run.NewReader(f, "r.ebrun", run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := rd.Header()
	if h.K != 1000 || h.Model != "minilm-l6" || h.ModelSHA256 != rec.Model.SHA256 || h.CorpusSHA256 != c.SHA256 || h.Protocol != rec.Protocol.SHA256() {
		t.Errorf("run header %+v", h)
	}
	queries, rows := 0, 0
	var b ranking.Block
	for {
		err := rd.Next(&b)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		queries, rows = queries+b.Len(), rows+len(b.Score)
	}
	if queries != 6 || rows != 6*24 {
		t.Errorf("the run holds %d queries and %d rows, want 6 of 24 documents", queries, rows)
	}
	if left, _ := filepath.Glob("*.partial*"); len(left) > 0 {
		t.Errorf("left %v", left)
	}

	// In windows, as text, with fewer dimensions; then against the first.
	if r := encbench("", "eval", "--data", "labelled.jsonl", "--chunk", "16", "--overlap", "4", "--pool", "mean", "--truncate-dim", "64", "--run-out", "r.run", "--out", "b.json", "--format", "md"); r.code != 0 || !strings.HasPrefix(r.stdout, "# encbench eval: minilm-l6 on labelled") {
		t.Errorf("exit %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	text, err := os.ReadFile("r.run")
	if lines := strings.Count(string(text), "\n"); err != nil || lines != 6*24 || !strings.HasPrefix(string(text), "q0 Q0 d") {
		t.Errorf("%v, %d lines:\n%.200s", err, lines, text)
	}
	if r := encbench("", "compare", "a.json", "b.json"); r.code != 0 || !strings.Contains(strings.Join(strings.Fields(r.stdout), " "), "protocol.dim 384 64") {
		t.Errorf("compare: exit %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	r := encbench("", "eval", "--data", "labelled.jsonl", "--queries", "3", "--out", "c.json", "--format", "csv")
	if rows, err := csv.NewReader(strings.NewReader(r.stdout)).ReadAll(); r.code != 0 || err != nil || len(rows) != 5 {
		t.Errorf("exit %d, %v, %d rows of CSV\n%s", r.code, err, len(rows), r.stderr)
	}
	if r := encbench("", "compare", "a.json", "c.json"); r.code != exitFailure || !strings.Contains(r.stderr, "a.json and c.json cannot be compared: not comparable: collections (name, hash of documents, queries and judgements): labelled ") {
		t.Errorf("compare of two sizes: exit %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	os.WriteFile("d.jsonl", []byte(someDocs), 0o644)
	speedRecord(t, "", "--corpus", "d.jsonl", "--out", "speed.json")
	writeFiles(t, map[string]string{"cut.json": `{"kind": "eval", "schema": 1`})
	for _, c := range []struct{ other, want string }{
		{"nowhere.json", "encbench compare: read record: open nowhere.json: no such file or directory\n"},
		{"cut.json", "encbench compare: read record cut.json:1:29: the file ends in the middle of a record; it was cut off\n"},
		{"a.json#1", "encbench compare: a.json#1: a file of encbench eval holds one record; leave out the number\nSee `encbench compare --help`.\n"},
	} {
		if r := encbench("", "compare", "a.json", c.other); r.code == 0 || r.stdout != "" || r.stderr != c.want {
			t.Errorf("compare with %s: exit %d\n%s\nwant\n%s", c.other, r.code, r.stderr, c.want)
		}
	}
	if r := encbench("", "compare", "a.json", "speed.json"); r.code != exitFailure || r.stderr != "encbench compare: a.json and speed.json cannot be compared: the first is a record of encbench eval, the second one of encbench speed\n" {
		t.Errorf("compare with speed: exit %d\n%s", r.code, r.stderr)
	}
}

// The real collections run from end to end on small limits.
func TestEvalCollections(t *testing.T) {
	needAll(t)
	dir, err := filepath.Abs(filepath.Join("..", "..", "..", "..", "shared", "data", "collections"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		skip := t.Skipf
		if os.Getenv("ENCBENCH_REQUIRE_COLLECTIONS") != "" {
			skip = t.Fatalf
		}
		skip("collections that are not part of this repository: %v", err)
	}
	t.Chdir(t.TempDir())
	var data []string
	for _, name := range []string{"cranfield", "npl-vaswani", "mtrag-un"} {
		data = append(data, filepath.Join(dir, name))
	}
	rec := evalRecord(t, "--data", strings.Join(data, ","), "--docs", "70", "--queries", "4", "--max-tokens", "64", "--k", "20", "--run-out", "r.ebrun")
	if len(rec.Collections) != 3 || len(rec.Averages) != 4 || rec.Averages[0].Tasks.Tasks != 3 || len(rec.Averages[0].Missing) != 0 {
		t.Fatalf("collections %d, averages %+v", len(rec.Collections), rec.Averages)
	}
	for _, c := range rec.Collections {
		v := c.Value("nDCG@10")
		if c.Error != "" || c.Queries != 4 || !c.Limited() || c.Documents < 30 || v.Mean < 0.2 || v.Mean > 1 {
			t.Errorf("%s: %d queries, %d documents, %+v", c.Name, c.Queries, c.Documents, v)
		}
		if st, err := os.Stat(c.Run); err != nil || st.Size() == 0 {
			t.Errorf("%s: run %q: %v", c.Name, c.Run, err)
		}
	}
}

// A collection that cannot be read makes the averages partial and the exit code 1;
// the others are reported.
func TestEvalPartial(t *testing.T) {
	needAll(t)
	t.Chdir(t.TempDir())
	writeLabelled(t)
	writeFiles(t, map[string]string{"bad.jsonl": "{\n"})
	r := encbench("", "eval", "--data", "labelled.jsonl,bad.jsonl", "--out", "r.json")
	if r.code != exitFailure || !strings.Contains(r.stdout, "PARTIAL: not the averages that were asked for, because bad.jsonl is missing") || !strings.Contains(r.stderr, "encbench eval: collection bad.jsonl: open collection bad.jsonl: ") {
		t.Errorf("exit %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	rec, err := eval.ReadRecord("r.json")
	if err != nil || rec.Status != bench.StatusFailed || len(rec.Collections) != 2 {
		t.Errorf("%v, record %+v", err, rec)
	}
	r = encbench("", "eval", "--data", "bad.jsonl", "--out", "none.json", "--run-out", "none.ebrun")
	if r.code != exitFailure || !strings.Contains(r.stderr, "encbench eval: open collection bad.jsonl: ") || r.stdout != "" {
		t.Errorf("exit %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	if left, _ := filepath.Glob("none*"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	// Text cannot hold every id, which is told before the work.
	writeFiles(t, map[string]string{
		"spaced.jsonl": `{"_id":"d 1","text":"glass","queries":[{"_id":"q1","text":"how is glass blown"}]}`,
		"query.jsonl":  `{"_id":"d1","text":"glass","queries":[{"_id":"q\t1","text":"how is glass blown"}]}`,
	})
	for _, c := range []struct{ data, want string }{
		{"spaced", `document id "d 1" of spaced is empty or holds white space`},
		{"query", `query id "q\t1" of query is empty or holds white space`},
	} {
		r := encbench("", "eval", "--data", c.data+".jsonl", "--run-out", "r.run")
		if want := "encbench eval: --run-out r.run: " + c.want + "; name the file .ebrun, which carries any id\n"; r.code != exitFailure || r.stderr != want {
			t.Errorf("exit %d\n%s\nwant\n%s", r.code, r.stderr, want)
		}
		if r := encbench("", "eval", "--data", c.data+".jsonl", "--run-out", "r.ebrun"); r.code != 0 {
			t.Errorf("exit %d\n%s", r.code, r.stderr)
		}
	}
}

// Several collections have short names of files, which keep the part.
func TestRunName(t *testing.T) {
	long := strings.Repeat("x", 100)
	for _, c := range []struct{ name, want string }{
		{"cranfield", "out/multi-cranfield.ebrun"},
		{"techdocs-qa (120 of 9982 documents, 30 of 9982 queries, seed 1)", "out/multi-techdocs-qa.ebrun"},
		{"my data [dev]", "out/multi-my_data-dev.ebrun"},
		{"mydata (seed 1) [heldout]", "out/multi-mydata-heldout.ebrun"},
		{long, "out/multi-" + long[:64] + ".ebrun"},
	} {
		if got := runName("out/multi.ebrun", c.name, true); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if got := runName("out/one.run", "cranfield", false); got != "out/one.run" {
		t.Errorf("alone: %s", got)
	}
}

// Ctrl-C while the second collection is encoded keeps the first and its run.
func TestEvalInterrupted(t *testing.T) {
	needAll(t)
	t.Chdir(t.TempDir())
	writeLabelled(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			// The first run is complete, still under its partial name.
			if st, err := os.Stat("r-labelled.ebrun.partial"); err == nil && st.Size() > 0 {
				time.Sleep(50 * time.Millisecond)
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	r := encbenchContext(ctx, "", "eval", "--data", "labelled.jsonl,techdocs-qa", "--docs", "4000", "--queries", "30", "--run-out", "r.ebrun", "--out", "r.json")
	if r.code != exitFailure || !strings.Contains(r.stderr, "interrupted; the report holds the collections that were done") || !strings.Contains(r.stdout, "INTERRUPTED") {
		t.Errorf("exit %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	rec, err := eval.ReadRecord("r.json")
	if err != nil || rec.Status != bench.StatusInterrupted || len(rec.Collections) != 1 || rec.Collections[0].Run != "r-labelled.ebrun" {
		t.Errorf("%v, record %+v", err, rec)
	}
	if files, _ := filepath.Glob("r*"); strings.Join(files, " ") != "r-labelled.ebrun r.json" {
		t.Errorf("files %v", files)
	}
	ended, stop := context.WithCancel(context.Background())
	stop()
	if r := encbenchContext(ended, "", "eval", "--data", "labelled.jsonl", "--out", "none.json"); r.code != exitFailure || r.stdout != "" {
		t.Errorf("interrupted at once: exit %d, printed %q", r.code, r.stdout)
	}
	if left, _ := filepath.Glob("none*"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// The held-out part shows on request alone, and each look is counted; failures of
// the part for tuning are archived.
func TestEvalSplit(t *testing.T) {
	needAll(t)
	t.Chdir(t.TempDir())
	inhouseFolder(t)
	// What nobody recorded is not there.
	for part, want := range map[string]string{
		"heldout": "split mydata: no split recorded; encbench labels split mydata --share 0.5",
		"dev":     `open collection mydata: no such choice: split "dev" is not there: choose one of test; for the dev part of a split by hash, record one: encbench labels split mydata --share 0.5`,
	} {
		r := encbench("", "eval", "--data", "mydata", "--split", part)
		if r.code != exitFailure || r.stdout != "" || r.stderr != "encbench eval: "+want+"\n" {
			t.Errorf("--split %s: exit %d\n%s\nwant\n%s", part, r.code, r.stderr, want)
		}
	}
	if _, err := os.Stat("mydata/heldout.json"); err == nil {
		t.Error("a look made a split")
	}
	ok(t, "labels", "split", "mydata", "--share", "0.5")
	dev := evalRecord(t, "--data", "mydata", "--split", "dev", "--failures", "archive")
	held := evalRecord(t, "--data", "mydata", "--split", "heldout")
	d, h := dev.Collections[0], held.Collections[0]
	if d.Part != "dev" || h.Part != "heldout" || d.Queries+h.Queries != 10 || d.Queries == 0 || d.Limited() || len(d.SplitDigest) != 64 || d.SplitDigest != h.SplitDigest {
		t.Errorf("parts of %d and %d queries: %q, %q", d.Queries, h.Queries, d.Name, h.Name)
	}
	for _, id := range h.QueryIDs {
		if strings.Contains(strings.Join(d.QueryIDs, " ")+" ", id+" ") {
			t.Errorf("query %s is in both parts", id)
		}
	}
	if d.Looks != nil || h.Looks == nil || h.Looks.Total != 1 {
		t.Errorf("looks %+v, %+v", d.Looks, h.Looks)
	}
	// Without --split the recorded held-out part stays out.
	r := encbench("", "eval", "--data", "mydata", "--out", "r.json")
	if want := "mydata has a held-out part (mydata/heldout.json), which is left out: --split heldout or --split all shows it and counts a look\n"; r.code != 0 || !strings.Contains(r.stderr, want) {
		t.Errorf("exit %d\n%s", r.code, r.stderr)
	}
	rec, err := eval.ReadRecord("r.json")
	if err != nil || rec.Collections[0].SHA256 != d.SHA256 {
		t.Errorf("%v, another collection than dev", err)
	}
	// So it does of the collection's own splits, of the failures, and of samples.
	judgements, err := os.ReadFile("mydata/qrels/test.tsv")
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, map[string]string{"mydata/qrels/other.tsv": string(judgements)})
	for _, split := range []string{"test", "other"} {
		r := encbench("", "eval", "--data", "mydata", "--split", split, "--failures", "archive-"+split, "--out", split+".json")
		if want := "mydata has a held-out part (mydata/heldout.json), which is left out: --split heldout or --split all shows it and counts a look\n"; r.code != 0 || !strings.Contains(r.stderr, want) {
			t.Errorf("--split %s: exit %d\n%s", split, r.code, r.stderr)
		}
		rec, err := eval.ReadRecord(split + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if c := rec.Collections[0]; strings.Join(c.QueryIDs, " ") != strings.Join(d.QueryIDs, " ") || c.Part != "dev" || c.Split != split || c.Looks != nil {
			t.Errorf("--split %s: %s part of split %q, queries %v, dev has %v, looks %+v", split, c.Part, c.Split, c.QueryIDs, d.QueryIDs, c.Looks)
		}
		a, err := inhouse.ReadArchive("archive-" + split)
		if err != nil || len(a.Runs) != 1 || a.Runs[0].Queries != d.Queries {
			t.Errorf("--split %s: %v, archive %+v", split, err, a)
		}
		r = encbench("", "eval", "--data", "mydata", "--split", split, "--queries", "3")
		if want := "encbench eval: --docs and --queries: a part of mydata is taken whole; leave them out\nSee `encbench eval --help`.\n"; r.code != exitUsage || r.stderr != want {
			t.Errorf("--split %s of a sample: exit %d\n%s", split, r.code, r.stderr)
		}
	}
	if err := os.Remove("mydata/qrels/other.tsv"); err != nil {
		t.Fatal(err)
	}
	all := evalRecord(t, "--data", "mydata", "--split", "all").Collections[0]
	if all.Queries != 10 || all.Looks == nil || all.Looks.Total != 2 {
		t.Errorf("all: %d queries, looks %+v", all.Queries, all.Looks)
	}
	l, err := inhouse.ReadLedger("mydata/heldout.json")
	if err != nil || len(l.Looks) != 2 || l.Looks[0].Model != "minilm-l6" || l.Looks[0].Protocol != held.Protocol.SHA256() {
		t.Errorf("%v, ledger %+v", err, l)
	}
	a, err := inhouse.ReadArchive("archive")
	if err != nil || len(a.Runs) != 1 || a.Runs[0].Queries != d.Queries || a.Runs[0].SHA256 != d.SHA256 {
		t.Errorf("%v, archive %+v", err, a)
	}
}

// The prompts in force are those of the model's directory or of the command line;
// those that are declared and not used are warned of.
func TestEvalPrompts(t *testing.T) {
	needAll(t)
	dir := modeltest.Copy(t, assettest.Need(t, "all-minilm-l6-v2"))
	modeltest.WriteJSON(t, filepath.Join(dir, "config_sentence_transformers.json"), map[string]any{
		"prompts": map[string]string{"query": "query: ", "document": "passage: ", "cluster": "topic: "}, "default_prompt_name": nil, "truncate_dim": 100,
	})
	t.Chdir(t.TempDir())
	writeLabelled(t)
	prompts := func(args ...string) (query, document eval.Prompt, warning string) {
		rec := evalRecord(t, append([]string{"--data", "labelled.jsonl", "--model", dir}, args...)...)
		whole := ""
		for _, w := range rec.Warnings {
			switch w.Code {
			case "prompts-unused":
				warning = w.Text
			case "truncate-dim-unused":
				whole = w.Text + "; " + w.Advice
			}
		}
		if want := "the model's directory keeps the first 100 values of a vector, all 384 are used; --truncate-dim 100"; whole != want {
			t.Errorf("warning %q, want %q", whole, want)
		}
		return rec.Protocol.Query, rec.Protocol.Document, warning
	}
	q, d, w := prompts()
	if (q != eval.Prompt{Name: "query", Text: "query: ", Tokens: 2}) || (d != eval.Prompt{Name: "document", Text: "passage: ", Tokens: 2}) || w != `the model declares prompts that are not used here: cluster ("topic: ")` {
		t.Errorf("%+v, %+v, %s", q, d, w)
	}
	q, d, w = prompts("--prompt-name", "cluster", "--doc-prompt", "")
	if q.Text != "topic: " || d.Text != "" || w != `the model declares prompts that are not used here: document ("passage: "), query ("query: ")` {
		t.Errorf("%+v, %+v, %s", q, d, w)
	}
	r := encbench("", "eval", "--data", "labelled.jsonl", "--model", dir, "--prompt-name", "title")
	if want := fmt.Sprintf("encbench eval: --prompt-name \"title\": model %s has no prompt of that name; it declares cluster, document, query\nSee `encbench eval --help`.\n", dir); r.code != exitUsage || r.stderr != want {
		t.Errorf("exit %d, %s\nwant %s", r.code, r.stderr, want)
	}
	// What the pooling would have to leave out is refused, texts alone are not.
	modeltest.WriteJSON(t, filepath.Join(dir, "1_Pooling", "config.json"), map[string]any{"pooling_mode": "mean", "include_prompt": false})
	refused := " cannot be left out of pooling mean; encode without a prompt\n"
	for _, args := range []string{"eval --doc-prompt= --data labelled.jsonl", "latency --data labelled.jsonl", "speed --prompt query:"} {
		if r := encbench("", append(strings.Fields(args), "--model", dir)...); r.code != exitFailure || !strings.Contains(r.stderr, "has include_prompt false: the tokens of the prompt \"query:") || !strings.HasSuffix(r.stderr, refused) {
			t.Errorf("%s: exit %d, %s", args, r.code, r.stderr)
		}
	}
	if q, d, _ := prompts("--query-prompt", "", "--doc-prompt", ""); q.Text != "" || d.Text != "" {
		t.Errorf("%+v, %+v", q, d)
	}
}

func TestEvalUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFiles(t, map[string]string{"x.jsonl": "{}\n", "taken.ebrun": "no run\n"})
	for _, c := range []struct{ args, want string }{
		{"-m nope", "--measures: unknown measure \"nope\""},
		{"-m NumQ", "--measures NumQ: a mean over queries is what is evaluated, name one that has it"},
		{"--k 0 --docs -1", "--docs -1: at least 0\n--k 0: at least 1"},
		{"--chunk 100 --overlap 100", "--overlap 100 is not smaller than --chunk 100"},
		{"--chunk 100 --overlap 9 --max-tokens 90", "--chunk and --max-tokens: give one, windows or a cut"},
		{"--pool mean", "--pool and --overlap are of windows: give --chunk too"},
		{"--chunk 300 --pool sum", "--pool \"sum\": max, first, mean"},
		{"--similarity l2", "--similarity \"l2\": cosine or dot"},
		{"--store int4,int8,int8", "--store \"int4\": float16, bfloat16, int8, binary\n--store int8 is given twice"},
		{"--prompt-name a --query-prompt b", "--prompt-name and --query-prompt: give one"},
		{"--pooling median", "--pooling \"median\": mean, cls, last or max"},
		{"--format xml", "unknown format \"xml\": text, json, md, csv"},
		{"--run-out r.json", "--run-out r.json: the name ends in .ebrun, or .run or .txt for TREC text"},
		{"--data a,a", "--data a is given twice"},
		{"--split held-out", "--split held-out: it is called heldout"},
		{"--split heldout --failures d", "--failures with --split heldout: failures of the held-out part are not archived: whoever reads them tunes on them; use the dev part"},
		{"--out x.jsonl --data x.jsonl", "--out x.jsonl is an input of this command; name another file"},
		{"--run-out taken.ebrun", "--run-out taken.ebrun exists and is no earlier result; name another file, or remove it"},
		{"--run-out both.run --out ./both.run", "--run-out and --out both name both.run; give the record a name of its own"},
		{"--failures x.jsonl", "--failures x.jsonl is no folder; name one, it is made where it is not there"},
		{"extra", "unexpected argument \"extra\""},
	} {
		r := encbench("", append([]string{"eval"}, strings.Fields(c.args)...)...)
		want := "encbench eval: " + c.want
		got := strings.TrimSuffix(r.stderr, "\nSee `encbench eval --help`.\n")
		if r.code != exitUsage || r.stdout != "" || got != want && !(strings.HasPrefix(c.want, "--measures: unknown") && strings.HasPrefix(got, want)) {
			t.Errorf("%s: exit %d\n%s\nwant\n%s", c.args, r.code, got, want)
		}
	}
	needAll(t)
	writeLabelled(t)
	labelled, err := os.ReadFile("labelled.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("a", 0o777); err != nil {
		t.Fatal(err)
	}
	writeFiles(t, map[string]string{"a/labelled.jsonl": string(labelled), "r-labelled.run": "no run\n"})
	for _, c := range []struct{ args, want string }{
		{"--data labelled.jsonl,a/labelled.jsonl --run-out s.run", "--run-out: the rankings of both labelled and labelled would go to s-labelled.run; evaluate them one after the other"},
		{"--data labelled.jsonl,techdocs-qa --run-out r.run", "--run-out r-labelled.run exists and is no earlier result; name another file, or remove it"},
		{"--data nope", "unknown collection \"nope\": neither a folder or file nor one of: techdocs-qa"},
		{"--max-tokens 600", "--max-tokens 600 is longer than the 512 positions of model minilm-l6; use 512 or less"},
		{"--chunk 600", "--chunk 600 is longer than the 512 positions of model minilm-l6; use 512 or less"},
		{"--data labelled.jsonl --truncate-dim 400 --k 3 -m P@5", "P@5 looks at 5 documents a query, 3 are kept; keep as many\nthe first 400 values of vectors that have 384"},
		{"--prompt-name query", "--prompt-name \"query\": model minilm-l6 has no prompt of that name; it declares none"},
	} {
		r := encbench("", append([]string{"eval"}, strings.Fields(c.args)...)...)
		if want := "encbench eval: " + c.want + "\nSee `encbench eval --help`.\n"; r.code != exitUsage || r.stderr != want {
			t.Errorf("%s: exit %d\n%s\nwant\n%s", c.args, r.code, r.stderr, want)
		}
	}
}
