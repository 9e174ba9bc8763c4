package trec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// checkFloat holds the fast reading against strconv.
func checkFloat(t *testing.T, text string) (fast bool) {
	t.Helper()
	d := append([]byte(text), make([]byte, 16)...)
	v, end, ok := scanFloat(d, 0)
	want, wantOK := number([]byte(text))
	if ok && end == len(text) {
		if !wantOK || math.Float64bits(v) != math.Float64bits(want) {
			t.Fatalf("%q: fast %v (%x), plain %v (%x), ok %v", text, v, math.Float64bits(v), want, math.Float64bits(want), wantOK)
		}
		return true
	}
	return false
}

func TestScanFloatShapes(t *testing.T) {
	for _, c := range []struct {
		text string
		fast bool
	}{
		{"1", true}, {"-1", true}, {"+1.5", true}, {".5", true}, {"5.", true}, {"0", true}, {"-0", true}, {"-0.0", true},
		{"0.123456789012345678", true}, {"0.1234567890123456789", false}, {"1234567890123456789", true}, {"12345678901234567890", false},
		{"1e5", true}, {"1E-5", true}, {"1.25e+3", true}, {"1e22", true}, {"1e23", false}, {"9007199254740993", true},
		{"9007199254740993e0", true}, {"9007199254740993e1", false}, {"90071992547409.93", true}, {"9007199.254740993", true},
		{"", false}, {".", false}, {"-", false}, {"e5", false}, {"1e", false}, {"1e+", false}, {"0x10", false}, {"1_0", false}, {"nan", false}, {"inf", false},
		{"1.5.5", false}, {"1e99999", false}, {"12.345678", true}, {"0.8765432109876543", true}, {"18.87654321098765", true},
	} {
		if got := checkFloat(t, c.text); got != c.fast {
			t.Errorf("%q: read by the fast way %v, want %v", c.text, got, c.fast)
		}
	}
}

// Numbers as systems print them, and numbers on the border between two floats.
func TestScanFloatIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	fast, all := 0, 0
	check := func(text string) {
		all++
		if checkFloat(t, text) {
			fast++
		}
	}
	for range 200_000 {
		v := (rng.Float64()*2 - 0.5) * math.Pow(10, float64(rng.IntN(6)-2))
		check(strconv.FormatFloat(v, 'g', -1, 64))
		check(strconv.FormatFloat(v, 'f', -1, 64))
		check(strconv.FormatFloat(v, 'f', rng.IntN(12), 64))
		check(strconv.FormatFloat(float64(float32(v)), 'g', -1, 32))
		check(fmt.Sprintf("%d.%de%d", rng.Uint64N(1000), rng.Uint64()>>rng.IntN(40), rng.IntN(60)-30))
		// Half way between two floats, and one unit beside it, in 17 to 19 digits.
		m := uint64(1)<<53 + rng.Uint64N(1<<53)
		half := strconv.FormatUint(2*m+1, 10)
		check(half[:5] + "." + half[5:])
		check(strconv.FormatUint(m*100+50, 10))
	}
	if fast < all/2 {
		t.Errorf("%d of %d were read by the fast way", fast, all)
	}
}

func FuzzScanFloat(f *testing.F) {
	for _, s := range []string{"1", "-1.5e3", "0.1234567890123456", "9007199254740993.5", "1e-400", "+.5", "0.00000000000000000001"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { checkFloat(t, text) })
}

func BenchmarkScanFloat(b *testing.B) {
	for _, text := range []string{"7", "12.3456", "0.8765432109876543", "18.987654321098765"} {
		b.Run(text, func(b *testing.B) {
			d := append([]byte(text), make([]byte, 16)...)
			for b.Loop() {
				if _, _, ok := scanFloat(d, 0); !ok {
					b.Fatal(text)
				}
			}
		})
	}
}
