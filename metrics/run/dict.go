package run

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"encbench/metrics/ranking"
)

// Kinds of a frame's document dictionary.
const (
	dictDigits = 1 // a common prefix and digits
	dictFront  = 2 // front coded: bytes shared with the one before, and the rest
)

// dictionary is what a frame says of its documents, and the code of each row.
type dictionary struct {
	kind    byte
	width   int      // dictDigits: digits
	prefix  []byte   // dictDigits: of every identifier, a view of the rows
	n       int      // documents
	size    int      // bytes of all documents, each once
	numbers []uint64 // dictDigits: gaps; dictFront: shared bytes
	lengths []uint64 // dictFront: bytes of the rest
	text    []byte   // dictDigits: strips; dictFront: the rest of each

	codes []int32 // of each row

	keys        []uint64
	rows, spare []keyed
	unique      []int32 // a row of each document
	byID        map[string]int32
}

// build makes the dictionary of ids. plain stores every identifier whole, for the
// rare frame that would expand too much.
func (d *dictionary) build(ids *ranking.IDs, plain bool) {
	n := ids.Len()
	d.codes = slices.Grow(d.codes[:0], n)[:n]
	d.numbers, d.lengths, d.text, d.n, d.size = d.numbers[:0], d.lengths[:0], d.text[:0], 0, 0
	if n == 0 {
		d.kind, d.width, d.prefix = dictDigits, 0, nil
		return
	}
	if !plain && d.digits(ids) {
		return
	}
	d.front(ids, plain)
}

// digits makes a digit dictionary; false when the identifiers are something else.
func (d *dictionary) digits(ids *ranking.IDs) bool {
	prefix, width := commonPrefix(ids)
	if width -= len(prefix); width > maxDigits {
		return false
	}
	n := ids.Len()
	d.rows = slices.Grow(d.rows[:0], n)[:n]
	d.spare = slices.Grow(d.spare[:0], n)[:n]
	for i := range d.rows {
		key, ok := digitKey(ids.At(i)[len(prefix):], width)
		if !ok {
			return false
		}
		d.rows[i] = keyed{key, int32(i)}
	}
	d.rows, d.spare = sortKeyed(d.rows, d.spare)
	d.keys = d.keys[:0]
	for i, r := range d.rows {
		if i == 0 || r.key != d.rows[i-1].key {
			d.keys = append(d.keys, r.key)
			d.size += len(prefix) + int(r.key&31)
		}
		d.codes[r.row] = int32(len(d.keys) - 1)
	}
	d.kind, d.width, d.prefix, d.n = dictDigits, width, prefix, len(d.keys)
	d.numbers, d.text = appendDigitColumns(d.numbers, d.text, d.keys, width)
	return true
}

// commonPrefix gives the prefix of all identifiers and the length of the longest.
func commonPrefix(ids *ranking.IDs) (prefix []byte, longest int) {
	prefix = ids.At(0)
	for i := range ids.Len() {
		id := ids.At(i)
		longest = max(longest, len(id))
		if !bytes.HasPrefix(id, prefix) {
			prefix = prefix[:shared(prefix, id)]
		}
	}
	return prefix, longest
}

// shared gives the number of bytes that a and b have in common at their beginning.
func shared(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// front makes a front-coded dictionary.
func (d *dictionary) front(ids *ranking.IDs, plain bool) {
	if d.byID == nil {
		d.byID = map[string]int32{}
	}
	clear(d.byID)
	d.unique = d.unique[:0]
	for i := range ids.Len() {
		id := ids.At(i)
		code, ok := d.byID[string(id)]
		if !ok {
			code = int32(len(d.unique))
			d.byID[string(id)] = code
			d.unique = append(d.unique, int32(i))
		}
		d.codes[i] = code
	}
	clear(d.byID) // keeps no identifier of a frame that is gone
	n := len(d.unique)
	// Sorted by the first eight bytes behind what all share; most comparisons end
	// there.
	prefix, _ := commonPrefix(ids)
	d.rows = slices.Grow(d.rows[:0], n)[:n]
	for i, row := range d.unique {
		d.rows[i] = keyed{firstEight(ids.At(int(row))[len(prefix):]), int32(i)}
	}
	slices.SortFunc(d.rows, func(a, b keyed) int {
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		return bytes.Compare(ids.At(int(d.unique[a.row])), ids.At(int(d.unique[b.row])))
	})
	d.spare = slices.Grow(d.spare[:0], n)[:n]
	var last []byte
	for code, r := range d.rows {
		d.spare[r.row].row = int32(code)
		id := ids.At(int(d.unique[r.row]))
		same := 0
		if !plain {
			same = shared(last, id)
		}
		d.numbers = append(d.numbers, uint64(same))
		d.lengths = append(d.lengths, uint64(len(id)-same))
		d.text = append(d.text, id[same:]...)
		d.size += len(id)
		last = id
	}
	for i, c := range d.codes {
		d.codes[i] = d.spare[c].row
	}
	d.kind, d.width, d.prefix, d.n = dictFront, 0, nil, n
}

// firstEight gives the first eight bytes as a number that is ordered as they are,
// a missing byte as 0.
func firstEight(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b)
	}
	var all [8]byte
	copy(all[:], b)
	return binary.BigEndian.Uint64(all[:])
}
