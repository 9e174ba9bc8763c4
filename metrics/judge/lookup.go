package judge

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"math"
	"slices"

	"encbench/metrics/ranking"
)

// drop takes a row out of the ranking.
func (w *worker) drop(row int) {
	if len(w.dropped) == 0 {
		w.dropped = slices.Grow(w.dropped, w.to-w.from)[:w.to-w.from]
		clear(w.dropped)
	}
	w.dropped[row-w.from] = true
}

// repeat handles a row whose document stands in an earlier row of the query.
func (w *worker) repeat(b *ranking.Block, q, first, row int) error {
	if w.j.opt.KeepFirst {
		w.drop(row)
		w.counts.Duplicates++
		return nil
	}
	where := fmt.Sprintf("rows %d and %d of the query", first-w.from+1, row-w.from+1)
	if b.Place != nil {
		where = b.Place(first) + " and " + b.Place(row)
	}
	return fmt.Errorf("query %q, document %q: ranked twice, %s; a document may stand in a ranking once", b.Queries.At(q), b.DocAt(row), where)
}

func placePrefix(b *ranking.Block, row int) string {
	if b.Place == nil {
		return ""
	}
	return b.Place(row) + ": "
}

// enter puts the query's documents into the table.
func (w *worker) enter(b *ranking.Block, q int) error {
	n := w.to - w.from
	size := 64
	for size < 2*n {
		size *= 2
	}
	if cap(w.table) < size {
		w.table = make([]uint64, size)
	}
	w.table = w.table[:size]
	clear(w.table)
	mask := uint64(size - 1)
	for row := w.from; row < w.to; row++ {
		doc := b.DocAt(row)
		h := maphash.Bytes(seed, doc)
		at := h & mask
		for ; w.table[at] != 0; at = (at + 1) & mask {
			if slot := w.table[at]; (slot^h)>>32 == 0 {
				if first := w.from + int(uint32(slot)) - 1; bytes.Equal(b.DocAt(first), doc) {
					if err := w.repeat(b, q, first, row); err != nil {
						return err
					}
					break
				}
			}
		}
		if w.table[at] == 0 {
			w.table[at] = h&^(1<<32-1) | uint64(row-w.from+1)
		}
	}
	return nil
}

// prepare makes the marks ready for a block with document codes.
func (w *worker) prepare(b *ranking.Block) {
	n := b.Docs.Len()
	if b.Dictionary != nil {
		n = b.Dictionary.Len()
	}
	if len(w.last) < n {
		w.last = append(w.last, make([]uint32, n-len(w.last))...)
	}
	if w.next == 0 || uint64(w.next)+uint64(len(b.Score)) > math.MaxUint32 {
		clear(w.last)
		w.next = 1
	}
	w.epoch = w.next
	w.next += uint32(len(b.Score))
}

// enterCoded marks the query's documents by their codes.
func (w *worker) enterCoded(b *ranking.Block, q int) error {
	start := w.epoch + uint32(w.from)
	for row := w.from; row < w.to; row++ {
		last := &w.last[b.Doc[row]]
		if *last >= start {
			if err := w.repeat(b, q, int(*last-w.epoch), row); err != nil {
				return err
			}
			continue
		}
		*last = w.epoch + uint32(row)
	}
	return nil
}

// find gives the row of a document, −1 where it was not entered.
func (w *worker) find(b *ranking.Block, doc []byte, coded bool) int {
	if coded {
		var code int
		var ok bool
		if b.Dictionary != nil {
			code, ok = b.Dictionary.Find(doc)
		} else {
			code, ok = search(&b.Docs, doc)
		}
		if !ok || w.last[code] < w.epoch+uint32(w.from) {
			return -1
		}
		return int(w.last[code] - w.epoch)
	}
	mask := uint64(len(w.table) - 1)
	h := maphash.Bytes(seed, doc)
	for at := h & mask; w.table[at] != 0; at = (at + 1) & mask {
		if slot := w.table[at]; (slot^h)>>32 == 0 {
			if row := w.from + int(uint32(slot)) - 1; bytes.Equal(b.DocAt(row), doc) {
				return row
			}
		}
	}
	return -1
}

// search finds an identifier in an ascending list.
func search(ids *ranking.IDs, id []byte) (int, bool) {
	low, high := 0, ids.Len()
	for low < high {
		mid := int(uint(low+high) / 2)
		switch bytes.Compare(ids.At(mid), id) {
		case 0:
			return mid, true
		case -1:
			low = mid + 1
		default:
			high = mid
		}
	}
	return 0, false
}

// lookUp finds the ranks of the judged documents, ascending, as rank and place
// among the judgements in one number.
func (w *worker) lookUp(b *ranking.Block, of *judged, coded bool) {
	w.hits = w.hits[:0]
	for d, doc := range of.docs {
		row := w.find(b, []byte(doc), coded)
		if row < 0 {
			continue
		}
		place := int32(row - w.from)
		if w.rows != nil {
			place = w.place[place]
		}
		if place >= 0 {
			w.hits = append(w.hits, uint64(place)<<32|uint64(uint32(d)))
		}
	}
	slices.Sort(w.hits)
}
