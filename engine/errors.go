package engine

import "errors"

// When a batch is submitted.
var (
	// ErrBatchTooLarge: the encoder was opened for smaller batches.
	ErrBatchTooLarge = errors.New("batch has more rows than the encoder was opened for")
)
