//go:build cgo

package onnx

import (
	"context"
	"fmt"
	"testing"

	"encbench/bench/assets/assettest"
	"encbench/engine"
	"encbench/engine/model"
	"encbench/engine/ort"
)

// TestBlocking holds the geometry that the runtime computes to the one that FLOP
// counts, and checks that the blocks have every key that a query attends to.
func TestBlocking(t *testing.T) {
	rt, err := ort.Load(assettest.Need(t, "onnxruntime"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		a model.Attention
		r reach
	}{
		{model.Attention{Window: 64}, reach{}},
		{model.Attention{Window: 16}, reach{}},
		{model.Attention{Window: 1, Causal: true}, reach{}},
		{model.Attention{Window: 100}, reach{in: 400, out: 300}},
		{model.Attention{Window: 64}, reach{in: 257, out: 193}},
	} {
		name := fmt.Sprintf("window %d, causal %t, reach %+v", c.a.Window, c.a.Causal, c.r)
		enc := geometry(t, rt, c.a, c.r)
		for n := 1; n <= 700; n += 1 + n/9 {
			var b engine.Batch
			b.Reset()
			b.IDs, b.Off = make([]int32, n), append(b.Off, int32(n))
			if err := enc.Submit(0, &b); err != nil {
				t.Fatal(err)
			}
			rows, _, err := enc.Collect(context.Background(), 0)
			if err != nil {
				t.Fatal(err)
			}
			got := rows.Float32(0)
			count, queries, keys := blocking(c.a, c.r, n)
			if int(got[0]) != count || int(got[1]) != queries || int(got[2]) != keys {
				t.Fatalf("%s, %d tokens: the mask is %v, want %d blocks of %d queries and %d keys", name, n, got[:3], count, queries, keys)
			}
			want := 0
			for q := range c.r.gives(n) {
				for k := range c.r.reads(n) {
					if ahead := k - q; ahead >= -c.a.Window && (ahead <= 0 || !c.a.Causal && ahead <= c.a.Window) {
						want++
					}
				}
			}
			if int(got[3]) != want {
				t.Fatalf("%s, %d tokens: queries attend to %v keys, want %d", name, n, got[3], want)
			}
		}
		if err := enc.Close(); err != nil {
			t.Error(err)
		}
	}
}

// geometry makes an encoder whose vector is the mask's blocks, queries and keys, and
// how many pairs of a query that is given and a key the mask leaves.
func geometry(t *testing.T, rt *ort.Runtime, a model.Attention, r reach) engine.Encoder {
	t.Helper()
	e := encoder{graph: &graph{m: &model.Model{}, seen: map[string]bool{}}}
	b := e.blocks(a, r)
	seen := e.op("seen", "Cast", []string{e.op("zero", "Equal", []string{b.mask, e.float("float.0", 0)})}, attrInt("to", int64(Float32)))
	byQuery := e.op("by.query", "ReduceSum", []string{seen, e.list(2)}, attrInt("keepdims", 0))
	flat := e.op("flat", "Reshape", []string{byQuery, e.list(-1)})
	pairs := e.op("pairs", "ReduceSum", []string{e.op("given", "Slice", []string{flat, e.list(0), b.given, e.list(0)}), e.list(0)}, attrInt("keepdims", 1))
	sizes := e.op("sizes", "Cast", []string{e.op("shape", "Shape", []string{b.mask})}, attrInt("to", int64(Float32)))
	all := e.op("all", "Concat", []string{sizes, pairs}, attrInt("axis", 0))
	e.op(Output, "Unsqueeze", []string{all, e.list(0)})
	if e.err != nil {
		t.Fatal(e.err)
	}
	bytes := e.bytes(
		[]message{valueInfo(InputIDs, Int32, Dim{Name: "rows"}, Dim{Name: "len"})},
		[]message{valueInfo(Output, Float32, Dim{Name: "rows"}, Dim{Size: 4})})
	enc, err := ort.Open(rt, ort.Graph{
		Bytes: bytes, Inputs: []ort.Input{{Name: InputIDs, Role: ort.IDs}}, Output: Output, Dim: 4, MaxLen: 1000,
	}, ort.Options{Layout: ort.Plan(1, 1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	return enc
}
