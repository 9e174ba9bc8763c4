package cpu

import "errors"

var (
	// ErrUnsupported says that a model asks for something the encoder lacks.
	ErrUnsupported = errors.New("unsupported by the reference encoder")
	// ErrRow says that a row of ids is not one the model can encode.
	ErrRow = errors.New("bad row")
)
