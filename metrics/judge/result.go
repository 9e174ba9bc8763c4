package judge

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"encbench/metrics"
)

// Counts is the account of what was judged and what did not fit.
type Counts struct {
	Judged          int // queries of the judgements
	Missing         int // of these, not in the run
	Averaged        int // queries that the means are over
	WithoutRelevant int // judged queries without a document of relevant grade
	Extra           int // queries of the run without judgements, ignored
	Rows            int64
	JudgedRows      int64 // rows of judged queries whose document is judged
	SelfHits        int   // documents dropped because they have the query's id
	Duplicates      int   // rows dropped because their document came before
	// RankContradictions counts the judged queries whose rank column disagrees with
	// the order.
	RankContradictions int
	Repeated           int // judgements given again with the same grade
	// TiesAtCut counts, for each cut-off of the measures, the judged queries where
	// equal scores stand on both sides of it.
	TiesAtCut []TiesAt
}

// TiesAt is the number of queries with a tie across the cut-off K.
type TiesAt struct{ K, Queries int }

// add adds what a worker counted.
func (c *Counts) add(w *Counts) {
	c.Extra += w.Extra
	c.Rows += w.Rows
	c.JudgedRows += w.JudgedRows
	c.SelfHits += w.SelfHits
	c.Duplicates += w.Duplicates
	c.RankContradictions += w.RankContradictions
	if c.TiesAtCut == nil {
		c.TiesAtCut = make([]TiesAt, len(w.TiesAtCut))
	}
	for i, t := range w.TiesAtCut {
		c.TiesAtCut[i].K = t.K
		c.TiesAtCut[i].Queries += t.Queries
	}
}

// reset sets everything to zero but the cut-offs.
func (c *Counts) reset() {
	ties := c.TiesAtCut
	for i := range ties {
		ties[i].Queries = 0
	}
	*c = Counts{TiesAtCut: ties}
}

// Result is a judged run. Its slices are the caller's.
type Result struct {
	Options  Options
	Measures []metrics.Measure
	Queries  []string    // that the means are over, in byte order
	Values   [][]float64 // by measure and query
	Mean     []float64   // by measure: its Aggregate, a sum for counts
	// Low and High are the least and greatest value over every order of equal
	// scores, and their means; nil unless asked for.
	Low, High         [][]float64
	LowMean, HighMean []float64
	Missing           []string // judged queries that the run misses, in byte order
	Extra             []string // queries of the run without judgements, in byte order
	Counts            Counts
}

// examples is how many identifiers a message shows of each side.
const examples = 3

// Result gives the values of everything added. It is an error when the run has no
// query that is judged, and when no query is left to average. Nothing may be added
// afterwards.
func (j *Judge) Result() (*Result, error) {
	r := &Result{Options: j.opt, Measures: j.measures, Counts: j.counts}
	r.Counts.Judged, r.Counts.Repeated = j.qrels.Len(), j.qrels.Repeated
	for id := range j.extra {
		r.Extra = append(r.Extra, id)
	}
	slices.Sort(r.Extra)
	order := make([]int, j.qrels.Len())
	for q := range order {
		order[q] = q
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(j.qrels.queries[a], j.qrels.queries[b]) })
	var averaged, missing []int
	for _, q := range order {
		seen := j.seen[q].Load()
		if !seen {
			missing = append(missing, q)
			r.Missing = append(r.Missing, j.qrels.queries[q])
		}
		relevant := slices.ContainsFunc(j.qrels.judged[q].grades, func(g float64) bool { return g >= j.opt.level() })
		if !relevant {
			r.Counts.WithoutRelevant++
		}
		if (seen || j.opt.complete()) && (relevant || !j.opt.ExcludeWithoutRelevant) {
			averaged = append(averaged, q)
			r.Queries = append(r.Queries, j.qrels.queries[q])
		}
	}
	r.Counts.Missing, r.Counts.Averaged = len(missing), len(averaged)
	switch {
	case len(missing) == len(order) && len(r.Extra) == 0:
		return nil, fmt.Errorf("judge a run: it has no queries")
	case len(missing) == len(order):
		return nil, fmt.Errorf("judge a run: none of its queries is judged: the run has %s, the judgements have %s; compare the two id columns",
			some(r.Extra), some(r.Missing))
	case len(averaged) == 0:
		return nil, fmt.Errorf("judge a run: no query is left to average: none of the %d in both run and judgements has a relevant document", len(order)-len(missing))
	}
	if j.opt.complete() {
		j.empty(missing)
	}
	gather := func(from [][]float64) (values [][]float64, means []float64) {
		for m, column := range from {
			v := make([]float64, len(averaged))
			for i, q := range averaged {
				v[i] = column[q]
			}
			values = append(values, v)
			means = append(means, j.aggregate(j.measures[m], v))
		}
		return values, means
	}
	r.Values, r.Mean = gather(j.values)
	r.Low, r.LowMean = gather(j.low)
	r.High, r.HighMean = gather(j.high)
	return r, nil
}

// aggregate gives a measure's figure for all queries. trec_eval adds without
// compensation: its fourth decimal shows it where a mean lies half way.
func (j *Judge) aggregate(m metrics.Measure, values []float64) float64 {
	if j.opt.Convention != TrecEval || m.Counts() {
		return m.Aggregate(values)
	}
	var sum float64
	for _, v := range values {
		sum += v
	}
	if sum /= float64(len(values)); m.TrecName() == "gm_map" {
		return math.Exp(sum)
	}
	return sum
}

// empty scores an empty ranking for each of the queries.
func (j *Judge) empty(queries []int) {
	w := j.worker()
	w.reset()
	w.query = append(w.query, queries...)
	w.hits = w.hits[:0]
	for _, q := range queries {
		grades := j.qrels.judged[q].grades
		err := w.append(&w.judged, nil, 0, grades)
		for i := range w.arranged {
			err = errors.Join(err, w.append(&w.arranged[i], nil, 0, grades))
		}
		if err != nil {
			panic("judge: " + err.Error()) // grades were checked when they were added
		}
	}
	w.score()
}

func sortDescending(values []float64) {
	slices.SortFunc(values, func(a, b float64) int { return cmp.Compare(b, a) })
}

// some shows the first identifiers of a list and its length.
func some(ids []string) string {
	var b strings.Builder
	for i, id := range ids[:min(examples, len(ids))] {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", id)
	}
	if len(ids) > examples {
		fmt.Fprintf(&b, ", … (%d)", len(ids))
	}
	return b.String()
}
