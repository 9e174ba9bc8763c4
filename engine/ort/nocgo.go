//go:build !cgo

package ort

import (
	"context"
	"time"

	"encbench/engine"
)

// Runtime is the loaded ONNX Runtime library.
type Runtime struct{ Path, Version string }

// Load needs cgo: it always gives ErrNotBuilt.
func Load(string) (*Runtime, error) { return nil, ErrNotBuilt }

// Trim does nothing.
func Trim() {}

// Options configures an encoder.
type Options struct {
	Layout Layout
	Slots  int
	Alloc  engine.Allocator
}

// Encoder cannot be made without cgo.
type Encoder struct{}

// Open needs cgo: it always gives ErrNotBuilt.
func Open(*Runtime, Graph, Options) (*Encoder, error) { return nil, ErrNotBuilt }

// Dim gives 0.
func (*Encoder) Dim() int { return 0 }

// Slots gives 0.
func (*Encoder) Slots() int { return 0 }

// CreateTime gives 0.
func (*Encoder) CreateTime() time.Duration { return 0 }

// Submit gives ErrNotBuilt.
func (*Encoder) Submit(int, *engine.Batch) error { return ErrNotBuilt }

// Collect gives ErrNotBuilt.
func (*Encoder) Collect(context.Context, int) (engine.Rows, engine.Work, error) {
	return engine.Rows{}, engine.Work{}, ErrNotBuilt
}

// Close does nothing.
func (*Encoder) Close() error { return nil }
