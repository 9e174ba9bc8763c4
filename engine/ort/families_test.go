//go:build cgo

package ort

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"encbench/engine"
	"encbench/engine/enginetest"
	"encbench/engine/model"
	"encbench/engine/model/modeltest"
	"encbench/engine/onnx"
)

// built makes the encoder graph of an opened model.
func built(tb testing.TB, m *model.Model, opt onnx.Options) Graph {
	tb.Helper()
	bytes, err := onnx.Build(m, opt)
	if err != nil {
		tb.Fatal(err)
	}
	g := Graph{
		Bytes: bytes, WeightsDir: onnx.Folder(m), Output: onnx.Output, Dim: m.Dim(),
		Inputs: []Input{{Name: onnx.InputIDs, Role: IDs}},
		Vocab:  m.Config.Vocab, MaxLen: m.MaxPositions(),
		FLOP: func(rows, n int) float64 { return onnx.FLOP(m, rows, n) },
	}
	if opt.Mask {
		g.Inputs = append(g.Inputs, Input{Name: onnx.InputLengths, Role: Lengths})
	}
	if opt.Types {
		g.Inputs = append(g.Inputs, Input{Name: onnx.InputTypes, Role: Types})
	}
	return g
}

func openModel(tb testing.TB, dir string) *model.Model {
	tb.Helper()
	m, err := model.OpenWith(dir, model.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { m.Close() })
	return m
}

// typed is a row of ids with their token types, nil for all 0.
type typed struct {
	ids   []int32
	types []uint8
}

func makeTyped(rows []typed) *engine.Batch {
	var ids [][]int32
	for _, r := range rows {
		ids = append(ids, r.ids)
	}
	b := enginetest.MakeBatch(0, ids...)
	for _, r := range rows {
		if r.types == nil {
			r.types = make([]uint8, len(r.ids))
		}
		b.Types = append(b.Types, r.types...)
	}
	return b
}

func encodeTyped(t *testing.T, enc engine.Encoder, rows []typed) [][]float32 {
	t.Helper()
	if err := enc.Submit(0, makeTyped(rows)); err != nil {
		t.Fatal(err)
	}
	got, _, err := enc.Collect(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var out [][]float32
	for r := range got.N {
		out = append(out, append([]float32{}, got.Float32(r)...))
	}
	return out
}

// layouts are the ways to run a batch: groups of one length, all rows padded to the
// longest, and small padded groups.
var layouts = []Layout{
	{Workers: 2, Intra: 1, Batch: 64},
	{Workers: 1, Intra: 1, Batch: 64, UBatch: 64},
	{Workers: 2, Intra: 1, Batch: 64, UBatch: 3},
	{Workers: 1, Intra: 2, Batch: 64, UBatch: 5},
}

// forms are the forms of a model's graph that differ.
func forms(m *model.Model) []onnx.Options {
	fs := []onnx.Options{{}, {Plain: true}}
	if slices.ContainsFunc(m.Layers, func(l model.Layer) bool { return l.Attention.Window > 0 }) {
		fs = append(fs, onnx.Options{DenseWindows: true})
	}
	return fs
}

// everyWay compares the outputs of rows with what they ought to be: all together in
// every layout, and in the first two, whose graphs are without a mask and with one,
// each row alone and in every form.
func everyWay(t *testing.T, m *model.Model, rows []typed, want [][]float32, tolerance float64) {
	t.Helper()
	pairs := false
	for _, r := range rows {
		pairs = pairs || r.types != nil
	}
	check := func(how string, row int, got []float32) {
		t.Helper()
		if len(got) != len(want[row]) {
			t.Fatalf("%s: row %d has %d values, want %d", how, row, len(got), len(want[row]))
		}
		for i, w := range want[row] {
			if d := math.Abs(float64(got[i]) - float64(w)); !(d <= tolerance) {
				t.Fatalf("%s: row %d of %d tokens, value %d is %g, want %g, off by %.2g", how, row, len(rows[row].ids), i, got[i], w, d)
			}
		}
	}
	for n, l := range layouts {
		fs := forms(m)
		if n > 1 {
			fs = fs[:1]
		}
		for _, opt := range fs {
			opt.Mask, opt.Types = l.UBatch > 0, pairs && m.Types() > 1
			enc := open(t, built(t, m, opt), l)
			for i, got := range encodeTyped(t, enc, rows) {
				check(fmt.Sprintf("%s, %+v", l, opt), i, got)
			}
			for i := range rows {
				if n < 2 {
					check(fmt.Sprintf("alone, %+v", opt), i, encodeTyped(t, enc, rows[i:i+1])[0])
				}
			}
			if err := enc.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestGoldens compares every checkpoint with reference outputs of transformers.
func TestGoldens(t *testing.T) {
	load(t)
	for _, dir := range modeltest.Goldens(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			golden := modeltest.ReadGolden(t, dir)
			m := openModel(t, dir)
			var rows []typed
			for i, ids := range golden.InputIDs {
				rows = append(rows, typed{ids, golden.Types(i)})
			}
			everyWay(t, m, rows, golden.Outputs(), 1e-5)
		})
	}
}
