//go:build !(cuda && linux && cgo && (amd64 || arm64))

package ort

import (
	"context"
	"time"

	"encbench/engine"
)

// CUDAEncoder cannot be made without CUDA.
type CUDAEncoder struct{}

// OpenCUDA needs CUDA: it always gives ErrNoCUDA.
func OpenCUDA(*Runtime, Graph, CUDAOptions) (*CUDAEncoder, error) { return nil, ErrNoCUDA }

// CUDA gives false.
func (*Runtime) CUDA() (bool, error) { return false, nil }

// Preload needs CUDA: it always gives ErrNoCUDA.
func Preload([]string) error { return ErrNoCUDA }

// Placement gives nothing.
func (*CUDAEncoder) Placement() Placement { return Placement{} }

// Warnings gives none.
func (*CUDAEncoder) Warnings() []string { return nil }

// Dim gives 0.
func (*CUDAEncoder) Dim() int { return 0 }

// Slots gives 0.
func (*CUDAEncoder) Slots() int { return 0 }

// CreateTime gives 0.
func (*CUDAEncoder) CreateTime() time.Duration { return 0 }

// Use gives nothing.
func (*CUDAEncoder) Use() DeviceUse { return DeviceUse{} }

// Submit gives ErrNoCUDA.
func (*CUDAEncoder) Submit(int, *engine.Batch) error { return ErrNoCUDA }

// Collect gives ErrNoCUDA.
func (*CUDAEncoder) Collect(context.Context, int) (engine.Rows, engine.Work, error) {
	return engine.Rows{}, engine.Work{}, ErrNoCUDA
}

// Close does nothing.
func (*CUDAEncoder) Close() error { return nil }

var _ engine.Encoder = (*CUDAEncoder)(nil)
