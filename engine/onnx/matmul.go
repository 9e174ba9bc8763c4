package onnx

import "encbench/engine/model"

// matmul gives W·x of a linear map, without its bias: the only place that
// multiplies by a weight. The weight is in its checkpoint layout [out, in].
func (g *graph) matmul(name string, l model.Linear, x string) string {
	if l.Scale != "" && g.cuda {
		g.fail("tensor %s is int8, and ONNX Runtime's CUDA provider multiplies no uint8 by int8; convert the weights to float16, bfloat16 or float32", l.Weight)
		return x
	}
	if l.Scale != "" {
		return g.matmulInt8(name, l, x)
	}
	return g.msOp(name, "FusedMatMul", []string{x, g.linearWeight(l)}, attrInt("transB", 1))
}
