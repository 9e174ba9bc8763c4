package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"encbench/bench"
	"encbench/bench/eval"
	"encbench/bench/inhouse"
	"encbench/metrics/stat"
)

func ci(low, high float64) stat.Interval {
	return stat.Interval{Low: low, High: high, Method: "BCa bootstrap"}
}

func paired(b, a, low, high, p float64, wins, ties, losses int) stat.Paired {
	return stat.Paired{N: wins + ties + losses, MeanA: a, MeanB: b, Diff: b - a, CI: stat.Interval{Low: low, High: high, Method: "paired BCa bootstrap"},
		P: p, PT: p, PBootstrap: p, Test: "paired randomisation", Wins: wins, Ties: ties, Losses: losses, SD: 0.3, Effect: (b - a) / 0.3, Detectable: 0.04, B: 10_000, Seed: 1}
}

// quality is a synthetic record with every field set. Its figures were measured
// nowhere.
func quality() *eval.Record {
	of := full()
	r := &eval.Record{
		Schema: eval.SchemaVersion, Kind: eval.Kind, Tool: of.Tool, Status: bench.StatusComplete, Started: of.Started,
		Command: []string{"encbench", "eval", "--docs", "1200", "--queries", "300"},
		Protocol: eval.Protocol{
			Convention: "ir_measures: mean over every judged query, a missing one counts 0", K: 1000, Length: eval.LengthTruncate,
			MaxTokens: 256, QueryTk: 256, Query: eval.Prompt{Name: "query", Text: "query: ", Tokens: 2}, SpecialTk: 2, Pooling: "mean", DType: "float32",
			Similarity: eval.Cosine, Dim: 256, EncoderDim: 384, Rescore: 4, Batch: 512, Seed: 1, Resamples: 10_000,
		},
		Model: of.Model, Engine: of.Engine, Env: of.Env, Accuracy: of.Accuracy, Memory: of.Memory,
		Warnings: []bench.Warning{{Code: "limited", Text: "a part of the collection"}, {Code: "truncated", Text: "cut", Advice: "--chunk"}},
	}
	c := eval.Collection{
		Name: "techdocs-qa (1200 of 16266 documents, 300 of 16266 queries, seed 1)", Layout: "labelled", SHA256: sha("7"),
		Documents: 1200, OfDocuments: 16_266, Queries: 3, OfQueries: 16_266, Groups: 2, Notes: []string{"every judged document is kept"},
		QueryIDs: []string{"a", "b", "c"}, Clusters: []string{"x", "x", ""},
		Values: []eval.Value{
			{Measure: "nDCG@10", Mean: 0.3123, CI: ci(0.2712, 0.3541), N: 300, PerQuery: []float64{0.5, 0.4369, 0}},
			{Measure: "Success@5", Mean: 0.41, CI: stat.Interval{Low: 0.355, High: 0.467, Method: "Wilson"}, N: 300, PerQuery: []float64{1, 0, 0}},
			{Measure: "RR", Mean: 0, CI: stat.Interval{Low: math.NaN(), High: math.NaN(), Method: "none: all 300 values are equal"}, N: 300, PerQuery: []float64{0, 0, 0}},
		},
		Stores: []eval.StoreValue{
			{Store: eval.StoreFloat32, Bytes: 1024, PrepareS: 0.02, SearchS: 0.41},
			{Store: eval.StoreBinary, Bytes: 32, SearchS: 0.012, Differences: []eval.Difference{
				{Measure: "nDCG@10", Paired: paired(0.2871, 0.3123, -0.0391, -0.0113, 0.002, 20, 210, 70), Holm: 0.004},
				{Measure: "Success@5", Paired: paired(0.41, 0.41, 0, 0, 1, 0, 300, 0), Holm: 1},
			}},
		},
		BM25: &eval.Baseline{System: "BM25(k1=0.9,b=0.4)", Seconds: 0.21,
			Values:      []eval.Value{{Measure: "nDCG@10", Mean: 0.4102, CI: ci(0.3641, 0.4572), N: 300, PerQuery: []float64{1, 0, 0.2306}}},
			Differences: []eval.Difference{{Measure: "nDCG@10", Paired: paired(0.3123, 0.4102, -0.1352, -0.0611, 0.00009999, 60, 100, 140), Holm: 0.00009999}}},
		Texts:     eval.Texts{Rows: 1200, Vectors: 1200, Tokens: 402_311, Longest: 61_022, Cut: 372, Dropped: 201_114, QueriesCut: 2, Encoded: 203_000, Unknown: 812},
		Integrity: eval.Integrity{TiesAtCut: 1, AbsentDocuments: 2, JudgedAt10: 0.1},
		Times:     eval.Times{EncodeS: 31.2, QueriesS: 0.62, PrepareS: 0.02, SearchS: 0.41, JudgeS: 0.08, DocsPerS: 38.46, TokensPerS: 6912},
		Run:       "out/eval.ebrun",
	}
	r.Collections, r.Averages = []eval.Collection{c}, []eval.Average{}
	return r
}

// suite is a record of three collections, of which one failed.
func suite() *eval.Record {
	r := quality()
	r.Status = bench.StatusFailed
	r.Protocol.Length, r.Protocol.Overlap, r.Protocol.Pool, r.Protocol.Dim = eval.LengthChunk, 100, eval.PoolMax, 384
	a := r.Collections[0]
	a.Name, a.BM25, a.Stores, a.Documents, a.Groups, a.Clusters, a.Values, a.Notes = "cranfield", nil, nil, 16_266, 0, nil, a.Values[:1], nil
	a.OfQueries, a.Run, a.Texts.Cut, a.Texts.QueriesCut = a.Queries, "", 0, 0
	b := a
	b.Part, b.SplitDigest, b.Looks = "heldout", sha("9"), &inhouse.Looks{Total: 3, Digest: 2}
	b.Name, b.Values = "npl", []eval.Value{{Measure: "nDCG@10", Mean: 0.5, CI: ci(0.4, 0.6), N: 93, PerQuery: []float64{0.5, 0.5, 0.5}}}
	r.Collections = []eval.Collection{a, b, {Name: "lost", Error: "open collection lost: no such file or directory"}}
	r.Averages = []eval.Average{{
		Measure: "nDCG@10", Missing: []string{"lost"},
		Tasks:   stat.Suite{Mean: 0.40615, SE: 0.02, Tasks: 2, N: 393, CI: stat.Interval{Low: 0.36, High: 0.45, Method: "stratified t over the queries of 2 fixed tasks"}},
		Queries: stat.Suite{Mean: 0.3567, SE: 0.02, Tasks: 2, N: 393, CI: ci(0.32, 0.4)},
	}}
	return r
}

func TestEvalGoldens(t *testing.T) {
	for _, c := range []struct {
		name string
		rec  *eval.Record
	}{{"eval", quality()}, {"eval-suite", suite()}} {
		for _, f := range EvalFormats() {
			var buf bytes.Buffer
			if err := WriteEval(&buf, f, c.rec); err != nil {
				t.Fatalf("%s as %s: %v", c.name, f, err)
			}
			golden(t, c.name+"."+f+".golden", buf.Bytes())
		}
	}
}

func evalComparison() *eval.Comparison {
	return &eval.Comparison{
		A: eval.Side{Model: "minilm-l6", Started: "2026-03-04T05:06:07Z", Status: "complete", Dim: 384, Tokens: 256, Length: "truncate"},
		B: eval.Side{Model: "other", Started: "2026-03-05T05:06:07Z", Status: "failed", Dim: 768, Tokens: 512, Length: "truncate"},
		Rows: []eval.Row{
			{Collection: "cranfield", Measure: "nDCG@10", A: 0.3736, B: 0.4001, Paired: paired(0.4001, 0.3736, 0.0102, 0.0431, 0.0017, 120, 30, 75), Holm: 0.0034},
			{Collection: "cranfield", Measure: "RR", A: 0.6, B: 0.59, Paired: func() stat.Paired {
				p := paired(0.59, 0.6, -0.03, 0.01, 0.41, 60, 100, 65)
				p.Warnings = []string{"the interval, 0.0400 wide, is wider than the difference, -0.0100, and holds 0"}
				return p
			}(), Holm: 0.41},
		},
		Averages:    []eval.AverageRow{{Measure: "nDCG@10", Change: stat.Suite{Mean: 0.02, N: 318, Tasks: 2, CI: ci(0.005, 0.035)}}},
		Differences: []bench.Difference{{Field: "model.name", A: "minilm-l6", B: "other"}},
		Notes:       []string{"in one record only, left out: npl"},
	}
}

func TestEvalComparisonGoldens(t *testing.T) {
	for _, f := range ComparisonFormats() {
		var buf bytes.Buffer
		if err := WriteEvalComparison(&buf, f, evalComparison()); err != nil {
			t.Fatal(err)
		}
		golden(t, "eval-compare."+f+".golden", buf.Bytes())
	}
	if err := WriteEvalComparison(&bytes.Buffer{}, "csv", evalComparison()); err == nil || err.Error() != `unknown format "csv", expected one of text, md, json` {
		t.Errorf("error %v", err)
	}
}

// JSON on few lines is the same JSON.
func TestEvalJSONReadsBack(t *testing.T) {
	var buf bytes.Buffer
	r := quality()
	r.Collections[0].QueryIDs[1] = `[{"\,: ]`
	if err := WriteEval(&buf, "json", r); err != nil {
		t.Fatal(err)
	}
	var got eval.Record
	if err := json.Unmarshal(buf.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(r)
	b, _ := json.Marshal(&got)
	if !bytes.Equal(a, b) {
		t.Errorf("the record changes:\n%s\n%s", a, b)
	}
	if want := `"query_ids": ["a", "[{\"\\,: ]", "c"],`; !strings.Contains(buf.String(), want) {
		t.Errorf("no line holds %s", want)
	}
}

func FuzzIndentFlat(f *testing.F) {
	f.Add([]byte(`{"a":[1,2,"]"],"b":[[],{},[{"c":[null]}]],"d":"\\\"[{"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v any
		if json.Unmarshal(data, &v) != nil {
			return
		}
		compact, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var buf bytes.Buffer
		indentFlat(&buf, compact)
		var again any
		if err := json.Unmarshal(buf.Bytes(), &again); err != nil || !reflect.DeepEqual(v, again) {
			t.Fatalf("%v\n%s\nbecame\n%s", err, compact, buf.Bytes())
		}
	})
}

func TestEvalCSVIsWhole(t *testing.T) {
	var buf bytes.Buffer
	if err := WriteEval(&buf, "csv", quality()); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&buf).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1+3+1+2 { // header, model, BM25, a store
		t.Errorf("%d rows", len(rows))
	}
}

func TestEvalErrors(t *testing.T) {
	if err := WriteEval(&bytes.Buffer{}, "xml", quality()); err == nil || err.Error() != `unknown format "xml", expected one of text, json, md, csv` {
		t.Errorf("error %v", err)
	}
	if err := WriteEval(fullDisk{}, "text", quality()); err == nil || err.Error() != "write report: disk full" {
		t.Errorf("error %v", err)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// The search is where the model runs, which its time cannot be read without.
func TestEvalSearchDevice(t *testing.T) {
	for devices, want := range map[string]string{"cpu": "exact, the best", "cuda:0,1": "exact, on cuda:0,1, the best"} {
		r := quality()
		if r.Engine.Device = devices; devices != "cpu" {
			r.Engine.Devices = make([]bench.Device, 2)
		}
		facts := evalFacts(r)
		if i := slices.IndexFunc(facts, func(l ledger) bool { return l.name == "search" }); i < 0 || !strings.HasPrefix(facts[i].text, want) {
			t.Errorf("%s: %v", devices, facts)
		}
	}
}
