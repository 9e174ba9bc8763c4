package onnx

import (
	"fmt"
	"math"

	"encbench/engine/model"
)

// longWindow is the most tokens of rows whose windows are a mask over all pairs of
// tokens in a graph of a fixed shape. Estimated, not measured: at 512 tokens of
// ModernBERT-base a layer's dense attention is 0.8 GFLOP and the keys and values that
// blocks gather are 10 MB, both about 3 µs on an H100.
const longWindow = 1024

// onDevice is attention for ONNX Runtime's CUDA provider.
//
// Without padding a layer that attends to all tokens is MultiHeadAttention without mask
// or bias: flash attention in float16 and bfloat16 (heads of a multiple of 8 up to 256,
// compute capability 8 and up), memory-efficient attention in float32 from 256 tokens
// on, three kernels with all scores in memory else. No dimension is added to heads as
// on a CPU: 65 is no multiple of 8, and would lose both.
//
// With padding flash attention is out of reach, because it takes no mask. In float16
// rows say their lengths in the form that memory-efficient attention reads, see
// lengthsAndStarts. Other kernels would misread that form (the one with all scores takes
// what follows the lengths for places where rows start), and only for float16 is the
// choice free of other conditions, so in float32 and bfloat16, and for heads of an odd
// size, padding is a bias over pairs of tokens, [rows, 1, len, len], one for all layers and
// heads: every kernel is exact with it, and it is memory-efficient where the number
// of queries is a multiple of 8 (float32: 16). ORT_DISABLE_MEMORY_EFFICIENT_ATTENTION
// and the provider option sdpa_kernel must leave that kernel on for float16 rows with
// padding.
//
// A window is such a bias as well, with the padding in it; in graphs of a fixed
// shape longer than longWindow it is computed in blocks as on a CPU. A relative bias
// is [1, heads, len, len], and padding beside it plain lengths, with all scores in
// memory: such models have rows of 512 tokens at most.
//
// A causal layer is GroupQueryAttention in float16 and bfloat16 (flash attention, heads
// of keys shared, not repeated), for which CUDA has no float32 kernel: there, and for
// heads of an odd size, it is MultiHeadAttention with unidirectional. Padding follows
// all tokens and is before none.
//
// Which kernel runs is read from the provider's sources; the results of every form are
// tested on the CPU provider. Lengths for packed rows (PackedMultiHeadAttention) would
// need a shape that the content decides, which cannot be captured.
func (e *encoder) onDevice(name string, a model.Attention, r reach, p projected) string {
	switch form := formOf(a, r); {
	case form == blockedForm && e.opt.Length > longWindow && !e.opt.DenseWindows:
		return e.inBlocks(name, a, e.blocks(a, r), e.shared(name, a, p))
	case form == blockedForm:
		return e.multiHead(name, a, e.shared(name, a, p), "", e.pairMask(name, a, r), false)
	case (form == causalForm || form == plainForm) && e.flashes(a):
		return e.causalOnDevice(name, a, p)
	case form == causalForm || form == plainForm:
		return e.multiHead(name, a, e.shared(name, a, p), "", "", true)
	}
	p = e.shared(name, a, p)
	switch {
	case e.m.RelativeBias.Table.Weight != "":
		lengths := ""
		if e.opt.Mask {
			lengths = InputLengths
		}
		return e.multiHead(name, a, p, lengths, e.readBias(name, r, e.relativeBias()), false)
	case r.last && a.Window > 0:
		return e.multiHead(name, a, p, "", e.lastWindow(a), false)
	case !e.opt.Mask:
		return e.multiHead(name, a, p, "", "", false)
	case e.compute == Float16 && e.flashes(a):
		return e.multiHead(name, a, p, e.lengthsAndStarts(r), "", false)
	}
	return e.multiHead(name, a, p, "", e.hidePadding(r), false)
}

// flashes says whether flash attention takes the heads and the type.
func (e *encoder) flashes(a model.Attention) bool {
	return narrow(e.compute) && a.HeadDim%8 == 0 && a.HeadDim <= 256
}

// multiHead writes MultiHeadAttention.
func (e *encoder) multiHead(name string, a model.Attention, p projected, mask, bias string, causal bool) string {
	inputs := []string{p.query, p.key, p.value, p.bias, mask, bias}
	for inputs[len(inputs)-1] == "" {
		inputs = inputs[:len(inputs)-1]
	}
	attrs := []attribute{attrInt("num_heads", int64(a.Heads)), attrFloat("scale", scale(a)), attrFloat("mask_filter_value", hiddenNarrow)}
	if causal {
		attrs = append(attrs, attrInt("unidirectional", 1))
	}
	return e.msOp(name+".mix", "MultiHeadAttention", inputs, attrs...)
}

// causalOnDevice is causal without a copy from the host.
func (e *encoder) causalOnDevice(name string, a model.Attention, p projected) string {
	total := e.once("causal.total", func(as string) string {
		return e.cast(as, e.tokens(), Int32)
	})
	lasts := e.once("causal.lasts", func(as string) string {
		before := e.op(as+".before", "Sub", []string{total, e.int32(1)})
		last := e.op(as+".last", "Range", []string{before, total, e.int32(1)})
		return e.op(as, "Expand", []string{last, e.rows()})
	})
	// The kernel writes keys and values where these outputs lie.
	outputs := []string{name + ".mix", name + ".mix.key", name + ".mix.value"}
	e.outputs(outputs, microsoft, "GroupQueryAttention", []string{p.query, p.key, p.value, "", "", lasts, total},
		attrInt("num_heads", int64(a.Heads)), attrInt("kv_num_heads", int64(a.KVHeads)), attrFloat("scale", scale(a)))
	return outputs[0]
}

// padded is band with the padding of each row hidden as well, [rows, 1, len, len].
func (e *encoder) padded(a model.Attention) string {
	return e.once(fmt.Sprintf("band.padded.%d.%t", a.Window, a.Causal), func(name string) string {
		near := e.attended(name, a, e.ahead(name, e.positions()))
		real := e.op(name+".real", "Unsqueeze", []string{e.visible(name, 0), e.list(1, 2)})
		return e.where(name, e.op(name+".both", "And", []string{real, near}))
	})
}

// hidePadding hides padding from the queries that r gives, [rows, 1, queries, len].
func (e *encoder) hidePadding(r reach) string {
	return e.once(fmt.Sprintf("padding.%d.%d.%t", r.in, r.out, r.last), func(name string) string {
		keys := e.op(name+".keys", "Unsqueeze", []string{e.where(name+".bias", e.visible(name, 0)), e.list(1, 2)})
		if r.in > 0 {
			keys = e.op(name+".read", "Slice", []string{keys, e.list(0), e.list(int64(r.in)), e.list(3)})
		}
		queries := e.op(name+".count", "Unsqueeze", []string{e.given(r), e.list(0)})
		return e.op(name, "Expand", []string{keys, e.op(name+".shape", "Concat", []string{e.list(1, 1), queries, e.list(1)}, attrInt("axis", 0))})
	})
}

// lastWindow hides what is no token of the window of each row's last, [rows or 1, 1, 1, len].
func (e *encoder) lastWindow(a model.Attention) string {
	return e.once(fmt.Sprintf("band.last.%d", a.Window), func(name string) string {
		return e.op(name, "Unsqueeze", []string{e.where(name+".bias", e.visible(name, a.Window)), e.list(1, 2)})
	})
}

// given is the number of tokens that a layer gives, and taken of those it reads, int64
// without dimensions.
func (e *encoder) given(r reach) string {
	if r.last {
		return e.number(1)
	}
	return e.atMost(r.out)
}

func (e *encoder) taken(r reach) string { return e.atMost(r.in) }

// atMost is the number of tokens of a row, and at most n where n is not 0.
func (e *encoder) atMost(n int) string {
	if n == 0 {
		return e.tokens()
	}
	return e.once(fmt.Sprintf("tokens.most.%d", n), func(name string) string {
		return e.op(name, "Min", []string{e.tokens(), e.number(int64(n))})
	})
}

// lengthsAndStarts is how memory-efficient attention wants to be told of padding, int32
// [3 · rows + 2]: the tokens of each row, rows + 1 places where the rows of queries
// start, and as many of the rows of keys. It is computed place by place, because a
// Concat of parts of different sizes copies the sizes from the host.
func (e *encoder) lengthsAndStarts(r reach) string {
	return e.once(fmt.Sprintf("lengths.starts.%d.%d.%t", r.in, r.out, r.last), func(name string) string {
		op := func(what, op string, inputs ...string) string { return e.op(name+"."+what, op, inputs) }
		rows := op("rows", "Squeeze", e.rows())
		more := op("rows.more", "Add", rows, e.number(1))
		device := func(what, n string) string { // int64 [1]
			return op(what+".device", "Range", n, op(what+".end", "Add", n, e.number(1)), e.number(1))
		}
		size := op("size", "Add", op("triple", "Mul", rows, e.number(3)), e.number(2))
		at := op("at", "Range", e.number(0), size, e.number(1))
		count, starts := device("count", rows), device("starts", more)
		last := device("last", op("rows.less", "Sub", rows, e.number(1)))
		start := op("start", "Sub", at, count)
		queries := op("queries", "Mul", start, device("given", e.given(r)))
		keys := op("keys", "Mul", op("start.keys", "Sub", start, starts), device("taken", e.taken(r)))
		place := op("place", "Where", op("in.keys", "GreaterOrEqual", start, starts), keys, queries)
		lengths := op("each", "Gather", e.readLengths(r), op("row", "Min", at, last))
		wide := e.cast(name+".wide", lengths, Int64)
		return e.cast(name, op("all", "Where", op("in.lengths", "Less", at, count), wide, place), Int32)
	})
}

// readLengths is the number of real tokens of each row among those that a layer reads,
// int32 [rows].
func (e *encoder) readLengths(r reach) string {
	if r.in == 0 {
		return InputLengths
	}
	return e.once(fmt.Sprintf("lengths.most.%d", r.in), func(name string) string {
		return e.op(name, "Min", []string{InputLengths, e.int32(int32(min(r.in, math.MaxInt32)))})
	})
}
