package bench

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"encbench/bench/env"
	"encbench/engine"
	"encbench/engine/feed"
)

// stageTimes accumulates where the goroutines of all samples spent their time.
type stageTimes struct {
	wall     float64
	feed     feed.Stats
	pipeline engine.PipelineTimes
	encode   time.Duration
}

// busy adds a sample's encoding.
func (t *stageTimes) busy(w engine.Work, wall float64) {
	t.wall += wall
	for _, ns := range w.BucketNS {
		t.encode += time.Duration(ns)
	}
}

// waits adds a pass's other stages.
func (t *stageTimes) waits(s feed.Stats, p engine.PipelineTimes) {
	t.feed.ReadBusy += s.ReadBusy
	t.feed.ReadWait += s.ReadWait
	t.feed.TokenizeBusy += s.TokenizeBusy
	t.feed.TokenizeWait += s.TokenizeWait
	t.feed.ChunkBusy += s.ChunkBusy
	t.feed.PackBusy += s.PackBusy
	t.feed.PackWait += s.PackWait
	t.pipeline.Submit += p.Submit
	t.pipeline.Collect += p.Collect
	t.pipeline.Done += p.Done
}

// table makes the stage table. Times are wall times, so a stage that waits for a
// CPU counts as busy: when the stages share CPUs (shared), nothing is known of
// what was hidden behind what. Otherwise a stage's overlap is the least share of
// its busy time that must have been: 1 − encoder idle ÷ busy.
func (t *stageTimes) table(workers, feeders int, shared bool) []Stage {
	idle := max(0, float64(workers)*t.wall-t.encode.Seconds())
	stage := func(name string, n int, busy, wait time.Duration) Stage {
		s := Stage{Name: name, Workers: n, BusyS: busy.Seconds(), WaitS: max(0, wait.Seconds())}
		if s.BusyS > 0 && !shared {
			hidden := max(0, 1-idle/s.BusyS)
			s.Overlap = &hidden
		}
		return s
	}
	encode := Stage{Name: "encode", Workers: workers, BusyS: t.encode.Seconds(), WaitS: idle}
	return []Stage{
		stage("read", 1, t.feed.ReadBusy, t.feed.ReadWait),
		stage("tokenize", feeders, t.feed.TokenizeBusy, t.feed.TokenizeWait),
		stage("chunk", feeders, t.feed.ChunkBusy, 0),
		stage("pack", 1, t.feed.PackBusy+t.pipeline.Submit, t.feed.PackWait),
		encode,
		stage("collect", 1, t.pipeline.Done, t.pipeline.Collect),
	}
}

// bottleneck names the one stage that bounds the rate: where stages share the
// CPUs the one that took most of them, else the one that was busiest.
func bottleneck(stages []Stage, wall float64, shared bool) string {
	var total float64
	for _, s := range stages {
		total += s.BusyS
	}
	if wall <= 0 || total <= 0 {
		return ""
	}
	share := func(s Stage) float64 {
		if shared {
			return s.BusyS / total
		}
		return s.BusyS / (wall * float64(max(s.Workers, 1)))
	}
	order := append([]Stage{}, stages...)
	slices.SortStableFunc(order, func(a, b Stage) int { return cmp.Compare(share(b), share(a)) })
	first, next := order[0], order[1]
	if shared {
		return fmt.Sprintf("%s: %.1f %% of the busy time of all stages, which share the CPUs; next is %s with %.1f %%", first.Name, 100*share(first), next.Name, 100*share(next))
	}
	return fmt.Sprintf("%s: busy %.1f %% of the time; next is %s with %.1f %%", first.Name, 100*share(first), next.Name, 100*share(next))
}

// summarize refreshes everything in the record that follows from the samples.
func (a *Arm) summarize() {
	r := a.Record
	corpusRows := r.Corpus.Selection.Corpus
	project(r.Samples, corpusRows, r.Corpus.Documents, r.Corpus.TextBytes)
	if r.Model.StandInTokenizer {
		withoutText(r)
	}
	r.Rates = RatesOf(r.Samples)
	if r.Projection != nil && r.Rates.Docs.Median > 0 {
		r.Projection.CorpusS = float64(r.Projection.Documents) / r.Rates.Docs.Median
	}
	busy := r.Engine.Threads + r.Engine.Feeders
	if len(r.Engine.Devices) > 0 { // which encode beside the processor
		busy = r.Engine.Feeders
	}
	shared := busy > env.CPUs(r.Env)
	r.Stages = a.stages.table(r.Engine.Workers, r.Engine.Feeders, shared)
	r.Bottleneck = bottleneck(r.Stages, a.stages.wall, shared)
	r.Padding = Padding{Real: a.sums.Real, Padded: a.sums.Padded}
	if a.sums.Real > 0 {
		r.Padding.Linear = float64(a.sums.Padded) / float64(a.sums.Real)
		r.Padding.Quadratic = float64(a.sums.PaddedSq) / float64(a.sums.RealSq)
	}
	var model, issued []float64
	for _, s := range r.Samples {
		model = append(model, s.per(s.ModelFLOP))
		issued = append(issued, s.per(s.IssuedFLOP))
	}
	utilization(&r.MFU, Summarize(model).Median)
	utilization(&r.HFU, Summarize(issued).Median)
}

// withoutText takes documents and text out of a record whose tokenizer cuts text into
// other numbers of tokens than the model's own would: a tenth more or less is more than
// docs/s is read for. Chunks and tokens are what they are.
func withoutText(r *Record) {
	r.Projection = nil
	for i := range r.Samples {
		s := &r.Samples[i]
		s.Docs, s.DocsPerS, s.TextBytes = 0, 0, 0
	}
}

func utilization(u *Utilization, flops float64) {
	u.FLOPS = flops
	if u.Peak > 0 {
		u.Value = flops / u.Peak
	}
}

// CorpusLedgers fills the record's corpus counts and the overlap and truncation
// ledgers from what went through a feeder.
func CorpusLedgers(r *Record, s feed.Stats) {
	r.Corpus.Documents, r.Corpus.Chunks, r.Corpus.Tokens = s.Docs, s.Rows, s.Tokens
	r.Corpus.TextBytes, r.Corpus.LongestTk = s.TextBytes, s.Longest
	r.Corpus.Selection.Corpus = append([]int64{}, s.RowsByBucket[:]...)
	r.Overlap = Overlap{
		Factor:  1,
		Tokens:  s.Content - s.Tokens,
		Special: s.Rows * int64(r.Protocol.SpecialTk),
		Prompt:  s.Rows * int64(r.Protocol.PromptTk),
	}
	if s.Tokens > 0 {
		r.Overlap.Factor = float64(s.Content) / float64(s.Tokens)
	}
	r.Truncation.Policy = "chunk"
	r.Truncation.Empty, r.Truncation.Repaired = s.Empty, s.Repaired
}
