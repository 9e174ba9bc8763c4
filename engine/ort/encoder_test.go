//go:build cgo

package ort

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"encbench/bench/assets/assettest"
	"encbench/engine"
	"encbench/engine/enginetest"
	"encbench/engine/model/modeltest"
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
	return built(tb, openModel(tb, dir), onnx.Options{Mask: masked})
}

func open(tb testing.TB, g Graph, l Layout) engine.Encoder {
	tb.Helper()
	enc, err := Open(load(tb), g, Options{Layout: l})
	if err != nil {
		tb.Fatal(err)
	}
	return enc
}

// conformant are checkpoints of every form of attention and head; what families differ
// in besides is compared in TestGoldens.
var conformant = []string{"tiny-bert-mean", "micro-bert-dense", "micro-mpnet-reranker", "micro-qwen3-last", "micro-modernbert-reranker", "tiny-modernbert-cls"}

func TestConformance(t *testing.T) {
	load(t)
	before := Live()
	for _, dir := range modeltest.Goldens(t) {
		if !slices.Contains(conformant, filepath.Base(dir)) {
			continue
		}
		m := openModel(t, dir)
		for _, layout := range []Layout{Plan(2, 16, 0), Plan(3, 16, 5), Plan(1, 16, 16)} {
			t.Run(fmt.Sprintf("%s/%s", m.Name, layout), func(t *testing.T) {
				enginetest.Run(t, enginetest.Subject{
					Open: func(tb testing.TB) engine.Encoder {
						return open(tb, built(tb, m, onnx.Options{Mask: layout.UBatch > 1}), layout)
					},
					Vocab: m.Config.Vocab, MaxLen: min(m.MaxPositions(), 200), Batch: 16,
					// Matrix products of another height sum in another order.
					Tolerance: 2e-6,
				})
			})
		}
	}
	if after := Live(); after != before {
		t.Errorf("%d blocks of C memory are alive after all encoders were closed", after-before)
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

// A token type that the model does not have is refused; without an input of types they
// are left aside.
func TestRefusesTypes(t *testing.T) {
	m := openModel(t, filepath.Join(models, "micro-gte-reranker"))
	g := built(t, m, onnx.Options{Types: true})
	g.TokenTypes = m.Types()
	enc := open(t, g, Plan(1, 4, 0))
	defer enc.Close()
	b := enginetest.MakeBatch(7, []int32{1, 2}, []int32{3})
	b.Types = []uint8{0, 1, 2}
	want := "ort: token type 2 at token 2 of the batch starting at row 7: the model has 2 types"
	if err := enc.Submit(0, b); err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	plain := open(t, built(t, openModel(t, filepath.Join(models, "tiny-bert-mean")), onnx.Options{}), Plan(1, 4, 0))
	defer plain.Close()
	if err := plain.Submit(0, b); err != nil {
		t.Fatal(err)
	}
	if _, _, err := plain.Collect(context.Background(), 0); err != nil {
		t.Error(err)
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
