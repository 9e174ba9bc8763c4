//go:build cuda && linux && cgo && (amd64 || arm64)

package kernels

import (
	"fmt"

	"encbench/cuda"
	"encbench/engine"
)

// Pooling is how the states of a row's tokens become one.
type Pooling int

// The poolings, as pool.cu numbers them.
const (
	PoolMean Pooling = iota
	PoolFirst
	PoolLast
)

// States are a model's output on the device, float32 or float16 [Rows, Tokens, Dim], of
// which the first Lengths of each row, uint32 [Rows], count.
type States struct {
	At, Lengths       *cuda.Buffer
	Rows, Tokens, Dim int
	Elem              engine.Elem
}

// Pool makes a row of out, of any type, of the states of each row: pooled, rounded to
// float32, with normalize divided by its length. out.Stride is at least the states' Dim,
// and what lies beyond is zero; so is a row without tokens. infinite, a uint32, counts
// values that became infinite.
func (s *Set) Pool(c *cuda.Context, st *cuda.Stream, in States, how Pooling, normalize bool, out Matrix, infinite *cuda.Buffer) error {
	f := s.byElem["pool_"+typeOf(out.Elem)]
	switch {
	case f == nil || in.Elem != engine.F32 && in.Elem != engine.F16:
		return fmt.Errorf("kernels: no pooling of %v states to %v rows", in.Elem, out.Elem)
	case in.Dim > MostPooled:
		return fmt.Errorf("kernels: states of %d values, at most %d are pooled", in.Dim, MostPooled)
	}
	g := cuda.Geometry{Grid: [3]uint32{uint32(max(1, min(in.Rows, 8*s.sms)))}, Block: [3]uint32{256}, Shared: uint32(4 * in.Dim)}
	return c.Launch(f, g, st, cuda.Ptr(in.At), flag(in.Elem == engine.F16), cuda.Ptr(in.Lengths), cuda.Int(in.Rows), cuda.Int(in.Tokens), cuda.Int(in.Dim), cuda.Int(how), flag(normalize),
		cuda.Ptr(out.At), cuda.Int(out.Stride), cuda.Ptr(infinite))
}
