package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"encbench/bench"
	"encbench/engine/model"
	"encbench/engine/onnx"
	"encbench/engine/ort"
	"encbench/engine/quant"
)

// importSeconds is what the import of a checkpoint of 600 MB may take, without its
// sha256.
const importSeconds = 2

// imports times the import of the stand-in until it could run: descriptions and
// headers read and checked, the graph written, the runtime's session made. Weights stay
// where they are.
func (m *modelsRun) imports(ctx context.Context) error {
	for _, dtype := range []model.DType{model.F32, model.F16} {
		row := fmt.Sprintf("import of the %s, %s", m.name, dtype)
		if !m.wanted(row) {
			continue
		}
		dir, err := m.standIn(ctx, dtype)
		if err != nil {
			return err
		}
		if err := m.importOf(row, dir); err != nil {
			return fmt.Errorf("%s: %w", row, err)
		}
	}
	return nil
}

func (m *modelsRun) importOf(row, dir string) error {
	bar := float64(importSeconds)
	out := bench.ResultRow{Name: row, Unit: "s", Bar: &bar, Ceiling: true}
	var before []float64 // the session
	for i := -1; i < m.pairs; i++ {
		seen, err := m.importOnce(dir)
		if err != nil {
			return err
		}
		if i >= 0 {
			out.Ours, before = append(out.Ours, seen.opened+seen.session), append(before, seen.opened)
		}
		out.Note = fmt.Sprintf("%.2g s of it before the runtime is called; %v", bench.Median(append(before, seen.opened)), seen)
	}
	return m.add(out)
}

// imported is what an import came to.
type imported struct {
	opened    float64 // seconds until the graph was written
	session   float64 // seconds that the runtime took to load it
	allocated uint64  // bytes of the Go heap, in all
	graph     int     // bytes
	weights   int64   // bytes of the file
	narrow    int64   // bytes of tensors that the runtime widens …
	wide      int64   // … to so many, when it loads the graph
}

// String says what was copied and what is converted.
func (i imported) String() string {
	text := fmt.Sprintf("weights of %.0f MB, without their sha256; %.1f MB allocated, a graph of %.0f kB that points into the weights file",
		float64(i.weights)/1e6, float64(i.allocated)/1e6, float64(i.graph)/1e3)
	if i.narrow == 0 {
		return text + "; no weight copied or converted but in the runtime, which packs matrices"
	}
	return text + fmt.Sprintf("; %.0f MB are widened to %.0f MB of float32 by the runtime", float64(i.narrow)/1e6, float64(i.wide)/1e6)
}

// importOnce opens a directory, writes its graph and loads that.
func (m *modelsRun) importOnce(dir string) (seen imported, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	d, err := model.OpenWith(dir, model.Options{})
	if err != nil {
		return seen, err
	}
	defer d.Close()
	graph, err := onnx.Build(d, onnx.Options{})
	if err != nil {
		return seen, err
	}
	seen.opened = time.Since(start).Seconds()
	runtime.ReadMemStats(&after)
	seen.allocated, seen.graph, seen.weights = after.TotalAlloc-before.TotalAlloc, len(graph), d.Weights.Size
	enc, err := ort.Open(m.rt, ort.Graph{
		Bytes: graph, WeightsDir: onnx.Folder(d), Inputs: []ort.Input{{Name: onnx.InputIDs, Role: ort.IDs}}, Output: onnx.Output,
		Dim: d.Dim(), Vocab: d.Config.Vocab, MaxLen: d.MaxPositions(),
	}, ort.Options{Layout: ort.Plan(m.threads, peersBatch, 0)})
	if err != nil {
		return seen, err
	}
	seen.session = enc.CreateTime().Seconds()
	if err := enc.Close(); err != nil {
		return seen, err
	}
	plan, err := quant.Plan(d, quant.Float32)
	if err != nil {
		return seen, err
	}
	seen.narrow, seen.wide = plan.Converted()
	return seen, nil
}
