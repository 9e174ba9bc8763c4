package eval

import (
	"context"
	"errors"
	"fmt"
	"time"

	"encbench/bench"
	"encbench/metrics/judge"
	"encbench/metrics/stat"
)

// Run evaluates every collection in turn. A collection that fails is named with its
// error, and the others go on: the record's status is then failed, and the error
// names them. When ctx ends, the record keeps the collections that were done, its
// status is interrupted, and the context's error is returned with it. A setup that
// is wrong gives an error and no record.
func Run(ctx context.Context, s Setup) (*Record, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("eval: %w", err)
	}
	r := s.record()
	var failed []error
	for i, in := range s.Inputs {
		c := Collection{Name: in.Name}
		err := in.Err
		if err == nil {
			e := &evaluation{Setup: &s, in: in, out: &c, number: i}
			err = e.run(ctx)
		}
		if ended := ctx.Err(); ended != nil {
			r.Status = bench.StatusInterrupted
			r.Averages = averages(r, s.Inputs)
			r.Warnings = append(s.Base.Warnings, warnings(r)...)
			return r, ended
		}
		if err != nil {
			c = Collection{Name: in.Name, Error: err.Error()}
			failed = append(failed, fmt.Errorf("collection %s: %w", in.Name, err))
		}
		r.Collections = append(r.Collections, c)
	}
	r.Averages = averages(r, s.Inputs)
	r.Status = bench.StatusComplete
	if len(failed) > 0 {
		r.Status = bench.StatusFailed
	}
	r.Warnings = append(s.Base.Warnings, warnings(r)...)
	return r, errors.Join(failed...)
}

// record is the setup as a record without outcome.
func (s *Setup) record() *Record {
	r := s.Base
	r.Schema, r.Kind, r.Status = SchemaVersion, Kind, bench.StatusRunning
	if r.Started.IsZero() {
		r.Started = time.Now().UTC()
	}
	r.Collections, r.Protocol = []Collection{}, s.Protocol()
	return &r
}

// Protocol is the setup as a record holds it. The setup must be valid.
func (s *Setup) Protocol() Protocol {
	p := s.Base.Protocol // what only the opener of the encoder knows
	opt := s.judgement()
	p.Convention, p.K, p.Length, p.MaxTokens, p.QueryTk = opt.Describe(), s.K, LengthTruncate, s.MaxTokens, s.queryTokens()
	if s.Chunk {
		p.Length, p.Overlap, p.Pool = LengthChunk, s.Overlap, s.Pool
	}
	p.Query, p.Document = s.Query, s.Document
	p.Query.Tokens, p.Document.Tokens = s.tokens(s.Query), s.tokens(s.Document)
	p.SpecialTk, p.Similarity = s.special(), s.Similarity
	p.Dim, p.EncoderDim, p.DropSelf = s.dim(), s.Encoder.Dim(), s.DropSelf
	p.Rescore, p.Batch, p.Seed, p.Resamples = s.Rescore, s.Batch, s.Seed, stat.Replicates
	return p
}

// judgement says how rankings are judged.
func (s *Setup) judgement() judge.Options {
	opt := judge.Options{}
	if s.DropSelf {
		opt.DropSelf = judge.Yes
	}
	return opt
}

// averages gives every measure over the collections that were asked for.
func averages(r *Record, inputs []Input) []Average {
	out := []Average{}
	if len(inputs) < 2 {
		return out
	}
	done := map[string]bool{}
	var with []*Collection
	for i := range r.Collections {
		if c := &r.Collections[i]; c.Error == "" {
			done[c.Name] = true
			with = append(with, c)
		}
	}
	missing := []string{}
	for i, in := range inputs {
		if i >= len(r.Collections) || r.Collections[i].Error != "" {
			missing = append(missing, in.Name)
		}
	}
	if len(with) == 0 {
		return out
	}
	for m := range with[0].Values {
		a := Average{Measure: with[0].Values[m].Measure, Missing: missing}
		var tasks [][]float64
		var queries []float64
		for _, c := range with {
			tasks = append(tasks, c.Values[m].PerQuery)
			queries = append(queries, float64(c.Values[m].N))
		}
		a.Tasks = stat.Stratified(tasks, nil, stat.Options{Unit: true})
		a.Queries = stat.Stratified(tasks, queries, stat.Options{Unit: true})
		out = append(out, a)
	}
	return out
}
