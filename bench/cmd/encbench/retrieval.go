package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"encbench/bench"
	"encbench/bench/env"
	"encbench/bench/eval"
	"encbench/engine"
	"encbench/engine/model"
	"encbench/engine/ort"

	"github.com/spf13/pflag"
)

// What converted weights are measured on: a part of the embedded collection that a
// CPU encodes in a minute or two.
const (
	retrievalDocs    = 1200
	retrievalQueries = 300
	retrievalMeasure = "nDCG@10"
	// retrievalVersion is a part of the name under which an outcome is kept; it changes
	// when the same weights would give another outcome.
	retrievalVersion = 1
)

var errNotMeasured = errors.New("not measured")

// losesRetrieval says whether converted weights can cost quality of retrieval: those
// of an embedder with trained weights.
func (m *loadedModel) losesRetrieval() bool {
	return m.original != nil && m.dir.Kind == model.Embedder && !m.facts.Synthetic
}

// retrievalOf puts what was measured of converted weights into the outcome of the
// gate, which fails where that is not enough. What was not measured is left open: the
// verdict says so.
func (a *app) retrievalOf(ctx context.Context, m *loadedModel, rt *ort.Runtime, acc *bench.Accuracy) error {
	if !m.losesRetrieval() || !acc.Passed {
		return nil
	}
	r, err := a.retrieval(ctx, m, rt, func() (*bench.Retrieval, error) { return nil, errNotMeasured })
	switch {
	case errors.Is(err, errNotMeasured):
		return nil
	case err != nil:
		return err
	}
	acc.Retrieval = r
	if acc.Error = r.Fault(); acc.Error != "" {
		acc.Passed = false
	}
	return nil
}

// retrieval gives what converted weights cost: from the cache, or by measure, whose
// outcome is kept there.
func (a *app) retrieval(ctx context.Context, m *loadedModel, rt *ort.Runtime, measure func() (*bench.Retrieval, error)) (*bench.Retrieval, error) {
	s, err := a.store()
	if err != nil {
		return nil, err
	}
	key, err := m.original.Fingerprint()
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("retrieval-%d-%.32s-%s-%d-%s-%s.json", retrievalVersion, key, m.dtype, m.activationBits(), rt.Version, m.textKey())
	path, err := s.Derived(ctx, name, func(w io.Writer) error {
		r, err := measure()
		if err != nil {
			return err
		}
		return json.NewEncoder(w).Encode(r)
	})
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("measured retrieval: %w", err)
	}
	var r bench.Retrieval
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("measured retrieval %s: %w; delete the file and run again", path, err)
	}
	// The limits are those of now.
	r.Least, r.Average, r.RatioLimit = bench.RetrievalLimits(string(m.dtype), m.activationBits())
	return &r, nil
}

// textKey names what decides the rows of a text besides its weights: tokenizer,
// prompts and lengths.
func (m *loadedModel) textKey() string {
	d := m.dir
	text, err := json.Marshal([]any{m.facts.TokenizerSHA256, d.Prompts, d.DefaultPrompt, d.MaxSeqLength, d.TokenizerMaxLength})
	if err != nil {
		panic("encbench: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// comparison measures a model on converted weights beside itself on the original ones.
type comparison struct {
	*evalRun
	vectors [2]kept // of the original, of the converted
	values  [2]float64
	digest  string
	docs    int
	queries int
}

// measureRetrieval encodes a part of the embedded collection, of so many documents and
// queries, with both weights, and compares vectors and rankings.
func (a *app) measureRetrieval(ctx context.Context, m *loadedModel, rt *ort.Runtime, docs, queries int) (*bench.Retrieval, error) {
	f := defineEval(pflag.NewFlagSet("eval", pflag.ContinueOnError)).(*evalFlags)
	f.docs, f.queries, f.measures = docs, queries, retrievalMeasure
	e := &evalRun{evalFlags: f, app: a, bar: a.progress(), rt: rt}
	e.base = eval.Record{Env: env.Collect()}
	if err := f.check(env.CPUs(e.base.Env)); err != nil {
		return nil, err
	}
	c := &comparison{evalRun: e}
	defer e.bar.clear()
	if err := e.openCollections(ctx); err != nil {
		return nil, err
	}
	original := *m
	original.dir, original.original, original.dtype = m.original, nil, ""
	original.describeTypes()
	for i, side := range []*loadedModel{&original, m} {
		if err := c.run(ctx, i, side); err != nil {
			return nil, err
		}
	}
	return c.outcome(m)
}

// run evaluates one side.
func (c *comparison) run(ctx context.Context, i int, m *loadedModel) (err error) {
	e := c.evalRun
	e.model = m
	if err := e.prompts(); err != nil {
		return err
	}
	if err := e.lengths(); err != nil {
		return err
	}
	longest := max(e.tokens, e.queryTokens)
	g, err := m.build(false, longest)
	if err != nil {
		return err
	}
	if e.encoder, err = ort.Open(e.rt, g, ort.Options{Layout: ort.Plan(e.threads, e.batch, 0).For(longest)}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.encoder.Close()) }()
	s := e.setup()
	s.BM25, s.OpenRun = nil, nil
	s.OpenVectors = func(int, *eval.Collection) (eval.VectorWriter, error) { return &c.vectors[i], nil }
	s.Progress = func(step eval.Step) {
		e.bar.show(share(step.Done, step.Total), func() string {
			return fmt.Sprintf("%s weights, %s: %s, %s of %s", m.facts.Stored, step.Name, step.Phase, bench.Thousands(step.Done), bench.Thousands(step.Total))
		})
	}
	r, err := eval.Run(ctx, s)
	if err != nil {
		return err
	}
	out := &r.Collections[0]
	c.values[i] = out.Values[0].Mean
	c.digest, c.docs, c.queries = out.SHA256, out.Documents, out.Queries
	return nil
}

// outcome holds both sides against each other.
func (c *comparison) outcome(m *loadedModel) (*bench.Retrieval, error) {
	a, b := c.vectors[0].values, c.vectors[1].values
	dim := c.vectors[0].dim
	if len(a) != len(b) || len(a) == 0 {
		return nil, fmt.Errorf("compare vectors: %d values of the original weights, %d of the converted", len(a), len(b))
	}
	var cosines []float64
	var sum float64
	for i := 0; i < len(a); i += dim {
		x := cosine(a[i:i+dim], b[i:i+dim])
		cosines = append(cosines, x)
		sum += x
	}
	slices.Sort(cosines)
	r := &bench.Retrieval{
		Collection: embeddedCollection, SHA256: c.digest, Documents: c.docs, Queries: c.queries,
		Measure: retrievalMeasure, Original: c.values[0], Value: c.values[1], Ratio: c.values[1] / c.values[0],
		Texts: len(cosines), Min: cosines[0], P1: cosines[len(cosines)/100], Mean: sum / float64(len(cosines)),
	}
	if math.IsNaN(r.Ratio) || math.IsInf(r.Ratio, 0) {
		return nil, fmt.Errorf("%s of the original weights on %s is %g: a ratio to it says nothing", retrievalMeasure, embeddedCollection, c.values[0])
	}
	return r, nil
}

// kept keeps the vectors of one evaluation.
type kept struct {
	dim    int
	values []float32
}

// Documents keeps rows.
func (k *kept) Documents(r engine.Rows, _ func(i int) []byte) error { return k.add(r) }

// Queries keeps rows.
func (k *kept) Queries(r engine.Rows, _ func(i int) []byte) error { return k.add(r) }

// Close does nothing.
func (k *kept) Close() error { return nil }

func (k *kept) add(r engine.Rows) error {
	k.dim = r.Dim
	for i := range r.N {
		k.values = append(k.values, r.Float32(i)...)
	}
	return nil
}

// cosine is computed in float64; it is 0 when a vector is zero or not finite.
func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		ab += x * y
		aa += x * x
		bb += y * y
	}
	if c := ab / math.Sqrt(aa*bb); !math.IsNaN(c) && !math.IsInf(c, 0) {
		return c
	}
	return 0
}
