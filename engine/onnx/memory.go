package onnx

import "encbench/engine/model"

// Footprint is the memory that becomes resident in ONNX Runtime for a built graph on a
// CPU, in bytes: an upper estimate. docs/design.md has it beside what was measured.
type Footprint struct {
	// Packed are the matrices of the linear maps as the kernels read them: float32
	// whatever float they are stored as, or int8. Every session has its own.
	Packed int64
	// Mapped are the tables that are read where they lie in the weights file, as they
	// are stored, all of their pages. See TouchedBytes.
	Mapped int64
	// Computed are what the runtime computes from weights when it loads the graph, what
	// it leaves behind of that, and the graph itself. Every session has its own.
	Computed int64
	// Run are the values of one run. Every concurrent run has its own, and the runtime
	// keeps them for the next one.
	Run int64
}

const floatBytes = 4

// What a session takes besides weights: kernels and their plan.
const (
	sessionBytes = 4 << 20
	layerBytes   = 1 << 18
)

// What is added to the values of a run, because where they find room cannot be said
// exactly, and for the buffers of kernels that work by tiles.
const (
	runMargin = 1.3
	runBytes  = 2 << 20
)

// Memory predicts the footprint of Build(m, opt) for runs of rows rows that are padded
// to length tokens. Graphs with DenseWindows, which keep the scores of all pairs of
// tokens, are not its subject.
func Memory(m *model.Model, opt Options, rows, length int) Footprint {
	var f Footprint
	em := m.Embedding
	f.Mapped = stored(m, em.Word)
	if opt.Types {
		f.Mapped += stored(m, em.Type)
	}
	f.Computed = sessionBytes + int64(len(m.Layers))*layerBytes
	// The row of token type 0 is added to the table of positions.
	f.Computed += 2 * floatBytes * int64(em.Position.Rows) * int64(em.Position.Dim)
	ropes := map[model.Rope]bool{}
	add := func(l model.Linear) {
		packed, left := matrix(m, l)
		f.Packed, f.Computed = f.Packed+packed, f.Computed+left
	}
	for _, l := range m.Layers {
		a, ff := l.Attention, l.FeedForward
		for _, lin := range []model.Linear{a.Query, a.Key, a.Value, a.Output, ff.Up, ff.Gate, ff.Down} {
			add(lin)
		}
		if a.Rope.Dim > 0 && !ropes[a.Rope] {
			ropes[a.Rope] = true
			// Cosines and sines, and the angles of both and both in float64 that they come from.
			f.Computed += (2*floatBytes + 4*8) * int64(m.MaxPositions()) * int64(a.Rope.Dim) / 2
		}
	}
	for _, h := range m.Head {
		add(h.Linear)
	}
	f.Run = runBytes + int64(runMargin*float64(runMemory(m, opt, rows, length)))
	return f
}

// matrix gives the bytes of a map's matrix as the kernels read it, and what is left
// behind where it had to be converted.
func matrix(m *model.Model, l model.Linear) (packed, left int64) {
	if l.Weight == "" {
		return 0, 0
	}
	// Kernels take columns by the panel.
	packed = floatBytes * int64(l.In) * up(int64(l.Out), 16)
	if l.Scale != "" {
		packed /= floatBytes
		return packed, packed / 4
	}
	if t, ok := m.Weights.Tensor(l.Weight); ok && t.DType != model.F32 {
		return packed, packed / 16
	}
	return packed, 0
}

// stored is the size of a table in the weights file.
func stored(m *model.Model, t model.Table) int64 {
	tensor, _ := m.Weights.Tensor(t.Weight) // of no bytes where there is none
	return tensor.Bytes
}

// around is how much of a file the system maps with a page that is read.
const around = 64 << 10

// TouchedBytes bounds how much of the table of words becomes resident when the rows are
// encoded: the pages of their ids, with what the system maps around them.
func TouchedBytes(m *model.Model, rows func(yield func(ids []int32) bool)) int64 {
	t, ok := m.Weights.Tensor(m.Embedding.Word.Weight)
	if !ok || m.Embedding.Word.Rows == 0 {
		return 0
	}
	each := t.Bytes / int64(m.Embedding.Word.Rows)
	touched := make([]bool, (t.Offset+t.Bytes)/around+1)
	var n int64
	rows(func(ids []int32) bool {
		for _, id := range ids {
			start := t.Offset + int64(id)*each
			for at := start / around; at <= (start+each-1)/around; at++ {
				if at >= 0 && at < int64(len(touched)) && !touched[at] {
					touched[at] = true
					n++
				}
			}
		}
		return true
	})
	return min(n*around, t.Bytes+around)
}

// up rounds n up to a multiple of to.
func up(n, to int64) int64 { return (n + to - 1) / to * to }
