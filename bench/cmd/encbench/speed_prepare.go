package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"encbench/bench"
	"encbench/corpus"
	"encbench/corpus/chunk"
	"encbench/engine"
	"encbench/engine/feed"
	"encbench/engine/ort"
)

// arm is a configuration with its encoder open.
type arm struct {
	bench.Arm
	config   config
	model    *loadedModel // on the weights of the configuration's type
	run      deviceRun    // on devices
	warnings []bench.Warning
}

// label names an arm among several.
func (a *arm) label() string {
	c := a.config
	u := "auto"
	if c.ubatch > 0 {
		u = fmt.Sprint(c.ubatch)
	}
	if device := c.device; device != "cpu" {
		return fmt.Sprintf("%s %s %s %s ubatch %s", device, a.Record.Engine.Engaged, c.region, bench.ProtocolName(c.chunk, c.overlap, c.batch, c.batchTokens), u)
	}
	return fmt.Sprintf("%s %s %s ubatch %s threads %d", a.model.facts.Stored, c.region, bench.ProtocolName(c.chunk, c.overlap, c.batch, c.batchTokens), u, c.threads)
}

// prepare opens the encoder of a configuration, gates it, and makes its arm.
func (s *speedRun) prepare(ctx context.Context, c config) error {
	m, err := s.modelOf(ctx, c.dtype)
	if err != nil {
		return err
	}
	overhead := m.tok.Template().Overhead()
	window, err := m.window(c)
	if err != nil {
		return err
	}
	a := &arm{config: c, model: m}
	r := &bench.Record{
		Schema: bench.SchemaVersion, Tool: tool(), Status: bench.StatusRunning,
		Command: os.Args, Started: s.began.UTC(), Schedule: s.schedule,
		Model: m.facts, Env: s.facts,
		Protocol: bench.Protocol{
			Name:  bench.ProtocolName(c.chunk, c.overlap, c.batch, c.batchTokens),
			Chunk: c.chunk, Overlap: c.overlap, Batch: c.batch, BatchTokens: c.batchTokens, Region: c.region, DType: m.facts.Computed,
			Prompt: m.prompt, Pooling: m.pooling, Normalize: m.normalize,
			SpecialTk: overhead, PromptTk: len(m.promptIDs),
		},
	}
	a.Record = r
	r.Cold.ModelLoad = s.modelTime.Seconds()
	r.Memory, r.Search = s.memory, s.searches[c]

	sel, err := s.selection(ctx, c, window)
	if err != nil {
		return err
	}
	open, gate := s.openEncoder, s.gate
	if len(s.places[c.device].cuda) > 0 {
		open, gate = s.openDevices, s.gateDevices
	}
	if err := open(ctx, a); err != nil {
		return err
	}
	// From here on the run owns the encoder.
	s.arms = append(s.arms, a)
	r.Protocol.Dim = a.Encoder.Dim()
	if err := gate(ctx, a); err != nil {
		return err
	}
	sel.describe(r, s.input)
	r.Cold.CorpusScan = sel.scan.Seconds()
	a.warnings = append(a.warnings, sel.warnings...)
	a.warnings = append(a.warnings, s.modelWarnings(c)...)
	return s.source(a, sel, window)
}

// window is what a chunk leaves for content.
func (m *loadedModel) window(c config) (chunk.Window, error) {
	overhead := m.tok.Template().Overhead()
	content := c.chunk - overhead - len(m.promptIDs)
	if most := m.maxPositions(); c.chunk > most {
		return chunk.Window{}, usagef("--chunk %d is longer than the %d positions of model %s; use --chunk %d or less", c.chunk, most, m.facts.Name, most)
	}
	w := chunk.Window{Size: content, Overlap: c.overlap}
	if err := w.Validate(); err != nil {
		return w, usagef("--chunk %d leaves %d content tokens beside %d special and %d prompt tokens: %w", c.chunk, content, overhead, len(m.promptIDs), err)
	}
	return w, nil
}

// openEncoder creates the session of an arm.
func (s *speedRun) openEncoder(_ context.Context, a *arm) error {
	c, r := a.config, a.Record
	layout := c.layout()
	mark := time.Now()
	g, err := a.model.build(c.ubatch > 1, c.chunk)
	if err != nil {
		return err
	}
	r.Cold.Import = time.Since(mark).Seconds()
	enc, err := ort.Open(s.rt, g, ort.Options{Layout: layout})
	if err != nil {
		return err
	}
	a.Encoder = enc
	r.Cold.SessionCreate = enc.CreateTime().Seconds()
	u := "auto"
	if c.ubatch > 0 {
		u = fmt.Sprint(c.ubatch)
	}
	r.Engine = bench.Engine{
		Backend: "onnxruntime", Version: s.rt.Version,
		Library: filepath.Base(s.rt.Path), LibrarySHA256: s.rtSHA,
		Device: c.device, DeviceNote: s.places[c.device].note, Threads: c.threads, Workers: layout.Workers, Intra: layout.Intra,
		UBatch: u, HowRun: layout.String(), Optimization: "all", ActivationBits: a.model.activationBits(), Slots: enc.Slots(),
	}
	if c.region != bench.RegionEncode {
		r.Engine.Feeders = c.threads
	}
	return nil
}

// source gives the arm its input and one warm-up batch for every length bucket.
func (s *speedRun) source(a *arm, sel *selection, window chunk.Window) error {
	c := a.config
	opt := feed.Options{Tokenizer: s.model.tok, Window: window, Prompt: s.model.promptIDs, Batch: c.batch, BatchTokens: c.batchTokens, Workers: c.threads}
	warm := sel.Rows
	if s.input.once != nil {
		warm = s.standIns(c)
	}
	a.Warm = bench.WarmBatches(warm, a.Record.Engine.Workers, ort.GroupTokens, c.batch)
	whole := s.sampleN == 0
	switch {
	case sel.All && c.region == bench.RegionEndToEnd:
		a.Source = bench.Documents{Options: opt, Scan: func() (corpus.Scanner, error) { return s.input.open() }}
		if whole {
			a.Window = max(2, s.windowBatches(c))
			a.Settle = bench.Packed{Batches: bench.PackLimit(warm, c.limit())}
		}
		if s.input.once != nil {
			a.Once = true
			s.once(a, opt)
		}
	case c.region == bench.RegionEncode:
		a.Source = bench.Packed{Batches: bench.PackLimit(sel.Rows, c.limit())}
	case c.region == bench.RegionTokenizeEncode:
		opt.Trim = sel.trims
		a.Source = bench.Documents{Options: opt, Scan: func() (corpus.Scanner, error) { return &bench.Texts{Rows: sel.Rows}, nil }}
	default:
		opt.Trim = sel.trims
		a.Source = bench.Documents{Options: opt, Scan: sel.scanFile}
	}
	return nil
}

// standIns are rows of every length bucket for the warm-up of a stream that has
// not been seen yet.
func (s *speedRun) standIns(c config) []bench.Row {
	var out []bench.Row
	special := s.model.tok.Special()
	for b := range engine.Buckets {
		n := min(engine.BucketTop(b), c.chunk)
		if n < 3 || len(out) > 0 && len(out[len(out)-1].IDs) == n {
			continue
		}
		ids := make([]int32, n)
		for i := range ids {
			ids[i] = int32(i*7919) % int32(s.model.facts.Vocab)
		}
		ids[0], ids[n-1] = max(special.CLS, 0), max(special.SEP, 0)
		out = append(out, bench.Row{IDs: ids})
	}
	return out
}

// once makes the source of a stream that can be read only once, and takes its
// hash and what was left out into the record at its end.
func (s *speedRun) once(a *arm, opt feed.Options) {
	var src corpus.Source
	var hashed *corpus.Hashing
	a.Source = bench.Documents{Options: opt, Scan: func() (corpus.Scanner, error) {
		var err error
		if src, err = s.input.open(); err != nil {
			return nil, err
		}
		hashed = corpus.NewHashing(src)
		return hashed, nil
	}}
	a.AtEnd = func() {
		a.Record.Corpus.SHA256 = hashed.Manifest().SHA256
		sel := selection{skipped: src.Skipped()}
		sel.noteSkipped(s.app)
		a.Record.Truncation.BadLines = sel.skipped.Broken
		a.warnings = append(a.warnings, sel.warnings...)
	}
}

// windowBatches is how many batches make about one sample's share of the time.
func (s *speedRun) windowBatches(c config) int {
	const chunksPerThread = 5 // a second, of a small model: only the order of magnitude matters
	seconds := s.schedule.MinTime.Seconds() / float64(s.schedule.Repeats)
	return int(seconds * chunksPerThread * float64(c.threads) / float64(c.chunks()))
}

// modelWarnings are the caveats of the model under a configuration.
func (s *speedRun) modelWarnings(c config) []bench.Warning {
	var out []bench.Warning
	if s.model.dir != nil {
		if n := s.model.dir.MaxSeqLength; n > 0 && n < c.chunk {
			out = append(out, bench.Warning{Code: "longer-than-card",
				Text:   fmt.Sprintf("the model's directory declares at most %d tokens a text, chunks have up to %d", n, c.chunk),
				Advice: fmt.Sprintf("--chunk %d measures the declared length", n)})
		}
	}
	if n := s.model.tokInfo.Truncation; n > 0 {
		out = append(out, bench.Warning{Code: "tokenizer-truncation",
			Text: fmt.Sprintf("tokenizer.json carries a truncation to %d tokens, which is ignored: the chunker decides", n)})
	}
	return out
}

// gate compares the encoder's vectors with the reference's. A failure ends the
// run: without a pass there is no rate.
func (s *speedRun) gate(ctx context.Context, a *arm) error {
	acc, first, err := s.app.gate(ctx, a.model, a.Encoder, a.config.chunk)
	if err != nil {
		return err
	}
	if err := s.app.retrievalOf(ctx, a.model, s.rt, &acc); err != nil {
		return err
	}
	return a.passed(acc, first)
}

// passed takes the outcome of the gate into the record.
func (a *arm) passed(acc bench.Accuracy, first time.Duration) error {
	c := &a.Record.Cold
	c.FirstRun = first.Seconds()
	c.Total = c.ModelLoad + c.Import + c.SessionCreate + c.FirstRun
	a.Record.Accuracy = acc
	if !acc.Passed {
		return fmt.Errorf("accuracy gate failed, so there is no rate: %s\nCompared with %s. Check the model with `encbench model verify`", acc.Error, acc.Reference)
	}
	return nil
}
