package bench

import (
	"slices"
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	if v := Judge(good(), nil); !v.Publishable || v.Reasons == nil || len(v.Reasons) != 0 {
		t.Fatalf("a good record: %+v", v)
	}
	for _, c := range []struct {
		name  string
		spoil func(*Record)
		noise []string
		want  []string
	}{
		{"gate", func(r *Record) { r.Accuracy.Passed, r.Accuracy.Min = false, 0.99899999 }, nil,
			[]string{`the accuracy gate did not pass (1 − cosine at most 1.1e-3 (mean 5e-5), limit 1e-3), so there is no rate; check the model with "encbench model verify"`}},
		{"gate without samples", func(r *Record) { r.Accuracy = Accuracy{}; walls(r) }, nil,
			[]string{`the accuracy gate did not pass (no probe was run), so there is no rate; check the model with "encbench model verify"`}},
		{"gate error", func(r *Record) { r.Accuracy = Accuracy{Error: "probe of 64 tokens: NaN"} }, nil,
			[]string{`the accuracy gate did not pass (probe of 64 tokens: NaN), so there is no rate; check the model with "encbench model verify"`}},
		{"level", func(r *Record) { r.Accuracy.Level = LevelConsistency }, nil,
			[]string{`accuracy is consistency-only: the vectors were checked against themselves, not against a reference; use the model's Hugging Face directory instead of a bare .onnx`}},
		{"synthetic", func(r *Record) { r.Model.Synthetic = true }, nil,
			[]string{`the model has random weights: its speed says nothing about accuracy; use trained weights`}},
		{"converted", func(r *Record) {
			r.Model.Name, r.Model.Stored, r.Model.Computed, r.Accuracy.Level = "minilm-l6", "int8", "int8", "reference-int8"
		}, nil,
			[]string{`the nDCG ratio of the int8 weights is not measured; run "encbench model verify minilm-l6 --dtype int8"`}},
		{"converted and measured", func(r *Record) { r.Accuracy.Level, r.Accuracy.Retrieval = "reference-int8", &Retrieval{} }, nil, nil},
		{"converted reranker", func(r *Record) { r.Accuracy.Level, r.Accuracy.Output = "reference-int8", OutputLogits }, nil, nil},
		{"converted random weights", func(r *Record) { r.Accuracy.Level, r.Model.Synthetic = "reference-int8", true }, nil,
			[]string{`the model has random weights: its speed says nothing about accuracy; use trained weights`}},
		{"interrupted", func(r *Record) { r.Status = StatusInterrupted }, nil, []string{`the run is interrupted after 12 samples; run it to the end`}},
		{"failed", func(r *Record) { r.Status = StatusFailed }, nil, []string{`the run failed after 12 samples; mend the cause and run it to the end`}},
		{"failed by the gate", func(r *Record) { r.Status, r.Accuracy = StatusFailed, Accuracy{Error: "e"}; walls(r) }, nil,
			[]string{`the accuracy gate did not pass (e), so there is no rate; check the model with "encbench model verify"`}},
		{"range of few", func(r *Record) { walls(r, 30, 40) }, nil, []string{`2 samples, 10 are needed; use --repeats 10 or more`}},
		{"barely wide", func(r *Record) { walls(r, 9900, 9900, 9900, 9900, 10000, 10000, 10000, 10000.4, 10000, 10000) }, nil,
			[]string{`the 95 % interval of docs/s reaches 1.01 % from the median, 1 % is allowed; use a longer --min-time or a quieter machine`}},
		{"gaps", func(r *Record) {
			r.Corpus.Selection.Rows, r.Corpus.Selection.Corpus = []int64{0, 390}, []int64{488, 48_238}
		}, nil,
			[]string{`488 of 48,726 chunks have lengths that the sample left out, so their cost is interpolated; use a larger --sample`}},
		{"quick", func(r *Record) { r.Schedule.Profile = ProfileQuick }, nil, []string{`profile quick is for a first look; use --profile standard`}},
		{"samples", func(r *Record) { walls(r, times(9, 10)...) }, nil, []string{`9 samples, 10 are needed; use --repeats 10 or more`}},
		{"time", func(r *Record) { walls(r, times(10, 5.99)...) }, nil, []string{`59.9 s were timed, 60 s are needed; use --min-time 60s or more`}},
		{"width", func(r *Record) { walls(r, 8, 9, 10, 8, 9, 10, 8, 9, 10, 9) }, nil,
			[]string{`the 95 % interval of docs/s reaches 12.5 % from the median, 1 % is allowed; use a longer --min-time or a quieter machine`}},
		{"commit", func(r *Record) { r.Tool.Commit = "" }, nil, []string{`the commit of this encbench is unknown, so nobody can build it again; build it inside its git checkout`}},
		{"dirty", func(r *Record) { r.Tool.Dirty = true }, nil,
			[]string{`this encbench was built from changed files on top of commit 0123456789ab; commit them and build again`}},
		{"noise", func(*Record) {}, []string{"other processes took 31 % of the CPUs."},
			[]string{`the machine was not quiet: other processes took 31 % of the CPUs; stop other work and run again`}},
		{"several", func(r *Record) { r.Schedule.Profile = ProfileQuick; walls(r, 1) }, nil,
			[]string{`profile quick is for a first look; use --profile standard`, `1 sample, 10 are needed; use --repeats 10 or more`, `1.00 s were timed, 60 s are needed; use --min-time 60s or more`}},
	} {
		r := good()
		c.spoil(r)
		v := Judge(r, c.noise)
		if v.Publishable != (c.want == nil) || !slices.Equal(v.Reasons, c.want) {
			t.Errorf("%s: publishable %v, reasons%s\nwant%s", c.name, v.Publishable, lines(v.Reasons), lines(c.want))
		}
	}
}

func TestWarnings(t *testing.T) {
	if w := Warnings(good()); w == nil || len(w) != 0 {
		t.Fatalf("a good record: %+v", w)
	}
	for _, c := range []struct {
		spoil  func(*Record)
		code   string
		text   string
		advice string
	}{
		{func(r *Record) { walls(r, 60) }, "few-samples", "one sample has no interval", "--repeats 10"},
		{func(r *Record) { walls(r, 30, 30, 30) }, "few-samples", "3 samples have no 95 % interval: their range, shown instead, covers the median with 75.0 % at most", "--repeats 10"},
		{func(r *Record) { walls(r, times(7, 10)...) }, "few-samples", "7 samples: the interval rests on little", "--repeats 10"},
		{func(r *Record) { walls(r, 8, 9, 10, 8, 9, 10, 8, 9, 10, 9) }, "wide-interval", "the 95 % interval of docs/s reaches 12.5 %", "--min-time 60s"},
		{func(r *Record) { walls(r, append(times(6, 6), times(6, 6.3)...)...) }, "drift", "the last third of the run was 4.8 % slower than the first: other processes that became busy, heat,", ""},
		{func(r *Record) { walls(r, append(times(6, 6.3), times(6, 6)...)...) }, "drift", "5.0 % faster than the first: other processes may have been busy at first, or the warm-up too short", ""},
		{func(r *Record) { r.Samples[4].WallS = 9 }, "outliers", "1 sample of 12 far from the others (modified z-score above 3.5), kept: sample 5", ""},
		{func(r *Record) { r.Model.Name, r.Model.Stored, r.Accuracy.Level = "m", "float16", "reference-float16" }, "retrieval-unmeasured",
			"the nDCG ratio of the float16 weights is not measured", "encbench model verify m --dtype float16"},
		{func(r *Record) { r.Model.StandInTokenizer = true }, "stand-in-tokenizer",
			"the tokenizer is a stand-in, which makes other numbers of tokens of a text: no docs/s", "encbench model synth with --tokenizer"},
		{func(r *Record) { r.Status = StatusInterrupted }, "interrupted", "measured until then", ""},
		{func(r *Record) { r.Status = StatusFailed }, "failed", "the run failed: these", ""},
		{func(r *Record) { r.Corpus.Selection.Chunks = 130 }, "few-batches", "a pass is 2 batches, so reading and encoding hardly overlap", "--sample 384"},
		{func(r *Record) { r.Corpus.Selection.Chunks, r.Protocol.Batch = 8, 8 }, "few-batches", "a pass is 1 batch, so", "--sample 24"},
		{func(r *Record) {
			r.Corpus.Selection.Chunks, r.Protocol.Batch, r.Protocol.BatchTokens = 60, 8192, 16384
		}, "few-batches", "a pass is 2 batches, so", "--sample 96"},
		{func(r *Record) { r.MFU.Source = "probe: AVX2 FMA, 2 threads (uncertain: laps differ by 12 %)" }, "peak-uncertain", "is uncertain: probe: AVX2", "quiet"},
		{func(r *Record) {
			r.Corpus.Selection.Rows, r.Corpus.Selection.Corpus = []int64{0, 390}, []int64{7, 48_719}
		}, "bucket-gaps", "7 of 48,726 chunks have lengths", "--sample"},
		{func(r *Record) { r.Projection = &Projection{FromDocs: 96, Documents: 20027} }, "sample-projection", "chunks of 96 of 20,027 documents", ""},
		{func(r *Record) { r.Corpus.Repeats = "each paragraph twice" }, "repetition", "the corpus repeats text: each paragraph twice", ""},
		{func(r *Record) { r.Model.Synthetic = true }, "synthetic-model", "synthetic weights: speed only", ""},
		{func(r *Record) { r.Accuracy.Level = LevelConsistency }, "consistency-only", "a bare .onnx has no reference", "--model"},
		{func(r *Record) { r.Truncation.DocsCut, r.Truncation.Dropped = 1, 2345 }, "truncated", "1 document cut, 2,345 tokens dropped", "chunking"},
		{func(r *Record) { r.Truncation.BadLines = 2 }, "bad-lines", "2 broken lines left out", "--strict"},
		{func(r *Record) { r.Truncation.Repaired = 1 }, "invalid-utf8", "1 invalid UTF-8 sequence repaired", ""},
		{func(r *Record) { r.Truncation.Empty = 3 }, "empty-documents", "3 empty documents counted, each with", ""},
		{func(r *Record) { r.Truncation.Empty = 1 }, "empty-documents", "1 empty document counted, with one", ""},
		{func(r *Record) { r.Env.Limits.Quota = 1.5 }, "oversubscribed", "2 threads on a quota of 1.5 CPUs", "--threads 1"},
		{func(r *Record) { r.Engine.Threads = 4 }, "oversubscribed", "4 threads on 2 CPUs of the affinity mask", "--threads 2"},
		{func(r *Record) { r.Engine.Threads, r.Env.Limits.Affinity = 4, 4 }, "smt", "4 threads on 2 physical cores", "--threads 2"},
		{func(r *Record) { r.Env.CPU.Governor = "powersave" }, "governor", "powersave", "performance"},
		{func(r *Record) { r.MFU.Value = 1.2 }, "peak", "MFU is 1.20", "quiet"},
		{func(r *Record) { r.Env.Limits.MemoryBytes, r.Memory.PeakRSS = 1e9, 950e6 }, "memory", "limit of 1.0 GB", ""},
	} {
		r := good()
		c.spoil(r)
		found := false
		for _, w := range Warnings(r) {
			if w.Code == c.code {
				found = true
				if !strings.Contains(w.Text, c.text) || !strings.Contains(w.Advice, c.advice) {
					t.Errorf("%s: %q (advice %q), want %q (advice %q)", c.code, w.Text, w.Advice, c.text, c.advice)
				}
			}
		}
		if !found {
			t.Errorf("no warning %s in%s", c.code, lines(Warnings(r)))
		}
	}
}

func TestRatesOf(t *testing.T) {
	r := RatesOf([]Sample{{WallS: 2, Chunks: 10, RealTokens: 4000, PaddedTokens: 5000, TextBytes: 3e6, DocsPerS: 7}, {WallS: 4, Chunks: 10, RealTokens: 4000, PaddedTokens: 5000, TextBytes: 3e6, DocsPerS: 9}})
	for name, c := range map[string][2]float64{
		"docs": {r.Docs.Median, 8}, "chunks": {r.Chunks.Median, 3.75}, "tokens": {r.Tokens.Median, 1500},
		"padded": {r.Padded.Median, 1875}, "text": {r.TextMB.Median, 1.125},
	} {
		if !close2(c[0], c[1], near) {
			t.Errorf("%s: %v, want %v", name, c[0], c[1])
		}
	}
	if got := RatesOf([]Sample{{WallS: 1, Chunks: 1}, {WallS: 0}}); got.Docs != (Estimate{}) || got.TextMB != (Estimate{}) || got.Chunks.N != 2 {
		t.Errorf("samples without documents, text and time: %+v", got)
	}
	if got := RatesOf(nil); got != (Rates{}) {
		t.Errorf("no samples: %+v", got)
	}
}

func TestHeadlineFallsBackToChunks(t *testing.T) {
	r := good()
	if e, unit := r.Headline(); unit != "docs/s" || e != r.Rates.Docs {
		t.Errorf("headline %v %s", e, unit)
	}
	r.Rates.Docs = Estimate{}
	if e, unit := r.Headline(); unit != "chunks/s" || e != r.Rates.Chunks {
		t.Errorf("headline without documents: %v %s", e, unit)
	}
}

// What a warning must not claim.
func TestWarningsStaySilent(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*Record)
		code  string
	}{
		{"range of few samples", func(r *Record) { walls(r, 30, 40) }, "wide-interval"},
		{"whole corpus in one batch", func(r *Record) { r.Corpus.Selection.Kind, r.Corpus.Selection.Chunks = SelectionAll, 3 }, "few-batches"},
		{"ids ready", func(r *Record) { r.Protocol.Region, r.Corpus.Selection.Chunks = RegionEncode, 130 }, "few-batches"},
		{"every length sampled", func(r *Record) {
			r.Corpus.Selection.Rows, r.Corpus.Selection.Corpus = []int64{1, 0, 2}, []int64{9, 0, 9}
		}, "bucket-gaps"},
		{"selection unknown yet", func(r *Record) { r.Corpus.Selection.Corpus = []int64{9} }, "bucket-gaps"},
		{"failed before a sample", func(r *Record) { r.Status = StatusFailed; walls(r) }, "failed"},
	} {
		r := good()
		c.spoil(r)
		for _, w := range Warnings(r) {
			if w.Code == c.code {
				t.Errorf("%s: %v", c.name, w)
			}
		}
	}
}

func TestAccuracyFigures(t *testing.T) {
	a := Accuracy{Threshold: GateCosine, Min: 0.99999999999976, Mean: 0.9999999999999, MaxDiff: 1.23e-7, DiffLimit: GateDiff}
	if got, want := a.Figures(), "1 − cosine at most 2.4e-13 (mean 1e-13), limit 1e-6; a value differs by at most 1.3e-7, limit 2e-6"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	a.MaxDiff, a.DiffLimit = 0, 0
	if got, want := a.Figures(), "1 − cosine at most 2.4e-13 (mean 1e-13), limit 1e-6"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	a.MaxDiff = 0.2
	if got := a.Figures(); !strings.HasSuffix(got, "; a value differs by at most 0.2, no limit") {
		t.Error(got)
	}
}
