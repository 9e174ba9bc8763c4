package latency

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"encbench/bench"
	"encbench/bench/env"
	"encbench/engine"
)

// distinct is how many texts of a length there are at most: more would not fit the
// caches of a processor any less.
const distinct = 256

// measurement is one on its way.
type measurement struct {
	*Setup
	r       *Record
	texts   [][][]byte // by length
	lengths []*times
}

// times are the samples of one length, room for all of them made before.
type times struct{ tokenize, encode, search, vector, total []float64 }

// Run measures. When ctx ends during the samples, the record keeps those that were
// taken, its status is interrupted, and the context's error is returned with it; every
// other error gives no record.
func Run(ctx context.Context, s Setup) (*Record, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("latency: %w", err)
	}
	r := s.Base
	r.Schema, r.Kind, r.Status = SchemaVersion, Kind, bench.StatusComplete
	p := &r.Protocol
	p.Tokens, p.Prompt, p.PromptTk, p.SpecialTk = s.Tokens, s.Prompt, s.promptTokens(), s.special()
	p.Rows, p.Loop, p.Samples, p.Seed = 1, "closed, one client", s.Samples, s.Seed
	if s.Searcher != nil {
		p.K = s.K
	}
	m := &measurement{Setup: &s, r: &r}
	if err := m.prepare(); err != nil {
		return nil, err
	}
	if err := m.cold(ctx); err != nil {
		return nil, err
	}
	err := m.warm(ctx)
	interrupted := err != nil && ctx.Err() != nil && len(m.lengths) > 0 && len(m.lengths[0].vector) > 0
	if err != nil && !interrupted {
		return nil, err
	}
	if interrupted {
		r.Status = bench.StatusInterrupted
	}
	m.summarize()
	r.Warnings = append(s.Base.Warnings, warnings(&r)...)
	return &r, err
}

// prepare makes the texts.
func (m *measurement) prepare() error {
	m.r.Lengths = make([]Length, len(m.Tokens))
	for i, n := range m.Tokens {
		texts, err := Texts(m.Tokenizer, m.Prompt, m.Sources, n, min(distinct, m.Samples), m.Seed)
		if err != nil {
			return err
		}
		var all [][]byte
		for _, text := range texts {
			all = append(all, []byte(text))
		}
		m.texts = append(m.texts, all)
		m.r.Lengths[i] = Length{Tokens: n, Row: m.row(n), Texts: len(all)}
	}
	return nil
}

// open opens a session with a tokenizer whose caches are empty.
func (m *measurement) open(ctx context.Context) (*path, time.Duration, error) {
	enc, created, err := m.Open(ctx)
	if err != nil {
		return nil, 0, err
	}
	p, err := newPath(m.Tokenizer.Clone(), enc, m.Searcher, m.K)
	if err != nil {
		return nil, 0, errors.Join(err, enc.Close())
	}
	m.r.Protocol.Dim = enc.Dim()
	return p, created, nil
}

// gate lets an encoder pass, or ends the measurement.
func (m *measurement) gate(ctx context.Context, p *path) error {
	acc, err := m.Gate(ctx, p.encoder)
	if err != nil {
		return err
	}
	m.r.Accuracy = acc
	if !acc.Passed {
		return fmt.Errorf("accuracy gate failed, so there is no latency: %s\nCompared with %s. Check the model with `encbench model verify`", acc.Error, acc.Reference)
	}
	return nil
}

// cold times the first query of sessions, lengths in turn. The first session of all
// completes the cold start of the process, and is gated behind it: a wrong model is
// found before the rest is measured.
func (m *measurement) cold(ctx context.Context) error {
	total := m.Cold * len(m.Tokens)
	for i := range total {
		m.step("cold", i, total)
		at := i % len(m.Tokens)
		if err := m.coldQuery(ctx, at, m.texts[at][i/len(m.Tokens)%len(m.texts[at])], i == 0); err != nil {
			return err
		}
	}
	return nil
}

func (m *measurement) coldQuery(ctx context.Context, length int, text []byte, first bool) (err error) {
	p, created, err := m.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.encoder.Close()) }()
	runtime.GC()
	s, err := p.query(ctx, text)
	if err != nil {
		return err
	}
	l := &m.r.Lengths[length]
	l.Cold = append(l.Cold, Cold{CreateS: created.Seconds(), TokenizeS: s.tokenize.Seconds(), EncodeS: s.encode.Seconds(), VectorS: s.vector().Seconds()})
	if !first {
		return nil
	}
	m.first(created, s)
	return m.gate(ctx, p)
}

// first completes the cold start of the process.
func (m *measurement) first(created time.Duration, s stages) {
	c := &m.r.Start
	c.SessionCreate, c.FirstRun = created.Seconds(), s.vector().Seconds()
	c.Total = c.ModelLoad + c.Import + c.SessionCreate + c.FirstRun
	if m.r.Index != nil {
		m.r.Index.FirstS = s.search.Seconds()
	}
}

// How the samples are taken.
const (
	warmQueries = 20              // of each length at least, untimed
	warmTime    = time.Second / 2 // in all at least
	checkEvery  = 64              // rounds between looks at the heap
	heapGrowth  = 64 << 20        // from which it is collected, between samples
	probes      = 32              // queries that allocations are counted over, at a time
	probings    = 4               // at most; the least counts: other goroutines allocate too
)

// warm takes the samples.
func (m *measurement) warm(ctx context.Context) (err error) {
	p, created, err := m.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.encoder.Close()) }()
	if m.Cold == 0 {
		s, err := p.query(ctx, m.texts[0][0])
		if err != nil {
			return err
		}
		m.first(created, s)
	}
	if err := m.gate(ctx, p); err != nil {
		return err
	}
	m.r.Clock = timeClock()
	m.r.Clock.Reads, m.r.Clock.Source = p.reads(), m.r.Env.CPU.ClockSource
	if err := m.warmUp(ctx, p); err != nil {
		return err
	}
	if err := m.allocations(ctx, p); err != nil {
		return err
	}
	watch := env.StartWatch()
	err = m.sample(ctx, p)
	m.r.Machine = watch.Stop()
	return err
}

func (m *measurement) warmUp(ctx context.Context, p *path) error {
	begun := time.Now()
	for i := 0; i < warmQueries || time.Since(begun) < warmTime; i++ {
		m.step("warm-up", min(i, warmQueries), warmQueries)
		for _, texts := range m.texts {
			if _, err := p.query(ctx, texts[i%len(texts)]); err != nil {
				return err
			}
		}
	}
	return nil
}

// allocations counts what queries allocate, with a search and without.
func (m *measurement) allocations(ctx context.Context, p *path) error {
	count := func(texts [][]byte, with engine.Searcher) (float64, error) {
		searcher := p.searcher
		p.searcher = with
		defer func() { p.searcher = searcher }()
		var counts []float64
		for !settled(counts) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for i := range probes {
				if _, err := p.query(ctx, texts[i%len(texts)]); err != nil {
					return 0, err
				}
			}
			runtime.ReadMemStats(&after)
			counts = append(counts, float64(after.Mallocs-before.Mallocs)/probes)
		}
		return slices.Min(counts), nil
	}
	for i := range m.texts {
		l := &m.r.Lengths[i]
		var err error
		if l.Allocations, err = count(m.texts[i], nil); err != nil {
			return err
		}
		if p.searcher == nil {
			continue
		}
		all, err := count(m.texts[i], p.searcher)
		if err != nil {
			return err
		}
		l.SearchAllocations = max(0, all-l.Allocations)
	}
	return nil
}

// settled says whether counts of allocations need no further one: nothing is less than
// none, and what was counted twice in a row is nobody else's. Queries of a large model
// take their time.
func settled(counts []float64) bool {
	n := len(counts)
	return n == probings || n > 0 && counts[n-1] == 0 || n > 1 && counts[n-1] == counts[n-2]
}

// sample takes all samples: in each round one of each length, the order turning round
// from round to round.
func (m *measurement) sample(ctx context.Context, p *path) error {
	for range m.texts {
		t := &times{}
		for _, list := range []*[]float64{&t.tokenize, &t.encode, &t.search, &t.vector, &t.total} {
			*list = make([]float64, 0, m.Samples)
		}
		m.lengths = append(m.lengths, t)
	}
	c := newCollector(&m.r.GC)
	defer c.end()
	for round := range m.Samples {
		if round%checkEvery == 0 {
			if c.look() {
				// A collection leaves the caches with other things than a query's.
				for _, texts := range m.texts {
					if _, err := p.query(ctx, texts[round%len(texts)]); err != nil {
						return err
					}
				}
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		for k := range m.texts {
			at := k
			if round%2 == 1 {
				at = len(m.texts) - 1 - k
			}
			s, err := p.query(ctx, m.texts[at][round%len(m.texts[at])])
			if err != nil {
				return err
			}
			m.lengths[at].add(s)
		}
		m.step("samples", round+1, m.Samples)
	}
	return nil
}

func (t *times) add(s stages) {
	t.tokenize = append(t.tokenize, s.tokenize.Seconds())
	t.encode = append(t.encode, s.encode.Seconds())
	t.search = append(t.search, s.search.Seconds())
	t.vector = append(t.vector, s.vector().Seconds())
	t.total = append(t.total, s.total().Seconds())
}

func (m *measurement) step(phase string, done, total int) {
	if m.Progress != nil {
		m.Progress(Step{phase, done, total})
	}
}

// summarize fills the lengths.
func (m *measurement) summarize() {
	for i, t := range m.lengths {
		l := &m.r.Lengths[i]
		l.Vector = newSeries(t.vector)
		named := []struct {
			name string
			xs   []float64
		}{{"tokenize", t.tokenize}, {"encode", t.encode}}
		if m.Searcher != nil {
			s := newSeries(t.total)
			l.TopK = &s
			named = append(named, struct {
				name string
				xs   []float64
			}{"search", t.search})
		}
		var all float64
		for _, x := range t.total {
			all += x
		}
		for _, stage := range named {
			var sum float64
			for _, x := range stage.xs {
				sum += x
			}
			share := sum / all
			if math.IsNaN(share) {
				share = 0
			}
			l.Stages = append(l.Stages, Stage{Name: stage.name, Median: bench.Summarize(stage.xs), Share: share})
		}
	}
}
