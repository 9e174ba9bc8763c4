//go:build cuda && linux && cgo && (amd64 || arm64)

package ort

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"encbench/bench/assets"
	"encbench/bench/assets/assettest"
	"encbench/cuda"
	"encbench/cuda/cudatest"
	"encbench/engine"
	"encbench/engine/enginetest"
	"encbench/engine/onnx"
	"encbench/engine/ort/orttest"
)

// The tests of this package run with the fake driver, and with a library that has a CUDA
// provider on it before the real one, which serves the tests of the processor too.
func TestMain(m *testing.M) {
	fake := cuda.State().Fake || os.Getenv("ENCBENCH_CUDA_DRIVER") == "" && os.Getenv("ENCBENCH_REQUIRE_GPU") != "1"
	if fake && os.Getenv(orttest.RealKey) == "" {
		if err := double(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	// The go command repeats a test whose files have changed. It hears of those that this
	// start reads, and not of those that were read before the program started itself again.
	for _, f := range orttest.Sources() {
		if _, err := os.ReadFile(f); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	cudatest.Main(m, cudatest.Kernels{})
}

// double puts the fake ONNX Runtime in the place of the library, if that is here.
func double() error {
	real, from, err := assets.Override("onnxruntime", "")
	if err != nil {
		return err
	}
	if from == "" {
		s, err := assets.Open("", assets.Options{})
		if err != nil {
			return err
		}
		a, err := s.Lookup("onnxruntime")
		if err != nil {
			return nil // tests that need it say so
		}
		real = a.Path
	}
	lib, err := orttest.Double()
	return errors.Join(err, os.Setenv(orttest.RealKey, real), os.Setenv("ENCBENCH_ORT_LIBRARY", lib))
}

// The positions in the shim are those of the header.
func TestPositions(t *testing.T) {
	dir, err := orttest.Headers()
	if err != nil {
		t.Fatal(err)
	}
	header, err := os.ReadFile(filepath.Join(dir, "onnxruntime_c_api.h"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(header), "struct OrtApi {")
	table, _, end := strings.Cut(table, "\n};")
	if !ok || !end {
		t.Fatal("the header has no struct OrtApi")
	}
	table = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`).ReplaceAllString(table, "")
	var names []string
	for _, m := range regexp.MustCompile(`ORT_API2_STATUS\(\s*(\w+)|ORT_CLASS_(RELEASE)\(\s*(\w+)|ORT_API_T\(\s*[^,]+,\s*(\w+)|\(\s*ORT_API_CALL\s*\*\s*(\w+)\s*\)`).FindAllStringSubmatch(table, -1) {
		name := m[1] + m[3] + m[4] + m[5]
		if m[2] != "" {
			name = "Release" + name
		}
		names = append(names, name)
	}
	shim, err := os.ReadFile("cuda_shim.c")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`\tAPI_(\w+) = (\d+),`).FindAllStringSubmatch(string(shim), -1)
	if len(found) < 30 {
		t.Fatalf("%d positions in the shim", len(found))
	}
	for _, m := range found {
		if want := fmt.Sprint(slices.Index(names, m[1])); m[2] != want {
			t.Errorf("%s is at %s in the header's table, the shim has %s", m[1], want, m[2])
		}
	}
}

// provided gives the library with a CUDA provider.
func provided(tb testing.TB) *Runtime {
	tb.Helper()
	if cuda.State().Fake && os.Getenv(orttest.RealKey) == "" {
		assettest.Without(tb, "ONNX Runtime is not here; run: encbench assets get onnxruntime")
	}
	return load(tb)
}

// A library says whether it was built with the provider.
func TestRuntimeCUDA(t *testing.T) {
	rt := provided(t)
	if yes, err := rt.CUDA(); !yes || err != nil {
		t.Errorf("%v, %v", yes, err)
	}
	if cuda.State().Fake {
		if yes, err := (&Runtime{Path: os.Getenv(orttest.RealKey)}).CUDA(); yes || err != nil {
			t.Errorf("the library for the processor: %v, %v", yes, err)
		}
	}
	cudatest.Set(t, "ORT_FAIL", "GetAvailableProviders:1")
	if _, err := rt.CUDA(); cuda.State().Fake && (err == nil || err.Error() != "ask ONNX Runtime for its providers: fault in GetAvailableProviders") {
		t.Error(err)
	}
}

// deviceGraph builds a checkpoint's graph for a device.
func deviceGraph(tb testing.TB, name string, opt onnx.Options) Graph {
	tb.Helper()
	m := openModel(tb, filepath.Join(models, name))
	opt.Target = onnx.CUDA
	g := built(tb, m, opt)
	var err error
	if g.Shapes, err = onnx.SizeNodes(g.Bytes); err != nil {
		tb.Fatal(err)
	}
	g.Elem = map[onnx.ElemType]engine.Elem{0: engine.F32, onnx.Float16: engine.F16, onnx.BFloat16: engine.BF16}[opt.Result]
	return g
}

// fakeRuntime sets what the fake ONNX Runtime does.
func fakeRuntime(tb testing.TB, name, value string) {
	tb.Helper()
	if os.Getenv(orttest.RealKey) == "" {
		tb.Skip("a setting of the fake ONNX Runtime")
	}
	tb.Setenv("ENCBENCH_FAKE_ORT_"+name, value)
}

// journal has the fake ONNX Runtime log, and fails the test when objects are left.
func journal(t *testing.T) (read func() string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	fakeRuntime(t, "LOG", path)
	read = func() string {
		b, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return string(b)
	}
	t.Cleanup(func() {
		count := map[string]int{}
		for line := range strings.Lines(read()) {
			switch kind := strings.TrimSpace(line[1:]); line[0] {
			case '+':
				count[kind]++
			case '-':
				count[kind]--
			}
		}
		for kind, n := range count {
			if n != 0 {
				t.Errorf("%d objects of the kind %s are not freed", n, kind)
			}
		}
	})
	return read
}

// sample are rows of many lengths, not in their order.
func sample() [][]int32 {
	var rows [][]int32
	for i := range 23 {
		row := make([]int32, 1+i*i%37)
		for j := range row {
			row[j] = int32((i*31 + j*7) % 60)
		}
		rows = append(rows, row)
	}
	return rows
}

// onHost reads rows of the device or the host as float32.
func onHost(t *testing.T, r engine.Rows) [][]float32 {
	t.Helper()
	if r.Host == nil {
		w, err := cuda.Open(r.Device)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		bytes := make([]byte, r.N*r.Stride*r.Type.Size())
		err = w.Do(func(c *cuda.Context) error {
			s, err := c.NewStream()
			if err != nil {
				return err
			}
			return errors.Join(c.ToHost(bytes, cuda.View(r.Dev, int64(len(bytes))), s), c.Sync(s), c.Free(s))
		})
		if err != nil {
			t.Fatal(err)
		}
		r.Host = bytes
	}
	var out [][]float32
	for i := range r.N {
		out = append(out, slices.Clone(r.Widen(make([]float32, r.Dim), i)))
	}
	return out
}

// near compares vectors with those of the processor.
func near(t *testing.T, got, want [][]float32, most float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d rows, expected %d", len(got), len(want))
		return
	}
	for r := range want {
		for i := range want[r] {
			if d := math.Abs(float64(got[r][i]) - float64(want[r][i])); !(d <= most*max(1, math.Abs(float64(want[r][i])))) {
				t.Errorf("row %d value %d: %g, on the processor %g", r, i, got[r][i], want[r][i])
				return
			}
		}
		if c := cosine(got[r], want[r]); !(c >= 1-most) {
			t.Errorf("row %d has cosine %.8f to the processor's", r, c)
		}
	}
}

// Every form of a graph, each way of grouping, type and place of the rows: the vectors
// are the processor's.
func TestCUDAEncodes(t *testing.T) {
	rt := provided(t)
	rows := sample()
	for _, c := range []struct {
		model string
		opt   onnx.Options
		cuda  CUDAOptions
		most  float64
	}{
		{"tiny-bert-mean", onnx.Options{}, CUDAOptions{Batch: 32}, 2e-6},
		{"tiny-bert-mean", onnx.Options{}, CUDAOptions{Batch: 32, Host: true, GroupTokens: 40}, 2e-6},
		{"tiny-bert-mean", onnx.Options{Mask: true}, CUDAOptions{Batch: 32, UBatch: 4, Slots: 2, Sessions: 3}, 2e-6},
		{"tiny-bert-mean", onnx.Options{Mask: true}, CUDAOptions{Batch: 32, Host: true}, 2e-6},
		{"tiny-bert-mean", onnx.Options{Mask: true}, CUDAOptions{Batch: 32, Host: true, Pageable: true}, 2e-6},
		{"micro-qwen3-last", onnx.Options{Mask: true}, CUDAOptions{Batch: 32, GroupTokens: 200}, 2e-6},
		{"tiny-bert-mean", onnx.Options{Mask: true}, CUDAOptions{Batch: 32, UBatch: 5, Graphs: true, TF32: true}, 2e-6},
		{"tiny-bert-mean", onnx.Options{Mask: true, Result: onnx.Float16}, CUDAOptions{Batch: 32, UBatch: 23, Sessions: 1}, 1e-3},
		{"micro-modernbert-reranker", onnx.Options{Result: onnx.BFloat16}, CUDAOptions{Batch: 32, Host: true}, 5e-3},
		{"micro-qwen3-last", onnx.Options{Mask: true}, CUDAOptions{Batch: 32, UBatch: 7}, 2e-6},
		{"tiny-bert-mean", onnx.Options{Compute: onnx.Float16}, CUDAOptions{Batch: 32}, 4e-3},
		{"tiny-bert-cls", onnx.Options{Mask: true, Compute: onnx.Float16, Result: onnx.Float16}, CUDAOptions{Batch: 32, UBatch: 8}, 4e-3},
	} {
		t.Run(fmt.Sprintf("%s/%d-%v-%v-%v", c.model, c.cuda.UBatch, c.cuda.Host, c.opt.Result, c.opt.Compute), func(t *testing.T) {
			journal(t)
			plain := c.opt
			plain.Result, plain.Compute = 0, 0
			host := open(t, built(t, openModel(t, filepath.Join(models, c.model)), plain), Plan(1, 32, c.cuda.UBatch))
			want := encodeAll(t, host, rows)
			if err := host.Close(); err != nil {
				t.Fatal(err)
			}
			enc, err := OpenCUDA(rt, deviceGraph(t, c.model, c.opt), c.cuda)
			if err != nil {
				t.Fatal(err)
			}
			if p := enc.Placement(); p.CUDA == 0 || len(p.Host) != 0 {
				t.Errorf("placement %+v", p)
			}
			// More batches than slots, each of which comes back as it went.
			b := enginetest.MakeBatch(0, rows...)
			n := 0
			batches := 0
			_, err = engine.Pipeline(t.Context(), enc, engine.Flow{
				Next: func(context.Context) (*engine.Batch, error) {
					if batches++; batches > 7 {
						return nil, io.EOF
					}
					return b, nil
				},
				Done: func(_ *engine.Batch, r engine.Rows, w engine.Work) error {
					if r.Type != deviceGraph(t, c.model, c.opt).Elem || (r.Host != nil) != c.cuda.Host || r.Device != map[bool]int{true: -1}[c.cuda.Host] {
						t.Errorf("rows %d %v on %d", r.N, r.Type, r.Device)
					}
					near(t, onHost(t, r), want, c.most)
					real := int64(len(b.IDs))
					if w.Real != real || w.Padded < real || w.Groups < 1 || !(w.FLOP > 0) {
						t.Errorf("work %+v", w)
					}
					n++
					return nil
				},
			})
			if err != nil || n != 7 {
				t.Errorf("%d batches, %v", n, err)
			}
			if err := enc.Close(); err != nil {
				t.Error(err)
			}
			cudatest.Clean(t)
		})
	}
}

// What every encoder must hold, with rows on the host.
func TestCUDAConformance(t *testing.T) {
	rt := provided(t)
	for _, c := range []struct {
		model string
		opt   onnx.Options
		cuda  CUDAOptions
	}{
		{"tiny-bert-mean", onnx.Options{}, CUDAOptions{Batch: 16, Host: true, Slots: 2}},
		{"micro-bert-dense", onnx.Options{Mask: true}, CUDAOptions{Batch: 16, Host: true, UBatch: 5}},
		{"micro-modernbert-reranker", onnx.Options{Mask: true}, CUDAOptions{Batch: 16, Host: true, UBatch: 16, Graphs: true}},
	} {
		t.Run(c.model, func(t *testing.T) {
			g := deviceGraph(t, c.model, c.opt)
			enginetest.Run(t, enginetest.Subject{
				Open: func(tb testing.TB) engine.Encoder {
					enc, err := OpenCUDA(rt, g, c.cuda)
					if err != nil {
						tb.Fatal(err)
					}
					return enc
				},
				Vocab: g.Vocab, MaxLen: min(g.MaxLen, 200), Batch: 16,
				// Matrix products of another height sum in another order.
				Tolerance: 2e-6,
			})
			cudatest.Clean(t)
		})
	}
}
