//go:build cgo

package ort

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"encbench/engine"
	"encbench/engine/cpu"
	"encbench/engine/model"
	"encbench/engine/model/modeltest"
	"encbench/engine/onnx"
)

// deviceForms are the CUDA graphs that the CPU provider can run: float32; float16, whose
// operators it computes in float32 where it has none for it; and the rounded twins of
// both narrow types, as it has no bfloat16 at all for matrices and attention.
func deviceForms() []onnx.Options {
	return []onnx.Options{
		{Target: onnx.CUDA}, {Target: onnx.CUDA, Plain: true},
		{Target: onnx.CUDA, Compute: onnx.Float16},
		{Target: onnx.CUDA, Compute: onnx.Float16, Rounded: true},
		{Target: onnx.CUDA, Compute: onnx.BFloat16, Rounded: true},
	}
}

// everyDeviceForm compares the CUDA graphs of a model with what its outputs ought to be:
// rows together with padding and each alone without, of open and of fixed shapes.
// limit gives what is wrong with an output of a form, "" for nothing.
func everyDeviceForm(t *testing.T, m *model.Model, rows []typed, want [][]float32, limit func(opt onnx.Options, got, want []float32) string) {
	t.Helper()
	pairs, longest := false, 0
	for _, r := range rows {
		pairs, longest = pairs || r.types != nil, max(longest, len(r.ids))
	}
	together := Layout{Workers: 1, Intra: 1, Batch: 64, UBatch: 64}
	alone := Layout{Workers: 1, Intra: 1, Batch: 64}
	check := func(opt onnx.Options, row int, got []float32) {
		t.Helper()
		if wrong := limit(opt, got, want[row]); wrong != "" {
			t.Errorf("%+v: row %d of %d tokens: %s", opt, row, len(rows[row].ids), wrong)
		}
	}
	for _, opt := range deviceForms() {
		opt.Types = pairs && m.Types() > 1
		for _, fixed := range []bool{false, true} {
			opt.Mask, opt.Rows, opt.Length = true, 0, 0
			if fixed {
				opt.Rows, opt.Length = len(rows), longest
			}
			capturable(t, m, opt)
			enc := open(t, built(t, m, opt), together)
			for i, got := range encodeTyped(t, enc, rows) {
				check(opt, i, got)
			}
			if err := enc.Close(); err != nil {
				t.Error(err)
			}
		}
		opt.Mask, opt.Rows, opt.Length = false, 0, 0
		enc := open(t, built(t, m, opt), alone)
		for i := range rows {
			check(opt, i, encodeTyped(t, enc, rows[i:i+1])[0])
		}
		if err := enc.Close(); err != nil {
			t.Error(err)
		}
		opt.Rows, opt.Length = 1, longest
		for i := range rows {
			if len(rows[i].ids) != longest {
				continue
			}
			enc := open(t, built(t, m, opt), alone)
			check(opt, i, encodeTyped(t, enc, rows[i:i+1])[0])
			if err := enc.Close(); err != nil {
				t.Error(err)
			}
			break
		}
	}
}

// capturable checks that every node of a graph has a kernel on CUDA and is not copied to
// or from.
func capturable(t *testing.T, m *model.Model, opt onnx.Options) {
	t.Helper()
	opt.Rounded = false // of what it is the twin
	nodes, err := onnx.Place(built(t, m, opt).Bytes)
	if err == nil {
		err = onnx.Capturable(nodes)
	}
	if err != nil {
		t.Errorf("%+v: %v", opt, err)
	}
}

// leastCosine is what a narrow type may turn a vector by. A layer adds some dozen
// roundings of relative size u (2⁻¹¹ in float16, 2⁻⁸ in bfloat16) to its states, and
// errors that are independent add as squares: an angle of √(12·(layers+1))·u, the
// embedding counted as a layer, 0.0041 and 0.033 at 5 layers. The largest found over
// all rows is 0.97 of that angle in float16 and 0.74 in bfloat16; twice the angle is
// allowed, cosines of 0.99997 and 0.9978 at 5 layers.
func leastCosine(m *model.Model, elem onnx.ElemType) float64 {
	unit := math.Ldexp(1, -11)
	if elem == onnx.BFloat16 {
		unit = math.Ldexp(1, -8)
	}
	return math.Cos(2 * math.Sqrt(12*float64(len(m.Layers)+1)) * unit)
}

func deviceLimit(m *model.Model, tolerance float64) func(opt onnx.Options, got, want []float32) string {
	return func(opt onnx.Options, got, want []float32) string {
		if len(got) != len(want) {
			return fmt.Sprintf("%d values, want %d", len(got), len(want))
		}
		if opt.Compute == 0 {
			for i, w := range want {
				if d := math.Abs(float64(got[i]) - float64(w)); !(d <= tolerance) {
					return fmt.Sprintf("value %d is %g, want %g, off by %.2g", i, got[i], w, d)
				}
			}
			return ""
		}
		least := leastCosine(m, opt.Compute)
		if len(want) > 1 {
			if c := cosine(got, want); !(c >= least) {
				return fmt.Sprintf("cosine %.6f, at least %.6f", c, least)
			}
			return ""
		}
		// A logit has no angle: it may be off by twice that of a vector, of values around 1.
		most := 2 * math.Acos(least) * math.Max(1, math.Abs(float64(want[0])))
		if d := math.Abs(float64(got[0]) - float64(want[0])); !(d <= most) {
			return fmt.Sprintf("logit %g, want %g, off by %.2g of at most %.2g", got[0], want[0], d, most)
		}
		return ""
	}
}

// TestDeviceRounds checks that a twin really rounds: the runtime leaves its conversions
// in, so narrow types give other vectors than float32; and the output has the type
// of the result, for every type that is computed in.
func TestDeviceRounds(t *testing.T) {
	load(t)
	m := openModel(t, filepath.Join(models, "tiny-bert-mean"))
	rows := []typed{{ids: []int32{3, 14, 15, 92, 65, 35}}}
	encode := func(opt onnx.Options) []float32 {
		enc := open(t, built(t, m, opt), Layout{Workers: 1, Intra: 1, Batch: 1})
		defer enc.Close()
		return encodeTyped(t, enc, rows)[0]
	}
	exact := encode(onnx.Options{Target: onnx.CUDA})
	for _, compute := range []onnx.ElemType{onnx.Float32, onnx.Float16, onnx.BFloat16} {
		opt := onnx.Options{Target: onnx.CUDA, Compute: compute, Rounded: true}
		wide := encode(opt)
		// Half an ulp of one rounding in float16 turns a vector by 10⁻⁴.
		if c := 1 - cosine(wide, exact); compute != onnx.Float32 && c < 1e-9 || compute == onnx.Float32 && c > 1e-12 {
			t.Errorf("%s: 1 − cosine to float32 is %g", compute, c)
		}
		for _, result := range []onnx.ElemType{onnx.Float16, onnx.BFloat16} {
			opt.Result = result
			got := encode(opt)
			for i, v := range got {
				want := engine.F16ToF32(engine.F32ToF16(wide[i]))
				if result == onnx.BFloat16 {
					want = engine.BF16ToF32(engine.F32ToBF16(wide[i]))
				}
				if v != want {
					t.Fatalf("%s to %s: value %d is %g, want %g rounded to %g", compute, result, i, v, wide[i], want)
				}
			}
		}
	}
}

// TestDeviceGoldens compares the CUDA graphs of every checkpoint, run by the CPU
// provider, with reference outputs of transformers.
func TestDeviceGoldens(t *testing.T) {
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
			everyDeviceForm(t, m, rows, golden.Outputs(), deviceLimit(m, 1e-5))
		})
	}
}

// TestDeviceWindows compares rows long enough that a fixed shape has its windows computed
// in blocks, beside a short one, and the mask over all pairs that takes their place.
func TestDeviceWindows(t *testing.T) {
	load(t)
	r := &maker{Rand: rand.New(rand.NewPCG(4, 4))}
	const heads, dim, hidden = 2, 8, 16
	m := &model.Model{
		Name: "windows", Kind: model.Embedder, Pooling: model.PoolMean, Normalize: true,
		Config: model.Config{Vocab: madeVocab, Positions: 1100, Hidden: hidden},
	}
	m.Embedding.Word, m.Embedding.Norm = r.table(madeVocab, hidden), r.norm(hidden, false)
	for i := range 2 {
		l := model.Layer{Attention: r.attention(hidden, heads, dim, true), AttentionNorm: r.norm(hidden, false), OutputNorm: r.norm(hidden, false)}
		l.Attention.Window, l.Attention.Causal = 64, i == 1
		l.FeedForward = model.FeedForward{Up: r.linears(hidden, 24)[0], Down: r.linears(24, hidden)[0], Act: model.GELU}
		m.Layers = append(m.Layers, l)
	}
	r.open(t, m, t.TempDir())
	ref, err := cpu.NewReference(m)
	if err != nil {
		t.Fatal(err)
	}
	rows := r.rows([]int{1040, 90}, 1)
	want := make([][]float32, len(rows))
	for i, row := range rows {
		if want[i], err = ref.Encode(row.ids, row.types); err != nil {
			t.Fatal(err)
		}
	}
	everyDeviceForm(t, m, rows, want, deviceLimit(m, 1e-5))
}

// TestDeviceDescriptions compares the CUDA graphs of encoders that are described at
// random with the reference encoder.
func TestDeviceDescriptions(t *testing.T) {
	load(t)
	edges := []int{1, 2, 8, 9, 63, 64, 65, 127, 128, 193}
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := &maker{Rand: rand.New(rand.NewPCG(seed, 6))}
			m := r.model(t, t.TempDir())
			ref, err := cpu.NewReference(m)
			if err != nil {
				t.Fatal(err)
			}
			rows := r.rows([]int{pick(r, edges...), pick(r, edges...), 1 + r.IntN(150)}, m.Types())
			want := make([][]float32, len(rows))
			for i, row := range rows {
				if want[i], err = ref.Encode(row.ids, row.types); err != nil {
					t.Fatal(err)
				}
			}
			everyDeviceForm(t, m, rows, want, deviceLimit(m, 2e-5))
		})
	}
}
