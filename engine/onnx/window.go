package onnx

import (
	"fmt"

	"encbench/engine/model"
)

// blockTokens is how many queries a block has in long rows.
const blockTokens = 64

// headGroup is how many heads are computed together at most.
const headGroup = 4

// window is attention of tokens to those near them. The queries are cut into blocks;
// each block meets the keys that any of its queries attends to, and a mask of that
// size hides those outside a query's own window. So work and memory grow with the
// length of a row, not with its square. Blocks at the ends of a row are moved inward:
// no key is padding that the graph added.
//
// Note: ModernBERT-base on two cores with AVX-512, a row of 512 tokens on each of two
// one-thread runs: 596 ms, with DenseWindows 642, Plain 654. A row of 8,192 on one run
// of two threads: 19.1 s and 0.95 GB at the peak, Plain 51.1 s and 8.7 GB; of the 19.1 s
// multiplications by weights are 9.7, the 8 layers without a window 8.2 and the 14 with
// one 1.1. One layer with a window, one thread, 512 tokens, ms of which 45.4 are
// multiplications by weights: 52.5 as here, with a dense mask 58.2, all to all without
// a mask 56.5. Splitting the heads into groups keeps a group's scores in the
// second-level cache: without it 53.2 (54 to 55 on a busy machine). Blocks of 32 and 48
// queries 53.1, of 128 53.4; blocks as the rows of one MultiHeadAttention, which takes
// the mask as a bias, 0.8 slower; queries, keys and values projected head by head in
// place of the transpositions 0.2 faster there, but 15 % slower at 16 tokens, as such
// weights are not packed at load.
//
// In short rows, where a block would see nearly all keys, a dense mask is cheaper, and
// which of the two is computed is decided in the run: at 8 to 16 tokens of
// granite-small the many small operators of the blocks cost 7 %.
func (e *encoder) window(name string, a model.Attention, r reach, p projected) string {
	p = e.shared(name, a, p)
	near := e.band(a, shortRow(a))
	if r.in > 0 && r.in <= shortRow(a) {
		return e.dense(name, a, r, p, near)
	}
	b := e.blocks(a, r)
	return e.either(name+".mix", b.short, 3,
		func() string { return e.dense(name+".near", a, r, p, near) },
		func() string { return e.inBlocks(name, a, b, p) })
}

// inBlocks is window for long rows.
func (e *encoder) inBlocks(name string, a model.Attention, b blocks, p projected) string {
	size := groupSize(a.Heads)
	if e.cuda { // there is no cache to keep a group in
		size = a.Heads
	}
	heads := func(what, x string) []string {
		split := e.op(name+what+".split", "Reshape", []string{x, e.list(0, 0, int64(a.Heads), int64(a.HeadDim))})
		byHead := e.op(name+what+".heads", "Transpose", []string{split}, attrInts("perm", 0, 2, 1, 3))
		groups := a.Heads / size
		if groups == 1 {
			return []string{byHead}
		}
		names := make([]string, groups)
		for i := range names {
			names[i] = fmt.Sprintf("%s%s.group.%d", name, what, i)
		}
		return e.outputs(names, "", "Split", []string{byHead}, attrInt("axis", 1), attrInt("num_outputs", int64(groups)))
	}
	queries, keys, values := heads(".query", p.query), heads(".key", p.key), heads(".value", p.value)
	mixes := make([]string, len(queries))
	for i := range mixes {
		group := fmt.Sprintf("%s.group.%d", name, i)
		q := e.op(group+".queries", "Gather", []string{queries[i], b.queries}, attrInt("axis", 2))
		k := e.op(group+".keys", "Gather", []string{keys[i], b.keys}, attrInt("axis", 2))
		v := e.op(group+".values", "Gather", []string{values[i], b.keys}, attrInt("axis", 2))
		scores := e.msOp(group+".scores", "FusedMatMul", []string{q, k}, attrInt("transB", 1), attrFloat("alpha", scale(a)))
		weights := e.op(group+".weights", "Softmax", []string{e.op(group+".masked", "Add", []string{scores, b.mask})}, attrInt("axis", -1))
		mixed := e.op(group+".mixed", "MatMul", []string{weights, v}) // [rows, heads, blocks, queries, head size]
		byToken := e.op(group+".tokens", "Transpose", []string{mixed}, attrInts("perm", 0, 2, 3, 1, 4))
		mixes[i] = e.op(group+".mix", "Reshape", []string{byToken, e.list(0, -1, int64(size*a.HeadDim))})
	}
	mix := mixes[0]
	if len(mixes) > 1 {
		mix = e.op(name+".groups", "Concat", mixes, attrInt("axis", 2))
	}
	return e.op(name+".far.mix", "Slice", []string{mix, e.list(0), b.given, e.list(1)})
}

// groupSize is the largest divisor of heads up to headGroup.
func groupSize(heads int) int {
	size := min(heads, headGroup)
	for heads%size != 0 {
		size--
	}
	return size
}

// blocks are the places of the queries and keys of each block, int64 [blocks, queries]
// and [blocks, keys], the mask [blocks, queries, keys], or with padding [rows, 1,
// blocks, queries, keys], the number of tokens that the layer gives, int64 [1], and whether the rows are
// short, a bool without dimensions.
type blocks struct{ queries, keys, mask, given, short string }

// blocks writes the geometry of a layer, once for all layers that share it; see
// blocking for what it computes.
func (e *encoder) blocks(a model.Attention, r reach) blocks {
	name := fmt.Sprintf("window.%d.%t.%d.%d", a.Window, a.Causal, r.in, r.out)
	b := blocks{queries: name + ".queries", keys: name + ".keys", mask: name + ".mask", given: name + ".given", short: name + ".short"}
	if r.out == 0 {
		b.given = e.length()
	}
	e.once(name, func(string) string {
		e.writeBlocks(name, a, r)
		return name
	})
	return b
}

func (e *encoder) writeBlocks(name string, a model.Attention, r reach) {
	op := func(what, op string, inputs ...string) string { return e.op(name+"."+what, op, inputs) }
	column := func(what, x string, axes ...int64) string { return op(what, "Unsqueeze", x, e.list(axes...)) }
	before, after := sides(a)
	reads, gives := e.tokens(), e.tokens()
	if r.in > 0 {
		reads = op("reads", "Min", e.tokens(), e.number(int64(r.in)))
	}
	if r.out > 0 {
		gives = op("gives", "Min", e.tokens(), e.number(int64(r.out)))
		op("given", "Unsqueeze", gives, e.list(0))
	}
	up := op("up", "Div", op("up.more", "Add", gives, e.number(blockTokens-1)), e.number(blockTokens))
	short := op("short", "LessOrEqual", reads, e.number(int64(shortRow(a))))
	count := op("count", "Where", short, e.number(1), up)
	queries := op("size", "Div", op("size.less", "Sub", op("size.more", "Add", gives, count), e.number(1)), count)
	keys := op("width", "Min", reads, op("width.most", "Add", queries, e.number(int64(before+after))))

	first := op("first", "Mul", op("numbers", "Range", e.number(0), count, e.number(1)), queries)
	left := op("left", "Max", op("left.most", "Sub", first, e.number(int64(before))), e.number(0))
	left = op("start", "Min", left, op("start.most", "Sub", reads, keys))
	at := op("places", "Add", column("first.column", first, 1), op("range", "Range", e.number(0), queries, e.number(1)))
	op("queries", "Min", at, op("last", "Sub", gives, e.number(1)))
	key := op("keys", "Add", column("start.column", left, 1), op("key.range", "Range", e.number(0), keys, e.number(1)))

	ahead := op("ahead", "Sub", column("key.row", key, 1), column("query.column", at, 2))
	ok := e.attended(name, a, ahead)
	if e.opt.Mask {
		real := op("real", "Less", key, column("lengths", e.lengths(), 2)) // [rows, blocks, keys]
		ok = op("seen", "And", ok, column("real.row", real, 1, 3))
	}
	e.where(name+".mask", ok)
}

// sides are how many tokens before and after itself a query attends to.
func sides(a model.Attention) (before, after int) {
	if a.Causal {
		return a.Window, 0
	}
	return a.Window, a.Window
}

// shortRow is the most tokens, of those that a layer reads, that are not cut into
// blocks.
func shortRow(a model.Attention) int {
	before, after := sides(a)
	return blockTokens + before + after
}

// blocking gives the geometry of a layer with a window for rows of n tokens: how many
// blocks there are, and of how many queries and keys each; in short rows one of all.
func blocking(a model.Attention, r reach, n int) (count, queries, keys int) {
	before, after := sides(a)
	reads, gives := r.reads(n), r.gives(n)
	count = 1
	if reads > shortRow(a) {
		count = (gives + blockTokens - 1) / blockTokens
	}
	queries = (gives + count - 1) / count
	return count, queries, min(reads, queries+before+after)
}
