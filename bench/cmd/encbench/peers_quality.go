package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"encbench/bench"
	"encbench/bench/eval"
	"encbench/bench/peers"
)

// qualityCases are the collections on which the pinned model's quality is kept,
// with values of the same model measured independently: float32, exact
// cosine, 256 tokens, mean of queries, linear gain.
var qualityCases = []struct {
	name      string
	folder    string // below --collections; "" is the embedded collection
	reference map[string]float64
}{
	{"Cranfield", "cranfield", map[string]float64{"nDCG@10": 0.3736, "R@100": 0.7756, "AP": 0.3231}},
	{"NPL (Vaswani)", "npl-vaswani", map[string]float64{"nDCG@10": 0.4335, "R@100": 0.6074, "AP": 0.2793}},
	{"MT-RAG UN, closed pool, last turn", "mtrag-un", map[string]float64{"nDCG@10": 0.7677, "R@100": 0.9371, "AP": 0.7212}},
	{"techdocs-qa", "", nil},
}

const (
	qualityReference = "measured before encbench, float32, exact cosine"
	qualityWithin    = 0.002
	qualityTokens    = 256
)

var qualityMeasures = []string{"nDCG@10", "R@100", "AP"}

// quality evaluates the pinned model by `encbench eval`, a process for each
// collection.
func (r *peersRun) quality(ctx context.Context) error {
	for _, c := range qualityCases {
		if !r.wanted(c.name) {
			continue
		}
		args := []string{"eval", "--format", "json", "--max-tokens", fmt.Sprint(qualityTokens), "--k", "1000", "-m", strings.Join(qualityMeasures, " "), "--threads", fmt.Sprint(r.threads)}
		if r.small {
			args = append(args, "--docs", "200", "--queries", "30")
		}
		if c.folder != "" {
			path := filepath.Join(r.collections, c.folder)
			if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
				r.note("%s was left out: no folder %s; --collections names the one that holds it", c.name, path)
				continue
			}
			args = append(args, "--data", path)
		}
		fmt.Fprintf(r.app.stderr, "%s: evaluating\n", c.name)
		var record eval.Record
		seconds, err := runRecord(ctx, &record, args...)
		if err != nil {
			return err
		}
		for i := range record.Collections {
			if err := r.addMeans(c.name, &record.Collections[i], c.reference, seconds); err != nil {
				return err
			}
		}
	}
	return nil
}

// runRecord runs a command of encbench in a process of its own and decodes the record
// that it prints. It gives the seconds that the process took.
func runRecord(ctx context.Context, record any, args ...string) (seconds float64, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("start encbench again: %w", err)
	}
	out, seconds, err := peers.NewProgram(self).Run(ctx, args...)
	if err != nil {
		return 0, err
	}
	if err := json.Unmarshal(out, record); err != nil {
		return 0, fmt.Errorf("encbench %s: read the record: %w", args[0], err)
	}
	return seconds, nil
}

// addMeans takes a collection's values over into the result.
func (r *peersRun) addMeans(name string, c *eval.Collection, reference map[string]float64, seconds float64) error {
	for _, v := range c.Values {
		m := bench.ResultMean{
			Name: name, Measure: v.Measure, Value: v.Mean, Low: v.CI.Low, High: v.CI.High, Queries: v.N, Method: v.CI.Method,
		}
		if v.Measure == qualityMeasures[0] {
			m.Note = fmt.Sprintf("%s documents, sha256 %.16s, cut at %d tokens; evaluated in %.0f s", bench.Thousands(int64(c.Documents)), c.SHA256, qualityTokens, seconds)
		}
		if known, ok := reference[v.Measure]; ok && !c.Limited() {
			within := qualityWithin
			m.Reference, m.ReferenceName, m.Within = &known, qualityReference, &within
		}
		if m.Reference == nil && c.BM25 != nil {
			for _, b := range c.BM25.Values {
				if b.Measure == v.Measure {
					m.Reference, m.ReferenceName = &b.Mean, c.BM25.System
				}
			}
		}
		if c.Limited() {
			m.Name += fmt.Sprintf(", limited to %d documents", c.Documents)
		}
		r.result.Means = append(r.result.Means, m)
		fmt.Fprintf(r.app.stdout, "%s: %s %.4f (%.4f to %.4f)", m.Name, m.Measure, m.Value, m.Low, m.High)
		if m.Reference != nil {
			fmt.Fprintf(r.app.stdout, ", %s %.4f", m.ReferenceName, *m.Reference)
		}
		if !m.Met() {
			fmt.Fprintf(r.app.stdout, ", MISSED: expected within %g", *m.Within)
		}
		fmt.Fprintln(r.app.stdout)
	}
	return r.save()
}
