//go:build cuda && linux && cgo && (amd64 || arm64)

package kernels

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"encbench/cuda"
	"encbench/engine"
)

// Set is the kernels on one device.
type Set struct {
	variant Variant
	module  *cuda.Module
	sms     int

	search  map[string]*cuda.Function // by the shape's kernel
	byElem  map[string]*cuda.Function
	compact *cuda.Function
	fill    *cuda.Function
	sort    *cuda.Function
	norm    *cuda.Function
}

// typeOf names a type as the kernels' names have it.
func typeOf(e engine.Elem) string {
	return map[engine.Elem]string{engine.F16: "f16", engine.BF16: "bf16", engine.F32: "float"}[e]
}

// Load gives the kernels to the device. The driver compiles them, which takes a second or
// so the first time.
func Load(c *cuda.Context) (*Set, error) { return LoadVariant(c, SM80) }

// LoadVariant is Load of a chosen text, which the device must take.
func LoadVariant(c *cuda.Context, v Variant) (s *Set, err error) {
	if err := v.RunsOn(c.Info().Major, c.Info().Minor); err != nil {
		return nil, err
	}
	s = &Set{variant: v, sms: c.Info().SMs, search: map[string]*cuda.Function{}, byElem: map[string]*cuda.Function{}}
	if s.module, err = c.Load("the kernels of "+v.String(), v.PTX()); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Free(s.module))
			s = nil
		}
	}()
	find := func(name string) *cuda.Function {
		f, err2 := c.Function(s.module, "encbench_"+name)
		err = errors.Join(err, err2)
		return f
	}
	for _, shape := range v.Shapes() {
		f := find(shape.Kernel)
		if err != nil {
			return s, err
		}
		err = c.AllowShared(f, shape.Shared())
		s.search[shape.Kernel] = f
	}
	for _, name := range []string{
		"rescore_f16", "rescore_bf16", "rescore_float", "exact_f16", "exact_bf16", "exact_float", "norms_f16", "norms_bf16", "norms_float",
		"pool_float", "pool_f16", "pool_bf16",
		"convert_float_f16", "convert_float_bf16", "convert_float_float", "convert_f16_f16", "convert_bf16_bf16",
	} {
		s.byElem[name] = find(name)
	}
	s.compact, s.fill, s.sort, s.norm = find("compact"), find("fill"), find("sort"), find("normalize")
	return s, err
}

// Spilled names the kernels of which the driver's compiler keeps registers in memory on this
// device; none does where it compiles as the one of `make kernels-check`.
func (s *Set) Spilled(c *cuda.Context) ([]string, error) {
	all := []*cuda.Function{s.compact, s.fill, s.sort, s.norm}
	for _, of := range []map[string]*cuda.Function{s.search, s.byElem} {
		for _, f := range of {
			all = append(all, f)
		}
	}
	var names []string
	for _, f := range all {
		a, err := c.Attributes(f)
		if err != nil {
			return nil, err
		}
		if a.Local > 0 {
			names = append(names, fmt.Sprintf("%s (%d bytes a thread)", f.Name, a.Local))
		}
	}
	slices.Sort(names)
	return names, nil
}

// Free unloads the kernels.
func (s *Set) Free(c *cuda.Context) error {
	if s == nil {
		return nil
	}
	return c.Free(s.module)
}

// Matrix is rows on the device. Dim is a multiple of 8; rows begin Stride elements after
// each other, at a multiple of 16 bytes.
type Matrix struct {
	At          *cuda.Buffer
	Rows        int
	Dim, Stride int
	Elem        engine.Elem
}

// Lists are the best of each query while rows go by.
type Lists struct {
	Threshold *cuda.Buffer // uint64 [queries]: keys below are not kept
	Ceiling   *cuda.Buffer // uint64 [queries]: keys from here on are not kept; nil for none
	Active    *cuda.Buffer // uint32 [queries]: 0 for those that keep nothing now; nil for all
	Keys      *cuda.Buffer // uint64 [queries, Room]
	Count     *cuda.Buffer // uint32 [queries]
	Room      int
}

func (l *Lists) args() []cuda.Arg {
	return []cuda.Arg{cuda.Ptr(l.Threshold), cuda.Ptr(l.Ceiling), cuda.Ptr(l.Active), cuda.Ptr(l.Keys), cuda.Ptr(l.Count), cuda.Int(l.Room)}
}

// Block is a block of rows in a search: row i is number First + i·Step, and its scale and
// bias are those of i·Step.
type Block struct {
	Matrix
	First, Step int
	Scale, Bias *cuda.Buffer // float32; nil is 1 and 0
}

// Search keeps in the lists the rows whose score, product · scale + bias, passes. Queries
// and rows are float16 or bfloat16, both the same.
func (s *Set) Search(c *cuda.Context, st *cuda.Stream, q Matrix, b Block, l *Lists) error {
	if q.Elem != b.Elem || q.Elem != engine.F16 && q.Elem != engine.BF16 {
		return fmt.Errorf("kernels: no search of %v rows by %v queries", b.Elem, q.Elem)
	}
	shape := s.variant.ShapeFor(q.Rows)
	g := cuda.Geometry{Grid: [3]uint32{uint32(shape.Grid(q.Rows, b.Rows, s.sms))}, Block: [3]uint32{uint32(shape.Threads)}, Shared: uint32(shape.Shared())}
	tail := append([]cuda.Arg{cuda.Int(b.First), cuda.Int(b.Step), flag(q.Elem == engine.BF16), cuda.Ptr(b.Scale), cuda.Ptr(b.Bias)}, l.args()...)
	if shape.Maps {
		return s.searchMaps(c, st, shape, g, q, b, tail)
	}
	args := append([]cuda.Arg{
		cuda.Ptr(q.At), cuda.Int(q.Rows), cuda.Ptr(b.At), cuda.Int(b.Rows), cuda.Int(q.Dim), cuda.Int(b.Stride * b.Step),
	}, tail...)
	return c.Launch(s.search[shape.Kernel], g, st, args...)
}

// searchMaps is Search by a kernel that reads through tensor maps.
func (s *Set) searchMaps(c *cuda.Context, st *cuda.Stream, shape Shape, g cuda.Geometry, q Matrix, b Block, tail []cuda.Arg) error {
	var maps [2]cuda.TensorMap
	for i, l := range []cuda.Layout{
		{At: q.At, Rows: q.Rows, Columns: q.Dim, RowBytes: int64(2 * q.Dim)},
		{At: b.At, Rows: b.Rows, Columns: b.Dim, RowBytes: int64(2 * b.Stride * b.Step)},
	} {
		l.BFloat = q.Elem == engine.BF16
		var err error
		if maps[i], err = c.TensorMap(l, []int{shape.Queries, shape.Rows}[i], DimStep); err != nil {
			return err
		}
	}
	return c.LaunchMaps(s.search[shape.Kernel], g, st, maps[:], append([]cuda.Arg{cuda.Int(q.Rows), cuda.Int(b.Rows), cuda.Int(q.Dim)}, tail...)...)
}

// flag is 1 or 0.
func flag(b bool) cuda.Arg {
	if b {
		return 1
	}
	return 0
}

// Compact cuts the list of each query to its best most keys and raises thresholds. Where
// a list overflowed, keys of rows from panel on are dropped and redo is 1; again is or-ed
// with all redo.
func (s *Set) Compact(c *cuda.Context, st *cuda.Stream, queries int, l *Lists, most, panel int, redo, again *cuda.Buffer) error {
	g := cuda.Geometry{Grid: [3]uint32{uint32(queries)}, Block: [3]uint32{256}, Shared: compactShared}
	return c.Launch(s.compact, g, st, cuda.Ptr(l.Keys), cuda.Ptr(l.Count), cuda.Ptr(l.Threshold), cuda.Ptr(redo), cuda.Ptr(again),
		cuda.Int(l.Room), cuda.Int(most), cuda.Int(panel))
}

// Exactness is what scores by the rule of all backends need beside the rows.
type Exactness struct {
	Metric            int          // as engine/cpu numbers them
	QueryNorms, Norms *cuda.Buffer // float64, for cosine
}

// Rescore puts the exact score in place of each key's own. Queries are float32.
func (s *Set) Rescore(c *cuda.Context, st *cuda.Stream, q, rows Matrix, x Exactness, l *Lists) error {
	g := cuda.Geometry{Grid: [3]uint32{uint32(min(q.Rows, 1<<16))}, Block: [3]uint32{256}}
	return c.Launch(s.byElem["rescore_"+typeOf(rows.Elem)], g, st, cuda.Ptr(q.At), cuda.Ptr(rows.At), cuda.Int(q.Dim), cuda.Int(rows.Stride), cuda.Int(x.Metric),
		cuda.Ptr(x.QueryNorms), cuda.Ptr(x.Norms), cuda.Ptr(l.Keys), cuda.Ptr(l.Count), cuda.Int(l.Room), cuda.Int(q.Rows))
}

// Exact keeps rows by their exact scores. Queries are float32; Step is not read.
func (s *Set) Exact(c *cuda.Context, st *cuda.Stream, q Matrix, b Block, x Exactness, l *Lists) error {
	g := cuda.Geometry{Grid: [3]uint32{uint32(max(1, min((b.Rows+31)/32, 8*s.sms)))}, Block: [3]uint32{256}}
	args := append([]cuda.Arg{
		cuda.Ptr(q.At), cuda.Int(q.Rows), cuda.Ptr(b.At), cuda.Int(b.Rows), cuda.Int(q.Dim), cuda.Int(b.Stride), cuda.Int(b.First),
		cuda.Int(x.Metric), cuda.Ptr(x.QueryNorms), cuda.Ptr(x.Norms),
	}, l.args()...)
	return c.Launch(s.byElem["exact_"+typeOf(b.Elem)], g, st, args...)
}

// Sort writes the best k keys of each list, of at most MostSorted, into best, uint64
// [queries, k], the largest first; 0 where there are fewer.
func (s *Set) Sort(c *cuda.Context, st *cuda.Stream, queries int, l *Lists, most, k int, best *cuda.Buffer) error {
	size := 1 << bits.Len(uint(max(most, 2)-1))
	if size > MostSorted {
		return fmt.Errorf("kernels: %d keys to sort, at most %d", most, MostSorted)
	}
	g := cuda.Geometry{Grid: [3]uint32{uint32(queries)}, Block: [3]uint32{uint32(max(32, min(1024, size/2)))}, Shared: uint32(8 * size)}
	return c.Launch(s.sort, g, st, cuda.Ptr(l.Keys), cuda.Ptr(l.Count), cuda.Int(l.Room), cuda.Int(size), cuda.Int(k), cuda.Ptr(best))
}

// Norms gives the length of each row, float64 [rows], and adds to bad, a uint32, the
// rows that hold what is no finite number.
func (s *Set) Norms(c *cuda.Context, st *cuda.Stream, m Matrix, norms, bad *cuda.Buffer) error {
	g := cuda.Geometry{Grid: [3]uint32{uint32(max(1, min((m.Rows+31)/32, 8*s.sms)))}, Block: [3]uint32{256}}
	return c.Launch(s.byElem["norms_"+typeOf(m.Elem)], g, st, cuda.Ptr(m.At), cuda.Int(m.Rows), cuda.Int(m.Dim), cuda.Int(m.Stride), cuda.Ptr(norms), cuda.Ptr(bad))
}

// Convert copies rows into rows of another type, of which those of float32 may become any
// and others stay as they are; to.Dim may be more than from.Dim, and what lies beyond is
// zero. infinite, a uint32, counts values that became infinite.
func (s *Set) Convert(c *cuda.Context, st *cuda.Stream, from, to Matrix, infinite *cuda.Buffer) error {
	name := "convert_" + typeOf(from.Elem) + "_" + typeOf(to.Elem)
	f := s.byElem[name]
	if f == nil {
		return fmt.Errorf("kernels: no conversion of %v to %v", from.Elem, to.Elem)
	}
	g := cuda.Geometry{Grid: [3]uint32{s.each(from.Rows * to.Stride)}, Block: [3]uint32{256}}
	return c.Launch(f, g, st, cuda.Ptr(from.At), cuda.Int(from.Rows), cuda.Int(from.Dim), cuda.Int(from.Stride), cuda.Ptr(to.At), cuda.Int(to.Stride), cuda.Ptr(infinite))
}

// Normalize divides each row, float32, by its length; rows of zeros stay.
func (s *Set) Normalize(c *cuda.Context, st *cuda.Stream, m Matrix) error {
	g := cuda.Geometry{Grid: [3]uint32{uint32(max(1, min((m.Rows+7)/8, 8*s.sms)))}, Block: [3]uint32{256}}
	return c.Launch(s.norm, g, st, cuda.Ptr(m.At), cuda.Int(m.Rows), cuda.Int(m.Dim), cuda.Int(m.Stride))
}

// Fill sets every number of to, uint64.
func (s *Set) Fill(c *cuda.Context, st *cuda.Stream, to *cuda.Buffer, v uint64) error {
	n := int(to.Bytes / 8)
	return c.Launch(s.fill, cuda.Geometry{Grid: [3]uint32{s.each(n)}, Block: [3]uint32{256}}, st, cuda.Ptr(to), cuda.Int(n), cuda.Arg(v))
}

// each is a grid in which a thread has some of n elements.
func (s *Set) each(n int) uint32 { return uint32(max(1, min((n+255)/256, 16*s.sms))) }
