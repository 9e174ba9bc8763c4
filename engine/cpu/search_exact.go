package cpu

import (
	"context"
	"math"
	"sync"
	"sync/atomic"

	"encbench/engine"
)

const (
	// tileQueries and tileRows are the size of an exact tile: 256 rows of 384 float32
	// values fill a third of a megabyte, and each is used for 8 queries.
	tileQueries = 8
	tileRows    = 256
)

// queries are the widened queries of a search.
type queries struct {
	n, dim int
	pad    int // dim rounded up to whole groups of eight
	f32    []float32
	f64    []float64 // n × pad, zeros behind dim
	norm   []float64 // Cosine only
}

func (s *Searcher) newQueries(r engine.Rows) *queries {
	q := &queries{n: r.N, dim: r.Dim, pad: (r.Dim + 7) &^ 7}
	q.f32, q.f64 = make([]float32, r.N*r.Dim), make([]float64, r.N*q.pad)
	if s.opt.Metric == Cosine {
		q.norm = make([]float64, r.N)
	}
	for n := range r.N {
		v := q.row(n)
		copy(v, r.Widen(v, n))
		for j, x := range v {
			q.f64[n*q.pad+j] = float64(x)
		}
		if q.norm != nil {
			q.norm[n] = math.Sqrt(s.kernels.dot64(v, v))
		}
	}
	return q
}

func (q *queries) row(n int) []float32 { return q.f32[n*q.dim : (n+1)*q.dim : (n+1)*q.dim] }

// Append adds rows; see engine.Searcher. The rows are copied.
func (s *Searcher) Append(ctx context.Context, base int64, owner []int32, r engine.Rows) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := checkBlock(s.kernels, s.opt.Dim, base, owner, r); err != nil {
		return err
	}
	return s.rows.add(base, owner, r)
}

// scoreOne is the score of one query and row.
func (s *Searcher) scoreOne(q *queries, n, row int) float32 {
	var score [1]float32
	s.kernels.tile(score[:], &s.rows, row, 1, q, n, 1)
	return score[0]
}

// exact scores every row for the queries that are listed. Jobs are groups of
// queries × ranges of rows; the ranges of a group are merged at its end.
func (s *Searcher) exact(ctx context.Context, q *queries, list []int, k int, dst *engine.Hits) error {
	if len(list) == 0 || s.rows.n == 0 {
		return nil
	}
	groups := (len(list) + tileQueries - 1) / tileQueries
	ranges := 1
	if groups < 2*s.opt.Threads {
		ranges = min(s.opt.Threads, (s.rows.n+tileRows-1)/tileRows)
	}
	found := make([][]*collector, groups*ranges)
	err := s.parallel(ctx, len(found), func(job int, w *worker) error {
		group, part := job/ranges, job%ranges
		these := list[group*tileQueries : min((group+1)*tileQueries, len(list))]
		all := make([]*collector, len(these))
		for i := range all {
			all[i] = newCollector(k, s.rows.n)
		}
		from, to := s.rows.n*part/ranges, s.rows.n*(part+1)/ranges
		scores := make([]float32, tileQueries*tileRows)
		for row := from; row < to; {
			n := min(tileRows, to-row, segmentRows-row%segmentRows)
			for i := 0; i < len(these); {
				run := 1
				for i+run < len(these) && these[i+run] == these[i]+run {
					run++
				}
				s.kernels.tile(scores, &s.rows, row, n, q, these[i], run)
				for j := range run {
					all[i+j].offer(scores[j*n:(j+1)*n], row, &s.rows, w)
				}
				i += run
			}
			if row += n; row/tileRows%16 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
		}
		for _, c := range all {
			c.reduce(&s.rows, w)
		}
		found[job] = all
		return nil
	})
	if err != nil {
		return err
	}
	return s.parallel(ctx, groups, func(group int, w *worker) error {
		for i := range found[group*ranges] {
			var keys []uint64
			for part := range ranges {
				keys = append(keys, found[group*ranges+part][i].keys...)
			}
			n := list[group*tileQueries+i]
			s.fill(dst, n, best(keys, k, &s.rows, w), q)
		}
		return nil
	})
}

// worker is the scratch of one goroutine.
type worker struct {
	marks  marks
	zeros  []uint32 // see documents
	keys   []uint64
	spare  []uint64
	slab   []uint64
	start  []uint32
	pairs  []pair
	of     []uint32
	scores []float32
}

// hire gives scratch that an earlier job left, or new one.
func (s *Searcher) hire() *worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.idle) - 1; n >= 0 {
		w := s.idle[n]
		s.idle = s.idle[:n]
		return w
	}
	return new(worker)
}

// release takes scratch back.
func (s *Searcher) release(w *worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, w)
}

// parallel runs jobs 0 to n−1 on the search's threads and waits for them. No job
// starts after an error or the end of ctx; the first error is given.
func (s *Searcher) parallel(ctx context.Context, n int, job func(i int, w *worker) error) error {
	var next atomic.Int64
	var once sync.Once
	var first error
	run := func() {
		w := s.hire()
		defer s.release(w)
		for {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			err := ctx.Err()
			if err == nil {
				err = job(i, w)
			}
			if err != nil {
				once.Do(func() { first = err })
				next.Store(int64(n))
				return
			}
		}
	}
	var wg sync.WaitGroup
	for range min(s.opt.Threads, n) - 1 {
		wg.Go(run)
	}
	run()
	wg.Wait()
	return first
}
