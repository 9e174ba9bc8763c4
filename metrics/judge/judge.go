package judge

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"encbench/metrics"
	"encbench/metrics/ranking"
)

// Judge scores a run against judgements, block by block. Memory grows with the
// number of queries, not with the length of the run.
type Judge struct {
	qrels     *Qrels
	measures  []metrics.Measure
	opt       Options
	cuts      []int // distinct cut-offs of the measures, ascending
	values    [][]float64
	low, high [][]float64 // nil without Options.Range
	// By measure: the arrangement of ties with its lowest and highest value, and, where
	// ties are averaged, how.
	lowest, highest []int
	averaging       []averaging
	seen            []atomic.Bool // by query of the judgements

	mu     sync.Mutex
	idle   []*worker
	extra  map[string]struct{} // queries of the run without judgements
	counts Counts
}

// New prepares judging by qrels, which must not change any more. It is an error
// when there is nothing to judge by, when a measure is not defined under the
// options, and when the convention needs whole grades and a grade is not.
func New(qrels *Qrels, measures []metrics.Measure, opt Options) (*Judge, error) {
	if qrels.Len() == 0 {
		return nil, fmt.Errorf("judge a run: there are no judgements")
	}
	if opt.Convention == TrecEval {
		if err := wholeGrades(qrels); err != nil {
			return nil, err
		}
	}
	if err := checkGrades(qrels, measures); err != nil {
		return nil, err
	}
	j := &Judge{qrels: qrels, measures: measures, opt: opt, cuts: cutoffs(measures)}
	if opt.Ties == ranking.Average {
		for _, m := range measures {
			a, err := newAveraging(m)
			if err != nil {
				return nil, err
			}
			j.averaging = append(j.averaging, a)
		}
		if opt.Depth > 0 {
			return nil, fmt.Errorf("average over tie orders: rankings cut after %d documents have no expected value here; use cut-offs of the measures", opt.Depth)
		}
	}
	if opt.Range {
		if err := checkRange(measures); err != nil {
			return nil, err
		}
		if opt.Depth > 0 && opt.JudgedOnly {
			return nil, fmt.Errorf("range over tie orders: which judged documents stand within a depth of %d depends on the order; leave out the depth or the removal of unjudged documents", opt.Depth)
		}
		for _, m := range measures {
			low, high := extremes(m)
			j.lowest, j.highest = append(j.lowest, low), append(j.highest, high)
		}
	}
	j.seen = make([]atomic.Bool, qrels.Len())
	j.extra = make(map[string]struct{})
	j.values = columns(len(measures), qrels.Len())
	if opt.Range {
		j.low, j.high = columns(len(measures), qrels.Len()), columns(len(measures), qrels.Len())
	}
	return j, nil
}

func columns(n, length int) [][]float64 {
	c := make([][]float64, n)
	for i := range c {
		c[i] = make([]float64, length)
	}
	return c
}

func wholeGrades(qrels *Qrels) error {
	for q := range qrels.queries {
		docs, grades := qrels.Judged(q)
		for d, g := range grades {
			if g != math.Trunc(g) {
				return fmt.Errorf("query %q, document %q: grade %v is not a whole number, which the trec_eval convention needs; judge by another convention", qrels.queries[q], docs[d], g)
			}
		}
	}
	return nil
}

// checkGrades asks every measure whether it is defined for the highest grade.
func checkGrades(qrels *Qrels, measures []metrics.Measure) error {
	highest, query, doc := math.Inf(-1), 0, 0
	for q := range qrels.judged {
		for d, g := range qrels.judged[q].grades {
			if g > highest {
				highest, query, doc = g, q, d
			}
		}
	}
	for _, m := range measures {
		if err := m.Check(highest); err != nil {
			return fmt.Errorf("query %q, document %q: %w", qrels.queries[query], qrels.judged[query].docs[doc], err)
		}
	}
	return nil
}

// Add judges a block. It may be called from several goroutines at once; nothing of
// the block is kept. It is an error when a query was added before, when a document
// stands in a ranking twice, and when a score is not a number; the message names
// the query, the document and the places.
func (j *Judge) Add(b *ranking.Block) error {
	w := j.worker()
	err := w.add(b)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.idle = append(j.idle, w)
	j.counts.add(&w.counts)
	w.counts.reset()
	return err
}

func (j *Judge) worker() *worker {
	j.mu.Lock()
	defer j.mu.Unlock()
	if n := len(j.idle); n > 0 {
		w := j.idle[n-1]
		j.idle = j.idle[:n-1]
		return w
	}
	w := &worker{
		j:      j,
		sorter: ranking.Sorter{Order: ranking.Order{Ties: j.opt.Ties, Float32: j.opt.Float32}},
		scorer: metrics.NewScorer(j.measures),
		value:  make([][]float64, len(j.measures)),
	}
	w.judged.NegativeUnjudged = j.opt.Convention == TrecEval
	if j.opt.Range {
		w.arranged = make([]metrics.Judged, arrangements)
		for i := range w.arranged {
			w.arranged[i].NegativeUnjudged = w.judged.NegativeUnjudged
		}
	}
	if j.averaging != nil {
		w.expected = make([][]float64, len(j.measures))
	}
	w.counts.TiesAtCut = make([]TiesAt, len(j.cuts))
	for i, k := range j.cuts {
		w.counts.TiesAtCut[i].K = k
	}
	return w
}

// unjudged notes a query that has no judgements.
func (j *Judge) unjudged(query []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, ok := j.extra[string(query)]; ok {
		return repeated(query)
	}
	j.extra[string(query)] = struct{}{}
	return nil
}

func repeated(query []byte) error {
	return fmt.Errorf("query %q: its ranking was added before; the rows of a query have to stand together", query)
}
