//go:build cgo

package ort

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"encbench/bench/assets/assettest"
	"encbench/corpus/tokenize"
	"encbench/engine"
	"encbench/engine/enginetest"
	"encbench/engine/onnx"
)

func encodeAll(t *testing.T, enc engine.Encoder, rows [][]int32) [][]float32 {
	t.Helper()
	if err := enc.Submit(0, enginetest.MakeBatch(0, rows...)); err != nil {
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

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return ab / math.Sqrt(aa*bb)
}

// The real model, from text: every golden text cut at 256 tokens, and at 512 those that
// are longer, beside the two shortest; alone and inside batches of several layouts.
func TestMiniLMGoldens(t *testing.T) {
	dir := assettest.Need(t, "all-minilm-l6-v2")
	data, err := os.ReadFile(filepath.Join(models, "minilm-l6-golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Texts  []string    `json:"texts"`
		Max256 [][]float32 `json:"embeddings_max256"`
		Max512 [][]float32 `json:"embeddings_max512"`
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	tok, _, err := tokenize.LoadFile(filepath.Join(dir, "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, layout := range []Layout{Plan(2, 32, 0), Plan(1, 32, 32)} {
		enc := open(t, graph(t, dir, layout.UBatch > 1), layout)
		for longest, want := range map[int][][]float32{256: golden.Max256, 512: golden.Max512} {
			var rows [][]int32
			var texts []int // of the rows
			for i, text := range golden.Texts {
				ids := tok.AppendIDs(nil, []byte(text))
				if longest == 256 || i < 2 || len(ids) > 256-2 {
					rows = append(rows, tok.Template().AppendSingle(nil, ids[:min(len(ids), longest-2)]))
					texts = append(texts, i)
				}
			}
			if len(rows) < 4 {
				t.Fatalf("%d rows cut at %d tokens", len(rows), longest)
			}
			least := 1.0
			for i, v := range encodeAll(t, enc, rows) {
				want := want[texts[i]]
				c := cosine(v, want)
				if layout.UBatch == 0 {
					c = min(c, cosine(encodeAll(t, enc, rows[i:i+1])[0], want))
				}
				least = min(least, c)
				if !(c >= 0.99999) {
					t.Errorf("%s, %d tokens at most: text %d (%d tokens) has cosine %.7f to the golden", layout, longest, texts[i], len(rows[i]), c)
				}
			}
			t.Logf("%s, %d tokens at most: least cosine of %d texts %.9f", layout, longest, len(rows), least)
		}
		if err := enc.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A ready graph of token states, int64 inputs: pooled and normalised here, with
// padding left out.
func TestTokenStates(t *testing.T) {
	path := "testdata/states.onnx"
	info, err := onnx.Inspect(path)
	if err != nil {
		t.Fatal(err)
	}
	form, err := info.Form()
	if err != nil {
		t.Fatal(err)
	}
	if form.Pooled || form.Dim != 4 || form.Elem != onnx.Int64 || form.IDs != "input_ids" || form.Mask != "attention_mask" || form.Types != "token_type_ids" {
		t.Fatalf("form %+v", form)
	}
	rows := [][]int32{{5}, {1, 2, 3}, {12, 7}, {4, 4, 4, 9}}
	types := []uint8{0, 1, 0, 1, 0, 0, 0, 0, 0, 1}
	state := func(id int32, kind uint8, i int) float64 { return float64(int(id)*4+i-20)/8 + float64(kind) }
	for _, pooling := range poolings {
		for _, layout := range []Layout{Plan(1, 8, 0), Plan(1, 8, 8), Plan(2, 8, 3)} {
			g := Graph{
				Path: path, Output: form.Output, States: true, Pooling: pooling, Normalize: pooling == "mean", Dim: 4, Vocab: 13, MaxLen: 16,
				Inputs: []Input{{form.IDs, IDs, true}, {form.Mask, Mask, true}, {form.Types, Types, true}},
			}
			enc := open(t, g, layout)
			b := enginetest.MakeBatch(0, rows...)
			b.Types = types
			if err := enc.Submit(0, b); err != nil {
				t.Fatal(err)
			}
			got, _, err := enc.Collect(context.Background(), 0)
			if err != nil {
				t.Fatal(err)
			}
			at := 0
			for r, ids := range rows {
				var want [4]float64
				n := len(ids)
				var norm float64
				for i := range want {
					want[i] = state(ids[0], types[at], i)
					for k := 1; k < n; k++ {
						s := state(ids[k], types[at+k], i)
						switch pooling {
						case "mean":
							want[i] += s
						case "last":
							want[i] = s
						case "max":
							want[i] = max(want[i], s)
						}
					}
					if pooling == "mean" {
						want[i] /= float64(n)
					}
					norm += want[i] * want[i]
				}
				at += len(ids)
				for i, x := range got.Float32(r) {
					w := want[i]
					if g.Normalize {
						w /= math.Sqrt(norm)
					}
					if math.Abs(float64(x)-w) > 1e-6 {
						t.Errorf("%s, %s: row %d value %d is %g, want %g", pooling, layout, r, i, x, w)
					}
				}
			}
			if err := enc.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
