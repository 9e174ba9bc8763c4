package onnx

import (
	"errors"
	"testing"
)

// deviceForms are all forms for CUDA that differ: types of what is computed and given,
// padding, token types, open and fixed shapes, windows in blocks, the plain twin.
func deviceForms() []Options {
	var forms []Options
	for _, compute := range []ElemType{Float32, Float16, BFloat16} {
		for _, mask := range []bool{false, true} {
			for _, shape := range [][2]int{{}, {3, 64}, {2, 2048}} {
				o := Options{Target: CUDA, Compute: compute, Result: compute, Mask: mask, Rows: shape[0], Length: shape[1]}
				plain, dense, types := o, o, o
				plain.Plain, dense.DenseWindows, types.Types = true, true, true
				forms = append(forms, o, plain, dense, types)
			}
		}
	}
	return forms
}

func TestBuildRefusesTargets(t *testing.T) {
	m := open(t, tinyMean)
	for _, c := range []struct {
		opt  Options
		want string
	}{
		{Options{Compute: Float16}, "compute type float16 on CPU: its kernels have float32 alone; leave the type out, or build for CUDA"},
		{Options{Result: BFloat16}, "type of the output bfloat16 on CPU: its kernels have float32 alone; leave the type out, or build for CUDA"},
		{Options{Target: CUDA, Compute: Int32}, "compute type int32: float32, float16 or bfloat16"},
		{Options{Target: CUDA, Rows: 3}, "a fixed shape of 3 rows of 0 tokens: give both, or neither"},
		{Options{Rows: 3, Length: 8}, "a fixed shape or a rounded twin on CPU: build for CUDA"},
		{Options{Rounded: true}, "a fixed shape or a rounded twin on CPU: build for CUDA"},
	} {
		want := "build graph of tiny-bert-mean: unsupported by the ONNX graph writer: " + c.want
		if _, err := Build(m, c.opt); !errors.Is(err, ErrUnsupported) || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

func TestBuildRefusesInt8OnDevice(t *testing.T) {
	m := *open(t, tinyMean)
	m.Layers = append(m.Layers[:0:0], m.Layers...)
	l := &m.Layers[0].FeedForward.Down
	l.Scale = "scale"
	want := "build graph of tiny-bert-mean: unsupported by the ONNX graph writer: tensor " + l.Weight + " is int8, and ONNX Runtime's CUDA provider multiplies no uint8 by int8; convert the weights to float16, bfloat16 or float32"
	if _, err := Build(&m, Options{Target: CUDA}); !errors.Is(err, ErrUnsupported) || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}
