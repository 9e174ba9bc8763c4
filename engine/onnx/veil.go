package onnx

import (
	"fmt"

	"encbench/engine/model"
)

// veiled says whether keys are hidden from attention by a dimension of their own.
func (e *encoder) veiled() bool {
	return e.opt.Target == CPU && e.opt.Mask && e.m.RelativeBias.Table.Weight == ""
}

// veil appends one value to every head of queries and keys: 1 to the queries, and to a
// key what its score is to be lowered by, over the scale. It gives queries and keys,
// [rows, tokens, heads · (head size + 1)].
//
// Note: on a core with AVX-512, 12 heads of 64, ms a row and layer, MultiHeadAttention
// with lengths against this: 128 tokens 0.96 and 0.87, 512 tokens 11.2 and 10.5, 2,048
// tokens 162 and 146 (without any mask 0.76, 9.6 and 138). With lengths it keeps all
// scores, 3.2 GB a row of 8,192 tokens. More dimensions, to keep heads aligned, cost
// more than they gain: 8 instead of 1 10.7 ms at 512 tokens.
func (e *encoder) veil(name string, a model.Attention, r reach, p projected) (query, key string) {
	heads, dim := int64(a.Heads), int64(a.HeadDim)
	ones := e.once(fmt.Sprintf("veil.ones.%d.%d.%t", heads, r.out, r.last), func(as string) string {
		return e.op(as, "Expand", []string{e.float("float.1", 1), e.headShape(as, heads, p.query)})
	})
	window := 0
	if r.last {
		window = a.Window
	}
	keys := e.once(fmt.Sprintf("veil.keys.%d.%d.%d", heads, r.in, window), func(as string) string {
		low := e.op(as+".low", "Unsqueeze", []string{e.where(as+".bias", e.visible(as, window)), e.list(2, 3)})
		if r.in > 0 {
			low = e.op(as+".read", "Slice", []string{low, e.list(0), e.list(int64(r.in)), e.list(1)})
		}
		return e.op(as, "Expand", []string{low, e.headShape(as, heads, p.key)})
	})
	longer := func(name, x, last string) string {
		split := e.op(name+".heads", "Reshape", []string{x, e.list(0, 0, heads, dim)})
		joined := e.op(name+".longer", "Concat", []string{split, last}, attrInt("axis", 3))
		return e.op(name+".veiled", "Reshape", []string{joined, e.list(0, 0, heads*(dim+1))})
	}
	return longer(name+".query", p.query, ones), longer(name+".key", p.key, keys)
}

// headShape is [rows, tokens, heads, 1] of x, [rows, tokens, dim].
func (e *encoder) headShape(name string, heads int64, x string) string {
	outer := e.op(name+".outer", "Shape", []string{x}, attrInt("end", 2))
	return e.op(name+".shape", "Concat", []string{outer, e.list(heads, 1)}, attrInt("axis", 0))
}

// visible says which tokens are no padding and, with a window, lie in that of the
// row's last token: bool [rows, len], or [1, len].
func (e *encoder) visible(name string, window int) string {
	last := ""
	if e.opt.Mask {
		last = e.last()
	} else if e.cuda {
		last = e.lastPlace()
	} else {
		last = e.op(name+".last", "Sub", []string{e.tokens(), e.number(1)})
	}
	at := e.op(name+".at", "Unsqueeze", []string{e.positions(), e.list(0)})
	seen := e.op(name+".seen", "LessOrEqual", []string{at, last})
	if window == 0 {
		return seen
	}
	first := e.op(name+".first", "Sub", []string{last, e.number(int64(window))})
	return e.op(name+".window", "And", []string{seen, e.op(name+".near", "GreaterOrEqual", []string{at, first})})
}
