package rerank

import (
	"context"
	"fmt"
	"math"
	"time"

	"encbench/bench"
	"encbench/corpus"
	"encbench/engine"
)

// textBytes is how much text of documents is held at a time, about: what comes after
// it is read when this has been scored.
const textBytes = 256 << 20

// scoring gives every pair its logit.
type scoring struct {
	*Setup
	in      Input
	cand    *candidates
	queries [][]int32 // ids of each query, cut; nil for one without pairs
	logits  []float32 // by pair
	step    func(phase string, done, total int64)
	limit   int // of the text at a time

	texts   texts
	watch   stopwatch
	tally   tally
	work    engine.Work
	times   engine.PipelineTimes
	pack    time.Duration
	reading time.Duration
	warming time.Duration
	scored  int64
	scanned int64
}

// run reads the documents and scores their pairs. Reading is outside the clock: how
// much of it there is for a pair depends on how sparse the candidates are in the
// collection.
func (s *scoring) run(ctx context.Context, src corpus.Scanner) error {
	pairs := s.cand.pairs()
	s.logits = make([]float32, pairs)
	batches := (pairs + s.Batch - 1) / s.Batch
	s.watch.each = max(windowBatches, batches/wantedWindows)
	for more := true; more; {
		mark := time.Now()
		var err error
		base := s.scanned
		more, err = s.texts.read(ctx, src, s.cand, s.limit, func(n int64) {
			s.scanned = base + n
			s.step("reading documents", s.scanned, 0)
		})
		s.reading += time.Since(mark)
		if err != nil {
			return fmt.Errorf("read documents: %w", err)
		}
		if len(s.texts.doc) == 0 {
			continue
		}
		if s.scored == 0 {
			if err := s.warm(ctx); err != nil {
				return fmt.Errorf("warm-up: %w", err)
			}
		}
		if err := s.score(ctx); err != nil {
			return err
		}
	}
	return nil
}

// score takes the pairs of the texts through the encoder, timed.
func (s *scoring) score(ctx context.Context) error {
	s.watch.start()
	f := newFeeder(ctx, s.cut(), s.Tokenizer, &s.texts, s.cand, s.queries, s.Batch, s.Workers, s.scored)
	defer f.close()
	var flight []*rows
	times, err := engine.Pipeline(ctx, s.Encoder, engine.Flow{
		Next: func(ctx context.Context) (*engine.Batch, error) {
			r, err := f.take(ctx)
			if err != nil {
				return nil, err
			}
			flight = append(flight, r)
			return &r.Batch, nil
		},
		Done: func(_ *engine.Batch, out engine.Rows, w engine.Work) error {
			r := flight[0]
			flight = flight[:copy(flight, flight[1:])]
			for i, pair := range r.pair {
				x := out.Float32(i)[0]
				if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
					return fmt.Errorf("the logit of query %q and document %q is no finite number", s.in.Collection.Queries[s.cand.query[pair]].ID, s.cand.doc(pair))
				}
				s.logits[pair] = x
			}
			s.work.Add(w)
			s.scored += int64(len(r.pair))
			s.watch.batch(int64(len(r.pair)), w.Real)
			f.recycle(r)
			s.step("scoring pairs", s.scored, int64(len(s.logits)))
			return nil
		},
	})
	s.watch.stop()
	s.tally.add(&f.tally)
	s.pack += f.pack
	s.times.Next += times.Next
	s.times.Submit += times.Submit
	s.times.Collect += times.Collect
	s.times.Done += times.Done
	if err != nil {
		return fmt.Errorf("score pairs: %w", err)
	}
	return nil
}

// warmTexts is how many documents the shapes of the warm-up are taken from.
const warmTexts = 64

// warm runs a row of every length bucket that the first documents have, for every
// worker of the encoder, untimed: the first run of a shape pays for memory and plans
// that later ones reuse.
func (s *scoring) warm(ctx context.Context) error {
	start := time.Now()
	tok, cut := s.Tokenizer.Clone(), s.cut()
	var sample []bench.Row
	for i, doc := range s.texts.doc[:min(warmTexts, len(s.texts.doc))] {
		ids, _ := cut.Append(nil, nil, s.queries[s.cand.query[s.cand.head[doc]]], tok.AppendIDs(nil, s.texts.at(i)))
		sample = append(sample, bench.Row{IDs: ids})
	}
	for _, b := range bench.WarmBatches(sample, max(1, s.Base.Engine.Workers), 1, s.Batch) {
		if err := s.Encoder.Submit(0, b); err != nil {
			return err
		}
		if _, _, err := s.Encoder.Collect(ctx, 0); err != nil {
			return err
		}
	}
	s.warming = time.Since(start)
	return nil
}

// stages says where the time of the timed part went.
func (s *scoring) stages() []bench.Stage {
	busy := int64(0)
	for _, ns := range s.work.BucketNS {
		busy += ns
	}
	workers := max(1, s.Base.Engine.Workers)
	wall := s.watch.total().Seconds
	encode := time.Duration(busy).Seconds()
	return []bench.Stage{
		{Name: "tokenize", Workers: s.Workers, BusyS: s.tally.tokenizing.Seconds(), WaitS: s.tally.waiting.Seconds()},
		{Name: "pair", Workers: s.Workers, BusyS: s.tally.pairing.Seconds()},
		{Name: "pack", Workers: 1, BusyS: s.pack.Seconds(), WaitS: max(0, (s.times.Next - s.pack).Seconds())},
		{Name: "encode", Workers: workers, BusyS: encode, WaitS: max(0, float64(workers)*wall-encode)},
		{Name: "collect", Workers: 1, BusyS: (s.times.Submit + s.times.Done).Seconds(), WaitS: s.times.Collect.Seconds()},
	}
}
