package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"encbench/bench"
	"encbench/bench/env"
	"encbench/bench/peers"
	"encbench/engine/model"
	"encbench/engine/onnx"
	"encbench/engine/ort"
	"encbench/engine/synth"
)

// modelsRun is the models part at work.
type modelsRun struct {
	*peersRun
	corpora peerCorpora
	rt      *ort.Runtime
	shape   synth.Shape
	name    string // of the shape, as rows say it
	lengths []lengthCase

	standIns map[model.DType]string // directories that were written
}

// lengthCase is a length of rows on which ModernBERT is measured.
type lengthCase struct {
	tokens, rows int     // rows of so many tokens in a pass
	batches      []int   // of the peer
	overDense    float64 // ours ÷ peer to reach
	overTorch    float64
	long         bool // passes take minutes, and dense forms gigabytes
}

// models runs the arms of model families, of int8 and of the import.
func (r *peersRun) models(ctx context.Context) error {
	shape, err := synth.Find("modernbert-base")
	if err != nil {
		return err
	}
	m := &modelsRun{peersRun: r, shape: shape, name: "ModernBERT-base stand-in", standIns: map[model.DType]string{}, lengths: []lengthCase{
		{tokens: 512, rows: 16, batches: []int{1, 2, 4, 8}, overDense: 1.05, overTorch: 1.15},
		{tokens: 8192, rows: max(2, r.threads), batches: []int{1}, overDense: 5, overTorch: 1.5, long: true},
	}}
	if r.small {
		m.shape.Layers, m.name = 4, m.name+" of 4 layers"
		m.lengths = []lengthCase{{tokens: 128, rows: 2, batches: []int{1, 2}}, {tokens: 1024, rows: 2, batches: []int{1}, long: true}}
	}
	if m.corpora, err = r.app.peerCorpora(ctx); err != nil {
		return err
	}
	if m.rt, err = r.app.runtime(ctx, r.ortLibrary); err != nil {
		return err
	}
	r.result.Versions["onnxruntime (ours)"] = m.rt.Version
	for _, c := range m.lengths {
		if err := m.length(ctx, c); err != nil {
			return err
		}
	}
	if err := m.int8(ctx); err != nil {
		return err
	}
	return m.imports(ctx)
}

// standIn writes the stand-in, once for each type.
func (m *modelsRun) standIn(ctx context.Context, dtype model.DType) (string, error) {
	if dir, ok := m.standIns[dtype]; ok {
		return dir, nil
	}
	tok, err := m.app.synthTokenizer(ctx, m.shape, "")
	if err != nil {
		return "", err
	}
	dir := filepath.Join(m.dir, "modernbert-"+string(dtype))
	fmt.Fprintf(m.app.stderr, "%s, %s: writing its directory\n", m.name, dtype)
	opt := synth.Options{Seed: 1, DType: dtype, Tokenizer: tok.copyTo, Kind: tok.kind}
	if _, err := synth.WriteDirectory(ctx, dir, m.shape, opt); err != nil {
		return "", err
	}
	m.standIns[dtype] = dir
	return dir, nil
}

// apartSamples is how many samples are taken of passes that take minutes: as many as
// are judged without regard to the pairs.
const apartSamples = 6

// length runs the arms of one length.
func (m *modelsRun) length(ctx context.Context, c lengthCase) error {
	what := fmt.Sprintf("%s, %s tokens, ", m.name, bench.Thousands(int64(c.tokens)))
	torch, peak := what+"against transformers", what+"memory at the peak"
	wanted := m.wanted(torch) || c.long && m.wanted(peak)
	for _, form := range denseForms {
		wanted = wanted || m.wanted(what+form.row)
	}
	if !wanted {
		return nil
	}
	dir, err := m.standIn(ctx, model.F32)
	if err != nil {
		return err
	}
	lm, err := m.app.openModel(ctx, modelOptions{name: dir})
	if err != nil {
		return err
	}
	defer lm.close()
	l := &lengthRun{modelsRun: m, lengthCase: c, model: lm}
	if l.texts, err = longRows(m.corpora, lm.tok, c.rows, c.tokens); err != nil {
		return err
	}
	var layout ort.Layout
	if m.wanted(torch) || m.wanted(peak) {
		if layout, err = l.layout(ctx, what); err != nil {
			return err
		}
	}
	if m.wanted(torch) {
		if err := m.refused(torch, l.torch(ctx, torch, layout)); err != nil {
			return err
		}
	}
	for _, form := range denseForms {
		if row := what + form.row; m.wanted(row) {
			if err := m.refused(row, l.dense(ctx, row, form)); err != nil {
				return err
			}
		}
	}
	if c.long && m.wanted(peak) {
		return l.peak(ctx, peak, layout)
	}
	return nil
}

// lengthRun is the measurement of one length.
type lengthRun struct {
	*modelsRun
	lengthCase
	model *loadedModel
	texts []bench.Row
}

// samples are the pairs of an arm.
func (l *lengthRun) samples() int {
	if l.long {
		return min(l.pairs, apartSamples)
	}
	return l.pairs
}

// side opens an encoder of a form on rows and makes it a side; done ends it.
func (l *lengthRun) side(ctx context.Context, rows []bench.Row, layout ort.Layout, form onnx.Options) (s *ourSide, done func() error, err error) {
	g, err := l.model.build(false, l.tokens)
	if err == nil {
		g.Bytes, err = onnx.Build(l.model.dir, form)
	}
	if err != nil {
		return nil, nil, err
	}
	enc, err := ort.Open(l.rt, g, ort.Options{Layout: layout})
	if err != nil {
		return nil, nil, err
	}
	src := bench.Packed{Batches: bench.Pack(rows, layout.Batch)}
	s, err = encodeSide(ctx, filepath.Join(l.dir, fmt.Sprintf("full-%d.jsonl", l.tokens)), rows, src, enc)
	if err != nil {
		return nil, nil, errors.Join(err, enc.Close())
	}
	s.how = "ours: " + layout.String()
	return s, enc.Close, nil
}

// layout is how ours is run: of long rows all threads on one or one thread on each,
// whichever is faster.
func (l *lengthRun) layout(ctx context.Context, what string) (ort.Layout, error) {
	usual := ort.Plan(l.threads, l.rows, 0)
	if !l.long {
		return usual, nil
	}
	best, least := usual, 0.0
	for _, layout := range []ort.Layout{usual, ort.Plan(l.threads, 1, 0)} {
		s, done, err := l.side(ctx, l.texts, layout, onnx.Options{}) // and one pass
		if err != nil {
			return best, err
		}
		seconds, err := s.pass(ctx)
		if err := errors.Join(err, done()); err != nil {
			return best, err
		}
		fmt.Fprintf(l.app.stderr, "%sours %s: %.2f s\n", what, layout, seconds)
		if least == 0 || seconds < least {
			best, least = layout, seconds
		}
	}
	return best, nil
}

// torch times transformers.
func (l *lengthRun) torch(ctx context.Context, row string, layout ort.Layout) error {
	mine, done, err := l.side(ctx, l.texts, layout, onnx.Options{})
	if err != nil {
		return err
	}
	defer done()
	w, err := peers.New(ctx, peers.Start{Python: l.python, Threads: l.threads})
	if err != nil {
		return err
	}
	defer w.Close()
	for _, name := range []string{"python", "torch", "transformers"} {
		l.result.Versions[name] = w.Hello().Versions[name]
	}
	arm := peers.TransformersArm(row, l.tokens, l.threads, l.batches, l.overTorch).For(l.model.dir.Dir, l.cache)
	return l.peerArm(ctx, w, against{arm: arm, row: row, mine: mine, pairs: l.samples(), apart: l.long})
}

// denseForm is a graph that computes scores of all pairs of tokens where a window would
// do.
type denseForm struct {
	row, says string
	options   onnx.Options
	bar       bool  // it is the one that a bar is set for
	tensors   int64 // values for every pair of tokens and head that are held at once, about
}

// denseForms are what most exporters write, and the best that can be done without
// blocks.
var denseForms = []denseForm{
	{"against dense masks", "the same graph, attention of all layers as products with a mask of all pairs", onnx.Options{Plain: true}, true, 4},
	{"against windows as masks", "the same graph, layers with a window by the fastest operator that takes a mask", onnx.Options{DenseWindows: true}, false, 2},
}

// dense times a dense form. Of long rows it is one row on all threads, on both sides:
// two would need twice the memory.
func (l *lengthRun) dense(ctx context.Context, row string, form denseForm) error {
	rows, layout := l.texts, ort.Plan(l.threads, l.rows, 0)
	if l.long {
		rows, layout = rows[:1], ort.Plan(l.threads, 1, 0)
	}
	need := form.tensors * pairBytes(l.model.dir, l.tokens) * int64(layout.Workers)
	if free := env.Collect().Memory.AvailableBytes; need > free {
		l.note("%s was left out: the dense form needs about %.0f GB at once, %.1f GB are free", row, float64(need)/1e9, float64(free)/1e9)
		return nil
	}
	mine, done, err := l.side(ctx, rows, layout, onnx.Options{})
	if err != nil {
		return err
	}
	defer done()
	theirs, end, err := l.side(ctx, rows, layout, form.options)
	if err != nil {
		return err
	}
	defer end()
	check, err := sameVectors("the dense form", mine.vectors, theirs.vectors, l.model.dir.Dim())
	if err != nil {
		return err
	}
	fmt.Fprintf(l.app.stderr, "%s: timing\n", row)
	a := against{row: row, mine: mine, pairs: l.samples(), apart: l.long}
	if form.bar {
		a.arm.Bar = l.overDense
	}
	return l.pair(ctx, a, func() (float64, error) { return theirs.pass(ctx) }, bench.ResultRow{
		PeerName: form.says, Note: notes(check, "both: "+layout.String()),
	})
}

// pairBytes is the size of a float32 for every pair of tokens and head of a layer.
func pairBytes(m *model.Model, tokens int) int64 {
	heads := 0
	for _, l := range m.Layers {
		heads = max(heads, l.Attention.Heads)
	}
	return 4 * int64(heads) * int64(tokens) * int64(tokens)
}

// peakRuns is how many processes are started for the memory at the peak, and
// peakAllowed what it may be beyond the weights.
const (
	peakRuns    = 3
	peakAllowed = 1500e6
)

// peak measures the memory of fresh processes of `encbench speed` on the rows.
func (l *lengthRun) peak(ctx context.Context, row string, layout ort.Layout) error {
	file := filepath.Join(l.dir, fmt.Sprintf("corpus-%d.jsonl", l.tokens))
	err := writeLines(file, len(l.texts), func(i int) any {
		return struct {
			ID   string `json:"_id"`
			Text string `json:"text"`
		}{fmt.Sprint(i), string(l.texts[i].Text)}
	})
	if err != nil {
		return err
	}
	args := []string{
		"speed", "--model", l.model.dir.Dir, "--corpus", file, "--chunk", fmt.Sprint(l.tokens), "--overlap", "0",
		"--batch-size", fmt.Sprint(layout.Batch), "--threads", fmt.Sprint(l.threads), "--sample", "all", "--repeats", "1", "--min-time", "0s", "--format", "json",
	}
	if l.ortLibrary != "" {
		args = append(args, "--ort-library", l.ortLibrary)
	}
	out := bench.ResultRow{Name: row, Unit: "MB of resident memory", Counted: true, Ceiling: true}
	for i := -1; i < peakRuns; i++ { // the first computes the gate's reference vectors, if need be
		fmt.Fprintf(l.app.stderr, "%s: process %d of %d\n", row, i+2, peakRuns+1)
		var record bench.Record
		if _, err := runRecord(ctx, &record, args...); err != nil {
			return err
		}
		if i < 0 {
			continue
		}
		bar := (float64(record.Memory.Weights) + peakAllowed) / 1e6
		out.Ours, out.Bar = append(out.Ours, float64(record.Memory.PeakRSS)/1e6), &bar
		out.Note = fmt.Sprintf("fresh processes of encbench speed, gate included; %s; the bar is the weights' %.0f MB and %.0f MB", record.Engine.HowRun, float64(record.Memory.Weights)/1e6, peakAllowed/1e6)
	}
	return l.add(out)
}
