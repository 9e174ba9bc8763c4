package metrics

import (
	"math/bits"
	"slices"

	"encbench/metrics/internal/vec"
)

// Matcher finds the judged documents in rankings of documents by number: the input
// of AppendSparse. The zero value knows no judged document. One goroutine at a
// time may use it; it keeps its memory from query to query.
//
// Note: most of a ranking is not judged, so each document first passes a filter in
// vector registers (metrics/internal/vec), and only what it lets through is looked
// up. With 20 judged documents among 1,000 ranked ones, on an AVX-512 core, this
// takes a twelfth of the time of looking up every document.
type Matcher struct {
	set   vec.Set
	slots []slot // a hash table, at most a quarter full
	shift uint
	found []int32
}

// slot holds a judged document and its index plus 1; 0 marks an empty slot.
type slot struct{ doc, number int32 }

// Set gives the judged documents of the query at hand, in any order and at most
// 2^29. They should differ: of equal ones the first counts. docs is not kept.
func (m *Matcher) Set(docs []int32) {
	m.set.Reset()
	size := 1 << bits.Len(uint(max(4*len(docs)-1, 7)))
	m.shift = uint(33 - bits.Len(uint(size)))
	m.slots = slices.Grow(m.slots[:0], size)[:size]
	clear(m.slots)
	for i, doc := range docs {
		m.set.Add(doc)
		if s := m.find(doc); s.number == 0 {
			*s = slot{doc, int32(i + 1)}
		}
	}
}

// find gives the slot of a document, an empty one if it is not judged.
func (m *Matcher) find(doc int32) *slot {
	mask := uint32(len(m.slots) - 1)
	for at := uint32(doc) * vec.Multiplier >> m.shift; ; at++ {
		if s := &m.slots[at&mask]; s.number == 0 || s.doc == doc {
			return s
		}
	}
}

// Match appends to rank the places, from 0, at which judged documents stand in a
// ranking, best first, and to which their indices in the list given to Set. It
// allocates nothing where the slices have room.
func (m *Matcher) Match(rank, which, ranked []int32) ([]int32, []int32) {
	if len(m.slots) == 0 {
		return rank, which
	}
	m.found = slices.Grow(m.found[:0], len(ranked)+vec.Slack)[:len(ranked)+vec.Slack]
	for _, place := range m.found[:m.set.Filter(m.found, ranked)] {
		if s := m.find(ranked[place]); s.number > 0 {
			rank, which = append(rank, place), append(which, s.number-1)
		}
	}
	return rank, which
}
