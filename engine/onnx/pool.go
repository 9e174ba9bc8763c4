package onnx

import (
	"fmt"
	"math"

	"encbench/engine/model"
)

// pool turns the states into one vector a row, [rows, dim].
func (e *encoder) pool(x string) string {
	const name = "pooled"
	if e.cuda {
		x = e.toPool(x)
	}
	switch e.m.Pooling {
	case model.PoolCLS, model.PoolLast: // the last layer has left one token a row
		return e.op(name, "Squeeze", []string{x, e.list(1)})
	case model.PoolMean:
		if e.opt.Mask {
			return e.maskedMean(name, x)
		}
		return e.op(name, "ReduceMean", []string{x, e.list(1)}, attrInt("keepdims", 0))
	case model.PoolMax:
		if e.opt.Mask {
			least := e.float("float.least", -math.MaxFloat32)
			x = e.op("pool.seen", "Where", []string{e.op("pool.real.column", "Unsqueeze", []string{e.real(), e.list(2)}), x, least})
		}
		return e.op(name, "ReduceMax", []string{x, e.list(1)}, attrInt("keepdims", 0))
	}
	e.fail("pooling %q", e.m.Pooling)
	return x
}

// real says which tokens are no padding, bool [rows, len].
func (e *encoder) real() string {
	return e.op("pool.real", "Less", []string{e.positions(), e.lengths()})
}

// maskedMean gives the mean over each row's real tokens: a row of ones and
// zeros times the states, over the row's length.
func (e *encoder) maskedMean(name, x string) string {
	mask := e.op("pool.mask", "Cast", []string{e.real()}, attrInt("to", int64(Float32)))
	row := e.op("pool.row", "Unsqueeze", []string{mask, e.list(1)})
	sums := e.op("pool.sums", "MatMul", []string{row, x})
	sum := e.op("pool.sum", "Squeeze", []string{sums, e.list(1)})
	count := e.op("pool.count", "Cast", []string{e.lengths()}, attrInt("to", int64(Float32)))
	return e.op(name, "Div", []string{sum, count})
}

// finish computes what follows the pooling, up to the output.
func (e *encoder) finish(x string) {
	for i, h := range e.m.Head {
		name := fmt.Sprintf("head.%d", i)
		y := x
		if h.Linear.Weight != "" {
			y = e.matmul(name+".product", h.Linear, x)
		}
		y = e.activation(name+".act", h.Act, y, h.Linear)
		x = e.norm(name+".norm", h.Norm, y)
	}
	if e.cuda {
		e.give(x)
		return
	}
	if e.m.Normalize {
		e.op(Output, "LpNormalization", []string{x}, attrInt("axis", -1), attrInt("p", 2))
		return
	}
	e.op(Output, "Identity", []string{x})
}
