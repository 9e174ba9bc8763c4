//go:build !(cuda && linux && cgo && (amd64 || arm64))

package gpucheck

import (
	"context"

	"encbench/cuda"
)

// Sections are none without CUDA.
func Sections() []Section { return nil }

// Run needs CUDA: it always gives cuda.ErrNotBuilt.
func Run(context.Context, Options) (*Record, error) { return nil, cuda.ErrNotBuilt }

// check is nothing without CUDA.
type check struct{}
