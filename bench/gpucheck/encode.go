//go:build cuda && linux && cgo && (amd64 || arm64)

package gpucheck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"encbench/bench"
	"encbench/cuda"
	"encbench/engine"
	"encbench/engine/gpu"
	"encbench/engine/model"
	"encbench/engine/onnx"
	"encbench/engine/ort"
	"encbench/engine/synth"
)

// encoding is the encode section at work: one model of random weights, encoded in all
// types and ways.
type encoding struct {
	*check
	rt     *ort.Runtime
	m      *model.Model
	rows   int // of a batch
	length int
	refs   []bench.Reference
}

// encodeBatches are the batches of a measurement.
const encodeBatches = 8

// encode tries ONNX Runtime's CUDA provider: results by the accuracy gate, in each type,
// what two sessions, page-locked memory and captured graphs bring, and rows that a
// search takes on the device. The model has BERT-base's shape.
func encode(ctx context.Context, c *check, r *Result) (err error) {
	if c.opt.Runtime == nil {
		r.LeftOut = "no ONNX Runtime with a CUDA provider was named"
		return nil
	}
	rt, err := c.opt.Runtime()
	if left := (LeftOut{}); errors.As(err, &left) {
		r.LeftOut = left.Error()
		return nil
	}
	if err != nil {
		return err
	}
	e := &encoding{check: c, rt: rt, rows: c.size(6, 128), length: c.size(24, 512)}
	r.fact("ONNX Runtime %s", rt.Version)
	folder, err := os.MkdirTemp("", "encbench-gpu-check-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if err := e.open(ctx, filepath.Join(folder, "model")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.m.Close()) }()
	for _, dtype := range []string{"float16", "bfloat16", "tf32", "float32"} {
		if dtype == "bfloat16" && cuda.State().Fake {
			r.fact("bfloat16: left out, as the processor's provider, which stands in for the device's, has no such kernels")
			continue
		}
		if err := e.typed(ctx, r, dtype); err != nil {
			return fmt.Errorf("%s: %w", dtype, err)
		}
	}
	if err := e.ways(ctx, r); err != nil {
		return err
	}
	return e.handOver(ctx, r)
}

// open writes the model and encodes the gate's rows with the processor, in float32.
func (e *encoding) open(ctx context.Context, dir string) error {
	shape, err := synth.Find("e5-base")
	if err != nil {
		return err
	}
	if e.opt.Small {
		shape.Layers, shape.Vocab = 2, 1000
	}
	if _, err := synth.WriteDirectory(ctx, dir, shape, synth.Options{Seed: 1, Kind: model.SyntheticStandIn}); err != nil {
		return err
	}
	if e.m, err = model.Open(dir); err != nil {
		return err
	}
	for _, ids := range bench.ProbeIDs(shape.Vocab, []int32{1}, []int32{2}, e.length) {
		e.refs = append(e.refs, bench.Reference{IDs: ids})
	}
	g, err := e.graph(onnx.Options{})
	if err != nil {
		return err
	}
	plain, err := ort.Open(e.rt, g, ort.Options{Layout: ort.Plan(runtime.NumCPU(), len(e.refs), 0)})
	if err != nil {
		return fmt.Errorf("the processor's encoder: %w", err)
	}
	var rows [][]int32
	for _, ref := range e.refs {
		rows = append(rows, ref.IDs)
	}
	err = flow(ctx, plain, []*engine.Batch{pack(rows)}, func(got engine.Rows) error {
		for i := range got.N {
			e.refs[i].Vector = append([]float32{}, got.Float32(i)...)
		}
		return nil
	})
	return errors.Join(err, plain.Close())
}

// pack makes a batch of rows.
func pack(rows [][]int32) *engine.Batch {
	b := &engine.Batch{}
	b.Reset()
	for _, ids := range rows {
		b.IDs = append(b.IDs, ids...)
		b.Off = append(b.Off, int32(len(b.IDs)))
	}
	return b
}

// flow encodes batches, all of an encoder's slots busy.
func flow(ctx context.Context, enc engine.Encoder, batches []*engine.Batch, done func(engine.Rows) error) error {
	next := 0
	_, err := engine.Pipeline(ctx, enc, engine.Flow{
		Next: func(context.Context) (*engine.Batch, error) {
			if next == len(batches) {
				return nil, io.EOF
			}
			next++
			return batches[next-1], nil
		},
		Done: func(_ *engine.Batch, got engine.Rows, _ engine.Work) error { return done(got) },
	})
	return err
}

// graph is the model's graph of a form.
func (e *encoding) graph(opt onnx.Options) (ort.Graph, error) {
	bytes, err := onnx.Build(e.m, opt)
	if err != nil {
		return ort.Graph{}, err
	}
	g := ort.Graph{
		Bytes: bytes, WeightsDir: onnx.Folder(e.m), Output: onnx.Output, Dim: e.m.Dim(), Vocab: e.m.Embedding.Word.Rows, MaxLen: e.length,
		Inputs: []ort.Input{{Name: onnx.InputIDs, Role: ort.IDs}},
		Elem:   map[onnx.ElemType]engine.Elem{onnx.Float16: engine.F16, onnx.BFloat16: engine.BF16}[opt.Result],
		FLOP:   func(rows, length int) float64 { return onnx.FLOP(e.m, rows, length) },
	}
	if opt.Mask {
		g.Inputs = append(g.Inputs, ort.Input{Name: onnx.InputLengths, Role: ort.Lengths})
	}
	if opt.Target == onnx.CUDA {
		g.Shapes, err = onnx.SizeNodes(bytes)
	}
	return g, err
}

// encodeTypes are what the products of each type are in the graph.
var encodeTypes = map[string]onnx.ElemType{"float16": onnx.Float16, "bfloat16": onnx.BFloat16}

// device opens an encoder on the device.
func (e *encoding) device(dtype string, result onnx.ElemType, opt ort.CUDAOptions) (*ort.CUDAEncoder, error) {
	g, err := e.graph(onnx.Options{Target: onnx.CUDA, Mask: true, Compute: encodeTypes[dtype], Result: result})
	if err != nil {
		return nil, err
	}
	opt.Device, opt.Batch, opt.TF32 = e.info.Ordinal, max(e.rows, 2*len(e.refs)), dtype == "tf32"
	return ort.OpenCUDA(e.rt, g, opt)
}

// typed puts a type through the gate and measures it.
func (e *encoding) typed(ctx context.Context, r *Result, dtype string) (err error) {
	enc, err := e.device(dtype, 0, ort.CUDAOptions{Host: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, enc.Close()) }()
	acc, _, err := bench.Gate(ctx, enc, e.refs, "ONNX Runtime on the processor, in float32", bench.DeviceLimits(dtype, false))
	if err != nil {
		return err
	}
	if !acc.Passed {
		return errors.New(acc.Error)
	}
	p := enc.Placement()
	r.fact("%s: opened in %.1f s, %d nodes of the graph on the device, %d that compute sizes on the processor, least cosine %.6f", dtype, enc.CreateTime().Seconds(), p.CUDA, p.Shapes, acc.Min)
	for _, w := range enc.Warnings() {
		r.fact("%s: %s", dtype, w)
	}
	return e.measure(ctx, r, enc, dtype, dtype)
}

// ways measures float16 otherwise than typed does, a change at a time.
func (e *encoding) ways(ctx context.Context, r *Result) error {
	for _, way := range []struct {
		name string
		opt  ort.CUDAOptions
	}{
		{"one session", ort.CUDAOptions{Host: true, Sessions: 1}},
		{"ids and rows in ordinary memory", ort.CUDAOptions{Host: true, Pageable: true}},
		{"captured graphs", ort.CUDAOptions{Host: true, Graphs: true, UBatch: min(e.rows, 32)}},
	} {
		name := "float16, " + way.name
		enc, err := e.device("float16", 0, way.opt)
		if err == nil {
			err = errors.Join(e.measure(ctx, r, enc, "float16", name), enc.Close())
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// handOver encodes rows that stay on the device, gives them to a search there, and holds
// it against the processor's over a copy of them.
func (e *encoding) handOver(ctx context.Context, r *Result) (err error) {
	const name = "float16, rows that stay on the device"
	enc, err := e.device("float16", onnx.Float16, ort.CUDAOptions{})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer func() { err = errors.Join(err, enc.Close()) }()
	if err := e.measure(ctx, r, enc, "float16", name); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s, err := gpu.New(gpu.Options{Dim: enc.Dim(), Store: engine.StoreF16}, e.w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var batches []*engine.Batch
	for i := range 4 {
		batches = append(batches, e.batch(uint64(i)))
	}
	onHost := engine.Rows{Dim: enc.Dim(), Stride: enc.Dim(), Type: engine.F16, Device: -1}
	err = flow(ctx, enc, batches, func(got engine.Rows) error {
		data, err := e.copyOf(got)
		err = errors.Join(err, s.Append(ctx, int64(onHost.N), nil, got))
		onHost.Host, onHost.N = append(onHost.Host, data...), onHost.N+got.N
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	n, err := sameAs(ctx, s, onHost, onHost, 10)
	if err != nil {
		return fmt.Errorf("search of rows that were encoded on the device: %w", err)
	}
	r.value("  places of a search of them compared", float64(n), "")
	return nil
}

// batch is a batch of full rows of random ids.
func (e *encoding) batch(seed uint64) *engine.Batch {
	rng := rand.New(rand.NewPCG(seed, 0))
	rows := make([][]int32, e.rows)
	for i := range rows {
		rows[i] = make([]int32, e.length)
		for t := range rows[i] {
			rows[i][t] = int32(rng.IntN(e.m.Embedding.Word.Rows))
		}
	}
	return pack(rows)
}

// copyOf copies rows of the device to the host.
func (e *encoding) copyOf(r engine.Rows) ([]byte, error) {
	data := make([]byte, r.N*r.Dim*r.Type.Size())
	err := e.w.Do(func(c *cuda.Context) error {
		s, err := c.NewStream()
		if err != nil {
			return err
		}
		return errors.Join(c.ToHost(data, &cuda.Buffer{Ptr: r.Dev, Bytes: int64(len(data))}, s), c.Sync(s), c.Free(s))
	})
	return data, err
}

// measure times batches of full rows, after as many that do not count as are in flight.
func (e *encoding) measure(ctx context.Context, r *Result, enc *ort.CUDAEncoder, dtype, name string) error {
	batches := slices.Repeat([]*engine.Batch{e.batch(1)}, e.size(2, encodeBatches))
	ignore := func(engine.Rows) error { return nil }
	if err := flow(ctx, enc, batches[:min(len(batches), enc.Slots())], ignore); err != nil {
		return err
	}
	before, mark := enc.Use(), time.Now()
	if err := flow(ctx, enc, batches, ignore); err != nil {
		return err
	}
	took, use := time.Since(mark).Seconds(), enc.Use()
	n := float64(len(batches) * e.rows)
	r.value(fmt.Sprintf("%s: rows of %d tokens", name, e.length), n/took, "rows/s")
	r.valueOf("  products", n*onnx.FLOP(e.m, 1, e.length)/took, "FLOP/s", e.part.FLOPS(dtype), "the dense "+dtype+" peak")
	r.valueOf("  computing", (use.Compute - before.Compute).Seconds(), "s", took, "the time")
	return nil
}
