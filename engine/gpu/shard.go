//go:build cuda && linux && cgo && (amd64 || arm64)

package gpu

import (
	"errors"
	"fmt"
	"sort"

	"encbench/cuda"
	"encbench/engine"
	"encbench/kernels"
)

// shard is the rows of one device.
type shard struct {
	opt    Options
	of     int // shards of the search
	w      *cuda.Worker
	set    *kernels.Set
	work   *cuda.Stream   // kernels, and copies of what they take and give
	feed   *cuda.Stream   // rows that are streamed
	times  [3]*cuda.Event // of what the device does: its begin, its end, results on the host
	marked bool           // the begin is noted

	planned bool
	plan    Plan
	elem    engine.Elem // as rows are stored
	blocks  []*block
	slots   []*slot
	scratch *cuda.Buffer // of the passes
	results *hostMemory  // what passes bring
	loader  loader

	// Rows are numbered from 0 on in the order in which they came: their places, which are
	// the rows of the kernels' keys. Rows beyond rows are there, but not appended yet.
	rows     int64
	stays    int64 // places that lie on the device: the first ones
	segments []segment
	measure  measure
	stats    Stats // of the last search
	loaded   Transfer
	warnings []string
	unlocked int // allocations that could not be page-locked
}

// segment is rows that were appended at a time and have numbers in a row.
type segment struct {
	at    int64   // the place of the first
	base  int64   // its number
	index int64   // how many rows of all devices were appended before it
	owner []int32 // nil where each row is a document of its own
}

// hit is a row of a query's answer.
type hit struct {
	score    float32
	row      int64 // its number
	document int64 // negative where nobody named it
}

// hit gives the row of a key.
func (s *shard) hit(key uint64) hit {
	score, place := kernels.Unkey(key)
	at := int64(place)
	g := &s.segments[sort.Search(len(s.segments), func(i int) bool { return s.segments[i].at > at })-1]
	h := hit{score, g.base + at - g.at, -1 - (g.index + at - g.at)}
	if g.owner != nil {
		h.document = int64(g.owner[at-g.at])
	}
	return h
}

// place is rows on the device with what belongs to them, in parallel.
type place struct {
	rows   *cuda.Buffer // as they are stored, stride values each
	copies *cuda.Buffer // in 16 bits; rows themselves where those are
	norms  *cuda.Buffer // float64
	extra  *cuda.Buffer // float32: the scale of Cosine, the bias of L2; nil for others
}

// block is rows that lie together: on the device, or on the host.
type block struct {
	first, room int64
	on          *place // nil for a block on the host
	host        *hostBlock
}

// hostBlock is a block on the host: its rows, norms and extra, one after another.
type hostBlock struct {
	memory             *hostMemory
	rows, norms, extra []byte
}

// hostMemory is memory of the host, page-locked where it can be.
type hostMemory struct {
	data   []byte
	pinned *cuda.Pinned // nil where it is not
}

// hostMemory allocates. Where page-locking is refused it takes other memory, and warns.
func (s *shard) hostMemory(c *cuda.Context, bytes int) (*hostMemory, error) {
	p, err := c.AllocHost(bytes)
	if err == nil {
		return &hostMemory{p.Data, p}, nil
	}
	if e := (*cuda.Error)(nil); !errors.As(err, &e) || e.Sticky() {
		return nil, err
	}
	if s.unlocked++; s.unlocked > 1 {
		return &hostMemory{data: make([]byte, bytes)}, nil // it was said before
	}
	s.warn("%v; other memory is taken: copies of it are slower and run beside no search. A higher limit of locked memory (ulimit -l) or more free memory avoids that", err)
	return &hostMemory{data: make([]byte, bytes)}, nil
}

func (s *shard) warn(format string, args ...any) {
	s.warnings = append(s.warnings, fmt.Sprintf("search on device %d: ", s.w.Info().Ordinal)+fmt.Sprintf(format, args...))
}

func (h *hostMemory) free(c *cuda.Context) error {
	if h == nil || h.pinned == nil {
		return nil
	}
	return c.Free(h.pinned)
}

// openShard makes the shard of a device without rows.
func openShard(w *cuda.Worker, opt Options, of int) (*shard, error) {
	s := &shard{opt: opt, of: of, w: w}
	s.measure = measure{dim: stride(opt.Dim), metric: opt.Metric}
	err := w.Do(func(c *cuda.Context) (err error) {
		if s.set, err = kernels.LoadVariant(c, opt.Variant); err != nil {
			return err
		}
		for _, to := range []**cuda.Stream{&s.work, &s.feed} {
			if *to, err = c.NewStream(); err != nil {
				return errors.Join(err, s.free(c))
			}
		}
		for i := range s.times {
			if s.times[i], err = c.NewEvent(true); err != nil {
				return errors.Join(err, s.free(c))
			}
		}
		return nil
	})
	return s, err
}

// close frees everything on the device.
func (s *shard) close() error { return s.w.Do(s.free) }

func (s *shard) free(c *cuda.Context) error {
	var errs []error
	for _, st := range []*cuda.Stream{s.work, s.feed} {
		if st != nil { // first: what runs may use what is freed after it; faults were told before
			_ = c.Sync(st)
			errs = append(errs, c.Free(st))
		}
	}
	for _, b := range s.blocks {
		errs = append(errs, b.on.free(c))
		if b.host != nil {
			errs = append(errs, b.host.memory.free(c))
		}
	}
	for _, sl := range s.slots {
		errs = append(errs, sl.free(c))
	}
	errs = append(errs, s.loader.free(c), s.results.free(c))
	for _, e := range s.times {
		if e != nil {
			errs = append(errs, c.Free(e))
		}
	}
	if s.scratch != nil {
		errs = append(errs, c.Free(s.scratch))
	}
	errs = append(errs, s.set.Free(c))
	*s = shard{opt: s.opt, w: s.w, stats: s.stats, plan: s.plan, loaded: s.loaded, warnings: s.warnings}
	return errors.Join(errs...)
}

// newPlace allocates room for rows. What it allocated before an error is freed.
func (s *shard) newPlace(c *cuda.Context, room int64) (*place, error) {
	wide := int64(stride(s.opt.Dim))
	p := &place{}
	parts := []struct {
		to   **cuda.Buffer
		each int64
	}{{&p.rows, wide * int64(s.elem.Size())}, {&p.norms, 8}}
	if s.elem == engine.F32 {
		parts = append(parts, struct {
			to   **cuda.Buffer
			each int64
		}{&p.copies, 2 * wide})
	}
	if s.opt.Metric != engine.InnerProduct {
		parts = append(parts, struct {
			to   **cuda.Buffer
			each int64
		}{&p.extra, 4})
	}
	for _, part := range parts {
		var err error
		if *part.to, err = c.Alloc(room * part.each); err != nil {
			return nil, errors.Join(err, p.free(c))
		}
	}
	if s.elem != engine.F32 {
		p.copies = p.rows
	}
	return p, nil
}

func (p *place) free(c *cuda.Context) error {
	if p == nil {
		return nil
	}
	return c.Free(p.rows, p.norms, p.extra, p.copies) // copies may be rows: that is freed once
}

// slice is n rows of the place from row at on.
func (p *place) slice(at, n int64) *place {
	room := p.norms.Bytes / 8
	part := func(b *cuda.Buffer) *cuda.Buffer {
		if b == nil {
			return nil
		}
		each := b.Bytes / room
		return b.Slice(at*each, n*each)
	}
	return &place{part(p.rows), part(p.copies), part(p.norms), part(p.extra)}
}

// block gives the block that holds a place, which is the next one behind all at most.
func (s *shard) block(c *cuda.Context, at int64) (*block, error) {
	i := sort.Search(len(s.blocks), func(i int) bool { return s.blocks[i].first+s.blocks[i].room > at })
	if i < len(s.blocks) {
		return s.blocks[i], nil
	}
	b := &block{first: at}
	if at >= s.plan.Stay && s.plan.Slots == 0 {
		// More rows come than were expected.
		if err := s.layout(c, 0); err != nil {
			return nil, err
		}
	}
	if at < s.plan.Stay {
		// The rows that are expected, or as many as there are already.
		b.room = max(s.plan.RowsEach-at, leastBlock, at)
		if s.opt.BlockRows > 0 {
			b.room = int64(s.opt.BlockRows)
		}
		b.room = min(b.room, s.plan.Stay-at)
		on, err := s.newPlace(c, b.room)
		if err == nil {
			b.on = on
			s.blocks, s.stays = append(s.blocks, b), at+b.room
			return b, nil
		}
		if cuda.CodeOf(err) != cuda.CodeOutOfMemory {
			return nil, err
		}
		s.plan.Stay = at
		if s.plan.Slots == 0 {
			s.plan.Slots = 2
			s.plan.BlockRows = min(s.plan.BlockRows, max(leastBlock, mostBlock/s.plan.RowBytes))
		}
		s.warn("%v; rows from here on are streamed. The plan was: %s", err, s.plan)
	}
	b.room = s.plan.BlockRows
	if err := s.openSlots(c); err != nil {
		return nil, fmt.Errorf("slots for streamed rows: %w; the plan was: %s", err, s.plan)
	}
	size, extra := s.elem.Size()*stride(s.opt.Dim), 0
	if s.opt.Metric != engine.InnerProduct {
		extra = 4
	}
	m, err := s.hostMemory(c, int(b.room)*(size+8+extra))
	if err != nil {
		return nil, err
	}
	rows, norms := int(b.room)*size, int(b.room)*8
	b.host = &hostBlock{m, m.data[:rows], m.data[rows : rows+norms], m.data[rows+norms:]}
	s.blocks = append(s.blocks, b)
	return b, nil
}

// appended is how many rows of the block are appended.
func (s *shard) appended(b *block) int64 { return max(0, min(b.room, s.rows-b.first)) }
