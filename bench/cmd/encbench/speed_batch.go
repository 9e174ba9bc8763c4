package main

import (
	"context"
	"fmt"
	"strconv"

	"encbench/bench"
	"encbench/engine/feed"
	"encbench/engine/ort"

	"github.com/spf13/pflag"
)

// Bounds of a batch: its ids and vectors lie in memory, several times.
const (
	mostBatch       = 1 << 16
	mostBatchTokens = 1 << 24
)

// batchAuto is the --batch-size that is searched for.
const batchAuto = "auto"

// batchAliases are shorter names of flags.
func batchAliases(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name {
	case "batch", "ubatch":
		name += "-size"
	}
	return pflag.NormalizedName(name)
}

// batches gives what the batches of the configurations hold; of one that is to be
// searched for, no rows.
func (f *speedFlags) batches() (out []feed.Limit, err error) {
	if len(f.batchTokens) > 0 {
		if f.fs.Changed("batch-size") {
			return nil, fmt.Errorf("--batch-size and --batch-tokens: a batch is limited by one of them")
		}
		for _, n := range f.batchTokens {
			if n < 1 || n > mostBatchTokens {
				return nil, fmt.Errorf("--batch-tokens %d: 1 to %d, and at least --chunk", n, mostBatchTokens)
			}
			out = append(out, feed.Limit{Rows: min(n, mostBatch), Tokens: n})
		}
		return out, nil
	}
	for _, b := range f.batch {
		n, err := strconv.Atoi(b)
		switch {
		case b == batchAuto:
			n = 0
		case err != nil || n < 1 || n > mostBatch:
			return nil, fmt.Errorf("--batch-size %s: 1 to %d, or auto", b, mostBatch)
		}
		out = append(out, feed.Limit{Rows: n})
	}
	return out, nil
}

// limit is what a batch holds.
func (c config) limit() feed.Limit { return feed.Limit{Rows: c.batch, Tokens: c.batchTokens} }

// chunks is how many chunks a full batch holds, of the longest.
func (c config) chunks() int {
	return bench.Protocol{Chunk: c.chunk, Batch: c.batch, BatchTokens: c.batchTokens}.BatchChunks()
}

// layout is how the configuration's batches are run.
func (c config) layout() ort.Layout {
	l := ort.Plan(c.threads, c.batch, c.ubatch).For(c.chunk)
	l.Tokens = c.batchTokens
	return l
}

// settle makes sure of everything that can be known before an encoder is opened: it
// scans the corpus for every window, finds the batches that are to be searched for,
// and predicts the memory of all configurations together, which must fit.
func (s *speedRun) settle(ctx context.Context) error {
	var settled []config
	for _, c := range s.configs {
		m, err := s.modelOf(ctx, c.dtype)
		if err != nil {
			return err
		}
		w, err := m.window(c)
		if err != nil {
			return err
		}
		sel, err := s.selection(ctx, c, w)
		if err != nil {
			return err
		}
		if c.batch == 0 {
			if c, err = s.searchBatch(ctx, c, m, sel); err != nil {
				return err
			}
		}
		settled = append(settled, c)
	}
	s.configs = dedupe(settled)
	p := s.plan()
	p.loaded = len(s.searches) > 0
	for _, c := range s.configs {
		e, err := s.planned(ctx, c)
		if err != nil {
			return err
		}
		p.encoders = append(p.encoders, e)
	}
	var err error
	s.memory, err = s.app.admit(ctx, p)
	return err
}

// plan is a plan without encoders.
func (s *speedRun) plan() *memoryPlan {
	p := &memoryPlan{}
	p.advice.runs = "a smaller --ubatch-size or --chunk, or fewer --threads"
	p.advice.batches = "a smaller --batch-size or --batch-tokens"
	return p
}

// planned is the encoder of a configuration before it is opened.
func (s *speedRun) planned(ctx context.Context, c config) (plannedEncoder, error) {
	m, err := s.modelOf(ctx, c.dtype)
	if err != nil {
		return plannedEncoder{}, err
	}
	w, err := m.window(c)
	if err != nil {
		return plannedEncoder{}, err
	}
	sel, err := s.selection(ctx, c, w)
	if err != nil {
		return plannedEncoder{}, err
	}
	e := plannedEncoder{model: m, layout: c.layout(), longest: c.chunk, limit: c.limit(), devices: len(s.places[c.device].cuda)}
	if s.input.once == nil {
		// The gate's rows are as long as a chunk, up to its longest probe.
		longest := sel.Stats.Longest + int64(c.chunk-w.Size)
		for _, r := range m.probes(c.chunk) {
			longest = max(longest, int64(len(r.IDs)))
		}
		e.longest = int(min(longest, int64(c.chunk)))
	}
	if c.region == bench.RegionEncode {
		_, e.packed = bench.CountRows(sel.Rows)
	} else {
		e.feeders = c.threads
	}
	if s.sampleN > 0 { // else the rows are a few of many
		e.ids = func(yield func([]int32) bool) {
			for _, r := range sel.Rows {
				if !yield(r.IDs) {
					return
				}
			}
			for _, r := range m.probes(c.chunk) {
				if !yield(r.IDs) {
					return
				}
			}
		}
	}
	return e, nil
}
