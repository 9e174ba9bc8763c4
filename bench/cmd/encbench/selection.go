package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"encbench/bench"
	"encbench/corpus"
	"encbench/corpus/chunk"
	"encbench/engine/feed"
)

// selection is what one window size makes of the corpus: its ledgers, and the
// rows that are timed.
type selection struct {
	*bench.Selected
	sha256   string // of the corpus
	trims    []feed.Trim
	file     *os.File // the rows' texts as JSON lines, for the end-to-end region
	scan     time.Duration
	seed     uint64
	skipped  corpus.Skipped
	warnings []bench.Warning
}

// selection scans the corpus, untimed, and selects the rows to time; each window
// size is scanned once.
func (s *speedRun) selection(ctx context.Context, c config, w chunk.Window) (*selection, error) {
	key := [2]int{c.chunk, c.overlap}
	if sel := s.selections[key]; sel != nil {
		return sel, nil
	}
	sel := &selection{seed: s.seed}
	s.selections[key] = sel
	if s.input.once != nil {
		// A stream is timed as it comes: its ledgers follow at its end.
		sel.Selected = &bench.Selected{All: true}
		return sel, nil
	}
	mark := time.Now()
	src, err := s.input.open()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	hashed := corpus.NewHashing(src)
	f, err := feed.New(ctx, hashed, feed.Options{
		Tokenizer: s.model.tok, Window: w, Prompt: s.model.promptIDs, Batch: 1024, Workers: c.threads, Pieces: true,
	})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	overhead := s.model.tok.Template().Overhead() + len(s.model.promptIDs)
	keep := s.sampleN
	if keep == 0 {
		keep = warmRows
	}
	sel.Selected, err = bench.Select(ctx, f, s.model.tok, overhead, keep, s.seed, func(st feed.Stats) {
		s.bar.show(0, func() string {
			return fmt.Sprintf("scanning the corpus: %d documents, %d chunks, %.0f MB", st.Docs, st.Rows, float64(st.TextBytes)/1e6)
		})
	})
	s.bar.clear()
	if err != nil {
		return nil, fmt.Errorf("scan corpus %s: %w", s.input.name, err)
	}
	sel.sha256 = hashed.Manifest().SHA256
	sel.skipped = src.Skipped()
	sel.noteSkipped(s.app)
	if sel.Stats.Docs == 0 {
		return nil, fmt.Errorf("corpus %s has no documents%s", s.input.name, leftOut(sel.skipped))
	}
	sel.All = sel.All || s.sampleN == 0
	sel.scan = time.Since(mark)
	return sel, sel.write()
}

// warmRows is enough for the warm-up of a stream to see every length bucket.
const warmRows = 64

// noteSkipped reports what the reader left out.
func (sel *selection) noteSkipped(a *app) {
	k := sel.skipped
	for _, e := range k.First {
		fmt.Fprintf(a.stderr, "skipped %v\n", &e)
	}
	if more := k.Broken - int64(len(k.First)); more > 0 {
		fmt.Fprintf(a.stderr, "skipped %d more broken lines\n", more)
	}
	if k.Binary > 0 {
		sel.warnings = append(sel.warnings, bench.Warning{Code: "binary-files", Text: fmt.Sprintf("%d files of the corpus are not text and were skipped", k.Binary)})
	}
}

// leftOut says what a corpus without documents did hold.
func leftOut(k corpus.Skipped) string {
	if n := k.Broken + k.Binary + k.Links; n > 0 {
		return fmt.Sprintf(": all of its %d lines or files were left out (%d broken, %d binary, %d links that lead nowhere)", n, k.Broken, k.Binary, k.Links)
	}
	return ""
}

// write puts the texts of the selected rows into a file that the end-to-end
// region reads as it would read a corpus.
func (sel *selection) write() error {
	f, err := os.CreateTemp("", "encbench-sample-*.jsonl")
	if err != nil {
		return fmt.Errorf("write the sample's texts: %w", err)
	}
	// The file has no name from here on, so that nothing is left of it whatever
	// happens; a pass opens it through its descriptor.
	sel.file = f
	err = os.Remove(f.Name())
	enc := json.NewEncoder(f)
	enc.SetEscapeHTML(false)
	for _, r := range sel.Rows {
		sel.trims = append(sel.trims, r.Trim)
		err = errors.Join(err, enc.Encode(struct {
			ID   string `json:"_id"`
			Text string `json:"text"`
		}{fmt.Sprint(r.Number), string(r.Text)}))
	}
	if err != nil {
		return fmt.Errorf("write the sample's texts to %s: %w", f.Name(), err)
	}
	return nil
}

func (sel *selection) scanFile() (corpus.Scanner, error) {
	return corpus.OpenCorpus(reopen(sel.file), corpus.Options{Format: "jsonl", Strict: true})
}

// reopen is a path that opens a file anew, from its beginning, although it has no
// name any more.
func reopen(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

// close frees the texts' file.
func (sel *selection) close() {
	if sel.file != nil {
		sel.file.Close()
	}
}

// describe fills the record's corpus, its ledgers and the projection.
func (sel *selection) describe(r *bench.Record, in *input) {
	r.Corpus = bench.Corpus{Name: in.name, Rule: in.rule, SHA256: sel.sha256, Repeats: in.repetition}
	if r.Corpus.Rule == "" {
		r.Corpus.Rule = in.opt.Format
	}
	if in.once != nil {
		r.Corpus.Selection.Kind = bench.SelectionAll
		return
	}
	bench.CorpusLedgers(r, sel.Stats)
	r.Truncation.BadLines = sel.skipped.Broken
	sl := &r.Corpus.Selection
	sl.Seed = sel.seed
	if sel.All {
		sl.Kind, sl.Chunks, sl.Rows = bench.SelectionAll, sel.Stats.Rows, sl.Corpus
		sl.Tokens = r.Overlap.Tokens + sel.Stats.Tokens + r.Overlap.Special + r.Overlap.Prompt
		sl.SHA256 = sel.SHA256
		return
	}
	sl.Kind, sl.Chunks, sl.SHA256 = bench.SelectionStratified, int64(len(sel.Rows)), bench.InputHash(sel.Rows)
	sl.Rows, sl.Tokens = bench.CountRows(sel.Rows)
	r.Projection = &bench.Projection{FromDocs: sel.Docs, Documents: sel.Stats.Docs, Formula: bench.ProjectionFormula}
}
