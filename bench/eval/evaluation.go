package eval

import (
	"context"
	"errors"
	"fmt"
	"time"

	"encbench/corpus"
	"encbench/engine"
	"encbench/metrics"
	"encbench/metrics/judge"
	"encbench/metrics/ranking"
	"encbench/metrics/stat"
)

// evaluation is one collection on its way.
type evaluation struct {
	*Setup
	in     Input
	number int
	out    *Collection

	arms []*arm        // float32 first
	ids  ranking.IDs   // of the documents, by number
	docs []int32       // document of each vector; nil where they are the same
	q    []float32     // queries' vectors, dim values each
	hits engine.Hits   // of one block of queries
	list ranking.Block // the same, by identifier
	to   VectorWriter  // nil where vectors are not kept

	sorter     ranking.Sorter
	start, end []uint32 // scratch of order
	score      []float64
}

// arm is a store with its judge.
type arm struct {
	store    Store
	bytes    int
	searcher engine.Searcher
	judge    *judge.Judge
	prepareS float64
	searchS  float64
}

// judgedAt10 is scored beside the measures that were asked for, for the account of
// unjudged documents.
const judgedAt10 = "Judged@10"

// run fills the outcome.
func (e *evaluation) run(ctx context.Context) (err error) {
	e.describe()
	if err := e.open(); err != nil {
		return err
	}
	defer func() {
		for _, a := range e.arms {
			err = errors.Join(err, a.searcher.Close())
		}
	}()
	if e.OpenVectors != nil {
		if e.to, err = e.OpenVectors(e.number, e.out); err != nil {
			return err
		}
		defer func() {
			if closing := e.to.Close(); err == nil && closing != nil {
				err = fmt.Errorf("write the vectors: %w", closing)
			}
		}()
	}
	if err := e.documents(ctx); err != nil {
		return fmt.Errorf("encode documents: %w", err)
	}
	if err := e.queries(ctx); err != nil {
		return fmt.Errorf("encode queries: %w", err)
	}
	if err := e.search(ctx); err != nil {
		return err
	}
	var first *judge.Result
	for i, a := range e.arms {
		res, err := a.judge.Result()
		if err != nil {
			return err
		}
		if i == 0 {
			first = res
			e.judged(res)
		}
		if len(e.arms) > 1 {
			e.out.Stores = append(e.out.Stores, e.stored(a, first, res))
		}
	}
	var tests []*Difference
	for i := range e.out.Stores {
		for m := range e.out.Stores[i].Differences {
			tests = append(tests, &e.out.Stores[i].Differences[m])
		}
	}
	correct(tests)
	if e.BM25 != nil && e.BM25(e.in) {
		if err := e.lexical(ctx, first); err != nil {
			return fmt.Errorf("BM25: %w", err)
		}
	}
	return nil
}

// step reports progress.
func (e *evaluation) step(phase string, done, total int64) {
	if e.Progress != nil {
		e.Progress(Step{Collection: e.number, Collections: len(e.Inputs), Name: e.in.Name, Phase: phase, Done: done, Total: total})
	}
}

// describe takes over what the collection says of itself.
func (e *evaluation) describe() {
	c, out, in := e.in.Collection, e.out, e.in.Collection.Integrity
	out.Name, out.Layout, out.SHA256, out.Split = c.Name, c.Layout, c.SHA256, c.Split
	out.Documents, out.OfDocuments = c.Documents, in.Documents
	out.OfQueries = in.Queries - in.QueriesUnjudged
	if out.Part, out.SplitDigest = e.in.Part, e.in.Digest; out.Part != "" {
		out.OfQueries = len(c.Queries) // a part is whole
	}
	out.Notes = c.Notes
	out.Integrity = Integrity{
		WithoutRelevant: in.QueriesWithoutRelevant, Unjudged: in.QueriesUnjudged, WithoutText: in.JudgedWithoutText,
		AbsentDocuments: in.JudgmentsAbsent, Repeated: in.JudgmentsRepeated, RepeatedTexts: in.TextsRepeated,
		EmptyDocuments: in.DocumentsEmpty, EmptyRelevant: in.JudgedEmpty,
	}
}

// open makes a searcher and a judge for every store.
func (e *evaluation) open() error {
	measures := e.measures()
	for _, store := range append([]Store{StoreFloat32}, e.Stores...) {
		j, err := judge.New(e.in.Collection.Qrels, measures, e.judgement())
		if err != nil {
			return err
		}
		s, bytes, err := e.Searcher(e.dim(), store)
		if err != nil {
			return fmt.Errorf("store %s: %w", store, err)
		}
		e.arms = append(e.arms, &arm{store: store, bytes: bytes, searcher: s, judge: j})
	}
	return nil
}

// measures are those asked for, and the share of judged documents behind them
// where it is not among them.
func (e *evaluation) measures() []metrics.Measure {
	out := append([]metrics.Measure{}, e.Measures...)
	for _, m := range out {
		if m.String() == judgedAt10 {
			return out
		}
	}
	m, err := metrics.Parse(judgedAt10)
	if err != nil {
		panic("eval: " + err.Error())
	}
	return append(out, m)
}

// shape gives what the encoder's rows go through.
func (e *evaluation) shape() *shaper {
	return &shaper{
		dim: e.dim(),
		// A cut vector has lost length, so it is always brought to one again.
		normalize: e.Similarity == Cosine && (!e.Normalized || e.dim() < e.Encoder.Dim()),
	}
}

// documents encodes the corpus into the searchers.
func (e *evaluation) documents(ctx context.Context) error {
	src, err := e.in.Collection.Open()
	if err != nil {
		return err
	}
	defer src.Close()
	to := e.shape()
	windows := e.Chunk && e.Pool != PoolFirst
	to.mean, to.owned = windows && e.Pool == PoolMean, windows && e.Pool == PoolMax
	var vectors int64
	names := &listed{Scanner: src}
	to.sink = func(ctx context.Context, base int64, owner []int32, r engine.Rows) error {
		for _, a := range e.arms {
			if err := a.searcher.Append(ctx, base, owner, r); err != nil {
				return fmt.Errorf("store %s: %w", a.store, err)
			}
		}
		if e.to != nil {
			if err := e.to.Documents(r, func(i int) []byte {
				if owner != nil {
					return names.id(int(owner[i]))
				}
				return names.id(int(base) + i)
			}); err != nil {
				return fmt.Errorf("write the vectors: %w", err)
			}
		}
		e.docs = append(e.docs, owner...)
		vectors += int64(r.N)
		return nil
	}
	from, opt := e.cut(names, e.Document, e.MaxTokens)
	if e.Chunk {
		from, opt = names, e.windows()
	}
	start := time.Now()
	did, err := e.encode(ctx, from, opt, to, func(done int64) {
		e.step("encoding documents", done, int64(e.in.Collection.Documents))
	})
	if err != nil {
		return err
	}
	t := &e.out.Times
	t.EncodeS = time.Since(start).Seconds()
	t.DocsPerS, t.TokensPerS = float64(did.Docs)/t.EncodeS, float64(did.work.Real)/t.EncodeS
	e.ids = names.ids
	if n := int64(e.ids.Len()); n != int64(e.in.Collection.Documents) {
		return fmt.Errorf("the collection has %d documents now, %d when it was opened; its files were changed", n, e.in.Collection.Documents)
	}
	x := &e.out.Texts
	x.Rows, x.Vectors, x.Tokens, x.Longest = did.Rows, vectors, did.Tokens, did.Longest
	x.Cut, x.Dropped, x.Empty, x.Repaired, x.Zero = did.Cut, did.Dropped, did.Empty, did.Repaired, to.zero
	x.Encoded, x.Unknown = did.Content, did.unknown
	return nil
}

// queries encodes the queries into memory.
func (e *evaluation) queries(ctx context.Context) error {
	c := e.in.Collection
	to := e.shape()
	e.q = make([]float32, 0, len(c.Queries)*to.dim)
	to.sink = func(_ context.Context, base int64, _ []int32, r engine.Rows) error {
		if e.to != nil {
			if err := e.to.Queries(r, func(i int) []byte { return []byte(c.Queries[int(base)+i].ID) }); err != nil {
				return fmt.Errorf("write the vectors: %w", err)
			}
		}
		for i := range r.N {
			e.q = append(e.q, r.Float32(i)...)
		}
		return nil
	}
	src, opt := e.cut(&texts{n: len(c.Queries), of: func(i int) string { return c.Queries[i].Text }}, e.Query, e.queryTokens())
	start := time.Now()
	did, err := e.encode(ctx, src, opt, to, func(done int64) {
		e.step("encoding queries", done, int64(len(c.Queries)))
	})
	if err != nil {
		return err
	}
	e.out.Times.QueriesS = time.Since(start).Seconds()
	x := &e.out.Texts
	x.QueriesCut, x.QueriesEmpty = did.Cut, did.Empty
	x.Repaired += did.Repaired
	x.Encoded += did.Content
	x.Unknown += did.unknown
	return nil
}

// judged takes the values of the float32 store into the outcome.
func (e *evaluation) judged(res *judge.Result) {
	out := e.out
	out.Queries, out.QueryIDs = len(res.Queries), res.Queries
	out.Integrity.Self = res.Counts.SelfHits
	out.Clusters, out.Groups = clusters(e.in.Collection.Queries, res.Queries)
	for m, measure := range res.Measures {
		if measure.String() == judgedAt10 {
			out.Integrity.JudgedAt10 = res.Mean[m]
		}
	}
	out.Values = e.values(res)
}

// values are the measures that were asked for, with their intervals.
func (e *evaluation) values(res *judge.Result) []Value {
	var out []Value
	opt := e.resampling()
	for m := range e.Measures {
		opt.Binary = e.Measures[m].Binary()
		out = append(out, Value{
			Measure: e.Measures[m].String(), Mean: res.Mean[m], N: len(res.Queries),
			CI: stat.For(res.Values[m], opt), PerQuery: res.Values[m],
		})
	}
	return out
}

// resampling says how intervals and tests are made: queries of one group stay
// together.
func (e *evaluation) resampling() stat.Options {
	return stat.Options{Seed: e.Seed, Groups: e.out.Clusters, Unit: true, Threads: e.Workers}
}

// differences compares two systems judged on the same queries: b − a, a being the
// baseline.
func (e *evaluation) differences(a, b *judge.Result) []Difference {
	var out []Difference
	for m := range e.Measures {
		out = append(out, Difference{Measure: e.Measures[m].String(), Paired: stat.Against(a.Values[m], b.Values[m], e.resampling())})
	}
	return out
}

// correct sets the corrected p-values of the differences of one table.
func correct(table []*Difference) {
	p := make([]float64, len(table))
	for i, d := range table {
		p[i] = d.P
	}
	for i, holm := range stat.Holm(p) {
		table[i].Holm = holm
	}
}

// stored is what a store came to, against float32.
func (e *evaluation) stored(a *arm, exact, res *judge.Result) StoreValue {
	v := StoreValue{Store: a.store, Bytes: a.bytes, PrepareS: a.prepareS, SearchS: a.searchS}
	if res != exact {
		v.Differences = e.differences(exact, res)
	}
	return v
}

var _ corpus.Scanner = (*texts)(nil)
