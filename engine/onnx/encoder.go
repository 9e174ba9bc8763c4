package onnx

import (
	"fmt"

	"encbench/engine/model"
)

// encoder writes the computation of a model. States are [rows, tokens, dim] in the type
// that is computed in.
type encoder struct {
	*graph
	m     *model.Model
	opt   Options
	reach []reach
}

// write appends the whole computation, ids to output.
func (e *encoder) write() {
	if e.opt.Types && e.m.Embedding.Type.Weight == "" {
		e.fail("token types: the model has no table of them")
		return
	}
	if len(e.m.Layers) == 0 {
		e.fail("a model without layers")
		return
	}
	x := e.embed()
	for i, l := range e.m.Layers {
		x = e.layer(fmt.Sprintf("layer.%d", i), l, e.reach[i], x)
	}
	e.finish(e.pool(e.norm("final.norm", e.m.FinalNorm, x)))
}

// embed gives the embedded and normalised states. Where token types are all 0 their
// row is added to the position table, which the runtime does once, at load.
func (e *encoder) embed() string {
	em := e.m.Embedding
	x := e.look("embed.words", em.Word, InputIDs)
	type0 := ""
	if em.Type.Weight != "" && !e.opt.Types {
		type0 = e.op("embed.type0", "Slice", []string{e.rowsAs(em.Type.Weight, 0, 0, Float32), e.list(0), e.list(1), e.list(0)})
	}
	switch {
	case em.Position.Weight != "":
		table := e.rowsAs(em.Position.Weight, 0, 0, Float32)
		if type0 != "" {
			table = e.op("embed.table", "Add", []string{table, type0})
		}
		table = e.computed(table)
		end := e.length()
		if em.FirstPosition > 0 {
			end = e.op("embed.end", "Add", []string{end, e.list(int64(em.FirstPosition))})
		}
		positions := e.op("embed.positions", "Slice", []string{table, e.list(int64(em.FirstPosition)), end, e.list(0)})
		x = e.op("embed.sum", "Add", []string{x, positions})
	case type0 != "":
		x = e.op("embed.sum", "Add", []string{x, e.computed(type0)})
	}
	if e.opt.Types {
		x = e.op("embed.typed", "Add", []string{x, e.look("embed.types", em.Type, InputTypes)})
	}
	x = e.norm("embed.norm", em.Norm, x)
	if n := e.reach[0].in; n > 0 {
		x = e.op("embed.read", "Slice", []string{x, e.list(0), e.list(int64(n)), e.list(1)})
	}
	return x
}

// look gives the rows of a table that the ids name. Rows that are stored as narrow as
// the type computed in, or narrower, are converted after the look-up, so that a large
// table stays as it is stored; a wider table is narrowed once, at load.
func (e *encoder) look(name string, t model.Table, ids string) string {
	table, elem := e.stored(t.Weight, 0, 0)
	if elem != e.compute && elem == Float32 {
		return e.op(name, "Gather", []string{e.weight(t.Weight), ids})
	}
	if elem == e.compute {
		return e.op(name, "Gather", []string{table, ids})
	}
	rows := e.op(name+".stored", "Gather", []string{table, ids})
	return e.cast(name, rows, e.compute)
}

// layer gives the states after one block, of the tokens that r says.
func (e *encoder) layer(name string, l model.Layer, r reach, x string) string {
	in := x
	if l.PreNorm {
		in = e.norm(name+".attention.norm", l.AttentionNorm, x)
	}
	a := e.attention(name+".attention", l.Attention, r, in)
	a = e.sum(name+".attention", a, l.Attention.Output, e.reached(name+".kept", r, x))
	if !l.PreNorm {
		a = e.norm(name+".attention.norm", l.AttentionNorm, a)
	}
	in = a
	if l.PreNorm {
		in = e.norm(name+".norm", l.OutputNorm, a)
	}
	f := e.feedForward(name, l.FeedForward, in)
	f = e.sum(name+".down", f, l.FeedForward.Down, a)
	if !l.PreNorm {
		f = e.norm(name+".norm", l.OutputNorm, f)
	}
	return f
}

// feedForward gives the block's product without the bias of Down.
//
// Note: 8,192 tokens of ModernBERT-base cut into 4 to 64 pieces, so that the states
// between stay in a cache, take 244 to 254 ms in place of 260: 1.5 % of the run, for
// two more operators in every layer of short rows.
func (e *encoder) feedForward(name string, f model.FeedForward, x string) string {
	h := e.activation(name+".act", f.Act, e.matmul(name+".up", f.Up, x), f.Up)
	if f.Gate.Weight != "" {
		gate := e.biased(name+".gate.biased", e.matmul(name+".gate", f.Gate, x), f.Gate)
		h = e.op(name+".gated", "Mul", []string{h, gate})
	}
	return e.matmul(name+".down", f.Down, h)
}

// activation gives act(product + bias of l).
func (e *encoder) activation(name string, act model.Activation, product string, l model.Linear) string {
	x := e.biased(name+".biased", product, l)
	switch act {
	case model.GELU:
		return e.msOp(name, "Gelu", []string{x})
	case model.GELUTanh:
		return e.msOp(name, "FastGelu", []string{x})
	case model.SiLU:
		return e.msOp(name, "QuickGelu", []string{x}, attrFloat("alpha", 1))
	case model.ReLU:
		return e.op(name, "Relu", []string{x})
	case model.Tanh:
		return e.op(name, "Tanh", []string{x})
	case "":
		return x
	}
	e.fail("activation %q", act)
	return x
}

// biased gives product + the bias of l, if it has one.
func (e *encoder) biased(name, product string, l model.Linear) string {
	if l.Bias == "" {
		return product
	}
	return e.op(name, "Add", []string{product, e.linearBias(l)})
}

// sum gives product + bias of l + skip.
func (e *encoder) sum(name, product string, l model.Linear, skip string) string {
	return e.op(name+".sum", "Add", []string{e.biased(name+".biased", product, l), skip})
}

// norm gives the normalisation of the last dimension of x; without a weight, x.
func (e *encoder) norm(name string, n model.Norm, x string) string {
	inputs := []string{x}
	switch {
	case n.Weight == "":
		return x
	case n.RMS:
		if n.Bias != "" {
			e.fail("normalisation %s by the root of the mean square with a bias", n.Weight)
		}
		return e.op(name, "SimplifiedLayerNormalization", append(inputs, e.weight(n.Weight)),
			attrInt("axis", -1), attrFloat("epsilon", n.Eps), attrInt("stash_type", int64(Float32)))
	}
	inputs = append(inputs, e.weight(n.Weight))
	if n.Bias != "" {
		inputs = append(inputs, e.weight(n.Bias))
	}
	return e.op(name, "LayerNormalization", inputs, attrInt("axis", -1), attrFloat("epsilon", n.Eps))
}

// length is the number of tokens of a row with its padding, int64 [1]; tokens is
// the same without a dimension.
func (e *encoder) length() string {
	if e.opt.Length > 0 {
		return e.list(int64(e.opt.Length))
	}
	return e.once("length", func(name string) string {
		return e.op(name, "Shape", []string{InputIDs}, attrInt("start", 1), attrInt("end", 2))
	})
}

func (e *encoder) tokens() string {
	if e.opt.Length > 0 {
		return e.number(int64(e.opt.Length))
	}
	return e.once("tokens", func(name string) string { return e.op(name, "Squeeze", []string{e.length()}) })
}

// positions are 0 to the length of the rows, int64 [len].
func (e *encoder) positions() string {
	return e.once("positions", func(name string) string {
		return e.op(name, "Range", []string{e.number(0), e.tokens(), e.number(1)})
	})
}

// rows is the number of rows, int64 [1].
func (e *encoder) rows() string {
	if e.opt.Rows > 0 {
		return e.list(int64(e.opt.Rows))
	}
	return e.graph.rows()
}

// rows is the number of rows of inputs of any shape, int64 [1].
func (g *graph) rows() string {
	return g.once("rows", func(name string) string {
		return g.op(name, "Shape", []string{InputIDs}, attrInt("end", 1))
	})
}
