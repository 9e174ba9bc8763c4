package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"encbench/bench"
	"encbench/bench/assets/assettest"
	"encbench/bench/env"
	"encbench/bench/eval"
	"encbench/bench/latency"
	"encbench/bench/rerank"
	"encbench/metrics/stat"
)

func latencyRecord(t *testing.T, args ...string) *latency.Record {
	t.Helper()
	var r latency.Record
	if err := json.Unmarshal([]byte(ok(t, append([]string{"latency", "--format", "json"}, args...)...)), &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// From text to vector and to the best documents, with a record that holds together and
// a timed path that allocates nothing.
func TestLatency(t *testing.T) {
	needAll(t)
	t.Chdir(t.TempDir())
	writeLabelled(t)
	ok(t, "eval", "--data", "labelled.jsonl", "--vectors-out", "v")
	r := latencyRecord(t, "--tokens", "5,17", "--samples", "90", "--cold", "2", "--data", "labelled.jsonl", "--index", "v-docs.ebvec", "-k", "3", "--query-prompt", "query: ", "--out", "r.json")
	if r.Status != bench.StatusComplete || r.Kind != latency.Kind || !r.Accuracy.Passed || r.Accuracy.Level != bench.LevelReference || r.Protocol.K != 3 || r.Protocol.PromptTk != 2 ||
		r.Protocol.Dim != 384 || r.Index.Rows != 24 || r.Index.Store != "float32" || r.Index.ModelSHA256 != r.Model.SHA256 || r.Queries.Count != 6 || r.Engine.Workers != 1 || r.Engine.Intra != r.Engine.Threads {
		t.Errorf("record %+v", r)
	}
	for i, l := range r.Lengths {
		if l.Row != []int{9, 21}[i] || l.Vector.N != 90 || l.TopK.N != 90 || len(l.Cold) != 2 || l.Texts != 90 || l.Vector.Percentiles[1].Low == nil || l.Vector.Percentiles[2].Low != nil {
			t.Errorf("length %+v", l)
		}
		if l.Allocations != 0 {
			t.Errorf("%d tokens: text to vector allocates %v objects a query", l.Tokens, l.Allocations)
		}
	}
	if c := r.Start; c.ModelLoad <= 0 || c.SessionCreate <= 0 || c.FirstRun <= 0 || c.Total < c.ModelLoad+c.SessionCreate || r.GC.During != 0 || r.Clock.Reads != 4 {
		t.Errorf("start %+v, collector %+v, clock %+v", c, r.GC, r.Clock)
	}
	onDisk, err := os.ReadFile("r.json")
	var again latency.Record
	if err != nil || json.Unmarshal(onDisk, &again) != nil || again.Lengths[1].TopK.Median != r.Lengths[1].TopK.Median {
		t.Errorf("record on disk: %v", err)
	}
	if r := encbench("", "compare", "r.json", "r.json"); r.code != exitUsage || r.stderr != "encbench compare: r.json is a record of encbench latency; compare takes two of speed or two of eval\nSee `encbench compare --help`.\n" {
		t.Errorf("exit %d\n%s", r.code, r.stderr)
	}
	text := ok(t, "latency", "--tokens", "5", "--samples", "3", "--cold", "0", "--data", "labelled.jsonl", "--threads", "1")
	if !strings.HasPrefix(text, "encbench latency: minilm-l6, one query at a time on 1 thread\n\n  5 tokens: ") || strings.Contains(text, "Text to top") || strings.Contains(text, "sessions") {
		t.Errorf("%s", text)
	}
	if md := ok(t, "latency", "--tokens", "5", "--samples", "3", "--cold", "1", "--data", "labelled.jsonl", "--format", "md"); !strings.HasPrefix(md, "# encbench latency: minilm-l6") {
		t.Errorf("%s", md)
	}
	if left, _ := filepath.Glob("*.partial*"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestLatencyUsage(t *testing.T) {
	assettest.Need(t, "onnxruntime")
	assettest.Need(t, "all-minilm-l6-v2")
	t.Chdir(t.TempDir())
	writeLabelled(t)
	putVectors(t, "two.npy", 2, 1, 0, 0, 1)
	writeFiles(t, map[string]string{"x.npy": "no vectors", "x.jsonl": "{}\n"})
	see := "\nSee `encbench latency --help`.\n"
	for _, c := range []struct{ args, want string }{
		{"--samples 0 --cold -1 --threads -1", "--samples 0: at least 1\n--cold -1: at least 0\n--threads -1: at least 0" + see},
		{"--tokens 8,0,8", "--tokens 0: at least 1\n--tokens 8 is given twice" + see},
		{"--metric cosine -k 3 --store int8", "--metric is of a search: give --index too\n--store is of a search: give --index too\n--k is of a search: give --index too" + see},
		{"--index x.npy --metric l3 -k 0", "--metric \"l3\": ip, cosine, l2\n-k 0: 1 or more" + see},
		{"--format xml --dtype x", checkDType("x").Error() + "\nunknown format \"xml\": text, json, md" + see},
		{"--out x.jsonl", "--out x.jsonl exists and is no earlier result; name another file, or remove it" + see},
		{"--out x.jsonl --data x.jsonl", "--out x.jsonl is an input of this command; name another file" + see},
		{"extra", "unexpected argument \"extra\"" + see},
		{"--data nope", "unknown collection \"nope\": neither a folder or file nor one of: techdocs-qa" + see},
		{"--data labelled.jsonl --tokens 8,300", "a query of 300 tokens makes a row of 302 (2 special and 0 prompt tokens more), the model takes 256" + see},
		{"--data labelled.jsonl --tokens 255 --query-prompt query", "a query of 255 tokens makes a row of 258 (2 special and 1 prompt tokens more), the model takes 256" + see},
		{"--data labelled.jsonl --index two.npy", "--index two.npy has vectors of 2 values, model minilm-l6 gives 384; name an index that was made with the model" + see},
		{"--data labelled.jsonl --index none.npy", "--index: open input: open none.npy: no such file or directory\n"},
	} {
		r := encbench("", append([]string{"latency"}, strings.Fields(c.args)...)...)
		code := exitFailure
		if strings.HasSuffix(c.want, see) {
			code = exitUsage
		}
		if got := strings.TrimPrefix(r.stderr, "encbench latency: "); r.code != code || r.stdout != "" || got != c.want {
			t.Errorf("%s: exit %d\n%s\nwant\n%s", c.args, r.code, got, c.want)
		}
	}
}

// fixedSheetFacts are the parts that both records have.
func fixedSheetFacts() (bench.Tool, bench.Model, bench.Engine, env.Facts, bench.Accuracy, bench.Cold, bench.Memory) {
	return bench.Tool{Version: "0.1.0", Commit: "0123456789abcdef", Go: "go1.26"},
		bench.Model{Name: "tiny", Source: "directory", Architecture: "BertForSequenceClassification", Parameters: 22_700_000, Layers: 6, Hidden: 384, Stored: "float16", Computed: "float32", SHA256: strings.Repeat("a", 64), Synthetic: false},
		bench.Engine{Backend: "onnxruntime", Version: "1.32.0", Library: "libonnxruntime.so", LibrarySHA256: strings.Repeat("b", 64), Device: "cpu", Threads: 2, Workers: 2, Intra: 1, HowRun: "batch 128, run as equal-length groups of up to 512 tokens, on 2 one-thread workers"},
		env.Facts{OS: "linux", Arch: "amd64", Kernel: "6.1", HostHash: "123456789abc", CPU: env.CPU{Model: "a processor", Cores: 2, Logical: 4, Governor: "performance", ClockSource: "tsc"}, Limits: env.Limits{Affinity: 2}},
		bench.Accuracy{Level: bench.LevelReference, Passed: true, Threshold: 0.999999, Min: 0.99999999, Mean: 0.999999995, MaxDiff: 1e-7, DiffLimit: 2e-6},
		bench.Cold{ModelLoad: 0.2, Import: 0.001, SessionCreate: 0.1, FirstRun: 0.02, Total: 0.321},
		bench.Memory{PeakRSS: 300e6}
}

// A median of fewer samples than its interval needs is not shown as a figure, and no
// more documents are found than there are.
func TestLatencyHead(t *testing.T) {
	r := fixedLatency()
	r.Lengths, r.Protocol.K, r.Index.Rows = r.Lengths[:1], 20_000, 9982
	l := &r.Lengths[0]
	l.Vector.N, l.Vector.Percentiles[0].Value = 5, nil
	s := latencySheet(r)
	want := "8 tokens: 3.200 ms to the vector, 4.200 ms to the best 9,982 of 9,982 rows (median of 5 samples, too few for a figure, warm)"
	if len(s.heads) != 1 || s.heads[0] != want || s.sections[1].title != "Text to top 9,982, warm (ms)" {
		t.Errorf("%q under %q, want %q", s.heads, s.sections[1].title, want)
	}
}

// The sheets of both commands are goldens, as text and as Markdown.
func TestSheets(t *testing.T) {
	var got bytes.Buffer
	for _, s := range []*sheet{rerankSheet(fixedRerank()), latencySheet(fixedLatency())} {
		if err := s.text(&got); err != nil {
			t.Fatal(err)
		}
		got.WriteString("\n----\n\n")
		if err := s.markdown(&got); err != nil {
			t.Fatal(err)
		}
		got.WriteString("\n----\n\n")
	}
	for _, line := range strings.Split(got.String(), "\n") {
		if strings.TrimRight(line, " ") != line && !strings.HasPrefix(line, "|") {
			t.Errorf("white space at the end of %q", line)
		}
	}
	path := filepath.Join("testdata", "sheets.txt")
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("sheets differ from %s; run go test ./bench/cmd/encbench -run Sheets -update and read the difference\n%s", path, got.String())
	}
}

func fixedRerank() *rerank.Record {
	r := &rerank.Record{Status: bench.StatusInterrupted, Command: []string{"encbench", "rerank"}, Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	r.Tool, r.Model, r.Engine, r.Env, r.Accuracy, r.Cold, r.Memory = fixedSheetFacts()
	r.Protocol = rerank.Protocol{Convention: "ir_measures: mean over every judged query, a missing one counts 0", Top: 20, Template: "101 query 102 document 102, token types 0 0 0 1 1", MaxTokens: 512, QueryTk: 64, SpecialTk: 3,
		Truncation: "a query is cut", Order: "by logit", Region: rerank.Region, Resamples: 10_000, Seed: 1}
	interval := func(low, high float64) stat.Interval { return stat.Interval{Low: low, High: high, Method: "BCa"} }
	value := func(m string, mean float64) eval.Value {
		return eval.Value{Measure: m, Mean: mean, N: 300, CI: interval(mean-0.03, mean+0.03)}
	}
	whole := rerank.Collection{
		Name: "sample", Layout: "beir", SHA256: strings.Repeat("c", 64), Documents: 5183, Queries: 300, OfQueries: 1109, Split: "test",
		First:  rerank.FirstStage{File: "first.ebrun", SHA256: strings.Repeat("d", 64), Tag: "bm25", Depth: 1000},
		Before: []eval.Value{value("nDCG@10", 0.6512), value("RR", 0.61)}, After: []eval.Value{value("nDCG@10", 0.7034), value("RR", 0.605)},
		Differences: []eval.Difference{
			{Measure: "nDCG@10", Holm: 0.0004, Paired: stat.Paired{N: 300, Diff: 0.0522, CI: interval(0.0301, 0.0743), P: 0.0002, Wins: 120, Ties: 150, Losses: 30}},
			{Measure: "RR", Holm: 0.41, Paired: stat.Paired{N: 300, Diff: -0.005, CI: interval(-0.02, 0.01), P: 0.41, Wins: 20, Ties: 255, Losses: 25}}},
		Pairs:  rerank.Rate{PerS: 48.31, Low: 47.9, High: 48.82, Windows: 20},
		Tokens: rerank.Rate{PerS: 13812, Low: 13700, High: 13900, Windows: 20},
		Ledger: rerank.Ledger{QueriesReranked: 299, QueriesShort: 2, QueriesCut: 1, QueriesTied: 3, QueryDropped: 12, Pairs: 5960, PairsCut: 640, Dropped: 90210, Tokens: 1_704_000, SpecialTokens: 17_880, QueryTokens: 66_000, DocumentTokens: 1_620_120,
			PaddedTokens: 1_710_000, Longest: 512, Documents: 4321, DocumentsCut: 410, DocumentsEmpty: 1, PairsEmpty: 2, DocumentsMissing: 3, PairsMissing: 4, QueriesAbsent: 1, QueriesUnknown: 7},
		Stages: []bench.Stage{{Name: "tokenize", Workers: 2, BusyS: 0.31, WaitS: 246}, {Name: "encode", Workers: 2, BusyS: 240, WaitS: 6.7}},
		Times:  rerank.Times{ReadS: 0.2, WarmupS: 1.1, TimedS: 123.4, EncodeS: 120, FinishS: 0.4},
		Run:    "new.ebrun", Notes: []string{"a note"},
	}
	few := rerank.Collection{Name: "few", Layout: "file", Documents: 9, Queries: 1, OfQueries: 1, First: rerank.FirstStage{File: "few.run"}, Pairs: rerank.Rate{PerS: 50, Windows: 1}, Tokens: rerank.Rate{PerS: 900}, Ledger: rerank.Ledger{Pairs: 9, Tokens: 162, PaddedTokens: 162, QueriesReranked: 1, Documents: 9}}
	r.Collections = []rerank.Collection{whole, few}
	r.Warnings = []bench.Warning{{Code: "fewer-candidates", Text: "2 queries with fewer than 20 candidates: all that there are were reranked", Advice: "a deeper first stage"}}
	return r
}

func fixedLatency() *latency.Record {
	r := &latency.Record{Status: bench.StatusComplete, Command: []string{"encbench", "latency"}, Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	r.Tool, r.Model, r.Engine, r.Env, r.Accuracy, r.Start, r.Memory = fixedSheetFacts()
	r.Model.Synthetic = true
	r.Protocol = latency.Protocol{Tokens: []int{8, 128}, Prompt: "query: ", PromptTk: 2, SpecialTk: 2, K: 10, Samples: 500, Seed: 1, Pooling: "cls", DType: "float32", Dim: 384}
	r.Queries = latency.Queries{Source: "techdocs-qa", Count: 9982}
	r.Index = &latency.Index{File: "v-docs.ebvec", Rows: 9982, Dim: 384, Store: "float32", Metric: "cosine", Path: "int8 on avx2", LoadS: 0.4, FirstS: 0.003, Model: "tiny"}
	r.Clock, r.GC = latency.Clock{Read: 25e-9, Reads: 4, Source: "tsc"}, latency.GC{Between: 1}
	at := func(s float64) *float64 { return &s }
	series := func(ms float64) latency.Series {
		return latency.Series{N: 500, Median: ms / 1e3, Min: ms / 2e3, Max: ms / 100, Drift: -0.012, Outliers: 4, Percentiles: []latency.Percentile{
			{P: 50, Value: at(ms / 1e3), Low: at(ms / 1.1e3), High: at(ms / 0.9e3), ForFigure: 6, ForInterval: 6},
			{P: 95, Low: at(ms / 500), High: at(ms / 400), ForFigure: 50425, ForInterval: 72},
			{P: 99, ForFigure: 262742, ForInterval: 368}}}
	}
	for i, n := range []int{8, 128} {
		ms := []float64{3.2, 14.5}[i]
		top := series(ms + 1)
		stage := func(name string, ms, share float64) latency.Stage {
			return latency.Stage{Name: name, Share: share, Median: bench.Estimate{N: 500, Median: ms / 1e3, Low: ms / 1.1e3, High: ms / 0.9e3}}
		}
		r.Lengths = append(r.Lengths, latency.Length{Tokens: n, Row: n + 4, Texts: 256, Vector: series(ms), TopK: &top, SearchAllocations: 28,
			Cold:   []latency.Cold{{CreateS: 0.1, VectorS: ms / 500}, {CreateS: 0.2, VectorS: ms / 400}},
			Stages: []latency.Stage{stage("tokenize", 0.004, 0.001), stage("encode", ms, 0.9), stage("search", 1, 0.099)}})
	}
	r.Warnings = []bench.Warning{{Code: "synthetic-model", Text: "synthetic weights: speed only, the vectors mean nothing"}}
	return r
}
