//go:build !(cuda && linux && cgo && (amd64 || arm64))

package main

import (
	"context"

	"encbench/cuda"
	"encbench/engine/gpu"
)

func productPeak(context.Context, cuda.Info) (float64, string, error) { return 0, "", cuda.ErrNotBuilt }

func newDeviceSearch(place, gpu.Options, func(string)) (searchEngine, error) {
	return nil, cuda.ErrNotBuilt
}
