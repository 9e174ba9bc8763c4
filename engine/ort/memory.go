//go:build cgo

package ort

// #include <stdlib.h>
import "C"

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"encbench/engine"
)

// Heap is the allocator of machines without a GPU: memory of the C heap, which C
// may keep pointers to. The zero value is ready.
type Heap struct{}

var live atomic.Int64

// Live counts the blocks that Heap has given out and not got back.
func Live() int64 { return live.Load() }

// Alloc gives n zeroed bytes.
func (Heap) Alloc(n int) ([]byte, error) {
	p := C.calloc(1, C.size_t(max(n, 1)))
	if p == nil {
		return nil, fmt.Errorf("allocate %d bytes of C memory: out of memory", n)
	}
	live.Add(1)
	return unsafe.Slice((*byte)(p), n), nil
}

// Free takes back what Alloc gave.
func (Heap) Free(b []byte) {
	live.Add(-1)
	C.free(unsafe.Pointer(unsafe.SliceData(b)))
}

// buffers are a worker's inputs and output; the slices that its graph does not
// need are nil.
type buffers struct {
	ids32, mask32, types32, lengths []int32
	ids64, mask64, types64          []int64
	out                             []float32
	blocks                          [][]byte
}

func newBuffers(alloc engine.Allocator, g *Graph, tokens, rows int) (buffers, error) {
	var b buffers
	var errs []error
	for _, in := range g.Inputs {
		switch {
		case in.Role == Lengths:
			b.lengths = lay[int32](alloc, &b, rows, &errs)
		case in.Role == IDs && in.Int64:
			b.ids64 = lay[int64](alloc, &b, tokens, &errs)
		case in.Role == IDs:
			b.ids32 = lay[int32](alloc, &b, tokens, &errs)
		case in.Role == Mask && in.Int64:
			b.mask64 = lay[int64](alloc, &b, tokens, &errs)
		case in.Role == Mask:
			b.mask32 = lay[int32](alloc, &b, tokens, &errs)
		case in.Role == Types && in.Int64:
			b.types64 = lay[int64](alloc, &b, tokens, &errs)
		default:
			b.types32 = lay[int32](alloc, &b, tokens, &errs)
		}
	}
	values := rows * g.Dim
	if g.States {
		values = tokens * g.Dim
	}
	b.out = lay[float32](alloc, &b, values, &errs)
	if err := errors.Join(errs...); err != nil {
		b.free(alloc)
		return buffers{}, err
	}
	return b, nil
}

// lay allocates n elements and remembers the block.
func lay[T int32 | int64 | float32](alloc engine.Allocator, b *buffers, n int, errs *[]error) []T {
	var zero T
	block, err := alloc.Alloc(n * int(unsafe.Sizeof(zero)))
	if err != nil {
		*errs = append(*errs, err)
		return nil
	}
	b.blocks = append(b.blocks, block)
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(block))), n)
}

func (b *buffers) free(alloc engine.Allocator) {
	for _, block := range b.blocks {
		alloc.Free(block)
	}
	b.blocks = nil
}
