package ranking

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Ties says how documents of equal score are ordered.
type Ties int

const (
	// Descending orders equal scores by identifier, greatest bytes first, and
	// ignores the rank column: trec_eval's rule and the default.
	Descending Ties = iota
	// Ascending orders equal scores by identifier, smallest bytes first.
	Ascending
	// File keeps equal scores in the order of their lines.
	File
	// ByRank orders by the rank column alone; scores are not read.
	ByRank
	// Average takes the expected value over every order of equal scores. The
	// ranking itself, which tie counts and ranges start from, is Descending's.
	Average
)

var tieNames = []string{"desc", "asc", "file", "rank", "average"}

// String gives the name that ParseTies accepts.
func (t Ties) String() string {
	if t < 0 || int(t) >= len(tieNames) {
		return fmt.Sprintf("ties(%d)", int(t))
	}
	return tieNames[t]
}

// ParseTies gives the rule of that name.
func ParseTies(name string) (Ties, error) {
	if i := slices.Index(tieNames, name); i >= 0 {
		return Ties(i), nil
	}
	return 0, fmt.Errorf("unknown tie rule %q: %s", name, strings.Join(tieNames, ", "))
}

// Order is the rule that ranks a query's documents: by score, greatest first, and
// equal scores by Ties. The zero value is the default.
type Order struct {
	Ties Ties
	// Float32 compares scores as 32-bit floats, as trec_eval before version 10 and
	// everything built on it does: scores that differ by less are then equal.
	Float32 bool
}

// Tied says whether two scores are equal under the rule.
func (o Order) Tied(a, b float64) bool {
	if o.Float32 {
		return float32(a) == float32(b)
	}
	return a == b
}

// Falling says whether scores fall from each to the next under the rule: then they
// lie in order, none is tied, and only the ends need not be numbers.
func (o Order) Falling(scores []float64) bool {
	if o.Ties == ByRank || o.Float32 {
		return false
	}
	for i := 1; i < len(scores); i++ {
		if !(scores[i-1] > scores[i]) {
			return false
		}
	}
	return true
}

// Sorter puts the rows of queries in order. The zero value with an Order is ready;
// it keeps scratch memory and serves one goroutine.
type Sorter struct {
	Order Order
	rows  []int32
}

// Rank gives the rows of query q, best first; nil says that they already lie in
// order. The result is valid until the next call. No score may be NaN, and under
// ByRank the block has ranks.
func (s *Sorter) Rank(b *Block, q int) []int32 {
	from, to := b.Rows(q)
	if s.ordered(b, from, to) {
		return nil
	}
	return s.Choose(b, q, nil)
}

// Choose gives the rows of query q, best first, without those that dropped says,
// by row from the query's first; nil drops none. The result is valid until the
// next call.
func (s *Sorter) Choose(b *Block, q int, dropped []bool) []int32 {
	from, to := b.Rows(q)
	s.rows = slices.Grow(s.rows[:0], to-from)
	for row := from; row < to; row++ {
		if dropped == nil || !dropped[row-from] {
			s.rows = append(s.rows, int32(row))
		}
	}
	s.sort(b, s.rows)
	return s.rows
}

// ordered says whether the rows lie in the order of the rule.
func (s *Sorter) ordered(b *Block, from, to int) bool {
	if s.Order.Ties == ByRank {
		return slices.IsSorted(b.Rank[from:to])
	}
	score := b.Score[from:to]
	for i := 1; i < len(score); i++ {
		if score[i-1] > score[i] && !s.Order.Float32 {
			continue
		}
		switch c := s.compareScores(score[i-1], score[i]); {
		case c > 0, c == 0 && s.compareTied(b, from+i-1, from+i) > 0:
			return false
		}
	}
	return true
}

// sort puts rows, which lie in ascending order, into the order of the rule.
func (s *Sorter) sort(b *Block, rows []int32) {
	if s.Order.Ties == ByRank {
		slices.SortStableFunc(rows, func(x, y int32) int { return int(b.Rank[x]) - int(b.Rank[y]) })
		return
	}
	compare := func(x, y int32) int {
		if c := s.compareScores(b.Score[x], b.Score[y]); c != 0 {
			return c
		}
		return s.compareTied(b, int(x), int(y))
	}
	// Runs that are not in order are often so only inside groups of equal scores.
	for i := 1; i < len(rows); i++ {
		if s.compareScores(b.Score[rows[i-1]], b.Score[rows[i]]) > 0 {
			slices.SortFunc(rows, compare)
			return
		}
	}
	for from := 0; from < len(rows); {
		to := from + 1
		for to < len(rows) && s.Order.Tied(b.Score[rows[from]], b.Score[rows[to]]) {
			to++
		}
		if to-from > 1 {
			slices.SortFunc(rows[from:to], compare)
		}
		from = to
	}
}

// compareScores is negative where a comes before b.
func (s *Sorter) compareScores(a, b float64) int {
	if s.Order.Float32 {
		a, b = float64(float32(a)), float64(float32(b))
	}
	switch {
	case a > b:
		return -1
	case a < b:
		return 1
	}
	return 0
}

// compareTied orders two rows of equal score. Rows with the same identifier, which
// only a lenient reading lets through, keep the order of their lines.
func (s *Sorter) compareTied(b *Block, x, y int) int {
	if s.Order.Ties == File {
		return x - y
	}
	var c int
	if b.Sorted && b.Doc != nil {
		c = int(b.Doc[y]) - int(b.Doc[x])
	} else {
		c = bytes.Compare(b.DocAt(y), b.DocAt(x))
	}
	if s.Order.Ties == Ascending {
		c = -c
	}
	if c == 0 {
		c = x - y
	}
	return c
}
