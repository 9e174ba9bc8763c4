package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func sameNumbers(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool {
		return near(x, y, 1e-12) || math.IsNaN(x) && math.IsNaN(y)
	})
}

func TestHolm(t *testing.T) {
	for _, c := range []struct{ p, want []float64 }{
		{nil, nil},
		{[]float64{0.04}, []float64{0.04}},
		// By hand: sorted .005 .01 .03 .04 .2, times 5 4 3 2 1.
		{[]float64{0.01, 0.04, 0.03, 0.005, 0.2}, []float64{0.04, 0.09, 0.09, 0.025, 0.2}},
		{[]float64{0.6, 0.5, 0.9}, []float64{1, 1, 1}},
		// A p-value that is not one leaves the others alone.
		{[]float64{0.01, math.NaN(), 0.03}, []float64{0.02, math.NaN(), 0.03}},
	} {
		if got := Holm(c.p); !sameNumbers(got, c.want) {
			t.Errorf("Holm(%v) = %v, want %v", c.p, got, c.want)
		}
	}
}

// The first case is SciPy 1.17.1, stats.false_discovery_control(p).
func TestBenjaminiHochberg(t *testing.T) {
	for _, c := range []struct{ p, want []float64 }{
		{[]float64{0.01, 0.04, 0.03, 0.005, 0.2}, []float64{0.025, 0.05, 0.05, 0.025, 0.2}},
		{nil, nil},
		{[]float64{0.7}, []float64{0.7}},
		{[]float64{0.01, math.NaN(), 0.03}, []float64{0.02, math.NaN(), 0.03}},
	} {
		if got := BenjaminiHochberg(c.p); !sameNumbers(got, c.want) {
			t.Errorf("BenjaminiHochberg(%v) = %v, want %v", c.p, got, c.want)
		}
	}
}

// Adjusted values keep the order of p, are not below it nor above 1, do not depend
// on the order of the family, and Holm's are the larger ones.
func TestCorrectionsAreMonotone(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	for n := 1; n < 40; n++ {
		p := make([]float64, n)
		for i := range p {
			p[i] = math.Pow(rng.Float64(), 3)
			if i%4 == 3 {
				p[i] = p[i-1]
			}
		}
		was := slices.Clone(p)
		holm, bh := Holm(p), BenjaminiHochberg(p)
		if !slices.Equal(p, was) {
			t.Fatal("the p-values were changed")
		}
		for i := range p {
			if holm[i] < bh[i] || bh[i] < p[i] || holm[i] > 1 {
				t.Errorf("p %v: Holm %v, Benjamini-Hochberg %v", p[i], holm[i], bh[i])
			}
			for j := range p {
				if p[i] <= p[j] && (holm[i] > holm[j] || bh[i] > bh[j]) {
					t.Errorf("p %v and %v become %v and %v, %v and %v", p[i], p[j], holm[i], holm[j], bh[i], bh[j])
				}
			}
		}
		slices.Reverse(p)
		turned := Holm(p)
		slices.Reverse(turned)
		if !slices.Equal(turned, holm) {
			t.Errorf("the order of the family changes Holm: %v and %v", holm, turned)
		}
	}
}
