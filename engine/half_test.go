package engine

import (
	"encoding/binary"
	"math"
	"testing"
)

// nearest is the definition of rounding to a 16-bit type: of all its finite values
// the nearest, an even code of two.
func nearest(v float32, widen func(uint16) float32) uint16 {
	best, distance := uint16(0), math.Inf(1)
	for code := range uint16(0x8000) {
		w := float64(widen(code))
		if math.IsInf(w, 0) || math.IsNaN(w) {
			continue
		}
		d := math.Abs(math.Abs(float64(v)) - w)
		if d < distance || d == distance && code&1 == 0 {
			best, distance = code, d
		}
	}
	if math.Signbit(float64(v)) {
		best |= 0x8000
	}
	return best
}

func TestHalfRoundTrip(t *testing.T) {
	for _, c := range []struct {
		name   string
		widen  func(uint16) float32
		narrow func(float32) uint16
		top    uint16 // of the finite codes
	}{
		{"F16", F16ToF32, F32ToF16, 0x7bff},
		{"BF16", BF16ToF32, F32ToBF16, 0x7f7f},
	} {
		for n := range 1 << 16 {
			code := uint16(n)
			v := c.widen(code)
			if v != v {
				if w := c.widen(c.narrow(v)); w == w {
					t.Fatalf("%s: NaN %#04x becomes %v", c.name, code, w)
				}
				continue
			}
			if got := c.narrow(v); got != code {
				t.Fatalf("%s: %#04x is %v, which becomes %#04x", c.name, code, v, got)
			}
			// The midpoint to the next value, and its neighbours.
			if code&0x7fff >= c.top {
				continue
			}
			mid := float32((float64(v) + float64(c.widen(code+1))) / 2)
			even := code + code&1
			for _, m := range []struct {
				v    float32
				want uint16
			}{
				{mid, even},
				{math.Nextafter32(mid, v), code},
				{math.Nextafter32(mid, c.widen(code+1)), code + 1},
			} {
				if got := c.narrow(m.v); float64(mid) == (float64(v)+float64(c.widen(code+1)))/2 && mid != v && got != m.want {
					t.Fatalf("%s: %v, by the middle of %#04x and the next, becomes %#04x, want %#04x", c.name, m.v, code, got, m.want)
				}
			}
		}
		for _, v := range []float32{0.1, -3.3, 1e-7, 6e-8, 2e-8, -1e-5, 65503, 1000.4} {
			if got, want := c.narrow(v), nearest(v, c.widen); got != want {
				t.Errorf("%s: %v becomes %#04x, want %#04x", c.name, v, got, want)
			}
		}
		inf := float32(math.Inf(-1))
		if got := c.widen(c.narrow(inf)); got != inf {
			t.Errorf("%s: −Inf becomes %v", c.name, got)
		}
	}
	if F32ToF16(65519.996) != 0x7bff || F32ToF16(65520) != 0x7c00 || F32ToF16(1e30) != 0x7c00 {
		t.Error("F16: the limit of infinity is off")
	}
	if F32ToBF16(math.MaxFloat32) != 0x7f80 {
		t.Error("BF16: the limit of infinity is off")
	}
}

func TestWiden(t *testing.T) {
	values := []float32{1, -2, 0.5, 4, 8, -16}
	for _, e := range []Elem{F32, F16, BF16} {
		host := make([]byte, 6*e.Size())
		for i, v := range values {
			switch e {
			case F32:
				binary.LittleEndian.PutUint32(host[4*i:], math.Float32bits(v))
			case F16:
				binary.LittleEndian.PutUint16(host[2*i:], F32ToF16(v))
			case BF16:
				binary.LittleEndian.PutUint16(host[2*i:], F32ToBF16(v))
			}
		}
		r := Rows{N: 2, Dim: 2, Stride: 3, Type: e, Host: host, Device: -1}
		got := r.Widen(make([]float32, 5), 1)
		if len(got) != 2 || got[0] != 4 || got[1] != 8 {
			t.Errorf("%s: row 1 is %v, want [4 8]", e, got)
		}
		if b := r.Bytes(1); len(b) != 2*e.Size() {
			t.Errorf("%s: %d bytes a row", e, len(b))
		}
	}
	if s := Elem(9).String(); s != "unknown" {
		t.Errorf("Elem(9) is %q", s)
	}
}
