package quant

import (
	"encoding/binary"
	"math"

	"encbench/engine"
	"encbench/engine/model"
)

// top is the largest magnitude of an int8 weight. −128 is left out: the range is the
// same on both sides.
const top = 127

// rowScale gives the scale of a row: its largest magnitude ÷ 127, 0 for a row of
// zeros. All values must be finite.
func rowScale(row []float32) float32 {
	var most uint32
	for _, v := range row {
		most = max(most, math.Float32bits(v)&^(1<<31))
	}
	return float32(float64(math.Float32frombits(most)) / top)
}

// quantiseRow gives the nearest whole multiple of the scale of every value, ties to
// even, as the bytes of int8 numbers.
func quantiseRow(dst []byte, row []float32, scale float32) {
	if scale == 0 {
		clear(dst)
		return
	}
	s := float64(scale)
	for i, v := range row {
		// The scale is itself rounded, so that the largest may come out beyond 127.
		q := min(max(math.RoundToEven(float64(v)/s), -top), top)
		dst[i] = byte(int8(q))
	}
}

// widen decodes little-endian floats; every value is exact in float32.
func widen(dst []float32, src []byte, d model.DType) {
	switch d {
	case model.F32:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
		}
	case model.F16:
		for i := range dst {
			dst[i] = engine.F16ToF32(binary.LittleEndian.Uint16(src[2*i:]))
		}
	case model.BF16:
		for i := range dst {
			dst[i] = engine.BF16ToF32(binary.LittleEndian.Uint16(src[2*i:]))
		}
	default:
		panic("quant: widen of dtype " + string(d))
	}
}

func elementBytes(d model.DType) int {
	if d == model.F32 {
		return 4
	}
	return 2
}

// notFinite gives the place of the first value that is infinite or no number, −1 when
// there is none.
func notFinite(v []float32) int {
	for i, x := range v {
		if math.Float32bits(x)&^(1<<31) >= 0xff<<23 {
			return i
		}
	}
	return -1
}
