package onnx

import (
	"fmt"
	"math"
	"strconv"

	"encbench/engine/model"
)

// rotate turns every head of x, queries or keys of the tokens that r gives.
func (e *encoder) rotate(name string, rope model.Rope, r reach, x string, heads, dim int) string {
	if rope.Dim == 0 {
		return x
	}
	cos, sin := e.rotations(rope)
	first := e.list(0)
	if r.last { // the places of the rows' last tokens
		if e.opt.Mask {
			first = e.last()
		} else if e.cuda {
			first = e.lastPlace()
		} else {
			first = e.once("last.single", func(name string) string {
				return e.op(name, "Sub", []string{e.length(), e.list(1)})
			})
		}
	}
	attrs := []attribute{attrInt("num_heads", int64(heads))}
	if rope.Dim != dim {
		attrs = append(attrs, attrInt("rotary_embedding_dim", int64(rope.Dim)))
	}
	return e.msOp(name, "RotaryEmbedding", []string{x, first, cos, sin}, attrs...)
}

// rotations are the cosines and sines of all positions of the model, [positions,
// Dim/2], which the runtime computes once, at load. They are computed in float64: in
// float32 the angle of position 8,191 is off by up to 2·10⁻⁴.
func (e *encoder) rotations(rope model.Rope) (cos, sin string) {
	name := fmt.Sprintf("rope.%s.%d", strconv.FormatFloat(rope.Theta, 'g', -1, 64), rope.Dim)
	e.once(name, func(name string) string {
		count := e.op(name+".positions", "Range", []string{e.number(0), e.number(int64(e.m.MaxPositions())), e.number(1)})
		column := e.op(name+".column", "Unsqueeze", []string{e.op(name+".wide", "Cast", []string{count}, attrInt("to", int64(Float64))), e.list(1)})
		frequencies := make([]float64, rope.Dim/2)
		for i := range frequencies {
			frequencies[i] = math.Pow(rope.Theta, -2*float64(i)/float64(rope.Dim))
		}
		angles := e.op(name+".angles", "Mul", []string{column, e.doubles(name+".frequencies", frequencies)})
		// A cosine is the sine a quarter turn ahead: 1.26, the runtime for CUDA 12, has no Cos of
		// float64 on the CPU, where the table is computed whatever the target.
		ahead := e.op(name+".ahead", "Add", []string{angles, e.doubles(name+".quarter", []float64{math.Pi / 2})})
		for _, f := range [][2]string{{".Cos", ahead}, {".Sin", angles}} {
			e.op(name+f[0], "Cast", []string{e.op(name+f[0]+".wide", "Sin", []string{f[1]})}, attrInt("to", int64(Float32)))
		}
		return name
	})
	return e.computed(name + ".Cos"), e.computed(name + ".Sin")
}
