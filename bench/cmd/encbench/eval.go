package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"encbench/bench"
	"encbench/bench/env"
	"encbench/bench/eval"
	"encbench/bench/report"
	"encbench/engine"
	"encbench/engine/ort"
)

// evalRun is one `encbench eval` on its way from flags to a record.
type evalRun struct {
	*evalFlags
	app *app
	bar *progress
	out *outFile

	model               *loadedModel
	query, document     eval.Prompt
	tokens, queryTokens int
	rt                  *ort.Runtime
	encoder             engine.Encoder
	place               place
	inputs              []eval.Input
	datasets            []*dataset // parallel to inputs; nil for one that cannot be read
	runs                map[string]*runFile
	vectors             []*vectorFiles
	base                eval.Record
}

// run evaluates the collections and prints the report.
func (f *evalFlags) run(ctx context.Context, a *app, args []string) error {
	if err := noArguments(args); err != nil {
		return err
	}
	e := &evalRun{evalFlags: f, app: a, bar: a.progress(), runs: map[string]*runFile{}}
	e.base = eval.Record{Tool: tool(), Command: os.Args, Started: time.Now().UTC(), Env: env.Collect()}
	if err := f.check(env.CPUs(e.base.Env)); err != nil {
		return &usageError{err}
	}
	if len(f.leftOut) > 0 {
		fmt.Fprintf(a.stderr, "left out, as they are no means over queries: %s\n", strings.Join(f.leftOut, " "))
	}
	// A place that cannot be written must show before minutes of work.
	var err error
	if e.out, err = openOut(f.out, isEvalRecord, append(f.data, f.model)...); err != nil {
		return err
	}
	if f.runOut != "" {
		if err := e.checkRunFile(f.runOut); err != nil {
			return err
		}
	}
	if st, err := os.Stat(f.failures); err == nil && f.failures != "" && !st.IsDir() {
		return usagef("--failures %s is no folder; name one, it is made where it is not there", f.failures)
	}
	defer e.close()
	if err := e.openModel(ctx); err != nil {
		return err
	}
	if err := e.openCollections(ctx); err != nil {
		return err
	}
	if err := e.checkRunFiles(ctx); err != nil {
		return err
	}
	if err := e.checkVectorFiles(ctx); err != nil {
		return err
	}
	setup := e.setup()
	if err := setup.ValidateFor(e.model.dim()); err != nil {
		return &usageError{err}
	}
	if err := e.openEncoder(ctx); err != nil {
		return err
	}
	return e.evaluate(ctx)
}

func (e *evalRun) close() {
	var errs []error
	if e.encoder != nil {
		errs = append(errs, e.encoder.Close())
	}
	if e.model != nil {
		errs = append(errs, e.model.close())
	}
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintf(e.app.stderr, "encbench eval: closing: %v\n", err)
	}
}

// setup is what the flags came to.
func (e *evalRun) setup() eval.Setup {
	s := eval.Setup{
		Inputs: e.inputs, Measures: e.parsed, K: e.k,
		Encoder: e.encoder, Tokenizer: e.model.tok, Query: e.query, Document: e.document,
		MaxTokens: e.tokens, QueryTokens: e.queryTokens, Chunk: e.chunk > 0, Overlap: e.overlap, Pool: eval.Pool(e.pool),
		Dim: e.dim, Similarity: eval.Similarity(e.similarity), Normalized: e.model.normalize,
		Searcher: e.searcher, Rescore: e.rescore, DropSelf: e.dropSelf,
		BM25:  func(in eval.Input) bool { return e.bm25 || strings.HasPrefix(in.Name, embeddedCollection) },
		Batch: e.batch, Workers: e.threads, Seed: e.seed,
		OpenRun: e.openRun, Progress: e.show, Base: e.base,
	}
	if e.vectorsOut != "" {
		s.OpenVectors = e.openVectors
	}
	for _, store := range e.stores {
		s.Stores = append(s.Stores, eval.Store(store))
	}
	m := e.model
	s.Base.Model = m.facts
	s.Base.Protocol.Pooling, s.Base.Protocol.DType = m.pooling, m.facts.Computed
	return s
}

// protocol is that of the record.
func (e *evalRun) protocol() eval.Protocol {
	s := e.setup()
	return s.Protocol()
}

// evaluate runs the setup, writes record and runs, and prints the report.
func (e *evalRun) evaluate(ctx context.Context) error {
	setup := e.setup()
	if err := setup.Validate(); err != nil {
		return &usageError{err}
	}
	r, err := eval.Run(ctx, setup)
	e.bar.clear()
	settled := errors.Join(e.settleRuns(r), e.settleVectors(r))
	if r == nil {
		return errors.Join(err, settled)
	}
	done := 0
	for _, c := range r.Collections {
		if c.Error == "" {
			done++
		}
	}
	switch {
	case done == 0 && r.Status == bench.StatusInterrupted:
		return errors.New("interrupted before a collection was done; nothing was written")
	case done == 0:
		return errors.Join(err, settled)
	}
	if looked := e.countLooks(ctx, r); looked != nil {
		return errors.Join(looked, settled)
	}
	if e.failures != "" && r.Status != bench.StatusInterrupted {
		settled = errors.Join(settled, e.archive(ctx, r))
	}
	r.Memory.PeakRSS, r.Memory.GoHeap = env.PeakRSS(), goHeap()
	if e.model.dir != nil {
		r.Memory.Weights = e.model.dir.Weights.Size
	}
	return e.present(r, errors.Join(err, settled))
}

// present prints the report and leaves the record in its place: under its name when
// all is done, or something is and nothing was there before; else beside it.
func (e *evalRun) present(r *eval.Record, failure error) error {
	name := e.out.path
	whole := r.Status == bench.StatusComplete
	kept := e.out.save(func(w io.Writer) error { return report.WriteEval(w, "json", r) })
	if kept == nil && (whole || !e.out.exist) {
		kept = e.out.commit()
	} else {
		name = e.out.partial()
	}
	if err := report.WriteEval(e.app.stdout, e.format, r); err != nil {
		return errors.Join(err, kept)
	}
	if e.out.path != "" && kept == nil {
		fmt.Fprintf(e.app.stderr, "record written to %s\n", name)
	}
	switch {
	case kept != nil:
		return kept
	case r.Status == bench.StatusInterrupted:
		return errors.New("interrupted; the report holds the collections that were done")
	}
	return failure
}

// show draws the progress line.
func (e *evalRun) show(s eval.Step) {
	share := 0.0
	if s.Total > 0 {
		share = float64(s.Done) / float64(s.Total)
	}
	e.bar.show(share, func() string {
		text := fmt.Sprintf("%s: %s", s.Name, s.Phase)
		if s.Total > 0 {
			text += fmt.Sprintf(", %s of %s", bench.Thousands(s.Done), bench.Thousands(s.Total))
		}
		if s.Collections > 1 {
			text = fmt.Sprintf("collection %d of %d, %s", s.Collection+1, s.Collections, text)
		}
		return text
	})
}

// splitColumns gives the columns of the first line.
func splitColumns(head []byte) []string {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	return strings.Fields(string(line))
}
