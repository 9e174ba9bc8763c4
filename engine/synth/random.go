package synth

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"encbench/engine/model"
)

// stream gives the values of one tensor. Value i is a function of the key and i
// alone: SplitMix64 (Steele, Lea and Flood, 2014) at place i, its four 16-bit parts
// added up. The sum of four uniform numbers (Irwin and Hall, 1927) is close to a
// normal one and never beyond 3.47 deviations, so that no value is an outlier.
//
// The bytes are the same on every machine: the sum is an integer, one rounded
// multiplication makes it a float32, and 16-bit types are rounded from that by
// integer arithmetic. Nothing is added to a product, so that there is nothing for a
// compiler to fuse.
type stream struct {
	key uint64
}

// newStream gives the stream of a tensor of a shape under a seed.
func newStream(shape string, seed int64, tensor string) stream {
	sum := sha256.Sum256(fmt.Appendf(nil, "encbench synth 1\x00%s\x00%d\x00%s", shape, seed, tensor))
	return stream{key: binary.LittleEndian.Uint64(sum[:])}
}

// deviation of what at gives: four times the variance of four uniform numbers from 0
// to 65,535, which is (2³²−1)/12 each.
var deviation = math.Sqrt((1<<32 - 1) * 4 / 3.0)

// at gives value i, a whole number from −262,140 to 262,140 with mean 0.
func (s stream) at(i uint64) int32 {
	z := s.key + (i+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	// Two lanes of 32 bits hold two sums of two each.
	pair := z&0x0000ffff0000ffff + z>>16&0x0000ffff0000ffff
	return int32(2*(pair&0xffffffff+pair>>32)) - 4*0xffff
}

// floats fills dst with the values from first on, distributed as p says; a mean is 0
// or 1.
func (s stream) floats(dst []float32, first uint64, p part) {
	scale := float32(p.std / deviation)
	switch {
	case p.paired:
		for i := range dst {
			at := first + uint64(i)
			dst[i] = float32(s.at(at&^1)*(1-2*int32(at&1))) * scale
		}
	case p.mean == 0:
		for i := range dst {
			dst[i] = float32(s.at(first+uint64(i))) * scale
		}
	default:
		for i := range dst {
			noise := float32(float32(s.at(first+uint64(i))) * scale)
			dst[i] = float32(p.mean) + noise
		}
	}
}

// encode writes values as little-endian elements of type d, F16 and BF16 rounded to
// nearest, ties to even.
func encode(dst []byte, values []float32, d model.DType) {
	switch d {
	case model.F32:
		for i, v := range values {
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
		}
	case model.F16:
		for i, v := range values {
			binary.LittleEndian.PutUint16(dst[2*i:], toF16(v))
		}
	case model.BF16:
		for i, v := range values {
			bits := math.Float32bits(v)
			binary.LittleEndian.PutUint16(dst[2*i:], uint16((bits+0x7fff+bits>>16&1)>>16))
		}
	default:
		panic("synth: weights of dtype " + string(d))
	}
}

// toF16 rounds a finite value below 65,520 in magnitude to IEEE 754 binary16.
func toF16(v float32) uint16 {
	bits := math.Float32bits(v)
	sign := uint16(bits >> 16 & 0x8000)
	bits &= 0x7fffffff
	if bits < 0x38800000 { // below 2⁻¹⁴: a multiple of 2⁻²⁴
		exp := bits >> 23
		if exp < 102 { // below 2⁻²⁵
			return sign
		}
		shift := 126 - exp
		m := bits&0x7fffff | 0x800000
		return sign | uint16((m+(1<<(shift-1)-1)+m>>shift&1)>>shift)
	}
	return sign | uint16((bits-0x38000000+0xfff+bits>>13&1)>>13)
}
