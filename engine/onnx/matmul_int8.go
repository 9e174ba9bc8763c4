package onnx

import (
	"encoding/binary"
	"fmt"
	"math"

	"encbench/engine/model"
)

// Element types of quantised tensors.
const (
	uint8Elem ElemType = 2
	int8Elem  ElemType = 3
)

// The bits that int8 layers round activations to.
const (
	// ActivationBits8 is for processors that sum products of uint8 and int8 numbers
	// in 32 bits.
	ActivationBits8 = 8
	// ActivationBits7 is for those that add two products in 16 bits and saturate
	// there, as x86 without VNNI does: 2 · 127 · 127 still fits.
	ActivationBits7 = 7
)

// matmulInt8 is matmul by a weight stored as int8, W[o][i] = scale[o] · stored[o][i].
// Every row of x, one token's, is rounded by a scale of its own, its largest magnitude
// divided by 127 (63 with 7 bits), so that nothing else in the batch, padding
// included, has a part in it. The products are summed exactly, in int32; the sum is
// multiplied by the weight's scale and then by the row's, in float32.
//
// Note: measured with ONNX Runtime 1.32 on one core with AVX-512 VNNI, a row of 512
// tokens of all-MiniLM-L6-v2, ms of processor time: 68 as built here, of which the
// quantised multiplications are 27 and attention 30, both near that core's peak;
// float32 136; ONNX Runtime's own dynamic quantisation of the exported graph 82 to 88,
// of the fused one 85; a row of 512 tokens with AVX2 alone 101, 141 and 111 to 119.
// Tried and left: MatMulNBits with 8 bits and accuracy level 4, which rounds blocks of
// a row, 107 to 123 (AVX2: 200); int8 instead of uint8 activations 364, as they have no
// packed kernel; uint8 weights 113; Abs and ReduceMax instead of ReduceMax and
// ReduceMin 72. The least cosine to float32 over 300 texts is 0.996 (7 bits: 0.993), of
// ONNX Runtime's own 0.89, or 0.984 with a scale for each channel.
func (g *graph) matmulInt8(name string, l model.Linear, x string) string {
	a := g.quantise(x, l.In)
	product := g.msOp(name+".product", "MatMulIntegerToFloat", []string{
		a.values, g.int8Weight(l), g.float("scalar.one", 1), g.int8Scale(l), g.byteScalar("activation.zero", g.zero()),
	})
	scaled := g.op(name+".scaled", "Mul", []string{product, a.scale})
	return g.op(name, "Reshape", []string{scaled, g.rowsOf(l.Out)})
}

// rowsOf is the shape of states of a size, int64 [3], whatever the tokens of a row.
func (g *graph) rowsOf(size int) string {
	return g.once(fmt.Sprintf("rows.of.%d", size), func(as string) string {
		return g.op(as, "Concat", []string{g.rows(), g.list(-1, int64(size))}, attrInt("axis", 0))
	})
}

// quantised is a rounded activation.
type quantised struct {
	values string // uint8 [rows · tokens, in]
	scale  string // float32 [rows · tokens, 1]
}

// quantise rounds the last dimension of x, of size in, row by row; once for all maps
// that take x.
func (g *graph) quantise(x string, in int) quantised {
	q := quantised{values: x + ".rounded", scale: x + ".scale"}
	if g.seen[q.values] {
		return q
	}
	g.seen[q.values] = true
	last := g.list(1)
	flat := g.op(x+".flat", "Reshape", []string{x, g.list(-1, int64(in))})
	high := g.op(x+".high", "ReduceMax", []string{flat, last}, attrInt("keepdims", 0))
	low := g.op(x+".low", "ReduceMin", []string{flat, last}, attrInt("keepdims", 0))
	levels := float32(g.zero() - 1)
	// The least number keeps a row of zeros from a scale of zero.
	most := g.op(x+".most", "Max", []string{high, g.op(x+".low.negative", "Neg", []string{low}), g.float("activation.least", levels*math.Float32frombits(1<<23))})
	unit := g.op(x+".unit", "Div", []string{most, g.float("activation.levels", levels)})
	// One zero point for each row: any scale rounded by the largest of all is 0.
	zero := g.op(x+".zero", "QuantizeLinear", []string{unit, g.float("float.most", math.MaxFloat32), g.byteScalar("activation.zero", g.zero())})
	g.op(q.values, "QuantizeLinear", []string{flat, unit, zero}, attrInt("axis", 0))
	g.op(q.scale, "Unsqueeze", []string{unit, last})
	return q
}

// zero is the uint8 number that stands for 0.
func (g *graph) zero() byte { return 1 << (g.activationBits - 1) }

// int8Weight gives the map's rows as int8 [in, out], turned once, when the graph is
// loaded.
func (g *graph) int8Weight(l model.Linear) string {
	as := g.int8Part(l.Weight, l, int8Elem) + ".turned"
	if !g.seen[as] {
		g.seen[as] = true
		g.op(as, "Transpose", []string{g.int8Part(l.Weight, l, int8Elem)})
	}
	return as
}

// int8Scale gives the scales of the map's rows, float32 [out].
func (g *graph) int8Scale(l model.Linear) string { return g.int8Part(l.Scale, l, Float32) }

// int8Part makes the map's rows of a tensor an initializer.
func (g *graph) int8Part(tensor string, l model.Linear, elem ElemType) string {
	t, ok := g.m.Weights.Tensor(tensor)
	if !ok {
		g.fail("tensor %s is not in %s", tensor, g.m.Weights.Path)
		return tensor
	}
	rows := l.Rows
	if rows == 0 {
		rows = l.Out
	}
	name := tensor
	if rows != l.Out {
		name = fmt.Sprintf("%s/%d-%d", tensor, l.Row, l.Row+l.Out)
	}
	if !g.seen[name] {
		each := t.Bytes / int64(rows)
		g.external(name, t, elem, append([]int{l.Out}, t.Shape[1:]...), t.Offset+int64(l.Row)*each, int64(l.Out)*each)
	}
	return name
}

// float makes one float32 an initializer without dimensions.
func (g *graph) float(name string, v float32) string {
	return g.literal(name, Float32, binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
}

// byteScalar makes one uint8 an initializer without dimensions.
func (g *graph) byteScalar(name string, v byte) string { return g.literal(name, uint8Elem, []byte{v}) }

func (g *graph) literal(name string, elem ElemType, raw []byte) string {
	if g.seen[name] {
		return name
	}
	g.seen[name] = true
	var m message
	m.int(tensorType, int64(elem))
	m.string(tensorName, name)
	m.bytes(tensorRaw, raw)
	g.initializers = append(g.initializers, m)
	g.is(name, elem)
	return name
}
