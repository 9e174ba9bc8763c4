//go:build cgo

package ort

import (
	"errors"
	"fmt"

	ort "github.com/yalue/onnxruntime_go"
)

// weightsFolder is the session config entry that lets a model given as bytes
// find its external weights. ONNX Runtime refuses a weights file that is a link,
// so the folder is that of the file's real path.
const weightsFolder = "session.model_external_initializers_file_folder_path"

// session is one ONNX Runtime session; run may be called concurrently.
type session struct{ s *ort.DynamicAdvancedSession }

func newSession(g *Graph, intra int) (*session, error) {
	o, err := ort.NewSessionOptions()
	if err != nil {
		return nil, fmt.Errorf("ONNX Runtime session options: %w", err)
	}
	defer o.Destroy()
	err = errors.Join(
		o.SetIntraOpNumThreads(intra),
		o.SetInterOpNumThreads(1),
		o.SetExecutionMode(ort.ExecutionModeSequential),
		o.SetGraphOptimizationLevel(ort.GraphOptimizationLevelEnableAll),
		// Shapes change from run to run: a plan remembered for each would only grow.
		o.SetMemPattern(false),
		// Threads that spin between runs would take the tokenizer's cores.
		o.AddSessionConfigEntry("session.intra_op.allow_spinning", "0"),
		// SkipLayerNormalization has a scalar loop: 512 tokens of 768 values take 1.9 ms,
		// against 0.3 ms of LayerNormalization and the sums before it. BiasGelu of 512
		// tokens of 1,536 values takes 0.74 ms, Add and Gelu 0.15 and 0.50.
		o.AddSessionConfigEntry("optimization.disable_specified_optimizers", "SkipLayerNormFusion;BiasGeluFusion"),
	)
	if g.WeightsDir != "" {
		err = errors.Join(err, o.AddSessionConfigEntry(weightsFolder, g.WeightsDir))
	}
	if err != nil {
		return nil, fmt.Errorf("ONNX Runtime session options: %w", err)
	}
	names := make([]string, len(g.Inputs))
	for i, in := range g.Inputs {
		names[i] = in.Name
	}
	outputs := []string{g.Output}
	var s *ort.DynamicAdvancedSession
	if len(g.Bytes) > 0 {
		s, err = ort.NewDynamicAdvancedSessionWithONNXData(g.Bytes, names, outputs, o)
	} else {
		s, err = ort.NewDynamicAdvancedSession(g.Path, names, outputs, o)
	}
	if err != nil {
		return nil, fmt.Errorf("load the graph into ONNX Runtime: %w", err)
	}
	return &session{s}, nil
}

func (s *session) close() error { return s.s.Destroy() }

// shape is what distinguishes two runs.
type shape struct{ rows, len int }

// run is a shape bound to a worker's buffers, so that repeating it allocates
// nothing.
type run struct {
	binding *ort.IoBinding
	values  []ort.Value
}

func (s *session) run(r *run) error { return s.s.RunWithBinding(r.binding) }

func (r *run) destroy() {
	if r.binding != nil {
		r.binding.Destroy()
	}
	for _, v := range r.values {
		v.Destroy()
	}
}

func (s *session) bind(g *Graph, mem *buffers, sh shape) (*run, error) {
	b, err := s.s.CreateIoBinding()
	if err != nil {
		return nil, fmt.Errorf("bind %d × %d tokens: %w", sh.rows, sh.len, err)
	}
	r := &run{binding: b}
	tokens := ort.NewShape(int64(sh.rows), int64(sh.len))
	for _, in := range g.Inputs {
		var v ort.Value
		switch {
		case in.Role == Lengths:
			v, err = value(ort.NewShape(int64(sh.rows)), mem.lengths)
		case in.Role == IDs && in.Int64:
			v, err = value(tokens, mem.ids64)
		case in.Role == IDs:
			v, err = value(tokens, mem.ids32)
		case in.Role == Mask && in.Int64:
			v, err = value(tokens, mem.mask64)
		case in.Role == Mask:
			v, err = value(tokens, mem.mask32)
		case in.Role == Types && in.Int64:
			v, err = value(tokens, mem.types64)
		default:
			v, err = value(tokens, mem.types32)
		}
		if err == nil {
			r.values = append(r.values, v)
			err = b.BindInput(in.Name, v)
		}
		if err != nil {
			r.destroy()
			return nil, fmt.Errorf("bind input %s of %d × %d tokens: %w", in.Name, sh.rows, sh.len, err)
		}
	}
	out := ort.NewShape(int64(sh.rows), int64(g.Dim))
	if g.States {
		out = ort.NewShape(int64(sh.rows), int64(sh.len), int64(g.Dim))
	}
	v, err := value(out, mem.out)
	if err == nil {
		r.values = append(r.values, v)
		err = b.BindOutput(g.Output, v)
	}
	if err != nil {
		r.destroy()
		return nil, fmt.Errorf("bind output %s of %d × %d tokens: %w", g.Output, sh.rows, sh.len, err)
	}
	return r, nil
}

// value wraps the first elements of buf, which lies outside the Go heap, without
// copying.
func value[T int32 | int64 | float32](shape ort.Shape, buf []T) (ort.Value, error) {
	t, err := ort.NewTensor(shape, buf[:shape.FlattenedSize()])
	if err != nil {
		return nil, err
	}
	return t, nil
}
