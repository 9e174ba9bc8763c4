package bench_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"encbench/bench"
	"encbench/bench/assets/assettest"
	"encbench/corpus/tokenize"
	"encbench/engine"
	"encbench/engine/cpu"
	"encbench/engine/model"
	"encbench/engine/model/modeltest"
	"encbench/engine/onnx"
	"encbench/engine/ort"
	"encbench/engine/quant"
)

// scripted is an encoder whose rows are a function of the ids, of the types, and of
// how many rows there are.
type scripted struct {
	dim int
	of  func(ids []int32, types []uint8, rows int) []float32
	out []float32
}

func (s *scripted) Dim() int   { return s.dim }
func (s *scripted) Slots() int { return 1 }
func (s *scripted) Submit(_ int, b *engine.Batch) error {
	s.out = s.out[:0]
	for r := range b.Rows() {
		var types []uint8
		if b.Types != nil {
			types = b.Types[b.Off[r]:b.Off[r+1]]
		}
		s.out = append(s.out, s.of(b.Row(r), types, b.Rows())...)
	}
	return nil
}
func (s *scripted) Collect(context.Context, int) (engine.Rows, engine.Work, error) {
	return engine.HostRows(s.out, s.dim), engine.Work{}, nil
}
func (s *scripted) Close() error { return nil }

// angle is a unit vector at an angle from the first axis.
func angle(a float64) []float32 { return []float32{float32(math.Cos(a)), float32(math.Sin(a))} }

// Each type has its own limits, all of them are looked at, and the level names it.
func TestGateLimits(t *testing.T) {
	refs := []bench.Reference{{IDs: []int32{1, 2}, Vector: angle(0)}, {IDs: []int32{3}, Vector: angle(1)}}
	at := func(first, second, company float64) *scripted {
		return &scripted{dim: 2, of: func(ids []int32, _ []uint8, rows int) []float32 {
			a := first
			if len(ids) == 1 {
				a = 1 + second
			}
			if rows > 1 {
				a += company
			}
			return angle(a)
		}}
	}
	for _, test := range []struct {
		dtype                  string
		first, second, company float64 // angles off
		level, want            string
	}{
		{"float32", 0, 0, 0, "reference", ""},
		{"float32", 1e-3, 0, 0, "reference", "a value of a vector differs by 0.001 from the reference, at most 2e-06 expected"},
		{"float32", 2e-3, 0, 0, "reference", "2 tokens: cosine 0.99999800 alone, 0.99999800 in a batch, at least 0.999999 expected"},
		{"", 0, 0, 0, "reference", ""},
		{"float16", 2e-3, 2e-3, 0, "reference-float16", ""},
		{"float16", 0.02, 0, 0, "reference-float16", "2 tokens: cosine 0.99980001 alone, 0.99980001 in a batch, at least 0.9999 expected"},
		{"float16", 0.012, 0.012, 0, "reference-float16", "the mean cosine is 0.99992800, at least 0.99995 expected"},
		{"bfloat16", 0.02, 0.02, 0, "reference-bfloat16", ""},
		{"bfloat16", 0.11, 0, 0, "reference-bfloat16", "2 tokens: cosine 0.99395610 alone, 0.99395610 in a batch, at least 0.995 expected"},
		{"int8", 0.2, 0.2, 0, "reference-int8", ""},
		{"int8", 0.3, 0, 0, "reference-int8", "2 tokens: cosine 0.95533649 alone, 0.95533649 in a batch, at least 0.96 expected"},
		{"int8", 0.26, 0.26, 0, "reference-int8", "the mean cosine is 0.96638998, at least 0.97 expected"},
		{"int8/7", 0.3, 0.3, 0, "reference-int8", ""},
		{"int8/7", 0.45, 0, 0, "reference-int8", "2 tokens: cosine 0.90044711 alone, 0.90044711 in a batch, at least 0.92 expected"},
		{"int8", 0.01, 0.01, 1e-5, "reference-int8", "a row's vector depends on its batch: a value differs by 1e-05 between the row alone and in a batch, at most 2e-06 expected"},
		{"int8", 0.01, 0.01, 1e-6, "reference-int8", ""},
		{"int8", math.NaN(), 0, 0, "reference-int8", "2 tokens: cosine 0.00000000 alone, 0.00000000 in a batch, at least 0.96 expected"},
	} {
		acc, _, err := bench.Gate(context.Background(), at(test.first, test.second, test.company), refs, "test", bench.GateLimits(strings.TrimSuffix(test.dtype, "/7"), bitsOf(test.dtype), false))
		if err != nil {
			t.Fatal(err)
		}
		if acc.Error != test.want || acc.Passed != (test.want == "") || acc.Level != test.level || !acc.Referenced() {
			t.Errorf("%s, off by %g, %g, in company %g: level %s, error %q, want %s, %q", test.dtype, test.first, test.second, test.company, acc.Level, acc.Error, test.level, test.want)
		}
	}
}

// bitsOf are the bits of activations that a test names.
func bitsOf(dtype string) int {
	switch dtype {
	case "int8":
		return onnx.ActivationBits8
	case "int8/7":
		return onnx.ActivationBits7
	}
	return 0
}

// A vector of any length is held to its own.
func TestGateOfUnnormalised(t *testing.T) {
	refs := []bench.Reference{{IDs: []int32{1}, Vector: []float32{300, -400}}}
	for by, want := range map[float32]string{0.0005: "", 0.01: "a value of a vector differs by 2e-05 from the reference, at most 2e-06 expected"} {
		enc := &scripted{dim: 2, of: func([]int32, []uint8, int) []float32 { return []float32{300, -400 + by} }}
		acc, _, err := bench.Gate(context.Background(), enc, refs, "test", bench.GateLimits("float32", 0, false))
		if err != nil || acc.Error != want {
			t.Errorf("off by %g of 500: %q, %v, want %q", by, acc.Error, err, want)
		}
	}
}

// Logits are held to differences, by the spread of those that are expected.
func TestGateOfLogits(t *testing.T) {
	logit := func(off, company float32) *scripted {
		return &scripted{dim: 1, of: func(ids []int32, types []uint8, rows int) []float32 {
			v := float32(ids[0]) + off
			if rows > 1 {
				v += company
			}
			for _, k := range types {
				v += float32(k)
			}
			return []float32{v}
		}}
	}
	refs := []bench.Reference{
		{IDs: []int32{-8, 1, 1}, Types: []uint8{0, 1, 1}, Vector: []float32{-6}},
		{IDs: []int32{2, 5}, Types: []uint8{0, 0}, Vector: []float32{2}},
		{IDs: []int32{1}, Vector: []float32{1}},
	}
	for _, test := range []struct {
		dtype        string
		off, company float32
		level, want  string
	}{
		{"float32", 0, 0, "reference", ""},
		{"float32", 0.004, 0, "reference", ""},
		{"float32", 0.016, 0, "reference", "3 tokens: a logit differs by 0.002 of the logits' spread of 8 alone, 0.002 in a batch, at most 0.001 expected"},
		{"float32", 0, 0.016, "reference", "3 tokens: a logit differs by 0 of the logits' spread of 8 alone, 0.002 in a batch, at most 0.001 expected"},
		{"int8", 0.8, 0, "reference-int8", ""},
		{"int8", 2, 0, "reference-int8", "3 tokens: a logit differs by 0.25 of the logits' spread of 8 alone, 0.25 in a batch, at most 0.2 expected"},
		{"int8", 0, 0.016, "reference-int8", "a pair's logit depends on its batch: it differs by 0.002 of the logits' spread between the pair alone and in a batch, at most 2e-06 expected"},
		{"float16", float32(math.NaN()), 0, "reference-float16", fmt.Sprintf("3 tokens: a logit differs by %.2g of the logits' spread of 8 alone, %.2[1]g in a batch, at most 0.02 expected", math.MaxFloat64)},
	} {
		acc, _, err := bench.Gate(context.Background(), logit(test.off, test.company), refs, "test", bench.GateLimits(test.dtype, bitsOf(test.dtype), true))
		if err != nil {
			t.Fatal(err)
		}
		if acc.Error != test.want || acc.Passed != (test.want == "") || acc.Level != test.level || acc.Output != bench.OutputLogits || acc.Spread != 8 {
			t.Errorf("%s, off by %g, in company %g: %+v\nwant %s, %q", test.dtype, test.off, test.company, acc, test.level, test.want)
		}
	}
	// All as irrelevant: rounding of large logits is no difference of order.
	same := []bench.Reference{{IDs: []int32{-11}, Vector: []float32{-11}}, {IDs: []int32{-11, 0}, Vector: []float32{-11.0001}}}
	acc, _, err := bench.Gate(context.Background(), logit(0, 0), same, "test", bench.GateLimits("float32", 0, true))
	if err != nil || !acc.Passed || math.Abs(acc.Spread-0.110001) > 1e-6 {
		t.Errorf("equal logits: %+v, %v", acc, err)
	}
	zero := []bench.Reference{{IDs: []int32{0}, Vector: []float32{0}}}
	if acc, _, err := bench.Gate(context.Background(), logit(0, 0), zero, "test", bench.GateLimits("float32", 0, true)); err != nil || !acc.Passed {
		t.Errorf("a logit of zero: %+v, %v", acc, err)
	}
}

// pairTemplate is BERT's, with ids of a tiny vocabulary.
var pairTemplate = tokenize.Template{Pair: []tokenize.Piece{{ID: 1}, {Text: 'A'}, {ID: 2}, {Text: 'B', Type: 1}, {ID: 2, Type: 1}}}

// A damaged reranker fails: token types left out, or one weight of its head.
func TestGateCatchesDamageOfARanker(t *testing.T) {
	rt, err := ort.Load(assettest.Need(t, "onnxruntime"))
	if err != nil {
		t.Fatal(err)
	}
	const dir = "../engine/model/testdata/micro-gte-reranker"
	intact, err := model.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer intact.Close()
	plain, err := cpu.NewReference(intact)
	if err != nil {
		t.Fatal(err)
	}
	refs := bench.ProbePairs(intact.Config.Vocab, pairTemplate, intact.Types(), 50)
	for i := range refs {
		if refs[i].Vector, err = plain.Encode(refs[i].IDs, refs[i].Types); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name   string
		fault  modeltest.Fault
		types  bool
		passes bool
	}{
		{"intact", modeltest.Fault{}, true, true},
		{"token types left out", modeltest.Fault{}, false, false},
		{"one weight of the head", modeltest.Fault{Tensor: "classifier.weight", Index: 3, Add: 0.05}, true, false},
	} {
		for _, ubatch := range []int{0, 8} {
			m, err := model.Open(modeltest.Damage(t, dir, test.fault))
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			g := ort.Graph{WeightsDir: onnx.Folder(m), Output: onnx.Output, Dim: 1, MaxLen: 50, Inputs: []ort.Input{{Name: onnx.InputIDs, Role: ort.IDs}}}
			if ubatch > 0 {
				g.Inputs = append(g.Inputs, ort.Input{Name: onnx.InputLengths, Role: ort.Lengths})
			}
			if test.types {
				g.Inputs = append(g.Inputs, ort.Input{Name: onnx.InputTypes, Role: ort.Types})
			}
			if g.Bytes, err = onnx.Build(m, onnx.Options{Mask: ubatch > 0, Types: test.types}); err != nil {
				t.Fatal(err)
			}
			enc, err := ort.Open(rt, g, ort.Options{Layout: ort.Plan(1, 8, ubatch)})
			if err != nil {
				t.Fatal(err)
			}
			defer enc.Close()
			acc, _, err := bench.Gate(context.Background(), enc, refs, "test", bench.GateLimits("float32", 0, true))
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %s", test.name, acc.Figures())
			if acc.Passed != test.passes {
				t.Errorf("%s: passed %t, %s", test.name, acc.Passed, acc.Error)
			}
		}
	}
}

func TestProbePairs(t *testing.T) {
	template := tokenize.Template{Pair: []tokenize.Piece{{ID: 101}, {Text: 'A'}, {ID: 102}, {Text: 'B', Type: 1}, {ID: 102, Type: 1}}}
	for _, types := range []int{1, 2} {
		refs := bench.ProbePairs(30522, template, types, 100)
		var lengths []int
		for _, r := range refs {
			lengths = append(lengths, len(r.IDs))
			first := slices.Index(r.IDs, 102)
			if r.IDs[0] != 101 || r.IDs[len(r.IDs)-1] != 102 || first < 2 || first > 17 || (types > 1) != (r.Types != nil) {
				t.Errorf("%d types: pair %v, types %v", types, r.IDs, r.Types)
			}
			if types > 1 && (r.Types[first] != 0 || r.Types[first+1] != 1 || len(r.Types) != len(r.IDs)) {
				t.Errorf("types %v of %v", r.Types, r.IDs)
			}
		}
		// 3 tokens hold no pair; two of each length, for a spread.
		if want := []int{5, 5, 64, 64, 100, 100}; !slices.Equal(lengths, want) {
			t.Errorf("lengths %v, want %v", lengths, want)
		}
		if slices.Equal(refs[0].IDs, refs[1].IDs) {
			t.Error("both pairs of a length are the same")
		}
	}
}

func TestRetrievalFault(t *testing.T) {
	good := bench.Retrieval{Collection: "techdocs-qa", Measure: "nDCG@10", Value: 0.3, Original: 0.301, Ratio: 0.9967, RatioLimit: 0.99, Min: 0.99, Mean: 0.995, Least: 0.97, Average: 0.98}
	for _, test := range []struct {
		change func(r *bench.Retrieval)
		want   string
	}{
		{func(*bench.Retrieval) {}, ""},
		{func(r *bench.Retrieval) { r.Value, r.Ratio = 0.27, 0.897 }, "nDCG@10 on techdocs-qa is 0.8970 of the original weights', 0.2700 against 0.3010, at least 0.99 expected"},
		{func(r *bench.Retrieval) { r.Min = 0.9 }, "a text of techdocs-qa has cosine 0.900000 to its vector from the original weights, at least 0.97 expected"},
		{func(r *bench.Retrieval) { r.Mean = 0.975 }, "the texts of techdocs-qa have the mean cosine 0.975000 to their vectors from the original weights, at least 0.98 expected"},
	} {
		r := good
		test.change(&r)
		if got := r.Fault(); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
	// Real texts are easier than rows of random ids.
	for _, dtype := range []string{"float16", "bfloat16", "int8", "int8/7"} {
		name, bits := strings.TrimSuffix(dtype, "/7"), bitsOf(dtype)
		least, mean, ratio := bench.RetrievalLimits(name, bits)
		if l := bench.GateLimits(name, bits, false); least < l.Cosine || mean < l.Mean || mean < least || l.Mean < l.Cosine || ratio != 0.99 {
			t.Errorf("%s: limits %g, %g, %g on texts, %+v on rows", dtype, least, mean, ratio, l)
		}
	}
}

// The tiny checkpoint in every type, against the plain encoder on float32: it passes
// its own limits, and the narrow ones fail those of float32.
func TestGateOfConvertedWeights(t *testing.T) {
	rt, err := ort.Load(assettest.Need(t, "onnxruntime"))
	if err != nil {
		t.Fatal(err)
	}
	refs := referencesOf(t, tinyMean, 80)
	for _, to := range quant.DTypes() {
		m, err := model.Open(tinyMean)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		c, err := quant.Plan(m, to)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "w.safetensors")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Write(context.Background(), f, nil); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		narrow, err := model.OpenWith(tinyMean, model.Options{Weights: path})
		if err != nil {
			t.Fatal(err)
		}
		defer narrow.Close()
		bits := onnx.ActivationBits7
		if ort.ExactInt8() {
			bits = onnx.ActivationBits8
		}
		bytes, err := onnx.Build(narrow, onnx.Options{ActivationBits: bits})
		if err != nil {
			t.Fatal(err)
		}
		enc, err := ort.Open(rt, ort.Graph{
			Bytes: bytes, WeightsDir: onnx.Folder(narrow), Output: onnx.Output, Dim: narrow.Dim(), MaxLen: narrow.MaxPositions(),
			Inputs: []ort.Input{{Name: onnx.InputIDs, Role: ort.IDs}},
		}, ort.Options{Layout: ort.Plan(1, 8, 0)})
		if err != nil {
			t.Fatal(err)
		}
		defer enc.Close()
		for _, limits := range []string{string(to), "float32"} {
			of := 0
			if limits == string(quant.Int8) {
				of = bits
			}
			acc, _, err := bench.Gate(context.Background(), enc, refs, "test", bench.GateLimits(limits, of, false))
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s weights, limits of %s: %s", to, limits, acc.Figures())
			if want := limits == string(to) || to == quant.Float32; acc.Passed != want {
				t.Errorf("%s weights, limits of %s: passed %t, %s", to, limits, acc.Passed, acc.Error)
			}
		}
	}
}

// Limits of devices go by the type that products are made of: narrower numbers may be
// further off, and a type that is not known has float32's.
func TestDeviceLimitsByType(t *testing.T) {
	f32, tf32, f16, bf16 := bench.DeviceLimits("float32", false), bench.DeviceLimits("tf32", false), bench.DeviceLimits("float16", false), bench.DeviceLimits("bfloat16", false)
	if !(f32.Cosine > tf32.Cosine && tf32.Cosine == f16.Cosine && f16.Cosine > bf16.Cosine && bf16.Cosine > 0.98) {
		t.Errorf("cosines %g, %g, %g, %g", f32.Cosine, tf32.Cosine, f16.Cosine, bf16.Cosine)
	}
	if bench.DeviceLimits("fp8", false) != f32 {
		t.Error("an unknown type has limits of its own")
	}
	if l := bench.DeviceLimits("bfloat16", true); l.Cosine != 0 || l.Diff != 0.2 || l.Level != "reference-bfloat16" {
		t.Errorf("logits: %+v", l)
	}
}
