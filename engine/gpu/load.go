//go:build cuda && linux && cgo && (amd64 || arm64)

package gpu

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"encbench/cuda"
	"encbench/engine"
	"encbench/kernels"
)

// loader is what brings rows of the host to the device: two page-locked buffers, one is
// filled while the other is copied, and where their rows lie before they are converted.
type loader struct {
	stages [2]stage
	turn   int
	raw    *cuda.Buffer
	counts *cuda.Buffer // uint32: rows that are not finite, values too large, copies too large
}

type stage struct {
	memory      *hostMemory
	began, done *cuda.Event
	bytes       int64 // of the copy that runs; 0 for none
}

// errRefused: a row is not finite, or too large for the type that it is stored in.
var errRefused = errors.New("a row cannot be stored")

// open makes room for so many bytes at a time.
func (l *loader) open(c *cuda.Context, s *shard, bytes int) (err error) {
	if l.counts == nil {
		if l.counts, err = c.Alloc(12); err != nil {
			return err
		}
	}
	if bytes == 0 || l.raw != nil && l.raw.Bytes >= int64(bytes) {
		return nil
	}
	if l.raw != nil {
		if err := c.Free(l.raw); err != nil {
			return err
		}
		l.raw = nil
	}
	for i := range l.stages {
		st := &l.stages[i]
		if err := st.memory.free(c); err != nil {
			return err
		}
		st.memory = nil
		if st.memory, err = s.hostMemory(c, bytes); err != nil {
			return err
		}
		for _, e := range []**cuda.Event{&st.began, &st.done} {
			if *e == nil {
				if *e, err = c.NewEvent(true); err != nil {
					return err
				}
			}
		}
	}
	l.raw, err = c.Alloc(int64(bytes))
	return err
}

func (l *loader) free(c *cuda.Context) error {
	var errs []error
	for _, st := range l.stages {
		errs = append(errs, st.memory.free(c))
		for _, e := range []*cuda.Event{st.began, st.done} {
			if e != nil {
				errs = append(errs, c.Free(e))
			}
		}
	}
	for _, b := range []*cuda.Buffer{l.raw, l.counts} {
		if b != nil {
			errs = append(errs, c.Free(b))
		}
	}
	return errors.Join(errs...)
}

// settle waits for the copy of a stage and adds its time.
func (s *shard) settle(c *cuda.Context, st *stage) error {
	if st.bytes == 0 {
		return nil
	}
	if err := c.SyncEvent(st.done); err != nil {
		return err
	}
	took, err := c.Elapsed(st.began, st.done)
	s.loaded.Bytes += st.bytes
	s.loaded.Time += took
	st.bytes = 0
	return err
}

// span is rows of a block that were loaded.
type span struct {
	block *block
	at, n int64 // within the block
}

// pending is what load made, until it is appended or forgotten.
type pending struct {
	n       int64
	measure measure
	bad     int64 // the first row that is not finite, of rows on a device; −1 for none
}

// load brings n rows, from row from on, behind those of the shard. They are not appended
// before commit.
func (s *shard) load(ctx context.Context, r engine.Rows, from, n int) (p pending, err error) {
	p = pending{measure: s.measure, bad: -1}
	err = s.w.Do(func(c *cuda.Context) (err error) {
		defer func() {
			if err != nil { // what runs still uses r and the buffers
				_ = c.Sync(s.work)
				for i := range s.loader.stages {
					s.loader.stages[i].bytes = 0
				}
			}
		}()
		if !s.planned {
			if err := s.layout(c, s.opt.Rows); err != nil {
				return err
			}
		}
		rowSize, most := r.Dim*s.given(r).Size(), n
		if r.Host != nil {
			limit := s.opt.stage
			if limit == 0 {
				limit = stageBytes
			}
			most = max(1, min(n, limit/rowSize))
			rowSize *= most
		} else {
			rowSize = 0
		}
		if err := s.loader.open(c, s, rowSize); err != nil {
			return s.explain(err)
		}
		if err := c.Fill(s.loader.counts, 0, s.work); err != nil {
			return err
		}
		var spans []span
		for p.n < int64(n) {
			if err := ctx.Err(); err != nil {
				return err
			}
			at := s.rows + p.n
			b, err := s.block(c, at)
			if err != nil {
				return s.explain(err)
			}
			m := min(int64(n)-p.n, b.first+b.room-at, int64(most))
			part := span{b, at - b.first, m}
			if err := s.put(c, part, r, from+int(p.n)); err != nil {
				return err
			}
			if k := len(spans) - 1; k >= 0 && spans[k].block == b {
				spans[k].n += m
			} else {
				spans = append(spans, part)
			}
			p.n += m
		}
		for i := range s.loader.stages {
			if err := s.settle(c, &s.loader.stages[i]); err != nil {
				return err
			}
		}
		return s.measured(c, &p, spans)
	})
	return p, err
}

// given is the type in which rows come to the device. What the device cannot convert is
// widened first.
func (s *shard) given(r engine.Rows) engine.Elem {
	if r.Host != nil && r.Type != s.elem {
		return engine.F32
	}
	return r.Type
}

// put brings the rows of a span, from row from of r on, and what belongs to them.
func (s *shard) put(c *cuda.Context, part span, r engine.Rows, from int) error {
	wide, n := stride(s.opt.Dim), int(part.n)
	to := &place{}
	if part.block.on != nil {
		to = part.block.on.slice(part.at, part.n)
	} else {
		to = s.slots[0].at.slice(0, part.n)
	}
	raw := kernels.Matrix{Rows: n, Dim: r.Dim, Stride: r.Stride, Elem: s.given(r)}
	if r.Host != nil {
		if err := s.send(c, r, from, n); err != nil {
			return err
		}
		raw.At, raw.Stride = s.loader.raw, r.Dim
	} else {
		size := int64(r.Type.Size())
		raw.At = cuda.View(r.Dev+uintptr(from*r.Stride)*uintptr(size), (int64(n-1)*int64(r.Stride)+int64(r.Dim))*size)
	}
	counts := s.loader.counts
	rows := kernels.Matrix{At: to.rows, Rows: n, Dim: wide, Stride: wide, Elem: s.elem}
	err := errors.Join(s.set.Convert(c, s.work, raw, rows, counts.Slice(4, 4)), s.set.Norms(c, s.work, rows, to.norms, counts.Slice(0, 4)))
	if s.elem == engine.F32 {
		copies := kernels.Matrix{At: to.copies, Rows: n, Dim: wide, Stride: wide, Elem: engine.F16}
		err = errors.Join(err, s.set.Convert(c, s.work, rows, copies, counts.Slice(8, 4)))
	}
	if h := part.block.host; h != nil {
		size := int64(wide * s.elem.Size())
		err = errors.Join(err, c.ToHost(h.rows[part.at*size:(part.at+part.n)*size], to.rows, s.work),
			c.ToHost(h.norms[8*part.at:8*(part.at+part.n)], to.norms, s.work))
	}
	return err
}

// send brings rows of the host to the raw buffer, one behind the other.
func (s *shard) send(c *cuda.Context, r engine.Rows, from, n int) error {
	st := &s.loader.stages[s.loader.turn%2]
	s.loader.turn++
	if err := s.settle(c, st); err != nil {
		return err
	}
	size := r.Dim * s.given(r).Size()
	data := st.memory.data[:n*size]
	var buf []float32
	if s.given(r) != r.Type {
		buf = make([]float32, r.Dim)
	}
	for i := range n {
		row := data[i*size : (i+1)*size]
		if buf == nil {
			copy(row, r.Bytes(from+i))
			continue
		}
		for d, v := range r.Widen(buf, from+i) {
			binary.LittleEndian.PutUint32(row[4*d:], math.Float32bits(v))
		}
	}
	if err := c.Record(st.began, s.work); err != nil {
		return err
	}
	if err := c.ToDevice(s.loader.raw, data, s.work); err != nil {
		return err
	}
	st.bytes = int64(len(data))
	return c.Record(st.done, s.work)
}

// measured takes over the lengths of what was loaded, makes what the metric takes of them,
// and refuses rows that are not finite.
func (s *shard) measured(c *cuda.Context, p *pending, spans []span) error {
	counts := make([]byte, 12)
	if err := c.ToHost(counts, s.loader.counts, s.work); err != nil {
		return err
	}
	at := int64(0)
	for _, part := range spans {
		raw := make([]byte, 8*part.n)
		if part.block.host == nil {
			if err := c.ToHost(raw, part.block.on.norms.Slice(8*part.at, 8*part.n), s.work); err != nil {
				return err
			}
		}
		if err := c.Sync(s.work); err != nil {
			return err
		}
		if h := part.block.host; h != nil {
			raw = h.norms[8*part.at : 8*(part.at+part.n)]
		}
		made := make([]byte, 4*part.n)
		for i := range part.n {
			norm := math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:]))
			if norm-norm != 0 && p.bad < 0 {
				p.bad = at + i
			}
			binary.LittleEndian.PutUint32(made[4*i:], math.Float32bits(p.measure.take(norm)))
		}
		at += part.n
		if s.opt.Metric == engine.InnerProduct {
			continue
		}
		if h := part.block.host; h != nil {
			copy(h.extra[4*part.at:], made)
		} else if err := c.ToDevice(part.block.on.extra.Slice(4*part.at, 4*part.n), made, s.work); err != nil {
			return err
		}
	}
	if err := c.Sync(s.work); err != nil {
		return err
	}
	if p.bad >= 0 || binary.LittleEndian.Uint32(counts) > 0 || binary.LittleEndian.Uint32(counts[4:]) > 0 {
		return errRefused
	}
	if binary.LittleEndian.Uint32(counts[8:]) > 0 {
		p.measure.copies = rounding{math.Inf(1), 0} // a copy that is infinite bounds nothing
	}
	return nil
}

// commit appends what was loaded: the next rows are number base, after index rows of all
// devices.
func (s *shard) commit(p pending, base, index int64, owner []int32) {
	s.measure = p.measure
	if k := len(s.segments) - 1; k >= 0 {
		g := &s.segments[k]
		n := s.rows - g.at
		if g.base+n == base && g.index+n == index && (g.owner == nil) == (owner == nil) {
			g.owner = append(g.owner, owner...)
			s.rows += p.n
			return
		}
	}
	if owner != nil {
		owner = append(make([]int32, 0, len(owner)), owner...)
	}
	s.segments = append(s.segments, segment{s.rows, base, index, owner})
	s.rows += p.n
}

// layout plans the device's memory for the rows that are expected; 0 is not known.
func (s *shard) layout(c *cuda.Context, rows int64) error {
	free, _, err := c.Memory()
	if err != nil {
		return err
	}
	free += s.stays * s.plan.RowBytes
	if s.scratch != nil {
		free += s.scratch.Bytes
	}
	if s.loader.raw != nil {
		free += s.loader.raw.Bytes
	}
	n := s.need(free)
	n.Rows = rows
	plan, err := Layout(n)
	if err != nil {
		return fmt.Errorf("plan the memory: %w", err)
	}
	s.plan, s.planned = plan, true
	return nil
}

// explain adds the plan to an error of a device without memory.
func (s *shard) explain(err error) error {
	if s.planned && cuda.CodeOf(err) == cuda.CodeOutOfMemory {
		return fmt.Errorf("%w; the plan of the device's memory was: %s", err, s.plan)
	}
	return err
}
