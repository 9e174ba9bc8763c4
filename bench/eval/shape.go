package eval

import (
	"context"
	"math"

	"encbench/engine"
)

// shaper takes an encoder's rows on their way to the searchers: it cuts vectors to
// their first values, brings them to length one, pools windows, and hands blocks
// on. Rows of one document follow each other.
type shaper struct {
	dim       int
	normalize bool // every row is divided by its length
	mean      bool // one row a document: the mean of its rows
	owned     bool // rows keep their document's number
	sink      func(ctx context.Context, base int64, owner []int32, r engine.Rows) error

	block []float32
	owner []int32
	base  int64
	zero  int64 // rows that are all zeros

	row []float32 // scratch
	sum []float64
	n   int
	doc int64
}

// blockRows is how many rows travel together: enough for a searcher to lay out,
// and little memory.
const blockRows = 1024

// add takes one row of a document.
func (s *shaper) add(ctx context.Context, doc int64, v []float32) error {
	if !s.mean {
		return s.push(ctx, doc, s.cut(v))
	}
	if s.n > 0 && s.doc != doc {
		if err := s.pool(ctx); err != nil {
			return err
		}
	}
	if s.sum == nil {
		s.sum = make([]float64, s.dim)
	}
	s.doc = doc
	s.n++
	for i, x := range s.cut(v) {
		s.sum[i] += float64(x)
	}
	return nil
}

// cut gives the first values of v, of length one where that is asked for. The
// result is valid until the next call.
func (s *shaper) cut(v []float32) []float32 {
	v = v[:s.dim]
	if !s.normalize {
		return v
	}
	var square float64
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	s.row = append(s.row[:0], v...)
	if square == 0 {
		s.zero++
		return s.row
	}
	by := 1 / math.Sqrt(square)
	for i, x := range s.row {
		s.row[i] = float32(float64(x) * by)
	}
	return s.row
}

// pool pushes the mean of the document's rows. The inner product is linear, so its
// score against a query is the mean of the rows' scores; that is also why it is
// not brought to length one again.
func (s *shaper) pool(ctx context.Context) error {
	s.row = s.row[:0]
	for i, x := range s.sum {
		s.row = append(s.row, float32(x/float64(s.n)))
		s.sum[i] = 0
	}
	s.n = 0
	return s.push(ctx, s.doc, s.row)
}

func (s *shaper) push(ctx context.Context, doc int64, v []float32) error {
	s.block = append(s.block, v...)
	if s.owned {
		s.owner = append(s.owner, int32(doc))
	}
	if len(s.block) < blockRows*s.dim {
		return nil
	}
	return s.flush(ctx)
}

// flush hands on what has been gathered.
func (s *shaper) flush(ctx context.Context) error {
	rows := engine.HostRows(s.block, s.dim)
	if rows.N == 0 {
		return nil
	}
	var owner []int32
	if s.owned {
		owner = s.owner
	}
	if err := s.sink(ctx, s.base, owner, rows); err != nil {
		return err
	}
	s.base += int64(rows.N)
	s.block, s.owner = s.block[:0], s.owner[:0]
	return nil
}

// end hands on everything that is left.
func (s *shaper) end(ctx context.Context) error {
	if s.n > 0 {
		if err := s.pool(ctx); err != nil {
			return err
		}
	}
	return s.flush(ctx)
}
