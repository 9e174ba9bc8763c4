package stat

import (
	"math/rand/v2"
	"testing"
)

func unitValues(seed uint64, n int) []float64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.Float64()
	}
	return v
}

func BenchmarkCompare6980(b *testing.B) {
	x, y := unitValues(1, 6980), unitValues(2, 6980)
	for b.Loop() {
		Compare(x, y, Options{})
	}
}

func BenchmarkBCa6980(b *testing.B) {
	x := unitValues(1, 6980)
	for b.Loop() {
		BCa(x, Options{})
	}
}

func BenchmarkFlips6980(b *testing.B) {
	x := unitValues(1, 6980)
	for i := range x {
		x[i] -= 0.5
	}
	s, _ := newSample(x, Options{})
	for b.Loop() {
		s.randomise(Options{})
	}
}
