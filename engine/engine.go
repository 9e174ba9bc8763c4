// Package engine is the contract between the things that make batches of token
// ids, the things that turn them into vectors, and the things that search them.
// It holds integers and slices only: no text, no vendor types, standard library
// only. Backends live in the packages below it and never import each other.
package engine

import (
	"context"
	"unsafe"
)

// Batch is a group of rows (chunks) on their way through an encoder. Rows lie
// end to end in IDs with their special tokens in place and without padding:
// padding and physical micro-batches belong to the backend.
type Batch struct {
	IDs   []int32 // token ids of all rows, row r is IDs[Off[r]:Off[r+1]]
	Types []uint8 // token types, parallel to IDs; nil means all 0
	Off   []int32 // rows+1 offsets into IDs
	Base  int64   // global number of row 0
}

// Rows gives the number of rows in the batch.
func (b *Batch) Rows() int {
	if len(b.Off) == 0 {
		return 0
	}
	return len(b.Off) - 1
}

// Row gives the ids of row r, a view into the batch.
func (b *Batch) Row(r int) []int32 { return b.IDs[b.Off[r]:b.Off[r+1]] }

// Len gives the number of tokens in row r, special tokens included.
func (b *Batch) Len(r int) int { return int(b.Off[r+1] - b.Off[r]) }

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	b.IDs, b.Types, b.Off, b.Base = b.IDs[:0], b.Types[:0], append(b.Off[:0], 0), 0
	if len(b.Types) == 0 {
		b.Types = nil
	}
}

// Work is what a backend really issued for a batch. The padding ledger and HFU
// are computed from it, never from what was asked for.
type Work struct {
	Real     int64   // tokens of the rows
	RealSq   int64   // sum over rows of length²
	Padded   int64   // tokens issued: sum over micro-batches of rows × longest
	PaddedSq int64   // sum over micro-batches of rows × longest²
	FLOP     float64 // multiply-adds × 2 issued, padding and masked attention included
	Groups   int     // micro-batches issued
	// BucketNS is worker time in nanoseconds by length bucket of the rows (see
	// Bucket), padding charged to the row that was padded, for projecting a sample
	// to its corpus. Concurrent workers add up.
	BucketNS [Buckets]int64
}

// Add accumulates w2 into w.
func (w *Work) Add(w2 Work) {
	w.Real += w2.Real
	w.RealSq += w2.RealSq
	w.Padded += w2.Padded
	w.PaddedSq += w2.PaddedSq
	w.FLOP += w2.FLOP
	w.Groups += w2.Groups
	for i := range w.BucketNS {
		w.BucketNS[i] += w2.BucketNS[i]
	}
}

// Buckets is the number of length buckets that rows are counted in.
const Buckets = 21

// Bucket gives the length bucket of a row of n tokens: buckets 0 to 15 hold up
// to 32, 64, … 512 tokens, buckets 16 to 19 up to 1,024, 2,048, 4,096 and 8,192,
// and bucket 20 holds what is longer.
func Bucket(n int) int {
	switch {
	case n <= 0:
		return 0
	case n <= 512:
		return (n - 1) / 32
	}
	for b, top := 16, 1024; b < Buckets-1; b, top = b+1, 2*top {
		if n <= top {
			return b
		}
	}
	return Buckets - 1
}

// BucketTop gives the most tokens that bucket b holds; the last bucket has no
// top and gives 0.
func BucketTop(b int) int {
	switch {
	case b < 16:
		return 32 * (b + 1)
	case b < Buckets-1:
		return 512 << (b - 15)
	}
	return 0
}

// Elem is the element type of a block of rows.
type Elem uint8

// Element types of rows.
const (
	F32 Elem = iota
	F16
	BF16
)

// Rows is a view of encoded vectors. It does not own its memory.
type Rows struct {
	N, Dim int
	Stride int // elements between the starts of two rows
	Type   Elem
	Host   []byte  // nil when the rows live on a device
	Dev    uintptr // opaque device handle
	Device int     // -1 = host
}

// HostRows makes a view of float32 vectors in host memory, dim values each.
func HostRows(values []float32, dim int) Rows {
	r := Rows{N: len(values) / dim, Dim: dim, Stride: dim, Type: F32, Device: -1}
	if len(values) > 0 {
		r.Host = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), 4*len(values))
	}
	return r
}

// Float32 gives one row as float32 values, a view into Host. It panics when the
// rows are not float32 on the host.
func (r Rows) Float32(row int) []float32 {
	if r.Type != F32 || r.Host == nil {
		panic("engine: Float32 of rows that are not float32 on the host")
	}
	all := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(r.Host))), len(r.Host)/4)
	start := row * r.Stride
	return all[start : start+r.Dim : start+r.Dim]
}

// Encoder turns batches of token ids into one vector a row. Asynchrony is part
// of the contract: Submit returns at once, Collect waits.
type Encoder interface {
	// Dim is the number of values in a vector.
	Dim() int
	// Slots is the number of batches that may be in flight; 2 = double buffered.
	Slots() int
	// Submit starts the encoding of b in a free slot. b belongs to the slot until
	// its Collect.
	Submit(slot int, b *Batch) error
	// Collect waits for the slot's batch and gives its rows, in the batch's order,
	// valid until the slot's next Submit.
	Collect(ctx context.Context, slot int) (Rows, Work, error)
	// Close frees everything; nothing may be in flight.
	Close() error
}

// Allocator gives memory outside the Go heap: page-locked on GPU builds, plain
// C memory elsewhere.
type Allocator interface {
	Alloc(n int) ([]byte, error)
	Free(b []byte)
}
