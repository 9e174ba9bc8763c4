package onnx

import "errors"

var (
	// ErrUnsupported says that a model asks for something the graph writer lacks.
	ErrUnsupported = errors.New("unsupported by the ONNX graph writer")
	// ErrMalformed says that a file is no ONNX graph, or a damaged one.
	ErrMalformed = errors.New("malformed ONNX file")
	// ErrForm says that a graph's inputs or outputs are not an encoder's.
	ErrForm = errors.New("not a known form of encoder graph")
)
