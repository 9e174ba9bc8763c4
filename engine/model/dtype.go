package model

import (
	"encoding/binary"
	"math"
)

// DType is a tensor's element type as safetensors spells it.
type DType string

// The element types that can be computed with; others are only stepped over.
const (
	F32  DType = "F32"
	F16  DType = "F16"
	BF16 DType = "BF16"
	I8   DType = "I8" // only with scales beside it: Linear.Scale
)

// ScaleSuffix ends the name of the scales of an int8 weight, after the weight's own.
const ScaleSuffix = "_scale"

// dtypeBytes gives the size of each element type of the safetensors format that
// has whole bytes.
var dtypeBytes = map[DType]int64{
	"BOOL": 1, "U8": 1, I8: 1, "F8_E5M2": 1, "F8_E4M3": 1, "F8_E8M0": 1,
	"F8_E4M3FNUZ": 1, "F8_E5M2FNUZ": 1,
	"I16": 2, "U16": 2, F16: 2, BF16: 2,
	"I32": 4, "U32": 4, F32: 4,
	"I64": 8, "U64": 8, "F64": 8, "C64": 8,
}

// Float says whether values of the type can be read as float32.
func (d DType) Float() bool { return d == F32 || d == F16 || d == BF16 }

// widen decodes little-endian elements of type d into dst, one a value; every
// value is exact in float32. d.Float() must hold.
func widen(dst []float32, src []byte, d DType) {
	switch d {
	case F32:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
		}
	case F16:
		for i := range dst {
			dst[i] = half(binary.LittleEndian.Uint16(src[2*i:]))
		}
	case BF16:
		for i := range dst {
			dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(src[2*i:])) << 16)
		}
	default:
		panic("model: widen of dtype " + string(d))
	}
}

// half gives the value of an IEEE 754 binary16 number.
func half(h uint16) float32 {
	sign := uint32(h>>15) << 31
	exp, frac := uint32(h>>10)&0x1f, uint32(h)&0x3ff
	switch exp {
	case 0: // zero or subnormal: frac · 2⁻²⁴
		v := float32(frac) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(v) | sign)
	case 0x1f: // infinity, NaN
		return math.Float32frombits(sign | 0xff<<23 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+127-15)<<23 | frac<<13)
}
