package onnx

import (
	"encbench/engine/model"
)

// bert writes the computation of a BERT encoder (Devlin et al., 2018). States
// are float32 [rows, len, dim].
type bert struct {
	*graph
	m   *model.Model
	opt Options
}

// embed gives the embedded and normalised states. The row of token type 0 is
// added to the position table, which the runtime does once, at load.
func (b *bert) embed() string {
	e := b.m.Embedding
	from, to, axis := b.ints("const.0", 0), b.ints("const.1", 1), b.ints("axis.0", 0)
	type0 := b.op("embed.type0", "Slice", []string{b.weight(e.Type.Weight), from, to, axis})
	table := b.op("embed.table", "Add", []string{b.weight(e.Position.Weight), type0})
	length := b.op("embed.length", "Shape", []string{InputIDs}, attrInt("start", 1), attrInt("end", 2))
	positions := b.op("embed.positions", "Slice", []string{table, from, length, axis})
	words := b.op("embed.words", "Gather", []string{b.weight(e.Word.Weight), InputIDs})
	sum := b.op("embed.sum", "Add", []string{words, positions})
	return b.norm("embed.norm", e.Norm, sum)
}

// layer gives the states after one encoder block. With CLS pooling only the
// first token of the last layer is looked at, so nothing else of it is computed
// beyond the keys and values that this token attends to.
func (b *bert) layer(name string, l model.Layer, x string, last bool) string {
	queries := x
	if last && b.m.Pooling == model.PoolCLS {
		queries = b.op(name+".cls", "Slice", []string{x, b.ints("const.0", 0), b.ints("const.1", 1), b.ints("axis.1", 1)})
	}
	a := b.attention(name+".attention", l.Attention, queries, x)
	a = b.sum(name+".attention", a, l.Attention.Output.Bias, queries)
	a = b.norm(name+".attention.norm", l.AttentionNorm, a)

	f := b.matmul(name+".up", l.FeedForward.Up, a)
	switch l.FeedForward.Act {
	case model.GELU:
		f = b.msOp(name+".gelu", "BiasGelu", []string{f, b.weight(l.FeedForward.Up.Bias)})
	default:
		b.fail("activation %q", l.FeedForward.Act)
	}
	f = b.matmul(name+".down", l.FeedForward.Down, f)
	f = b.sum(name+".down", f, l.FeedForward.Down.Bias, a)
	return b.norm(name+".norm", l.OutputNorm, f)
}

// attention gives the projected mix of values, without the output's bias. The
// biases of query, key and value are one input of the operator, joined at load.
func (b *bert) attention(name string, a model.Attention, queries, states string) string {
	q := b.matmul(name+".query", a.Query, queries)
	k := b.matmul(name+".key", a.Key, states)
	v := b.matmul(name+".value", a.Value, states)
	bias := b.op(name+".bias", "Concat", []string{b.weight(a.Query.Bias), b.weight(a.Key.Bias), b.weight(a.Value.Bias)}, attrInt("axis", 0))
	inputs := []string{q, k, v, bias}
	if b.opt.Mask {
		inputs = append(inputs, InputLengths)
	}
	mix := b.msOp(name+".mix", "MultiHeadAttention", inputs, attrInt("num_heads", int64(a.Heads)))
	return b.matmul(name+".output", a.Output, mix)
}

// matmul multiplies by a weight in its checkpoint layout [out, in].
func (b *bert) matmul(name string, l model.Linear, x string) string {
	return b.msOp(name, "FusedMatMul", []string{x, b.weight(l.Weight)}, attrInt("transB", 1))
}

// sum gives product + bias + skip.
func (b *bert) sum(name, product, bias, skip string) string {
	biased := b.op(name+".biased", "Add", []string{product, b.weight(bias)})
	return b.op(name+".sum", "Add", []string{biased, skip})
}

// norm gives the layer normalisation of x: what is left after the mean, divided
// by its own root mean square, is what LayerNormalization computes, and ONNX
// Runtime has a vectorised operator for that division only.
func (b *bert) norm(name string, n model.Norm, x string) string {
	mean := b.op(name+".mean", "ReduceMean", []string{x, b.ints("axis.last", -1)}, attrInt("keepdims", 1))
	centred := b.op(name+".centred", "Sub", []string{x, mean})
	scaled := b.op(name+".scaled", "SimplifiedLayerNormalization", []string{centred, b.weight(n.Weight)},
		attrInt("axis", -1), attrFloat("epsilon", n.Eps), attrInt("stash_type", int64(Float32)))
	return b.op(name, "Add", []string{scaled, b.weight(n.Bias)})
}

// pool turns the states into the output.
func (b *bert) pool(x string) {
	pooled := Output
	if b.m.Normalize {
		pooled = "pooled"
	}
	switch b.m.Pooling {
	case model.PoolCLS: // the last layer has left one token a row
		b.op(pooled, "Squeeze", []string{x, b.ints("axis.1", 1)})
	case model.PoolMean:
		if b.opt.Mask {
			b.maskedMean(pooled, x)
		} else {
			b.op(pooled, "ReduceMean", []string{x, b.ints("axis.1", 1)}, attrInt("keepdims", 0))
		}
	default:
		b.fail("pooling %q", b.m.Pooling)
	}
	if b.m.Normalize {
		b.op(Output, "LpNormalization", []string{pooled}, attrInt("axis", -1), attrInt("p", 2))
	}
}

// maskedMean gives the mean over each row's real tokens: a row of ones and
// zeros times the states, over the row's length.
func (b *bert) maskedMean(name, x string) {
	axis1 := b.ints("axis.1", 1)
	length := b.op("pool.length", "Squeeze", []string{"embed.length"})
	positions := b.op("pool.positions", "Range", []string{b.scalar("scalar.0", 0), length, b.scalar("scalar.1", 1)})
	lengths := b.op("pool.lengths", "Unsqueeze", []string{InputLengths, axis1})
	limits := b.op("pool.limits", "Cast", []string{lengths}, attrInt("to", int64(Int64)))
	real := b.op("pool.real", "Less", []string{positions, limits})
	mask := b.op("pool.mask", "Cast", []string{real}, attrInt("to", int64(Float32)))
	row := b.op("pool.row", "Unsqueeze", []string{mask, axis1})
	sums := b.op("pool.sums", "MatMul", []string{row, x})
	sum := b.op("pool.sum", "Squeeze", []string{sums, axis1})
	count := b.op("pool.count", "Cast", []string{lengths}, attrInt("to", int64(Float32)))
	b.op(name, "Div", []string{sum, count})
}
