// Package onnx writes an opened model as an ONNX graph, and reads what a ready
// ONNX graph asks for and gives. It knows the format, and no runtime.
//
// A built graph computes the output whole, for every family that engine/model
// describes: ids in, pooled and normalised vectors out, or logits. It holds no weights:
// its initializers point into the model's own safetensors files, at the bytes where the
// tensors lie, parts of a tensor included. A runtime that is given the graph as bytes
// finds the files by Folder and ExternalFolderKey.
//
// The invariant is memory: whatever the length of a row, no built graph holds a value
// for every pair of its tokens and each head, but for models with a relative bias,
// whose rows are short, and heads of an odd size. Layers with a window cost what their
// windows cost (window.go), and states that the pooling does not take are not computed
// (reach.go).
//
// A graph is written for ONNX Runtime's CPU provider or its CUDA provider (Target), for
// the latter in float32, float16 or bfloat16, with the output in any of them. Place
// says where the runtime computes each node, from a table of the provider's kernels, and
// Capturable whether a run can be captured; DeviceMemory bounds what a session
// needs. No kernel of CUDA was run to test this: the forms run on the CPU provider, and
// for what it does not have, bfloat16 above all, rounded twins do.
//
// The format is Protocol Buffers; what is needed of it fits in two small files,
// the writer (wire.go) and the reader (read.go).
package onnx
