// Package onnx writes an opened model as an ONNX graph, and reads what a ready
// ONNX graph asks for and gives. It knows the format, and no runtime.
//
// A built graph computes embeddings whole: ids in, pooled and normalised
// vectors out. It holds no weights: its initializers point into the model's own
// safetensors file, at the bytes where the tensors lie. A runtime that is given
// the graph as bytes finds the file by Folder and ExternalFolderKey.
//
// The format is Protocol Buffers; what is needed of it fits in two small files,
// the writer (wire.go) and the reader (read.go).
package onnx
