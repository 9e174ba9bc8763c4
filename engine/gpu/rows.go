//go:build cuda && linux && cgo && (amd64 || arm64)

package gpu

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"encbench/cuda"
	"encbench/engine"
	"encbench/kernels"
)

// block is an allocation of rows on the device.
type block struct {
	rows     *cuda.Buffer // as they are stored
	copies   *cuda.Buffer // in 16 bits; rows themselves where those are
	norms    *cuda.Buffer // float64
	scale    *cuda.Buffer // float32, of Cosine
	bias     *cuda.Buffer // float32, of L2
	n, room  int
	segments []segment
}

// segment is rows that were appended at a time: row at of the block is number base.
type segment struct {
	at   int
	base int64
}

// number is the number of row i of the block.
func (b *block) number(i int) int64 {
	low, high := 0, len(b.segments)
	for high-low > 1 {
		if mid := (low + high) / 2; b.segments[mid].at <= i {
			low = mid
		} else {
			high = mid
		}
	}
	s := b.segments[low]
	return s.base + int64(i-s.at)
}

func (b *block) buffers() []*cuda.Buffer {
	out := []*cuda.Buffer{b.rows, b.norms, b.scale, b.bias}
	if b.copies != b.rows {
		out = append(out, b.copies)
	}
	return out
}

// stride is the values of a row on the device: a multiple of 8.
func (s *Searcher) stride() int { return (s.opt.Dim + 7) / 8 * 8 }

// Append adds rows; see engine.Searcher. They are copied.
func (s *Searcher) Append(ctx context.Context, base int64, owner []int32, r engine.Rows) error {
	switch {
	case owner != nil:
		return fmt.Errorf("append rows %d on: several rows of a document are not searched on a device; use the processor", base)
	case r.Dim != s.opt.Dim:
		return fmt.Errorf("append rows %d on: expected %d values a row, found %d", base, s.opt.Dim, r.Dim)
	case r.Host == nil && r.N > 0:
		return fmt.Errorf("append rows %d on: rows on a device are taken by AppendDevice", base)
	case s.rows > 0 && r.Type != s.elem:
		return fmt.Errorf("append rows %d on: earlier rows are %v, these are %v", base, s.elem, r.Type)
	case base < s.next:
		return fmt.Errorf("append rows %d on: rows up to %d are there", base, s.next-1)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.N == 0 {
		return nil
	}
	if row, ok := finite(r); !ok {
		return fmt.Errorf("append row %d: it holds a value that is no finite number", base+int64(row))
	}
	return s.w.Do(func(c *cuda.Context) error {
		s.elem = r.Type
		for from := 0; from < r.N; {
			b, err := s.last(c)
			if err != nil {
				return err
			}
			n := min(r.N-from, b.room-b.n)
			if err := s.put(c, b, r, from, n); err != nil {
				return err
			}
			b.segments = append(b.segments, segment{b.n, base + int64(from)})
			b.n += n
			s.rows += int64(n)
			s.next = base + int64(from+n)
			from += n
		}
		return nil
	})
}

// finite gives the first row with a value that is no finite number.
func finite(r engine.Rows) (int, bool) {
	buf := make([]float32, r.Dim)
	for i := range r.N {
		for _, v := range r.Widen(buf, i) {
			if v-v != 0 {
				return i, false
			}
		}
	}
	return 0, true
}

// last gives a block that has room.
func (s *Searcher) last(c *cuda.Context) (*block, error) {
	if n := len(s.blocks); n > 0 && s.blocks[n-1].n < s.blocks[n-1].room {
		return s.blocks[n-1], nil
	}
	size := s.elem.Size() * s.stride()
	room := s.opt.BlockRows
	if room == 0 {
		room = max(1<<12, (256<<20)/size)
	}
	b := &block{room: room}
	var err error
	alloc := func(bytes int) *cuda.Buffer {
		if err != nil {
			return nil
		}
		var m *cuda.Buffer
		m, err = c.Alloc(int64(bytes))
		return m
	}
	b.rows = alloc(room * size)
	if b.copies = b.rows; s.elem == engine.F32 {
		b.copies = alloc(room * 2 * s.stride())
	}
	b.norms = alloc(8 * room)
	switch s.opt.Metric {
	case Cosine:
		b.scale = alloc(4 * room)
	case L2:
		b.bias = alloc(4 * room)
	}
	if err != nil {
		return nil, joinFree(c, err, b.buffers())
	}
	s.blocks = append(s.blocks, b)
	return b, nil
}

// put copies n rows of r, from row from on, behind those of b.
func (s *Searcher) put(c *cuda.Context, b *block, r engine.Rows, from, n int) error {
	size, stride := s.elem.Size(), s.stride()
	packed := make([]byte, n*stride*size)
	for i := range n {
		at := (from + i) * r.Stride * size
		copy(packed[i*stride*size:], r.Host[at:at+r.Dim*size])
	}
	part := func(m *cuda.Buffer, each int) *cuda.Buffer { return m.Slice(int64(b.n*each), int64(n*each)) }
	rows := kernels.Matrix{At: part(b.rows, stride*size), Rows: n, Dim: stride, Stride: stride, Elem: s.elem}
	if err := c.ToDevice(rows.At, packed, s.stream); err != nil {
		return err
	}
	counts, err := c.Alloc(8)
	if err != nil {
		return err
	}
	norms := part(b.norms, 8)
	raw := make([]byte, 8*n)
	found := make([]byte, 8)
	err = func() error {
		if err := c.Fill(counts, 0, s.stream); err != nil {
			return err
		}
		if err := s.set.Norms(c, s.stream, rows, norms, counts.Slice(0, 4)); err != nil {
			return err
		}
		if s.elem == engine.F32 {
			copies := kernels.Matrix{At: part(b.copies, 2*stride), Rows: n, Dim: stride, Stride: stride, Elem: engine.F16}
			if err := s.set.Convert(c, s.stream, rows, copies, counts.Slice(4, 4)); err != nil {
				return err
			}
		}
		if err := c.ToHost(raw, norms, s.stream); err != nil {
			return err
		}
		if err := c.ToHost(found, counts, s.stream); err != nil {
			return err
		}
		return c.Sync(s.stream)
	}()
	if err != nil {
		return joinFree(c, err, []*cuda.Buffer{counts})
	}
	if err := c.Free(counts); err != nil {
		return err
	}
	if binary.LittleEndian.Uint32(found[4:]) > 0 {
		s.measure.copies = rounding{math.Inf(1), 0} // a copy that is infinite bounds nothing
	}
	return s.measured(c, b, raw, n)
}

// measured takes over the lengths of rows, and makes what the metric takes of them.
func (s *Searcher) measured(c *cuda.Context, b *block, raw []byte, n int) error {
	made := make([]byte, 4*n)
	for i := range n {
		norm := math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:]))
		s.measure.most = max(s.measure.most, norm)
		if norm > 0 && (s.measure.least == 0 || norm < s.measure.least) {
			s.measure.least = norm
		}
		v := float32(0)
		switch {
		case s.opt.Metric == Cosine && norm > 0:
			v = float32(1 / norm)
		case s.opt.Metric == L2:
			v = float32(-norm * norm / 2)
		}
		binary.LittleEndian.PutUint32(made[4*i:], math.Float32bits(v))
	}
	to := b.scale
	if s.opt.Metric == L2 {
		to = b.bias
	}
	if to == nil {
		return nil
	}
	if err := c.ToDevice(to.Slice(int64(4*b.n), int64(4*n)), made, s.stream); err != nil {
		return err
	}
	return c.Sync(s.stream)
}
