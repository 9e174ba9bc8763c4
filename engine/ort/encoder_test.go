//go:build cgo

package ort

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"encbench/bench/assets/assettest"
	"encbench/engine"
	"encbench/engine/enginetest"
	"encbench/engine/model"
	"encbench/engine/onnx"
)

const models = "../model/testdata"

func load(tb testing.TB) *Runtime {
	tb.Helper()
	rt, err := Load(assettest.Need(tb, "onnxruntime"))
	if err != nil {
		tb.Fatal(err)
	}
	return rt
}

func graph(tb testing.TB, dir string, masked bool) Graph {
	tb.Helper()
	m, err := model.Open(dir)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { m.Close() })
	bytes, err := onnx.Build(m, onnx.Options{Mask: masked})
	if err != nil {
		tb.Fatal(err)
	}
	g := Graph{
		Bytes: bytes, WeightsDir: onnx.Folder(m), Output: onnx.Output, Dim: m.Dim(),
		Inputs: []Input{{Name: onnx.InputIDs, Role: IDs}},
		Vocab:  m.Config.Vocab, MaxLen: m.MaxPositions(),
		FLOP: func(rows, n int) float64 { return onnx.FLOP(m, rows, n) },
	}
	if masked {
		g.Inputs = append(g.Inputs, Input{Name: onnx.InputLengths, Role: Lengths})
	}
	return g
}

func open(tb testing.TB, g Graph, l Layout) engine.Encoder {
	tb.Helper()
	enc, err := Open(load(tb), g, Options{Layout: l})
	if err != nil {
		tb.Fatal(err)
	}
	return enc
}

func TestConformance(t *testing.T) {
	load(t)
	before := Live()
	for _, test := range []struct {
		model  string
		layout Layout
	}{
		{"tiny-bert-mean", Plan(2, 16, 0)},
		{"tiny-bert-mean", Plan(2, 16, 16)},
		{"tiny-bert-cls", Plan(1, 16, 0)},
		{"tiny-bert-cls", Plan(3, 16, 5)},
	} {
		t.Run(fmt.Sprintf("%s/%s", test.model, test.layout), func(t *testing.T) {
			enginetest.Run(t, enginetest.Subject{
				Open: func(tb testing.TB) engine.Encoder {
					return open(tb, graph(tb, filepath.Join(models, test.model), test.layout.UBatch > 1), test.layout)
				},
				Vocab: 500, MaxLen: 80, Batch: 16,
				// Matrix products of another height sum in another order.
				Tolerance: 1e-6,
			})
		})
	}
	if after := Live(); after != before {
		t.Errorf("%d blocks of C memory are alive after all encoders were closed", after-before)
	}
}

type golden struct {
	InputIDs   [][]int32   `json:"input_ids"`
	Embeddings [][]float32 `json:"embeddings"`
}

func TestTinyGoldens(t *testing.T) {
	for _, name := range []string{"tiny-bert-mean", "tiny-bert-cls"} {
		dir := filepath.Join(models, name)
		data, err := os.ReadFile(filepath.Join(dir, "golden.json"))
		if err != nil {
			t.Fatal(err)
		}
		var want golden
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		for _, layout := range []Layout{Plan(2, 32, 0), Plan(1, 32, 32), Plan(2, 32, 3)} {
			enc := open(t, graph(t, dir, layout.UBatch > 1), layout)
			b := enginetest.MakeBatch(0, want.InputIDs...)
			if err := enc.Submit(0, b); err != nil {
				t.Fatal(err)
			}
			rows, _, err := enc.Collect(context.Background(), 0)
			if err != nil {
				t.Fatal(err)
			}
			for r, w := range want.Embeddings {
				for i, x := range rows.Float32(r) {
					if d := math.Abs(float64(x) - float64(w[i])); !(d <= 1e-5) {
						t.Fatalf("%s, %s: row %d value %d is %g, golden %g", name, layout, r, i, x, w[i])
					}
				}
			}
			if err := enc.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	g := graph(t, filepath.Join(models, "tiny-bert-mean"), false)
	rt := load(t)
	if _, err := Open(rt, g, Options{Layout: Plan(1, 8, 4)}); err == nil || !strings.Contains(err.Error(), "no mask input") {
		t.Errorf("padded groups without a mask: %v", err)
	}
	enc := open(t, g, Plan(1, 4, 0))
	defer enc.Close()
	for want, b := range map[string]*engine.Batch{
		"row 7 has 81 tokens, the model takes 1 to 80":                                               enginetest.MakeBatch(7, make([]int32, 81)),
		"row 0 has 0 tokens, the model takes 1 to 80":                                                enginetest.MakeBatch(0, nil),
		"token id 500 at token 1 of the batch starting at row 0: the model's vocabulary has 500 ids": enginetest.MakeBatch(0, []int32{1, 500}),
		"token id -1 at token 0":                                                                     enginetest.MakeBatch(0, []int32{-1}),
		"batch of 5 rows, at most 4":                                                                 enginetest.MakeBatch(0, []int32{1}, []int32{1}, []int32{1}, []int32{1}, []int32{1}),
		"batch without rows":                                                                         enginetest.MakeBatch(0),
	} {
		if err := enc.Submit(0, b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("submit gave %v, want %q", err, want)
		}
	}
}

// Steady state allocates nothing: shapes are bound once.
func TestNoAllocation(t *testing.T) {
	enc := open(t, graph(t, filepath.Join(models, "tiny-bert-mean"), false), Plan(1, 8, 0))
	defer enc.Close()
	b := enginetest.MakeBatch(0, []int32{1, 2, 3}, []int32{4, 5}, []int32{6, 7, 8})
	round := func() {
		if err := enc.Submit(0, b); err != nil {
			t.Fatal(err)
		}
		if _, _, err := enc.Collect(context.Background(), 0); err != nil {
			t.Fatal(err)
		}
	}
	round()
	if n := testing.AllocsPerRun(100, round); n >= 1 {
		t.Errorf("a batch of 3 rows allocates %.2f times", n)
	}
}

func TestLoadRefuses(t *testing.T) {
	dir := t.TempDir()
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	build := func(name, source string) string {
		src, lib := filepath.Join(dir, name+".c"), filepath.Join(dir, name+".so")
		if err := os.WriteFile(src, []byte(source), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(cc, "-shared", "-fPIC", "-o", lib, src).CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", name, err, out)
		}
		return lib
	}
	old := build("old", `
static const void *api(unsigned v) { return v <= 10 ? &api : 0; }
static const char *version(void) { return "1.10.0"; }
struct { const void *(*api)(unsigned); const char *(*version)(void); } base = {api, version};
void *OrtGetApiBase(void) { return &base; }
`)
	_, err := probe(old)
	want := "ONNX Runtime library is too old: " + old + " is version 1.10.0; encbench needs C API 24, which version 1.24 and newer have. Run `encbench assets get onnxruntime` or name a newer library with --ort-library"
	if !errors.Is(err, ErrTooOld) || err.Error() != want {
		t.Errorf("old library: %v\nwant %s", err, want)
	}
	other := build("other", "int x;")
	_, err = probe(other)
	want = "load ONNX Runtime " + other + ": the library has no OrtGetApiBase, so it is not ONNX Runtime (in the Python wheel the file is onnxruntime/capi/libonnxruntime.so.VERSION)"
	if err == nil || err.Error() != want {
		t.Errorf("other library: %v\nwant %s", err, want)
	}
	missing := filepath.Join(dir, "missing.so")
	if _, err = probe(missing); err == nil || !strings.HasPrefix(err.Error(), "load ONNX Runtime "+missing+": ") {
		t.Errorf("missing library: %v", err)
	}
}
