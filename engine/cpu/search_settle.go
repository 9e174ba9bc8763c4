package cpu

import (
	"context"
	"math"
	"slices"
)

// settle turns what was found into hits. First the rows are scored whose bound
// reaches the likely k-th best score: that of the k-th best bound without the
// typical gap. The k-th best of these scores is a proven threshold. Then the rows
// whose bound reaches it are, mostly none. Where the scan's own, guessed, bound was
// higher than that, rows may be missing: such queries are scanned again from the
// proven one on, first with a safer guess, because a wrong one left poor rows to prove
// with or fewer than k, and in the end without.
func (h *hunt) settle(ctx context.Context, w *worker, all []found, how raising) error {
	for len(all) > 0 {
		n, pairs := 0, 0
		for n < len(all) && (n == 0 || pairs+len(all[n].upper) <= batchPairs) {
			pairs += len(all[n].upper)
			n++
		}
		if err := h.settleBatch(ctx, w, all[:n], how); err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}

func (h *hunt) settleBatch(ctx context.Context, w *worker, all []found, how raising) error {
	var marks []uint32
	if h.s.index.owner != nil {
		marks = w.documents(h.s.rows.documents)
	}
	live := make([]found, 0, len(all))
	for _, f := range all {
		if math.IsInf(float64(f.complete), 1) {
			h.mu.Lock()
			h.overflow = append(h.overflow, f.query)
			h.mu.Unlock()
			continue
		}
		f.from = h.s.kernels.rank(f.upper, f.slot, h.k, h.s.index.owner, marks) - f.gap*(1+gapMargin)
		f.to = float32(math.Inf(1))
		live = append(live, f)
	}
	scored, err := h.score(ctx, w, live)
	if err != nil {
		return err
	}
	var again []found
	sure := live[:0]
	for _, f := range live {
		threshold := float32(math.Inf(-1))
		if kth, ok := h.kth(&f, w); ok {
			threshold = f.limit(kth)
		}
		if how != proven && threshold < f.complete {
			f.bound = threshold
			again = append(again, f)
			continue
		}
		f.from, f.to = min(threshold, f.from), f.from
		sure = append(sure, f)
	}
	more, err := h.score(ctx, w, sure)
	if err != nil {
		return err
	}
	for i := range sure {
		h.fill(&sure[i], w)
	}
	h.mu.Lock()
	h.tally.Rescored += int64(scored + more)
	h.tally.Rescanned += len(again)
	h.mu.Unlock()
	if len(again) == 0 {
		return nil
	}
	return h.rescan(ctx, w, again, how-1)
}

// rescan looks for every row that reaches the queries' bounds, which are proven.
func (h *hunt) rescan(ctx context.Context, w *worker, again []found, how raising) error {
	list := make([]int, len(again))
	for i, f := range again {
		list[i] = f.query
	}
	asked, code := h.ask(list)
	for i, f := range again {
		asked[i].bound = f.bound
	}
	sc, err := h.scan(ctx, w, asked, code, 0, 1, how)
	if err != nil {
		return err
	}
	defer h.s.giveScan(sc)
	for i := range again {
		again[i] = found{}
		h.take(&again[i], asked[i], i, sc)
	}
	return h.settle(ctx, w, again, how)
}

// kth gives the k-th best score so far, and forgets what it shows to be worse; ok is false where there are fewer rows, or
// documents.
func (h *hunt) kth(f *found, w *worker) (score float32, ok bool) {
	if len(f.keys) < h.k {
		return 0, false
	}
	if h.s.rows.owner == nil {
		f.keys = leastKeys(f.keys, h.k)
		return scoreOf(slices.Max(f.keys)), true
	}
	w.keys = append(w.keys[:0], f.keys...)
	least := best(w.keys, h.k, &h.s.rows, w)
	if len(least) < h.k {
		return 0, false
	}
	return scoreOf(least[h.k-1]), true
}

// fill writes the hits of a query whose candidates are scored.
func (h *hunt) fill(f *found, w *worker) {
	x, rows := &h.s.index, &h.s.rows
	keys := f.keys
	if x.next != nil {
		keys = x.expand(w, keys, h.k, rows.owner == nil)
	}
	h.s.fill(h.dst, f.query, best(keys, h.k, rows, w), h.q)
}

// expand adds the rows that are equal to those of the keys. Where each row stands
// for itself it stops when the rest cannot be among the k best.
func (x *index) expand(w *worker, keys []uint64, k int, alone bool) []uint64 {
	if alone && len(keys) > k {
		keys = leastKeys(keys, k)
	}
	w.sortKeys(keys)
	w.keys = w.keys[:0]
	for i, key := range keys {
		if alone && len(w.keys) >= k && key>>32 != keys[i-1]>>32 {
			break
		}
		n := 0
		for row := uint32(key) + 1; row != 0 && (n < k || !alone); row = x.next[row-1] {
			w.keys = append(w.keys, key>>32<<32|uint64(row-1))
			n++
		}
	}
	return w.keys
}

// documents gives one zeroed mark a document for C, which zeroes them after use.
func (w *worker) documents(n uint32) []uint32 {
	if uint32(len(w.zeros)) < n {
		w.zeros = make([]uint32, n)
	}
	return w.zeros
}

// score appends to the keys of each query those of its rows with from ≤ upper < to,
// and gives their number. Rows are taken in blocks, and each for all queries: they
// come from memory once.
func (h *hunt) score(ctx context.Context, w *worker, all []found) (int, error) {
	first, alike, rows := h.s.index.first, h.s.index.next != nil, &h.s.rows
	blocks := rows.n/blockRows + 1
	w.start = resize(w.start, blocks+1)
	clear(w.start)
	total := 0
	for i := range all {
		f := &all[i]
		if f.count = 0; f.from >= f.to {
			continue
		}
		for j, u := range f.upper {
			if u >= f.from && u < f.to {
				w.start[rowOf(first, alike, f.slot[j])/blockRows+1]++
				f.count++
			}
		}
		total += f.count
	}
	if total == 0 {
		return 0, nil
	}
	for b := range blocks {
		w.start[b+1] += w.start[b]
	}
	w.pairs, w.of, w.scores = resize(w.pairs, total), resize(w.of, total), resize(w.scores, total)
	for i := range all {
		f := &all[i]
		if f.count == 0 {
			continue
		}
		for j, u := range f.upper {
			if u >= f.from && u < f.to {
				row := rowOf(first, alike, f.slot[j])
				at := &w.start[row/blockRows]
				w.pairs[*at], w.of[*at] = pair{uint32(f.query), row}, uint32(i)
				*at++
			}
		}
	}
	// start[b] is now the end of block b.
	for from := 0; from < total; {
		end := (int(w.pairs[from].row)/segmentRows + 1) * (segmentRows / blockRows)
		to := total
		if end <= blocks {
			to = int(w.start[end-1])
		}
		h.s.kernels.pairs(w.scores[from:to], w.pairs[from:to], rows, h.q)
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		from = to
	}
	h.keep(w, all, total)
	return total, nil
}

// keep appends the scores of the pairs to their queries' keys. Those of a first
// round lie in scratch.
func (h *hunt) keep(w *worker, all []found, total int) {
	fresh := 0
	for i := range all {
		if all[i].keys == nil {
			fresh += all[i].count
		}
	}
	if fresh == total {
		w.slab = resize(w.slab, total)
		at := 0
		for i := range all {
			f := &all[i]
			f.keys = w.slab[at : at : at+f.count]
			at += f.count
		}
	}
	for i, score := range w.scores {
		f := &all[w.of[i]]
		f.keys = append(f.keys, keyOf(score, w.pairs[i].row))
	}
}

// rowOf is the first row of a slot; where no rows are alike the two are the same.
func rowOf(first []uint32, alike bool, slot uint32) uint32 {
	if alike {
		return first[slot]
	}
	return slot
}

// resize gives n elements, whose values have no meaning.
func resize[T any](v []T, n int) []T {
	if cap(v) < n {
		return make([]T, n, n+n/4)
	}
	return v[:n]
}
