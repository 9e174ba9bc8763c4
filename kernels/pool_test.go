//go:build cuda && linux && cgo && (amd64 || arm64)

package kernels_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"encbench/cuda/cudatest"
	"encbench/engine"
	"encbench/kernels"
)

// pooled is the definition of Pool for a row.
func pooled(states [][]float32, dim int, how kernels.Pooling, normalize bool) []float32 {
	out := make([]float32, dim)
	if len(states) == 0 {
		return out
	}
	switch how {
	case kernels.PoolFirst:
		states = states[:1]
	case kernels.PoolLast:
		states = states[len(states)-1:]
	}
	for d := range out {
		sum := 0.0
		for _, s := range states {
			sum += float64(s[d])
		}
		out[d] = float32(sum / float64(len(states)))
	}
	if !normalize {
		return out
	}
	var lanes [32]float64 // dimensions by their number mod 32, then by halves
	for d, v := range out {
		lanes[d%32] += float64(float64(v) * float64(v))
	}
	for m := 16; m > 0; m /= 2 {
		was := lanes
		for i := range lanes {
			lanes[i] = was[i] + was[i^m]
		}
	}
	length := math.Sqrt(lanes[0])
	for d := range out {
		if length == 0 {
			break
		}
		out[d] = float32(float64(out[d]) / length)
	}
	return out
}

func TestPool(t *testing.T) {
	names := map[kernels.Pooling]string{kernels.PoolMean: "mean", kernels.PoolFirst: "first", kernels.PoolLast: "last"}
	cases := 0
	for i := range 4 {
		cudatest.Order(t, i)
		on(t, func(b *bench) {
			rng := rand.New(rand.NewPCG(31, uint64(i)))
			for _, from := range []engine.Elem{engine.F32, engine.F16} {
				for _, to := range []engine.Elem{engine.F32, engine.F16, engine.BF16} {
					for how := kernels.PoolMean; how <= kernels.PoolLast; how++ {
						rows, tokens, dim := 1+rng.IntN(6), 1+rng.IntN(9), 1+rng.IntN(300)
						stride, normalize := (dim+7)/8*8, rng.IntN(2) == 0
						scale := 1.0
						if rng.IntN(4) == 0 && from == engine.F32 && !normalize {
							scale = 1e5 // some become infinite in float16
						}
						var states [][]float32
						lengths, lows := make([]int, rows), make([]byte, 4*rows)
						for r := range rows {
							lengths[r] = rng.IntN(tokens + 1)
							binary.LittleEndian.PutUint32(lows[4*r:], uint32(lengths[r]))
							zero := rng.IntN(5) == 0
							for range tokens {
								row := make([]float32, dim)
								for d := range row {
									if !zero {
										row[d] = rounded(float32(rng.NormFloat64()*scale), from)
									}
								}
								states = append(states, row)
							}
						}
						in := kernels.States{At: b.put(bytesOf(states, from, dim)), Lengths: b.put(lows), Rows: rows, Tokens: tokens, Dim: dim, Elem: from}
						out := kernels.Matrix{At: b.alloc(to.Size() * rows * stride), Rows: rows, Dim: stride, Stride: stride, Elem: to}
						infinite := b.put(make([]byte, 4))
						b.must(b.set.Pool(b.c, b.s, in, how, normalize, out, infinite))
						var want [][]float32
						beyond := uint32(0)
						for r := range rows {
							row := pooled(states[r*tokens:r*tokens+lengths[r]], dim, how, normalize)
							for _, v := range row {
								if math.IsInf(float64(rounded(v, to)), 0) {
									beyond++
								}
							}
							want = append(want, row)
						}
						name := fmt.Sprintf("%v to %v, %s of %d × %d × %d, normalized %v", from, to, names[how], rows, tokens, dim, normalize)
						got, expected := b.get(out.At, to.Size()*rows*stride), bytesOf(want, to, stride)
						for at := range got {
							if got[at] != expected[at] {
								b.Fatalf("%s: byte %d of row %d differs", name, at%(to.Size()*stride), at/(to.Size()*stride))
							}
						}
						if n := b.uint32s(infinite, 1)[0]; n != beyond {
							b.Errorf("%s: %d values became infinite, want %d", name, n, beyond)
						}
						cases++
					}
				}
			}
		})
	}
	t.Logf("%d cases", cases)
}

func TestPoolRefuses(t *testing.T) {
	on(t, func(b *bench) {
		for _, c := range []struct {
			in   kernels.States
			want string
		}{
			{kernels.States{Elem: engine.BF16, Dim: 8}, "kernels: no pooling of BF16 states to F16 rows"},
			{kernels.States{Elem: engine.F32, Dim: 8193}, "kernels: states of 8193 values, at most 8192 are pooled"},
		} {
			if err := b.set.Pool(b.c, b.s, c.in, kernels.PoolMean, true, kernels.Matrix{Elem: engine.F16}, nil); err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		}
	})
}
