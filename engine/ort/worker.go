//go:build cgo

package ort

import (
	"fmt"
	"time"

	"encbench/engine"
)

// worker calls the session, one group at a time, from its own buffers.
type worker struct {
	enc     *Encoder
	session *session
	runs    map[shape]*run
	ids     int // capacity of the buffers, in tokens and rows
	rows    int
	mem     buffers
}

// maxRuns bounds the cached shapes of a worker; a bound run costs about 1 kB.
const maxRuns = 8192

func (w *worker) do(j job) {
	s := j.slot
	var work engine.Work
	var err error
	if !s.cancel.Load() {
		start := time.Now()
		work, err = w.encode(s, j.g)
		// In a padded group every row costs the same.
		s.charge(&work, j.g, int64(time.Since(start))/int64(j.g.n))
	}
	if s.count(work, err) {
		s.done <- struct{}{}
	}
}

func (w *worker) encode(s *slot, g group) (engine.Work, error) {
	sh := shape{g.n, g.longest}
	r, err := w.run(sh)
	if err != nil {
		return engine.Work{}, err
	}
	order := s.of(g)
	for i, row := range order {
		ids := s.batch.Row(int(row))
		w.fill(i*g.longest, g.longest, ids, s.batch, row)
		if w.mem.lengths != nil {
			w.mem.lengths[i] = int32(len(ids))
		}
	}
	work := w.enc.graph.work(s.batch, order, sh)
	if err := w.session.run(r); err != nil {
		return work, fmt.Errorf("encode %d rows of %d tokens: %w", g.n, g.longest, err)
	}
	dim := w.enc.graph.Dim
	for i, row := range order {
		dst := s.out.Float32(int(row))
		if w.enc.graph.States {
			states := w.mem.out[i*g.longest*dim : (i+1)*g.longest*dim]
			pool(dst, states, s.batch.Len(int(row)), w.enc.graph.Pooling)
		} else {
			copy(dst, w.mem.out[i*dim:(i+1)*dim])
		}
		if w.enc.graph.Normalize {
			normalize(dst)
		}
		if !finite(dst) {
			return work, fmt.Errorf("row %d: %w", s.batch.Base+int64(row), ErrNotFinite)
		}
	}
	return work, nil
}

// fill writes one row's inputs at token position at, padded to width.
func (w *worker) fill(at, width int, ids []int32, b *engine.Batch, row int32) {
	pad := w.enc.graph.Pad
	if dst := w.mem.ids32; dst != nil {
		copy(dst[at:], ids)
		for i := at + len(ids); i < at+width; i++ {
			dst[i] = pad
		}
	}
	if dst := w.mem.ids64; dst != nil {
		for i, id := range ids {
			dst[at+i] = int64(id)
		}
		for i := at + len(ids); i < at+width; i++ {
			dst[i] = int64(pad)
		}
	}
	fillOnes(w.mem.mask32, at, width, len(ids))
	fillOnes(w.mem.mask64, at, width, len(ids))
	var types []uint8
	if b.Types != nil {
		types = b.Types[b.Off[row]:b.Off[row+1]]
	}
	fillTypes(w.mem.types32, at, width, types)
	fillTypes(w.mem.types64, at, width, types)
}

func fillOnes[T int32 | int64](dst []T, at, width, ones int) {
	if dst == nil {
		return
	}
	for i := range width {
		if i < ones {
			dst[at+i] = 1
		} else {
			dst[at+i] = 0
		}
	}
}

func fillTypes[T int32 | int64](dst []T, at, width int, types []uint8) {
	if dst == nil {
		return
	}
	clear(dst[at : at+width])
	for i, t := range types {
		dst[at+i] = T(t)
	}
}

// run gives the bound run of a shape, making it the first time.
func (w *worker) run(sh shape) (*run, error) {
	if r := w.runs[sh]; r != nil {
		return r, nil
	}
	if sh.rows*sh.len > w.ids || sh.rows > w.rows || len(w.runs) >= maxRuns {
		w.free()
		w.ids = max(w.ids, sh.rows*sh.len, GroupTokens)
		w.rows = max(w.rows, sh.rows)
		var err error
		if w.mem, err = newBuffers(w.enc.alloc, &w.enc.graph, w.ids, w.rows); err != nil {
			w.ids, w.rows = 0, 0
			return nil, err
		}
	}
	r, err := w.session.bind(&w.enc.graph, &w.mem, sh)
	if err != nil {
		return nil, err
	}
	w.runs[sh] = r
	return r, nil
}

func (w *worker) free() {
	for _, r := range w.runs {
		r.destroy()
	}
	clear(w.runs)
	w.mem.free(w.enc.alloc)
	w.mem = buffers{}
}
