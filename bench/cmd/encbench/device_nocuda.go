//go:build !(cuda && linux && cgo && (amd64 || arm64))

package main

import (
	"encbench/cuda"
	"encbench/engine/gpu"
)

func newDeviceSearch(place, gpu.Options, func(string)) (searchEngine, error) {
	return nil, cuda.ErrNotBuilt
}
