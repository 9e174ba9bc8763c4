package onnx

import (
	"testing"

	"encbench/engine/model"
)

// TestFLOP counts the matrix multiplications of the built graph by hand.
func TestFLOP(t *testing.T) {
	const d, f, n = 64, 128, 20
	linear, attention := 2.0*(4*d*d+2*d*f)*n, 4.0*d*n*n
	if got, want := FLOP(open(t, tinyMean), 3, n), 3*3*(linear+attention); got != want {
		t.Errorf("mean: %v, want %v", got, want)
	}
	last := 2.0*2*d*d*n + 2.0*(2*d*d+2*d*f) + 4.0*d*n // keys and values of all, the rest of one token
	if got, want := FLOP(open(t, tinyCLS), 3, n), 3*(2*(linear+attention)+last); got != want {
		t.Errorf("cls: %v, want %v", got, want)
	}
}

// windowed makes layers of one head of 8, with the given windows, 0 for none.
func windowed(pooling model.Pooling, windows ...int) *model.Model {
	m := &model.Model{Pooling: pooling}
	for _, w := range windows {
		m.Layers = append(m.Layers, model.Layer{Attention: model.Attention{Heads: 1, KVHeads: 1, HeadDim: 8, Window: w}})
	}
	return m
}

// Blocks of 64 queries and the keys near them are counted, not those of the windows
// alone, and not all pairs.
func TestFLOPOfWindows(t *testing.T) {
	for _, c := range []struct {
		m    *model.Model
		n    int
		want float64 // pairs of a query and a key
	}{
		{windowed(model.PoolMean, 64), 192, 192 * 192},
		{windowed(model.PoolMean, 64), 193, 4 * 49 * 177},
		{windowed(model.PoolMean, 64), 512, 512 * 192},
		{windowed(model.PoolMean, 64), 8192, 8192 * 192},
		{windowed(model.PoolMean, 16, 0), 8192, 8192*96 + 8192*8192},
		{windowed(model.PoolCLS, 64), 512, 1 * 65},
		{windowed(model.PoolCLS, 0), 512, 1 * 512},
		{windowed(model.PoolCLS, 0, 64, 64), 512, 129*512 + 65*129 + 1*65},
		{windowed(model.PoolCLS, 0, 64, 64, 64), 512, 193*512 + 3*43*171 + 65*129 + 1*65},
		{windowed(model.PoolLast, 64), 512, 1 * 512},
	} {
		if got := FLOP(c.m, 2, c.n); got != 2*4*8*c.want {
			t.Errorf("%s pooling, %d layers, %d tokens: %v pairs, want %v", c.m.Pooling, len(c.m.Layers), c.n, got/(2*4*8), c.want)
		}
	}
}

func TestFLOPOfCausalLayers(t *testing.T) {
	m := windowed(model.PoolMean, 0)
	m.Layers[0].Attention.Causal = true
	for n, want := range map[int]float64{100: 100 * 100, 512: 512 * 512, 1024: 512*512 + 512*1024, 1030: 512*512 + 512*1024 + 6*1030} {
		if got := FLOP(m, 1, n) / 32; got != want {
			t.Errorf("%d tokens: %v pairs, want %v", n, got, want)
		}
	}
}

// A run's work is counted while it is timed.
func TestFLOPAllocatesNothing(t *testing.T) {
	m := windowed(model.PoolCLS, 0, 64, 64)
	if n := testing.AllocsPerRun(100, func() { FLOP(m, 1, 512) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
