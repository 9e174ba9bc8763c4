package cpu

import (
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"encbench/engine/model"
)

// whole gives n whole numbers from −100 to 100, whose products add up exactly in any
// order, fused or not.
func whole(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(rng.IntN(201) - 100)
	}
	return v
}

func narrow(v []float64) []float32 {
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x)
	}
	return out
}

// FuzzLinear compares maps of all kinds of weights with the formula.
func FuzzLinear(f *testing.F) {
	for _, s := range [][4]uint16{{1, 1, 1, 1}, {2, 3, 5, 7}, {3, 8, 14, 64}, {4, 513, 3, 2}, {5, 1025, 9, 1}, {6, 2, 15, 0}} {
		f.Add(s[0], s[1], s[2], s[3])
	}
	f.Fuzz(func(t *testing.T, seed, tokens0, out0, in0 uint16) {
		tokens, out, in := int(tokens0)%1100, 1+int(out0)%40, 1+int(in0)%70
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		w, x := whole(rng, out*in), whole(rng, tokens*in)
		l := linear{in: in, out: out}
		scale, bias := make([]float64, out), make([]float64, out)
		for o := range scale {
			scale[o] = 1
		}
		if seed&1 == 0 {
			l.weight = narrow(w)
		} else {
			for _, v := range w {
				l.codes = append(l.codes, int8(v))
			}
			for o := range scale {
				scale[o] = math.Ldexp(1, rng.IntN(9)-4)
			}
			l.scale = narrow(scale)
		}
		if seed&2 == 0 {
			bias = whole(rng, out)
			l.bias = narrow(bias)
		}
		const guard = 12345
		y := append(whole(rng, tokens*out), guard)
		l.apply(y[:tokens*out], x)
		for i := range tokens {
			for o := range out {
				want := bias[o]
				for c := range in {
					want += scale[o] * w[o*in+c] * x[i*in+c]
				}
				if got := y[i*out+o]; got != want {
					t.Fatalf("%d tokens, %d × %d: token %d, output %d is %v, want %v", tokens, out, in, i, o, got, want)
				}
			}
		}
		if y[tokens*out] != guard {
			t.Fatal("written past the end")
		}
	})
}

func TestAccumulateContinues(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x, flat := whole(rng, 50), whole(rng, 50*lanes)
	w := make([][lanes]float64, 50)
	pack(w, flat, 50, lanes)
	var once, twice [lanes]float64
	accumulate(&once, x, w)
	accumulate(&twice, x[:17], w)
	accumulate(&twice, x[17:], w[17:])
	for l := range lanes {
		var want float64
		for c := range x {
			want += x[c] * flat[l*50+c]
		}
		if once[l] != want || twice[l] != want {
			t.Errorf("sum %d: %v at once, %v in two parts, want %v", l, once[l], twice[l], want)
		}
	}
}

func TestSpreadGivesEachNumberOnce(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, procs := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(procs)
		for _, n := range []int{0, 1, 3, 1000} {
			seen, workers := make([]atomic.Int32, n), atomic.Int32{}
			spread(n, func(mine iter.Seq[int]) {
				workers.Add(1)
				for i := range mine {
					seen[i].Add(1)
				}
			})
			for i := range seen {
				if c := seen[i].Load(); c != 1 {
					t.Errorf("%d processors: %d of %d came %d times", procs, i, n, c)
				}
			}
			if w := int(workers.Load()); w != min(n, procs) {
				t.Errorf("%d processors, %d numbers: %d goroutines", procs, n, w)
			}
		}
	}
}

func TestSoftmax(t *testing.T) {
	x := []float64{1000, 1000, 1000 - math.Ln2}
	softmax(x)
	for i, want := range []float64{0.4, 0.4, 0.2} {
		if math.Abs(x[i]-want) > 1e-12 {
			t.Errorf("softmax %v, want %v at %d", x, want, i)
		}
	}
}

// TestActivations compares with values from tables: Φ(1) = 0.841344746…, σ(1) =
// 0.731058578…, tanh 1 = 0.761594155…
func TestActivations(t *testing.T) {
	for _, c := range []struct {
		act     model.Activation
		x, want float64
	}{
		{"", -3.5, -3.5},
		{model.GELU, 0, 0},
		{model.GELU, 1, 0.8413447460685429},
		{model.GELU, -1, -0.15865525393145707},
		{model.GELU, 10, 10},
		{model.GELU, -40, 0},
		{model.GELUTanh, 1, 0.8411919906082768},
		{model.GELUTanh, -1, -0.15880800939172324},
		{model.GELUTanh, -40, 0},
		{model.SiLU, 1, 0.7310585786300049},
		{model.SiLU, -1, -0.2689414213699951},
		{model.SiLU, -1000, 0},
		{model.ReLU, 2.5, 2.5},
		{model.ReLU, -2.5, 0},
		{model.Tanh, 1, 0.7615941559557649},
	} {
		f, err := activation(c.act)
		if err != nil {
			t.Fatal(err)
		}
		if got := f(c.x); !(math.Abs(got-c.want) <= 1e-15) {
			t.Errorf("%q of %v is %v, want %v", c.act, c.x, got, c.want)
		}
	}
	if _, err := activation("swish"); !errors.Is(err, ErrUnsupported) || err.Error() != `unsupported by the reference encoder: activation "swish"` {
		t.Errorf("an unknown activation: %v", err)
	}
}

func TestNorms(t *testing.T) {
	weight, bias := []float32{1, 2, 1, -1}, []float32{0, 0, 10, 0}
	for _, c := range []struct {
		name string
		norm norm
		x    []float64
		want []float64
	}{
		{"none", norm{}, []float64{1, 2, 3}, []float64{1, 2, 3}},
		// Mean 4, variance 5, with eps 9.
		{"layer", norm{weight: weight, bias: bias, eps: 4}, []float64{1, 3, 5, 7}, []float64{-1, -2. / 3, 10 + 1./3, -1}},
		{"without bias", norm{weight: weight, eps: 4}, []float64{1, 3, 5, 7}, []float64{-1, -2. / 3, 1. / 3, -1}},
		// The mean of the squares is 25.
		{"RMS", norm{weight: weight, rms: true}, []float64{1, 3, 4.5, math.Sqrt(69.75)}, []float64{0.2, 1.2, 0.9, -math.Sqrt(69.75) / 5}},
		{"RMS of zeros", norm{weight: weight, bias: bias, eps: 1e-6, rms: true}, []float64{0, 0, 0, 0}, []float64{0, 0, 10, 0}},
	} {
		// Two tokens are normalised apart.
		x := append(append([]float64{}, c.x...), c.x...)
		c.norm.apply(x)
		for i, got := range x {
			if want := c.want[i%len(c.want)]; !(math.Abs(got-want) <= 1e-12) {
				t.Errorf("%s: %v, want %v at %d", c.name, x, want, i)
			}
		}
	}
}
