package latency

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// exactRanks is the definition in whole numbers, for p = num/den: probabilities times
// den to the n.
func exactRanks(n int, num, den int64) (low, high int, ok bool) {
	weight := make([]*big.Int, n+1)
	pow := func(base int64, exp int) *big.Int {
		return new(big.Int).Exp(big.NewInt(base), big.NewInt(int64(exp)), nil)
	}
	for k := range weight {
		weight[k] = new(big.Int).Binomial(int64(n), int64(k))
		weight[k].Mul(weight[k], pow(num, k)).Mul(weight[k], pow(den-num, n-k))
	}
	tail := pow(den, n)
	tail.Mul(tail, big.NewInt(25))
	tooMuch := func(sum *big.Int) bool { return new(big.Int).Mul(sum, big.NewInt(1000)).Cmp(tail) > 0 }
	below := new(big.Int)
	for k := 0; k < n; k++ { // low = k+1 asks for P(B ≤ k)
		if below.Add(below, weight[k]); tooMuch(below) {
			break
		}
		low = k + 1
	}
	high = n + 1
	above := new(big.Int)
	for k := n; k > 0; k-- {
		if above.Add(above, weight[k]); tooMuch(above) {
			break
		}
		high = k
	}
	return low, high, low >= 1 && high <= n
}

func TestRanksAreExact(t *testing.T) {
	for _, p := range []struct {
		num, den int64
	}{{1, 2}, {9, 10}, {19, 20}, {99, 100}, {1, 10}} {
		f := float64(p.num) / float64(p.den)
		for _, n := range []int{1, 2, 5, 6, 7, 20, 71, 72, 73, 100, 150, 367, 368, 400} {
			low, high, ok := Ranks(n, f)
			wantLow, wantHigh, want := exactRanks(n, p.num, p.den)
			if ok != want || ok && (low != wantLow || high != wantHigh) {
				t.Errorf("n %d, p %v: %d to %d %v, exactly %d to %d %v", n, f, low, high, ok, wantLow, wantHigh, want)
			}
		}
	}
}

// Known values: the median of 10 lies between the 2nd and the 9th sample (97.9 %), of
// 20 between the 6th and the 15th (95.9 %), of 100 between the 40th and the 61st
// (96.5 %), as tables of the sign test have them.
func TestRanksOfTheMedian(t *testing.T) {
	for _, c := range []struct{ n, low, high int }{{6, 1, 6}, {10, 2, 9}, {20, 6, 15}, {100, 40, 61}} {
		if low, high, ok := Ranks(c.n, 0.5); !ok || low != c.low || high != c.high {
			t.Errorf("n %d: %d to %d %v, want %d to %d", c.n, low, high, ok, c.low, c.high)
		}
	}
	if low, high, ok := Ranks(262_742, 0.99); !ok || low != 260_014 || high != 260_215 {
		// 260,114.6 ± 1.96 · 51 by the normal approximation.
		t.Errorf("n 262,742: %d to %d %v", low, high, ok)
	}
}

// The needed counts are those of MLPerf, and those from which on Ranks has an answer.
func TestNeeded(t *testing.T) {
	for _, c := range []struct {
		p             float64
		figure, least int
	}{{0.50, 2654, 6}, {0.90, 23886, 36}, {0.95, 50425, 72}, {0.97, 85811, 122}, {0.99, 262742, 368}} {
		if got := Needed(c.p); got != c.figure {
			t.Errorf("p %v: %d samples for a figure, want %d", c.p, got, c.figure)
		}
		got := NeededForInterval(c.p)
		_, _, enough := Ranks(got, c.p)
		_, _, fewer := Ranks(got-1, c.p)
		if got != c.least || !enough || fewer {
			t.Errorf("p %v: %d samples for an interval, want %d; with as many %v, with one less %v", c.p, got, c.least, enough, fewer)
		}
	}
}

// The intervals cover what they should, for a distribution with a long tail.
func TestCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const n, runs = 400, 1000
	for _, p := range []float64{0.5, 0.95, 0.99} {
		truth := math.Exp(math.Sqrt2 * math.Erfinv(2*p-1)) // of the lognormal
		low, high, _ := Ranks(n, p)
		hits := 0
		xs := make([]float64, n)
		for range runs {
			for i := range xs {
				xs[i] = math.Exp(rng.NormFloat64())
			}
			slices.Sort(xs)
			if xs[low-1] <= truth && truth < xs[high-1] {
				hits++
			}
		}
		if share := float64(hits) / runs; share < 0.94 {
			t.Errorf("p %v: covered in %.3f of the runs", p, share)
		}
	}
}

func TestQuantile(t *testing.T) {
	xs := make([]float64, 100)
	for i := range xs {
		xs[i] = float64(i + 1)
	}
	for p, want := range map[float64]float64{0.5: 50, 0.95: 95, 0.99: 99, 1: 100, 0.001: 1} {
		if got := quantile(xs, p); got != want {
			t.Errorf("p %v: %v, want %v", p, got, want)
		}
	}
}
