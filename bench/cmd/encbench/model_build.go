package main

import (
	"encbench/engine/onnx"
	"encbench/engine/ort"
)

// build makes the processor's graph for rows of up to longest tokens.
func (m *loadedModel) build(masked bool, longest int) (ort.Graph, error) {
	return m.buildFor(onnx.Options{Mask: masked}, longest)
}

// buildFor makes a graph of the form that opt chooses; types and bits of activations are
// the model's.
func (m *loadedModel) buildFor(opt onnx.Options, longest int) (ort.Graph, error) {
	g := ort.Graph{
		Vocab: m.facts.Vocab, MaxLen: longest, Pad: max(m.tok.Special().PAD, 0),
		Pooling: m.pooling,
	}
	if m.dir != nil {
		opt.Types, opt.ActivationBits = m.types(), m.activationBits()
		bytes, err := onnx.Build(m.dir, opt)
		if err != nil {
			return g, err
		}
		g.Bytes, g.WeightsDir = bytes, onnx.Folder(m.dir)
		g.Inputs = []ort.Input{{Name: onnx.InputIDs, Role: ort.IDs}}
		if opt.Mask {
			g.Inputs = append(g.Inputs, ort.Input{Name: onnx.InputLengths, Role: ort.Lengths})
		}
		if opt.Types {
			g.Inputs = append(g.Inputs, ort.Input{Name: onnx.InputTypes, Role: ort.Types})
			g.TokenTypes = m.dir.Types()
		}
		g.Output, g.Dim = onnx.Output, m.dim()
		if opt.Target == onnx.CUDA {
			if g.Shapes, err = onnx.SizeNodes(bytes); err != nil {
				return g, err
			}
		}
		g.FLOP = func(rows, length int) float64 { return onnx.FLOP(m.dir, rows, length) }
		return g, nil
	}
	g.Path, g.Output, g.Dim = m.graph, m.form.Output, m.dim()
	g.States, g.Normalize = !m.form.Pooled, m.normalize
	wide := m.form.Elem == onnx.Int64
	g.Inputs = []ort.Input{{Name: m.form.IDs, Role: ort.IDs, Int64: wide}}
	if m.form.Mask != "" {
		g.Inputs = append(g.Inputs, ort.Input{Name: m.form.Mask, Role: ort.Mask, Int64: wide})
	}
	if m.form.Types != "" {
		g.Inputs = append(g.Inputs, ort.Input{Name: m.form.Types, Role: ort.Types, Int64: wide})
	}
	return g, nil
}

// work puts the model's own work into the facts.
func (m *loadedModel) work() {
	f := &m.facts
	f.LinearFLOP, f.AttentionFLOP, f.CausalFLOP, f.LocalAttention = m.dir.LinearFLOPPerToken(), 0, 0, nil
	for _, l := range m.dir.Layers {
		a := l.Attention
		flop := 4 * float64(a.Heads) * float64(a.HeadDim)
		switch {
		case a.Causal:
			f.CausalFLOP += flop
		case a.Window > 0:
			f.AddLocal(2*a.Window+1, flop)
		default:
			f.AttentionFLOP += flop
		}
	}
}
