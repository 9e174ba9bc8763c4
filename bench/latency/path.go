package latency

import (
	"context"
	"fmt"
	"time"

	"encbench/corpus/tokenize"
	"encbench/engine"
)

// path is what a query goes through. It belongs to one goroutine and allocates nothing
// once it is warm, a search aside.
type path struct {
	tok            tokenize.Tokenizer
	prefix, suffix []int32
	encoder        engine.Encoder
	searcher       engine.Searcher // nil = text to vector
	k              int

	batch engine.Batch
	hits  engine.Hits
}

func newPath(tok tokenize.Tokenizer, enc engine.Encoder, s engine.Searcher, k int) (*path, error) {
	p := &path{tok: tok, encoder: enc, searcher: s, k: k}
	for _, piece := range tok.Template().Single {
		if piece.Type != 0 {
			return nil, fmt.Errorf("the tokenizer gives token type %d to a single text; only 0 is supported", piece.Type)
		}
	}
	p.prefix, p.suffix = tok.Template().Around()
	return p, nil
}

// stages are the times of one query, each from the end of the one before.
type stages struct{ tokenize, encode, search time.Duration }

// vector is the time from text to vector.
func (s stages) vector() time.Duration { return s.tokenize + s.encode }

// total is the time of the whole query.
func (s stages) total() time.Duration { return s.tokenize + s.encode + s.search }

// reads is how often the clock is read in a query: at its start and behind each stage.
func (p *path) reads() int {
	if p.searcher == nil {
		return 3
	}
	return 4
}

// epoch is what the clock is read against: one reading of the monotonic clock, and no
// wall clock with it.
var epoch = time.Now()

func now() time.Duration { return time.Since(epoch) }

// query takes text through all stages.
func (p *path) query(ctx context.Context, text []byte) (s stages, err error) {
	begun := now()
	b := &p.batch
	b.IDs = append(b.IDs[:0], p.prefix...)
	b.IDs = p.tok.AppendIDs(b.IDs, text)
	b.IDs = append(b.IDs, p.suffix...)
	b.Off = append(b.Off[:0], 0, int32(len(b.IDs)))
	tokenized := now()
	if err := p.encoder.Submit(0, b); err != nil {
		return s, fmt.Errorf("encode a query: %w", err)
	}
	rows, _, err := p.encoder.Collect(ctx, 0)
	if err != nil {
		return s, fmt.Errorf("encode a query: %w", err)
	}
	encoded := now()
	s.tokenize, s.encode = tokenized-begun, encoded-tokenized
	if p.searcher == nil {
		return s, nil
	}
	if err := p.searcher.Search(ctx, rows, p.k, &p.hits); err != nil {
		return s, err
	}
	s.search = now() - encoded
	return s, nil
}

// clockReads is how many pairs of readings the clock is timed with.
const clockReads = 10_000

// timeClock gives the median of the time between two readings of the clock that
// follow each other, and the least of them that is not 0.
func timeClock() Clock {
	diffs := make([]float64, clockReads)
	for i := range diffs {
		a := now()
		diffs[i] = (now() - a).Seconds()
	}
	c := Clock{}
	for _, d := range diffs {
		if d > 0 && (c.Least == 0 || d < c.Least) {
			c.Least = d
		}
	}
	c.Read = median(diffs)
	return c
}
