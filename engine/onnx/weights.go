package onnx

import (
	"fmt"
	"strconv"

	"encbench/engine/model"
)

// weight makes a tensor of the weights an initializer and gives the name of its value
// as float32. The runtime computes the cast of narrower weights once, when it loads the
// graph.
func (g *graph) weight(tensor string) string { return g.float32Rows(tensor, 0, 0) }

// linearWeight is weight for a linear map's matrix [Out, In], which may be a part of a
// tensor's rows.
func (g *graph) linearWeight(l model.Linear) string {
	if l.Rows == 0 {
		return g.weight(l.Weight)
	}
	return g.float32Rows(l.Weight, l.Row, l.Out)
}

// linearBias is weight for a linear map's bias [Out].
func (g *graph) linearBias(l model.Linear) string {
	if l.Rows == 0 {
		return g.weight(l.Bias)
	}
	return g.float32Rows(l.Bias, l.Row, l.Out)
}

// float32Rows is weight for n rows of a tensor, all of it when n is 0.
func (g *graph) float32Rows(tensor string, from, n int) string {
	name, elem := g.stored(tensor, from, n)
	if elem == Float32 {
		return name
	}
	return g.once(name+"/float32", func(as string) string {
		return g.op(as, "Cast", []string{name}, attrInt("to", int64(Float32)))
	})
}

// stored makes n rows of a tensor, all of it when n is 0, an initializer of its own
// type, a float. The initializer points at the bytes of these rows, which lie together.
func (g *graph) stored(tensor string, from, n int) (name string, elem ElemType) {
	t, ok := g.m.Weights.Tensor(tensor)
	if !ok {
		g.fail("tensor %s is not in %s", tensor, g.m.Weights.Path)
		return tensor, Float32
	}
	elem = map[model.DType]ElemType{model.F32: Float32, model.F16: Float16, model.BF16: BFloat16}[t.DType]
	if elem == 0 {
		g.fail("tensor %s has dtype %s", tensor, t.DType)
		return tensor, Float32
	}
	shape, offset, length := t.Shape, t.Offset, t.Bytes
	name = tensor
	if n > 0 {
		each := t.Bytes / int64(t.Shape[0])
		name = fmt.Sprintf("%s/%d-%d", tensor, from, from+n)
		shape = append([]int{n}, t.Shape[1:]...)
		offset, length = offset+int64(from)*each, int64(n)*each
	}
	if !g.seen[name] {
		g.external(name, t, elem, shape, offset, length)
	}
	return name, elem
}

// external makes length bytes at offset of the file that holds t an initializer.
func (g *graph) external(name string, t model.Tensor, elem ElemType, shape []int, offset, length int64) {
	g.seen[name] = true
	var m message
	for _, d := range shape {
		m.int(tensorDims, int64(d))
	}
	m.int(tensorType, int64(elem))
	m.string(tensorName, name)
	for _, kv := range [][2]string{
		{"location", g.m.Weights.Location(t)},
		{"offset", strconv.FormatInt(offset, 10)},
		{"length", strconv.FormatInt(length, 10)},
	} {
		var e message
		e.string(entryKey, kv[0])
		e.string(entryValue, kv[1])
		m.bytes(tensorExternal, e)
	}
	m.int(tensorLocation, locationExternal)
	g.initializers = append(g.initializers, m)
}
