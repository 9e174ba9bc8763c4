// Package feed turns documents into packed batches: it reads, tokenizes, cuts
// into windows and packs rows of ids, with special tokens and the document
// prompt in place. Everything in flight is bounded: memory does not grow with
// the corpus, only with its longest document. Rows come out in corpus order
// whatever the number of workers.
package feed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"encbench/corpus"
	"encbench/corpus/chunk"
	"encbench/corpus/tokenize"
	"encbench/engine"
)

// Options says how documents become rows.
type Options struct {
	Tokenizer tokenize.Tokenizer // each worker gets a clone
	Window    chunk.Window       // in content tokens: special tokens and prompt already taken off
	Prompt    []int32            // ids of the document prompt, put before every window
	Batch     int                // rows a batch, at most
	// BatchTokens is how many tokens a batch may hold with its rows padded to the
	// longest; 0 = Batch alone counts. It must hold the longest row of Window.
	BatchTokens int
	Workers     int    // tokenizing goroutines; 0 = 1
	Pieces      bool   // batches carry the text of their rows, for selection
	Trim        []Trim // by document number: the document is one row of part of its ids
	First       bool   // a document is its first window alone: what is longer is cut off
}

// Trim makes a document one row: Skip ids are dropped, N are kept.
type Trim struct{ Skip, N int32 }

// Validate says what is wrong with the options.
func (o Options) Validate() error {
	var errs []error
	if o.Tokenizer == nil {
		errs = append(errs, errors.New("no tokenizer"))
	}
	if err := o.Window.Validate(); err != nil {
		errs = append(errs, err)
	}
	if o.Batch < 1 {
		errs = append(errs, fmt.Errorf("batch of %d rows: must be at least 1", o.Batch))
	}
	if o.BatchTokens < 0 {
		errs = append(errs, fmt.Errorf("batch of %d tokens: must not be negative", o.BatchTokens))
	}
	if o.Workers < 0 {
		errs = append(errs, fmt.Errorf("%d tokenizing workers: must not be negative", o.Workers))
	}
	return errors.Join(errs...)
}

// Batch is an engine batch with where its rows come from.
type Batch struct {
	engine.Batch
	Doc       []int64 // document number of each row
	Pieces    []Piece // with Options.Pieces: where each row's text lies
	DocsDone  int64   // documents whose last row is in this batch
	TextBytes int64   // text bytes of those documents
}

// Piece is the text of a row: tokenizing Text alone and taking N ids after the
// first Skip gives the row's content.
type Piece struct {
	Text    []byte
	Skip, N int32
}

// Stats is what went through a feeder, and where its goroutines spent their time.
type Stats struct {
	Docs, Empty, Rows int64
	Tokens            int64 // content tokens of the documents, before overlap
	Content           int64 // content tokens in rows, overlap counted again
	TextBytes         int64
	Longest           int64 // content tokens of the longest document
	Repaired          int64 // invalid UTF-8 sequences replaced
	Cut               int64 // documents of which Options.First left something out
	Dropped           int64 // content tokens left out
	RowsByBucket      [engine.Buckets]int64

	ReadBusy, ReadWait         time.Duration
	TokenizeBusy, TokenizeWait time.Duration // summed over the workers
	ChunkBusy                  time.Duration // summed over the workers
	PackBusy, PackWait         time.Duration
}

func (s *Stats) add(t *Stats) {
	s.Docs += t.Docs
	s.Empty += t.Empty
	s.Rows += t.Rows
	s.Tokens += t.Tokens
	s.Content += t.Content
	s.TextBytes += t.TextBytes
	s.Longest = max(s.Longest, t.Longest)
	s.Repaired += t.Repaired
	s.Cut += t.Cut
	s.Dropped += t.Dropped
	for i := range s.RowsByBucket {
		s.RowsByBucket[i] += t.RowsByBucket[i]
	}
	s.ReadBusy += t.ReadBusy
	s.ReadWait += t.ReadWait
	s.TokenizeBusy += t.TokenizeBusy
	s.TokenizeWait += t.TokenizeWait
	s.ChunkBusy += t.ChunkBusy
}

// Feeder streams batches. One goroutine reads, Workers goroutines tokenize; both
// end when the corpus does, or at Close. Next, Recycle, Stats and Close belong to
// one goroutine.
type Feeder struct {
	opt            Options
	prefix, suffix []int32
	cancel         context.CancelFunc
	wg             sync.WaitGroup
	free           chan *block // the bound: a block is free, in work or in order
	work, order    chan *block
	readErr        error // valid once order is closed

	cur     *block
	row     int
	base    int64
	batches []*Batch
	stats   Stats
	err     error
}

// How much travels together: enough to make channel traffic free, little enough
// that the workers share a small sample. A block ends with the document that
// reaches either.
const (
	blockBytes = 64 << 10
	blockDocs  = 1024
)

// New starts reading src, which stays the caller's to close after the feeder.
func New(ctx context.Context, src corpus.Scanner, opt Options) (*Feeder, error) {
	if err := opt.Validate(); err != nil {
		return nil, fmt.Errorf("feed: %w", err)
	}
	prefix, suffix, err := single(opt.Tokenizer.Template())
	if err != nil {
		return nil, fmt.Errorf("feed: %w", err)
	}
	prefix = append(prefix, opt.Prompt...)
	if longest := len(prefix) + opt.Window.Size + len(suffix); opt.BatchTokens > 0 && opt.BatchTokens < longest {
		return nil, fmt.Errorf("feed: a batch of %d tokens does not hold a row of %d: %d content tokens, %d special and prompt tokens",
			opt.BatchTokens, longest, opt.Window.Size, longest-opt.Window.Size)
	}
	workers := max(opt.Workers, 1)
	blocks := 2*workers + 2
	ctx, cancel := context.WithCancel(ctx)
	f := &Feeder{
		opt: opt, prefix: prefix, suffix: suffix, cancel: cancel,
		free:  make(chan *block, blocks),
		work:  make(chan *block, blocks),
		order: make(chan *block, blocks),
	}
	for range blocks {
		f.free <- &block{done: make(chan struct{}, 1)}
	}
	f.wg.Add(1 + workers)
	go func() {
		defer f.wg.Done()
		f.readErr = f.read(ctx, src)
		close(f.work)
		close(f.order)
	}()
	for range workers {
		w := &worker{opt: &f.opt, prefix: f.prefix, suffix: f.suffix, tok: opt.Tokenizer.Clone()}
		go func() {
			defer f.wg.Done()
			for {
				mark := time.Now()
				b, ok := <-f.work
				if !ok {
					return
				}
				b.stats.TokenizeWait += time.Since(mark)
				w.run(b)
				b.done <- struct{}{}
			}
		}()
	}
	return f, nil
}

// single splits a template around its one text.
func single(t tokenize.Template) (prefix, suffix []int32, err error) {
	texts := 0
	for _, p := range t.Single {
		if p.Type != 0 {
			return nil, nil, fmt.Errorf("tokenizer gives token type %d to a single text; only 0 is supported", p.Type)
		}
		if p.Text != 0 {
			texts++
		}
	}
	if texts != 1 {
		return nil, nil, fmt.Errorf("tokenizer's template for a single text holds %d texts", texts)
	}
	prefix, suffix = t.Around()
	return prefix, suffix, nil
}

func (f *Feeder) read(ctx context.Context, src corpus.Scanner) error {
	var doc int64
	for more := true; more; {
		mark := time.Now()
		var b *block
		select {
		case b = <-f.free:
		case <-ctx.Done():
			return ctx.Err()
		}
		b.reset(doc)
		now := time.Now()
		b.stats.ReadWait = now.Sub(mark)
		for len(b.text) < blockBytes && len(b.ends) < blockDocs {
			if more = src.Scan(); !more {
				break
			}
			b.text = src.Doc().AppendText(b.text)
			b.ends = append(b.ends, len(b.text))
			doc++
		}
		b.stats.ReadBusy = time.Since(now)
		f.order <- b
		f.work <- b
	}
	if err := src.Err(); err != nil {
		return err
	}
	return ctx.Err()
}

// Next gives the next batch, as many rows as Options allow, the last one perhaps
// fewer, then io.EOF. The batch is the caller's until Recycle. After an error every
// later call gives the same one.
func (f *Feeder) Next(ctx context.Context) (*Batch, error) {
	if f.err != nil {
		return nil, f.err
	}
	mark := time.Now()
	var waited time.Duration
	out := f.batch()
	out.Base = f.base
	limit := Limit{Rows: f.opt.Batch, Tokens: f.opt.BatchTokens}
	longest, full := 0, false
	for !full {
		if f.cur == nil {
			start := time.Now()
			b, err := f.take(ctx)
			waited += time.Since(start)
			if errors.Is(err, io.EOF) && out.Rows() > 0 {
				break
			}
			if err != nil {
				f.Recycle(out)
				f.err = err
				return nil, err
			}
			f.cur, f.row = b, 0
		}
		n := 0
		n, longest = limit.more(f.cur.off[f.row:], out.Rows(), longest)
		f.cur.copyRows(out, f.row, n)
		f.row += n
		full = f.row < f.cur.rows() || out.Rows() == f.opt.Batch
		if f.row == f.cur.rows() {
			f.stats.add(&f.cur.stats)
			if !f.opt.Pieces {
				f.free <- f.cur
			} else {
				// Pieces point into the block's text, so it lives on with the batch
				// and a new one takes its place.
				f.free <- &block{done: make(chan struct{}, 1)}
			}
			f.cur = nil
		}
	}
	f.base += int64(out.Rows())
	f.stats.PackWait += waited
	f.stats.PackBusy += time.Since(mark) - waited
	return out, nil
}

func (f *Feeder) take(ctx context.Context) (*block, error) {
	select {
	case b, ok := <-f.order:
		if !ok {
			if f.readErr != nil {
				return nil, f.readErr
			}
			return nil, io.EOF
		}
		select {
		case <-b.done:
			if b.err != nil {
				return nil, b.err
			}
			return b, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (f *Feeder) batch() *Batch {
	if n := len(f.batches); n > 0 {
		b := f.batches[n-1]
		f.batches = f.batches[:n-1]
		return b
	}
	b := &Batch{}
	b.reset()
	return b
}

func (b *Batch) reset() {
	b.Batch.Reset()
	b.Doc, b.Pieces, b.DocsDone, b.TextBytes = b.Doc[:0], b.Pieces[:0], 0, 0
}

// Recycle gives a batch back for reuse.
func (f *Feeder) Recycle(b *Batch) {
	b.reset()
	f.batches = append(f.batches, b)
}

// Stats gives what the batches so far were made from. It counts a block of
// documents once its last row has been packed.
func (f *Feeder) Stats() Stats { return f.stats }

// Close stops the goroutines and waits for them. A reader that is blocked in its
// source ends only when the source does.
func (f *Feeder) Close() {
	f.cancel()
	f.wg.Wait()
}
