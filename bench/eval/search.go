package eval

import (
	"context"
	"fmt"
	"time"

	"encbench/bench/collection"
	"encbench/engine"
	"encbench/metrics/ranking"
)

// searchBlock is how many queries are searched together: enough to share a pass
// over the rows, few enough that their rankings are little memory.
const searchBlock = 256

// builder is a searcher that prepares the rows for its first search.
type builder interface {
	Build(ctx context.Context) error
}

// search finds, judges and writes the rankings, block by block.
func (e *evaluation) search(ctx context.Context) (err error) {
	var to RunWriter
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
	for _, a := range e.arms {
		start := time.Now()
		if b, ok := a.searcher.(builder); ok {
			if err := b.Build(ctx); err != nil {
				return fmt.Errorf("prepare the search, store %s: %w", a.store, err)
			}
		}
		a.prepareS = time.Since(start).Seconds()
	}
	e.out.Times.PrepareS = e.arms[0].prepareS
	queries, dim := e.in.Collection.Queries, e.dim()
	for from := 0; from < len(queries); from += searchBlock {
		block := queries[from:min(from+searchBlock, len(queries))]
		vectors := engine.HostRows(e.q[from*dim:(from+len(block))*dim], dim)
		for i, a := range e.arms {
			start := time.Now()
			// One place more tells whether the cut goes through equal scores.
			if err := a.searcher.Search(ctx, vectors, min(e.K, e.ids.Len())+1, &e.hits); err != nil {
				return fmt.Errorf("search, store %s: %w", a.store, err)
			}
			a.searchS += time.Since(start).Seconds()
			start = time.Now()
			e.fill(block, i == 0)
			if err := a.judge.Add(&e.list); err != nil {
				return fmt.Errorf("judge: %w", err)
			}
			if i == 0 && to != nil {
				if err := to.Write(&e.list); err != nil {
					return fmt.Errorf("write the run: %w", err)
				}
			}
			e.out.Times.JudgeS += time.Since(start).Seconds()
		}
		e.step("searching", int64(from+len(block)), int64(len(queries)))
	}
	e.out.Times.SearchS = e.arms[0].searchS
	return ctx.Err()
}

// fill turns hits into a block of rankings by identifier. Which documents are in was
// decided by the order of selection, where equal scores lie by row; counted adds to
// the account of the ties which that cut through.
func (e *evaluation) fill(queries []collection.Query, counted bool) {
	b := &e.list
	b.Reset()
	b.Off = append(b.Off, 0)
	for q := range queries {
		b.Queries.Append([]byte(queries[q].ID))
		rows, scores := e.hits.Query(q)
		if counted && len(rows) > e.K && scores[e.K] == scores[e.K-1] {
			e.out.Integrity.TiesAtCut++
		}
		for i, row := range rows[:min(e.K, len(rows))] {
			doc := row
			if e.docs != nil {
				doc = int64(e.docs[row])
			}
			b.Docs.Append(e.ids.At(int(doc)))
			b.Score = append(b.Score, float64(scores[i]))
		}
		b.Off = append(b.Off, int32(len(b.Score)))
		e.order(b, q)
	}
}

// order puts the rows of query q into the order in which they are judged: equal
// scores by identifier, descending.
func (e *evaluation) order(b *ranking.Block, q int) {
	rows := e.sorter.Rank(b, q)
	from, _ := b.Rows(q)
	e.start, e.end, e.score = e.start[:0], e.end[:0], e.score[:0]
	for _, r := range rows {
		e.start, e.end, e.score = append(e.start, b.Docs.Start[r]), append(e.end, b.Docs.End[r]), append(e.score, b.Score[r])
	}
	copy(b.Docs.Start[from:], e.start)
	copy(b.Docs.End[from:], e.end)
	copy(b.Score[from:], e.score)
}

// clusters gives the group of each judged query, and how many groups there are;
// nil and 0 where no query has company.
func clusters(queries []collection.Query, judged []string) ([]string, int) {
	group := map[string]string{}
	size := map[string]int{}
	for i := range queries {
		if g := queries[i].Group; g != "" {
			group[queries[i].ID] = g
			size[g]++
		}
	}
	out := make([]string, len(judged))
	of := map[string]bool{}
	alone, shared := 0, false
	for i, id := range judged {
		out[i] = group[id]
		if out[i] == "" {
			alone++
			continue
		}
		of[out[i]] = true
		shared = shared || size[out[i]] > 1
	}
	if !shared {
		return nil, 0
	}
	return out, len(of) + alone
}
