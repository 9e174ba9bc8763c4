package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"encbench/bench/collection"
	"encbench/bench/eval"
	"encbench/metrics/ranking"
	"encbench/metrics/run"
	"encbench/metrics/trec"
)

// runFile is a run on its way to a file, which takes its name only once the
// collection is done.
type runFile struct {
	out  *outFile
	file *os.File
	to   interface {
		Write(b *ranking.Block) error
		Close() error
	}
}

// Write adds rankings.
func (f *runFile) Write(b *ranking.Block) error { return f.to.Write(b) }

// Close completes the partial file.
func (f *runFile) Close() error {
	err := errors.Join(f.to.Close(), f.file.Close())
	if err != nil {
		return fmt.Errorf("%s: %w", f.out.partial(), err)
	}
	return nil
}

// discard removes the partial file.
func (f *runFile) discard() { os.Remove(f.out.partial()) }

// isRun says whether a file may be an earlier run: compressed, or lines whose
// second column is Q0.
func isRun(head []byte) bool {
	if run.Sniff(head) {
		return true
	}
	columns := splitColumns(head)
	return len(columns) >= 3 && columns[1] == "Q0"
}

// openRun gives what takes the rankings of a collection: its file, its failures,
// both, or nothing.
func (e *evalRun) openRun(number int, c *eval.Collection) (eval.RunWriter, error) {
	var to eval.RunWriter
	if e.runOut != "" {
		f, err := e.openRunFile(c)
		if err != nil {
			return nil, err
		}
		to = f
	}
	if d := e.datasets[number]; d != nil && d.failures != nil {
		to = collect{d.failures, to}
	}
	return to, nil
}

// checkRunFiles looks at the places of all rankings before the work: each has to be
// writable, another than the rest, and no input. Text has to be able to carry the
// identifiers.
func (e *evalRun) checkRunFiles(ctx context.Context) error {
	if e.runOut == "" {
		return nil
	}
	taken := map[string]string{}
	for _, in := range e.inputs {
		if in.Collection == nil {
			continue
		}
		path := runName(e.runOut, in.Name, len(e.data) > 1)
		if other, ok := taken[path]; ok {
			return usagef("--run-out: the rankings of both %s and %s would go to %s; evaluate them one after the other", other, in.Name, path)
		}
		taken[path] = in.Name
		if err := e.checkRunFile(path); err != nil {
			return err
		}
		if runFormat(path) != "trec" {
			continue
		}
		if err := checkColumns(ctx, in.Collection); err != nil {
			return fmt.Errorf("--run-out %s: %w; name the file .ebrun, which carries any id", path, err)
		}
	}
	return nil
}

// checkColumns reads the identifiers of a collection and reports the first that a
// line of text cannot hold.
func checkColumns(ctx context.Context, c *collection.Collection) (err error) {
	for i := range c.Queries {
		if id := c.Queries[i].ID; !trec.Writable([]byte(id)) {
			return fmt.Errorf("query id %q of %s is empty or holds white space", id, c.Name)
		}
	}
	src, err := c.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	for src.Scan() {
		if id := src.Doc().ID; !trec.Writable(id) {
			return fmt.Errorf("document id %q of %s is empty or holds white space", id, c.Name)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return src.Err()
}

// checkRunFile looks at one place of rankings.
func (e *evalRun) checkRunFile(path string) error {
	out, err := openOutOf("--run-out", path, isRun, e.data...)
	if err != nil {
		return err
	}
	if e.out.path != "" && samePlace(out.path, e.out.path) {
		return usagef("--run-out and --out both name %s; give the record a name of its own", path)
	}
	return nil
}

// samePlace says whether two paths name one file, be it there or not.
func samePlace(a, b string) bool {
	x, errA := filepath.Abs(a)
	y, errB := filepath.Abs(b)
	return errA == nil && errB == nil && x == y
}

// openRunFile opens the file for the rankings of a collection and notes it there.
func (e *evalRun) openRunFile(c *eval.Collection) (eval.RunWriter, error) {
	path := runName(e.runOut, c.Name, len(e.data) > 1)
	out, err := openOutOf("--run-out", path, isRun, e.data...)
	if err != nil {
		return nil, err
	}
	file, err := os.Create(out.partial())
	if err != nil {
		return nil, fmt.Errorf("--run-out: %w", err)
	}
	f := &runFile{out: out, file: file}
	if runFormat(path) == "trec" {
		f.to = trec.NewWriter(file, e.model.label())
	} else {
		p := e.protocol()
		extra, err := json.Marshal(p)
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		f.to, err = run.NewWriter(file, run.Header{
			K: e.k, Tag: e.model.label(), Protocol: p.SHA256(), Model: e.model.label(), ModelSHA256: e.model.facts.SHA256,
			Corpus: c.Name, CorpusSHA256: c.SHA256, Notes: c.Notes, Extra: extra,
		})
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
	}
	e.runs[path] = f
	c.Run = path
	return f, nil
}

// settleRuns gives the runs of collections that are done their names and removes
// the others.
func (e *evalRun) settleRuns(r *eval.Record) error {
	var errs []error
	kept := map[string]bool{}
	if r != nil {
		for _, c := range r.Collections {
			kept[c.Run] = true
		}
	}
	for path, f := range e.runs {
		if !kept[path] {
			f.discard()
			continue
		}
		errs = append(errs, f.out.commit())
	}
	return errors.Join(errs...)
}
