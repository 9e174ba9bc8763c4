package rerank

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"encbench/bench"
	"encbench/bench/env"
	"encbench/bench/eval"
)

// Run reranks every input in turn. When ctx ends, or a collection fails behind others,
// the record keeps the collections that were done, its status says so, and the error
// is returned with it. A setup that is wrong, an input that does not fit together and
// a first collection that fails give an error and no record.
func Run(ctx context.Context, s Setup) (*Record, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("rerank: %w", err)
	}
	r := s.Base
	r.Schema, r.Kind, r.Status, r.Protocol, r.Collections = SchemaVersion, Kind, bench.StatusComplete, s.Protocol(), []Collection{}
	if r.Started.IsZero() {
		r.Started = time.Now().UTC()
	}
	// What does not fit is found before minutes of work.
	cands := make([]*candidates, len(s.Inputs))
	for i, in := range s.Inputs {
		err := in.Check()
		if err == nil {
			cands[i], err = choose(in.Lists, s.Top)
		}
		if err != nil {
			return nil, fmt.Errorf("collection %s: %w", in.Collection.Name, err)
		}
	}
	for i, in := range s.Inputs {
		var c Collection
		one := reranking{Setup: &s, in: in, number: i, cand: cands[i], out: &c}
		err := one.run(ctx)
		cands[i] = nil
		if ended := ctx.Err(); ended != nil {
			r.Status = bench.StatusInterrupted
			r.Warnings = append(s.Base.Warnings, warnings(&r)...)
			return &r, ended
		}
		if err != nil {
			err = fmt.Errorf("collection %s: %w", in.Collection.Name, err)
			if i == 0 {
				return nil, err
			}
			r.Status = bench.StatusFailed
			r.Warnings = append(s.Base.Warnings, warnings(&r)...)
			return &r, err
		}
		r.Collections = append(r.Collections, c)
	}
	r.Warnings = append(s.Base.Warnings, warnings(&r)...)
	return &r, nil
}

// Check says whether run and collection have queries in common, and the run documents
// for them.
func (in Input) Check() error {
	l := in.Lists
	all, filled := l.Queries()
	switch {
	case all == 0 && l.Unknown == 0:
		return fmt.Errorf("the run %s has no query", in.First.File)
	case all == 0:
		return fmt.Errorf("none of the %d queries of the run %s is one of the %d judged queries of the collection: the run has %s, the collection %s; do they belong together?",
			l.Unknown, in.First.File, len(in.Collection.Queries), quoted(l.UnknownIDs, l.Unknown), quoted(firstQueries(in), len(in.Collection.Queries)))
	case filled == 0:
		return fmt.Errorf("the lists of all queries of the run %s are empty: %w", in.First.File, errNoPairs)
	}
	return nil
}

func firstQueries(in Input) (ids []string) {
	for _, q := range in.Collection.Queries[:min(shown, len(in.Collection.Queries))] {
		ids = append(ids, q.ID)
	}
	return ids
}

// quoted shows the first ids of n.
func quoted(ids []string, n int) string {
	var out []string
	for _, id := range ids {
		out = append(out, fmt.Sprintf("%.60q", id))
	}
	if n > len(ids) {
		out = append(out, "…")
	}
	return strings.Join(out, ", ")
}

// reranking is one collection on its way.
type reranking struct {
	*Setup
	in     Input
	number int
	cand   *candidates
	out    *Collection
}

func (e *reranking) run(ctx context.Context) error {
	begun := time.Now()
	e.describe()
	s := &scoring{Setup: e.Setup, in: e.in, cand: e.cand, step: e.step, limit: textBytes}
	e.queries(s)
	watch := env.StartWatch()
	src, err := e.in.Collection.Open()
	if err != nil {
		return err
	}
	err = s.run(ctx, src)
	if err := errors.Join(err, src.Close()); err != nil {
		return err
	}
	e.out.Times.Machine = watch.Stop()
	e.account(s)
	if s.scored == 0 {
		return fmt.Errorf("none of the %d candidates of the run %s is among the %d documents of the collection: the run has %s; do they belong together?",
			len(e.cand.head), e.in.First.File, e.in.Collection.Documents, quoted(e.out.Ledger.MissingIDs, e.out.Ledger.DocumentsMissing))
	}
	mark := time.Now()
	if err := e.finish(ctx, s); err != nil {
		return err
	}
	e.out.Times.FinishS, e.out.Times.TotalS = time.Since(mark).Seconds(), time.Since(begun).Seconds()
	return nil
}

// step reports progress.
func (e *reranking) step(phase string, done, total int64) {
	if e.Progress != nil {
		e.Progress(eval.Step{Collection: e.number, Collections: len(e.Inputs), Name: e.in.Collection.Name, Phase: phase, Done: done, Total: total})
	}
}

// describe takes over what the collection says of itself.
func (e *reranking) describe() {
	c, out, in := e.in.Collection, e.out, e.in.Collection.Integrity
	out.Name, out.Layout, out.SHA256, out.Split, out.First = c.Name, c.Layout, c.SHA256, c.Split, e.in.First
	out.Documents, out.Queries, out.OfQueries = c.Documents, len(c.Queries), in.Queries-in.QueriesUnjudged
	if out.Part, out.SplitDigest = e.in.Part, e.in.Digest; out.Part != "" {
		out.OfQueries = len(c.Queries) // a part is whole
	}
	out.Notes = c.Notes
}

// queries tokenizes and cuts the queries that have candidates.
func (e *reranking) queries(s *scoring) {
	tok, cut, l := e.Tokenizer.Clone(), e.cut(), &e.out.Ledger
	s.queries = make([][]int32, len(e.in.Collection.Queries))
	for q := range s.queries {
		if e.cand.first[q+1] == e.cand.first[q] {
			continue
		}
		ids := tok.AppendIDs(nil, []byte(e.in.Collection.Queries[q].Text))
		s.queries[q] = cut.Query(ids)
		l.QueriesReranked++
		if n := len(ids) - len(s.queries[q]); n > 0 {
			l.QueriesCut++
			l.QueryDropped += int64(n)
		}
		if len(ids) == 0 {
			l.QueriesEmpty++
		}
	}
	l.Repaired = tok.Repaired()
}

// account takes over what the scoring counted.
func (e *reranking) account(s *scoring) {
	out, t := e.out, &s.tally
	l := &out.Ledger
	l.QueriesShort = e.cand.short
	l.Pairs, l.PairsCut, l.Dropped, l.PairsEmpty = t.pairs, t.pairsCut, t.dropped, t.pairsEmpty
	l.Tokens, l.PaddedTokens = s.work.Real, s.work.Padded
	l.SpecialTokens, l.QueryTokens, l.DocumentTokens, l.Longest = t.specialTokens, t.queryTokens, t.documentTokens, t.longest
	l.Documents, l.DocumentsCut, l.DocumentsEmpty = t.documents, t.documentsCut, t.documentsEmpty
	l.Repaired += t.repaired
	l.DocumentsMissing, l.PairsMissing, l.MissingIDs = e.cand.missing()
	all, _ := e.in.Lists.Queries()
	l.QueriesAbsent = len(e.in.Collection.Queries) - all
	l.QueriesUnknown, l.UnknownIDs, l.SelfHits = e.in.Lists.Unknown, e.in.Lists.UnknownIDs, e.in.Lists.SelfHits

	out.Windows = s.watch.windows
	out.Pairs = rateOf(out.Windows, func(w Window) int64 { return w.Pairs })
	out.Tokens = rateOf(out.Windows, func(w Window) int64 { return w.Tokens })
	if e.Base.Model.StandInTokenizer {
		out.Pairs = Rate{Windows: len(out.Windows)} // of other lengths than the model's own tokenizer makes
	}
	out.Stages = s.stages()
	out.Times.ReadS, out.Times.WarmupS, out.Times.TimedS = s.reading.Seconds(), s.warming.Seconds(), s.watch.total().Seconds
	for _, st := range out.Stages {
		if st.Name == "encode" {
			out.Times.EncodeS = st.BusyS / float64(st.Workers)
		}
	}
}
