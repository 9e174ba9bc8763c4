package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"encbench/bench"
	"encbench/bench/env"
	"encbench/bench/eval"
	"encbench/bench/peers"
	"encbench/engine/onnx"
	"encbench/engine/ort"
	"encbench/engine/quant"

	"github.com/spf13/pflag"
)

// int8GraphName is where `make peers` puts the graph that others quantised, beside
// the interpreter.
const int8GraphName = "all-minilm-l6-v2-q.onnx"

// int8Run is the measurement of MiniLM in int8.
type int8Run struct {
	*modelsRun
	in      *peerInputs
	model   *loadedModel     // ours in int8
	exact   []float32        // vectors of the rows with float32 weights
	values  *comparison      // of the float32 weights, and then of others
	ours    *bench.Retrieval // what ours costs, once it was measured
	docs    int
	queries int
}

// Rows of the int8 arms.
const (
	int8Own    = "int8 MiniLM, 512 tokens, against onnxruntime's own quantisation"
	int8Others = "int8 MiniLM, 512 tokens, against langchain4j's file"
	int8Value  = "int8 MiniLM, nDCG@10 beside float32's"
)

// leastRow names the row of the least cosine beside that of a peer.
func leastRow(row string) string { return row + ", least cosine to float32" }

// int8 compares our int8 with onnxruntime's: rates, and what each costs.
func (m *modelsRun) int8(ctx context.Context) (err error) {
	others := m.int8Graph
	if others == "" {
		others = filepath.Join(filepath.Dir(m.python), int8GraphName)
	}
	arms := []struct{ row, file string }{{int8Own, ""}, {int8Others, others}}
	wanted := m.wanted(int8Value)
	for _, arm := range arms {
		wanted = wanted || m.wanted(arm.row) || m.wanted(leastRow(arm.row))
	}
	if !wanted {
		return nil
	}
	flags := *m.peersFlags
	q := &int8Run{modelsRun: m, docs: retrievalDocs, queries: retrievalQueries}
	if m.small {
		flags.rows, q.docs, q.queries = 2, 40, 20
	}
	if q.in, err = m.app.peerInputs(ctx, &flags, m.dir); err != nil {
		return err
	}
	defer q.in.close()
	if q.model, err = q.in.model.as(ctx, m.app, string(quant.Int8)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.model.close()) }()
	full, err := q.in.encodeSide(ctx, "float32", q.in.full, string(bench.RegionEncode))
	if err != nil {
		return err
	}
	q.exact = full.vectors
	for _, arm := range arms {
		if !m.wanted(arm.row) && !m.wanted(leastRow(arm.row)) {
			continue
		}
		if arm.file != "" {
			switch err := peers.Int8Graph(arm.file); {
			case errors.Is(err, peers.ErrMissing):
				m.note("%s was left out: %v, or name the file with --int8-graph", arm.row, err)
				continue
			case err != nil:
				return err
			}
		}
		if err := m.refused(arm.row, q.arm(ctx, arm.row, arm.file)); err != nil {
			return err
		}
	}
	if m.wanted(int8Value) {
		return q.value(ctx)
	}
	return nil
}

// arm times ours against one peer and compares what both cost.
func (q *int8Run) arm(ctx context.Context, row, file string) error {
	g, err := q.model.build(false, peersChunk)
	if err != nil {
		return err
	}
	layout := ort.Plan(q.threads, peersBatch, 0)
	enc, err := ort.Open(q.rt, g, ort.Options{Layout: layout})
	if err != nil {
		return err
	}
	defer enc.Close()
	src := bench.Packed{Batches: bench.Pack(q.in.full, peersBatch)}
	mine, err := encodeSide(ctx, filepath.Join(q.dir, "int8.jsonl"), q.in.full, src, enc)
	if err != nil {
		return err
	}
	w, err := peers.New(ctx, peers.Start{Python: q.python, Threads: q.threads})
	if err != nil {
		return err
	}
	defer w.Close()
	for _, name := range []string{"python", "numpy", "onnxruntime"} {
		q.result.Versions[name] = w.Hello().Versions[name]
	}
	arm := peers.Int8Arm(row, q.threads, file).For(q.in.model.dir.Dir, q.cache)
	if q.wanted(row) {
		agree := func(ctx context.Context, w *peers.Worker, _ peers.Config) (string, error) {
			return q.near(ctx, w, mine.vectors)
		}
		if err := q.peerArm(ctx, w, against{arm: arm, row: row, mine: mine, pairs: q.pairs, agree: agree}); err != nil {
			return err
		}
	}
	if !q.wanted(leastRow(row)) {
		return nil
	}
	var graphs []string
	for _, c := range arm.Candidates {
		loaded, err := w.Load(ctx, c)
		if err != nil {
			return err
		}
		if !slices.Contains(graphs, loaded.Graph) {
			graphs = append(graphs, loaded.Graph)
		}
	}
	return q.cosines(ctx, leastRow(row), graphs)
}

// int8Near is the least cosine to float32 for int8 to be that model at all.
const int8Near = 0.8

// near compares the vectors of the timed rows with those of float32: they differ, and
// must not differ by more than int8 may cost.
func (q *int8Run) near(ctx context.Context, w *peers.Worker, ours []float32) (string, error) {
	run, err := w.Run(ctx, filepath.Join(q.dir, "peer.npy"))
	if err != nil {
		return "", err
	}
	theirs, dim, err := peers.ReadMatrix(run.Out)
	if err != nil {
		return "", fmt.Errorf("peer's vectors: %w", err)
	}
	var lows [2]float64
	for i, vectors := range [][]float32{ours, theirs} {
		if lows[i], _, err = peers.Cosines(q.exact, vectors, dim); err != nil {
			return "", fmt.Errorf("int8 vectors: %w", err)
		}
		if lows[i] < int8Near {
			return "", fmt.Errorf("%w: cosine %.4f to float32, at least %g expected", errDisagree, lows[i], int8Near)
		}
	}
	return fmt.Sprintf("ids equal, cosines of these rows to float32 at least %.6f, the peer's %.6f", lows[0], lows[1]), nil
}

// compare measures a model on a part of the embedded collection, beside float32, as
// `encbench model verify` does.
func (q *int8Run) compare(ctx context.Context, m *loadedModel) (*bench.Retrieval, error) {
	if q.values == nil {
		f := defineEval(pflag.NewFlagSet("eval", pflag.ContinueOnError)).(*evalFlags)
		f.docs, f.queries, f.measures, f.threads = q.docs, q.queries, retrievalMeasure, q.threads
		e := &evalRun{evalFlags: f, app: q.app, bar: q.app.progress(), rt: q.rt}
		e.base = eval.Record{Env: env.Collect()}
		if err := f.check(env.CPUs(e.base.Env)); err != nil {
			return nil, err
		}
		if err := e.openCollections(ctx); err != nil {
			return nil, err
		}
		q.values = &comparison{evalRun: e}
		err := q.values.run(ctx, 0, q.in.model)
		e.bar.clear()
		if err != nil {
			q.values = nil
			return nil, err
		}
		f.maxTokens = e.tokens // which a bare graph does not know
	}
	c := *q.values
	defer c.bar.clear()
	if err := c.run(ctx, 1, m); err != nil {
		return nil, err
	}
	return c.outcome(m)
}

// bare gives the model on a ready graph.
func (q *int8Run) bare(graph string) (*loadedModel, error) {
	info, err := onnx.Inspect(graph)
	if err != nil {
		return nil, err
	}
	m := *q.in.model
	m.dir, m.opened, m.graph = nil, nil, graph
	if m.form, err = info.Form(); err != nil {
		return nil, fmt.Errorf("graph %s: %w", graph, err)
	}
	if m.form.Dim == 0 { // a fused graph does not say
		m.form.Dim = q.in.model.dir.Dim()
	}
	m.facts.Stored = "int8"
	return &m, nil
}

// cosines adds the row that holds our least cosine to float32 against the best of a
// peer's graphs.
func (q *int8Run) cosines(ctx context.Context, row string, graphs []string) error {
	ours, err := q.cost(ctx)
	if err != nil {
		return err
	}
	said := []string{fmt.Sprintf("ours: least %.6f, mean %.6f", ours.Min, ours.Mean)}
	bar := -1.0
	for _, graph := range graphs {
		theirs, err := q.bare(graph)
		if err != nil {
			return err
		}
		r, err := q.compare(ctx, theirs)
		if err != nil {
			return err
		}
		bar = max(bar, r.Min)
		said = append(said, fmt.Sprintf("%s: least %.6f, mean %.6f, %s %.4f of float32's", filepath.Base(graph), r.Min, r.Mean, r.Measure, r.Ratio))
	}
	return q.add(bench.ResultRow{
		Name: row, Unit: fmt.Sprintf("cosine, the least of %s texts", bench.Thousands(int64(ours.Texts))), Ours: []float64{ours.Min}, Counted: true, Bar: &bar,
		Note: "the bar is the best of the peer's; " + notes(said...),
	})
}

// cost is what ours costs.
func (q *int8Run) cost(ctx context.Context) (*bench.Retrieval, error) {
	var err error
	if q.ours == nil {
		q.ours, err = q.compare(ctx, q.model)
	}
	return q.ours, err
}

// value adds the row of the quality beside float32's.
func (q *int8Run) value(ctx context.Context) error {
	r, err := q.cost(ctx)
	if err != nil {
		return err
	}
	bar := 0.99
	return q.add(bench.ResultRow{
		Name: int8Value, Unit: "of float32's " + r.Measure, Ours: []float64{r.Ratio}, Counted: true, Bar: &bar,
		Note: fmt.Sprintf("%s, %s documents and %s queries: %.4f, with float32 weights %.4f", r.Collection,
			bench.Thousands(int64(r.Documents)), bench.Thousands(int64(r.Queries)), r.Value, r.Original),
	})
}
