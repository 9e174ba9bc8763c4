package onnx

import (
	"math"

	"encbench/engine/model"
)

// hidden is what is added to the score of a key that a query does not attend to:
// its weight is exactly 0, also where no key is attended to and all weights are equal.
const hidden = -1e30

// attention gives the projected mix of values without the output's bias, from the
// states that the layer reads.
//
// All forms compute the same; which one is written goes by cost. A layer that attends
// to all tokens is MultiHeadAttention without mask or bias, whose kernel goes through
// the keys in tiles and keeps no scores. Padding is hidden from it in the keys (see
// veil), because any mask makes it keep rows × heads × len² scores. A causal layer is
// GroupQueryAttention, which goes by tiles as well; a layer with a window is computed
// in blocks (see window).
func (e *encoder) attention(name string, a model.Attention, r reach, states string) string {
	if e.m.RelativeBias.Table.Weight != "" && (a.Window > 0 || a.Causal) {
		e.fail("a relative bias together with a window or a causal layer")
	}
	p := e.project(name, a, r, states)
	var mix string
	switch form := formOf(a, r); {
	case e.cuda && !e.opt.Plain:
		mix = e.onDevice(name, a, r, p)
	case e.opt.Plain || form == plainForm:
		mix = e.plain(name, a, r, p)
	case form == blockedForm && e.opt.DenseWindows:
		mix = e.dense(name, a, r, e.shared(name, a, p), e.band(a, 0))
	case form == blockedForm:
		mix = e.window(name, a, r, p)
	case form == causalForm:
		mix = e.causal(name, a, p)
	default:
		mix = e.all(name, a, r, p)
	}
	return e.matmul(name+".output", a.Output, mix)
}

// form is how the attention of a layer is written.
type form int

const (
	allForm     form = iota // every query to every key that is read
	causalForm              // to itself and what is before it
	blockedForm             // to what is near it
	plainForm               // what the mask of all pairs says
)

func formOf(a model.Attention, r reach) form {
	most := r.reads(math.MaxInt) // tokens of the longest row
	switch {
	case r.last || most == 1:
		return allForm
	case a.Window > 0 && (r.out != 1 || most > a.Window+1): // the first query sees all that is read
		return blockedForm
	case a.Causal && a.HeadDim%8 == 0: // the operator takes no other heads
		return causalForm
	case a.Causal:
		return plainForm
	}
	return allForm
}

// projected are the queries, keys and values of a layer, each [rows, tokens, heads ·
// head size]. bias is the three biases, joined, where the operator is to add them.
type projected struct{ query, key, value, bias string }

// project computes queries of the tokens that the layer gives, and keys and values of
// those it reads.
func (e *encoder) project(name string, a model.Attention, r reach, states string) projected {
	p := projected{
		query: e.matmul(name+".query", a.Query, e.reached(name+".states", r, states)),
		key:   e.matmul(name+".key", a.Key, states),
		value: e.matmul(name+".value", a.Value, states),
	}
	whole := !a.Causal && a.Window == 0 && a.KVHeads == a.Heads && !e.opt.Plain
	if whole && a.Rope.Dim == 0 && a.QueryNorm.Weight == "" && a.KeyNorm.Weight == "" &&
		a.Query.Bias != "" && a.Key.Bias != "" && a.Value.Bias != "" {
		p.bias = e.op(name+".bias", "Concat", []string{e.headBias(name+".query", a, a.Query), e.headBias(name+".key", a, a.Key), e.linearBias(a.Value)}, attrInt("axis", 0))
		return p
	}
	p.query = e.biased(name+".query.biased", p.query, a.Query)
	p.key = e.biased(name+".key.biased", p.key, a.Key)
	p.value = e.biased(name+".value.biased", p.value, a.Value)
	p.query = e.headNorm(name+".query.norm", a.QueryNorm, p.query, a.Heads, a.HeadDim)
	p.key = e.headNorm(name+".key.norm", a.KeyNorm, p.key, a.KVHeads, a.HeadDim)
	p.query = e.rotate(name+".query.rotated", a.Rope, r, p.query, a.Heads, a.HeadDim)
	p.key = e.rotate(name+".key.rotated", a.Rope, reach{}, p.key, a.KVHeads, a.HeadDim)
	return p
}

// headBias is a bias of queries or keys with a 0 after each head where there is a
// veil.
func (e *encoder) headBias(name string, a model.Attention, l model.Linear) string {
	if !e.veiled() {
		return e.linearBias(l)
	}
	split := e.op(name+".bias.heads", "Reshape", []string{e.linearBias(l), e.list(int64(a.Heads), int64(a.HeadDim))})
	zeros := e.op(name+".bias.zeros", "Expand", []string{e.float("float.0", 0), e.list(int64(a.Heads), 1)})
	longer := e.op(name+".bias.longer", "Concat", []string{split, zeros}, attrInt("axis", 1))
	return e.op(name+".bias", "Reshape", []string{longer, e.list(-1)})
}

// headNorm normalises every head of x.
func (e *encoder) headNorm(name string, n model.Norm, x string, heads, dim int) string {
	if n.Weight == "" {
		return x
	}
	split := e.op(name+".heads", "Reshape", []string{x, e.list(0, 0, int64(heads), int64(dim))})
	return e.op(name+".joined", "Reshape", []string{e.norm(name, n, split), e.list(0, 0, int64(heads*dim))})
}

// all is attention of the queries to every key that is read and no padding.
func (e *encoder) all(name string, a model.Attention, r reach, p projected) string {
	p = e.shared(name, a, p)
	inputs := []string{p.query, p.key, p.value, p.bias}
	switch {
	case e.m.RelativeBias.Table.Weight != "":
		lengths := ""
		if e.opt.Mask {
			lengths = InputLengths
		}
		inputs = append(inputs, lengths, e.readBias(name, r, e.relativeBias()))
	case e.veiled() || r.last && a.Window > 0:
		inputs[0], inputs[1] = e.veil(name, a, r, p)
	}
	for inputs[len(inputs)-1] == "" {
		inputs = inputs[:len(inputs)-1]
	}
	return e.msOp(name+".mix", "MultiHeadAttention", inputs,
		attrInt("num_heads", int64(a.Heads)), attrFloat("scale", scale(a)))
}

func scale(a model.Attention) float64 { return 1 / math.Sqrt(float64(a.HeadDim)) }

// shared repeats keys and values for the heads of queries that share them.
func (e *encoder) shared(name string, a model.Attention, p projected) projected {
	if a.KVHeads == a.Heads {
		return p
	}
	repeat := func(name, x string) string {
		split := e.op(name+".apart", "Reshape", []string{x, e.list(0, 0, int64(a.KVHeads), 1, int64(a.HeadDim))})
		wide := e.op(name+".repeated", "Expand", []string{split, e.list(1, 1, 1, int64(a.Heads/a.KVHeads), 1)})
		return e.op(name+".shared", "Reshape", []string{wide, e.list(0, 0, int64(a.Heads*a.HeadDim))})
	}
	p.key, p.value = repeat(name+".key", p.key), repeat(name+".value", p.value)
	return p
}

// causal is attention of every token to itself and to those before it. Padding, after
// all tokens, is before none.
func (e *encoder) causal(name string, a model.Attention, p projected) string {
	n := e.op(name+".tokens", "Shape", []string{p.key}, attrInt("start", 1), attrInt("end", 2))
	total := e.op(name+".total", "Squeeze", []string{e.op(name+".tokens.int32", "Cast", []string{n}, attrInt("to", int64(Int32)))})
	lasts := e.op(name+".lasts", "Expand", []string{e.op(name+".last", "Sub", []string{total, e.int32(1)}), e.rows()})
	// Only with the keys and values as outputs does the operator go by tiles.
	outputs := []string{name + ".mix", name + ".mix.key", name + ".mix.value"}
	e.outputs(outputs, microsoft, "GroupQueryAttention", []string{p.query, p.key, p.value, "", "", lasts, total},
		attrInt("num_heads", int64(a.Heads)), attrInt("kv_num_heads", int64(a.KVHeads)), attrFloat("scale", scale(a)))
	return outputs[0]
}
