package onnx

import (
	"fmt"

	"encbench/engine/model"
)

// matmul gives W·x of a linear map, without its bias: the only place that
// multiplies by a weight. The weight is in its checkpoint layout [out, in].
func (g *graph) matmul(name string, l model.Linear, x string) string {
	if l.Scale != "" {
		return g.matmulInt8(name, l, x)
	}
	if g.products == 0 || g.products == Float32 {
		return g.msOp(name, "FusedMatMul", []string{x, g.linearWeight(l)}, attrInt("transB", 1))
	}
	narrow := g.op(name+".narrow", "Cast", []string{x}, attrInt("to", int64(g.products)))
	product := g.msOp(name+".product", "FusedMatMul", []string{narrow, g.narrowWeight(l)}, attrInt("transB", 1))
	return g.op(name, "Cast", []string{product}, attrInt("to", int64(Float32)))
}

// narrowWeight is linearWeight in the type of the products; the runtime computes a cast
// once, when it loads the graph.
func (g *graph) narrowWeight(l model.Linear) string {
	from, n := 0, 0
	if l.Rows != 0 {
		from, n = l.Row, l.Out
	}
	name, elem := g.stored(l.Weight, from, n)
	if elem == g.products {
		return name
	}
	return g.once(fmt.Sprintf("%s/%v", name, g.products), func(as string) string {
		return g.op(as, "Cast", []string{name}, attrInt("to", int64(g.products)))
	})
}
