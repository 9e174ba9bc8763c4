package bench_test

import (
	"context"
	"strings"
	"testing"

	"encbench/bench"
	"encbench/bench/assets/assettest"
	"encbench/engine"
	"encbench/engine/cpu"
	"encbench/engine/enginetest"
	"encbench/engine/model"
	"encbench/engine/model/modeltest"
	"encbench/engine/onnx"
	"encbench/engine/ort"
)

const tinyMean = "../engine/model/testdata/tiny-bert-mean"

// openEncoder opens a model directory on ONNX Runtime, padded groups when masked.
func openEncoder(t *testing.T, dir string, masked bool) engine.Encoder {
	t.Helper()
	rt, err := ort.Load(assettest.Need(t, "onnxruntime"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	g := ort.Graph{
		WeightsDir: onnx.Folder(m), Output: onnx.Output, Dim: m.Dim(), MaxLen: m.MaxPositions(), Vocab: m.Config.Vocab,
		Inputs: []ort.Input{{Name: onnx.InputIDs, Role: ort.IDs}},
	}
	ubatch := 0
	if masked {
		g.Inputs = append(g.Inputs, ort.Input{Name: onnx.InputLengths, Role: ort.Lengths})
		ubatch = 8
	}
	if g.Bytes, err = onnx.Build(m, onnx.Options{Mask: masked}); err != nil {
		t.Fatal(err)
	}
	enc, err := ort.Open(rt, g, ort.Options{Layout: ort.Plan(1, 8, ubatch)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { enc.Close() })
	return enc
}

// referencesOf computes the gate's references of a model directory.
func referencesOf(t *testing.T, dir string, longest int) []bench.Reference {
	t.Helper()
	m, err := model.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	ref, err := cpu.NewReference(m)
	if err != nil {
		t.Fatal(err)
	}
	var out []bench.Reference
	for _, ids := range bench.ProbeIDs(m.Config.Vocab, []int32{1}, []int32{2}, longest) {
		v, err := ref.Encode(ids, nil)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, bench.Reference{IDs: ids, Vector: v})
	}
	return out
}

func TestGateCatchesDamage(t *testing.T) {
	refs := referencesOf(t, tinyMean, 80)
	for _, test := range []struct {
		name  string
		fault *modeltest.Fault // nil = intact
		want  string
	}{
		{"intact", nil, ""},
		{"one weight of a projection", &modeltest.Fault{Tensor: "encoder.layer.1.attention.self.query.weight", Index: 100, Add: 0.05}, "a value of a vector differs by"},
		{"one weight of a feed-forward block", &modeltest.Fault{Tensor: "encoder.layer.2.output.dense.weight", Index: 7, Add: 0.02}, "a value of a vector differs by"},
		{"one bias", &modeltest.Fault{Tensor: "encoder.layer.0.intermediate.dense.bias", Index: 3, Add: 0.05}, "3 tokens: cosine"},
		{"pooling swapped", &modeltest.Fault{Pooling: model.PoolCLS}, "3 tokens: cosine"},
	} {
		dir := tinyMean
		if test.fault != nil {
			dir = modeltest.Damage(t, tinyMean, *test.fault)
		}
		for _, masked := range []bool{false, true} {
			acc, _, err := bench.Gate(context.Background(), openEncoder(t, dir, masked), refs, "test", bench.GateLimits("float32", 0, false))
			if err != nil {
				t.Fatalf("%s: %v", test.name, err)
			}
			if acc.Passed != (test.want == "") || !strings.HasPrefix(acc.Error, test.want) {
				t.Errorf("%s, masked %t: passed %t with %q, want %q", test.name, masked, acc.Passed, acc.Error, test.want)
			}
			if acc.Level != bench.LevelReference {
				t.Errorf("level %q", acc.Level)
			}
		}
	}
}

// One weight of the real model, off by a tenth of its layer's spread.
func TestGateCatchesDamageOfMiniLM(t *testing.T) {
	dir := assettest.Need(t, "all-minilm-l6-v2")
	refs := referencesOf(t, dir, 64)
	for _, test := range []struct {
		add    float64
		passes bool
	}{{0, true}, {0.005, false}} {
		damaged := dir
		if test.add != 0 {
			damaged = modeltest.Damage(t, dir, modeltest.Fault{Tensor: "encoder.layer.3.attention.output.dense.weight", Index: 12345, Add: float32(test.add)})
		}
		acc, _, err := bench.Gate(context.Background(), openEncoder(t, damaged, false), refs, "test", bench.GateLimits("float32", 0, false))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("weight off by %g: largest difference %.2g, least cosine %.9f", test.add, acc.MaxDiff, acc.Min)
		if acc.Passed != test.passes {
			t.Errorf("weight off by %g: passed %t (%s)", test.add, acc.Passed, acc.Error)
		}
	}
}

// liar gives a wrong vector when rows share a batch, as a quantised graph that
// scales activations over the batch does.
type liar struct{ engine.Encoder }

func (l liar) Collect(ctx context.Context, slot int) (engine.Rows, engine.Work, error) {
	rows, w, err := l.Encoder.Collect(ctx, slot)
	if err == nil && rows.N > 1 {
		rows.Float32(1)[0] += 0.1
	}
	return rows, w, err
}

func TestGateWithoutReference(t *testing.T) {
	var refs []bench.Reference
	for _, ids := range bench.ProbeIDs(500, []int32{1}, []int32{2}, 512) {
		refs = append(refs, bench.Reference{IDs: ids})
	}
	fake := enginetest.NewFake(32, 2)
	acc, _, err := bench.Gate(context.Background(), fake, refs, "itself", bench.GateLimits("float32", 0, false))
	if err != nil || !acc.Passed || acc.Level != bench.LevelConsistency {
		t.Errorf("consistent encoder: %+v, %v", acc, err)
	}
	acc, _, err = bench.Gate(context.Background(), liar{fake}, refs, "itself", bench.GateLimits("float32", 0, false))
	if err != nil || acc.Passed {
		t.Errorf("encoder that depends on the batch passed: %+v, %v", acc, err)
	}
}

func TestGateNeedsRows(t *testing.T) {
	_, _, err := bench.Gate(context.Background(), enginetest.NewFake(8, 2), nil, "nothing", bench.GateLimits("float32", 0, false))
	if err == nil || err.Error() != "accuracy gate: no rows to compare" {
		t.Errorf("gate without references: %v", err)
	}
}

func TestProbeIDs(t *testing.T) {
	for longest, want := range map[int][]int{512: {3, 64, 129, 512}, 8192: {3, 64, 129, 512}, 100: {3, 64, 100}, 64: {3, 64}, 3: {3}} {
		rows := bench.ProbeIDs(30522, []int32{101}, []int32{102}, longest)
		if len(rows) != len(want) {
			t.Errorf("longest %d: %d probes, want %d", longest, len(rows), len(want))
			continue
		}
		for i, r := range rows {
			if len(r) != want[i] || r[0] != 101 || r[len(r)-1] != 102 {
				t.Errorf("longest %d: probe %d has %d tokens and ends %d, %d", longest, i, len(r), r[0], r[len(r)-1])
			}
			for _, id := range r[1 : len(r)-1] {
				if id < 0 || id >= 30522 || id == 101 || id == 102 {
					t.Errorf("probe %d holds id %d", i, id)
				}
			}
		}
	}
}
