package judge

import (
	"fmt"
	"math"
	"slices"

	"encbench/metrics"
	"encbench/metrics/ranking"
)

// worker judges one block at a time.
type worker struct {
	j      *Judge
	sorter ranking.Sorter
	judged metrics.Judged
	query  []int // of the judgements, for each query of judged
	counts Counts
	scorer *metrics.Scorer
	value  [][]float64 // by measure and query of judged

	// Of the query in hand. Rows lie in file order until rank gives the order.
	from, to int
	falling  bool     // the scores fall from row to row
	dropped  []bool   // by row − from; empty where none is
	rows     []int32  // best first, where that is not from, from+1, …
	place    []int32  // rank by row − from, −1 where dropped, where rows is not nil
	hits     []uint64 // judged documents: place in the ranking and, in the lower half, judgement
	rank     []int32
	which    []int32

	// What other orders of equal scores need; nil where nobody asks.
	groups   []tieGroup
	kept     []int32
	moved    []uint64
	sorted   []float64
	expected [][]float64 // by measure and query of judged; NaN for a query without ties
	arranged []metrics.Judged

	table []uint64 // documents of the query by hash: upper half of the hash, row − from + 1
	last  []uint32 // by document code: epoch + row of its last occurrence
	epoch uint32   // greater than every value that another block left in last
	next  uint32   // epoch of the next block
}

// add judges every query of the block.
func (w *worker) add(b *ranking.Block) error {
	w.reset()
	coded := b.Doc != nil && b.Sorted
	if coded {
		w.prepare(b)
	}
	for q := range b.Len() {
		id := b.Queries.At(q)
		w.from, w.to = b.Rows(q)
		w.counts.Rows += int64(w.to - w.from)
		number, ok := w.j.qrels.byQuery[string(id)]
		if !ok {
			if err := w.j.unjudged(id); err != nil {
				return err
			}
			w.counts.Extra++
			continue
		}
		if w.j.seen[number].Swap(true) {
			return repeated(id)
		}
		if err := w.one(b, q, &w.j.qrels.judged[number], coded); err != nil {
			return err
		}
		w.query = append(w.query, int(number))
	}
	w.score()
	return nil
}

// reset makes the worker ready for a block.
func (w *worker) reset() {
	w.judged.Reset()
	for i := range w.arranged {
		w.arranged[i].Reset()
	}
	w.query = w.query[:0]
}

// one looks one query's ranking up and appends it to judged.
func (w *worker) one(b *ranking.Block, q int, of *judged, coded bool) error {
	if err := w.checkScores(b, q); err != nil {
		return err
	}
	w.dropped = w.dropped[:0]
	var err error
	if coded {
		err = w.enterCoded(b, q)
	} else {
		err = w.enter(b, q)
	}
	if err != nil {
		return err
	}
	if w.j.opt.dropSelf() {
		if row := w.find(b, b.Queries.At(q), coded); row >= 0 {
			w.drop(row)
			w.counts.SelfHits++
		}
	}
	n := w.order(b, q)
	w.countContradictions(b, n)
	w.lookUp(b, of, coded)
	var places []int32 // of the documents in the order of all rows, nil for all
	if w.j.opt.JudgedOnly {
		places = w.onlyJudged(of.grades)
		n = len(places)
	}
	w.countTies(b, n, places)
	if err := w.append(&w.judged, w.hits, n, of.grades); err != nil {
		return fmt.Errorf("query %q: %w", b.Queries.At(q), err)
	}
	w.counts.JudgedRows += int64(len(w.rank))
	return w.tieOrders(b, n, places, of.grades)
}

// onlyJudged takes documents without a judgement out of the ranking, and the depth
// is counted before. It gives the places of the others in the order of all rows.
func (w *worker) onlyJudged(grades []float64) []int32 {
	w.kept = w.kept[:0]
	hits := w.hits[:0]
	for _, hit := range w.hits {
		place, which := int32(hit>>32), uint32(hit)
		if depth := w.j.opt.Depth; depth > 0 && int(place) >= depth {
			break
		}
		if w.judged.NegativeUnjudged && grades[which] < 0 {
			continue
		}
		hits = append(hits, uint64(len(w.kept))<<32|uint64(which))
		w.kept = append(w.kept, place)
	}
	w.hits = hits
	return w.kept
}

// append adds a ranking of n documents to a block: hits holds the judged ones,
// place and judgement in one number.
func (w *worker) append(to *metrics.Judged, hits []uint64, n int, grades []float64) error {
	if depth := w.j.opt.Depth; depth > 0 {
		n = min(n, depth)
	}
	w.rank, w.which = w.rank[:0], w.which[:0]
	for _, hit := range hits {
		place := int(hit >> 32)
		if place >= n {
			break
		}
		w.rank, w.which = append(w.rank, int32(place)), append(w.which, int32(uint32(hit)))
	}
	return to.AppendSparse(n, w.rank, w.which, grades)
}

// tieOrders does what the options ask about other orders of equal scores.
func (w *worker) tieOrders(b *ranking.Block, n int, places []int32, grades []float64) error {
	average := w.j.averaging != nil
	if !w.j.opt.Range && !average {
		return nil
	}
	tied := w.findGroups(b, n, places)
	if average {
		w.expect(tied, n, grades)
	}
	if !w.j.opt.Range {
		return nil
	}
	for i := range w.arranged {
		w.arrange(i, grades)
		if err := w.append(&w.arranged[i], w.moved, n, grades); err != nil {
			return fmt.Errorf("tied documents arranged: %w", err)
		}
	}
	return nil
}

// expect notes the expected values of a query with ties.
func (w *worker) expect(tied bool, n int, grades []float64) {
	for m := range w.expected {
		v := math.NaN() // as scored
		if a := &w.j.averaging[m]; tied && !a.fixed {
			v = a.value(w, n, grades)
		}
		w.expected[m] = append(w.expected[m], v)
	}
}

// checkScores refuses what has no place in an order.
func (w *worker) checkScores(b *ranking.Block, q int) error {
	limit := math.MaxFloat64
	if w.j.opt.Infinite {
		limit = math.Inf(1)
	}
	scores := b.Score[w.from:w.to]
	if w.falling = w.sorter.Order.Falling(scores); w.falling && len(scores) > 1 && scores[0] <= limit && scores[len(scores)-1] >= -limit {
		return nil // what lies between two numbers is one
	}
	for row := w.from; row < w.to; row++ {
		if s := b.Score[row]; !(s <= limit && s >= -limit) {
			return fmt.Errorf("%squery %q, document %q: score %v: must be a number", placePrefix(b, row), b.Queries.At(q), b.DocAt(row), s)
		}
	}
	if w.j.opt.Ties == ranking.ByRank && w.from < w.to && b.Rank == nil {
		return fmt.Errorf("query %q: ties by rank, but the run has no rank column", b.Queries.At(q))
	}
	return nil
}

// order ranks the rows that were not dropped and gives their number.
func (w *worker) order(b *ranking.Block, q int) int {
	if len(w.dropped) == 0 {
		w.rows = nil
		if !w.falling {
			w.rows = w.sorter.Rank(b, q)
		}
		if w.rows == nil {
			return w.to - w.from
		}
	} else {
		w.rows = w.sorter.Choose(b, q, w.dropped)
	}
	w.place = slices.Grow(w.place[:0], w.to-w.from)[:w.to-w.from]
	for i := range w.place {
		w.place[i] = -1
	}
	for i, row := range w.rows {
		w.place[int(row)-w.from] = int32(i)
	}
	return len(w.rows)
}

// row gives the row at a rank from 0.
func (w *worker) row(rank int) int {
	if w.rows == nil {
		return w.from + rank
	}
	return int(w.rows[rank])
}

// score gives every measure's value for the queries in hand.
func (w *worker) score() {
	w.scoreInto(w.j.values, &w.judged, func(int) bool { return true })
	for m, column := range w.expected {
		for i, v := range column {
			if !math.IsNaN(v) {
				w.j.values[m][w.query[i]] = v
			}
		}
		w.expected[m] = column[:0]
	}
	for i := range w.arranged {
		w.scoreInto(w.j.low, &w.arranged[i], func(m int) bool { return w.j.lowest[m] == i })
		w.scoreInto(w.j.high, &w.arranged[i], func(m int) bool { return w.j.highest[m] == i })
	}
}

// scoreInto scores a block and keeps the values of the measures that are chosen.
func (w *worker) scoreInto(dst [][]float64, judged *metrics.Judged, chosen func(m int) bool) {
	n := judged.Queries()
	for m := range w.value {
		w.value[m] = slices.Grow(w.value[m][:0], n)[:n]
	}
	w.scorer.Score(w.value, judged)
	for m, column := range w.value {
		if chosen(m) {
			for i, q := range w.query {
				dst[m][q] = column[i]
			}
		}
	}
}

// countContradictions counts the query where its rank column disagrees with the
// order. A column of equal numbers claims nothing.
func (w *worker) countContradictions(b *ranking.Block, n int) {
	if b.Rank == nil || n < 2 {
		return
	}
	ascending, equal := true, true
	before := b.Rank[w.row(0)]
	for i := 1; i < n; i++ {
		rank := b.Rank[w.row(i)]
		ascending = ascending && rank > before
		equal = equal && rank == before
		before = rank
	}
	if !ascending && !equal {
		w.counts.RankContradictions++
	}
}
