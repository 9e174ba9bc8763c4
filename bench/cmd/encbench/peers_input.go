package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"encbench/bench"
	"encbench/bench/peers"
	"encbench/corpus"
	"encbench/corpus/chunk"
	"encbench/engine"
	"encbench/engine/feed"
	"encbench/engine/ort"
)

// peerInputs is what all arms share: the model on our engine, and the rows.
type peerInputs struct {
	dir     string // temporary files
	threads int
	model   *loadedModel
	rt      *ort.Runtime
	enc     *ort.Encoder
	corpora peerCorpora

	full, mixed []bench.Row
	batches     int // of the whole of techdocs
}

const (
	peersChunk   = 512
	peersOverlap = 100
	peersBatch   = 128
)

// peerInputs opens the pinned model and selects chunks of techdocs whose text
// alone tokenizes to their ids, so that programs that take text see the same
// chunks: rows full ones of 512 tokens, and rows stratified by length.
func (a *app) peerInputs(ctx context.Context, f *peersFlags, dir string) (*peerInputs, error) {
	p := &peerInputs{dir: dir, threads: f.threads}
	var err error
	if p.model, err = a.openModel(ctx, modelOptions{name: defaultModel}); err != nil {
		return nil, err
	}
	if err = p.prepare(ctx, a, f); err != nil {
		return nil, errors.Join(err, p.model.close())
	}
	return p, nil
}

// prepare opens the engine and selects the rows.
func (p *peerInputs) prepare(ctx context.Context, a *app, f *peersFlags) (err error) {
	if p.rt, err = a.runtime(ctx, f.ortLibrary); err != nil {
		return err
	}
	if p.corpora, err = a.peerCorpora(ctx); err != nil {
		return err
	}
	src, err := p.corpora[corpus.Techdocs].open()
	if err != nil {
		return err
	}
	defer src.Close()
	fd, err := feed.New(ctx, src, p.feed(1024, true))
	if err != nil {
		return err
	}
	defer fd.Close()
	// Six times as many: chunks that begin or end inside a word are passed over.
	sel, err := bench.Select(ctx, fd, p.model.tok, p.overhead(), 6*f.rows, 1, nil)
	if err != nil {
		return err
	}
	p.batches = int(sel.Stats.Rows+peersBatch-1) / peersBatch
	want := bench.Allocate(sel.Stats.RowsByBucket[:], f.rows)
	for _, r := range sel.Rows {
		if r.Trim.Skip != 0 || len(p.model.tok.AppendIDs(nil, r.Text)) != int(r.Trim.N) || r.Trim.N == 0 {
			continue
		}
		if len(r.IDs) == peersChunk && len(p.full) < f.rows {
			p.full = append(p.full, r)
		}
		if b := engine.Bucket(len(r.IDs)); want[b] > 0 {
			want[b]--
			p.mixed = append(p.mixed, r)
		}
	}
	if len(p.full) < f.rows || len(p.mixed) == 0 {
		return fmt.Errorf("peers: %d full chunks whose text stands alone, %d are needed; use fewer --rows", len(p.full), f.rows)
	}
	layout := ort.Plan(f.threads, peersBatch, 0)
	g, err := p.model.build(false, peersChunk)
	if err != nil {
		return err
	}
	p.enc, err = ort.Open(p.rt, g, ort.Options{Layout: layout})
	return err
}

func (p *peerInputs) close() {
	p.enc.Close()
	p.model.close()
}

func (p *peerInputs) overhead() int { return p.model.tok.Template().Overhead() }

func (p *peerInputs) feed(batch int, pieces bool) feed.Options {
	return feed.Options{
		Tokenizer: p.model.tok, Window: chunk.Window{Size: peersChunk - p.overhead(), Overlap: peersOverlap},
		Batch: batch, Workers: p.threads, Pieces: pieces,
	}
}

// ourSide is our half of an arm.
type ourSide struct {
	file    string // input of the peer
	unit    string
	amount  float64 // of unit × second, in a pass
	how     string  // arrangement, where it is worth a note
	pass    func(context.Context) (float64, error)
	vectors []float32
	idsHash string
}

// side prepares our half of an arm.
func (p *peerInputs) side(ctx context.Context, arm peers.Arm) (*ourSide, error) {
	switch arm.Input {
	case peers.RowsFull:
		return p.encodeSide(ctx, string(arm.Input), p.full, arm.Region)
	case peers.RowsMixed:
		return p.encodeSide(ctx, string(arm.Input), p.mixed, arm.Region)
	case peers.RowsTechdocs:
		return p.corpora.tokenizeSide(p.dir, p.model.tok, corpus.Techdocs, tokenizeBytes)
	case peers.RowsGostd:
		return p.corpora.tokenizeSide(p.dir, p.model.tok, corpus.Gostd, tokenizeBytes)
	}
	return nil, fmt.Errorf("peers: unknown input %q", arm.Input)
}

func (p *peerInputs) encodeSide(ctx context.Context, name string, rows []bench.Row, region string) (*ourSide, error) {
	var src bench.Source = bench.Packed{Batches: bench.Pack(rows, peersBatch)}
	if region == string(bench.RegionTokenizeEncode) {
		opt := p.feed(peersBatch, false)
		for _, r := range rows {
			opt.Trim = append(opt.Trim, r.Trim)
		}
		src = bench.Documents{Options: opt, Scan: func() (corpus.Scanner, error) { return &bench.Texts{Rows: rows}, nil }}
	}
	return encodeSide(ctx, filepath.Join(p.dir, name+".jsonl"), rows, src, p.enc)
}

// encodeSide is the half of an arm that encodes rows, which src gives to enc; the
// peer's input is written to file.
func encodeSide(ctx context.Context, file string, rows []bench.Row, src bench.Source, enc engine.Encoder) (*ourSide, error) {
	s := &ourSide{
		unit: "chunks/s", amount: float64(len(rows)), file: file,
		pass: func(ctx context.Context) (float64, error) {
			d, _, err := bench.TimePass(ctx, src, enc, nil)
			return d.Seconds(), err
		},
	}
	if _, _, err := bench.TimePass(ctx, src, enc, &s.vectors); err != nil {
		return nil, err
	}
	return s, writeLines(s.file, len(rows), func(i int) any {
		return struct {
			Text string  `json:"text"`
			IDs  []int32 `json:"ids"`
		}{string(rows[i].Text), rows[i].IDs}
	})
}

// writeLines writes n JSON lines.
func writeLines(path string, n int, line func(int) any) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write peers' input: %w", err)
	}
	w := bufio.NewWriter(f)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for i := range n {
		err = errors.Join(err, e.Encode(line(i)))
	}
	if err = errors.Join(err, w.Flush(), f.Close()); err != nil {
		return fmt.Errorf("write peers' input %s: %w", path, err)
	}
	return nil
}

// readReference gives the gate's rows from another implementation's files.
func readReference(path string) ([]bench.Reference, error) {
	r, err := peers.ReadReference(path)
	if err != nil {
		return nil, err
	}
	var out []bench.Reference
	for i, ids := range r.IDs {
		out = append(out, bench.Reference{IDs: ids, Vector: r.Vector(i)})
	}
	return out, nil
}
