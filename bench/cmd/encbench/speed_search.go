package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"time"

	"encbench/bench"
	"encbench/bench/env"
	"encbench/bench/report"
	"encbench/engine"
	"encbench/engine/ort"
)

// The sizes that --batch-size auto tries: physical batches in batches of the protocol,
// and other batches.
var (
	triedUBatches = []int{0, 1, 2, 4, 8, 16, 32, 64, 128}
	triedBatches  = []int{32, 64, 256, 512}
)

const protocolBatch = 128

// mostPass bounds how long a pass of the search takes.
const mostPass = 5 * time.Second

// searchBatch gives the configuration with the batch and the physical batch that suit
// this machine. What its memory does not hold is not tried.
func (s *speedRun) searchBatch(ctx context.Context, c config, m *loadedModel, sel *selection) (config, error) {
	if s.input.once != nil {
		return c, usagef("--batch-size auto reads its chunks many times: standard input with --sample all comes once; name a file, or give --batch-size a number")
	}
	tried := s.candidates(c)
	// The least of them has to fit, and the references be there, before any is opened.
	p := s.plan()
	p.what = "the smallest batch that is tried"
	for i := range tried {
		e, err := s.planned(ctx, tried[i])
		if err != nil {
			return c, err
		}
		if i == 0 || e.bytes() < p.encoders[0].bytes() {
			p.encoders = []plannedEncoder{e}
		}
	}
	memory, err := s.app.admit(ctx, p)
	if err != nil {
		return c, err
	}
	opt := bench.SearchOptions{Rows: sel.Rows, Pass: min(s.schedule.MinTime/20, mostPass), Room: math.MaxInt64}
	if memory.Available > 0 {
		opt.Room = s.app.room().Bytes / 2
	}
	for _, t := range tried {
		arm, err := s.trial(ctx, t, m, memory.Available)
		if err != nil {
			return c, err
		}
		opt.Arms = append(opt.Arms, arm)
	}
	opt.Progress = func(round, rounds, arm int) {
		s.bar.show(float64(round)/float64(rounds), func() string {
			a := opt.Arms[arm]
			return fmt.Sprintf("batch search: round %d of at most %d, batch %d ubatch %s", round+1, rounds, a.Batch, a.UBatch)
		})
	}
	found, chosen, err := bench.SearchBatch(ctx, opt)
	s.bar.clear()
	// What the trials held is not the measurement's.
	debug.FreeOSMemory()
	ort.Trim()
	env.ResetPeakRSS()
	if err != nil && ctx.Err() != nil {
		return c, errors.New("interrupted before the first sample; nothing was measured")
	}
	writeSearch(s.app.stderr, found)
	if err != nil {
		return c, err
	}
	c = tried[chosen]
	s.searches[c] = found
	return c, nil
}

// candidates are the configurations that --batch-size auto tries for one, the smallest
// physical batches first.
func (s *speedRun) candidates(c config) []config {
	ubatches := triedUBatches
	if s.fs.Changed("ubatch-size") {
		ubatches = []int{c.ubatch}
	}
	var out []config
	add := func(batch, ubatch int) {
		if batch >= ubatch {
			c.batch, c.ubatch = batch, ubatch
			out = append(out, c)
		}
	}
	for _, u := range ubatches {
		add(max(protocolBatch, u), u)
	}
	for _, b := range triedBatches {
		add(b, ubatches[0])
	}
	return dedupe(out)
}

// trial is the arm of a configuration in the search.
func (s *speedRun) trial(ctx context.Context, c config, m *loadedModel, available int64) (*bench.SearchArm, error) {
	e, err := s.planned(ctx, c)
	if err != nil {
		return nil, err
	}
	a := &bench.SearchArm{Limit: c.limit(), Need: e.bytes(), Fill: 1}
	a.Batch, a.UBatch = c.batch, ubatchName(c.ubatch)
	if c.ubatch > 1 {
		a.Fill = c.ubatch * c.layout().Workers
	}
	if c.batch != protocolBatch {
		a.Fill = max(a.Fill, c.batch)
	}
	if m.dir != nil {
		p := memoryPlan{encoders: []plannedEncoder{e}}
		for _, part := range p.predict(env.RSS(), goHeap(), 0) {
			a.Predicted += part.Bytes
		}
		if available > 0 && a.Predicted > available {
			a.Reason = fmt.Sprintf("%s of memory predicted, %s available", report.Size(a.Predicted), report.Size(available))
		}
	}
	a.Open = func(ctx context.Context, first bool) (engine.Encoder, error) { return s.openTrial(ctx, c, m, first) }
	return a, nil
}

// openTrial opens the encoder of a trial, and gates it the first time.
func (s *speedRun) openTrial(ctx context.Context, c config, m *loadedModel, first bool) (engine.Encoder, error) {
	// What closed trials held must not lie beside this one.
	debug.FreeOSMemory()
	ort.Trim()
	var enc engine.Encoder
	var gate func() (bench.Accuracy, error)
	if len(s.places[c.device].cuda) > 0 {
		run, err := s.deviceRun(c, m)
		if err != nil {
			return nil, err
		}
		e, err := run.open(s.rt)
		if err != nil {
			return nil, err
		}
		enc, gate = e, func() (bench.Accuracy, error) {
			acc, _, err := e.gate(ctx, s.app, run, nil)
			return acc, err
		}
	} else {
		g, err := m.build(c.ubatch > 1, c.chunk)
		if err != nil {
			return nil, err
		}
		e, err := ort.Open(s.rt, g, ort.Options{Layout: c.layout()})
		if err != nil {
			return nil, err
		}
		enc, gate = e, func() (bench.Accuracy, error) {
			acc, _, err := s.app.gate(ctx, m, e, c.chunk)
			return acc, err
		}
	}
	if !first {
		return enc, nil
	}
	acc, err := gate()
	if err == nil && !acc.Passed {
		err = fmt.Errorf("accuracy gate failed: %s", acc.Error)
	}
	if err != nil {
		return nil, errors.Join(err, enc.Close())
	}
	return enc, nil
}

// ubatchName spells a physical batch.
func ubatchName(rows int) string {
	if rows == 0 {
		return "auto"
	}
	return fmt.Sprint(rows)
}

// writeSearch prints what was tried.
func writeSearch(w io.Writer, b *bench.BatchSearch) {
	fmt.Fprintf(w, "batch search: %s a pass, %s, %s\n", count(b.Chunks, "chunk"), count(b.Rounds, "round"), report.Seconds(b.Seconds))
	t := columns(">batch", ">ubatch", ">chunks/s", ">to the fastest", ">memory predicted", "outcome")
	for _, r := range b.Trials {
		rate, ratio, memory := "–", "–", "–"
		if r.Chunks.N > 0 {
			rate = report.Number(r.Chunks.Median)
			ratio = fmt.Sprintf("%.3f (%.3f – %.3f)", r.ToFastest.Value, r.ToFastest.Low, r.ToFastest.High)
		}
		if r.Predicted > 0 {
			memory = report.Size(r.Predicted)
		}
		outcome := r.Outcome
		if r.Reason != "" {
			outcome += ": " + r.Reason
		}
		t.row(bench.Thousands(int64(r.Batch)), r.UBatch, rate, ratio, memory, outcome)
	}
	t.write(w)
}
