package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"encbench/bench"
	"encbench/bench/env"
	"encbench/bench/eval"
	"encbench/bench/inhouse"
	"encbench/bench/report"
	"encbench/bench/rerank"
	"encbench/engine"
)

// rerankRun is one `encbench rerank` on its way from flags to a record.
type rerankRun struct {
	*rerankFlags
	app *app
	bar *progress
	out *outFile

	model    *loadedModel
	tokens   int // of a pair
	encoder  engine.Encoder
	place    place
	inputs   []rerank.Input
	datasets []*dataset // parallel to inputs
	targets  []*rerankTarget
	base     rerank.Record
}

// isRerankRecord says whether a file is a record of rerank.
func isRerankRecord(head []byte) bool {
	return begins(head, member{"schema", nil}, member{"kind", rerank.Kind}, member{"tool", nil})
}

// run reranks and prints the report.
func (f *rerankFlags) run(ctx context.Context, a *app, args []string) error {
	if err := noArguments(args); err != nil {
		return err
	}
	e := &rerankRun{rerankFlags: f, app: a, bar: a.progress()}
	e.base = rerank.Record{Tool: tool(), Command: os.Args, Started: time.Now().UTC(), Env: env.Collect()}
	if err := f.check(env.CPUs(e.base.Env)); err != nil {
		return &usageError{err}
	}
	if len(f.leftOut) > 0 {
		fmt.Fprintf(a.stderr, "left out, as they are no means over queries: %v\n", f.leftOut)
	}
	// A place that cannot be written must show before minutes of work.
	var err error
	if e.out, err = openOut(f.out, isRerankRecord, append(append([]string{f.model}, f.data...), f.runs...)...); err != nil {
		return err
	}
	if f.runOut != "" {
		if _, err := checkTarget("--run-out", f.runOut, append(f.runs, f.data...)...); err != nil {
			return err
		}
	}
	defer e.close()
	if err := e.openModel(ctx); err != nil {
		return err
	}
	if err := e.openInputs(ctx); err != nil {
		return err
	}
	if err := e.checkTargets(); err != nil {
		return err
	}
	if err := e.openEncoder(ctx); err != nil {
		return err
	}
	return e.rerank(ctx)
}

func (e *rerankRun) close() {
	e.bar.clear()
	var errs []error
	if e.encoder != nil {
		errs = append(errs, e.encoder.Close())
	}
	if e.model != nil {
		errs = append(errs, e.model.close())
	}
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintf(e.app.stderr, "encbench rerank: closing: %v\n", err)
	}
}

// setup is what the flags came to.
func (e *rerankRun) setup() rerank.Setup {
	s := rerank.Setup{
		Inputs: e.inputs, Measures: e.parsed, Top: e.top, Encoder: e.encoder, Tokenizer: e.model.tok,
		MaxTokens: e.tokens, QueryTokens: e.queryTokens, Types: e.model.dir.Types(),
		Batch: e.batch, Workers: e.threads, Seed: e.seed, OpenRun: e.openRun, Progress: e.show, Base: e.base,
	}
	s.Base.Protocol.DType, s.Base.Protocol.DropSelf = e.model.facts.Computed, e.dropSelf
	return s
}

// rerank runs the setup, writes record and runs, and prints the report.
func (e *rerankRun) rerank(ctx context.Context) error {
	setup := e.setup()
	if err := setup.Validate(); err != nil {
		return &usageError{err}
	}
	r, err := rerank.Run(ctx, setup)
	e.bar.clear()
	settled := e.settle(r)
	if r == nil {
		return errors.Join(err, settled)
	}
	if len(r.Collections) == 0 {
		return errors.Join(err, settled) // interrupted; nothing was written
	}
	if looked := e.countLooks(ctx, r); looked != nil {
		return errors.Join(looked, settled)
	}
	r.Memory.PeakRSS, r.Memory.GoHeap, r.Memory.Weights = env.PeakRSS(), goHeap(), e.model.dir.Weights.Size
	if r.Status != bench.StatusFailed {
		err = nil // an interruption has words of its own
	}
	return e.present(r, errors.Join(err, settled))
}

// countLooks records that the held-out part is about to be seen. Without that there
// is no figure.
func (e *rerankRun) countLooks(ctx context.Context, r *rerank.Record) error {
	// An interruption that came after the last collection does not uncount.
	ctx = context.WithoutCancel(ctx)
	for i := range r.Collections {
		c, d := &r.Collections[i], e.datasets[i]
		if !d.look || len(c.After) == 0 {
			continue
		}
		var names []string
		for _, m := range e.parsed {
			names = append(names, m.String())
		}
		n, err := d.split.CountLook(ctx, d.path, inhouse.Look{Model: r.Model.Name, Protocol: r.Protocol.SHA256(), Measures: names})
		if err != nil {
			return fmt.Errorf("no figure of %s is shown: %w", c.Name, err)
		}
		c.Looks = &n
		r.Warnings = append(r.Warnings, bench.Warning{Code: "held-out",
			Text: fmt.Sprintf("%s: look %d at the held-out part (%d with the queries of now): each one that a choice follows makes it less held out", c.Name, n.Total, n.Digest)})
	}
	return nil
}

// present prints the report and leaves the record in its place: under its name when
// all is done, or something is and nothing was there before; else beside it.
func (e *rerankRun) present(r *rerank.Record, failure error) error {
	name := e.out.path
	whole := r.Status == bench.StatusComplete
	kept := e.out.save(func(w io.Writer) error { return report.JSON(w, r) })
	if kept == nil && (whole || !e.out.exist) {
		kept = e.out.commit()
	} else {
		name = e.out.partial()
	}
	if err := e.write(r); err != nil {
		return errors.Join(err, kept)
	}
	if e.out.path != "" && kept == nil {
		fmt.Fprintf(e.app.stderr, "record written to %s\n", name)
	}
	switch {
	case kept != nil:
		return errors.Join(kept, failure)
	case r.Status == bench.StatusInterrupted:
		return errors.Join(errors.New("interrupted; the report holds the collections that were done"), failure)
	}
	return failure
}

// write prints the report in the format.
func (e *rerankRun) write(r *rerank.Record) error {
	w := e.app.stdout
	switch e.format {
	case "json":
		return report.JSON(w, r)
	case "jsonl":
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		return enc.Encode(r)
	case "md":
		return rerankSheet(r).markdown(w)
	}
	return rerankSheet(r).text(w)
}

// show draws the progress line.
func (e *rerankRun) show(s eval.Step) {
	share := 0.0
	if s.Total > 0 {
		share = float64(s.Done) / float64(s.Total)
	}
	e.bar.show(share, func() string {
		text := fmt.Sprintf("%s: %s, %s", s.Name, s.Phase, bench.Thousands(s.Done))
		if s.Total > 0 {
			text += " of " + bench.Thousands(s.Total)
		}
		if s.Collections > 1 {
			text = fmt.Sprintf("collection %d of %d, %s", s.Collection+1, s.Collections, text)
		}
		return text
	})
}
