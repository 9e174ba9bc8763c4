package rerank

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"encbench/corpus/tokenize"
	"encbench/engine"
)

// How much travels together, as in package feed: a block ends with the part that
// reaches either. A document of more pairs than a part may have is several parts and
// is tokenized for each.
const (
	blockBytes = 64 << 10
	blockPairs = 256
	partPairs  = 1024
)

// part is a document with some of its pairs.
type part struct {
	text  int   // of the texts
	pair  int32 // the first one
	pairs int
	whole bool // holds the document's first pair: its account is taken here
}

// rows are pairs as the encoder takes them.
type rows struct {
	engine.Batch
	pair []int32 // of each row
}

func (r *rows) reset() {
	types := r.Types
	r.Batch.Reset()
	r.Types, r.pair = types[:0], r.pair[:0] // Reset drops the types' memory; nil stays nil
}

// block is a run of parts on its way through a tokenizing worker.
type block struct {
	parts []part
	rows  rows
	tally tally
	done  chan struct{}
}

// tally is what workers count, and where they spent their time.
type tally struct {
	documents, documentsCut, documentsEmpty int64
	pairs, pairsCut, pairsEmpty             int64
	queryTokens, documentTokens, dropped    int64 // dropped once for each pair
	specialTokens                           int64
	longest                                 int64 // row
	repaired                                int64

	tokenizing, pairing, waiting time.Duration
}

func (t *tally) add(u *tally) {
	t.documents += u.documents
	t.documentsCut += u.documentsCut
	t.documentsEmpty += u.documentsEmpty
	t.pairs += u.pairs
	t.pairsCut += u.pairsCut
	t.pairsEmpty += u.pairsEmpty
	t.queryTokens += u.queryTokens
	t.documentTokens += u.documentTokens
	t.dropped += u.dropped
	t.specialTokens += u.specialTokens
	t.longest = max(t.longest, u.longest)
	t.repaired += u.repaired
	t.tokenizing += u.tokenizing
	t.pairing += u.pairing
	t.waiting += u.waiting
}

// feeder makes batches of pairs of texts in memory. Its goroutines end at close, or
// when all is packed. What is in flight is bounded.
type feeder struct {
	cut     Cut
	texts   *texts
	cand    *candidates
	queries [][]int32 // ids of each query, cut
	batch   int

	cancel      context.CancelFunc
	wg          sync.WaitGroup
	free        chan *block
	work, order chan *block

	cur   *block
	row   int
	base  int64
	spare []*rows
	tally tally
	pack  time.Duration
}

// newFeeder starts the workers, each with a clone of tok. base is the number of the
// first row.
func newFeeder(ctx context.Context, cut Cut, tok tokenize.Tokenizer, t *texts, c *candidates, queries [][]int32, batch, workers int, base int64) *feeder {
	blocks := 2*workers + 2
	ctx, cancel := context.WithCancel(ctx)
	f := &feeder{
		cut: cut, texts: t, cand: c, queries: queries, batch: batch, cancel: cancel, base: base,
		free: make(chan *block, blocks), work: make(chan *block, blocks), order: make(chan *block, blocks),
	}
	for range blocks {
		f.free <- &block{done: make(chan struct{}, 1)}
	}
	f.wg.Add(1 + workers)
	go func() {
		defer f.wg.Done()
		f.split(ctx)
		close(f.work)
		close(f.order)
	}()
	for range workers {
		w := &worker{feeder: f, tok: tok.Clone()}
		go func() {
			defer f.wg.Done()
			w.run()
		}()
	}
	return f
}

// split hands out the documents in blocks of parts.
func (f *feeder) split(ctx context.Context) {
	var b *block
	bytes, pairs := 0, 0
	send := func() {
		f.order <- b
		f.work <- b
		b = nil
	}
	for i, doc := range f.texts.doc {
		for pair, whole := f.cand.head[doc], true; pair >= 0; whole = false {
			if b == nil {
				select {
				case b = <-f.free:
				case <-ctx.Done():
					return
				}
				b.parts, bytes, pairs = b.parts[:0], 0, 0
			}
			p := part{text: i, pair: pair, whole: whole}
			for ; pair >= 0 && p.pairs < partPairs; pair = f.cand.next[pair] {
				p.pairs++
			}
			b.parts = append(b.parts, p)
			bytes, pairs = bytes+len(f.texts.at(i)), pairs+p.pairs
			if bytes >= blockBytes || pairs >= blockPairs {
				send()
			}
		}
	}
	if b != nil {
		send()
	}
}

// worker tokenizes documents and makes the rows of their pairs.
type worker struct {
	*feeder
	tok      tokenize.Tokenizer
	ids      []int32
	repaired int64
}

func (w *worker) run() {
	for {
		mark := time.Now()
		b, ok := <-w.work
		if !ok {
			return
		}
		b.rows.reset()
		b.tally = tally{waiting: time.Since(mark)}
		for _, p := range b.parts {
			w.pairs(b, p)
		}
		b.done <- struct{}{}
	}
}

// pairs appends the rows of a part.
func (w *worker) pairs(b *block, p part) {
	t, mark := &b.tally, time.Now()
	w.ids = w.tok.AppendIDs(w.ids[:0], w.texts.at(p.text))
	now := time.Now()
	t.tokenizing += now.Sub(mark)
	total := w.tok.Repaired()
	if p.whole {
		t.documents++
		t.repaired += total - w.repaired
		if len(w.ids) == 0 {
			t.documentsEmpty++
		}
	}
	w.repaired = total
	cutOnce := false
	pair := p.pair
	for range p.pairs {
		query := w.queries[w.cand.query[pair]]
		from := len(b.rows.IDs)
		b.rows.IDs, b.rows.Types = w.cut.Append(b.rows.IDs, b.rows.Types, query, w.ids)
		b.rows.Off = append(b.rows.Off, int32(len(b.rows.IDs)))
		b.rows.pair = append(b.rows.pair, pair)
		kept := min(len(w.ids), w.cut.Room(len(query)))
		t.pairs++
		t.queryTokens += int64(len(query))
		t.documentTokens += int64(kept)
		t.specialTokens += int64(len(b.rows.IDs) - from - len(query) - kept)
		t.longest = max(t.longest, int64(len(b.rows.IDs)-from))
		if kept < len(w.ids) {
			t.pairsCut++
			t.dropped += int64(len(w.ids) - kept)
			cutOnce = true
		}
		if len(w.ids) == 0 {
			t.pairsEmpty++
		}
		pair = w.cand.next[pair]
	}
	// A document of several parts may be cut in one and not in another; it counts
	// with the part that counts the document.
	if cutOnce && p.whole {
		t.documentsCut++
	}
	t.pairing += time.Since(now)
}

// take gives the next batch, the last one shorter, then io.EOF. It is the caller's
// until recycle.
func (f *feeder) take(ctx context.Context) (*rows, error) {
	mark, waited := time.Now(), time.Duration(0)
	out := &rows{}
	if n := len(f.spare); n > 0 {
		out, f.spare = f.spare[n-1], f.spare[:n-1]
	}
	out.reset()
	out.Base = f.base
	for out.Rows() < f.batch {
		if f.cur == nil {
			start := time.Now()
			b, err := f.ready(ctx)
			waited += time.Since(start)
			if errors.Is(err, io.EOF) && out.Rows() > 0 {
				break
			}
			if err != nil {
				return nil, err
			}
			f.cur, f.row = b, 0
		}
		n := min(f.batch-out.Rows(), f.cur.rows.Rows()-f.row)
		out.copy(&f.cur.rows, f.row, n)
		if f.row += n; f.row == f.cur.rows.Rows() {
			f.tally.add(&f.cur.tally)
			f.free <- f.cur
			f.cur = nil
		}
	}
	f.base += int64(out.Rows())
	f.pack += time.Since(mark) - waited
	return out, nil
}

func (f *feeder) ready(ctx context.Context) (*block, error) {
	select {
	case b, ok := <-f.order:
		if !ok {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			return nil, io.EOF
		}
		select {
		case <-b.done:
			return b, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// copy appends rows [from, from+n) of src.
func (r *rows) copy(src *rows, from, n int) {
	shift := int32(len(r.IDs)) - src.Off[from]
	lo, hi := src.Off[from], src.Off[from+n]
	r.IDs = append(r.IDs, src.IDs[lo:hi]...)
	if src.Types != nil {
		r.Types = append(r.Types, src.Types[lo:hi]...)
	}
	for _, o := range src.Off[from+1 : from+n+1] {
		r.Off = append(r.Off, o+shift)
	}
	r.pair = append(r.pair, src.pair[from:from+n]...)
}

// recycle gives a batch back for reuse.
func (f *feeder) recycle(r *rows) { f.spare = append(f.spare, r) }

// close stops the goroutines and waits for them.
func (f *feeder) close() {
	f.cancel()
	f.wg.Wait()
}
