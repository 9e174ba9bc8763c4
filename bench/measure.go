package bench

import (
	"context"
	"time"

	"encbench/bench/env"
	"encbench/engine"
	"encbench/engine/feed"
)

// tally is what has been collected since the last sample began.
type tally struct {
	work       engine.Work
	flop       float64 // of the rows, as the model defines it
	rows       [engine.Buckets]int64
	batches    int
	chunks     int64
	docs, text int64
	vectors    []float32 // of one batch: rows are copied out, as a user's would be
	flight     []*feed.Batch
}

// flow is the pipeline's flow from a pass into the tally. each is called after
// every batch.
func (t *tally) flow(h *Harness, a *Arm, pass Pass, each func(b *engine.Batch) error) engine.Flow {
	return engine.Flow{
		Next: func(ctx context.Context) (*engine.Batch, error) {
			b, err := pass.Next(ctx)
			if err != nil {
				return nil, err
			}
			t.flight = append(t.flight, b)
			return &b.Batch, nil
		},
		Done: func(b *engine.Batch, r engine.Rows, w engine.Work) error {
			t.vectors = t.vectors[:0]
			for i := range r.N {
				t.vectors = append(t.vectors, r.Float32(i)...)
				t.rows[engine.Bucket(b.Len(i))]++
				t.flop += a.Record.Model.RowFLOP(b.Len(i))
			}
			t.work.Add(w)
			t.batches++
			t.chunks += int64(r.N)
			done := t.flight[0]
			t.docs += done.DocsDone
			t.text += done.TextBytes
			h.meter.chunks.Add(int64(r.N))
			err := each(b)
			t.flight = t.flight[:copy(t.flight, t.flight[1:])]
			pass.Recycle(done)
			return err
		},
	}
}

// sample makes a sample of what the tally holds and empties it.
func (t *tally) sample(a *Arm, round int, wall time.Duration) Sample {
	s := Sample{
		Round: round, WallS: wall.Seconds(), Chunks: t.chunks, TextBytes: t.text,
		RealTokens: t.work.Real, PaddedTokens: t.work.Padded,
		ModelFLOP:  t.flop,
		IssuedFLOP: t.work.FLOP, LoadAvg: env.LoadAverage(),
		Rows: append([]int64{}, t.rows[:]...),
	}
	if a.Record.Corpus.Selection.Kind != SelectionStratified {
		s.Docs = t.docs
	}
	for _, ns := range t.work.BucketNS {
		s.BusyS = append(s.BusyS, float64(ns)/1e9)
	}
	a.countDevices(wall)
	a.sums.Add(t.work)
	a.stages.busy(t.work, s.WallS)
	*t = tally{vectors: t.vectors, flight: t.flight}
	return s
}

// pass times one pass over the source: one sample. The clock covers opening and
// closing it.
func (h *Harness) pass(ctx context.Context, arm, round int) error {
	a := h.Arms[arm]
	h.begin(arm, "sample")
	t := tally{vectors: make([]float32, 0, a.Record.Protocol.Batch*a.Encoder.Dim())}
	a.skipDevices()
	start := time.Now()
	pass, err := a.Source.Open(ctx)
	if err != nil {
		return err
	}
	times, err := engine.Pipeline(ctx, a.Encoder, t.flow(h, a, pass, func(*engine.Batch) error { return nil }))
	stats := pass.Stats()
	if closing := pass.Close(); err == nil {
		err = closing
	}
	wall := time.Since(start)
	switch {
	case err != nil:
		return err
	case t.chunks == 0:
		return errNoDocuments
	}
	a.stages.waits(stats, times)
	return h.add(a, t.sample(a, round, wall))
}

// mostSamples bounds the samples of a stream: beyond it neighbours are merged and
// the window doubled, so that memory does not grow with the corpus.
const mostSamples = 256

// saveEvery is how often a stream's record is refreshed and saved: the tens of
// milliseconds that this takes fall into a window.
const saveEvery = 30 * time.Second

// stream times one pass over a stream in windows of consecutive batches, without
// a pause between them: a window ends where its last batch is collected, and the
// next one begins there. What is left at the end joins the last window.
func (h *Harness) stream(ctx context.Context, arm, round int) error {
	a := h.Arms[arm]
	h.begin(arm, "sample")
	if a.Once && a.inputs == nil {
		a.inputs = NewIDsHash()
	}
	t := tally{vectors: make([]float32, 0, a.Record.Protocol.Batch*a.Encoder.Dim())}
	a.skipDevices()
	mark := time.Now()
	first := len(a.Record.Samples)
	pass, err := a.Source.Open(ctx)
	if err != nil {
		return err
	}
	saved := mark
	cut := func() error {
		now := time.Now()
		s := t.sample(a, round, now.Sub(mark))
		mark = now
		if len(a.Record.Samples) >= mostSamples && first == 0 {
			a.Record.Samples = mergePairs(a.Record.Samples)
			a.Window *= 2
		}
		a.Record.Samples = append(a.Record.Samples, s)
		h.counted(a)
		h.begin(arm, "sample")
		if now.Sub(saved) < saveEvery {
			return nil
		}
		saved = now
		return h.refresh(a)
	}
	times, err := engine.Pipeline(ctx, a.Encoder, t.flow(h, a, pass, func(b *engine.Batch) error {
		// Only of a stream that could not be scanned before.
		if a.inputs != nil && !a.whole {
			for i := range b.Rows() {
				a.inputs.Add(b.Row(i))
			}
		}
		if t.batches < a.Window {
			return nil
		}
		return cut()
	}))
	stats := pass.Stats()
	if closing := pass.Close(); err == nil {
		err = closing
	}
	a.stages.waits(stats, times)
	if err != nil {
		a.summarize()
		return err
	}
	if !a.whole {
		a.whole = true
		CorpusLedgers(a.Record, stats)
		sel := &a.Record.Corpus.Selection
		sel.Rows = sel.Corpus
		sel.Chunks = stats.Rows
		sel.Tokens = stats.Content + a.Record.Overlap.Special + a.Record.Overlap.Prompt
		if a.inputs != nil {
			sel.SHA256 = a.inputs.Hex()
		}
		if a.AtEnd != nil {
			a.AtEnd()
		}
	}
	switch {
	case t.chunks > 0 && len(a.Record.Samples) > first:
		last := &a.Record.Samples[len(a.Record.Samples)-1]
		*last = merge(*last, t.sample(a, round, time.Since(mark)))
	case t.chunks > 0:
		if err := cut(); err != nil {
			return err
		}
	case len(a.Record.Samples) == first:
		return errNoDocuments
	}
	h.counted(a)
	return h.refresh(a)
}

// merge makes one sample of two consecutive ones.
func merge(a, b Sample) Sample {
	a.WallS += b.WallS
	a.Docs += b.Docs
	a.Chunks += b.Chunks
	a.RealTokens += b.RealTokens
	a.PaddedTokens += b.PaddedTokens
	a.ModelFLOP += b.ModelFLOP
	a.IssuedFLOP += b.IssuedFLOP
	a.TextBytes += b.TextBytes
	a.LoadAvg = b.LoadAvg
	rows, busy := make([]int64, len(a.Rows)), make([]float64, len(a.BusyS))
	for i := range rows {
		rows[i], busy[i] = a.Rows[i]+b.Rows[i], a.BusyS[i]+b.BusyS[i]
	}
	a.Rows, a.BusyS = rows, busy
	return a
}

// mergePairs halves a list of samples.
func mergePairs(in []Sample) []Sample {
	out := make([]Sample, 0, len(in)/2+1)
	for i := 0; i+1 < len(in); i += 2 {
		out = append(out, merge(in[i], in[i+1]))
	}
	if len(in)%2 == 1 {
		out = append(out, in[len(in)-1])
	}
	return out
}
