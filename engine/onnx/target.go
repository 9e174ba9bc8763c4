package onnx

import (
	"errors"
	"fmt"
	"math"
)

// Target is the kind of device that a graph is written for.
type Target uint8

const (
	// CPU is ONNX Runtime's own provider.
	CPU Target = iota
	// CUDA is its CUDA provider. Every operator of such a graph that computes has a
	// kernel there (see Kernels and Place); the attention of each layer is chosen in
	// onDevice.
	//
	// Weights and states are in Options.Compute. In float32 stay, whatever that is: the
	// sums inside normalisations, softmax and matrix products, which the kernels keep in
	// float32 themselves; the pooling, because a sum of 8,192 float16 numbers of 10
	// leaves the range of the type and a bfloat16 mean loses one of the few bits that a
	// vector keeps; heads and the L2 norm after it, which are a few rows and decide the
	// order of a reranker's outputs; angles and the table of positions until they are
	// narrowed, at load. A session that runs a Float32 graph must set the provider's
	// use_tf32 to 0, which is 1 by default and keeps 10 bits of a factor.
	//
	// The residual sum of some decoders leaves the range of float16; BFloat16 is for them.
	CUDA
)

// String gives the name of the target in errors.
func (t Target) String() string {
	if t == CUDA {
		return "CUDA"
	}
	return "CPU"
}

// hiddenNarrow is hidden for graphs on CUDA, in the range of float16 with room for a
// score: exp of it is 0 in float32, in which all kernels take the softmax.
const hiddenNarrow = -3e4

// check says what is wrong with the options.
func (o Options) check() error {
	var errs []error
	fail := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: "+format, append([]any{ErrUnsupported}, args...)...))
	}
	for _, t := range []struct {
		what string
		elem ElemType
	}{{"compute type", o.Compute}, {"type of the output", o.Result}} {
		switch {
		case t.elem != 0 && t.elem != Float32 && !narrow(t.elem):
			fail("%s %s: float32, float16 or bfloat16", t.what, t.elem)
		case o.Target == CPU && narrow(t.elem):
			fail("%s %s on CPU: its kernels have float32 alone; leave the type out, or build for CUDA", t.what, t.elem)
		}
	}
	if (o.Rows > 0) != (o.Length > 0) || o.Rows < 0 || o.Length < 0 {
		fail("a fixed shape of %d rows of %d tokens: give both, or neither", o.Rows, o.Length)
	}
	if o.Target == CPU && (o.Rows > 0 || o.Rounded) {
		fail("a fixed shape or a rounded twin on CPU: build for CUDA")
	}
	return errors.Join(errs...)
}

// narrow says whether a type is a float of 16 bits.
func narrow(e ElemType) bool { return e == Float16 || e == BFloat16 }

// computed gives a float32 value in the type that is computed in.
func (g *graph) computed(x string) string {
	if g.compute == Float32 {
		return x
	}
	return g.once(x+"/"+g.compute.String(), func(name string) string { return g.cast(name, x, g.compute) })
}

// lastPlace is the place of the last token of rows without padding, int64 [1]. It is a
// Range because that operator alone takes numbers of the host to the device without a
// copy, which could not be captured.
func (e *encoder) lastPlace() string {
	return e.once("last.place", func(name string) string {
		before := e.op(name+".before", "Sub", []string{e.tokens(), e.number(1)})
		return e.op(name, "Range", []string{before, e.tokens(), e.number(1)})
	})
}

// lastStates takes each row's last token, [rows, 1, dim], from states.
func (e *encoder) lastStates(name, x string) string {
	flat := e.op(name+".flat", "Reshape", []string{x, e.list(-1, int64(e.m.Embedding.Word.Dim))})
	at := e.once("last.places", func(as string) string {
		count := e.op(as+".count", "Squeeze", []string{e.rows()})
		all := e.op(as+".all", "Mul", []string{count, e.tokens()})
		starts := e.op(as+".starts", "Range", []string{e.number(0), all, e.tokens()})
		column := e.op(as+".column", "Unsqueeze", []string{starts, e.list(1)})
		return e.op(as, "Add", []string{column, e.last()})
	})
	return e.op(name, "Gather", []string{flat, at})
}

// lastBiasOnDevice is lastBias for a bias of [1, heads, len, len].
func (e *encoder) lastBiasOnDevice(name, bias string) string {
	places := e.once("last.flat", func(as string) string { return e.op(as, "Squeeze", []string{e.last(), e.list(1)}) })
	byHead := e.op(name+".queries", "Squeeze", []string{bias, e.list(0)})
	given := e.op(name+".last", "Gather", []string{byHead, places}, attrInt("axis", 1)) // [heads, rows, len]
	byRow := e.op(name+".rows", "Transpose", []string{given}, attrInts("perm", 1, 0, 2))
	return e.op(name+".given", "Unsqueeze", []string{byRow, e.list(2)})
}

// toPool gives the states for the pooling; all that follows is float32.
func (e *encoder) toPool(x string) string {
	if e.compute != Float32 {
		x = e.cast("pool.states", x, Float32)
	}
	e.compute = Float32
	return x
}

// give makes x the output: divided by its L2 norm where the model says so, in the type
// of the result. LpNormalization has no kernel on CUDA.
func (e *encoder) give(x string) {
	if e.m.Normalize {
		squares := e.op("norm.squares", "Mul", []string{x, x})
		sum := e.op("norm.sum", "ReduceSum", []string{squares, e.list(-1)}, attrInt("keepdims", 1))
		root := e.op("norm.root", "Sqrt", []string{sum})
		// A row of zeros stays one.
		least := e.op("norm.least", "Max", []string{root, e.float("float.norm.least", math.Float32frombits(1<<23))})
		x = e.op("normalised", "Div", []string{x, least})
	}
	if e.opt.Result != Float32 {
		e.cast(Output, x, e.opt.Result)
		return
	}
	e.op(Output, "Identity", []string{x})
}
