package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"encbench/bench"
	"encbench/bench/peers"
	"encbench/corpus"
	"encbench/engine"
)

// pipelineArms measure encbench against its own parts: what reading and
// tokenizing cost beside encoding, and how fast the pipeline is without a model.
func (r *peersRun) pipelineArms(ctx context.Context) error {
	if name := "pipeline: end-to-end against encode"; r.wanted(name) {
		if err := r.endToEnd(ctx, name); err != nil {
			return err
		}
	}
	if name := "pipeline: null encoder"; r.wanted(name) {
		if err := r.nullEncoder(ctx, name); err != nil {
			return err
		}
	}
	if name := "pipeline: techdocs 100 times over"; r.wanted(name) {
		if err := r.heap(ctx, name); err != nil {
			return err
		}
	}
	if name := "pipeline: tokenizer, caches emptied before every text"; r.wanted(name) {
		return r.coldTokenizer(ctx, name)
	}
	return nil
}

// endToEnd pairs file-to-vectors with ids-to-vectors over the same chunks.
func (r *peersRun) endToEnd(ctx context.Context, name string) error {
	rows := r.in.mixed
	file := filepath.Join(r.in.dir, "pipeline.jsonl")
	opt := r.in.feed(peersBatch, false)
	err := writeLines(file, len(rows), func(i int) any {
		opt.Trim = append(opt.Trim, rows[i].Trim)
		return struct {
			ID   string `json:"_id"`
			Text string `json:"text"`
		}{fmt.Sprint(i), string(rows[i].Text)}
	})
	if err != nil {
		return err
	}
	whole := bench.Documents{Options: opt, Scan: func() (corpus.Scanner, error) {
		return corpus.OpenCorpus(file, corpus.Options{Format: "jsonl", Strict: true})
	}}
	packed := bench.Packed{Batches: bench.Pack(rows, peersBatch)}
	timer := func(src bench.Source) peers.Timer {
		return func() (float64, error) {
			d, _, err := bench.TimePass(ctx, src, r.in.enc, nil)
			return d.Seconds(), err
		}
	}
	a, b, err := peers.Interleave(ctx, r.pairs, timer(whole), timer(packed))
	if err != nil {
		return err
	}
	bar := 0.98
	row := bench.ResultRow{Name: name, Unit: "chunks/s", PeerName: "encode region, ids prepared", Bar: &bar}
	for i := range a {
		row.Ours = append(row.Ours, float64(len(rows))/a[i])
		row.Peer = append(row.Peer, float64(len(rows))/b[i])
	}
	return r.add(row)
}

// nullEncoder times passes over the whole of techdocs, read from disk as JSON
// lines and as compressed JSON lines.
func (r *peersRun) nullEncoder(ctx context.Context, name string) error {
	plain := r.in.corpora[corpus.Techdocs].path
	packed := filepath.Join(r.in.dir, "techdocs.jsonl.zst")
	if err := compress(plain, packed); err != nil {
		return err
	}
	enc := engine.NewNull(r.in.enc.Dim(), 2)
	bar := 20_000.0
	for _, path := range []string{plain, packed} {
		src := bench.Documents{Options: r.in.feed(peersBatch, false), Scan: func() (corpus.Scanner, error) {
			return corpus.OpenCorpus(path, corpus.Options{Format: "jsonl", Strict: true})
		}}
		row := bench.ResultRow{Name: fmt.Sprintf("%s, techdocs as %s", name, kindOf(path)), Unit: "chunks/s", Bar: &bar}
		for i := -1; i < r.pairs; i++ {
			d, chunks, err := bench.TimePass(ctx, src, enc, nil)
			if err != nil {
				return err
			}
			if i >= 0 {
				row.Ours = append(row.Ours, float64(chunks)/d.Seconds())
			}
		}
		if err := r.add(row); err != nil {
			return err
		}
	}
	return nil
}

func kindOf(path string) string {
	if filepath.Ext(path) == ".zst" {
		return "JSONL.zst"
	}
	return "JSONL"
}

func compress(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("compress corpus: %w", err)
	}
	defer in.Close()
	out, err := corpus.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return errors.Join(fmt.Errorf("compress corpus: %w", err), out.Close())
	}
	return out.Close()
}

// coldTokenizer gives the tokenizer's rate with its caches emptied before every
// text, beside the rate with one emptying a pass.
func (r *peersRun) coldTokenizer(ctx context.Context, name string) error {
	for _, c := range []string{corpus.Techdocs, corpus.Gostd} {
		if r.in.corpora[c] == nil {
			continue
		}
		texts, total, err := r.in.corpora.texts(c, tokenizeBytes)
		if err != nil {
			return err
		}
		tok := r.in.model.tok.Clone()
		var ids []int32
		pass := func(each bool) peers.Timer {
			return func() (float64, error) {
				start := time.Now()
				tok.Reset()
				for _, t := range texts {
					if each {
						tok.Reset()
					}
					ids = tok.AppendIDs(ids[:0], t)
				}
				return time.Since(start).Seconds(), nil
			}
		}
		cold, warm, err := peers.Interleave(ctx, r.pairs, pass(true), pass(false))
		if err != nil {
			return err
		}
		row := bench.ResultRow{Name: fmt.Sprintf("%s, %s, one core", name, c), Unit: "MB/s", PeerName: "emptied once a pass"}
		for i := range cold {
			row.Ours = append(row.Ours, float64(total)/1e6/cold[i])
			row.Peer = append(row.Peer, float64(total)/1e6/warm[i])
		}
		if err := r.add(row); err != nil {
			return err
		}
	}
	return nil
}
