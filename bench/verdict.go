package bench

import (
	"fmt"
	"math"
	"strings"
)

// What a record needs before its figures may be published.
const (
	PublishSamples = 10   // samples at least
	PublishSeconds = 60   // timed seconds at least
	PublishWidth   = 0.01 // interval of the headline rate within this share of the median
)

// The values of Record.Status, Accuracy.Level, Schedule.Profile and
// Selection.Kind that rules depend on.
const (
	StatusRunning     = "running"
	StatusComplete    = "complete"
	StatusInterrupted = "interrupted"
	StatusFailed      = "failed"

	LevelReference   = "reference"
	LevelConsistency = "consistency-only"

	ProfileQuick = "quick"

	SelectionAll        = "all"
	SelectionStratified = "stratified"
)

// Judge decides whether the figures of r may be published. noise holds what
// disturbed the machine during the run, a sentence each; none means a quiet
// machine. Every reason against is a sentence with the figure it rests on and
// what to do about it.
//
// A record whose commit is unknown, or whose tree was changed, is not
// publishable: nobody else could build the program that made it.
func Judge(r *Record, noise []string) Verdict {
	v := Verdict{Reasons: []string{}}
	against := func(format string, args ...any) {
		v.Reasons = append(v.Reasons, fmt.Sprintf(format, args...))
	}
	if !r.Accuracy.Passed {
		against("the accuracy gate did not pass (%s), so there is no rate; check the model with \"encbench model verify\"", r.Accuracy.outcome())
	} else if !r.Accuracy.Referenced() {
		against("accuracy is %s: the vectors were checked against themselves, not against a reference; use the model's Hugging Face directory instead of a bare .onnx", orUnknown(r.Accuracy.Level))
	}
	if r.unmeasured() {
		against("%s", unmeasuredText(r))
	}
	v.Reasons = append(v.Reasons, deviceReasons(&r.Engine)...)
	if r.Model.Synthetic {
		against("the model has random weights: its speed says nothing about accuracy; use trained weights")
	}
	switch {
	case r.Status == StatusFailed && !r.Accuracy.Passed: // said already
	case r.Status == StatusFailed:
		against("the run failed after %s; mend the cause and run it to the end", count(len(r.Samples), "sample"))
	case r.Status != StatusComplete:
		against("the run is %s after %s; run it to the end", orUnknown(r.Status), count(len(r.Samples), "sample"))
	}
	if r.Schedule.Profile == ProfileQuick {
		against("profile quick is for a first look; use --profile standard")
	}
	switch {
	case r.Tool.Commit == "":
		against("the commit of this encbench is unknown, so nobody can build it again; build it inside its git checkout")
	case r.Tool.Dirty:
		against("this encbench was built from changed files on top of commit %s; commit them and build again", short(r.Tool.Commit))
	}
	for _, n := range noise {
		against("the machine was not quiet: %s; stop other work and run again", strings.TrimRight(n, "."))
	}
	if r.Accuracy.Passed { // how sure a rate is does not matter where there is none
		if n := len(r.Samples); n < PublishSamples {
			against("%s, %d are needed; use --repeats %d or more", count(n, "sample"), PublishSamples, PublishSamples)
		}
		if s := r.TimedSeconds(); s < PublishSeconds {
			against("%s s were timed, %d s are needed; use --min-time %ds or more", beside(s, PublishSeconds), PublishSeconds, PublishSeconds)
		}
		if unit, width := r.wide(); width != "" {
			against("the 95 %% interval of %s reaches %s %% from the median, %.0f %% is allowed; use a longer --min-time or a quieter machine",
				unit, width, 100*PublishWidth)
		}
		if n := r.bucketGaps(); float64(n) > gapLimit*float64(r.Corpus.Chunks) {
			against("%s of %s have lengths that the sample left out, so their cost is interpolated; use a larger --sample",
				Thousands(n), counted(r.Corpus.Chunks, "chunk"))
		}
	}
	v.Publishable = len(v.Reasons) == 0
	return v
}

// gapLimit is the share of the corpus that may be priced by interpolation.
const gapLimit = 0.01

// bucketGaps counts the chunks of the corpus in length buckets of which the
// sample holds no chunk: the projection prices them from their neighbours.
func (r *Record) bucketGaps() int64 {
	s := r.Corpus.Selection
	if len(s.Rows) == 0 {
		return 0 // not known yet
	}
	var n int64
	for b, rows := range s.Corpus {
		if rows > 0 && (b >= len(s.Rows) || s.Rows[b] == 0) {
			n += rows
		}
	}
	return n
}

// wide gives the headline's unit and how far its interval reaches from the
// median, in percent, when it is an interval and reaches too far; else "".
func (r *Record) wide() (unit, width string) {
	e, unit := r.Headline()
	if e.N < minInterval || e.HalfWidth() <= PublishWidth {
		return unit, ""
	}
	return unit, beside(100*e.HalfWidth(), 100*PublishWidth)
}

// outcome describes a gate that did not pass.
func (a *Accuracy) outcome() string {
	switch {
	case a.Error != "":
		return a.Error
	case len(a.Probes) == 0:
		return "no probe was run"
	}
	return a.Figures()
}

// Figures says how far the probes were from the reference, beside the limits:
// "1 − cosine at most 2.4e-13 (mean 1.1e-13), limit 1e-6; a value differs by at
// most 1.2e-7, limit 2e-6". Distances from one, because a cosine with a few
// decimals reads as one, or as its own limit.
//
// Of logits it says how far they were, as a share of their spread: "a logit is off by
// at most 1.1e-6 of the spread of 2.31, limit 0.001".
func (a *Accuracy) Figures() string {
	if a.Output == OutputLogits {
		s := fmt.Sprintf("a logit is off by at most %s of the spread of %.3g", Deviation(a.MaxDiff), a.Spread)
		if a.DiffLimit > 0 {
			s += ", limit " + Deviation(a.DiffLimit)
		}
		return s + a.batchFigures()
	}
	mean := Deviation(1 - a.Mean)
	if a.MeanLimit > 0 {
		mean += ", limit " + Deviation(1-a.MeanLimit)
	}
	s := fmt.Sprintf("1 − cosine at most %s (mean %s), limit %s", Deviation(1-a.Min), mean, Deviation(1-a.Threshold))
	switch {
	case a.DiffLimit > 0:
		s += fmt.Sprintf("; a value differs by at most %s, limit %s", Deviation(a.MaxDiff), Deviation(a.DiffLimit))
	case a.MaxDiff > 0:
		s += fmt.Sprintf("; a value differs by at most %s, no limit", Deviation(a.MaxDiff))
	}
	return s + a.batchFigures()
}

// batchFigures says how far a row's values depended on its batch, where that has a
// limit of its own.
func (a *Accuracy) batchFigures() string {
	if a.BatchLimit == 0 {
		return ""
	}
	return fmt.Sprintf("; alone and in a batch by at most %s, limit %s", Deviation(a.BatchDiff), Deviation(a.BatchLimit))
}

// unmeasured says whether the weights were converted and nobody knows what that costs
// on real texts: one passed gate of random rows is little.
func (r *Record) unmeasured() bool {
	return r.Accuracy.Passed && r.Accuracy.Referenced() && r.Accuracy.Level != LevelReference &&
		r.Accuracy.Output != OutputLogits && r.Accuracy.Retrieval == nil && !r.Model.Synthetic
}

func unmeasuredText(r *Record) string {
	return fmt.Sprintf("the nDCG ratio of the %s weights is not measured; run \"encbench model verify %s --dtype %s\"", r.Model.Stored, r.Model.Name, r.Model.Stored)
}

// driftLimit is the change between the first and the last third of a run from
// which it is worth a warning.
const driftLimit = 0.02

// Warnings gives the caveats that follow from what r holds. They do not decide
// whether it is publishable; Judge does.
func Warnings(r *Record) []Warning {
	w := []Warning{}
	add := func(code, advice, format string, args ...any) {
		w = append(w, Warning{Code: code, Text: fmt.Sprintf(format, args...), Advice: advice})
	}
	statisticWarnings(r, add)
	inputWarnings(r, add)
	machineWarnings(r, add)
	return append(w, deviceWarnings(&r.Engine)...)
}

type addWarning func(code, advice, format string, args ...any)

func statisticWarnings(r *Record, add addWarning) {
	n := len(r.Samples)
	switch {
	case n == 1:
		add("few-samples", "--repeats 10", "one sample has no interval")
	case n > 1 && n < minInterval:
		add("few-samples", "--repeats 10", "%d samples have no 95 %% interval: their range, shown instead, covers the median with %.1f %% at most", n, 100*Coverage(n))
	case n > 1 && n < PublishSamples:
		add("few-samples", "--repeats 10", "%d samples: the interval rests on little", n)
	}
	if unit, width := r.wide(); width != "" {
		add("wide-interval", "--min-time 60s on a machine with nothing else running", "the 95 %% interval of %s reaches %s %% from the median", unit, width)
	}
	// Tokens, because a stream's documents and chunks are not of one length.
	tokens := fiveRates[2].values(r.Samples)
	if d := Drift(tokens); math.Abs(d) > driftLimit {
		way, why := "slower", "other processes that became busy, heat, a quota that ran out, or memory may be the cause"
		if d > 0 {
			way, why = "faster", "other processes may have been busy at first, or the warm-up too short"
		}
		add("drift", "", "the last third of the run was %.1f %% %s than the first: %s", 100*math.Abs(d), way, why)
	}
	if out := Outliers(tokens); len(out) > 0 {
		at := make([]string, len(out))
		for i, k := range out {
			at[i] = fmt.Sprint(k + 1)
		}
		add("outliers", "", "%s of %d far from the others (modified z-score above %.1f), kept: sample %s", count(len(out), "sample"), n, outlierScore, strings.Join(at, ", "))
	}
}

func inputWarnings(r *Record, add addWarning) {
	switch {
	case r.Status == StatusInterrupted:
		add("interrupted", "", "the run was interrupted: these figures cover what was measured until then")
	case r.Status == StatusFailed && len(r.Samples) > 0:
		add("failed", "", "the run failed: these figures cover what was measured until then")
	}
	if p := r.Projection; p != nil {
		add("sample-projection", "", "docs/s is projected from chunks of %s of %s; its interval covers timing, not the choice of the chunks",
			Thousands(p.FromDocs), counted(p.Documents, "document"))
	}
	selectionWarnings(r, add)
	if r.Corpus.Repeats != "" {
		add("repetition", "", "the corpus repeats text: %s", r.Corpus.Repeats)
	}
	if r.Model.Synthetic {
		add("synthetic-model", "", "synthetic weights: speed only, the vectors mean nothing")
	}
	if r.unmeasured() {
		add("retrieval-unmeasured", fmt.Sprintf("encbench model verify %s --dtype %s", r.Model.Name, r.Model.Stored), "the nDCG ratio of the %s weights is not measured", r.Model.Stored)
	}
	if r.Model.StandInTokenizer {
		add("stand-in-tokenizer", "encbench model synth with --tokenizer and the model's own tokenizer.json", "the tokenizer is a stand-in, which makes other numbers of tokens of a text: no docs/s")
	}
	if r.Accuracy.Level == LevelConsistency {
		add("consistency-only", "--model with the Hugging Face directory", "a bare .onnx has no reference: only its consistency was checked")
	}
	if t := r.Truncation; t.Dropped > 0 {
		add("truncated", "chunking instead of truncation", "%s cut, %s dropped: that text was not encoded", counted(t.DocsCut, "document"), counted(t.Dropped, "token"))
	}
	if n := r.Truncation.BadLines; n > 0 {
		add("bad-lines", "--strict stops at the first", "%s left out of the corpus", counted(n, "broken line"))
	}
	if n := r.Truncation.Repaired; n > 0 {
		add("invalid-utf8", "", "%s repaired (replaced by U+FFFD)", counted(n, "invalid UTF-8 sequence"))
	}
	if n := r.Truncation.Empty; n > 0 {
		each := "each with"
		if n == 1 {
			each = "with"
		}
		add("empty-documents", "", "%s counted, %s one chunk of special tokens", counted(n, "empty document"), each)
	}
}

// overlapBatches is the number of batches a pass from which reading is mostly
// hidden: the first batch has nothing before it to be read behind.
const overlapBatches = 3

func selectionWarnings(r *Record, add addWarning) {
	s, batch := r.Corpus.Selection, int64(r.Protocol.BatchChunks())
	if s.Kind == SelectionStratified && s.Chunks > 0 && batch > 0 && r.Protocol.Region != RegionEncode {
		if n := (s.Chunks + batch - 1) / batch; n < overlapBatches {
			noun := "batches"
			if n == 1 {
				noun = "batch"
			}
			add("few-batches", fmt.Sprintf("--sample %d", overlapBatches*batch), "a pass is %d %s, so reading and encoding hardly overlap", n, noun)
		}
	}
	if n := r.bucketGaps(); n > 0 {
		add("bucket-gaps", "a larger --sample", "%s of %s have lengths that the sample left out: their cost is interpolated from neighbouring lengths",
			Thousands(n), counted(r.Corpus.Chunks, "chunk"))
	}
}

func machineWarnings(r *Record, add addWarning) {
	threads, lim := r.Engine.Threads, r.Env.Limits
	switch {
	case lim.Quota > 0 && float64(threads) > lim.Quota:
		add("oversubscribed", fmt.Sprintf("--threads %d", max(1, int(lim.Quota))), "%s on a quota of %.3g CPUs", count(threads, "thread"), lim.Quota)
	case lim.Affinity > 0 && threads > lim.Affinity:
		add("oversubscribed", fmt.Sprintf("--threads %d", lim.Affinity), "%s on %s of the affinity mask", count(threads, "thread"), count(lim.Affinity, "CPU"))
	case r.Env.CPU.Cores > 0 && threads > r.Env.CPU.Cores:
		add("smt", fmt.Sprintf("--threads %d", r.Env.CPU.Cores), "%s on %s", count(threads, "thread"), count(r.Env.CPU.Cores, "physical core"))
	}
	if g := r.Env.CPU.Governor; g != "" && g != "performance" {
		add("governor", "set the governor to performance", "the frequency governor is %s: the clock follows the load", g)
	}
	if m := r.MFU.Value; m > 1 && r.Model.Computed != dtypeInt8 { // the peak is float32's
		add("peak", "run again on a quiet machine", "MFU is %.2f: the probe that measured the peak was disturbed", m)
	}
	if strings.Contains(strings.ToLower(r.MFU.Source), "uncertain") {
		add("peak-uncertain", "run again on a quiet machine", "the peak that MFU and HFU are shares of is uncertain: %s", r.MFU.Source)
	}
	if m, limit := r.Memory.PeakRSS, lim.MemoryBytes; limit > 0 && float64(m) > 0.9*float64(limit) {
		add("memory", "", "peak memory is within 10 %% of the limit of %.1f GB", float64(limit)/1e9)
	}
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// short is the customary abbreviation of a commit.
func short(commit string) string { return commit[:min(len(commit), 12)] }

func count(n int, noun string) string { return counted(int64(n), noun) }

// counted writes n with a comma between groups of three digits and its noun.
func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Thousands(n) + " " + noun + "s"
}
