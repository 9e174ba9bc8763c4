package gpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"encbench/engine"
)

// What float32 makes of 16-bit copies, in any order of additions, is within the bound; and
// thresholds and ceilings do what they say for every row.
func TestBound(t *testing.T) {
	inside, below, above := 0, 0, 0
	for n := range 3000 {
		rng := rand.New(rand.NewPCG(9, uint64(n)))
		dim := 8 * (1 + rng.IntN(20))
		m := measure{dim: dim, metric: engine.Metric(n % 3)}
		elem := engine.Elem(1 + n/3%2)
		if n/6%2 == 1 {
			elem, m.copies = engine.F16, toFloat16
		}
		vector := func(by float64) []float32 {
			v := make([]float32, dim)
			for d := range v {
				v[d] = float32(rng.NormFloat64() * by)
			}
			return v
		}
		by := math.Exp2(float64(rng.IntN(12) - 6))
		q := vector(by)
		rows := make([][]float32, 6)
		for i := range rows {
			rows[i] = vector(by)
			if m.copies == (rounding{}) {
				for d, v := range rows[i] {
					rows[i][d] = widened(narrowed(v, elem), elem)
				}
			}
			m.take(math.Sqrt(engine.Dot64(rows[i], rows[i])))
		}
		a := ask(q, elem)
		if !m.bounded(a) {
			t.Fatalf("%d: no bound", n)
		}
		found, exact := make([]float32, len(rows)), make([]float32, len(rows))
		for i, x := range rows {
			sum := float32(0)
			for _, d := range rng.Perm(dim) {
				sum += widened(narrowed(q[d], elem), elem) * widened(narrowed(x[d], elem), elem)
			}
			norm := math.Sqrt(engine.Dot64(x, x))
			extra := (&measure{metric: m.metric}).take(norm)
			switch m.metric {
			case engine.Cosine:
				sum *= extra
			case engine.L2:
				sum += extra
			}
			found[i], exact[i] = sum, m.metric.Score(q, x)
			if away := math.Abs(m.score(a, float64(sum)) - float64(exact[i])); away > m.error(a) {
				t.Fatalf("%d, %v: score %g, found %g: %g away, the bound is %g", n, m.metric, exact[i], sum, away, m.error(a))
			}
			inside++
		}
		for _, s := range exact {
			low, ok := m.threshold(a, s)
			high, ok2 := m.ceiling(a, s)
			if !ok || !ok2 {
				t.Fatalf("%d, %v: no threshold or ceiling of %g", n, m.metric, s)
			}
			for i, f := range found {
				if f <= low {
					if below++; exact[i] >= s {
						t.Fatalf("%d: score %g is left out below %g", n, exact[i], s)
					}
				}
				if f >= high {
					if above++; exact[i] <= s {
						t.Fatalf("%d: score %g is left out above %g", n, exact[i], s)
					}
				}
			}
		}
	}
	if below < inside/2 || above < inside/2 {
		t.Errorf("of %d rows %d lie below thresholds and %d above ceilings", inside, below, above)
	}
}

func widened(b uint16, elem engine.Elem) float32 {
	if elem == engine.BF16 {
		return engine.BF16ToF32(b)
	}
	return engine.F16ToF32(b)
}

// Where something on the way may leave the range of float32 there is no bound.
func TestUnbounded(t *testing.T) {
	for name, c := range map[string]struct {
		m measure
		q asked
	}{
		"copies that are infinite": {measure{dim: 8, most: 1, copies: rounding{math.Inf(1), 0}}, asked{1, 1, 0}},
		"a query that is":          {measure{dim: 8, most: 1}, asked{1e6, math.Inf(1), math.NaN()}},
		"large rows":               {measure{dim: 8, most: 1e20}, asked{1e20, 1e20, 0}},
		"large distances":          {measure{dim: 8, most: 1e19, metric: engine.L2}, asked{1, 1, 0}},
		"short rows":               {measure{dim: 8, most: 1, least: 1e-40, metric: engine.Cosine}, asked{1, 1, 0}},
	} {
		if c.m.bounded(c.q) {
			t.Errorf("%s: bounded", name)
		}
	}
	if !(measure{dim: 8, most: 1}).bounded(asked{1, 1, 0}) {
		t.Error("unit vectors have no bound")
	}
}

func TestUnit(t *testing.T) {
	for v, want := range map[float32]int{1: 0, -6: 1, 0.75: -2, 0x1p-149: -149, 0x1.8p-148: -149, 0x1p-126: -126, 0: math.MaxInt32} {
		if got := unit(v); got != want {
			t.Errorf("%g: %d, want %d", v, got, want)
		}
	}
}
