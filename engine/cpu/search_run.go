package cpu

import (
	"context"
	"fmt"
	"math/bits"

	"encbench/engine"
)

const (
	// probeQueries is how many queries of a search are tried with a width of codes
	// that was not tried before at about this k.
	probeQueries = 12
	// probeShare: a query that leaves more than one of so many rows to be scored by
	// the rule loses with them what 8 bits gain over 16. At 384 values a score takes
	// 130 cycles (53 ns), 8 bits save 6 cycles a row.
	probeShare = 20
	// exactShare: from here on all rows may as well be scored in order.
	exactShare = 3
)

// verdict is what a probe found.
type verdict struct {
	known, bad bool
	reason     string
}

// Search finds the k best rows of each query; see engine.Searcher. When ctx ends it
// stops within milliseconds and dst has no meaning.
func (s *Searcher) Search(ctx context.Context, r engine.Rows, k int, dst *engine.Hits) error {
	if err := checkQueries(s.kernels, s.opt.Dim, r, k); err != nil {
		return err
	}
	dst.Reset(r.N, k)
	stats := Stats{Queries: r.N, ISA: s.kernels.name, Path: PathExact}
	if r.N > 0 && s.rows.n > 0 {
		if err := s.search(ctx, s.newQueries(r), k, dst, &stats); err != nil {
			return fmt.Errorf("search %d queries: %w", r.N, err)
		}
	}
	s.mu.Lock()
	s.stats = stats
	s.mu.Unlock()
	return nil
}

// search takes the queries down the ladder: 8 bits, 16 bits, the rule.
func (s *Searcher) search(ctx context.Context, q *queries, k int, dst *engine.Hits, stats *Stats) error {
	left := make([]int, q.n)
	for i := range left {
		left[i] = i
	}
	stats.Reason = s.ruleReason(k)
	for step, sc := range []*scanner{s.kernels.int8, s.kernels.int16} {
		path := [...]Path{PathInt8, PathInt16}[step]
		if sc == nil || stats.Reason != "" || len(left) == 0 || s.opt.Path != PathAuto && s.opt.Path != path {
			continue
		}
		if s.verdict(step, k).bad {
			continue
		}
		if err := s.prepare(ctx, sc); err != nil {
			return err
		}
		stats.Distinct = len(s.index.first)
		if !s.verdict(step, k).known && s.opt.Path == PathAuto {
			rest, err := s.try(ctx, step, sc, q, left, k, dst, stats)
			if err != nil {
				return err
			}
			if left = rest; s.verdict(step, k).bad {
				continue
			}
		}
		stats.Path = path
		if len(left) > 0 {
			h, err := s.hunt(ctx, sc, q, left, k, dst)
			if err != nil {
				return err
			}
			stats.add(h)
			left = h.overflow
		}
		stats.Exact = len(left)
		if err := s.exact(ctx, q, left, k, dst); err != nil {
			return err
		}
		return s.explain(stats, step, k)
	}
	stats.Exact = len(left)
	if err := s.exact(ctx, q, left, k, dst); err != nil {
		return err
	}
	return s.explain(stats, -1, k)
}

// ruleReason says why a search has to score every row, "" where it need not.
func (s *Searcher) ruleReason(k int) string {
	switch {
	case s.opt.Path == PathExact:
		return "the exact path was asked for"
	case s.kernels.int16 == nil:
		return "this build or machine has no instructions for codes"
	case s.rows.owner != nil && int(s.rows.documents) <= k:
		return "every document is a hit"
	}
	return ""
}

// explain completes the reason.
func (s *Searcher) explain(stats *Stats, step, k int) error {
	if stats.Reason != "" {
		return nil
	}
	switch {
	case s.opt.Path != PathAuto:
		stats.Reason = fmt.Sprintf("the %s path was asked for", s.opt.Path)
	case step >= 0 && s.verdict(step, k).known:
		stats.Reason = s.verdict(step, k).reason
	default:
		stats.Reason = s.verdict(1, k).reason
	}
	return nil
}

// try searches a few of the listed queries and judges the width of codes by them.
// It gives the queries that are left; those that overflowed are among them.
func (s *Searcher) try(ctx context.Context, step int, sc *scanner, q *queries, list []int, k int, dst *engine.Hits, stats *Stats) ([]int, error) {
	few := list
	var rest []int
	if len(list) > 2*probeQueries {
		few = nil
		for i, n := range list {
			if i%(len(list)/probeQueries) == 0 {
				few = append(few, n)
			} else {
				rest = append(rest, n)
			}
		}
	}
	h, err := s.hunt(ctx, sc, q, few, k, dst)
	if err != nil {
		return nil, err
	}
	stats.add(h)
	slots := s.index.codes[sc.bits/16].slots
	// A query that was scanned twice may have met each row twice.
	each := min(slots, (int(h.tally.Rescored)+len(h.overflow)*slots)/len(few))
	v := verdict{known: true}
	share := probeShare
	if step == 1 {
		share = exactShare
	}
	v.bad = each > k+k/8+slots/share+256
	word := "separate"
	if v.bad {
		word = "do not separate"
	}
	v.reason = fmt.Sprintf("%d-bit codes %s: %d probed queries left %d of %d rows to score at k %d", sc.bits, word, len(few), each, slots, k)
	s.mu.Lock()
	s.probe[step][bits.Len(uint(k))] = v
	s.mu.Unlock()
	return append(rest, h.overflow...), nil
}

func (s *Searcher) verdict(step, k int) verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.probe[step][bits.Len(uint(k))]
}

// add takes up what a hunt did.
func (t *Stats) add(h *hunt) {
	t.Rescored += h.tally.Rescored
	t.Rescanned += h.tally.Rescanned
}
