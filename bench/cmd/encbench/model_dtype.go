package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"encbench/bench"
	"encbench/engine/model"
	"encbench/engine/onnx"
	"encbench/engine/ort"
	"encbench/engine/quant"
)

// dtypeAuto is the --dtype that leaves weights as they are stored.
const dtypeAuto = "auto"

const dtypeHelp = "`TYPE` of the weights: auto (as they are stored), float32, float16, bfloat16 or int8; converted once and cached. A CPU computes in float32 all the same, but int8 linear layers in int8"

// deviceDTypeHelp is dtypeHelp of commands that run on devices too.
const deviceDTypeHelp = dtypeHelp + "; a CUDA device multiplies in the type of the weights, or in tf32 where that is the type: float32 weights, rounded to 10 bits in products"

// checkDType checks the value of --dtype.
func checkDType(dtype string) error {
	if dtype == dtypeAuto {
		return nil
	}
	if _, err := quant.ParseDType(dtype); err != nil {
		return fmt.Errorf("--dtype %q: auto, float32, float16, bfloat16 or int8", dtype)
	}
	return nil
}

// checkDeviceDType is checkDType of commands that run on devices too.
func checkDeviceDType(dtype string) error {
	if dtype == dtypeTF32 || checkDType(dtype) == nil {
		return nil
	}
	return fmt.Errorf("--dtype %q: auto, float32, float16, bfloat16, int8 or, on a CUDA device, tf32", dtype)
}

// checkProcessor refuses what only a device computes.
func checkProcessor(dtype string) error {
	if dtype == dtypeTF32 {
		return usagef("--dtype tf32 is a way of CUDA devices to multiply float32: --device cuda, or --dtype float32")
	}
	return nil
}

// convert puts the model on weights of another type, from the cache of derived files;
// "" and auto, and the type that they are stored in, leave it alone.
func (m *loadedModel) convert(ctx context.Context, a *app, dtype string) error {
	if dtype == "" || dtype == dtypeAuto {
		return nil
	}
	if m.dir == nil {
		return usagef("--dtype %s: the graph %s has types of its own; name a Hugging Face directory", dtype, m.graph)
	}
	to, err := quant.ParseDType(dtype)
	if err != nil {
		return &usageError{err}
	}
	plan, err := quant.Plan(m.dir, to)
	if err != nil {
		return err
	}
	if !plan.Changed() {
		return nil
	}
	path, err := m.derive(ctx, a, plan, to)
	if err != nil {
		return err
	}
	d, err := model.OpenWith(m.dir.Dir, model.Options{Pooling: m.said, Name: m.dir.Name, Revision: m.dir.Revision, Weights: path})
	if err != nil {
		return err
	}
	m.original, m.dir, m.dtype, m.opened = m.dir, d, to, append(m.opened, d)
	m.describeTypes()
	return nil
}

// derive gives the path of the converted weights.
func (m *loadedModel) derive(ctx context.Context, a *app, plan *quant.Conversion, to quant.DType) (string, error) {
	s, err := a.store()
	if err != nil {
		return "", err
	}
	key, err := m.dir.Fingerprint()
	if err != nil {
		return "", err
	}
	before, after := plan.Converted()
	var failed error // in the words of the conversion, without the cache's around them
	path, err := s.Derived(ctx, fmt.Sprintf("weights-%d-%s-%s.safetensors", quant.Version, key, to), func(w io.Writer) error {
		fmt.Fprintf(a.stderr, "converting the weights of %s to %s: %s become %s (once; cached afterwards)\n", m.facts.Name, to, megabytes(before), megabytes(after))
		bar := a.progress()
		defer bar.clear()
		failed = plan.Write(ctx, w, func(done, total int64) {
			bar.show(share(done, total), func() string { return fmt.Sprintf("converting, %s of %s", megabytes(done), megabytes(total)) })
		})
		return failed
	})
	if failed != nil && (errors.Is(failed, quant.ErrRange) || errors.Is(failed, quant.ErrNotFinite)) {
		return "", failed
	}
	return path, err
}

// as gives the model on weights of another type. It shares the tokenizer and what is
// open; m is closed after it.
func (m *loadedModel) as(ctx context.Context, a *app, dtype string) (*loadedModel, error) {
	other := *m
	other.opened = nil
	if err := other.convert(ctx, a, dtype); err != nil {
		return nil, err
	}
	return &other, nil
}

// describeTypes says in which types the weights are stored and computed. Narrow floats
// are storage: the runtime widens them when it loads the graph.
func (m *loadedModel) describeTypes() {
	f := &m.facts
	f.Stored, f.Computed = quant.Stored(m.dir), string(quant.Float32)
	if f.Stored == string(quant.Int8) {
		f.Computed = f.Stored
	}
	f.WidenedBytes = 0
	for _, t := range m.dir.Tensors() {
		if t.DType == model.F16 || t.DType == model.BF16 {
			f.WidenedBytes += t.Bytes
		}
	}
}

// activationBits are those of int8 layers on this processor, 0 where there are none.
func (m *loadedModel) activationBits() int {
	switch {
	case m.facts.Computed != string(quant.Int8):
		return 0
	case ort.ExactInt8():
		return onnx.ActivationBits8
	}
	return onnx.ActivationBits7
}

// limits are the gate's: of the type that the weights were converted to, or float32's
// for weights as they are. Layers that compute in int8 round their activations, and
// have int8's.
func (m *loadedModel) limits() bench.Limits {
	dtype := m.dtype
	if dtype == "" && m.facts.Computed == string(quant.Int8) {
		dtype = quant.Int8
	}
	return bench.GateLimits(string(dtype), m.activationBits(), m.reranks())
}

// reranks says whether the output is a reranker's.
func (m *loadedModel) reranks() bool { return m.dir != nil && m.dir.Kind == model.Reranker }

// label names the model in what it makes, with the type that its weights were
// converted to.
func (m *loadedModel) label() string {
	if m.dtype == "" {
		return m.facts.Name
	}
	return m.facts.Name + "-" + string(m.dtype)
}
