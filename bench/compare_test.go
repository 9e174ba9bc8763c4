package bench

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	a, b := good(), good()
	b.Engine.Threads, b.Engine.HowRun = 1, "batch 128, run as 64 × 1"
	b.Tool.Commit = "fedcba9876543210"
	for i := range b.Samples {
		b.Samples[i].WallS *= 2
		b.Samples[i].DocsPerS /= 2
	}
	rated(b)
	c, err := Compare(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Rates) != 3 {
		t.Fatalf("%d rates, want documents, chunks and tokens", len(c.Rates))
	}
	for _, r := range c.Rates {
		if math.Abs(r.Ratio.Value-0.5) > 0.001 || r.Ratio.Low > r.Ratio.Value || r.Ratio.High < r.Ratio.Value || r.P == nil || *r.P > 1e-4 || r.Ratio.N != 12 {
			t.Errorf("%s: ratio %+v, p %v, want 0.5 (b ÷ a) and a small p", r.Name, r.Ratio, r.P)
		}
		if r.A.Median <= r.B.Median {
			t.Errorf("%s: A %v, B %v", r.Name, r.A.Median, r.B.Median)
		}
	}
	want := []Difference{
		{"engine.threads", "2", "1"},
		{"engine.how_run", "batch 128, run as 64 × 2", "batch 128, run as 64 × 1"},
		{"tool.commit", "0123456789ab", "fedcba987654"},
	}
	if !slices.Equal(c.Differences, want) {
		t.Errorf("differences%s\nwant%s", lines(c.Differences), lines(want))
	}
	if c.A.Min != 0.9999 || c.B.Mean != 0.99995 || c.A.Samples != 12 || !c.A.Publishable || c.A.Started != "2026-01-02T03:04:05Z" {
		t.Errorf("sides %+v, %+v", c.A, c.B)
	}
	if len(c.Notes) != 0 {
		t.Errorf("notes%s", lines(c.Notes))
	}
	same, err := Compare(a, good())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range same.Rates {
		if r.Ratio.Value != 1 || *r.P < 0.9 {
			t.Errorf("%s of a record against itself: %+v, p %v", r.Name, r.Ratio, r.P)
		}
	}
	if same.Differences == nil || len(same.Differences) != 0 {
		t.Errorf("a record differs from itself in%s", lines(same.Differences))
	}
}

func TestCompareRefuses(t *testing.T) {
	for _, c := range []struct {
		spoil func(*Record)
		want  string
	}{
		{func(r *Record) { r.Schema = 2 }, "not comparable: schema: 1 against 2"},
		{func(r *Record) { r.Accuracy.Passed = false }, "not comparable: accuracy.passed: the accuracy gate of B failed, so there is no rate"},
		{func(r *Record) { r.Accuracy.Level = LevelConsistency }, "not comparable: accuracy.level: reference against consistency-only"},
		{func(r *Record) { r.Samples = nil }, "not comparable: samples: B measured nothing"},
		{func(r *Record) { r.Protocol.Region = RegionEncode }, "not comparable: protocol.region: end-to-end against encode"},
		{func(r *Record) { r.Protocol.Chunk = 256 }, "not comparable: protocol.chunk: 512 against 256"},
		{func(r *Record) { r.Protocol.Overlap = 0 }, "not comparable: protocol.overlap: 100 against 0"},
		{func(r *Record) { r.Protocol.Batch = 32 }, "not comparable: protocol.batch: 128 against 32"},
		{func(r *Record) { r.Protocol.BatchTokens = 16384 }, "not comparable: protocol.batch_tokens: 0 against 16384"},
		{func(r *Record) { r.Protocol.DType = "float16" }, "not comparable: protocol.dtype: float32 against float16"},
		{func(r *Record) { r.Protocol.Prompt, r.Protocol.PromptTk = "query: ", 2 }, `not comparable: protocol.prompt: (none) against "query: "; protocol.prompt_tokens: 0 against 2`},
		{func(r *Record) { r.Protocol.Pooling = "cls" }, "not comparable: protocol.pooling: mean against cls"},
		{func(r *Record) { r.Protocol.Normalize = false }, "not comparable: protocol.normalize: true against false"},
		{func(r *Record) { r.Protocol.Dim = 128 }, "not comparable: protocol.dim: 384 against 128"},
		{func(r *Record) { r.Corpus.SHA256 = "ee" }, "not comparable: corpus.sha256: cc against ee"},
		{func(r *Record) { r.Corpus.Selection.SHA256 = "ff" }, "not comparable: corpus.selection.sha256: dd against ff"},
		{func(r *Record) { r.Corpus.Selection.Kind = SelectionAll }, "not comparable: corpus.selection.kind: stratified against all"},
		{func(r *Record) { r.Truncation.Policy = "truncate" }, "not comparable: truncation.policy: (none) against truncate"},
		{func(r *Record) { otherModel(r); r.Corpus.SHA256 = "ee" }, "not comparable: corpus.sha256: cc against ee"},
		{func(r *Record) { otherModel(r); r.Corpus.Selection.Seed = 2 }, "not comparable: corpus.selection.seed: 1 against 2"},
		{func(r *Record) { r.Protocol.Chunk, r.Protocol.Batch = 256, 64 }, "not comparable: protocol.chunk: 512 against 256; protocol.batch: 128 against 64"},
	} {
		b := good()
		c.spoil(b)
		_, err := Compare(good(), b)
		var refusal *Refusal
		if !errors.As(err, &refusal) || err.Error() != c.want {
			t.Errorf("error %v\nwant  %s", err, c.want)
			continue
		}
		// The other way around names the same fields.
		_, back := Compare(b, good())
		var other *Refusal
		if !errors.As(back, &other) || len(other.Fields) != len(refusal.Fields) || other.Fields[0].Field != refusal.Fields[0].Field {
			t.Errorf("%v, but the other way around %v", err, back)
		}
	}
}

func otherModel(r *Record) {
	r.Model.Name, r.Model.SHA256, r.Model.TokenizerSHA256 = "other", "a2", "b2"
	r.Corpus.Selection.SHA256, r.Corpus.Selection.Chunks, r.Corpus.Chunks = "d2", 128, 50_000
	r.Protocol.Pooling, r.Protocol.Dim, r.Protocol.Prompt, r.Protocol.PromptTk = "cls", 768, "passage: ", 3
}

// Two models are what one compares: they differ in ids, pooling and prompt.
func TestCompareModels(t *testing.T) {
	b := good()
	otherModel(b)
	b.Projection = &Projection{FromDocs: 90, Documents: 20_027}
	b.Env.HostHash = "h2"
	walls(b, times(4, 7)...)
	rated(b)
	c, err := Compare(good(), b)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"model.name", "model.tokenizer_sha256", "protocol.pooling", "protocol.prompt", "protocol.dim", "corpus.chunks", "corpus.selection.chunks", "env.host_hash"} {
		if !slices.ContainsFunc(c.Differences, func(d Difference) bool { return d.Field == field }) {
			t.Errorf("%s is not listed in%s", field, lines(c.Differences))
		}
	}
	notes := strings.Join(c.Notes, "\n")
	for _, want := range []string{"the tokenizers differ", "interval covers timing only", "the machines differ", "B has 4 samples", "B is not publishable"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note %q in\n%s", want, notes)
		}
	}
}

// Random weights and stand-in tokenizers are told, and docs/s is not advised where there
// is none.
func TestCompareSynthetic(t *testing.T) {
	const a, b = "A has synthetic weights: speed only, its vectors mean nothing", "B has synthetic weights: speed only, its vectors mean nothing"
	const differ = "the tokenizers differ: the same documents become different chunks and tokens, so docs/s is the ratio to read"
	const standIn = "the tokenizers differ, and one is a stand-in, of which there is no docs/s: chunks/s and tokens/s are of other text, and say nothing of documents"
	for _, c := range []struct {
		change func(a, b *Record)
		want   []string
	}{
		{func(a, b *Record) { a.Model.Synthetic, b.Model.Synthetic = true, true }, []string{a, b}},
		{func(a, b *Record) { b.Model.Synthetic = true; otherModel(b) }, []string{differ, b}},
		{func(a, b *Record) { otherModel(b); b.Model.Synthetic, b.Model.StandInTokenizer = true, true }, []string{standIn, b}},
		{func(a, b *Record) { otherModel(b); a.Model.Synthetic, a.Model.StandInTokenizer = true, true }, []string{standIn, a}},
	} {
		a, b := good(), good()
		c.change(a, b)
		got, err := Compare(a, b)
		if err != nil || !slices.Equal(got.Notes, c.want) {
			t.Errorf("%v, notes%s\nwant%s", err, lines(got.Notes), lines(c.want))
		}
	}
}

func TestRefusalNamesTheGate(t *testing.T) {
	a, b := good(), good()
	a.Accuracy.Passed, a.Samples = false, nil
	_, err := Compare(a, b)
	if want := "not comparable: accuracy.passed: the accuracy gate of A failed, so there is no rate; samples: A measured nothing"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	b.Accuracy.Passed = false
	_, err = Compare(a, b)
	if want := "not comparable: accuracy.passed: the accuracy gate of A and of B failed, so there is no rate; samples: A measured nothing"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// Below 6 samples an arm nothing is claimed but the ratio.
func TestCompareFewSamples(t *testing.T) {
	for n, some := range map[int]bool{1: false, 2: false, 5: false, 6: true} {
		b := good()
		walls(b, times(n, 3)...)
		c, err := Compare(good(), b)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range c.Rates {
			if (r.P != nil) != some || r.Ratio.N != n {
				t.Errorf("%d samples: %s has p-value %v, ratio %+v", n, r.Name, r.P, r.Ratio)
			}
		}
		if note := strings.Contains(strings.Join(c.Notes, "\n"), "no p-value, so ranges are shown"); note == some {
			t.Errorf("%d samples: notes%s", n, lines(c.Notes))
		}
	}
}

func TestCompareNotesUnfinishedRuns(t *testing.T) {
	for status, want := range map[string]string{
		StatusInterrupted: "B was interrupted: its figures cover what was measured until then",
		StatusFailed:      "B failed: its figures cover what was measured until then",
		StatusRunning:     "B is not a finished run: its status is running",
		"":                "B is not a finished run: its status is unknown",
	} {
		b := good()
		b.Status = status
		c, err := Compare(good(), b)
		if err != nil || !slices.Contains(c.Notes, want) || c.B.Status != status {
			t.Errorf("status %q: %v, notes%s", status, err, lines(c.Notes))
		}
	}
}
