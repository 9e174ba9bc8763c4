package cpu

import (
	"context"
	"fmt"
	"math"
	"slices"

	"encbench/engine"
)

// Plain is the definition of the search: every score by the rule, all rows sorted
// by engine.Before, the first of each document kept. It is slow on purpose.
type Plain struct {
	opt   Options
	row   []int64
	owner []int64 // of each row; documents that nobody named have negative numbers
	value [][]float32
}

var _ engine.Searcher = (*Plain)(nil)

// NewPlain gives an empty plain search; of opt it knows Dim, Metric and Store.
func NewPlain(opt Options) (*Plain, error) {
	if err := opt.Validate(); err != nil {
		return nil, fmt.Errorf("open a plain search: %w", err)
	}
	return &Plain{opt: opt}, nil
}

// Append adds rows; see engine.Searcher.
func (p *Plain) Append(_ context.Context, base int64, owner []int32, r engine.Rows) error {
	if err := checkBlock(plainKernels, p.opt.Dim, base, owner, r); err != nil {
		return err
	}
	var added [][]float32
	for i := range r.N {
		v := slices.Clone(r.Widen(make([]float32, r.Dim), i))
		if err := roundTo(v, p.opt.Store, base+int64(i)); err != nil {
			return err
		}
		added = append(added, v)
	}
	for i, v := range added {
		document := -1 - int64(len(p.row))
		if owner != nil {
			document = int64(owner[i])
		}
		p.row, p.owner, p.value = append(p.row, base+int64(i)), append(p.owner, document), append(p.value, v)
	}
	return nil
}

// Search scores and sorts everything; see engine.Searcher.
func (p *Plain) Search(_ context.Context, q engine.Rows, k int, dst *engine.Hits) error {
	if err := checkQueries(plainKernels, p.opt.Dim, q, k); err != nil {
		return err
	}
	dst.Reset(q.N, k)
	order, score := make([]int, len(p.row)), make([]float32, len(p.row))
	for n := range q.N {
		query := q.Widen(make([]float32, q.Dim), n)
		for i, x := range p.value {
			order[i], score[i] = i, p.opt.Metric.Score(query, x)
		}
		slices.SortFunc(order, func(a, b int) int {
			if engine.Before(score[a], p.row[a], score[b], p.row[b]) {
				return -1
			}
			return 1
		})
		seen, place := map[int64]bool{}, n*k
		for _, i := range order {
			if place < (n+1)*k && !seen[p.owner[i]] {
				seen[p.owner[i]] = true
				dst.Row[place], dst.Score[place] = p.row[i], score[i]
				place++
			}
		}
	}
	return nil
}

// Close does nothing.
func (p *Plain) Close() error { return nil }

// roundTo replaces values by what the storage makes of them.
func roundTo(v []float32, s Store, row int64) error {
	switch s {
	case StoreF16, StoreBF16:
		for i, x := range v {
			y := engine.BF16ToF32(engine.F32ToBF16(x))
			if s == StoreF16 {
				y = engine.F16ToF32(engine.F32ToF16(x))
			}
			if !finite(y) {
				return fmt.Errorf("append rows to a search: row %d: value %d is %v, too large for %s; store float32", row, i, x, s)
			}
			v[i] = y
		}
	case StoreInt8:
		scale := int8Scale(v)
		for i, x := range v {
			v[i] = float32(int8Code(x, scale)) * scale
		}
	}
	return nil
}

// int8Scale is the unit of a row's 8-bit codes.
func int8Scale(v []float32) float32 {
	var top float32
	for _, x := range v {
		top = max(top, float32(math.Abs(float64(x))))
	}
	scale := top / 127
	if !finite(127 * scale) { // rounded up at the very end of float32
		scale = math.Nextafter32(scale, 0)
	}
	return scale
}

// int8Code is the code of a value: the nearest, ties to even.
func int8Code(x, scale float32) int8 {
	if scale == 0 {
		return 0
	}
	return int8(max(-127, min(127, math.RoundToEven(float64(x)/float64(scale)))))
}
