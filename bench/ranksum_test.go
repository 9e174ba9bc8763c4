package bench

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestMannWhitneyKnown(t *testing.T) {
	one := []float64{1, 2, 3}
	for _, c := range []struct {
		name string
		a, b []float64
		u, p float64
	}{
		// The worked example of SciPy's mannwhitneyu (exact): U = 17, p = 1/9.
		{"ages", []float64{19, 22, 16, 29, 24}, []float64{20, 11, 17, 12}, 17, 1.0 / 9},
		// All of 3 below all of 3: 2 of the C(6,3) = 20 orders are as far out.
		{"apart", one, []float64{4, 5, 6}, 0, 0.1},
		{"apart, swapped", []float64{4, 5, 6}, one, 9, 0.1},
		// 10 against 10 apart: 2 of C(20,10) = 184,756.
		{"ten apart", ramp(0, 10), ramp(10, 10), 0, 2.0 / 184756},
		{"interleaved", []float64{1, 4}, []float64{2, 3}, 2, 1},
		{"equal", []float64{5, 5, 5}, []float64{5, 5}, 3, 1},
		{"empty", nil, one, 0, 1},
		{"NaN", []float64{math.NaN()}, one, 0, 1},
		// With ties, by hand: mean 8, two pairs of equals, variance 16/12·(9-(6+6)/(8·7)).
		{"ties", []float64{1, 2, 2, 3}, []float64{3, 4, 5, 6}, 0.5, math.Erfc((8 - 0.5 - 0.5) / math.Sqrt(16.0/12*(9-12.0/56)) / math.Sqrt2)},
	} {
		u, p := MannWhitney(c.a, c.b)
		if u != c.u || !close2(p, c.p, 1e-9) {
			t.Errorf("%s: U = %v, p = %v, want U = %v, p = %v", c.name, u, p, c.u, c.p)
		}
	}
}

func ramp(from, n int) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = float64(from + i)
	}
	return xs
}

// The exact tail against its definition: every order of the pool, counted.
func TestLowerTailCountsOrders(t *testing.T) {
	for m := 1; m <= 5; m++ {
		for n := 1; n <= 5; n++ {
			counts := make([]int, m*n+1)
			total := 0
			for set := 0; set < 1<<(m+n); set++ {
				ours, u := 0, 0
				for i := 0; i < m+n; i++ {
					if set>>i&1 == 1 {
						ours++
						u += i + 1 - ours // of theirs below this one of ours
					}
				}
				if ours == m {
					counts[u]++
					total++
				}
			}
			sum := 0
			for u, c := range counts {
				sum += c
				if got, want := lowerTail(m, n, u), float64(sum)/float64(total); !close2(got, want, near) {
					t.Errorf("m=%d n=%d: P(U <= %d) = %v, counted %v", m, n, u, got, want)
				}
			}
		}
	}
}

func TestMannWhitneyProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	rejected := 0
	const runs = 2000
	for range runs {
		a, b := normals(rng, 8, 1, 0.1), normals(rng, 11, 1, 0.1)
		u, p := MannWhitney(a, b)
		v, q := MannWhitney(b, a)
		if u+v != 88 || p != q {
			t.Fatalf("swapped arms: U = %v and %v, p = %v and %v", u, v, p, q)
		}
		if p < 0 || p > 1 {
			t.Fatalf("p = %v", p)
		}
		if p < 0.05 {
			rejected++
		}
	}
	if got := float64(rejected) / runs; got > 0.065 || got < 0.03 {
		t.Errorf("equal distributions are told apart in %.3f of the runs at 0.05", got)
	}
	// Exact and approximate must agree where they meet.
	a, b := normals(rng, 50, 1, 0.1), normals(rng, 50, 1.03, 0.1)
	_, exact := MannWhitney(a, b)
	_, approx := MannWhitney(append(a, 0.5), append(b, 0.4))
	if math.Abs(exact-approx) > 0.05 {
		t.Errorf("p = %v at 50 x 50 and %v at 51 x 51 of nearly the same samples", exact, approx)
	}
}
