//go:build cuda && linux && cgo && (amd64 || arm64)

package kernels_test

import (
	"encoding/binary"
	"testing"

	"encbench/engine"
	"encbench/kernels"
)

// What is no number stays none, also as devices write it: all bits set but the sign.
func TestConvertNaN(t *testing.T) {
	on(t, func(b *bench) {
		in := make([]byte, 4*8)
		for i, bits := range []uint32{0x7FFFFFFF, 0xFFFFFFFF, 0x7FC00000, 0x7F800001} {
			binary.LittleEndian.PutUint32(in[4*i:], bits)
		}
		from := kernels.Matrix{At: b.put(in), Rows: 1, Dim: 8, Stride: 8, Elem: engine.F32}
		for _, elem := range []engine.Elem{engine.F16, engine.BF16} {
			to := kernels.Matrix{At: b.alloc(2 * 8), Rows: 1, Dim: 8, Stride: 8, Elem: elem}
			b.must(b.set.Convert(b.c, b.s, from, to, b.put(make([]byte, 4))))
			got := b.get(to.At, 2*8)
			for i := range 4 {
				h := binary.LittleEndian.Uint16(got[2*i:])
				v := engine.F16ToF32(h)
				if elem == engine.BF16 {
					v = engine.BF16ToF32(h)
				}
				if v == v {
					t.Errorf("%v: NaN %d became %v (%#x)", elem, i, v, h)
				}
			}
		}
	})
}
