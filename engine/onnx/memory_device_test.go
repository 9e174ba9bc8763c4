package onnx

import (
	"testing"

	"encbench/engine/model/modeltest"
)

// TestDeviceMemory compares bounds with sums by hand: tiny-bert-mean has 500 words, 64
// values and layers of 4 heads; its scores alone, of rows of 80 tokens without tiles,
// are 2 · rows · 4 · 80² values, twice for the arena.
func TestDeviceMemory(t *testing.T) {
	m := open(t, tinyMean)
	var values int64
	for _, tensor := range m.Tensors() {
		values += tensor.Bytes / 4
	}
	for _, c := range []struct {
		name         string
		opt          Options
		rows, length int
		least        int64 // of Run
		most         int64
	}{
		{"float16, no padding", Options{Target: CUDA, Compute: Float16}, 8, 64, 2 * 8 * 64 * 64 * 2, 16 << 20},
		{"float16, padding", Options{Target: CUDA, Compute: Float16, Mask: true}, 8, 64, 2 * 8 * 64 * 64 * 2, 16 << 20},
		{"bfloat16, padding", Options{Target: CUDA, Compute: BFloat16, Mask: true}, 8, 80, 2 * 2 * 2 * 8 * int64(m.Layers[0].Attention.Heads) * 80 * 80, 32 << 20},
		{"float32, short rows", Options{Target: CUDA}, 8, 80, 2 * 2 * 4 * 8 * int64(m.Layers[0].Attention.Heads) * 80 * 80, 48 << 20},
		{"the fixed shape counts", Options{Target: CUDA, Rows: 8, Length: 80}, 1, 1, 2 * 2 * 4 * 8 * int64(m.Layers[0].Attention.Heads) * 80 * 80, 48 << 20},
	} {
		f := DeviceMemory(m, c.opt, c.rows, c.length)
		if f.Run < c.least || f.Run > c.most {
			t.Errorf("%s: a run of %d bytes, want %d to %d", c.name, f.Run, c.least, c.most)
		}
		if size := elemBytes(c.opt.Compute); f.Weights < size*values || f.Weights > 5*values {
			t.Errorf("%s: %d bytes of weights, the model has %d values", c.name, f.Weights, values)
		}
		if f.Sum() != f.Weights+f.Run+libraryBytes {
			t.Errorf("%s: the sum is %d of %+v", c.name, f.Sum(), f)
		}
	}
}

// TestDeviceMemoryGrows checks every form of every family: more rows, longer rows and
// wider types never need less, and a run needs at least its states twice over.
func TestDeviceMemoryGrows(t *testing.T) {
	for _, dir := range modeltest.Goldens(t) {
		m := open(t, dir)
		for _, opt := range deviceForms() {
			if opt.Rows > 0 {
				continue
			}
			last := int64(0)
			for _, shape := range [][2]int{{1, 16}, {2, 16}, {2, 64}, {8, 64}, {8, 512}, {64, 512}} {
				f := DeviceMemory(m, opt, shape[0], shape[1])
				if f.Sum() <= last {
					t.Errorf("%s, %+v: %v need %d bytes, a smaller run %d", dir, opt, shape, f.Sum(), last)
				}
				last = f.Sum()
				if states := elemBytes(opt.Compute) * int64(shape[0]*shape[1]*m.Embedding.Word.Dim); f.Run < 2*states {
					t.Errorf("%s, %+v: %v need %d bytes, less than two states of %d", dir, opt, shape, f.Run, states)
				}
				wide := opt
				wide.Compute = Float32
				if w := DeviceMemory(m, wide, shape[0], shape[1]); w.Weights < f.Weights {
					t.Errorf("%s, %+v: float32 weights need %d bytes, these %d", dir, opt, w.Weights, f.Weights)
				}
			}
		}
	}
}

// TestDeviceMemoryOfCausalLayers checks that no mask is counted where none is written: a
// row of four times the tokens takes four times the memory, not sixteen times.
func TestDeviceMemoryOfCausalLayers(t *testing.T) {
	m := open(t, "../model/testdata/micro-qwen3-last")
	for _, compute := range []ElemType{Float16, BFloat16} {
		for _, mask := range []bool{false, true} {
			opt := Options{Target: CUDA, Compute: compute, Mask: mask}
			short, long := DeviceMemory(m, opt, 1, 8192).Run, DeviceMemory(m, opt, 1, 32768).Run
			if long > 5*short {
				t.Errorf("%+v: rows of 8,192 and 32,768 tokens take %d and %d bytes", opt, short, long)
			}
		}
	}
}
