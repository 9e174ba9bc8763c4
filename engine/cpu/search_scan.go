package cpu

import (
	"context"
	"math"
	"sync"

	"encbench/engine"
)

const (
	// groupQueries is how many queries share a pass over the codes: their codes stay
	// in the second cache (200 kB at 384 values).
	groupQueries = 504
	// fewQueries is the number of queries a thread from which the queries are shared
	// out among the threads; fewer share out the rows.
	fewQueries = 16
	// groupCandidates bounds the memory of a group's candidates, 8 bytes each.
	groupCandidates = 1 << 25
	// batchPairs is how many pairs are scored at once.
	batchPairs = 1 << 22
	// blockRows is how many rows are scored for all queries before the next ones: a
	// third of the second cache, at 384 float32 values.
	blockRows = 256
	// scanCycles is about how long C runs between looks at the context.
	scanCycles = 1 << 24
	golden     = 0.6180339887498949
	// gapMargin is what the gap is taken greater by, so that one round of scoring is
	// mostly enough.
	gapMargin = 1.0 / 16
)

// hunt is the search of one width of codes for some queries.
type hunt struct {
	s      *Searcher
	sc     *scanner
	c      *codes
	q      *queries
	k      int
	dst    *engine.Hits
	how    raising // of the first scan
	stride int     // between the panels that follow each other

	mu       sync.Mutex
	tally    Stats
	overflow []int // queries that need the exact path
}

// raising is how a scan raises its bounds, the safer the lower; the values are those
// of search_kernels.h.
type raising int32

const (
	proven   raising = iota // not at all
	soFar                   // to the k-th best row so far
	expected                // to where that is likely to end up
)

// found is what was found for one query.
type found struct {
	asked
	upper    []float32
	slot     []uint32
	complete float32 // every row whose upper bound reaches it is in upper
	keys     []uint64
	count    int     // of the rows that are scored next
	from, to float32 // upper bounds of the rows to score next: from ≤ upper < to
}

// hunt finds the best rows of the listed queries, but for those in overflow.
func (s *Searcher) hunt(ctx context.Context, sc *scanner, q *queries, list []int, k int, dst *engine.Hits) (*hunt, error) {
	h := &hunt{s: s, sc: sc, c: &s.index.codes[sc.bits/16], q: q, k: k, dst: dst, how: expected}
	if s.index.owner != nil {
		h.how = soFar // a document with many rows is met early
	}
	h.stride = coprime(h.c.panels(sc))
	threads := s.opt.Threads
	if len(list) < fewQueries*threads {
		return h, h.wide(ctx, list, threads)
	}
	groups := (len(list) + groupQueries - 1) / groupQueries
	for len(list)/groups > 6 && len(list)/groups*k > groupCandidates/4 {
		groups *= 2
	}
	groups = (groups + threads - 1) / threads * threads
	return h, s.parallel(ctx, groups, func(g int, w *worker) error {
		these := list[len(list)*g/groups : len(list)*(g+1)/groups]
		asked, code := h.ask(these)
		scan, err := h.scan(ctx, w, asked, code, 0, 1, h.how)
		if err != nil {
			return err
		}
		defer s.giveScan(scan)
		all := make([]found, len(these))
		for i := range all {
			h.take(&all[i], asked[i], i, scan)
		}
		return h.settle(ctx, w, all, h.how)
	})
}

// wide gives each thread a share of the rows, then one of the queries.
func (h *hunt) wide(ctx context.Context, list []int, threads int) error {
	asked, code := h.ask(list)
	scans := make([]*scan, threads)
	defer func() {
		for _, s := range scans {
			if s != nil {
				h.s.giveScan(s)
			}
		}
	}()
	err := h.s.parallel(ctx, threads, func(i int, w *worker) (err error) {
		scans[i], err = h.scan(ctx, w, asked, code, i, threads, h.how)
		return err
	})
	if err != nil {
		return err
	}
	all := make([]found, len(list))
	for i := range all {
		h.take(&all[i], asked[i], i, scans...)
	}
	parts := min(threads, len(all))
	return h.s.parallel(ctx, parts, func(i int, w *worker) error {
		return h.settle(ctx, w, all[len(all)*i/parts:len(all)*(i+1)/parts], h.how)
	})
}

// coprime gives a stride near the golden section of n panels that visits them all:
// any part of the walk is spread evenly over the rows, so that what was seen tells
// what is to come however the rows are sorted.
func coprime(n int) int {
	gcd := func(a, b int) int {
		for b != 0 {
			a, b = b, a%b
		}
		return a
	}
	stride := max(1, int(golden*float64(n)))
	for gcd(stride, n) != 1 {
		stride++
	}
	return stride % max(n, 1)
}

// ask encodes the queries of a group.
func (h *hunt) ask(list []int) ([]asked, []byte) {
	dim := h.s.opt.Dim
	width := min(6, len(list))
	if width > 1 {
		width = 6
	}
	code := make([]byte, (len(list)+width-1)/width*width*h.sc.steps(dim)*4)
	all, scratch := make([]asked, len(list)), make([]float64, dim)
	for j, n := range list {
		all[j] = h.s.ask(h.q, n, h.sc, h.c, code, j, width, scratch)
	}
	return all, code
}

// scan runs over share part of parts of the panels.
func (h *hunt) scan(ctx context.Context, w *worker, asked []asked, code []byte, part, parts int, how raising) (*scan, error) {
	x, panels := &h.s.index, h.c.panels(h.sc)
	limit := max(4*h.k+4096, min(h.c.slots/4, groupCandidates/len(asked)))
	sc, err := newScan(h.s.takeScan(), asked, h.k, h.c.slots, limit, how)
	if err != nil {
		return nil, err
	}
	var marks []uint32
	if x.owner != nil {
		marks = w.documents(h.s.rows.documents)
	}
	count := (panels - part + parts - 1) / parts
	sixes := (len(asked) + 5) / 6
	step := max(1, scanCycles/(sixes*h.sc.steps(h.s.opt.Dim)*24))
	at, each := mulMod(part, h.stride, panels), mulMod(parts, h.stride, panels)
	for done := 0; done < count; {
		n := min(step, count-done)
		h.sc.run(sc, h.c, h.s.opt.Dim, at, each, n, code, x.owner, marks)
		if err = ctx.Err(); err == nil {
			err = sc.err()
		}
		if err != nil {
			h.s.giveScan(sc)
			return nil, err
		}
		done += n
		at = (at + mulMod(n, each, panels)) % panels
	}
	return sc, nil
}

func mulMod(a, b, n int) int { return a % n * (b % n) % n }

// takeScan gives an idle scan, nil where there is none.
func (s *Searcher) takeScan() *scan {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.scans) - 1
	if n < 0 {
		return nil
	}
	sc := s.scans[n]
	s.scans = s.scans[:n]
	return sc
}

// giveScan keeps a scan for the next search, whose lists then need no new memory: at
// k 1,000 they are 16 MB a thread, which the kernel would have to clear each time.
func (s *Searcher) giveScan(sc *scan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.scans) < s.opt.Threads {
		s.scans = append(s.scans, sc)
		return
	}
	sc.free()
}

// take collects what the scans found for their query i.
func (h *hunt) take(f *found, a asked, i int, scans ...*scan) {
	f.asked, f.complete = a, float32(math.Inf(-1))
	for n, sc := range scans {
		upper, slot, bound, ok := sc.list(i)
		f.complete = max(f.complete, bound)
		if !ok {
			f.complete = float32(math.Inf(1))
			return
		}
		if n == 0 {
			f.upper, f.slot = upper[:len(upper):len(upper)], slot[:len(slot):len(slot)]
			continue
		}
		f.upper, f.slot = append(f.upper, upper...), append(f.slot, slot...)
	}
}
