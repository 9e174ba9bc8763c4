package latency

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"encbench/bench"
	"encbench/corpus/tokenize"
	"encbench/engine"
	"encbench/engine/enginetest"
)

// pieces is a tokenizer that cuts words into pieces of up to four bytes, so that words
// take one token or several. It allocates nothing.
type pieces struct{ resets *int }

const cls, sep = 1, 2

func (pieces) AppendIDs(dst []int32, text []byte) []int32 {
	n := int32(0)
	for _, c := range text {
		if c == ' ' {
			n = 0
			continue
		}
		if n%4 == 0 {
			dst = append(dst, 3+int32(c))
		} else {
			dst[len(dst)-1] = 3 + (dst[len(dst)-1]*31+int32(c))%900
		}
		n++
	}
	return dst
}

func (p pieces) AppendSpans(dst []int32, spans []tokenize.Span, text []byte) ([]int32, []tokenize.Span) {
	return p.AppendIDs(dst, text), spans
}
func (pieces) Template() tokenize.Template {
	return tokenize.Template{Single: []tokenize.Piece{{ID: cls}, {Text: 'A'}, {ID: sep}}}
}
func (pieces) Special() tokenize.Special { return tokenize.Special{CLS: cls, SEP: sep, UNK: -1} }
func (pieces) VocabSize() int            { return 1000 }
func (pieces) Repaired() int64           { return 0 }
func (pieces) Reset()                    {}
func (p pieces) Clone() tokenize.Tokenizer {
	if p.resets != nil {
		*p.resets++
	}
	return p
}

var queries = []string{
	"what is known of the tides of a harbour", "how glass is blown from sand and soda", "the migration of geese over the northern sea",
	"a recipe for rye bread", "", "repair of a bicycle chain in the rain", "rules of an unusual chess opening",
}

// finder is an engine.Searcher that allocates as searches do.
type finder struct {
	searches int
	sink     []byte
}

func (*finder) Append(context.Context, int64, []int32, engine.Rows) error { return nil }
func (f *finder) Search(_ context.Context, q engine.Rows, k int, dst *engine.Hits) error {
	f.searches++
	f.sink = make([]byte, 1000)
	dst.Reset(q.N, k)
	return nil
}
func (*finder) Close() error { return nil }

func passed(context.Context, engine.Encoder) (bench.Accuracy, error) {
	return bench.Accuracy{Level: bench.LevelReference, Passed: true}, nil
}

// counting counts the sessions that are open.
type counting struct {
	engine.Encoder
	open *int
}

func (c counting) Close() error { *c.open--; return c.Encoder.Close() }

func setup(opened, open *int) Setup {
	return Setup{
		Tokens: []int{8, 32, 3}, Sources: queries, Tokenizer: pieces{}, MaxTokens: 64, Samples: 100, Cold: 2, Seed: 1, Gate: passed,
		Open: func(context.Context) (engine.Encoder, time.Duration, error) {
			*opened++
			*open++
			return counting{enginetest.NewFake(16, 1), open}, time.Millisecond, nil
		},
	}
}

func TestRun(t *testing.T) {
	var opened, open, clones int
	s := setup(&opened, &open)
	s.Tokenizer = pieces{&clones}
	f := &finder{}
	s.Searcher, s.K, s.Prompt = f, 10, "query: "
	s.Base.Index = &Index{Rows: 5}
	s.Base.Start = bench.Cold{ModelLoad: 2, Import: 3}
	r, err := Run(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	// Two cold sessions for each length and the warm one, each with its own caches.
	if opened != 7 || open != 0 || clones != 7 {
		t.Errorf("%d sessions opened, %d left open, %d tokenizers", opened, open, clones)
	}
	if r.Status != bench.StatusComplete || r.Kind != Kind || !r.Accuracy.Passed || r.Protocol.K != 10 || r.Protocol.PromptTk != 2 || r.Protocol.SpecialTk != 2 || r.Protocol.Dim != 16 {
		t.Errorf("record %+v", r)
	}
	if c := r.Start; c.FirstRun <= 0 || math.Abs(c.Total-5-c.SessionCreate-c.FirstRun) > 1e-9 || c.SessionCreate != 0.001 || r.Index.FirstS <= 0 {
		t.Errorf("start %+v, first search %v", c, r.Index.FirstS)
	}
	if r.Clock.Read <= 0 || r.Clock.Read > 1e-3 || r.Clock.Least <= 0 || r.Clock.Reads != 4 {
		t.Errorf("clock %+v", r.Clock)
	}
	for i, l := range r.Lengths {
		if want := s.Tokens[i]; l.Tokens != want || l.Row != want+4 || l.Texts != 100 || len(l.Cold) != 2 {
			t.Errorf("length %+v", l)
		}
		if l.Allocations != 0 || l.SearchAllocations < 1 || l.SearchAllocations > 3 {
			t.Errorf("%d tokens: %v allocations, %v of the search", l.Tokens, l.Allocations, l.SearchAllocations)
		}
		for _, c := range l.Cold {
			if c.CreateS != 0.001 || c.VectorS <= 0 || math.Abs(c.VectorS-c.TokenizeS-c.EncodeS) > 1e-9 {
				t.Errorf("cold %+v", c)
			}
		}
		if l.Vector.N != 100 || l.TopK.N != 100 || len(l.Stages) != 3 {
			t.Fatalf("%d and %d samples, stages %+v", l.Vector.N, l.TopK.N, l.Stages)
		}
		var share float64
		for _, s := range l.Stages {
			share += s.Share
		}
		if math.Abs(share-1) > 1e-9 {
			t.Errorf("stages take %v of the time", share)
		}
		for k, x := range l.TopK.Samples {
			if x <= l.Vector.Samples[k] {
				t.Errorf("sample %d: %v to the best documents, %v to the vector", k, x, l.Vector.Samples[k])
			}
		}
		// A hundred samples have a median and an interval of p95, none of p99.
		p := l.Vector.Percentiles
		if p[0].Value == nil || p[0].Low == nil || p[1].Value != nil || p[1].Low == nil || p[2].Value != nil || p[2].Low != nil || p[2].ForInterval != 368 || p[2].ForFigure != 262742 {
			t.Errorf("percentiles %+v", p)
		}
	}
	var got []string
	for _, w := range r.Warnings {
		if w.Code == "few-samples" {
			got = append(got, w.Text)
		}
	}
	if want := "100 samples: too few for an interval of p99 (368)"; len(got) != 1 || got[0] != want {
		t.Errorf("warnings %q, want %q", got, want)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
	// The collector has its setting back.
	if was := debug.SetGCPercent(100); was != 100 {
		t.Errorf("the collector was left at %d %%", was)
	}
}

// The timed path of text to vector allocates nothing.
func TestPathAllocatesNothing(t *testing.T) {
	p, err := newPath(pieces{}, enginetest.NewFake(16, 1), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, text := context.Background(), []byte(queries[0])
	if n := testing.AllocsPerRun(200, func() {
		if _, err := p.query(ctx, text); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if !slices.Equal(p.batch.IDs, append(pieces{}.AppendIDs([]int32{cls}, text), sep)) {
		t.Errorf("row %v", p.batch.IDs)
	}
}

// Allocations are counted again only while it is not clear whose they are.
func TestSettled(t *testing.T) {
	for _, c := range []struct {
		counts []float64
		want   bool
	}{
		{nil, false}, {[]float64{0}, true}, {[]float64{26}, false}, {[]float64{26, 26}, true}, {[]float64{26.5, 26}, false},
		{[]float64{26.5, 0}, true}, {[]float64{27, 26, 27}, false}, {[]float64{27, 26, 28, 25}, true},
	} {
		if got := settled(c.counts); got != c.want {
			t.Errorf("%v: %v", c.counts, got)
		}
	}
}

// Texts have exactly the tokens asked for, are made of real words, and follow from the
// seed.
func TestTexts(t *testing.T) {
	words := map[string]bool{}
	for _, q := range queries {
		for _, w := range strings.Fields(q) {
			words[w] = true
		}
	}
	for _, prompt := range []string{"", "query: "} {
		for _, n := range []int{1, 2, 8, 32, 128, 300} {
			texts, err := Texts(pieces{}, prompt, queries, n, 20, 7)
			if err != nil {
				t.Fatal(err)
			}
			again, err := Texts(pieces{}, prompt, queries, n, 20, 7)
			if err != nil || !slices.Equal(texts, again) {
				t.Errorf("%d tokens: other texts the second time, %v", n, err)
			}
			other, err := Texts(pieces{}, prompt, queries, n, 20, 8)
			if err != nil || slices.Equal(texts, other) {
				t.Errorf("%d tokens: the seed changes nothing, %v", n, err)
			}
			for _, text := range texts {
				rest, ok := strings.CutPrefix(text, prompt)
				if got := len(pieces{}.AppendIDs(nil, []byte(text))); !ok || got != n+len(pieces{}.AppendIDs(nil, []byte(prompt))) {
					t.Errorf("%q has %d tokens with its prompt, %d were asked for", text, got, n)
				}
				for _, w := range strings.Fields(rest) {
					if !words[w] {
						t.Errorf("%q holds %q, which no query does", text, w)
					}
				}
			}
		}
	}
	for _, c := range []struct {
		sources []string
		n       int
		want    string
	}{
		{[]string{"", " "}, 8, "no query with a word among 2, to make texts of 8 tokens of"},
		{[]string{"abcdefgh"}, 3, "no text of exactly 3 tokens can be made of the words of 1 queries; choose another --tokens or other queries"},
	} {
		if _, err := Texts(pieces{}, "", c.sources, c.n, 1, 1); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name, want string
		change     func(*Setup)
	}{
		{"many faults", "latency: queries of 0 tokens, expected 1 or more\nqueries of 32 tokens are asked for twice\n0 samples, expected 1 or more\n-1 cold sessions, expected 0 or more\nthe best 0 documents, expected 1 or more\na query of 63 tokens makes a row of 65 (2 special and 0 prompt tokens more), the model takes 64", func(s *Setup) {
			s.Tokens, s.Samples, s.Cold, s.Searcher = []int{0, 32, 32, 63}, 0, -1, &finder{}
		}},
		{"no length", "latency: no length of queries", func(s *Setup) { s.Tokens = nil }},
		{"a prompt that leaves no room", "latency: a query of 32 tokens makes a row of 66 (2 special and 32 prompt tokens more), the model takes 64", func(s *Setup) { s.Prompt = strings.Repeat("word ", 32) }},
		{"a gate that fails", "accuracy gate failed, so there is no latency: 3 tokens: cosine 0.5\nCompared with the plain encoder. Check the model with `encbench model verify`", func(s *Setup) {
			s.Gate = func(context.Context, engine.Encoder) (bench.Accuracy, error) {
				return bench.Accuracy{Error: "3 tokens: cosine 0.5", Reference: "the plain encoder"}, nil
			}
		}},
		{"no session", "no memory", func(s *Setup) {
			s.Open = func(context.Context) (engine.Encoder, time.Duration, error) { return nil, 0, errors.New("no memory") }
		}},
		{"an encoder that fails", "encode a query: fake encoder: told to fail at row 0", func(s *Setup) {
			s.Open = func(context.Context) (engine.Encoder, time.Duration, error) {
				f := enginetest.NewFake(16, 1)
				return failing{f}, 0, nil
			}
		}},
	} {
		var opened, open int
		s := setup(&opened, &open)
		c.change(&s)
		if r, err := Run(context.Background(), s); err == nil || r != nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
		if open != 0 {
			t.Errorf("%s: %d sessions left open", c.name, open)
		}
	}
}

// failing refuses every batch.
type failing struct{ *enginetest.Fake }

func (f failing) Submit(int, *engine.Batch) error {
	return errors.New("fake encoder: told to fail at row 0")
}

// Ctrl-C keeps the samples that were taken.
func TestInterrupted(t *testing.T) {
	var opened, open int
	s := setup(&opened, &open)
	s.Samples = 100_000
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.Progress = func(st Step) {
		if st.Phase == "samples" && st.Done == 200 {
			cancel()
		}
	}
	r, err := Run(ctx, s)
	if !errors.Is(err, context.Canceled) || r == nil || r.Status != bench.StatusInterrupted || open != 0 {
		t.Fatalf("%v, record %+v, %d sessions left open", err, r, open)
	}
	if n := r.Lengths[0].Vector.N; n < 200 || n > 200+checkEvery || r.Warnings[0].Code != "interrupted" {
		t.Errorf("%d samples, warnings %+v", n, r.Warnings)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
	// Before the first sample there is nothing to keep.
	ended, stop := context.WithCancel(context.Background())
	stop()
	if r, err := Run(ended, setup(&opened, &open)); !errors.Is(err, context.Canceled) || r != nil || open != 0 {
		t.Errorf("%v, record %+v, %d sessions left open", err, r, open)
	}
}

// An index of other vectors than the model's is told.
func TestWarnings(t *testing.T) {
	r := &Record{Lengths: []Length{{Tokens: 8, Vector: Series{N: 400, Drift: 0.031, Outliers: 2}, Allocations: 2}}, Index: &Index{Model: "other", ModelSHA256: "aa"}}
	r.Model.SHA256, r.Model.Synthetic, r.Accuracy.Level, r.GC.During = "bb", true, bench.LevelConsistency, 1
	r.Engine.Threads, r.Env.CPU.Cores, r.Env.CPU.Governor = 4, 2, "powersave"
	r.Env.CPU.Driver = "intel_pstate"
	r.Machine.ThrottledN, r.Machine.ThrottledS = 3, 0.5
	var got []string
	for _, w := range warnings(r) {
		got = append(got, w.Code+": "+w.Text)
	}
	want := []string{
		"synthetic-model: synthetic weights: speed only, the vectors mean nothing",
		"consistency-only: a bare .onnx has no reference: only its consistency was checked",
		"other-model: the vectors of the index are those of model other: what is found means nothing, and takes as long",
		"drift: text to vector: the last third of the samples against the first was 3.1 % slower at 8 tokens",
		"outliers: text to vector: samples far from the others (modified z-score), kept: 2 of 400 at 8 tokens",
		"allocations: text to vector allocates 2 objects a query at 8 tokens",
		"collected: Go's collector ran once while samples were taken: a memory limit forced it",
		"smt: 4 threads on 2 physical cores",
		"governor: the frequency governor is powersave: the clock follows the load",
		"not-quiet: the machine was not quiet: the CPU quota stopped the process in 3 periods, 0.50 s in all",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The collector runs between samples where they allocate, and is counted.
func TestCollector(t *testing.T) {
	var gc GC
	c := newCollector(&gc)
	var keep [][]byte
	looks := 0
	for range 4 {
		keep = append(keep, make([]byte, heapGrowth/2+1))
		if c.look() {
			looks++
		}
	}
	c.end()
	if len(keep) != 4 || gc.Between != looks || looks < 1 || gc.During != 0 {
		t.Errorf("%d collections counted of %d, %d unasked", gc.Between, looks, gc.During)
	}
}

func TestSeries(t *testing.T) {
	xs := make([]float64, 500)
	for i := range xs {
		xs[i] = float64(500-i) / 1000
	}
	s := newSeries(slices.Clone(xs))
	if s.Min != 0.001 || s.Max != 0.5 || s.Median != 0.2505 || math.Abs(s.Mean-0.2505) > 1e-12 || !slices.Equal(s.Samples, xs) || s.Drift >= 0 {
		t.Errorf("%+v", s)
	}
	// The 228th and the 273rd of 500 bound the median, by the binomial distribution.
	if p := s.Percentiles[0]; *p.Value != 0.2505 || *p.Low != 0.228 || *p.High != 0.273 {
		t.Errorf("p50 %v, %v to %v", *p.Value, *p.Low, *p.High)
	}
	if p := s.Percentiles[2]; p.Value != nil || *p.Low != 0.49 || *p.High != 0.5 {
		t.Errorf("p99 %v to %v", *p.Low, *p.High)
	}
	if none := newSeries(nil); none.N != 0 || none.Percentiles != nil {
		t.Errorf("%+v", none)
	}
}
