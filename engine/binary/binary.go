package binary

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"

	"encbench/engine"
)

// Options says how bits are searched.
type Options struct {
	Dim     int // values a vector
	Rescore int // candidates of the first step for every hit; 0 = first step only
	Threads int // goroutines of a search; 0 = GOMAXPROCS
}

// Searcher is an engine.Searcher over the signs of rows. It copies what it needs
// from the rows it is given. Searches may run at the same time as each other.
type Searcher struct {
	opt   Options
	words int      // of a row
	bits  []uint64 // rows × words
	owner []int32  // of each row; nil while every row is its own document
	rows  int
	docs  int // highest owner + 1
}

// New makes an empty searcher.
func New(opt Options) (*Searcher, error) {
	switch {
	case opt.Dim < 1 || opt.Dim > math.MaxUint16:
		return nil, fmt.Errorf("binary search: vectors of %d values, expected 1 to %d", opt.Dim, math.MaxUint16)
	case opt.Rescore < 0:
		return nil, fmt.Errorf("binary search: %d candidates for every hit, expected 0 or more", opt.Rescore)
	case opt.Threads < 0:
		return nil, fmt.Errorf("binary search: %d threads, expected 0 or more", opt.Threads)
	}
	return &Searcher{opt: opt, words: (opt.Dim + 63) / 64}, nil
}

// RowBytes is the memory that one row takes, owner aside.
func (s *Searcher) RowBytes() int { return 8 * s.words }

// Rows is the number of rows so far.
func (s *Searcher) Rows() int { return s.rows }

// Append keeps the signs of float32 rows on the host. See engine.Searcher.
func (s *Searcher) Append(ctx context.Context, base int64, owner []int32, r engine.Rows) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case base != int64(s.rows):
		return fmt.Errorf("binary search: rows from %d on, %d is due", base, s.rows)
	case r.N == 0:
		return nil
	case owner != nil && len(owner) != r.N:
		return fmt.Errorf("binary search: %d owners for %d rows", len(owner), r.N)
	case s.rows > 0 && (owner == nil) != (s.owner == nil):
		return errors.New("binary search: rows with and without owners")
	case int64(s.rows)+int64(r.N) > math.MaxInt32:
		return fmt.Errorf("binary search: more than %d rows", math.MaxInt32)
	}
	if err := s.check(r, base); err != nil {
		return err
	}
	for i, o := range owner {
		if o < 0 {
			return fmt.Errorf("binary search: row %d has owner %d, expected 0 or more", base+int64(i), o)
		}
	}
	for i := range r.N {
		s.bits = signs(s.bits, r.Float32(i))
	}
	s.owner = append(s.owner, owner...)
	for _, o := range owner {
		s.docs = max(s.docs, int(o)+1)
	}
	s.rows += r.N
	return nil
}

// check refuses rows of another shape, and values that have no sign.
func (s *Searcher) check(r engine.Rows, base int64) error {
	if r.Type != engine.F32 || r.Host == nil && r.N > 0 {
		return errors.New("binary search: rows that are not float32 on the host")
	}
	if r.Dim != s.opt.Dim {
		return fmt.Errorf("binary search: rows of %d values, expected %d", r.Dim, s.opt.Dim)
	}
	for i := range r.N {
		for k, v := range r.Float32(i) {
			if x := float64(v); math.IsNaN(x) || math.IsInf(x, 0) {
				return fmt.Errorf("binary search: row %d, value %d is %v, expected a finite number", base+int64(i), k, v)
			}
		}
	}
	return nil
}

// signs appends the bits of v to dst, the last word filled up with zeros.
func signs(dst []uint64, v []float32) []uint64 {
	for len(v) > 0 {
		part := v[:min(64, len(v))]
		var w uint64
		for i, x := range part {
			if x > 0 {
				w |= 1 << i
			}
		}
		dst, v = append(dst, w), v[len(part):]
	}
	return dst
}

// together is how many queries share one pass over the rows, and tile how many
// rows are compared with all of them while they lie in the cache.
const (
	together = 4
	tile     = 2048
)

// Search fills dst with the k best documents of each query. See engine.Searcher
// and the package's definition of the score.
func (s *Searcher) Search(ctx context.Context, q engine.Rows, k int, dst *engine.Hits) error {
	if k < 1 {
		return fmt.Errorf("binary search: the best %d rows, expected 1 or more", k)
	}
	if err := s.check(q, 0); err != nil {
		return fmt.Errorf("queries: %w", err)
	}
	dst.Reset(q.N, k)
	threads := s.opt.Threads
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	groups := (q.N + together - 1) / together
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(threads, groups) {
		wg.Go(func() {
			w := worker{Searcher: s}
			for ctx.Err() == nil {
				g := int(next.Add(1)) - 1
				if g >= groups {
					return
				}
				w.group(q, g*together, min((g+1)*together, q.N), k, dst)
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}

// Close frees the bits.
func (s *Searcher) Close() error {
	s.bits, s.owner, s.rows, s.docs = nil, nil, 0, 0
	return nil
}

// worker is the memory of one goroutine of a search.
type worker struct {
	*Searcher
	query  [together][]uint64
	dist   [together][]uint16 // by row, or by owner
	best   [together][]int32  // row of an owner's distance, -1 = none
	found  []candidate
	values []uint64
}

type candidate struct {
	row   int32
	dist  uint16
	score float32
}

// group searches queries [from, to).
func (w *worker) group(q engine.Rows, from, to, k int, dst *engine.Hits) {
	for i := from; i < to; i++ {
		j := i - from
		w.query[j] = signs(w.query[j][:0], q.Float32(i))
		w.reset(j)
	}
	for start := 0; start < w.rows; start += tile {
		end := min(start+tile, w.rows)
		for j := range to - from {
			w.compare(j, start, end)
		}
	}
	for i := from; i < to; i++ {
		w.choose(i-from, w.candidates(k))
		w.score(q.Float32(i))
		rank(w.found)
		row, score := dst.Row[i*k:(i+1)*k], dst.Score[i*k:(i+1)*k]
		for n := range min(k, len(w.found)) {
			row[n], score[n] = int64(w.found[n].row), w.found[n].score
		}
	}
}

// candidates is how many documents the first step keeps for k hits.
func (w *worker) candidates(k int) int {
	factor := max(1, w.opt.Rescore)
	if k > (w.rows-1)/factor { // k · factor may overflow
		return w.rows
	}
	return k * factor
}

// reset makes room for the distances of a query.
func (w *worker) reset(j int) {
	n := w.rows
	if w.owner != nil {
		n = w.docs
		if cap(w.best[j]) < n {
			w.best[j] = make([]int32, n)
		}
		w.best[j] = w.best[j][:n]
		for i := range w.best[j] {
			w.best[j][i] = -1
		}
	}
	if cap(w.dist[j]) < n {
		w.dist[j] = make([]uint16, n)
	}
	w.dist[j] = w.dist[j][:n]
}

// compare computes the distances of query j to rows [start, end).
func (w *worker) compare(j, start, end int) {
	query := w.query[j]
	if w.owner == nil {
		distances(w.dist[j][start:end], w.bits[start*w.words:end*w.words], query)
		return
	}
	var d [tile]uint16
	distances(d[:end-start], w.bits[start*w.words:end*w.words], query)
	dist, best := w.dist[j], w.best[j]
	for i, o := range w.owner[start:end] {
		if best[o] < 0 || d[i] < dist[o] {
			dist[o], best[o] = d[i], int32(start+i)
		}
	}
}

// distances counts the bits in which each row differs from query.
func distances(dst []uint16, rows, query []uint64) {
	switch len(query) {
	case 6: // 384 values, of the small encoders
		a, b, c, d, e, f := query[0], query[1], query[2], query[3], query[4], query[5]
		for i := range dst {
			r := rows[6*i : 6*i+6 : 6*i+6]
			dst[i] = uint16(bits.OnesCount64(r[0]^a) + bits.OnesCount64(r[1]^b) + bits.OnesCount64(r[2]^c) +
				bits.OnesCount64(r[3]^d) + bits.OnesCount64(r[4]^e) + bits.OnesCount64(r[5]^f))
		}
	default:
		n := len(query)
		for i := range dst {
			var sum int
			for k, x := range rows[i*n : (i+1)*n] {
				sum += bits.OnesCount64(x ^ query[k])
			}
			dst[i] = uint16(sum)
		}
	}
}
