//go:build cuda && linux && cgo && (amd64 || arm64)

package gpu

import (
	"context"
	"encoding/binary"
	"math"
	"slices"

	"encbench/cuda"
	"encbench/engine"
	"encbench/kernels"
)

// need is what the plan has to know.
func (s *shard) need(free int64) Need {
	most, room := s.opt.limits()
	n := Need{Free: free, Devices: s.of, Dim: s.opt.Dim, Elem: s.elem, Metric: s.opt.Metric, Queries: s.opt.Queries, Kept: most, Room: room,
		Block: int64(s.opt.BlockRows), Slots: s.opt.Slots, Stay: s.opt.stays(), Stage: int64(s.opt.stage)}
	if n.Queries == 0 {
		n.Queries = 1024
	}
	if n.Stage == 0 {
		n.Stage = stageBytes
	}
	return n
}

// asking is a query on its way through the rounds.
type asking struct {
	wanted
	hits []placed
	seen map[int64]bool // documents that it has
	done bool
}

// placed is a hit and the place of its row.
type placed struct {
	hit
	place int64
}

// search gives each query the best k rows of the shard, or with documents the best rows of
// k documents; fewer where there are fewer.
func (s *shard) search(ctx context.Context, q engine.Rows, k int, documents bool) ([][]placed, error) {
	s.stats = Stats{Device: s.w.Info().Ordinal}
	out := make([][]placed, q.N)
	k = int(min(int64(k), s.rows))
	if k == 0 || q.N == 0 {
		return out, ctx.Err()
	}
	var chunk int
	if err := s.w.Do(func(c *cuda.Context) error {
		free, _, err := c.Memory()
		if err != nil {
			return err
		}
		if s.scratch != nil {
			free += s.scratch.Bytes
		}
		n := s.need(free)
		n.Queries = q.N
		chunk, err = n.Pass()
		return err
	}); err != nil {
		return nil, err
	}
	for from := 0; from < q.N; from += chunk {
		all := make([]asking, min(chunk, q.N-from))
		for i := range all {
			all[i] = asking{wanted: wanted{query: from + i}}
			if documents {
				all[i].seen = map[int64]bool{}
			}
		}
		if err := s.rounds(ctx, q, all, k); err != nil {
			return nil, err
		}
		for i := range all {
			out[from+i] = all[i].hits
		}
	}
	return out, s.signs(q, out)
}

// rounds asks for the next best rows of each query until it has k.
func (s *shard) rounds(ctx context.Context, q engine.Rows, all []asking, k int) error {
	limit, _ := s.opt.limits()
	limit = min(limit, MostPass)
	for round, grow := 1, 1; ; round++ {
		var which []wanted
		var open []*asking
		next := 0
		for i := range all {
			if a := &all[i]; !a.done {
				which, open, next = append(which, a.wanted), append(open, a), max(next, k-len(a.hits))
			}
		}
		if len(which) == 0 {
			return nil
		}
		// Rows of documents that a query has already are for nothing: more are asked for
		// each time.
		next = min(next*grow, limit)
		if open[0].seen != nil {
			grow = min(2*grow, limit)
		}
		got, err := s.certified(ctx, q, which, next)
		if err != nil {
			return err
		}
		s.stats.Rounds = max(s.stats.Rounds, round)
		for i, a := range open {
			a.take(s, got[i], k)
			a.done = a.done || len(got[i]) < next
		}
	}
}

// take adds rows to the answer.
func (a *asking) take(s *shard, keys []uint64, k int) {
	for _, key := range keys {
		if len(a.hits) == k {
			break
		}
		a.after = key
		_, place := kernels.Unkey(key)
		h := placed{s.hit(key), int64(place)}
		if a.seen != nil {
			if a.seen[h.document] {
				continue
			}
			a.seen[h.document] = true
		}
		a.hits = append(a.hits, h)
	}
	a.done = len(a.hits) == k
}

// certified gives the next best k rows of each query, and asks again for those of which
// it cannot be certain: first with as many rows kept as can be, then by the rule alone.
func (s *shard) certified(ctx context.Context, q engine.Rows, which []wanted, k int) ([][]uint64, error) {
	out := make([][]uint64, len(which))
	elem := s.elem
	if elem == engine.F32 {
		elem = engine.F16
	}
	var open, scan []int
	buf := make([]float32, q.Dim)
	for i, w := range which {
		if s.measure.bounded(ask(q.Widen(buf, w.query), elem)) {
			open = append(open, i)
		} else {
			scan = append(scan, i)
		}
	}
	s.stats.Queries += len(which)
	run := func(list []int, most int, rule bool) (doubtful []int, err error) {
		if len(list) == 0 {
			return nil, nil
		}
		asked := make([]wanted, len(list))
		for n, i := range list {
			asked[n] = which[i]
		}
		got, err := s.pass(ctx, q, asked, k, most, rule)
		if err != nil {
			return nil, err
		}
		for n, i := range list {
			if !rule && !got[n].certain(s.measure, k) {
				doubtful = append(doubtful, i)
				continue
			}
			out[i] = got[n].keys
		}
		return doubtful, nil
	}
	first := s.opt.kept(k)
	doubtful, err := run(open, first, false)
	if err != nil {
		return nil, err
	}
	s.stats.Certified += len(open) - len(doubtful)
	if limit, _ := s.opt.limits(); limit > first {
		s.stats.Widened += len(doubtful)
		if doubtful, err = run(doubtful, limit, false); err != nil {
			return nil, err
		}
	}
	scan = append(scan, doubtful...)
	slices.Sort(scan)
	s.stats.Scanned += len(scan)
	_, err = run(scan, k, true)
	return out, err
}

// signs gives scores of zero their sign: keys hold none. A score by the rule is −0 where a
// tiny negative number was rounded.
func (s *shard) signs(q engine.Rows, all [][]placed) error {
	rows := map[int64][]float32{}
	buf := make([]float32, q.Dim)
	for i, hits := range all {
		var query []float32
		for j := range hits {
			h := &hits[j]
			if h.score != 0 {
				continue
			}
			if query == nil {
				query = q.Widen(buf, i)
				if s.elem == engine.F16 && coarse(query) && (s.opt.Metric != engine.Cosine || short(query, s.measure.most)) {
					break // no score is that small
				}
			}
			row, known := rows[h.place]
			if !known {
				var err error
				if row, err = s.row(h.place); err != nil {
					return err
				}
				rows[h.place] = row
			}
			h.score = s.opt.Metric.Score(query, row)
		}
	}
	return nil
}

// coarse says whether all values are multiples of 2⁻⁶⁰, as those of float16 are of 2⁻²⁴:
// what products and squares of differences add up to is 0, or far from where float32 ends.
func coarse(v []float32) bool {
	return !slices.ContainsFunc(v, func(x float32) bool { return unit(x) < -60 })
}

// short says whether a sum of coarse products stays in the range of float32 when it is
// divided by the lengths.
func short(query []float32, most float64) bool {
	return math.Sqrt(engine.Dot64(query, query))*most < 0x1p60
}

// row gives a row as it is stored.
func (s *shard) row(at int64) (v []float32, err error) {
	size := int64(stride(s.opt.Dim) * s.elem.Size())
	raw := make([]byte, size)
	err = s.w.Do(func(c *cuda.Context) error {
		b, err := s.block(c, at)
		if err != nil {
			return err
		}
		from := (at - b.first) * size
		if b.host != nil {
			copy(raw, b.host.rows[from:from+size])
			return nil
		}
		if err := c.ToHost(raw, b.on.rows.Slice(from, size), s.work); err != nil {
			return err
		}
		return c.Sync(s.work)
	})
	v = make([]float32, s.opt.Dim)
	for d := range v {
		switch s.elem {
		case engine.F16:
			v[d] = engine.F16ToF32(binary.LittleEndian.Uint16(raw[2*d:]))
		case engine.BF16:
			v[d] = engine.BF16ToF32(binary.LittleEndian.Uint16(raw[2*d:]))
		default:
			v[d] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*d:]))
		}
	}
	return v, err
}
