package ort

import (
	"runtime"

	"golang.org/x/sys/cpu"
)

// ExactInt8 says whether ONNX Runtime sums products of uint8 and int8 numbers exactly
// on this processor. x86 without VNNI adds two of them in 16 bits first, and cuts the
// sum off at 32,767 (vpmaddubsw): activations of 7 bits keep it below.
func ExactInt8() bool {
	return runtime.GOARCH != "amd64" || cpu.X86.HasAVX512VNNI || cpu.X86.HasAVXVNNI
}
