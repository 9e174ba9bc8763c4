package onnx

import (
	"fmt"
	"strconv"

	"encbench/engine/model"
)

// weight makes a tensor of the weights an initializer and gives the name of its value
// in the type that is computed in. The runtime computes the cast of weights that are
// stored in another type once, when it loads the graph.
func (g *graph) weight(tensor string) string { return g.rowsAs(tensor, 0, 0, g.compute) }

// linearWeight is weight for a linear map's matrix [Out, In], which may be a part of a
// tensor's rows.
func (g *graph) linearWeight(l model.Linear) string {
	if l.Rows == 0 {
		return g.weight(l.Weight)
	}
	return g.rowsAs(l.Weight, l.Row, l.Out, g.compute)
}

// linearBias is weight for a linear map's bias [Out].
func (g *graph) linearBias(l model.Linear) string {
	if l.Rows == 0 {
		return g.weight(l.Bias)
	}
	return g.rowsAs(l.Bias, l.Row, l.Out, g.compute)
}

// rowsAs is weight for n rows of a tensor, all of it when n is 0, in a type.
func (g *graph) rowsAs(tensor string, from, n int, as ElemType) string {
	name, elem := g.stored(tensor, from, n)
	if elem == as {
		return name
	}
	return g.once(name+"/"+as.String(), func(cast string) string { return g.cast(cast, name, as) })
}

// cast gives x in a type.
func (g *graph) cast(name, x string, as ElemType) string {
	return g.op(name, "Cast", []string{x}, attrInt("to", int64(as)))
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
	return g.widened(name, elem), elem
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
