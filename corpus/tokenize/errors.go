package tokenize

import "errors"

// ErrUnsupported marks a tokenizer.json that is well formed and asks for
// something this package does not do. The error around it names the thing and
// what is supported.
var ErrUnsupported = errors.New("not supported")
