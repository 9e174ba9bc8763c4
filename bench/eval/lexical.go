package eval

import (
	"context"
	"time"

	"encbench/bench/bm25"
	"encbench/metrics/judge"
	"encbench/metrics/ranking"
)

// lexical puts BM25 beside the model: the same documents, queries, depth and
// judgement.
func (e *evaluation) lexical(ctx context.Context, model *judge.Result) error {
	e.step("BM25", 0, 0)
	start := time.Now()
	c := e.in.Collection
	src, err := c.Open()
	if err != nil {
		return err
	}
	defer src.Close()
	index, err := bm25.Build(src, bm25.Options{})
	if err != nil {
		return err
	}
	j, err := judge.New(c.Qrels, e.Measures, e.judgement())
	if err != nil {
		return err
	}
	queries := make([]string, len(c.Queries))
	for i := range queries {
		queries[i] = c.Queries[i].Text
	}
	var b ranking.Block
	err = index.SearchAll(ctx, queries, e.K, func(q int, hits []bm25.Hit) error {
		b.Reset()
		b.Queries.Append([]byte(c.Queries[q].ID))
		for _, h := range hits {
			b.Docs.Append(index.ID(h.Doc))
			b.Score = append(b.Score, h.Score)
		}
		b.Off = append(b.Off, 0, int32(len(hits)))
		return j.Add(&b)
	})
	if err != nil {
		return err
	}
	res, err := j.Result()
	if err != nil {
		return err
	}
	e.out.BM25 = &Baseline{
		System: index.Name(), Values: e.values(res), Differences: e.differences(res, model),
		Seconds: time.Since(start).Seconds(),
	}
	var tests []*Difference
	for m := range e.out.BM25.Differences {
		tests = append(tests, &e.out.BM25.Differences[m])
	}
	correct(tests)
	return nil
}
