package bench_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"encbench/bench"
	"encbench/corpus"
	"encbench/corpus/chunk"
	"encbench/corpus/tokenize"
	"encbench/engine"
	"encbench/engine/enginetest"
	"encbench/engine/feed"
)

// bytesTokenizer gives every byte an id.
type bytesTokenizer struct{}

func (bytesTokenizer) AppendIDs(dst []int32, text []byte) []int32 {
	for _, c := range text {
		dst = append(dst, int32(c))
	}
	return dst
}
func (b bytesTokenizer) AppendSpans(dst []int32, spans []tokenize.Span, text []byte) ([]int32, []tokenize.Span) {
	for i := range text {
		spans = append(spans, tokenize.Span{Start: int32(i), End: int32(i + 1)})
	}
	return b.AppendIDs(dst, text), spans
}
func (bytesTokenizer) Template() tokenize.Template {
	return tokenize.Template{Single: []tokenize.Piece{{ID: 1}, {Text: 'A'}, {ID: 2}}}
}
func (bytesTokenizer) Special() tokenize.Special { return tokenize.Special{CLS: 1, SEP: 2} }
func (bytesTokenizer) VocabSize() int            { return 256 }
func (bytesTokenizer) Repaired() int64           { return 0 }
func (bytesTokenizer) Reset()                    {}
func (bytesTokenizer) Clone() tokenize.Tokenizer { return bytesTokenizer{} }

type texts struct {
	list []string
	next int
}

func (m *texts) Scan() bool      { m.next++; return m.next <= len(m.list) }
func (m *texts) Doc() corpus.Doc { return corpus.Doc{Text: []byte(m.list[m.next-1])} }
func (m *texts) Err() error      { return nil }
func (m *texts) Close() error    { return nil }

func armOf(t *testing.T, list []string, batch, window int) *bench.Arm {
	t.Helper()
	opt := feed.Options{Tokenizer: bytesTokenizer{}, Window: chunk.Window{Size: 30, Overlap: 10}, Batch: batch, Workers: 2}
	r := &bench.Record{Protocol: bench.Protocol{Batch: batch, SpecialTk: 2}}
	r.Engine.Workers, r.Engine.Feeders = 1, 2
	r.Model.LinearFLOP, r.Model.AttentionFLOP = 100, 2
	r.MFU.Peak = 1e9
	f, err := feed.New(context.Background(), &texts{list: list}, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Next(context.Background())
	}
	bench.CorpusLedgers(r, f.Stats())
	return &bench.Arm{
		Record: r, Encoder: enginetest.NewFake(8, 2), Window: window,
		Source: bench.Documents{Options: opt, Scan: func() (corpus.Scanner, error) { return &texts{list: list}, nil }},
		Warm:   []*engine.Batch{enginetest.MakeBatch(0, []int32{1, 2, 3})},
	}
}

func documents(n int) []string {
	var out []string
	for i := range n {
		out = append(out, strings.Repeat("x", i*7%100))
	}
	return out
}

// A tokenizer that is not the model's leaves chunks and tokens, and no documents.
func TestHarnessWithAStandInTokenizer(t *testing.T) {
	for _, window := range []int{0, 2} {
		a := armOf(t, documents(50), 16, window)
		a.Record.Model.StandInTokenizer = true
		a.Record.Projection = &bench.Projection{FromDocs: 3, Documents: 50}
		h := &bench.Harness{Schedule: bench.Schedule{Repeats: 3}, Arms: []*bench.Arm{a}, Save: func(*bench.Arm) error { return nil }}
		if err := h.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		r := a.Record
		if r.Rates.Docs.N != 0 || r.Rates.TextMB.N != 0 || r.Rates.Chunks.N == 0 || r.Rates.Tokens.N == 0 || r.Projection != nil {
			t.Errorf("window %d: rates %+v, projection %v", window, r.Rates, r.Projection)
		}
		if e, unit := r.Headline(); unit != "chunks/s" || e.Median <= 0 {
			t.Errorf("window %d: headline %g %s", window, e.Median, unit)
		}
	}
}

// Windows count as the model defines them: a token attends to no more keys than its
// window and its row have.
func TestRowFLOP(t *testing.T) {
	var m bench.Model
	m.LinearFLOP, m.AttentionFLOP, m.CausalFLOP = 1000, 4, 2
	m.AddLocal(9, 3)
	m.AddLocal(17, 5)
	m.AddLocal(9, 3)
	if len(m.LocalAttention) != 2 || m.LocalAttention[0].FLOP != 6 {
		t.Errorf("local attention %+v", m.LocalAttention)
	}
	for n, want := range map[int]float64{
		1:   1000 + 4 + 2 + 6 + 5,
		10:  10_000 + 400 + 110 + 10*9*6 + 10*10*5,
		100: 100_000 + 40_000 + 10_100 + 100*9*6 + 100*17*5,
	} {
		if got := m.RowFLOP(n); got != want {
			t.Errorf("%d tokens: %g, want %g", n, got, want)
		}
	}
	// The harness counts rows, not their sums.
	a := armOf(t, documents(50), 16, 0)
	a.Record.Model.AttentionFLOP = 0
	a.Record.Model.AddLocal(9, 3)
	h := &bench.Harness{Schedule: bench.Schedule{Repeats: 1}, Arms: []*bench.Arm{a}, Save: func(*bench.Arm) error { return nil }}
	if err := h.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	s := a.Record.Samples[0]
	// Every row is longer than the window but for those of few bytes.
	if most := float64(s.RealTokens) * (100 + 27); s.ModelFLOP >= most || s.ModelFLOP < 0.9*most {
		t.Errorf("%g FLOP for %d tokens, want a little less than %g", s.ModelFLOP, s.RealTokens, most)
	}
}

func TestHarnessMeetsTheSchedule(t *testing.T) {
	a := armOf(t, documents(50), 16, 0)
	var saved []int
	h := &bench.Harness{
		Schedule: bench.Schedule{Repeats: 5, MinTime: time.Millisecond, MinChunks: 700},
		Arms:     []*bench.Arm{a},
		Save:     func(a *bench.Arm) error { saved = append(saved, len(a.Record.Samples)); return nil },
	}
	if err := h.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	r := a.Record
	var chunks int64
	for i, s := range r.Samples {
		chunks += s.Chunks
		if s.Docs != 50 || s.Chunks != r.Corpus.Chunks {
			t.Errorf("sample %d: %d documents, %d chunks; the corpus has 50 and %d", i, s.Docs, s.Chunks, r.Corpus.Chunks)
		}
		// A pass over the whole corpus projects to what was counted.
		if want := 50 / s.WallS; math.Abs(s.DocsPerS-want) > 1e-9*want {
			t.Errorf("sample %d: %g docs/s, counted %g", i, s.DocsPerS, want)
		}
		if s.ModelFLOP <= float64(s.RealTokens)*100 {
			t.Errorf("sample %d: %g FLOP for %d tokens", i, s.ModelFLOP, s.RealTokens)
		}
	}
	if len(r.Samples) < 5 || chunks < 700 || r.TimedSeconds() < 0.001 {
		t.Errorf("%d samples, %d chunks, %g s: the schedule asked for 5, 700 and 1 ms", len(r.Samples), chunks, r.TimedSeconds())
	}
	for i, n := range saved {
		if n != i+1 {
			t.Fatalf("saved after %v samples", saved)
		}
	}
	if r.Padding.Linear != 1 || r.Rates.Docs.N != len(r.Samples) || r.MFU.Value <= 0 || len(r.Warmup.Buckets) != 1 {
		t.Errorf("padding %g, %d samples in the rate, MFU %g, warm-up %v", r.Padding.Linear, r.Rates.Docs.N, r.MFU.Value, r.Warmup)
	}
	names := []string{}
	for _, s := range r.Stages {
		names = append(names, s.Name)
	}
	if !slices.Equal(names, []string{"read", "tokenize", "chunk", "pack", "encode", "collect"}) || r.Bottleneck == "" {
		t.Errorf("stages %v, bottleneck %q", names, r.Bottleneck)
	}
}

func TestHarnessInterleaves(t *testing.T) {
	var order []string
	arms := []*bench.Arm{armOf(t, documents(9), 4, 0), armOf(t, documents(9), 8, 0), armOf(t, documents(9), 2, 0)}
	h := &bench.Harness{
		Schedule: bench.Schedule{Repeats: 4}, Arms: arms,
		Save: func(a *bench.Arm) error { order = append(order, fmt.Sprint(a.Record.Protocol.Batch)); return nil },
	}
	if err := h.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(order, " "), "4 8 2 2 8 4 4 8 2 2 8 4"; got != want {
		t.Errorf("order %s, want %s", got, want)
	}
}

// fixed makes n documents of one chunk each.
func fixed(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = strings.Repeat("y", 1+i%20)
	}
	return out
}

// A stream is timed in windows whatever its length, whole, and what is left over
// is no sample of its own.
func TestHarnessStreams(t *testing.T) {
	for _, test := range []struct {
		docs    int
		windows []int64 // chunks of the samples of one pass, in windows of 3 batches of 5
	}{
		{1, []int64{1}}, {14, []int64{14}}, {15, []int64{15}}, {16, []int64{16}},
		{29, []int64{15, 14}}, {30, []int64{15, 15}}, {31, []int64{15, 16}}, {45, []int64{15, 15, 15}},
	} {
		for _, once := range []bool{true, false} {
			a := armOf(t, fixed(test.docs), 5, 3)
			want := a.Record.Corpus
			a.Record.Corpus = bench.Corpus{}
			a.Once = once
			ended := 0
			a.AtEnd = func() { ended++ }
			h := &bench.Harness{Schedule: bench.Schedule{Repeats: 7}, Arms: []*bench.Arm{a}}
			if err := h.Run(context.Background()); err != nil {
				t.Fatalf("%d documents: %v", test.docs, err)
			}
			r := a.Record
			n := len(test.windows)
			passes := 1
			if !once {
				passes = (7 + n - 1) / n
			}
			if len(r.Samples) != passes*n || ended != 1 {
				t.Fatalf("%d documents, once %t: %d samples, at the end %d times; want %d and 1", test.docs, once, len(r.Samples), ended, passes*n)
			}
			for i, s := range r.Samples {
				if s.Chunks != test.windows[i%n] || s.Docs != s.Chunks || s.WallS <= 0 {
					t.Errorf("%d documents: sample %d has %d chunks, %d documents, %g s; want %d chunks", test.docs, i, s.Chunks, s.Docs, s.WallS, test.windows[i%n])
				}
			}
			sel := r.Corpus.Selection
			if r.Corpus.Documents != int64(test.docs) || r.Corpus.Tokens != want.Tokens || sel.Chunks != want.Chunks || sel.Tokens != r.Corpus.Tokens+2*want.Chunks {
				t.Errorf("%d documents: corpus %+v, want %+v", test.docs, r.Corpus, want)
			}
			if once != (sel.SHA256 != "") || r.Rates.Docs.Median <= 0 {
				t.Errorf("%d documents, once %t: input hash %q, %g docs/s", test.docs, once, sel.SHA256, r.Rates.Docs.Median)
			}
		}
	}
	a := armOf(t, nil, 5, 3)
	h := &bench.Harness{Schedule: bench.Schedule{Repeats: 1}, Arms: []*bench.Arm{a}}
	if err := h.Run(context.Background()); err == nil || err.Error() != "sample 1: the corpus has no documents" {
		t.Errorf("empty stream: %v", err)
	}
}

// A long stream keeps a bounded number of samples.
func TestHarnessMergesSamplesOfLongStreams(t *testing.T) {
	a := armOf(t, fixed(3000), 1, 2)
	a.Once = true
	h := &bench.Harness{Schedule: bench.Schedule{Repeats: 1}, Arms: []*bench.Arm{a}}
	if err := h.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	var chunks int64
	for _, s := range a.Record.Samples {
		chunks += s.Chunks
	}
	if n := len(a.Record.Samples); n > 260 || n < 100 || chunks != 3000 {
		t.Errorf("%d samples of %d chunks, want 100 to 260 of 3000", n, chunks)
	}
}

// cancelling ends a context after some batches.
type cancelling struct {
	engine.Encoder
	after  int
	cancel func()
}

func (c *cancelling) Submit(slot int, b *engine.Batch) error {
	// The first two are the warm-up.
	if c.after--; c.after == -2 {
		c.cancel()
	}
	return c.Encoder.Submit(slot, b)
}

func TestHarnessInterrupted(t *testing.T) {
	for _, window := range []int{0, 2} {
		a := armOf(t, documents(60), 4, window)
		ctx, cancel := context.WithCancel(context.Background())
		h := &bench.Harness{
			Schedule: bench.Schedule{Repeats: 100}, Arms: []*bench.Arm{a},
		}
		if window == 0 {
			h.Save = func(a *bench.Arm) error {
				if len(a.Record.Samples) == 2 {
					cancel()
				}
				return nil
			}
		} else {
			a.Encoder = &cancelling{Encoder: a.Encoder, after: 5, cancel: cancel}
		}
		err := h.Run(ctx)
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("interrupted run gave %v", err)
		}
		want := 2
		if window > 0 {
			want = 1 // of two batches; the second window was not complete
		}
		if n := len(a.Record.Samples); n != want || a.Record.Rates.Docs.N != want || a.Record.Rates.Docs.Median <= 0 {
			t.Errorf("window %d: %d samples are kept, %d in the rate; want %d", window, n, a.Record.Rates.Docs.N, want)
		}
		if err := a.Encoder.Close(); err != nil {
			t.Errorf("the encoder is not idle: %v", err)
		}
	}
}

// Progress comes from a goroutine of its own and tells a plan.
func TestHarnessProgress(t *testing.T) {
	a := armOf(t, documents(3), 4, 0)
	var steps []bench.Step
	h := &bench.Harness{
		Schedule: bench.Schedule{Repeats: 1, MinTime: 350 * time.Millisecond}, Arms: []*bench.Arm{a},
		Progress: func(s bench.Step) { steps = append(steps, s) },
	}
	saves, saved := 0, 0
	h.Save = func(a *bench.Arm) error { saves, saved = saves+1, a.Record.Rates.Chunks.N; return nil }
	if err := h.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := len(a.Record.Samples); saved != n || n > 1000 && saves > n/2 {
		t.Errorf("%d samples, saved %d times, the last time with %d", n, saves, saved)
	}
	if len(steps) < 1 {
		t.Fatal("no progress in 350 ms")
	}
	last := steps[len(steps)-1]
	if last.Phase != "sample" || last.Arms != 1 || last.Planned < 350*time.Millisecond || last.Sample < 2 {
		t.Errorf("progress %+v", last)
	}
	low, high := math.Inf(1), 0.0
	for _, s := range a.Record.Samples {
		rate := float64(s.Chunks) / s.WallS
		low, high = min(low, rate), max(high, rate)
	}
	if last.Rate < low || last.Rate > high {
		t.Errorf("rate %g chunks/s, samples have %g to %g", last.Rate, low, high)
	}
}

// The one bottleneck, with stages on CPUs of their own and on shared ones.
func TestBottleneck(t *testing.T) {
	a := armOf(t, documents(50), 16, 0)
	h := &bench.Harness{Schedule: bench.Schedule{Repeats: 1}, Arms: []*bench.Arm{a}}
	if err := h.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	// Encoder threads and feeders are more than the zero Env's one CPU.
	if got := a.Record.Bottleneck; !strings.Contains(got, "which share the CPUs; next is ") {
		t.Errorf("bottleneck %q", got)
	}
	for _, s := range a.Record.Stages {
		if s.Overlap != nil {
			t.Errorf("stage %s claims an overlap of %g on shared CPUs", s.Name, *s.Overlap)
		}
	}
}

func TestHarnessEncodeRegion(t *testing.T) {
	a := armOf(t, documents(10), 4, 0)
	var rows []bench.Row
	for i := range 11 {
		ids := make([]int32, 3+i*40)
		rows = append(rows, bench.Row{Number: int64(i), Doc: int64(i / 2), IDs: ids})
	}
	a.Source = bench.Packed{Batches: bench.Pack(rows, 4)}
	a.Warm = bench.WarmBatches(rows, 2, 64, 100)
	// 2 workers of 64 tokens are 42 copies of 3 tokens, and one copy each of 403.
	if n := len(a.Warm); n < 8 || a.Warm[0].Rows() != 42 || a.Warm[n-1].Rows() != 2 {
		t.Errorf("%d warm-up batches, of %d to %d rows", n, a.Warm[0].Rows(), a.Warm[n-1].Rows())
	}
	h := &bench.Harness{Schedule: bench.Schedule{Repeats: 3}, Arms: []*bench.Arm{a}}
	if err := h.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, s := range a.Record.Samples {
		if s.Chunks != 11 {
			t.Errorf("%d chunks, want 11", s.Chunks)
		}
	}
}
