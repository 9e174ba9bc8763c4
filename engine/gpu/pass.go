//go:build cuda && linux && cgo && (amd64 || arm64)

package gpu

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"time"

	"encbench/cuda"
	"encbench/engine"
	"encbench/kernels"
)

// wanted is a query, and the key of the last row that it has been given; below that the
// next ones are wanted. 0 is none yet.
type wanted struct {
	query int
	after uint64
}

// found is what a pass gives for a query.
type found struct {
	asked asked
	keys  []uint64 // scores by the rule, best first
	floor uint64   // rows below this key were left out; kernels.Lowest where none were
}

// certain says whether the keys are the best k.
func (f *found) certain(m measure, k int) bool {
	switch {
	case f.floor <= kernels.Lowest:
		return true
	case len(f.keys) < k:
		return false
	}
	floor, _ := kernels.Unkey(f.floor)
	if uint32(f.floor) == 0 { // rows of this score were all kept
		floor = math.Nextafter32(floor, float32(math.Inf(-1)))
	}
	worst, _ := kernels.Unkey(f.keys[k-1])
	return m.certain(f.asked, floor, worst)
}

// passing is a pass over all rows.
type passing struct {
	ctx          context.Context
	which        []wanted
	k, most      int
	take         int  // keys that are brought of each block
	rule         bool // score all rows by the rule
	wide, narrow kernels.Matrix
	norms        *cuda.Buffer
	lists        kernels.Lists
	redo, again  *cuda.Buffer
	best         *cuda.Buffer
	ignored      *cuda.Buffer
	found        []found
	seen         int64  // rows that the thresholds are from
	keys, floors []byte // on the host
	flag         []byte
}

// pass goes over all rows once: by the tensor cores, or with rule by the rule alone. Each
// query gets the best k rows of those that it was not given before, or fewer.
func (s *shard) pass(ctx context.Context, q engine.Rows, which []wanted, k, most int, rule bool) (out []found, err error) {
	begin := time.Now()
	defer func() { s.stats.Wall += time.Since(begin) }()
	err = s.w.Do(func(c *cuda.Context) (err error) {
		p := &passing{ctx: ctx, which: which, k: k, most: most, take: k, rule: rule}
		defer func() {
			// What runs uses memory that the next pass may free or fill.
			if late := errors.Join(c.Sync(s.feed), c.Sync(s.work)); err == nil {
				err = late
			}
		}()
		if err := s.begin(c, p, q); err != nil {
			return err
		}
		var streamed []*block
		for _, b := range s.blocks {
			if b.host != nil && s.appended(b) > 0 {
				streamed = append(streamed, b)
			}
		}
		begun := min(len(s.slots), len(streamed)) // under the search of those that stay
		for i := range begun {
			if err := s.fetch(c, s.slots[i], streamed[i]); err != nil {
				return err
			}
		}
		for _, b := range s.blocks {
			if n := s.appended(b); b.on != nil && n > 0 {
				if err := s.over(c, p, b.on.slice(0, n), b.first, n, false); err != nil {
					return err
				}
			}
		}
		if err := s.stream(c, p, streamed, begun); err != nil {
			return err
		}
		out = p.found
		return nil
	})
	return out, err
}

// begin puts the queries on the device and lays the pass's memory out.
func (s *shard) begin(c *cuda.Context, p *passing, q engine.Rows) error {
	n, wide := len(p.which), stride(s.opt.Dim)
	s.marked = false // a pass that failed may have left it
	p.found = make([]found, n)
	for i := range p.found {
		p.found[i].floor = kernels.Lowest
	}
	_, room := s.opt.limits()
	ceilings := slices.ContainsFunc(p.which, func(w wanted) bool { return w.after > 0 })
	if ceilings && !p.rule {
		p.take = p.most // some may have been given before
	}
	parts, err := s.carve(c, 4*n*wide, 2*n*wide, 8*n, 8*n, 8*n, 8*n*room, 4*n, 4*n, 8*n*p.take, 8, 8)
	if err != nil {
		return err
	}
	elem := s.elem
	if elem == engine.F32 {
		elem = engine.F16
	}
	p.wide = kernels.Matrix{At: parts[0], Rows: n, Dim: wide, Stride: wide, Elem: engine.F32}
	p.narrow = kernels.Matrix{At: parts[1], Rows: n, Dim: wide, Stride: wide, Elem: elem}
	p.norms = parts[2]
	p.lists = kernels.Lists{Threshold: parts[3], Keys: parts[5], Count: parts[6], Room: room}
	p.redo, p.best, p.again, p.ignored = parts[7], parts[8], parts[9].Slice(0, 4), parts[10].Slice(0, 4)

	if size := 8*n*p.take + 8*n + 8; s.results == nil || len(s.results.data) < size {
		if err := s.results.free(c); err != nil {
			return err
		}
		s.results = nil
		m, err := s.hostMemory(c, size)
		if err != nil {
			return err
		}
		s.results = m
	}
	host := s.results.data
	p.keys, p.floors, p.flag = host[:8*n*p.take], host[8*n*p.take:8*n*p.take+8*n], host[8*n*p.take+8*n:8*n*p.take+8*n+4]

	upload := func(to *cuda.Buffer, data []byte) {
		err = errors.Join(err, c.ToDevice(to, data, s.work))
	}
	a, b, norms := s.queries(p, q, elem)
	upload(parts[0], a)
	upload(parts[1], b)
	upload(parts[2], norms)
	if ceilings {
		p.lists.Ceiling = parts[4]
		upload(parts[4], s.ceilings(p))
	}
	return errors.Join(err, s.set.Fill(c, s.work, p.lists.Threshold, kernels.Lowest))
}

// carve gives parts of the memory that passes use, which grows as it must.
func (s *shard) carve(c *cuda.Context, sizes ...int) ([]*cuda.Buffer, error) {
	total := int64(0)
	for _, n := range sizes {
		total += (int64(n) + 255) &^ 255
	}
	if s.scratch == nil || s.scratch.Bytes < total {
		if s.scratch != nil {
			if err := c.Free(s.scratch); err != nil {
				return nil, err
			}
			s.scratch = nil
		}
		b, err := c.Alloc(total)
		if err != nil {
			return nil, s.explain(err)
		}
		s.scratch = b
	}
	out, at := make([]*cuda.Buffer, len(sizes)), int64(0)
	for i, n := range sizes {
		out[i] = s.scratch.Slice(at, int64(n))
		at += (int64(n) + 255) &^ 255
	}
	return out, nil
}

// queries lays the queries out: in float32, in 16 bits, and their lengths; and notes what
// the bound has to know of them.
func (s *shard) queries(p *passing, q engine.Rows, elem engine.Elem) (wide, narrow, norms []byte) {
	n, step := len(p.which), stride(s.opt.Dim)
	wide, narrow, norms = make([]byte, 4*n*step), make([]byte, 2*n*step), make([]byte, 8*n)
	buf := make([]float32, q.Dim)
	for i, w := range p.which {
		v := q.Widen(buf, w.query)
		for d, x := range v {
			binary.LittleEndian.PutUint32(wide[4*(i*step+d):], math.Float32bits(x))
			binary.LittleEndian.PutUint16(narrow[2*(i*step+d):], narrowed(x, elem))
		}
		a := ask(v, elem)
		p.found[i].asked = a
		binary.LittleEndian.PutUint64(norms[8*i:], math.Float64bits(a.norm))
	}
	return wide, narrow, norms
}

// ceilings are the keys from which on rows were certainly given before.
func (s *shard) ceilings(p *passing) []byte {
	out := make([]byte, 8*len(p.which))
	for i, w := range p.which {
		key := uint64(math.MaxUint64)
		switch {
		case w.after == 0:
		case p.rule:
			key = w.after
		default:
			last, _ := kernels.Unkey(w.after)
			if v, ok := s.measure.ceiling(p.found[i].asked, last); ok {
				key = kernels.Key(v, math.MaxUint32)
			}
		}
		binary.LittleEndian.PutUint64(out[8*i:], key)
	}
	return out
}

// over goes over rows on the device, panel by panel, from place first on. Streamed rows
// of float32 have no copies yet.
func (s *shard) over(c *cuda.Context, p *passing, at *place, first, n int64, streamed bool) error {
	wide := stride(s.opt.Dim)
	rows := kernels.Matrix{At: at.rows, Rows: int(n), Dim: wide, Stride: wide, Elem: s.elem}
	copies := rows
	err := s.mark(c)
	if s.elem == engine.F32 {
		copies.At, copies.Elem = at.copies, engine.F16
		if streamed && !p.rule {
			err = errors.Join(err, s.set.Convert(c, s.work, rows, copies, p.ignored))
		}
	}
	if err := errors.Join(err, s.prime(c, p, at, copies, first)); err != nil {
		return err
	}
	if err := c.Fill(p.lists.Count, 0, s.work); err != nil {
		return err
	}
	from := copies
	if p.rule {
		from = rows
	}
	for done := int64(0); done < n; {
		panel := min(nextPanel(int64(s.opt.PanelRows), p.seen, int64(p.most), int64(p.lists.Room)), n-done)
		again, err := s.panel(c, p, at, from, first, done, panel)
		if err != nil {
			return err
		}
		if p.seen += panel; again > 0 {
			p.seen = 0 // what comes is unlike what was seen
		}
		done += panel
	}
	if err := p.ctx.Err(); err != nil {
		return err
	}
	if !p.rule {
		// Keys have places, and the rows of this block begin at the first one.
		shifted := rows
		size := uintptr(s.elem.Size() * wide)
		shifted.At = cuda.View(at.rows.Ptr-uintptr(first)*size, at.rows.Bytes)
		exact := kernels.Exactness{Metric: int(s.opt.Metric), QueryNorms: p.norms, Norms: cuda.View(at.norms.Ptr-8*uintptr(first), at.norms.Bytes)}
		if err := errors.Join(s.mark(c), s.set.Rescore(c, s.work, p.wide, shifted, exact, &p.lists)); err != nil {
			return err
		}
	}
	if err := errors.Join(s.mark(c),
		s.set.Sort(c, s.work, len(p.which), &p.lists, p.most, p.take, p.best), c.Record(s.times[1], s.work),
		c.ToHost(p.keys, p.best, s.work), c.ToHost(p.floors, p.lists.Threshold, s.work), c.Record(s.times[2], s.work), c.Sync(s.work),
	); err != nil {
		return err
	}
	out, err := c.Elapsed(s.times[1], s.times[2])
	if err := errors.Join(err, s.lap(c)); err != nil {
		return err
	}
	s.stats.Out.Bytes += int64(len(p.keys) + len(p.floors))
	s.stats.Out.Time += out
	if p.merge(s.measure) {
		return c.ToDevice(p.lists.Threshold, p.floors, s.work)
	}
	return nil
}

// mark notes when the device begins with what the host gives it, once until the next lap.
func (s *shard) mark(c *cuda.Context) error {
	if s.marked {
		return nil
	}
	s.marked = true
	return c.Record(s.times[0], s.work)
}

// lap adds the time from the mark to times[1], both of which the host has waited for.
func (s *shard) lap(c *cuda.Context) error {
	s.marked = false
	took, err := c.Elapsed(s.times[0], s.times[1])
	s.stats.Search += took
	return err
}

// prime raises the thresholds by a sample of the rows, every so many: a part's best k are
// no better than those of all. It spares data that comes in ascending order from
// overflowing lists panel by panel.
func (s *shard) prime(c *cuda.Context, p *passing, at *place, copies kernels.Matrix, first int64) error {
	sample := s.opt.PrimeRows
	if sample == 0 {
		sample = primeRows
	}
	if p.rule || sample < 0 || copies.Rows <= sample {
		return nil
	}
	step := (copies.Rows + sample - 1) / sample
	part := kernels.Block{Matrix: copies, First: int(first), Step: step}
	part.Rows = (copies.Rows + step - 1) / step
	s.measures(&part, at, 0, int64(copies.Rows))
	if err := c.Fill(p.lists.Count, 0, s.work); err != nil {
		return err
	}
	_, err := s.offer(c, p, part, kernels.Exactness{})
	p.seen = max(p.seen, int64(part.Rows))
	return err
}

// nextPanel is the rows of the next panel when thresholds are from so many rows: as many
// as let a quarter of a list pass where rows come in no order, and at least least. The
// host waits once a panel, so long ones keep the device busy.
func nextPanel(least, seen, most, room int64) int64 {
	if least == 0 {
		least = panelRows
	}
	return max(least, min(seen/most*room/4, mostPanel))
}

// measures gives a block what makes scores of products.
func (s *shard) measures(b *kernels.Block, at *place, from, n int64) {
	switch s.opt.Metric {
	case engine.Cosine:
		b.Scale = at.extra.Slice(4*from, 4*n)
	case engine.L2:
		b.Bias = at.extra.Slice(4*from, 4*n)
	}
}

// panel searches n rows of a block, and once more for the queries whose lists overflow.
func (s *shard) panel(c *cuda.Context, p *passing, at *place, m kernels.Matrix, first, from, n int64) (again int, err error) {
	size := int64(m.Elem.Size() * m.Stride)
	m.At, m.Rows = m.At.Slice(from*size, n*size), int(n)
	part := kernels.Block{Matrix: m, First: int(first + from), Step: 1}
	s.measures(&part, at, from, n)
	exact := kernels.Exactness{Metric: int(s.opt.Metric), QueryNorms: p.norms, Norms: at.norms.Slice(8*from, 8*n)}
	again, err = s.offer(c, p, part, exact)
	s.stats.Panels += 1 + again
	s.stats.Redone += again
	return again, err
}

// offer gives rows to the lists and cuts those, and once more for the queries whose lists
// overflowed; again is how often.
func (s *shard) offer(c *cuda.Context, p *passing, part kernels.Block, exact kernels.Exactness) (again int, err error) {
	for p.lists.Active = nil; ; p.lists.Active = p.redo {
		if err := p.ctx.Err(); err != nil {
			return again, err
		}
		err := errors.Join(s.mark(c), c.Fill(p.again, 0, s.work))
		if p.rule {
			err = errors.Join(err, s.set.Exact(c, s.work, p.wide, part, exact, &p.lists))
		} else {
			err = errors.Join(err, s.set.Search(c, s.work, p.narrow, part, &p.lists))
		}
		if err := errors.Join(err,
			s.set.Compact(c, s.work, len(p.which), &p.lists, p.most, part.First, p.redo, p.again),
			c.Record(s.times[1], s.work), c.ToHost(p.flag, p.again, s.work), c.Sync(s.work),
		); err != nil {
			return again, err
		}
		if err := s.lap(c); err != nil {
			return again, err
		}
		if binary.LittleEndian.Uint32(p.flag) == 0 {
			return again, nil
		}
		again++
	}
}

// merge takes what a block gave, and raises thresholds by the best so far; true where it
// raised one.
func (p *passing) merge(m measure) (raised bool) {
	for i := range p.found {
		f, after := &p.found[i], p.which[i].after
		for j := range p.take {
			key := binary.LittleEndian.Uint64(p.keys[8*(i*p.take+j):])
			if key == 0 {
				break
			}
			if after == 0 || key < after {
				f.keys = append(f.keys, key)
			}
		}
		slices.SortFunc(f.keys, func(a, b uint64) int {
			if a > b {
				return -1
			}
			return 1
		})
		f.keys = f.keys[:min(p.k, len(f.keys))]
		f.floor = binary.LittleEndian.Uint64(p.floors[8*i:])
		if len(f.keys) < p.k {
			continue
		}
		least := f.keys[p.k-1]
		if !p.rule {
			worst, _ := kernels.Unkey(least)
			v, ok := m.threshold(f.asked, worst)
			if least = 0; ok {
				least = kernels.Key(math.Nextafter32(v, float32(math.Inf(1))), math.MaxUint32)
			}
		}
		if least > f.floor {
			f.floor, raised = least, true
			binary.LittleEndian.PutUint64(p.floors[8*i:], least)
		}
	}
	return raised
}
