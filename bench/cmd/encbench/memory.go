package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"

	"encbench/bench"
	"encbench/bench/assets"
	"encbench/bench/env"
	"encbench/bench/report"
	"encbench/engine/feed"
	"encbench/engine/model"
	"encbench/engine/onnx"
	"encbench/engine/ort"
)

// The parts of a prediction, as records name them.
const (
	partProcess   = "process"   // resident already, and what the Go heap may grow by
	partWeights   = "weights"   // as the runtime holds them, and the runtime itself
	partTables    = "tables"    // pages of the weights file
	partRuns      = "runs"      // values of the concurrent runs
	partBatches   = "batches"   // ids and vectors in flight
	partVectors   = "vectors"   // of documents, and what is searched of them
	partReference = "reference" // of the gate, computed before the encoder is opened
)

// libraryBytes are code and data of the runtime that become resident with its first
// session, and workers' stacks.
const libraryBytes = 24 << 20

// plannedEncoder is an encoder that will be opened.
type plannedEncoder struct {
	model   *loadedModel
	layout  ort.Layout
	longest int        // longest row, in tokens
	limit   feed.Limit // of a batch
	feeders int
	devices int // that it runs on; 0 is the processor
	// ids are the rows that it will encode, where they are known.
	ids iter.Seq[[]int32]
	// packed are the tokens of batches that are made beforehand.
	packed int64
}

// run gives the largest run of the encoder: rows of the longest length.
func (p *plannedEncoder) run() (rows, tokens int) {
	rows = p.layout.UBatch
	if rows == 0 { // rows of equal length share a run
		rows = max(1, ort.GroupTokens/p.longest)
	}
	rows = min(rows, p.limit.Rows)
	if p.limit.Tokens > 0 {
		rows = min(rows, max(1, p.limit.Tokens/p.longest))
	}
	return rows, p.longest
}

// parts gives what the encoder will hold, in the order of the constants.
func (p *plannedEncoder) parts() []bench.MemoryPart {
	m, l := p.model, p.layout
	rows, tokens := p.run()
	f := onnx.Memory(m.dir, onnx.Options{Mask: l.UBatch > 1, Types: m.types()}, rows, tokens)
	sessions := int64(1)
	if l.Intra > 1 {
		sessions = int64(l.Workers)
	}
	tables := f.Mapped
	if p.ids != nil {
		tables = min(tables, onnx.TouchedBytes(m.dir, p.ids))
	}
	// A batch is in every slot, one is made and one is taken apart; slices grow in steps
	// of a quarter and a half.
	const held, grown = 4, 2
	batch := int64(p.limit.Rows) * int64(p.longest)
	if p.limit.Tokens > 0 {
		batch = int64(p.limit.Tokens)
	}
	bytes := held*grown*4*batch + held*4*int64(p.limit.Rows)*int64(m.dir.Dim()) + 4*p.packed
	bytes += int64(2*p.feeders+2) * feederBlock
	if p.devices > 0 {
		// The values of runs are the device's; a session reads the weights once.
		return []bench.MemoryPart{{Name: partWeights, Bytes: f.Packed + f.Computed}, {Name: partTables, Bytes: tables}, {Name: partBatches, Bytes: bytes * int64(p.devices)}}
	}
	return []bench.MemoryPart{
		{Name: partWeights, Bytes: sessions * (f.Packed + f.Computed)}, {Name: partTables, Bytes: sessions * tables},
		{Name: partRuns, Bytes: int64(l.Workers) * f.Run}, {Name: partBatches, Bytes: bytes},
	}
}

// feederBlock is a block of documents with its ids, and a share of a tokenizer's cache.
const feederBlock = 2 << 20

// bytes is the sum of the parts; 0 for a bare graph, of which nothing is known.
func (p *plannedEncoder) bytes() (n int64) {
	if p.model.dir == nil {
		return 0
	}
	for _, part := range p.parts() {
		n += part.Bytes
	}
	return n
}

// memoryPlan is all that a command will hold.
type memoryPlan struct {
	encoders []plannedEncoder
	what     string // the memory of which is said; "" = of all there is
	vectors  int64  // bytes of vectors that are kept
	loaded   bool   // the runtime had a session before: its library is resident already
	// advice says what makes runs, batches and vectors smaller, each in words that follow
	// "use".
	advice struct{ runs, batches, vectors string }
}

// referenceBytes is what the reference encoder of the gate takes: every weight as
// float32, and the states of a few short rows in float64.
func referenceBytes(m *loadedModel) int64 {
	dir := m.dir
	if m.original != nil {
		dir = m.original
	}
	n, _ := dir.Parameters()
	return 4*n + 64<<20
}

// predict gives the parts of the peak that is to come: what is resident already, with a
// Go heap that may double before it is collected, and the larger of the reference, where
// it has to be computed, and the encoders.
func (p *memoryPlan) predict(resident, heap, reference int64) []bench.MemoryPart {
	parts := []bench.MemoryPart{{Name: partProcess, Bytes: resident + heap}}
	sum := int64(0)
	for i := range p.encoders {
		for _, part := range p.encoders[i].parts() {
			sum += part.Bytes
			at := slices.IndexFunc(parts, func(q bench.MemoryPart) bool { return q.Name == part.Name })
			if at < 0 {
				parts = append(parts, part)
			} else {
				parts[at].Bytes += part.Bytes
			}
		}
	}
	if !p.loaded {
		parts[1].Bytes, sum = parts[1].Bytes+libraryBytes, sum+libraryBytes
	}
	if p.vectors > 0 {
		parts, sum = append(parts, bench.MemoryPart{Name: partVectors, Bytes: p.vectors}), sum+p.vectors
	}
	if reference > sum {
		return append(parts[:1], bench.MemoryPart{Name: partReference, Bytes: reference})
	}
	return parts
}

// admit predicts the memory of a command before anything large is loaded, says it, and
// refuses what cannot fit. The references of the gate are then computed where they are
// missing: before the encoder is opened, so that the two never lie in memory together.
// Bare graphs, of which nothing is known, are let through.
func (a *app) admit(ctx context.Context, p *memoryPlan) (bench.Memory, error) {
	p.encoders = slices.DeleteFunc(p.encoders, func(e plannedEncoder) bool { return e.model.dir == nil })
	if len(p.encoders) == 0 {
		return bench.Memory{}, nil
	}
	var reference int64
	missing := map[*loadedModel]int{}
	for _, e := range p.encoders {
		known, err := a.hasReferences(ctx, e.model, e.longest)
		if err != nil {
			return bench.Memory{}, err
		}
		if !known {
			reference = max(reference, referenceBytes(e.model))
			missing[e.model] = max(missing[e.model], e.longest)
		}
	}
	room := a.room()
	resident := env.RSS()
	m := bench.Memory{Available: room.Bytes}
	if room.From != "" {
		m.Available += resident
		if room.Total > 0 { // shared pages are resident and in no group's account
			m.Available = min(m.Available, room.Total)
		}
	}
	m.Parts = p.predict(resident, goHeap(), reference)
	for _, part := range m.Parts {
		m.Predicted += part.Bytes
	}
	if room.From != "" && m.Predicted > m.Available {
		return m, p.refusal(m, room)
	}
	if passed := env.PeakRSS() - m.Predicted; passed > 0 { // the peak is behind
		m.Parts[0].Bytes, m.Predicted = m.Parts[0].Bytes+passed, m.Predicted+passed
	}
	a.sayMemory(p.what, m)
	for m, longest := range missing {
		if _, _, err := a.references(ctx, m, longest); err != nil {
			return bench.Memory{}, err
		}
	}
	if len(missing) > 0 {
		debug.FreeOSMemory()
	}
	return m, nil
}

// sayMemory prints a prediction.
func (a *app) sayMemory(what string, m bench.Memory) {
	if what != "" {
		what = " of " + what
	}
	available := ""
	if m.Available > 0 {
		available = ", " + report.Size(m.Available) + " available"
	}
	fmt.Fprintf(a.stderr, "memory%s: %s predicted at the peak%s\n", what, report.Size(m.Predicted), available)
}

// room gives the memory that the process can still take.
func (a *app) room() env.Room {
	if a.memory != nil {
		return a.memory()
	}
	return env.AvailableMemory()
}

// hasReferences says whether the gate's references are in the cache.
func (a *app) hasReferences(ctx context.Context, m *loadedModel, longest int) (bool, error) {
	s, err := a.store()
	if err != nil {
		return false, err
	}
	name, err := m.referenceName(m.probes(longest))
	if err != nil {
		return false, err
	}
	_, err = s.VerifyDerived(ctx, name)
	if errors.Is(err, assets.ErrAbsent) || errors.Is(err, assets.ErrCorrupt) {
		return false, nil
	}
	return err == nil, err
}

// refusal says by how much a plan does not fit, and what to change.
func (p *memoryPlan) refusal(m bench.Memory, room env.Room) error {
	where := fmt.Sprintf("of the machine's %s", report.Size(room.Total))
	if room.From == env.RoomGroup {
		where = fmt.Sprintf("of the control group's limit of %s", report.Size(room.Total))
	}
	largest := m.Parts[1]
	for _, part := range m.Parts[2:] {
		if part.Bytes > largest.Bytes {
			largest = part
		}
	}
	e := p.encoders[0]
	for _, other := range p.encoders[1:] {
		if r, n := other.run(); r*n*other.layout.Workers > largestRun(&e) {
			e = other
		}
	}
	var what, advice string
	switch largest.Name {
	case partWeights, partTables:
		what, advice = "weights of "+count(len(p.encoders), "encoder"), "use a smaller model"
		if len(p.encoders) > 1 {
			advice = "measure fewer configurations at once, or a smaller model"
		}
	case partRuns:
		rows, tokens := e.run()
		what = fmt.Sprintf("values of %s at a time, of %s of %s each", count(e.layout.Workers, "run"), count(rows, "row"), count(tokens, "token"))
		advice = "use " + p.advice.runs
	case partBatches:
		what, advice = "batches in flight", "use "+p.advice.batches
	case partVectors:
		what, advice = "vectors of the documents", "use "+p.advice.vectors
	case partReference:
		what, advice = "the reference encoder's weights in float32 (computed once, cached afterwards)", "use a smaller model, or compute the reference on a larger machine and bring its cache"
	}
	return fmt.Errorf("not enough memory: %s are needed at the peak, %s are available %s; %s of what is needed are %s; %s",
		report.Size(m.Predicted), report.Size(m.Available), where, report.Size(largest.Bytes), what, advice)
}

// largestRun is the tokens of all concurrent runs.
func largestRun(e *plannedEncoder) int {
	rows, tokens := e.run()
	return rows * tokens * e.layout.Workers
}

// types says whether the model's graph takes token types.
func (m *loadedModel) types() bool {
	return m.dir != nil && m.dir.Kind == model.Reranker && m.dir.Types() > 1
}
