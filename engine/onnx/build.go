package onnx

import (
	"cmp"
	"fmt"

	"encbench/engine/model"
)

// Names of a built graph's inputs and output.
const (
	InputIDs     = "input_ids" // int32 [rows, len]
	InputLengths = "lengths"   // int32 [rows], only with Options.Mask
	InputTypes   = "types"     // int32 [rows, len], only with Options.Types
	Output       = "embedding" // float32 [rows, dim]; of a reranker logits, [rows, 1]
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
	// at least 1. Without it all rows are real from end to end.
	Mask bool
	// Types makes a graph that reads the token types from InputTypes, for pairs, of a
	// model that has a table of them; without it all are 0.
	Types bool
	// DenseWindows computes layers with a window as a mask over all pairs of tokens,
	// by the fastest operator for that: what the blocks of a built graph are measured
	// against.
	DenseWindows bool
	// Plain computes the attention of every layer from products of matrices, a mask
	// over all pairs of tokens and Softmax, as most exported graphs do: the twin that
	// the other forms are tested against.
	Plain bool
	// Target is what the graph is written for: the zero value is a CPU.
	Target Target
	// Compute is the type of weights and states with CUDA: Float32 (also 0), Float16 or
	// BFloat16. A CPU's graph computes in float32.
	Compute ElemType
	// Result is the type of Output with CUDA: Float32 (also 0), Float16 or BFloat16.
	// The conversion is the graph's last operator, so that what a run writes can be a
	// block of rows of a search in that type.
	Result ElemType
	// Rows and Length fix the shape of the inputs with CUDA, both or none: what follows
	// from the shape alone is then computed when the graph is loaded.
	Rows, Length int
	// Rounded makes the twin of a CUDA graph for processors without its types: all
	// values are float32, rounded to the type that they would have after every operator.
	Rounded bool
	// ActivationBits are the bits that the layers of an int8 checkpoint round
	// activations to: ActivationBits8, or ActivationBits7 on processors that need
	// it. 0 is 8.
	ActivationBits int
}

// Build writes the model as an ONNX graph for ONNX Runtime: ids in; pooled, through
// the model's head and (where the model says so) L2-normalised vectors out, or logits.
// The weights stay in their safetensors files. Identical models give identical bytes.
//
// Note: on an AVX-512 server CPU (one thread, all-MiniLM-L6-v2, ONNX Runtime
// 1.32.0, medians of interleaved runs) a row of 512 tokens takes 141 ms as built
// here, 104 of them in matrix multiplications at that core's fp32 peak. Tried
// and left: SkipLayerNormalization in place of the sums and LayerNormalization 151 ms
// (its loop is scalar; the runtime must be kept from making it of them, see
// engine/ort), SimplifiedLayerNormalization of what is left after the mean the same;
// EmbedLayerNormalization the same within 0.5 %; one packed matrix for query, key and
// value the same (and a copy of those weights at load); Transpose and MatMul instead of
// FusedMatMul the same; the packed Attention operator 9 ms slower than MultiHeadAttention;
// attention from MatMul and Softmax 3 ms slower; the standard Attention operator
// 3 ms slower at 512 tokens and 0.2 faster at 32; adding the bias to the skip
// instead of the product the same; SkipSimplifiedLayerNormalization as the adder
// 1.5 ms slower.
func Build(m *model.Model, opt Options) ([]byte, error) {
	if err := opt.check(); err != nil {
		return nil, fmt.Errorf("build graph of %s: %w", m.Name, err)
	}
	opt.Compute, opt.Result = cmp.Or(opt.Compute, Float32), cmp.Or(opt.Result, Float32)
	g := &graph{m: m, activationBits: cmp.Or(opt.ActivationBits, ActivationBits8), seen: map[string]bool{}, compute: opt.Compute, cuda: opt.Target == CUDA}
	if opt.Rounded {
		g.elems = map[string]ElemType{InputIDs: Int32, InputLengths: Int32, InputTypes: Int32}
	}
	e := encoder{graph: g, m: m, opt: opt, reach: reaches(m)}
	e.write()
	if g.err != nil {
		return nil, fmt.Errorf("build graph of %s: %w", m.Name, g.err)
	}
	rows, length := Dim{Name: "rows"}, Dim{Name: "len"}
	if opt.Rows > 0 {
		rows, length = Dim{Size: int64(opt.Rows)}, Dim{Size: int64(opt.Length)}
	}
	result := opt.Result
	if opt.Rounded {
		result = Float32
	}
	inputs := []message{valueInfo(InputIDs, Int32, rows, length)}
	if opt.Mask {
		inputs = append(inputs, valueInfo(InputLengths, Int32, rows))
	}
	if opt.Types {
		inputs = append(inputs, valueInfo(InputTypes, Int32, rows, length))
	}
	outputs := []message{valueInfo(Output, result, rows, Dim{Size: int64(m.Dim())})}
	return g.bytes(inputs, outputs), nil
}

// Folder gives the folder that holds the model's weights file itself, links
// resolved: ONNX Runtime refuses a link that leaves the folder it is given.
func Folder(m *model.Model) string { return m.Weights.Folder() }
