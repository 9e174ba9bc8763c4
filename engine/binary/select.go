package binary

import (
	"cmp"
	"math"
	"slices"

	"encbench/engine"
)

// choose puts the n documents nearest to query j into found, in no order: all
// that are nearer than the last distance that fits, and of those at it the lowest
// rows.
func (w *worker) choose(j, n int) {
	w.found = w.found[:0]
	dist := w.dist[j]
	row := func(i int) int32 {
		if w.owner == nil {
			return int32(i)
		}
		return w.best[j][i]
	}
	count := make([]int, w.opt.Dim+1)
	for i, d := range dist {
		if row(i) >= 0 {
			count[d]++
		}
	}
	last, below := len(count), 0
	for d, c := range count {
		if below+c >= n {
			last = d
			break
		}
		below += c
	}
	for i, d := range dist {
		if r := row(i); r >= 0 && int(d) < last {
			w.found = append(w.found, candidate{row: r, dist: d})
		}
	}
	at := len(w.found)
	for i, d := range dist {
		// Rows ascend by themselves where each is its own document.
		if w.owner == nil && len(w.found) == n {
			break
		}
		if r := row(i); r >= 0 && int(d) == last {
			w.found = append(w.found, candidate{row: r, dist: d})
		}
	}
	if w.owner != nil && len(w.found) > n {
		slices.SortFunc(w.found[at:], func(a, b candidate) int { return cmp.Compare(a.row, b.row) })
		w.found = w.found[:n]
	}
}

// score gives every candidate its score against the query.
func (w *worker) score(query []float32) {
	dim := float64(w.opt.Dim)
	if w.opt.Rescore == 0 {
		for i := range w.found {
			w.found[i].score = float32(1 - 2*float64(w.found[i].dist)/dim)
		}
		return
	}
	w.values = w.values[:0]
	for _, x := range query {
		w.values = append(w.values, math.Float64bits(float64(x)))
	}
	for len(w.values)%8 != 0 {
		w.values = append(w.values, 0)
	}
	for i := range w.found {
		c := &w.found[i]
		row := w.bits[int(c.row)*w.words : int(c.row+1)*w.words]
		c.score = float32(signed(w.values, row) / math.Sqrt(dim))
	}
}

// signed is engine.Dot64 of a query and a row of signs. values holds the bits of
// the query's values as float64, filled up with zeros to whole groups of eight: a
// sign is a flip of the highest bit, and eight lanes are what the rule asks for.
// Writing the signs out as ±1 first took five times as long.
func signed(values, row []uint64) float64 {
	var a, b, c, d, e, f, g, h float64
	for len(values) > 0 {
		unset := ^row[0]
		row = row[1:]
		for range min(8, len(values)/8) {
			v := values[:8:8]
			a += math.Float64frombits(v[0] ^ unset<<63)
			b += math.Float64frombits(v[1] ^ unset>>1<<63)
			c += math.Float64frombits(v[2] ^ unset>>2<<63)
			d += math.Float64frombits(v[3] ^ unset>>3<<63)
			e += math.Float64frombits(v[4] ^ unset>>4<<63)
			f += math.Float64frombits(v[5] ^ unset>>5<<63)
			g += math.Float64frombits(v[6] ^ unset>>6<<63)
			h += math.Float64frombits(v[7] ^ unset>>7<<63)
			unset >>= 8
			values = values[8:]
		}
	}
	return ((a + e) + (c + g)) + ((b + f) + (d + h))
}

// rank puts candidates into the order of hits.
func rank(found []candidate) {
	slices.SortFunc(found, func(a, b candidate) int {
		switch {
		case engine.Before(a.score, int64(a.row), b.score, int64(b.row)):
			return -1
		case engine.Before(b.score, int64(b.row), a.score, int64(a.row)):
			return 1
		}
		return 0
	})
}

var _ engine.Searcher = (*Searcher)(nil)
