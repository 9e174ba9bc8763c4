package onnx

import (
	"fmt"
	"path/filepath"

	"encbench/engine/model"
)

// Names of a built graph's inputs and output.
const (
	InputIDs     = "input_ids" // int32 [rows, len]
	InputLengths = "lengths"   // int32 [rows], only with Options.Mask
	Output       = "embedding" // float32 [rows, dim]
)

// ExternalFolderKey is the session option that tells ONNX Runtime where the
// weights file of a graph given as bytes lies; its value is Folder.
const ExternalFolderKey = "session.model_external_initializers_file_folder_path"

// Version numbers of built graphs: the lowest that have every operator used.
const (
	irVersion     = 9
	opsetStandard = 18
)

// Options choose the form of a built graph.
type Options struct {
	// Mask makes a graph for rows of different lengths, padded on the right with
	// any id of the vocabulary: InputLengths holds the real tokens of each row,
	// at least 1. Without it all rows are real from end to end, and attention
	// takes ONNX Runtime's faster path.
	Mask bool
}

// Build writes the model as an ONNX graph for ONNX Runtime: ids in, pooled and
// (where the model says so) L2-normalised vectors out. Token types are all 0.
// The weights stay in their safetensors file. Identical models give identical
// bytes.
//
// Note: on an AVX-512 server CPU (one thread, all-MiniLM-L6-v2, ONNX Runtime
// 1.32.0, medians of interleaved runs) a row of 512 tokens took 141 ms as built
// here, 104 of them in matrix multiplications at that core's fp32 peak. Tried
// and left: SkipLayerNormalization instead of norm's four operators 151 ms (1.0
// against 0.27 ms a call: its loop is scalar); EmbedLayerNormalization the same
// within 0.5 %; one packed matrix for query, key and value the same (and a copy
// of those weights at load); Transpose and MatMul instead of FusedMatMul the
// same; the packed Attention operator 9 ms slower than MultiHeadAttention;
// attention from MatMul and Softmax 3 ms slower; the standard Attention operator
// 3 ms slower at 512 tokens and 0.2 faster at 32; adding the bias to the skip
// instead of the product the same; SkipSimplifiedLayerNormalization as the adder
// 1.5 ms slower.
func Build(m *model.Model, opt Options) ([]byte, error) {
	g := &graph{m: m, seen: map[string]bool{}}
	b := bert{graph: g, m: m, opt: opt}
	x := b.embed()
	for i, l := range m.Layers {
		x = b.layer(fmt.Sprintf("layer.%d", i), l, x, i == len(m.Layers)-1)
	}
	b.pool(x)
	if g.err != nil {
		return nil, fmt.Errorf("build graph of %s: %w", m.Name, g.err)
	}
	inputs := []message{valueInfo(InputIDs, Int32, Dim{Name: "rows"}, Dim{Name: "len"})}
	if opt.Mask {
		inputs = append(inputs, valueInfo(InputLengths, Int32, Dim{Name: "rows"}))
	}
	outputs := []message{valueInfo(Output, Float32, Dim{Name: "rows"}, Dim{Size: int64(m.Dim())})}
	return g.bytes(inputs, outputs), nil
}

// Folder gives the folder that holds the model's weights file itself, links
// resolved: ONNX Runtime refuses a link that leaves the folder it is given.
func Folder(m *model.Model) string { return filepath.Dir(m.Weights.RealPath) }

// FLOP is the floating-point work that a built graph really issues for rows of
// len tokens each, padding included: the model's own work, less what CLS
// pooling makes needless in the last layer.
func FLOP(m *model.Model, rows, length int) float64 {
	row := m.RowFLOP(length)
	if m.Pooling == model.PoolCLS && len(m.Layers) > 0 {
		l := m.Layers[len(m.Layers)-1]
		a, f := l.Attention, l.FeedForward
		perToken := 4 * float64(a.Heads*a.HeadDim) * float64(length)
		for _, lin := range []model.Linear{a.Query, a.Output, f.Up, f.Down} {
			perToken += 2 * float64(lin.In) * float64(lin.Out)
		}
		row -= float64(length-1) * perToken
	}
	return float64(rows) * row
}
