package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"encbench/bench"
	"encbench/bench/peers"
	"encbench/corpus"
	"encbench/corpus/chunk"
	"encbench/engine/feed"
	"encbench/engine/ort"
)

// cases lists what is searched.
func (s *searchRun) cases() []searchCase {
	const gib = 1 << 30
	rows, dim, queries, single := 100_000, 384, 1000, 50
	big, wide, few := 1_000_000, 768, 200
	ks, outer := []int{10, 100, 1000}, []int{100, 1000}
	bigMemory := int64(16 * gib)
	if s.small {
		rows, dim, queries, single = 5_000, 64, 40, 10
		big, wide, few = 10_000, 96, 20
		bigMemory = 0
	}
	made := func(shape peers.Shape, rows, queries, dim int) func(context.Context) ([]float32, []float32, int, error) {
		return func(context.Context) ([]float32, []float32, int, error) {
			r, q, err := peers.Vectors(shape, rows, queries, dim, 4)
			return r, q, dim, err
		}
	}
	name := func(rows, dim int, shape peers.Shape) string {
		return fmt.Sprintf("%s × %d %s", bench.Thousands(int64(rows)), dim, shape)
	}
	const fallback = "queries that took the exact path, "
	cases := []searchCase{
		{
			name: name(rows, dim, peers.Gaussian), ks: ks, one: single, sample: 20, avx2: true, fallback: fallback + "Gaussian",
			bars:    searchBars{best: []float64{2.5, 2.5, 2.5}, avx2: []float64{1.25, 1.25, 1.8}, one: 4},
			vectors: made(peers.Gaussian, rows, queries, dim),
		},
		{
			name: s.miniLMName(), ks: ks[:s.miniLMDepths()], sample: 20, avx2: true, fallback: fallback + "MiniLM",
			bars: searchBars{best: []float64{1, 1, 1}[:s.miniLMDepths()], exact: 0.95}, vectors: s.miniLM,
		},
	}
	for _, shape := range []peers.Shape{peers.Clustered, peers.Duplicated, peers.Sorted} {
		cases = append(cases, searchCase{
			name: name(rows, dim, shape), ks: outer, sample: 20,
			bars: searchBars{best: []float64{1, 1}, exact: 0.95}, vectors: made(shape, rows, queries, dim),
		})
	}
	return append(cases, searchCase{
		name: name(big, wide, peers.Gaussian), ks: ks, sample: 4, memory: bigMemory, fallback: fallback + "Gaussian",
		bars: searchBars{best: []float64{1, 1, 1}, exact: 0.95}, vectors: made(peers.Gaussian, big, few, wide),
	})
}

// The real vectors: chunks of techdocs, every miniLMQuery-th of them a query.
const (
	miniLMRule   = 1 // changes with what is below
	miniLMTokens = 128
	miniLMChunks = 16_384
	miniLMQuery  = 32
)

func (s *searchRun) miniLMChunks() int {
	if s.small {
		return 256
	}
	return miniLMChunks
}

// miniLMDepths is how many of the cut-offs there are rows for.
func (s *searchRun) miniLMDepths() int {
	if s.small {
		return 2
	}
	return 3
}

func (s *searchRun) miniLMName() string {
	n := s.miniLMChunks()
	return fmt.Sprintf("MiniLM vectors, %s chunks of techdocs of up to %d tokens", bench.Thousands(int64(n-n/miniLMQuery)), miniLMTokens)
}

// miniLM gives the pinned model's vectors of chunks spread over techdocs, computed
// once and kept in the cache. One in miniLMQuery is a query and no row.
func (s *searchRun) miniLM(ctx context.Context) (rows, queries []float32, dim int, err error) {
	store, err := s.app.store()
	if err != nil {
		return nil, nil, 0, err
	}
	n := s.miniLMChunks()
	path, err := store.Derived(ctx, fmt.Sprintf("techdocs-minilm-%d-%d-%d.npy", miniLMRule, miniLMTokens, n), func(w io.Writer) error {
		fmt.Fprintf(s.app.stderr, "encoding %d chunks of techdocs (once; cached afterwards)\n", n)
		vectors, dim, err := s.encodeTechdocs(ctx, n)
		if err != nil {
			return err
		}
		return peers.WriteMatrix(w, vectors, dim)
	})
	if err != nil {
		return nil, nil, 0, err
	}
	all, dim, err := peers.ReadMatrix(path)
	if err != nil {
		return nil, nil, 0, fmt.Errorf("vectors of techdocs: %w; delete the file and run again", err)
	}
	for i := range len(all) / dim {
		v := all[i*dim : (i+1)*dim]
		if i%miniLMQuery == miniLMQuery-1 {
			queries = append(queries, v...)
		} else {
			rows = append(rows, v...)
		}
	}
	return rows, queries, dim, nil
}

// encodeTechdocs encodes n chunks: of documents spread evenly over the corpus, in
// its order.
func (s *searchRun) encodeTechdocs(ctx context.Context, n int) (vectors []float32, dim int, err error) {
	p := &peerInputs{dir: s.dir, threads: s.threads}
	if p.model, err = s.app.openModel(ctx, modelOptions{name: defaultModel}); err != nil {
		return nil, 0, err
	}
	defer p.model.close()
	if p.rt, err = s.app.runtime(ctx, s.ortLibrary); err != nil {
		return nil, 0, err
	}
	g, err := p.model.build(false, miniLMTokens)
	if err != nil {
		return nil, 0, err
	}
	if p.enc, err = ort.Open(p.rt, g, ort.Options{Layout: ort.Plan(s.threads, peersBatch, 0)}); err != nil {
		return nil, 0, err
	}
	defer p.enc.Close()
	in, done, err := s.app.openInput(ctx, corpus.Techdocs, corpus.Options{}, true)
	if err != nil {
		return nil, 0, err
	}
	defer done()
	step, err := s.spread(in, n)
	if err != nil {
		return nil, 0, err
	}
	src := bench.Documents{
		Options: feed.Options{
			Tokenizer: p.model.tok, Window: chunk.Window{Size: miniLMTokens - p.overhead()}, Batch: peersBatch, Workers: s.threads,
		},
		Scan: func() (corpus.Scanner, error) {
			all, err := in.open()
			if err != nil {
				return nil, err
			}
			return &everyNth{Source: all, n: step}, nil
		},
	}
	if _, _, err := bench.TimePass(ctx, src, p.enc, &vectors); err != nil {
		return nil, 0, err
	}
	dim = p.enc.Dim()
	if have := len(vectors) / dim; have < n {
		return nil, 0, fmt.Errorf("encode techdocs: %d chunks, %d expected", have, n)
	}
	return vectors[:n*dim], dim, nil
}

// spread gives the step between documents with which n chunks are covered. A chunk
// has less than 600 bytes of text, so there are some more; they are cut off.
func (s *searchRun) spread(in *input, n int) (int, error) {
	src, err := in.open()
	if err != nil {
		return 0, err
	}
	man, err := corpus.Scan(src, in.name, in.rule, nil)
	if err = errors.Join(err, src.Close()); err != nil {
		return 0, err
	}
	return max(1, int(man.TextBytes)/(600*n)), nil
}

// everyNth passes over documents.
type everyNth struct {
	corpus.Source
	n, at int
}

// Scan goes to the next document whose number is a multiple of n.
func (e *everyNth) Scan() bool {
	for e.Source.Scan() {
		e.at++
		if (e.at-1)%e.n == 0 {
			return true
		}
	}
	return false
}
