//go:build cgo

package onnx

import (
	"context"
	"slices"
	"testing"

	"encbench/bench/assets/assettest"
	"encbench/engine"
	"encbench/engine/model"
	"encbench/engine/ort"
)

// TestLengthsAndStarts runs what tells memory-efficient attention of padding: the CPU
// provider's attention reads the lengths alone, so the places where rows start are
// compared here.
func TestLengthsAndStarts(t *testing.T) {
	rt, err := ort.Load(assettest.Need(t, "onnxruntime"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		r    reach
		want []float32 // of rows of 7, 5 and 2 tokens
	}{
		{reach{}, []float32{7, 5, 2, 0, 7, 14, 21, 0, 7, 14, 21}},
		{reach{out: 1}, []float32{7, 5, 2, 0, 1, 2, 3, 0, 7, 14, 21}},
		{reach{last: true}, []float32{7, 5, 2, 0, 1, 2, 3, 0, 7, 14, 21}},
		{reach{in: 6, out: 4}, []float32{6, 5, 2, 0, 4, 8, 12, 0, 6, 12, 18}},
		{reach{in: 9, out: 9}, []float32{7, 5, 2, 0, 7, 14, 21, 0, 7, 14, 21}},
	} {
		for _, opt := range []Options{{Target: CUDA, Mask: true}, {Target: CUDA, Mask: true, Rows: 3, Length: 7}} {
			if got := runLengths(t, rt, opt, c.r); !slices.Equal(got, c.want) {
				t.Errorf("%+v, rows %d: %v, want %v", c.r, opt.Rows, got, c.want)
			}
		}
	}
}

// runLengths gives what the runtime computes for three rows of 7, 5 and 2 tokens.
func runLengths(t *testing.T, rt *ort.Runtime, opt Options, r reach) []float32 {
	t.Helper()
	g := &graph{m: &model.Model{}, seen: map[string]bool{}, compute: Float32, cuda: true}
	e := encoder{graph: g, m: g.m, opt: opt}
	row := e.op("row", "Unsqueeze", []string{e.cast("all", e.lengthsAndStarts(r), Float32), e.list(0)})
	again := e.op("again", "Concat", []string{row, row, row}, attrInt("axis", 0))
	// The ids have to be read by something.
	ids := e.op("ids", "Slice", []string{e.cast("ids.float", InputIDs, Float32), e.list(0), e.list(1), e.list(1)})
	e.op(Output, "Add", []string{again, ids})
	bytes := g.bytes(
		[]message{valueInfo(InputIDs, Int32, Dim{Name: "rows"}, Dim{Name: "len"}), valueInfo(InputLengths, Int32, Dim{Name: "rows"})},
		[]message{valueInfo(Output, Float32, Dim{Name: "rows"}, Dim{Size: 11})})
	enc, err := ort.Open(rt, ort.Graph{
		Bytes: bytes, Output: Output, Dim: 11, MaxLen: 7,
		Inputs: []ort.Input{{Name: InputIDs, Role: ort.IDs}, {Name: InputLengths, Role: ort.Lengths}},
	}, ort.Options{Layout: ort.Layout{Workers: 1, Intra: 1, Batch: 3, UBatch: 3}})
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	b := engine.Batch{IDs: make([]int32, 14), Off: []int32{0, 7, 12, 14}}
	if err := enc.Submit(0, &b); err != nil {
		t.Fatal(err)
	}
	rows, _, err := enc.Collect(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return append([]float32{}, rows.Float32(1)...)
}
