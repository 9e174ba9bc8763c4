package onnx

import (
	"fmt"

	"encbench/engine/model"
)

// microsoft is the operator domain of ONNX Runtime's own operators.
const microsoft = "com.microsoft"

// graph is an ONNX graph being written: nodes in the order of computation.
type graph struct {
	m              *model.Model
	activationBits int // of int8 layers
	nodes          []message
	initializers   []message
	seen           map[string]bool // tensors that have an initializer
	cuda           bool
	compute        ElemType            // of weights and states
	elems          map[string]ElemType // of values, in a rounded twin; else nil
	err            error               // first fault; later calls do nothing useful
}

// attribute is one attribute of a node.
type attribute message

func attrInt(name string, v int64) attribute {
	var m message
	m.string(attributeName, name)
	m.int(attributeInt, v)
	m.int(attributeType, attributeIsInt)
	return attribute(m)
}

func attrFloat(name string, v float64) attribute {
	var m message
	m.string(attributeName, name)
	m.float(attributeFloat, float32(v))
	m.int(attributeType, attributeIsFloat)
	return attribute(m)
}

func attrInts(name string, vs ...int64) attribute {
	var m message
	m.string(attributeName, name)
	for _, v := range vs {
		m.int(attributeIntList, v)
	}
	m.int(attributeType, attributeIsInts)
	return attribute(m)
}

// op appends a node of the standard domain with one output, which has the
// node's name, and gives that name.
func (g *graph) op(name, op string, inputs []string, attrs ...attribute) string {
	return g.node(name, "", op, inputs, attrs)
}

// msOp is op for ONNX Runtime's own operators.
func (g *graph) msOp(name, op string, inputs []string, attrs ...attribute) string {
	return g.node(name, microsoft, op, inputs, attrs)
}

func (g *graph) node(name, domain, op string, inputs []string, attrs []attribute) string {
	return g.outputs([]string{name}, domain, op, inputs, attrs...)[0]
}

// outputs appends a node with the outputs of the given names, whose own name is that of
// the first, and gives the names.
func (g *graph) outputs(names []string, domain, op string, inputs []string, attrs ...attribute) []string {
	if g.elems != nil {
		return g.rounded(names, domain, op, inputs, attrs)
	}
	return g.emit(names, domain, op, inputs, attrs)
}

// emit is outputs without the roundings of a twin.
func (g *graph) emit(names []string, domain, op string, inputs []string, attrs []attribute) []string {
	var n message
	n.strings(nodeInput, inputs)
	n.strings(nodeOutput, names)
	n.string(nodeName, names[0])
	n.string(nodeOp, op)
	for _, a := range attrs {
		n.bytes(nodeAttribute, a)
	}
	if domain != "" {
		n.string(nodeDomain, domain)
	}
	g.nodes = append(g.nodes, n)
	return names
}

// either appends a node that gives name: what yes writes where condition, a bool
// without dimensions, is true, and what no writes elsewhere, both float32 of so many
// dimensions. They use what was written before and may not make a value that is
// written once.
func (g *graph) either(name, condition string, dims int, yes, no func() string) string {
	branch := func(label string, write func() string) attribute {
		outside := g.nodes
		g.nodes = nil
		out := write()
		var gr, m message
		for _, n := range g.nodes {
			gr.bytes(graphNode, n)
		}
		g.nodes = outside
		gr.string(graphName, name+"."+label)
		gr.bytes(graphOutput, valueInfo(out, Float32, make([]Dim, dims)...))
		m.string(attributeName, label)
		m.bytes(attributeGraph, gr)
		m.int(attributeType, attributeIsGraph)
		return attribute(m)
	}
	return g.op(name, "If", []string{condition}, branch("then_branch", yes), branch("else_branch", no))
}

func (g *graph) fail(format string, args ...any) {
	if g.err == nil {
		g.err = fmt.Errorf("%w: %s", ErrUnsupported, fmt.Sprintf(format, args...))
	}
}

// valueInfo describes an input or output.
func valueInfo(name string, elem ElemType, shape ...Dim) message {
	var sh message
	for _, d := range shape {
		var dim message
		switch {
		case d.Name != "":
			dim.string(dimParam, d.Name)
		case d.Size > 0:
			dim.int(dimValue, d.Size)
		}
		sh.bytes(shapeDim, dim)
	}
	var tensor, typ, v message
	tensor.int(tensorElem, int64(elem))
	tensor.bytes(tensorSh, sh)
	typ.bytes(typeTensor, tensor)
	v.string(valueName, name)
	v.bytes(valueType, typ)
	return v
}

// bytes assembles the ModelProto.
func (g *graph) bytes(inputs, outputs []message) []byte {
	var gr message
	for _, n := range g.nodes {
		gr.bytes(graphNode, n)
	}
	gr.string(graphName, "encoder")
	for _, i := range g.initializers {
		gr.bytes(graphInitializer, i)
	}
	for _, i := range inputs {
		gr.bytes(graphInput, i)
	}
	for _, o := range outputs {
		gr.bytes(graphOutput, o)
	}
	var m message
	m.int(modelIR, irVersion)
	m.string(modelProducer, "encbench")
	m.bytes(modelGraph, gr)
	for _, o := range []struct {
		domain  string
		version int64
	}{{"", opsetStandard}, {microsoft, 1}} {
		var s message
		s.string(opsetDomain, o.domain)
		s.int(opsetVersion, o.version)
		m.bytes(modelOpset, s)
	}
	return m
}
