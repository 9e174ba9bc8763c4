//go:build cuda && linux && cgo && (amd64 || arm64)

package gpu

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"encbench/cuda"
	"encbench/engine"
	"encbench/kernels"
)

const (
	panelRows  = 1 << 16
	queryChunk = 1024 // queries of a pass: 64 MB of lists
)

// Search fills dst; see engine.Searcher. k is at most MostK.
func (s *Searcher) Search(ctx context.Context, q engine.Rows, k int, dst *engine.Hits) error {
	switch {
	case k < 1 || k > MostK:
		return fmt.Errorf("search: k is 1 to %d on a device, found %d", MostK, k)
	case q.Dim != s.opt.Dim:
		return fmt.Errorf("search: expected %d values a query, found %d", s.opt.Dim, q.Dim)
	case q.Host == nil && q.N > 0:
		return errors.New("search: queries are on a device")
	}
	if row, ok := finite(q); !ok {
		return fmt.Errorf("search: query %d holds a value that is no finite number", row)
	}
	dst.Reset(q.N, k)
	s.Stats = Stats{}
	for from := 0; from < q.N; from += queryChunk {
		all := make([]int, min(queryChunk, q.N-from))
		for i := range all {
			all[i] = from + i
		}
		if err := s.chunk(ctx, q, all, k, dst); err != nil {
			return err
		}
	}
	return nil
}

// chunk searches some queries, and those again of which it cannot be certain: first
// with as many rows kept as can be, then by the rule alone.
func (s *Searcher) chunk(ctx context.Context, q engine.Rows, which []int, k int, dst *engine.Hits) error {
	most := k + s.opt.Kept
	if s.opt.Kept == 0 {
		most = k + max(32, k/8)
	}
	limit, _ := s.opt.limits()
	for _, most := range []int{min(most, limit), limit} {
		if len(which) == 0 {
			return nil
		}
		got, err := s.pass(ctx, q, which, k, most, false)
		if err != nil {
			return err
		}
		var doubtful []int
		for i, query := range which {
			if !got[i].certain(s.measure, k) {
				doubtful = append(doubtful, query)
				continue
			}
			got[i].fill(dst, query)
		}
		if which = doubtful; most < limit {
			s.Stats.Widened += len(which)
		}
	}
	s.Stats.Scanned += len(which)
	if len(which) == 0 {
		return nil
	}
	got, err := s.pass(ctx, q, which, k, k, true)
	if err != nil {
		return err
	}
	for i, query := range which {
		got[i].fill(dst, query)
	}
	return nil
}

// found is what a pass gives for a query.
type found struct {
	asked  asked
	hits   []hit
	floors []float32 // of the blocks that left rows out: at most so much was found for those
}

type hit struct {
	score float32
	row   int64
}

func (f *found) certain(m measure, k int) bool {
	if len(f.hits) < k {
		return len(f.floors) == 0
	}
	return !slices.ContainsFunc(f.floors, func(floor float32) bool { return !m.certain(f.asked, floor, f.hits[k-1].score) })
}

func (f *found) fill(dst *engine.Hits, query int) {
	for i, h := range f.hits {
		dst.Row[query*dst.K+i], dst.Score[query*dst.K+i] = h.row, h.score
	}
}

// merge adds the hits of a block and keeps the best k.
func (f *found) merge(hits []hit, k int) {
	f.hits = append(f.hits, hits...)
	slices.SortFunc(f.hits, func(a, b hit) int {
		if engine.Before(a.score, a.row, b.score, b.row) {
			return -1
		}
		return 1
	})
	f.hits = f.hits[:min(k, len(f.hits))]
}

// pass goes over all rows once: by the tensor cores, or with rule by the rule alone.
func (s *Searcher) pass(ctx context.Context, q engine.Rows, which []int, k, most int, rule bool) (out []found, err error) {
	err = s.w.Do(func(c *cuda.Context) (err error) {
		p, err := s.begin(c, q, which, k, most)
		defer func() { err = joinFree(c, err, p.owned) }()
		if err != nil {
			return err
		}
		for _, b := range s.blocks {
			if err := s.over(ctx, c, p, b, rule); err != nil {
				return err
			}
		}
		out = p.found
		return nil
	})
	return out, err
}

// passing is the memory of a pass.
type passing struct {
	k, most      int
	wide, narrow kernels.Matrix // queries in float32, and in 16 bits
	lists        kernels.Lists
	redo, again  *cuda.Buffer
	best, norms  *cuda.Buffer
	owned        []*cuda.Buffer
	found        []found
	keys, floors []byte
	flag         []byte // again, on the host
}

// begin puts the queries on the device. What it allocated is in owned also after an
// error.
func (s *Searcher) begin(c *cuda.Context, q engine.Rows, which []int, k, most int) (*passing, error) {
	n, stride := len(which), s.stride()
	p := &passing{k: k, most: most, found: make([]found, n), flag: make([]byte, 4), keys: make([]byte, 8*n*k), floors: make([]byte, 8*n)}
	elem := s.elem
	if elem == engine.F32 {
		elem = engine.F16
	}
	wide, narrow, norms := make([]byte, 4*n*stride), make([]byte, 2*n*stride), make([]byte, 8*n)
	buf := make([]float32, q.Dim)
	for i, query := range which {
		v := q.Widen(buf, query)
		a := &p.found[i].asked
		var copied, apart float64
		for d, x := range v {
			binary.LittleEndian.PutUint32(wide[4*(i*stride+d):], math.Float32bits(x))
			bits, y := engine.F32ToF16(x), float32(0)
			if y = engine.F16ToF32(bits); elem == engine.BF16 {
				bits = engine.F32ToBF16(x)
				y = engine.BF16ToF32(bits)
			}
			binary.LittleEndian.PutUint16(narrow[2*(i*stride+d):], bits)
			copied += float64(y) * float64(y)
			away := float64(x) - float64(y)
			apart += away * away
		}
		// Their own roundings are far below what the bound has to spare.
		a.norm, a.copied, a.apart = math.Sqrt(engine.Dot64(v, v)), math.Sqrt(copied), math.Sqrt(apart)*(1+0x1p-30)
		binary.LittleEndian.PutUint64(norms[8*i:], math.Float64bits(a.norm))
	}
	var err error
	alloc := func(bytes int) *cuda.Buffer {
		if err != nil {
			return nil
		}
		var m *cuda.Buffer
		if m, err = c.Alloc(int64(bytes)); err == nil {
			p.owned = append(p.owned, m)
		}
		return m
	}
	put := func(data []byte) *cuda.Buffer {
		m := alloc(len(data))
		if err == nil {
			err = c.ToDevice(m, data, s.stream)
		}
		return m
	}
	p.wide = kernels.Matrix{At: put(wide), Rows: n, Dim: stride, Stride: stride, Elem: engine.F32}
	p.narrow = kernels.Matrix{At: put(narrow), Rows: n, Dim: stride, Stride: stride, Elem: elem}
	p.norms = put(norms)
	_, room := s.opt.limits()
	p.lists = kernels.Lists{Threshold: alloc(8 * n), Keys: alloc(8 * n * room), Count: alloc(4 * n), Room: room}
	p.redo, p.again, p.best = alloc(4*n), alloc(4), alloc(8*n*k)
	return p, err
}

// over goes over the rows of a block, panel by panel.
func (s *Searcher) over(ctx context.Context, c *cuda.Context, p *passing, b *block, rule bool) error {
	n := len(p.found)
	err := errors.Join(s.set.Fill(c, s.stream, p.lists.Threshold, kernels.Lowest), c.Fill(p.lists.Count, 0, s.stream))
	if err != nil {
		return err
	}
	exact := kernels.Exactness{Metric: int(s.opt.Metric), QueryNorms: p.norms, Norms: b.norms}
	panel := s.opt.PanelRows
	if panel == 0 {
		panel = panelRows
	}
	for first := 0; first < b.n; first += panel {
		rows := min(panel, b.n-first)
		part := s.panel(b, first, rows, rule)
		for p.lists.Active = nil; ; p.lists.Active = p.redo {
			if err := ctx.Err(); err != nil {
				return err
			}
			work := func() error { return s.set.Search(c, s.stream, p.narrow, part, &p.lists) }
			if rule {
				work = func() error { return s.set.Exact(c, s.stream, p.wide, part, exact, &p.lists) }
			}
			if err := errors.Join(
				c.Fill(p.again, 0, s.stream), work(),
				s.set.Compact(c, s.stream, n, &p.lists, p.most, first, p.redo, p.again),
				c.ToHost(p.flag, p.again, s.stream), c.Sync(s.stream),
			); err != nil {
				return err
			}
			s.Stats.Panels++
			if binary.LittleEndian.Uint32(p.flag) == 0 {
				break
			}
			s.Stats.Redone++
		}
	}
	if !rule {
		whole := kernels.Matrix{At: b.rows, Rows: b.n, Dim: s.stride(), Stride: s.stride(), Elem: s.elem}
		if err := s.set.Rescore(c, s.stream, p.wide, whole, exact, &p.lists); err != nil {
			return err
		}
	}
	if err := errors.Join(
		s.set.Sort(c, s.stream, n, &p.lists, p.most, p.k, p.best), c.ToHost(p.keys, p.best, s.stream),
		c.ToHost(p.floors, p.lists.Threshold, s.stream), c.Sync(s.stream),
	); err != nil {
		return err
	}
	p.take(b, rule)
	return nil
}

// panel is rows of a block as a kernel takes them.
func (s *Searcher) panel(b *block, first, rows int, rule bool) kernels.Block {
	stride := s.stride()
	m := kernels.Matrix{At: b.copies, Rows: rows, Dim: stride, Stride: stride, Elem: s.elem}
	if s.elem == engine.F32 {
		m.Elem = engine.F16
	}
	if rule {
		m.At, m.Elem = b.rows, s.elem
	}
	size := int64(m.Elem.Size() * stride)
	m.At = m.At.Slice(int64(first)*size, int64(rows)*size)
	part := kernels.Block{Matrix: m, First: first, Step: 1}
	if b.scale != nil {
		part.Scale = b.scale.Slice(int64(4*first), int64(4*rows))
	}
	if b.bias != nil {
		part.Bias = b.bias.Slice(int64(4*first), int64(4*rows))
	}
	return part
}

// take merges what a block gave.
func (p *passing) take(b *block, rule bool) {
	for i := range p.found {
		f := &p.found[i]
		var hits []hit
		for j := range p.k {
			key := binary.LittleEndian.Uint64(p.keys[8*(i*p.k+j):])
			if key == 0 {
				break
			}
			score, row := kernels.Unkey(key)
			hits = append(hits, hit{score, b.number(int(row))})
		}
		f.merge(hits, p.k)
		if floor := binary.LittleEndian.Uint64(p.floors[8*i:]); floor > kernels.Lowest && !rule {
			score, _ := kernels.Unkey(floor)
			f.floors = append(f.floors, score)
		}
	}
}
