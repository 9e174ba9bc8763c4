package synth

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"encbench/engine/model"
)

// plainAt is stream.at written plainly.
func plainAt(s stream, i uint64) int32 {
	z := s.key + (i+1)*0x9e3779b97f4a7c15
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	z = z ^ (z >> 31)
	sum := int64(0)
	for range 4 {
		sum += int64(z & 0xffff)
		z >>= 16
	}
	return int32(2*sum - 4*65535)
}

func TestStream(t *testing.T) {
	s := newStream("shape", 1, "tensor")
	const n = 1 << 20
	mean, square, most := 0.0, 0.0, int32(0)
	for i := range uint64(n) {
		v := s.at(i)
		if want := plainAt(s, i); v != want {
			t.Fatalf("value %d is %d, want %d", i, v, want)
		}
		mean += float64(v) / n
		square += float64(v) * float64(v) / n
		most = max(most, max(v, -v))
	}
	// Within five deviations of what a million values give.
	if math.Abs(mean) > 5*deviation/1024 || math.Abs(math.Sqrt(square)/deviation-1) > 0.004 || most > 4*65535 {
		t.Errorf("mean %g, deviation %g of %g, largest %d", mean, math.Sqrt(square), deviation, most)
	}
	for _, other := range []stream{newStream("shape", 2, "tensor"), newStream("shape2", 1, "tensor"), newStream("shape", 1, "tensor2"), newStream("shape\x001", 1, "tensor")} {
		if other.key == s.key {
			t.Error("two tensors have the same values")
		}
	}
}

func TestFloats(t *testing.T) {
	s := newStream("shape", 1, "tensor")
	all := make([]float32, 1000)
	for _, p := range []part{{std: 0.5}, {std: 0.5, paired: true}, {std: 0.05, mean: 1}} {
		s.floats(all, 100, p)
		for i, v := range all {
			at, sign := uint64(100+i), 1.0
			if p.paired && at%2 == 1 {
				at, sign = at-1, -1
			}
			want := p.mean + sign*float64(s.at(at))*(p.std/deviation)
			if math.Abs(float64(v)-want) > 1e-6*max(math.Abs(want), 1e-3) {
				t.Fatalf("%+v: value %d is %g, want %g", p, i, v, want)
			}
		}
		for _, from := range []int{1, 7, 500} {
			part := make([]float32, 300)
			if s.floats(part, uint64(100+from), p); !slices.Equal(part, all[from:from+300]) {
				t.Errorf("%+v: the values from %d on are others", p, from)
			}
		}
	}
}

// halves are the finite values of a 16-bit type that are not negative, in order.
func halves(d model.DType) (out []float64) {
	for bits := range uint32(1 << 15) {
		v := float64(math.Float32frombits(bits << 16))
		if d == model.F16 {
			v = math.Ldexp(float64(bits&0x3ff), -24)
			if exp := int(bits >> 10); exp > 0 {
				v = math.Ldexp(float64(bits&0x3ff|0x400), exp-25)
			}
			if bits>>10 == 31 {
				break
			}
		}
		if math.IsInf(v, 0) || math.IsNaN(v) {
			break
		}
		out = append(out, v)
	}
	return out
}

// Rounding takes the nearest value, of two equally near ones the even one: tried with
// every value of the type, what is between two, and a step beside both.
func TestEncode(t *testing.T) {
	for _, d := range []model.DType{model.F16, model.BF16} {
		values := halves(d)
		var tries []float32
		for i, v := range values[:len(values)-1] {
			middle := float32((v + values[i+1]) / 2)
			tries = append(tries, float32(v), middle, math.Nextafter32(middle, 0), math.Nextafter32(middle, math.MaxFloat32))
		}
		data := make([]byte, 2*len(tries))
		for _, sign := range []float32{1, -1} {
			signed := slices.Clone(tries)
			for i := range signed {
				signed[i] *= sign
			}
			encode(data, signed, d)
			for i, v := range tries {
				got := int(binary.LittleEndian.Uint16(data[2*i:]))
				if negative := got>>15 == 1; negative != (sign < 0) {
					t.Fatalf("%s of %g has the wrong sign", d, signed[i])
				}
				want, _ := slices.BinarySearchFunc(values, float64(v), func(a, b float64) int { return cmp.Compare(a, b) })
				if want > 0 {
					up, down := values[min(want, len(values)-1)]-float64(v), float64(v)-values[want-1]
					if down < up || down == up && want%2 == 1 {
						want--
					}
				}
				if got&0x7fff != want {
					t.Fatalf("%s of %g is %#x, want %#x", d, v, got&0x7fff, want)
				}
			}
		}
	}
	data := make([]byte, 8)
	encode(data, []float32{1, -0.15625}, model.F32)
	if got := fmt.Sprintf("%x", data); got != "0000803f000020be" {
		t.Errorf("float32 %s", got)
	}
}

// longestRow is how much longer than usual a row of n values can be.
func longestRow(n int) float64 { return 1 + 5*math.Sqrt(0.425/float64(n)) }

// The worst case that the comment on the gains argues stays within float16, and the
// bounds on rows and normalisations that it rests on hold for the values drawn.
func TestHalfRange(t *testing.T) {
	for _, s := range shapes {
		if s.Family != ModernBERT && s.Family != Qwen3 {
			continue
		}
		x := 1.2 * math.Sqrt(float64(s.Hidden))
		norm := func(n int) float64 { return (1 + math.Sqrt(float64(n)/float64(s.Hidden))) * x }
		score := math.Pow(gainQK*norm(s.HeadDim), 2) / math.Sqrt(float64(s.HeadDim))
		product := math.Pow(longestRow(s.Hidden)*gainUp*x, 2)
		attention := longestRow(s.Heads*s.HeadDim) * gainOut * math.Sqrt(float64(s.Heads)) * gainValue * norm(s.HeadDim)
		gated := longestRow(s.FFN) * gainGated * longestRow(s.Hidden) * gainUp * x * gainUp * norm(s.FFN)
		sum := float64(s.Layers)*(attention+gated) + 4 // and the embedding
		if score > 900 || product > 1800 || attention > 190 || gated > 2000 || sum > 58_000 {
			t.Errorf("%s: scores to %.0f, products to %.0f, attention to %.0f, feed-forward to %.0f, the sum to %.0f", s.Name, score, product, attention, gated, sum)
		}
	}
	s, err := Find("granite-small-english-r2")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range s.tensors() {
		width := 1
		for _, d := range x.shape[1:] {
			width *= d
		}
		values, row, at := newStream(s.Name, 1, x.name), make([]float32, width), 0
		for _, p := range x.parts {
			for range p.rows {
				values.floats(row, uint64(at), p)
				at += width
				square := 0.0
				for _, v := range row {
					square += float64(v) * float64(v)
				}
				// Rows of tables are normalised by what follows them.
				if most := longestRow(width) * p.std * math.Sqrt(float64(width)); len(x.shape) == 2 && x.shape[0] != s.Vocab && math.Sqrt(square) > most {
					t.Errorf("%s: a row has norm %g, more than %g", x.name, math.Sqrt(square), most)
				}
				if len(x.shape) == 1 && p.mean == 1 && square > 1.44 {
					t.Errorf("%s: a value of %g", x.name, math.Sqrt(square))
				}
			}
		}
	}
}
