package engine

import (
	"encoding/binary"
	"math"
)

// Size gives the bytes of one element.
func (e Elem) Size() int {
	if e == F32 {
		return 4
	}
	return 2
}

// String gives the name of the type as safetensors spells it.
func (e Elem) String() string {
	switch e {
	case F32:
		return "F32"
	case F16:
		return "F16"
	case BF16:
		return "BF16"
	}
	return "unknown"
}

// Bytes gives the elements of one row as they are stored, little-endian, a view
// into Host, which must not be nil.
func (r Rows) Bytes(row int) []byte {
	size := r.Type.Size()
	start := row * r.Stride * size
	end := start + r.Dim*size
	return r.Host[start:end:end]
}

// Widen gives one row of host memory as float32 values, exactly: a view into Host
// where the rows are float32, else the first Dim values of dst, which must have
// room for them.
func (r Rows) Widen(dst []float32, row int) []float32 {
	if r.Type == F32 {
		return r.Float32(row)
	}
	dst = dst[:r.Dim]
	src := r.Bytes(row)
	if r.Type == F16 {
		for i := range dst {
			dst[i] = F16ToF32(binary.LittleEndian.Uint16(src[2*i:]))
		}
		return dst
	}
	for i := range dst {
		dst[i] = BF16ToF32(binary.LittleEndian.Uint16(src[2*i:]))
	}
	return dst
}

// F16ToF32 gives the value of an IEEE 754 binary16 number, exactly.
func F16ToF32(h uint16) float32 {
	sign := uint32(h>>15) << 31
	exp, frac := uint32(h>>10)&0x1f, uint32(h)&0x3ff
	switch exp {
	case 0: // zero or subnormal: frac · 2⁻²⁴
		return math.Float32frombits(math.Float32bits(float32(frac)*0x1p-24) | sign)
	case 0x1f: // infinity, NaN
		return math.Float32frombits(sign | 0xff<<23 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+127-15)<<23 | frac<<13)
}

// F32ToF16 rounds to the nearest binary16 number, ties to even. A magnitude of
// 65,520 or more gives an infinity, a NaN gives a quiet NaN.
func F32ToF16(v float32) uint16 {
	bits := math.Float32bits(v)
	sign, abs := uint16(bits>>16)&0x8000, bits&^(1<<31)
	switch {
	case abs > 0xff<<23:
		return sign | 0x7e00 | uint16(abs>>13)&0x3ff
	case abs >= (127+16)<<23: // 65,536 and infinity
		return sign | 0x7c00
	case abs < (127-14)<<23: // the unit of a subnormal is 2⁻²⁴; the addition rounds
		return sign | uint16(math.Float32bits(math.Float32frombits(abs)+0.5)-math.Float32bits(0.5))
	}
	abs -= (127 - 15) << 23
	return sign | uint16((abs+0xfff+abs>>13&1)>>13)
}

// BF16ToF32 gives the value of a bfloat16 number, exactly.
func BF16ToF32(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// F32ToBF16 rounds to the nearest bfloat16 number, ties to even. A value beyond
// the largest gives an infinity, a NaN gives a quiet NaN.
func F32ToBF16(v float32) uint16 {
	bits := math.Float32bits(v)
	if bits&^(1<<31) > 0xff<<23 {
		return uint16(bits>>16) | 0x40
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}
