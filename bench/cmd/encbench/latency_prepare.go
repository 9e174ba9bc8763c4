package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"encbench/bench"
	"encbench/bench/collection"
	"encbench/bench/latency"
	"encbench/engine"
	"encbench/engine/cpu"
	"encbench/engine/feed"
	"encbench/engine/ort"
	"encbench/engine/vectors"
)

// openModel loads the model and resolves the query prompt.
func (l *latencyRun) openModel(ctx context.Context) (err error) {
	mark := time.Now()
	if l.model, err = l.app.openModel(ctx, modelOptions{name: l.latencyFlags.model, pooling: l.pooling, dtype: l.dtype}); err != nil {
		return err
	}
	l.base.Start.ModelLoad = time.Since(mark).Seconds()
	m := l.model
	l.base.Model = m.facts
	switch {
	case l.fs.Changed("query-prompt"):
		l.prompt = l.queryPrompt
	case m.dir != nil:
		text, ok := m.dir.Prompts["query"]
		if !ok {
			text = m.dir.Prompts[m.dir.DefaultPrompt]
		}
		l.prompt = text
	}
	return m.checkPrompt(l.prompt)
}

// openQueries reads the queries that the texts are made of.
func (l *latencyRun) openQueries(ctx context.Context) error {
	l.bar.show(0, func() string { return "reading collection " + l.data })
	c, err := l.app.openCollection(ctx, l.data, collection.Options{})
	if err != nil {
		return err
	}
	for _, q := range c.Queries {
		l.sources = append(l.sources, q.Text)
	}
	l.base.Queries = latency.Queries{Source: c.Name, SHA256: c.SHA256, Count: len(c.Queries)}
	l.bar.clear()
	return nil
}

// longest is the longest row that is measured.
func (l *latencyRun) longest() int {
	n := 0
	for _, tokens := range l.tokens {
		n = max(n, tokens)
	}
	return n + l.model.tok.Template().Overhead() + len(l.model.tok.AppendIDs(nil, []byte(l.prompt)))
}

// mostTokens is the longest row that the model's directory declares; a bare graph does
// not say.
func (l *latencyRun) mostTokens() int {
	if l.model.dir == nil {
		return l.model.maxPositions()
	}
	return ownLength(l.model)
}

// prepare loads the runtime, builds the graph and loads the index.
func (l *latencyRun) prepare(ctx context.Context) (err error) {
	longest := l.longest()
	if most := l.mostTokens(); longest > most {
		// Said again, with every length, by the setup; but a graph cannot be built for it.
		setup := l.setup()
		return &usageError{setup.Validate()}
	}
	var index *vectors.Reader
	if l.index != "" {
		r, file, err := l.openIndex()
		if err != nil {
			return err
		}
		defer file.Close()
		index = r
	}
	if l.rt, err = l.app.runtime(ctx, l.ortLibrary); err != nil {
		return err
	}
	sha, err := fileSHA256(l.rt.Path)
	if err != nil {
		return err
	}
	layout := ort.Plan(l.threads, 1, 0)
	p := &memoryPlan{encoders: []plannedEncoder{{model: l.model, layout: layout, longest: longest, limit: feed.Limit{Rows: 1}}}}
	p.advice.runs = "fewer --tokens, or fewer --threads"
	p.advice.batches = p.advice.runs
	p.advice.vectors = "a smaller --index"
	if index != nil && index.Info().Rows > 0 {
		p.vectors = indexBytes(index.Info(), l.search.Store)
	}
	if l.base.Memory, err = l.app.admit(ctx, p); err != nil {
		return err
	}
	mark := time.Now()
	if l.graph, err = l.model.build(false, longest); err != nil {
		return err
	}
	l.graph.FLOP = nil // nobody asks for the work of a query, and its account takes time
	l.base.Start.Import = time.Since(mark).Seconds()
	l.base.Engine = bench.Engine{
		Backend: "onnxruntime", Version: l.rt.Version, Library: filepath.Base(l.rt.Path), LibrarySHA256: sha,
		Device: "cpu", Threads: l.threads, Workers: layout.Workers, Intra: layout.Intra, UBatch: "1",
		HowRun: fmt.Sprintf("one row at a time on %s", count(layout.Intra, "thread")), Optimization: "all", Slots: 1,
		ActivationBits: l.model.activationBits(),
	}
	if index == nil {
		return nil
	}
	return l.loadIndex(ctx, index)
}

// openIndex opens the documents' vectors and the searcher that will hold them.
func (l *latencyRun) openIndex() (*vectors.Reader, io.Closer, error) {
	r, file, err := l.app.openVectors(l.index, l.tensor, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("--index: %w", err)
	}
	l.search.Dim = r.Info().Dim
	if dim := l.model.dim(); dim > 0 && l.search.Dim != dim {
		return nil, nil, errors.Join(usagef("--index %s has vectors of %s, model %s gives %d; name an index that was made with the model", l.index, count(l.search.Dim, "value"), l.model.facts.Name, dim), file.Close())
	}
	if l.searcher, err = cpu.NewSearcher(l.search); err != nil {
		return nil, nil, errors.Join(&usageError{err}, file.Close())
	}
	return r, file, nil
}

// indexBytes bounds what a searcher of all rows takes: beside them it keeps codes of up
// to two bytes a value.
func indexBytes(info vectors.Info, store cpu.Store) int64 {
	each := 4
	switch {
	case store == cpu.StoreF16, store == cpu.StoreBF16, store == cpu.StoreGiven && (info.Type == engine.F16 || info.Type == engine.BF16):
		each = 2
	case store == cpu.StoreInt8:
		each = 1
	}
	return info.Rows * int64((each+2)*info.Dim+4)
}

// loadIndex reads the documents' vectors into the searcher.
func (l *latencyRun) loadIndex(ctx context.Context, r *vectors.Reader) error {
	mark := time.Now()
	info := r.Info()
	x := &latency.Index{File: l.index, Dim: info.Dim, Store: l.store, Metric: l.metric}
	if l.search.Store == cpu.StoreGiven {
		x.Store = vectors.TypeName(info.Type)
	}
	if h := info.Header; h != nil {
		x.Model, x.ModelSHA256 = h.Model, h.ModelSHA256
	}
	var rows engine.Rows
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.Next(&rows); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("--index: %w", err)
		}
		if err := l.searcher.Append(ctx, int64(x.Rows), nil, rows); err != nil {
			return fmt.Errorf("--index %s: %w", l.index, err)
		}
		x.Rows += rows.N
		l.bar.show(share(int64(x.Rows), info.Rows), func() string { return "reading the index: " + bench.Thousands(int64(x.Rows)) + " rows" })
	}
	if x.Rows == 0 {
		return fmt.Errorf("--index %s has no rows", l.index)
	}
	if err := l.searcher.Build(ctx); err != nil {
		return err
	}
	x.LoadS = time.Since(mark).Seconds()
	l.base.Index = x
	l.bar.clear()
	return nil
}

// setup is what the flags came to.
func (l *latencyRun) setup() latency.Setup {
	s := latency.Setup{
		Tokens: l.tokens, Sources: l.sources, Prompt: l.prompt, Tokenizer: l.model.tok, MaxTokens: l.mostTokens(),
		Open: l.open, Gate: l.gate, K: l.k, Samples: l.samples, Cold: l.cold, Seed: l.seed, Progress: l.show, Base: l.base,
	}
	if l.searcher != nil { // a nil pointer is not a nil interface
		s.Searcher = l.searcher
	}
	s.Base.Protocol.DType, s.Base.Protocol.Pooling = l.model.facts.Computed, l.model.pooling
	return s
}

// open opens a session that takes one row at a time.
func (l *latencyRun) open(context.Context) (engine.Encoder, time.Duration, error) {
	enc, err := ort.Open(l.rt, l.graph, ort.Options{Layout: ort.Plan(l.threads, 1, 0), Slots: 1})
	if err != nil {
		return nil, 0, err
	}
	return enc, enc.CreateTime(), nil
}

// gate compares an encoder with the reference.
func (l *latencyRun) gate(ctx context.Context, enc engine.Encoder) (bench.Accuracy, error) {
	acc, _, err := l.app.gate(ctx, l.model, enc, l.longest())
	if err != nil {
		return acc, err
	}
	return acc, l.app.retrievalOf(ctx, l.model, l.rt, &acc)
}
