//go:build cuda && linux && cgo && (amd64 || arm64)

package kernels_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"encbench/cuda"
	"encbench/cuda/cudatest"
	"encbench/engine"
	"encbench/kernels"
)

func TestMain(m *testing.M) {
	stamp, err := kernels.Stamp(os.DirFS("device"), os.DirFS("src"))
	if err != nil {
		panic(err)
	}
	cudatest.Main(m, cudatest.Kernels{Sources: []string{"src/all.cu", "src/wide.cu", "emu/emu.cc", "emu/hopper.cc"}, Include: []string{"emu", "src"}, PTX: slices.Concat(kernels.SM80.PTX(), kernels.SM90A.PTX()), Stamp: stamp})
}

// bench is a device with kernels and a stream.
type bench struct {
	*testing.T
	c     *cuda.Context
	set   *kernels.Set
	s     *cuda.Stream
	owned []*cuda.Buffer
}

// variants are the texts that the device takes.
func variants(t *testing.T) (out []kernels.Variant) {
	t.Helper()
	w := cudatest.Open(t)
	for _, v := range []kernels.Variant{kernels.SM80, kernels.SM90A} {
		if v.RunsOn(w.Info().Major, w.Info().Minor) == nil {
			out = append(out, v)
		}
	}
	return out
}

// on runs f on the device; what it allocated is freed after it.
func on(t *testing.T, f func(*bench)) {
	t.Helper()
	by(t, kernels.SM80, f)
}

// by is on for a text of the kernels.
func by(t *testing.T, v kernels.Variant, f func(*bench)) {
	t.Helper()
	w := cudatest.Open(t)
	err := w.Do(func(c *cuda.Context) (err error) {
		b := &bench{T: t, c: c}
		if b.set, err = kernels.LoadVariant(c, v); err != nil {
			return err
		}
		if b.s, err = c.NewStream(); err != nil {
			return err
		}
		defer func() {
			for _, o := range b.owned {
				err = errors.Join(err, c.Free(o))
			}
			err = errors.Join(err, c.Free(b.s), b.set.Free(c))
		}()
		f(b)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// put gives the device bytes.
func (b *bench) put(data []byte) *cuda.Buffer {
	b.Helper()
	m := b.alloc(len(data))
	b.must(b.c.ToDevice(m, data, b.s))
	return m
}

func (b *bench) alloc(bytes int) *cuda.Buffer {
	b.Helper()
	m, err := b.c.Alloc(int64(bytes))
	b.must(err)
	b.owned = append(b.owned, m)
	return m
}

// get takes n bytes back.
func (b *bench) get(m *cuda.Buffer, n int) []byte {
	b.Helper()
	out := make([]byte, n)
	b.must(errors.Join(b.c.ToHost(out, m, b.s), b.c.Sync(b.s)))
	return out
}

func (b *bench) uint64s(m *cuda.Buffer, n int) []uint64 {
	raw, out := b.get(m, 8*n), make([]uint64, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint64(raw[8*i:])
	}
	return out
}

func (b *bench) uint32s(m *cuda.Buffer, n int) []uint32 {
	raw, out := b.get(m, 4*n), make([]uint32, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	return out
}

// bytesOf lays rows of a type out, stride elements each; values were rounded to it.
func bytesOf(rows [][]float32, elem engine.Elem, stride int) []byte {
	size := elem.Size()
	out := make([]byte, len(rows)*stride*size)
	for r, row := range rows {
		for d, v := range row {
			at := out[(r*stride+d)*size:]
			switch elem {
			case engine.F16:
				binary.LittleEndian.PutUint16(at, engine.F32ToF16(v))
			case engine.BF16:
				binary.LittleEndian.PutUint16(at, engine.F32ToBF16(v))
			default:
				binary.LittleEndian.PutUint32(at, math.Float32bits(v))
			}
		}
	}
	return out
}

// rounded makes values that the type holds.
func rounded(v float32, elem engine.Elem) float32 {
	switch elem {
	case engine.F16:
		return engine.F16ToF32(engine.F32ToF16(v))
	case engine.BF16:
		return engine.BF16ToF32(engine.F32ToBF16(v))
	}
	return v
}

// search is one case: queries and rows, and how they are searched.
type search struct {
	queries, rows [][]float32
	dim, k, most  int
	room          int
	elem          engine.Elem
	panel         int // rows of a panel
}

// random makes a case.
func random(rng *rand.Rand, queries, rows, dim int, elem engine.Elem) *search {
	make2 := func(n int) [][]float32 {
		out := make([][]float32, n)
		for i := range out {
			out[i] = make([]float32, dim)
			for d := range out[i] {
				out[i][d] = rounded(float32(rng.NormFloat64()/math.Sqrt(float64(dim))), elem)
			}
		}
		return out
	}
	return &search{queries: make2(queries), rows: make2(rows), dim: dim, elem: elem, k: 10, most: 32, room: 512, panel: rows}
}

// want is the definition: all pairs, sorted.
func (s *search) want(q int) []uint64 {
	keys := make([]uint64, len(s.rows))
	for r, row := range s.rows {
		keys[r] = kernels.Key(engine.Dot(s.queries[q], row), uint32(r))
	}
	slices.SortFunc(keys, func(a, b uint64) int {
		if a > b {
			return -1
		}
		return 1
	})
	return keys[:min(s.k, len(keys))]
}

// run searches on the device: panel by panel, each redone while lists overflow.
func (s *search) run(b *bench) (best [][]uint64, redone int) {
	b.Helper()
	n := len(s.queries)
	q := kernels.Matrix{At: b.put(bytesOf(s.queries, s.elem, s.dim)), Rows: n, Dim: s.dim, Stride: s.dim, Elem: s.elem}
	stride := s.dim + 8 // rows need not touch
	rows := kernels.Matrix{At: b.put(bytesOf(s.rows, s.elem, stride)), Rows: len(s.rows), Dim: s.dim, Stride: stride, Elem: s.elem}
	l := &kernels.Lists{Threshold: b.alloc(8 * n), Keys: b.alloc(8 * n * s.room), Count: b.alloc(4 * n), Room: s.room}
	redo, again := b.alloc(4*n), b.alloc(4)
	b.must(errors.Join(b.set.Fill(b.c, b.s, l.Threshold, kernels.Lowest), b.c.Fill(l.Count, 0, b.s)))
	for first := 0; first < len(s.rows); first += s.panel {
		part := kernels.Block{Matrix: rows, First: first, Step: 1}
		part.Rows = min(s.panel, len(s.rows)-first)
		size := int64(stride * s.elem.Size())
		part.At = rows.At.Slice(int64(first)*size, int64(part.Rows)*size)
		for l.Active = nil; ; redone++ {
			b.must(errors.Join(b.c.Fill(again, 0, b.s), b.set.Search(b.c, b.s, q, part, l), b.set.Compact(b.c, b.s, n, l, s.most, first, redo, again)))
			if b.uint32s(again, 1)[0] == 0 {
				break
			}
			if l.Active = redo; redone > len(s.rows) {
				b.Fatal("redoing a panel does not end")
			}
		}
	}
	out := b.alloc(8 * n * s.k)
	wide := kernels.Matrix{At: b.put(bytesOf(s.queries, engine.F32, s.dim)), Rows: n, Dim: s.dim, Stride: s.dim, Elem: engine.F32}
	b.must(errors.Join(b.set.Rescore(b.c, b.s, wide, rows, kernels.Exactness{}, l), b.set.Sort(b.c, b.s, n, l, s.most, s.k, out)))
	keys := b.uint64s(out, n*s.k)
	for i := range n {
		best = append(best, keys[i*s.k:(i+1)*s.k])
	}
	return best, redone
}

// check holds the device against the definition.
func (s *search) check(b *bench, name string) (redone int) {
	b.Helper()
	best, redone := s.run(b)
	for q := range s.queries {
		want := s.want(q)
		got := best[q]
		if !slices.Equal(got[:len(want)], want) || slices.ContainsFunc(got[len(want):], func(k uint64) bool { return k != 0 }) {
			b.Errorf("%s, query %d:\n got %x\nwant %x", name, q, got, want)
			return redone
		}
	}
	return redone
}

func TestSearch(t *testing.T) {
	for _, v := range variants(t) {
		for _, elem := range []engine.Elem{engine.F16, engine.BF16} {
			for i, shape := range []struct{ queries, rows, dim int }{{1, 1, 8}, {3, 200, 64}, {16, 129, 72}, {20, 300, 128}, {70, 257, 96}, {130, 140, 200}, {65, 520, 328}} {
				cudatest.Order(t, i+int(v))
				by(t, v, func(b *bench) {
					rng := rand.New(rand.NewPCG(uint64(i), uint64(elem)))
					random(rng, shape.queries, shape.rows, shape.dim, elem).check(b, fmt.Sprint(v, elem, shape))
				})
			}
		}
	}
}

// Data that makes lists overflow, thresholds useless and scores equal.
func TestHardData(t *testing.T) {
	for i, c := range []struct {
		name string
		make func(rng *rand.Rand, s *search)
	}{
		{"ascending", func(rng *rand.Rand, s *search) {
			for r := range s.rows {
				for d := range s.rows[r] {
					s.rows[r][d] = rounded(float32(r)/64*s.queries[0][d], s.elem)
				}
			}
		}},
		{"all equal", func(rng *rand.Rand, s *search) {
			for r := range s.rows {
				s.rows[r] = s.rows[0]
			}
		}},
		{"duplicates", func(rng *rand.Rand, s *search) {
			for r := range s.rows {
				s.rows[r] = s.rows[rng.IntN(5)]
			}
		}},
		{"zeros", func(rng *rand.Rand, s *search) {
			for r := range s.rows {
				clear(s.rows[r])
			}
		}},
	} {
		for j, v := range variants(t) {
			cudatest.Order(t, i+j)
			by(t, v, func(b *bench) {
				s := random(rand.New(rand.NewPCG(7, uint64(i))), 4+62*j, 700, 32, engine.F16)
				s.room, s.panel, s.most, s.k = 64, 300, 40, 20
				c.make(rand.New(rand.NewPCG(8, uint64(i))), s)
				redone := s.check(b, fmt.Sprint(v, " ", c.name))
				if redone == 0 {
					t.Errorf("%v %s: no list overflowed, so the redo was not tried", v, c.name)
				}
			})
		}
	}
}

// Conversions round as package engine does, zeros what lies beyond the dimensions, and
// counts what became infinite.
func TestConvert(t *testing.T) {
	on(t, func(b *bench) {
		rng := rand.New(rand.NewPCG(1, 2))
		const rows, dim, stride = 37, 24, 64
		var want [][]float32
		for range rows {
			row := make([]float32, dim)
			for d := range row {
				row[d] = float32(rng.NormFloat64() * math.Exp2(float64(rng.IntN(50)-30)))
			}
			want = append(want, row)
		}
		from := kernels.Matrix{At: b.put(bytesOf(want, engine.F32, dim)), Rows: rows, Dim: dim, Stride: dim, Elem: engine.F32}
		for _, elem := range []engine.Elem{engine.F16, engine.BF16} {
			to := kernels.Matrix{At: b.alloc(2 * rows * stride), Rows: rows, Dim: stride, Stride: stride, Elem: elem}
			infinite := b.put(make([]byte, 4))
			b.must(b.set.Convert(b.c, b.s, from, to, infinite))
			got := b.get(to.At, 2*rows*stride)
			beyond := uint32(0)
			for r := range want {
				for d := range stride {
					v := float32(0)
					if d < dim {
						v = rounded(want[r][d], elem)
						if math.IsInf(float64(v), 0) {
							beyond++
						}
					}
					bits := engine.F32ToF16(v)
					if elem == engine.BF16 {
						bits = engine.F32ToBF16(v)
					}
					if g := binary.LittleEndian.Uint16(got[2*(r*stride+d):]); g != bits {
						t.Fatalf("%v, row %d, dimension %d: %#x, want %#x", elem, r, d, g, bits)
					}
				}
			}
			if n := b.uint32s(infinite, 1)[0]; n != beyond {
				t.Errorf("%v: %d values became infinite, want %d", elem, n, beyond)
			}
		}
	})
}
