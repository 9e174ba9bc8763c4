//go:build cuda && linux && cgo && (amd64 || arm64)

package kernels_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"encbench/cuda"
	"encbench/cuda/cudatest"
	"encbench/engine"
	"encbench/kernels"
)

// Metrics, as the kernels number them.
const (
	product = iota
	cosine
	l2
)

// trial is a case drawn at random.
type trial struct {
	elem          engine.Elem
	metric        int
	data          string
	dim, stride   int // of rows; values beyond dim are zero on the device
	k, most, room int
	panel         int
	step          int    // only every step-th row is searched
	ceiling       uint64 // keys from here on are not kept; 0 for none
	rule          bool   // by exact scores instead of tiles
	queries, rows [][]float32
}

func (r *trial) String() string {
	return fmt.Sprintf("%v %s, %d queries, %d rows of %d, metric %d, k %d of %d in %d, panels of %d, step %d, ceiling %x, rule %v",
		r.elem, r.data, len(r.queries), len(r.rows), r.dim, r.metric, r.k, r.most, r.room, r.panel, r.step, r.ceiling, r.rule)
}

// kinds of data. All but the first have ties, or scores that differ by less than tiles'
// roundings.
var kinds = []string{"normal", "grid", "ascending", "equal", "duplicates", "zeros"}

// draw makes a case. Shapes are tiny, and lists so short that hard data overflows them.
func draw(rng *rand.Rand) *trial {
	r := &trial{elem: []engine.Elem{engine.F16, engine.BF16, engine.F32}[rng.IntN(3)], metric: rng.IntN(3), data: kinds[rng.IntN(len(kinds))], step: 1}
	n := 1 + rng.IntN(4)
	rows := 1 + rng.IntN(300)
	switch rng.IntN(24) {
	case 0, 1:
		n = 17 + rng.IntN(20)
	case 2, 3, 4:
		n = 65 + rng.IntN(8)
	case 5:
		n, rows = 129, 1+rng.IntN(150)
	}
	r.dim = 1 + rng.IntN(72)
	if rng.IntN(3) == 0 {
		r.dim = 8 * (1 + rng.IntN(20))
	}
	r.k = 1 + rng.IntN(1+rng.IntN(40))
	if rng.IntN(25) == 0 { // long lists
		n, rows, r.dim = 1+rng.IntN(2), 1000+rng.IntN(2000), 1+rng.IntN(16)
		r.k = 1 + rng.IntN(2048)
	}
	r.stride = (r.dim+7)/8*8 + 8*rng.IntN(2)
	r.most = r.k + 32
	r.room = r.most + 64 + rng.IntN(200)
	r.panel = 1 + rng.IntN(rows)
	if r.panel < rows/4 {
		r.panel = rows
	}
	r.rule = rng.IntN(6) == 0
	if !r.rule && rng.IntN(8) == 0 {
		r.step, r.panel = 2+rng.IntN(3), rows
	}
	r.fill(rng, n, rows)
	if r.exact() && r.metric == product && rng.IntN(4) == 0 {
		r.ceiling = kernels.Key(engine.Dot(r.queries[0], r.rows[rng.IntN(rows)]), uint32(rng.IntN(rows)))
	}
	return r
}

// exact says that tiles find the very order of the rule, whatever ties there are: products
// and sums are exact in float32.
func (r *trial) exact() bool {
	return r.data != "normal" && (r.metric == product || r.metric == l2 && r.data != "ascending")
}

// fill draws queries and rows.
func (r *trial) fill(rng *rand.Rand, queries, rows int) {
	value := func() float32 { return float32(rng.IntN(9)-4) / 4 }
	if r.data == "normal" {
		value = func() float32 { return rounded(float32(rng.NormFloat64()), r.elem) }
	}
	vectors := func(n int) [][]float32 {
		out := make([][]float32, n)
		for i := range out {
			out[i] = make([]float32, r.dim)
			for d := range out[i] {
				out[i][d] = value()
			}
		}
		return out
	}
	r.queries, r.rows = vectors(queries), vectors(rows)
	few := vectors(3)
	for i := range r.rows {
		switch r.data {
		case "ascending":
			for d, v := range r.queries[0] {
				r.rows[i][d] = float32(i/8) / 8 * v
			}
		case "equal":
			r.rows[i] = r.rows[0]
		case "duplicates":
			r.rows[i] = few[rng.IntN(len(few))]
		case "zeros":
			if i%2 == 0 {
				r.rows[i] = make([]float32, r.dim)
			}
		}
		for d, v := range r.rows[i] {
			r.rows[i][d] = rounded(v, r.elem)
		}
	}
	if !r.exact() && (r.elem == engine.F32 || r.data != "normal") {
		// Tiles read rounded copies, or round where scores are closer: they may cut nothing.
		r.most = max(r.most, rows)
		r.room = max(r.room, r.most+64)
	}
}

// score is the rule of all backends.
func (r *trial) score(q, x []float32) float32 {
	switch r.metric {
	case cosine:
		if norms := math.Sqrt(engine.Dot64(q, q)) * math.Sqrt(engine.Dot64(x, x)); norms != 0 {
			return float32(engine.Dot64(q, x) / norms)
		}
		return 0
	case l2:
		apart := make([]float64, len(q))
		for i := range q {
			apart[i] = float64(q[i]) - float64(x[i])
		}
		var lane [8]float64
		for i, v := range apart {
			lane[i%8] += float64(v * v)
		}
		return float32(0 - (((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]))))
	}
	return engine.Dot(q, x)
}

// want is the definition: the keys of all pairs, sorted.
func (r *trial) want(q []float32) []uint64 {
	keys := make([]uint64, 0, len(r.rows))
	for i := 0; i < len(r.rows); i += r.step {
		if k := kernels.Key(r.score(q, r.rows[i]), uint32(i)); r.ceiling == 0 || k < r.ceiling {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	slices.Reverse(keys)
	return append(keys[:min(r.k, len(keys))], make([]uint64, r.k-min(r.k, len(keys)))...)
}

// place puts rows on the device in a type.
func (r *trial) place(b *bench, rows [][]float32, elem engine.Elem, stride int) kernels.Matrix {
	return kernels.Matrix{At: b.put(bytesOf(rows, elem, stride)), Rows: len(rows), Dim: (r.dim + 7) / 8 * 8, Stride: stride, Elem: elem}
}

// run gives the keys that the device finds, and how often lists overflowed.
func (r *trial) run(b *bench) (keys []uint64, redone int) {
	n, padded := len(r.queries), (r.dim+7)/8*8
	stored := r.place(b, r.rows, r.elem, r.stride)
	wide := r.place(b, r.queries, engine.F32, padded)
	copies, narrow := stored, kernels.Matrix{}
	if r.elem == engine.F32 {
		infinite := b.put(make([]byte, 4))
		copies = kernels.Matrix{At: b.alloc(2 * len(r.rows) * r.stride), Rows: len(r.rows), Dim: r.stride, Stride: r.stride, Elem: engine.F16}
		b.must(b.set.Convert(b.c, b.s, stored, copies, infinite))
		copies.Dim = padded
	}
	narrow = r.place(b, r.queries, copies.Elem, padded)
	x := kernels.Exactness{Metric: r.metric, QueryNorms: b.alloc(8 * n), Norms: b.alloc(8 * len(r.rows))}
	bad := b.put(make([]byte, 4))
	b.must(errors.Join(b.set.Norms(b.c, b.s, wide, x.QueryNorms, bad), b.set.Norms(b.c, b.s, stored, x.Norms, bad)))
	var scale, bias *cuda.Buffer
	of := func(f func(square float64) float64) *cuda.Buffer {
		raw := make([]byte, 4*len(r.rows))
		for i, row := range r.rows {
			binary.LittleEndian.PutUint32(raw[4*i:], math.Float32bits(float32(f(engine.Dot64(row, row)))))
		}
		return b.put(raw)
	}
	switch r.metric {
	case cosine:
		scale = of(func(s float64) float64 {
			if s == 0 {
				return 0
			}
			return 1 / math.Sqrt(s)
		})
	case l2:
		bias = of(func(s float64) float64 { return -s / 2 })
	}
	l := &kernels.Lists{Threshold: b.alloc(8 * n), Keys: b.alloc(8 * n * r.room), Count: b.alloc(4 * n), Room: r.room}
	redo, again := b.alloc(4*n), b.alloc(4)
	b.must(errors.Join(b.set.Fill(b.c, b.s, l.Threshold, kernels.Lowest), b.c.Fill(l.Count, 0, b.s)))
	if r.ceiling != 0 {
		l.Ceiling = b.alloc(8 * n)
		b.must(b.set.Fill(b.c, b.s, l.Ceiling, r.ceiling))
	}
	for first := 0; first < len(r.rows); first += r.panel {
		rows := min(r.panel, len(r.rows)-first)
		part := kernels.Block{Matrix: copies, First: first, Step: r.step}
		if r.rule {
			part.Matrix = stored
		}
		each := int64(r.stride * part.Elem.Size())
		part.At, part.Rows = part.At.Slice(int64(first)*each, int64(rows)*each), (rows+r.step-1)/r.step
		if scale != nil {
			part.Scale = scale.Slice(int64(4*first), int64(4*rows))
		}
		if bias != nil {
			part.Bias = bias.Slice(int64(4*first), int64(4*rows))
		}
		y := x
		y.Norms = x.Norms.Slice(int64(8*first), int64(8*rows))
		for l.Active = nil; ; redone++ {
			b.must(b.c.Fill(again, 0, b.s))
			if r.rule {
				b.must(b.set.Exact(b.c, b.s, wide, part, y, l))
			} else {
				b.must(b.set.Search(b.c, b.s, narrow, part, l))
			}
			b.must(b.set.Compact(b.c, b.s, n, l, r.most, first, redo, again))
			if b.uint32s(again, 1)[0] == 0 {
				break
			}
			l.Active = redo
		}
	}
	if !r.rule {
		b.must(b.set.Rescore(b.c, b.s, wide, stored, x, l))
	}
	out := b.alloc(8 * n * r.k)
	b.must(b.set.Sort(b.c, b.s, n, l, r.most, r.k, out))
	return b.uint64s(out, n*r.k), redone
}

// Cases at random, each against all pairs sorted: what the device gives has the same rows
// in the same order and the same bits of scores.
func TestRandom(t *testing.T) {
	const each = 260 // of an order and a text of the kernels
	cases, redone, wide, few := 0, 0, 0, 0
	for _, v := range variants(t) {
		for i := range 4 {
			cudatest.Order(t, i)
			by(t, v, func(b *bench) {
				rng := rand.New(rand.NewPCG(uint64(v)+100, uint64(i)))
				for c := range cudatest.Cases(each) {
					r := draw(rng)
					owned := len(b.owned)
					keys, again := r.run(b)
					for q := range r.queries {
						if got, want := keys[q*r.k:(q+1)*r.k], r.want(r.queries[q]); !slices.Equal(got, want) {
							at := 0
							for got[at] == want[at] {
								at++
							}
							b.Fatalf("%v, case %d (%v), query %d, place %d: got %x, want %x", v, c, r, q, at, got[at], want[at])
						}
					}
					for _, m := range b.owned[owned:] {
						b.must(b.c.Free(m))
					}
					b.owned = b.owned[:owned]
					cases++
					if again > 0 {
						redone++
					}
					switch {
					case len(r.queries) <= 16:
						few++
					case len(r.queries) > 64:
						wide++
					}
				}
			})
		}
	}
	t.Logf("%d cases, 0 mismatches; lists overflowed in %d; %d with at most 16 queries, %d with more than 64", cases, redone, few, wide)
	if cudatest.Cases(each) == each && (cases < 2000 && len(variants(t)) == 2 || redone == 0 || wide == 0) {
		t.Error("the cases do not try what they are for")
	}
}
