package onnx

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strconv"

	"encbench/engine/model"
)

// microsoft is the operator domain of ONNX Runtime's own operators.
const microsoft = "com.microsoft"

// graph is an ONNX graph being written: nodes in the order of computation.
type graph struct {
	m            *model.Model
	nodes        []message
	initializers []message
	seen         map[string]bool // tensors that have an initializer
	err          error           // first fault; later calls do nothing useful
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
	var n message
	n.strings(nodeInput, inputs)
	n.string(nodeOutput, name)
	n.string(nodeName, name)
	n.string(nodeOp, op)
	for _, a := range attrs {
		n.bytes(nodeAttribute, a)
	}
	if domain != "" {
		n.string(nodeDomain, domain)
	}
	g.nodes = append(g.nodes, n)
	return name
}

// weight makes a tensor of the weights file an initializer and gives the name
// of its value as float32. The runtime computes the cast of narrower weights
// once, when it loads the graph.
func (g *graph) weight(name string) string {
	t, ok := g.m.Weights.Tensor(name)
	if !ok {
		g.fail("tensor %s is not in %s", name, g.m.Weights.Path)
		return name
	}
	elem := map[model.DType]ElemType{model.F32: Float32, model.F16: Float16, model.BF16: BFloat16}[t.DType]
	if elem == 0 {
		g.fail("tensor %s has dtype %s", name, t.DType)
		return name
	}
	as := name
	if elem != Float32 {
		as = name + "/float32"
	}
	if g.seen[name] {
		return as
	}
	g.seen[name] = true
	var m message
	for _, d := range t.Shape {
		m.int(tensorDims, int64(d))
	}
	m.int(tensorType, int64(elem))
	m.string(tensorName, name)
	for _, kv := range [][2]string{
		{"location", filepath.Base(g.m.Weights.RealPath)},
		{"offset", strconv.FormatInt(t.Offset, 10)},
		{"length", strconv.FormatInt(t.Bytes, 10)},
	} {
		var e message
		e.string(entryKey, kv[0])
		e.string(entryValue, kv[1])
		m.bytes(tensorExternal, e)
	}
	m.int(tensorLocation, locationExternal)
	g.initializers = append(g.initializers, m)
	if elem != Float32 {
		g.op(as, "Cast", []string{name}, attrInt("to", int64(Float32)))
	}
	return as
}

// ints makes a vector of int64 an initializer.
func (g *graph) ints(name string, vs ...int64) string {
	return g.constant(name, Int64, []int64{int64(len(vs))}, vs)
}

// scalar makes one int64 an initializer without dimensions.
func (g *graph) scalar(name string, v int64) string {
	return g.constant(name, Int64, nil, []int64{v})
}

func (g *graph) constant(name string, elem ElemType, dims, vs []int64) string {
	if g.seen[name] {
		return name
	}
	g.seen[name] = true
	var m message
	for _, d := range dims {
		m.int(tensorDims, d)
	}
	m.int(tensorType, int64(elem))
	m.string(tensorName, name)
	var raw []byte
	for _, v := range vs {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
	}
	m.bytes(tensorRaw, raw)
	g.initializers = append(g.initializers, m)
	return name
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
		if d.Name != "" {
			dim.string(dimParam, d.Name)
		} else {
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
