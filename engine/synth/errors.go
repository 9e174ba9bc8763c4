package synth

import "errors"

// ErrUnknownShape says that a name is none of the shapes'.
var ErrUnknownShape = errors.New("unknown shape")
