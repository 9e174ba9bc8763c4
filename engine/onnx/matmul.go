package onnx

import "encbench/engine/model"

// matmul gives W·x of a linear map, without its bias: the only place that
// multiplies by a weight. The weight is in its checkpoint layout [out, in].
func (g *graph) matmul(name string, l model.Linear, x string) string {
	if l.Scale != "" {
		return g.matmulInt8(name, l, x)
	}
	return g.msOp(name, "FusedMatMul", []string{x, g.linearWeight(l)}, attrInt("transB", 1))
}
