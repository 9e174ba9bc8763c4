package onnx

import (
	"fmt"
	"math"

	"encbench/engine/model"
)

// dense is attention with a window as a mask over all pairs of tokens, one for all
// layers and heads: for short rows, and what Options calls DenseWindows.
func (e *encoder) dense(name string, a model.Attention, r reach, p projected, band string) string {
	lengths := ""
	if e.opt.Mask {
		lengths = InputLengths
	}
	return e.msOp(name+".mix", "MultiHeadAttention", []string{p.query, p.key, p.value, "", lengths, e.readBias(name, r, band)},
		attrInt("num_heads", int64(a.Heads)), attrFloat("scale", scale(a)))
}

// plain is any attention from products of matrices over all pairs of tokens, with
// everything that hides a key from a query as a mask: what Options calls Plain.
func (e *encoder) plain(name string, a model.Attention, r reach, p projected) string {
	p = e.shared(name, a, p)
	heads := func(what, x string, perm ...int64) string {
		split := e.op(name+what+".split", "Reshape", []string{x, e.list(0, 0, int64(a.Heads), int64(a.HeadDim))})
		return e.op(name+what+".heads", "Transpose", []string{split}, attrInts("perm", perm...))
	}
	scores := e.op(name+".scores", "MatMul", []string{heads(".query", p.query, 0, 2, 1, 3), heads(".key", p.key, 0, 2, 3, 1)})
	scores = e.op(name+".scaled", "Mul", []string{scores, e.computed(e.float(fmt.Sprintf("float.scale.%d", a.HeadDim), float32(scale(a))))})
	if e.m.RelativeBias.Table.Weight != "" {
		scores = e.op(name+".shifted", "Add", []string{scores, e.readBias(name+".relative", r, e.relativeBias())})
	}
	scores = e.op(name+".masked", "Add", []string{scores, e.pairMask(name, a, r)})
	weights := e.op(name+".weights", "Softmax", []string{scores}, attrInt("axis", -1))
	mix := e.op(name+".mixed", "MatMul", []string{weights, heads(".value", p.value, 0, 2, 1, 3)})
	joined := e.op(name+".joined", "Transpose", []string{mix}, attrInts("perm", 0, 2, 1, 3))
	return e.op(name+".mix", "Reshape", []string{joined, e.list(0, 0, int64(a.Heads*a.HeadDim))})
}

// pairMask is all that hides a key from a query in a layer, [rows or 1, 1, queries, keys].
func (e *encoder) pairMask(name string, a model.Attention, r reach) string {
	switch {
	case e.cuda && r.last:
		return e.lastWindow(a)
	case e.cuda && e.opt.Mask:
		return e.readBias(name, r, e.padded(a))
	}
	mask := e.band(a, 0)
	if e.opt.Mask {
		mask = e.once(mask+".padded", func(as string) string {
			seen := e.op(as+".pairs", "Unsqueeze", []string{e.visible(as, 0), e.list(1, 2)})
			return e.op(as, "Add", []string{mask, e.where(as+".bias", seen)})
		})
	}
	return e.readBias(name, r, mask)
}

// band is the mask of a layer over all pairs of tokens, [1, 1, len, len]; of the first
// tokens alone where most is not 0.
func (e *encoder) band(a model.Attention, most int) string {
	return e.once(fmt.Sprintf("band.%d.%t.%d", a.Window, a.Causal, most), func(name string) string {
		at := e.positions()
		if most > 0 {
			at = e.op(name+".first", "Slice", []string{at, e.list(0), e.list(int64(most))})
		}
		return e.op(name, "Unsqueeze", []string{e.where(name+".bias", e.attended(name, a, e.ahead(name, at))), e.list(0, 1)})
	})
}

// ahead is how many tokens a key is ahead of a query, for all pairs of the places at,
// int64 [queries, keys].
func (e *encoder) ahead(name, at string) string {
	return e.op(name+".ahead", "Sub", []string{
		e.op(name+".keys", "Unsqueeze", []string{at, e.list(0)}), e.op(name+".queries", "Unsqueeze", []string{at, e.list(1)}),
	})
}

// attended says whether a query attends to a key that is so many tokens ahead of it.
func (e *encoder) attended(name string, a model.Attention, ahead string) string {
	at := func(what, op string, x string, limit int64) string {
		return e.op(name+what, op, []string{x, e.number(limit)})
	}
	switch {
	case a.Causal && a.Window > 0:
		return e.op(name+".attended", "And", []string{
			at(".near", "GreaterOrEqual", ahead, -int64(a.Window)), at(".before", "LessOrEqual", ahead, 0),
		})
	case a.Causal:
		return at(".before", "LessOrEqual", ahead, 0)
	case a.Window > 0:
		return at(".near", "LessOrEqual", e.op(name+".distance", "Abs", []string{ahead}), int64(a.Window))
	}
	return at(".all", "Less", ahead, math.MaxInt64)
}

// where is 0 where ok and hidden elsewhere.
func (e *encoder) where(name, ok string) string {
	if e.cuda {
		bias := e.op(name+"/float32", "Where", []string{ok, e.float("float.0", 0), e.float("float.hidden", hiddenNarrow)})
		return e.cast(name, bias, e.compute)
	}
	return e.op(name, "Where", []string{ok, e.float("float.0", 0), e.float("float.hidden", hidden)})
}

// readBias takes from a bias of all pairs of tokens, [rows or 1, heads or 1, len, len],
// the queries that r gives and the keys that it reads.
func (e *encoder) readBias(name string, r reach, bias string) string {
	if r.in > 0 {
		bias = e.op(name+".bias.read", "Slice", []string{bias, e.list(0), e.list(int64(r.in)), e.list(3)})
	}
	switch {
	case r.last && e.opt.Mask: // the last token is another in each row
		return e.lastBias(name+".bias", bias)
	case r.last:
		return e.op(name+".bias.given", "Slice", []string{bias, e.list(-1), e.list(math.MaxInt64), e.list(2)})
	case r.out > 0:
		return e.op(name+".bias.given", "Slice", []string{bias, e.list(0), e.list(int64(r.out)), e.list(2)})
	}
	return bias
}

// lastBias takes from a bias the query of each row's last token, [rows, heads or 1, 1,
// len].
func (e *encoder) lastBias(name, bias string) string {
	if e.cuda {
		return e.lastBiasOnDevice(name, bias)
	}
	byRow := e.op(name+".rows", "Expand", []string{bias, e.op(name+".shape", "Concat", []string{e.rows(), e.list(1, 1, 1)}, attrInt("axis", 0))})
	byQuery := e.op(name+".queries", "Transpose", []string{byRow}, attrInts("perm", 0, 2, 1, 3))
	given := e.op(name+".last", "GatherND", []string{byQuery, e.last()}, attrInt("batch_dims", 1))
	return e.op(name+".given", "Unsqueeze", []string{given, e.list(2)})
}
