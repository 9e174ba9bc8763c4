package rerank

import (
	"context"
	"fmt"

	"encbench/bench/collection"
	"encbench/bench/eval"
	"encbench/metrics/judge"
	"encbench/metrics/ranking"
	"encbench/metrics/stat"
)

// blockQueries is how many rankings are judged and written at a time.
const blockQueries = 256

// finish puts the lists in their new order, judges both, and writes the new ones. A
// synthetic model's order means nothing: it is neither judged nor written.
func (e *reranking) finish(ctx context.Context, s *scoring) (err error) {
	if e.Base.Model.Synthetic {
		return nil
	}
	known := e.known()
	before, err := judge.New(e.in.Collection.Qrels, e.Measures, judge.Options{})
	if err != nil {
		return err
	}
	after, err := judge.New(e.in.Collection.Qrels, e.Measures, judge.Options{})
	if err != nil {
		return err
	}
	var to eval.RunWriter
	if e.OpenRun != nil {
		if to, err = e.OpenRun(e.number, e.out); err != nil {
			return err
		}
	}
	if to != nil {
		defer func() {
			if closing := to.Close(); err == nil && closing != nil {
				err = fmt.Errorf("write the run: %w", closing)
			}
		}()
	}
	var old, new lists
	for q := range e.in.Collection.Queries {
		if !e.in.Lists.came[q] {
			continue
		}
		e.reorder(q, s.logits, known, &old, &new)
		if new.block.Len() < blockQueries && q < len(e.in.Collection.Queries)-1 {
			continue
		}
		if err := e.flush(ctx, before, after, to, &old, &new); err != nil {
			return err
		}
	}
	if err := e.flush(ctx, before, after, to, &old, &new); err != nil {
		return err
	}
	return e.judged(before, after)
}

// known says of every pair whether it was scored.
func (e *reranking) known() []bool {
	out := make([]bool, e.cand.pairs())
	for d, found := range e.cand.found {
		for p := e.cand.head[d]; p >= 0; p = e.cand.next[p] {
			out[p] = found
		}
	}
	return out
}

// lists is a block of rankings being filled, with scratch.
type lists struct {
	block  ranking.Block
	order  []int
	logits []float32
	rest   []float64
	scores []float64
}

func (l *lists) query(id string) {
	b := &l.block
	if len(b.Off) == 0 {
		b.Off = append(b.Off, 0)
	}
	b.Queries.Append([]byte(id))
	b.Off = append(b.Off, b.Off[len(b.Off)-1])
}

func (l *lists) add(doc []byte, score float64) {
	b := &l.block
	b.Docs.Append(doc)
	b.Score = append(b.Score, score)
	b.Off[len(b.Off)-1]++
}

// reorder appends a query's list to old and, in its new order, to new.
func (e *reranking) reorder(q int, logits []float32, known []bool, old, new *lists) {
	l, id := e.in.Lists, e.in.Collection.Queries[q].ID
	from, n := l.from[q], l.to[q]-l.from[q]
	first, last := e.cand.first[q], e.cand.first[q+1]
	logits, known = logits[first:last], known[first:last]
	new.order = Reorder(new.order, logits, known, n)
	new.logits, new.rest = new.logits[:0], new.rest[:0]
	for _, place := range new.order {
		if place < len(logits) && known[place] {
			new.logits = append(new.logits, logits[place])
		} else {
			new.rest = append(new.rest, l.score[from+place])
		}
	}
	new.scores = Rescore(new.scores, new.logits, new.rest)
	old.query(id)
	new.query(id)
	for i, place := range new.order {
		old.add(l.docs.At(from+i), l.score[from+i])
		new.add(l.docs.At(from+place), new.scores[i])
	}
	if ties(logits, known) > 0 {
		e.out.Ledger.QueriesTied++
	}
}

// flush judges and writes what has been gathered.
func (e *reranking) flush(ctx context.Context, before, after *judge.Judge, to eval.RunWriter, old, new *lists) error {
	if new.block.Len() == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := before.Add(&old.block); err != nil {
		return err
	}
	if err := after.Add(&new.block); err != nil {
		return err
	}
	if to != nil {
		if err := to.Write(&new.block); err != nil {
			return fmt.Errorf("write the run: %w", err)
		}
	}
	old.block.Reset()
	new.block.Reset()
	return nil
}

// judged takes the values of both into the outcome.
func (e *reranking) judged(before, after *judge.Judge) error {
	a, err := before.Result()
	if err != nil {
		return err
	}
	b, err := after.Result()
	if err != nil {
		return err
	}
	out := e.out
	out.QueryIDs = a.Queries
	out.Clusters, out.Groups = clusters(e.in.Collection.Queries, a.Queries)
	opt := stat.Options{Seed: e.Seed, Groups: out.Clusters, Unit: true, Threads: e.Workers}
	var p []float64
	for m, measure := range e.Measures {
		opt := opt
		opt.Binary = measure.Binary()
		value := func(r *judge.Result) eval.Value {
			return eval.Value{Measure: measure.String(), Mean: r.Mean[m], N: len(r.Queries), CI: stat.For(r.Values[m], opt), PerQuery: r.Values[m]}
		}
		out.Before, out.After = append(out.Before, value(a)), append(out.After, value(b))
		opt.Binary = false
		d := eval.Difference{Measure: measure.String(), Paired: stat.Against(a.Values[m], b.Values[m], opt)}
		out.Differences, p = append(out.Differences, d), append(p, d.P)
	}
	for i, holm := range stat.Holm(p) {
		out.Differences[i].Holm = holm
	}
	return nil
}

// clusters gives the group of each judged query, and how many groups there are; none
// where every query is its own.
func clusters(queries []collection.Query, judged []string) ([]string, int) {
	group := map[string]string{}
	size := map[string]int{}
	for i := range queries {
		if g := queries[i].Group; g != "" {
			group[queries[i].ID] = g
			size[g]++
		}
	}
	out, groups, shared := make([]string, len(judged)), 0, false
	seen := map[string]bool{}
	for i, id := range judged {
		g := group[id]
		out[i] = g
		if g == "" || !seen[g] {
			groups++
		}
		seen[g] = true
		shared = shared || size[g] > 1
	}
	if !shared {
		return nil, 0
	}
	return out, groups
}
