package onnx

import (
	"encoding/binary"
	"math"
	"strconv"
)

// Constants are initializers of the graph itself. Those with a name are made once
// under it; number and list are named by what they hold.

// once gives name, and has write make the value of that name the first time.
func (g *graph) once(name string, write func(name string) string) string {
	if g.seen[name] {
		return name
	}
	g.seen[name] = true
	return write(name)
}

// number makes one int64 an initializer without dimensions.
func (g *graph) number(v int64) string { return g.scalar("number"+join([]int64{v}), v) }

// list makes a vector of int64 an initializer.
func (g *graph) list(vs ...int64) string { return g.ints("list"+join(vs), vs...) }

// int32 makes one int32 an initializer without dimensions.
func (g *graph) int32(v int32) string {
	return g.literal("int32"+join([]int64{int64(v)}), Int32, binary.LittleEndian.AppendUint32(nil, uint32(v)))
}

// doubles makes a vector of float64 an initializer.
func (g *graph) doubles(name string, vs []float64) string {
	var raw []byte
	for _, v := range vs {
		raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(v))
	}
	return g.initializer(name, Float64, []int64{int64(len(vs))}, raw)
}

// ints makes a vector of int64 an initializer.
func (g *graph) ints(name string, vs ...int64) string {
	return g.initializer(name, Int64, []int64{int64(len(vs))}, int64s(vs))
}

// scalar makes one int64 an initializer without dimensions.
func (g *graph) scalar(name string, v int64) string {
	return g.initializer(name, Int64, nil, int64s([]int64{v}))
}

func int64s(vs []int64) (raw []byte) {
	for _, v := range vs {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
	}
	return raw
}

func (g *graph) initializer(name string, elem ElemType, dims []int64, raw []byte) string {
	return g.once(name, func(string) string {
		var m message
		for _, d := range dims {
			m.int(tensorDims, d)
		}
		m.int(tensorType, int64(elem))
		m.string(tensorName, name)
		m.bytes(tensorRaw, raw)
		g.initializers = append(g.initializers, m)
		g.is(name, elem)
		return name
	})
}

func join(vs []int64) string {
	text := ""
	for _, v := range vs {
		text += "." + strconv.FormatInt(v, 10)
	}
	return text
}
