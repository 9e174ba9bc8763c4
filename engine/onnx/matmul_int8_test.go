//go:build cgo

package onnx

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"encbench/bench/assets/assettest"
	"encbench/engine"
	"encbench/engine/model"
	"encbench/engine/model/modeltest"
	"encbench/engine/ort"
)

// The multiplication as the runtime computes it is the plain definition: activations
// rounded row by row, products summed exactly, and scaled in float32.
func TestMatmulInt8(t *testing.T) {
	rt, err := ort.Load(assettest.Need(t, "onnxruntime"))
	if err != nil {
		t.Fatal(err)
	}
	bits := []int{ActivationBits7}
	if ort.ExactInt8() {
		bits = append(bits, ActivationBits8)
	}
	for _, size := range []struct{ in, out, row, rows int }{
		{1, 1, 0, 0}, {7, 5, 0, 0}, {64, 48, 0, 0}, {384, 96, 0, 0}, {1000, 17, 0, 0}, {64, 16, 16, 48},
	} {
		for _, bits := range bits {
			c := newInt8Case(t, size.in, size.out, size.row, size.rows)
			got := c.run(t, rt, bits)
			for i := range c.states {
				want := c.plain(i, bits)
				for j, w := range want {
					// One rounding in float32 may fall elsewhere where the compiler fuses.
					if d := math.Abs(float64(got[i][j]) - float64(w)); d > 2e-7*math.Abs(float64(w)) {
						t.Fatalf("%v, %d bits, row %d, value %d: %g, want %g", size, bits, i, j, got[i][j], w)
					}
				}
			}
		}
	}
}

// int8Case is a table of states, a row for each id, and a map that is stored as int8.
type int8Case struct {
	linear  model.Linear
	weights *model.Weights
	states  [][]float32
	stored  [][]int8 // the map's rows
	scale   []float32
}

func newInt8Case(t *testing.T, in, out, row, rows int) *int8Case {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(in), uint64(out)))
	c := &int8Case{linear: model.Linear{Weight: "w", Scale: "w_scale", In: in, Out: out, Row: row, Rows: rows}}
	var table, stored, scale []byte
	for i := range 40 {
		state := make([]float32, in)
		for j := range state {
			state[j] = float32(rng.NormFloat64() * math.Exp2(float64(i%7)-3))
		}
		switch {
		case i == 3: // zeros
			clear(state)
		case i == 4: // one value far beyond the others
			state[in/2] = -1e6
		case i == 5: // the ends of the range, whose products are the largest
			for j := range state {
				state[j] = 10
			}
		case i == 6: // too small for a scale of its own
			for j := range state {
				state[j] = float32(1e-40 * float64(j%3))
			}
		}
		c.states = append(c.states, state)
		for _, v := range state {
			table = binary.LittleEndian.AppendUint32(table, math.Float32bits(v))
		}
	}
	all := max(rows, out)
	for r := range all {
		w := make([]int8, in)
		for j := range w {
			w[j] = int8(rng.IntN(255) - 127)
			if r%5 == 1 { // the largest of all sums
				w[j] = 127
			}
			stored = append(stored, byte(w[j]))
		}
		s := float32(math.Exp2(rng.NormFloat64() - 8))
		scale = binary.LittleEndian.AppendUint32(scale, math.Float32bits(s))
		if r >= row && r < row+out {
			c.stored, c.scale = append(c.stored, w), append(c.scale, s)
		}
	}
	path := filepath.Join(t.TempDir(), "model.safetensors")
	modeltest.WriteTensors(t, path, []modeltest.Tensor{
		{Name: "table", DType: model.F32, Shape: []int{len(c.states), in}, Data: table},
		{Name: "w_scale", DType: model.F32, Shape: []int{all}, Data: scale},
		{Name: "w", DType: model.I8, Shape: []int{all, in}, Data: stored},
	}, 0)
	var err error
	if c.weights, err = model.OpenWeights(path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.weights.Close() })
	return c
}

// run multiplies every state in the runtime: rows of one token, whose id is its place.
func (c *int8Case) run(t *testing.T, rt *ort.Runtime, bits int) [][]float32 {
	t.Helper()
	g := &graph{m: &model.Model{Weights: c.weights}, activationBits: bits, compute: Float32, seen: map[string]bool{}}
	x := g.op("x", "Gather", []string{g.weight("table"), InputIDs})
	g.op("out", "Identity", []string{g.matmul("product", c.linear, x)})
	if g.err != nil {
		t.Fatal(g.err)
	}
	bytes := g.bytes(
		[]message{valueInfo(InputIDs, Int32, Dim{Name: "rows"}, Dim{Name: "len"})},
		[]message{valueInfo("out", Float32, Dim{Name: "rows"}, Dim{Name: "len"}, Dim{Size: int64(c.linear.Out)})})
	enc, err := ort.Open(rt, ort.Graph{
		Bytes: bytes, WeightsDir: c.weights.Folder(), Inputs: []ort.Input{{Name: InputIDs, Role: ort.IDs}},
		Output: "out", States: true, Pooling: "cls", Dim: c.linear.Out, MaxLen: 1,
	}, ort.Options{Layout: ort.Plan(1, 64, 0)})
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	var b engine.Batch
	b.Reset()
	for id := range c.states {
		b.IDs, b.Off = append(b.IDs, int32(id)), append(b.Off, int32(id+1))
	}
	if err := enc.Submit(0, &b); err != nil {
		t.Fatal(err)
	}
	rows, _, err := enc.Collect(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var out [][]float32
	for i := range rows.N {
		out = append(out, append([]float32{}, rows.Float32(i)...))
	}
	return out
}

// plain is the definition for one state.
func (c *int8Case) plain(i, bits int) []float32 {
	levels := float32(int(1)<<(bits-1) - 1)
	var most float32
	for _, v := range c.states[i] {
		most = max(most, float32(math.Abs(float64(v))))
	}
	scale := max(most/levels, math.Float32frombits(1<<23))
	out := make([]float32, c.linear.Out)
	for o, w := range c.stored {
		var sum int32
		for j, v := range c.states[i] {
			sum += int32(math.RoundToEven(float64(v/scale))) * int32(w[j])
		}
		out[o] = float32(float32(sum)*c.scale[o]) * scale
	}
	return out
}
