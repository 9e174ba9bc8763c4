//go:build cgo

package ort

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"encbench/engine/model"
	"encbench/engine/model/modeltest"
	"encbench/engine/onnx"
	"encbench/engine/quant"
)

// converted opens a directory on weights of another type.
func converted(t *testing.T, dir string, to quant.DType) *model.Model {
	t.Helper()
	plan, err := quant.Plan(openModel(t, dir), to)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "converted.safetensors")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := plan.Write(context.Background(), f, nil); err != nil {
		t.Fatal(err)
	}
	m, err := model.OpenWith(dir, model.Options{Weights: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// int8Bits are the activations that this processor multiplies exactly.
func int8Bits() []int {
	if ExactInt8() {
		return []int{onnx.ActivationBits8, onnx.ActivationBits7}
	}
	return []int{onnx.ActivationBits7}
}

// Layers that compute in int8 give a row the same output alone and in any company:
// beside rows of its length, beside longer and shorter ones, and padded. And the output
// is near that of float32.
func TestInt8(t *testing.T) {
	load(t)
	for _, dir := range modeltest.Goldens(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			golden := modeltest.ReadGolden(t, dir)
			m := converted(t, dir, quant.Int8)
			var rows []typed
			for i, ids := range golden.InputIDs {
				rows = append(rows, typed{ids, golden.Types(i)})
			}
			turned := slices.Clone(rows) // as long, and another
			for i := range turned {
				turned[i].ids = slices.Clone(turned[i].ids)
				slices.Reverse(turned[i].ids)
			}
			for i, l := range append(layouts[:3:3], layouts[0]) {
				bits := int8Bits()
				opt := onnx.Options{Mask: l.UBatch > 0, Types: golden.TypeIDs != nil && m.Types() > 1, ActivationBits: bits[0]}
				if i == 3 {
					opt.ActivationBits = bits[len(bits)-1]
				}
				enc := open(t, built(t, m, opt), l)
				alone := make([][]float32, len(rows))
				for i := range rows {
					alone[i] = encodeTyped(t, enc, rows[i:i+1])[0]
				}
				together := encodeTyped(t, enc, append(slices.Clone(rows), turned...))[:len(rows)]
				worst := 0.0
				for i := range rows {
					worst = max(worst, relative(alone[i], together[i]))
				}
				if !(worst <= 1e-6) {
					t.Errorf("%s: a value differs by %.2g between a row alone and in a batch", l, worst)
				}
				if err := enc.Close(); err != nil {
					t.Error(err)
				}
				checkInt8(t, opt.ActivationBits, golden, alone)
			}
		})
	}
}

// relative is the largest difference of two values over the length of the vector.
func relative(a, b []float32) float64 {
	var most, square float64
	for i := range a {
		most = max(most, math.Abs(float64(a[i])-float64(b[i])))
		square += float64(a[i]) * float64(a[i])
	}
	return most / math.Sqrt(square)
}

// checkInt8 holds outputs against those of float32: cosines, or logits by the spread.
func checkInt8(t *testing.T, bits int, golden modeltest.Golden, got [][]float32) {
	t.Helper()
	want := golden.Outputs()
	if golden.Logits == nil {
		least := 1.0
		for i := range got {
			least = min(least, cosine(got[i], want[i]))
		}
		t.Logf("%d bits: least cosine to float32 %.5f", bits, least)
		if least < 0.97 {
			t.Errorf("%d bits: least cosine to float32 %.5f", bits, least)
		}
		return
	}
	low, high, worst := math.Inf(1), math.Inf(-1), 0.0
	for i := range got {
		low, high = min(low, float64(want[i][0])), max(high, float64(want[i][0]))
		worst = max(worst, math.Abs(float64(got[i][0])-float64(want[i][0])))
	}
	t.Logf("%d bits: logits off by up to %.4f of their spread %.4f", bits, worst/(high-low), high-low)
	if worst > 0.2*(high-low) {
		t.Errorf("%d bits: logits off by up to %.4f of their spread %.4f", bits, worst/(high-low), high-low)
	}
}
