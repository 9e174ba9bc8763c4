package judge

import (
	"fmt"
	"slices"
	"strings"

	"encbench/metrics"
	"encbench/metrics/ranking"
)

// cutoffs gives the distinct cut-offs of the measures, ascending.
func cutoffs(measures []metrics.Measure) []int {
	var cuts []int
	for _, m := range measures {
		if k := m.Cut(); k > 0 {
			cuts = append(cuts, k)
		}
	}
	slices.Sort(cuts)
	return slices.Compact(cuts)
}

// stem gives the name of a measure without parameters and cut-off.
func stem(m metrics.Measure) string {
	name := m.String()
	return name[:strings.IndexFunc(name+"@", func(c rune) bool { return c == '@' || c == '(' })]
}

// checkRange refuses measures whose extremes this package does not know.
func checkRange(measures []metrics.Measure) error {
	for _, m := range measures {
		if parameter(m, "gains") != "" {
			return fmt.Errorf("%s has no known range over tie orders: its gains need not follow the grades", m)
		}
	}
	return nil
}

// parameter gives the value of a parameter in a measure's name, "" where it is not
// there.
func parameter(m metrics.Measure, name string) string {
	_, after, ok := strings.Cut(m.String(), name+"=")
	if !ok {
		return ""
	}
	return after[:strings.IndexAny(after+")", ",)")]
}

// tieGroup is a stretch of the ranking with one score that holds judged documents:
// the places from ≤ place < to, and hits[first:last] of the worker.
type tieGroup struct{ from, to, first, last int }

// tied says whether two rows stand in no order.
func (w *worker) tied(b *ranking.Block, x, y int) bool {
	if w.j.opt.Ties == ranking.ByRank {
		return b.Rank[x] == b.Rank[y]
	}
	return w.sorter.Order.Tied(b.Score[x], b.Score[y])
}

// countTies counts the cut-offs that equal scores touch in a ranking of n documents;
// places says where its documents stand in the order of all rows, nil for there. A
// depth below the cut-off is what cuts.
func (w *worker) countTies(b *ranking.Block, n int, places []int32) {
	for i := range w.counts.TiesAtCut {
		at := &w.counts.TiesAtCut[i]
		k := at.K
		if depth := w.j.opt.Depth; depth > 0 {
			k = min(k, depth)
		}
		if k < n && w.tied(b, w.rowAt(k-1, places), w.rowAt(k, places)) {
			at.Queries++
		}
	}
}

// rowAt gives the row of a place in a ranking whose documents stand at places in the
// order of all rows, nil for there.
func (w *worker) rowAt(place int, places []int32) int {
	if places != nil {
		place = int(places[place])
	}
	return w.row(place)
}

// findGroups lists the groups of a ranking of n documents; places says where its
// documents stand in the order of all rows, nil for there. It reports whether any
// group has more than one document.
func (w *worker) findGroups(b *ranking.Block, n int, places []int32) (any bool) {
	w.groups = w.groups[:0]
	at := func(place int) int { return w.rowAt(place, places) }
	for i := 0; i < len(w.hits); {
		place := int(w.hits[i] >> 32)
		g := tieGroup{from: place, to: place + 1, first: i}
		for g.from > 0 && w.tied(b, at(g.from-1), at(place)) {
			g.from--
		}
		for g.to < n && w.tied(b, at(g.to), at(place)) {
			g.to++
		}
		for i++; i < len(w.hits) && int(w.hits[i]>>32) < g.to; i++ {
		}
		g.last = i
		w.groups = append(w.groups, g)
		any = any || g.to-g.from > 1
	}
	return any
}

// The orders of a tie group between which every measure's values lie.
const (
	bestGrades  = iota // relevant documents first
	worstGrades        // relevant documents last
	judgedFirst
	judgedLast
	arrangements
)

// arrange writes the places of the judged documents of the groups under an
// arrangement, ascending, in the form of hits.
func (w *worker) arrange(arrangement int, grades []float64) {
	w.moved = w.moved[:0]
	for _, g := range w.groups {
		start := len(w.moved)
		for _, hit := range w.hits[g.first:g.last] {
			w.moved = append(w.moved, uint64(uint32(hit)))
		}
		docs := w.moved[start:]
		slices.SortStableFunc(docs, func(a, b uint64) int {
			switch ga, gb := grades[a], grades[b]; {
			case ga > gb:
				return -1
			case ga < gb:
				return 1
			}
			return 0
		})
		// With documents nobody judged in the middle: what counts for a measure stands
		// before them in the best order and behind them in the worst.
		first := 0
		switch arrangement {
		case bestGrades:
			for first < len(docs) && grades[docs[first]] > 0 {
				first++
			}
		case worstGrades:
			slices.Reverse(docs)
			for first < len(docs) && grades[docs[first]] <= 0 {
				first++
			}
		case judgedFirst:
			first = len(docs)
		}
		for i, d := range docs {
			place := g.from + i
			if i >= first {
				place = g.to - len(docs) + i
			}
			docs[i] = uint64(place)<<32 | d
		}
	}
}

// extremes gives the arrangements with the lowest and the highest value.
func extremes(m metrics.Measure) (low, high int) {
	switch stem(m) {
	case "Judged":
		return judgedLast, judgedFirst
	case "unj":
		return judgedFirst, judgedLast
	}
	return worstGrades, bestGrades
}
