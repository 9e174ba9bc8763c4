package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"encbench/bench"
	"encbench/bench/collection"
	"encbench/bench/eval"
	"encbench/bench/inhouse"
	"encbench/corpus"
	"encbench/metrics/ranking"
)

// dataset is a collection of --data with the part of it that is evaluated.
type dataset struct {
	path     string // of the files, beside which the ledger lies
	split    *inhouse.Split
	part     inhouse.Part
	look     bool // its figures show the held-out part, or a mean over it
	failures *inhouse.Failures
}

// Values of --split that are no split of the collection's own.
const splitAll = "all"

// openData opens a collection and takes the part of it that --split names: heldout
// and dev are those of the recorded hash, unless the collection has a dev split of
// its own. Where a held-out part is recorded, everything but heldout and all leaves
// it out, the collection's own splits too.
func (e *evalRun) openData(ctx context.Context, name string) (eval.Input, *dataset, error) {
	opt := collection.Options{Split: e.split, Form: e.form, Variant: e.variant, Documents: e.docs, Queries: e.queries, Seed: e.seed}
	d := &dataset{}
	_, err := os.Stat(inhouse.LedgerPath(name))
	recorded := err == nil
	if recorded {
		d.part = inhouse.Dev
	}
	switch e.split {
	case string(inhouse.HeldOut):
		d.part, opt.Split = inhouse.HeldOut, ""
	case string(inhouse.Dev):
		if recorded {
			opt.Split = ""
		}
	case splitAll:
		d.part, opt.Split, d.look = inhouse.All, "", recorded
	}
	if (d.part != inhouse.All || d.look) && (e.docs > 0 || e.queries > 0) {
		return eval.Input{}, nil, usagef("--docs and --queries: a part of %s is taken whole; leave them out", name)
	}
	if d.part == inhouse.Dev && e.split != string(inhouse.Dev) {
		fmt.Fprintf(e.app.stderr, "%s has a held-out part (%s), which is left out: --split heldout or --split all shows it and counts a look\n", name, inhouse.LedgerPath(name))
	}
	c, err := e.app.openCollection(ctx, name, opt)
	if errors.Is(err, collection.ErrSplit) && e.split == string(inhouse.Dev) && !recorded {
		err = fmt.Errorf("%w; for the dev part of a split by hash, record one: encbench labels split %s --share %g", err, name, inhouse.DefaultPlan.Share)
	}
	if err != nil {
		return eval.Input{}, nil, err
	}
	d.path = c.Path
	in := eval.Input{Name: c.Name, Collection: c}
	if d.part == inhouse.All && !d.look {
		return in, d, nil
	}
	if d.split, err = inhouse.OpenSplit(ctx, d.path, c.Queries, func(field string) ([]string, error) {
		return strataOf(d.path, c, field)
	}); err != nil {
		return in, nil, err
	}
	taken, err := d.split.Take(c, d.part)
	if err != nil {
		return in, nil, fmt.Errorf("split %s: %w", name, err)
	}
	d.look = d.look || d.part == inhouse.HeldOut
	return eval.Input{Name: taken.Name, Collection: taken, Part: string(d.part), Digest: d.split.Digest}, d, nil
}

// strataOf reads the values of a field of a collection's queries.
func strataOf(path string, c *collection.Collection, field string) ([]string, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "queries.jsonl")
	}
	f, err := corpus.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return inhouse.Strata(f, path, c.Queries, field)
}

// countLooks records that the held-out part is about to be seen. Without that there
// is no figure.
func (e *evalRun) countLooks(ctx context.Context, r *eval.Record) error {
	// An interruption that came after the last collection does not uncount.
	ctx = context.WithoutCancel(ctx)
	for i := range r.Collections {
		c, d := &r.Collections[i], e.datasets[i]
		if d == nil || !d.look || c.Error != "" {
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

// failureCut is the depth within which a query has to find a relevant document.
const failureCut = 10

// archive takes the failed queries of the collections that are done into the
// archive of --failures.
func (e *evalRun) archive(ctx context.Context, r *eval.Record) error {
	for i := range r.Collections {
		c, d := &r.Collections[i], e.datasets[i]
		if c.Error != "" || d == nil || d.failures == nil {
			continue
		}
		run, err := inhouse.Record(ctx, e.failures, inhouse.ArchivedRun{Model: r.Model.Name, Protocol: r.Protocol.SHA256()}, d.part, d.failures)
		if err != nil {
			return err
		}
		fmt.Fprintf(e.app.stderr, "%s: %d of %d queries have no relevant document among the first %d (%d new, %d fixed, %d reopened), archived in %s\n",
			c.Name, run.Failed, run.Queries, run.Cut, run.New, run.Fixed, run.Reopened, e.failures)
	}
	return nil
}

// collect gives every ranking to the failures.
type collect struct {
	to *inhouse.Failures
	eval.RunWriter
}

// Write passes the block on and collects its rankings.
func (c collect) Write(b *ranking.Block) error {
	for q := range b.Len() {
		from, to := b.Rows(q)
		docs := make([]string, 0, to-from)
		for row := from; row < to; row++ {
			docs = append(docs, string(b.DocAt(row)))
		}
		if err := c.to.Add(string(b.Queries.At(q)), docs, b.Score[from:to]); err != nil {
			return err
		}
	}
	if c.RunWriter == nil {
		return nil
	}
	return c.RunWriter.Write(b)
}

// Close closes what is behind it.
func (c collect) Close() error {
	if c.RunWriter == nil {
		return nil
	}
	return c.RunWriter.Close()
}

// checkSplit resolves what --split and --failures allow together.
func (f *evalFlags) checkSplit() error {
	if f.failures != "" && (f.split == string(inhouse.HeldOut) || f.split == splitAll) {
		return fmt.Errorf("--failures with --split %s: %w", f.split, inhouse.ErrHeldOut)
	}
	if strings.EqualFold(f.split, "held-out") {
		return fmt.Errorf("--split %s: it is called heldout", f.split)
	}
	return nil
}
