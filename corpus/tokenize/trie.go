package tokenize

import (
	"errors"
	"slices"
	"strings"
)

// trie holds the vocabulary as a double array (Aoe 1989, in the XOR arrangement
// of darts-clone): two roots, for pieces that begin a word and for pieces that
// continue one, the latter without their prefix.
//
// The child of a node by byte c is the unit at base ^ c, if that unit carries
// the label c. Bases are unique, so the label alone proves the parent.
type trie struct {
	units []unit
	ids   []int32 // by unit, where the unit ends a token
	begin unit
	next  unit
}

// unit is base << 10 | ends << 9 | used << 8 | label.
type unit uint32

const (
	unitUsed  = 1 << 8
	unitEnds  = 1 << 9
	unitShift = 10
)

// errTrieFull cannot happen below maxVocab tokens of ordinary length.
var errTrieFull = errors.New("the vocabulary's trie needs more than 4,194,304 nodes")

// appendPieces appends the ids of the tokens that word is made of: the longest
// that it begins with, then the longest that the rest begins with among those
// that continue a word, and so on; or unk alone when a rest begins with none.
func (t *trie) appendPieces(dst []int32, word []byte, unk int32) []int32 {
	units, from, root := t.units, len(dst), t.begin
	for len(word) > 0 {
		u, last, length := root, uint32(0), 0
		for i, c := range word {
			at := uint32(u>>unitShift) ^ uint32(c)
			u = units[at]
			if u&(unitUsed|0xFF) != unit(c)|unitUsed {
				break
			}
			if u&unitEnds != 0 {
				length, last = i+1, at
			}
		}
		if length == 0 {
			return append(dst[:from], unk)
		}
		dst = append(dst, t.ids[last])
		word, root = word[length:], t.next
	}
	return dst
}

type entry struct {
	key string
	id  int32
}

func newTrie(vocab map[string]int32, prefix string) (trie, error) {
	begin := make([]entry, 0, len(vocab))
	var next []entry
	for token, id := range vocab {
		if token == "" {
			continue
		}
		begin = append(begin, entry{token, id})
		if rest, ok := strings.CutPrefix(token, prefix); ok && rest != "" {
			next = append(next, entry{rest, id})
		}
	}
	b := trieBuilder{taken: make([]uint64, 4), based: make([]uint64, 4)}
	// Bases below 256 stay unused: 0 says that a node has no children.
	b.grow()
	b.open = 256
	t := trie{}
	var err error
	for _, r := range []struct {
		root *unit
		list []entry
	}{{&t.begin, begin}, {&t.next, next}} {
		slices.SortFunc(r.list, func(a, b entry) int { return strings.Compare(a.key, b.key) })
		base, e := b.place(r.list, 0)
		err = errors.Join(err, e)
		*r.root = unit(base) << unitShift
	}
	t.units, t.ids = b.units, b.ids
	return t, err
}

// trieBuilder lays out nodes depth first, each at the first base that fits.
type trieBuilder struct {
	units []unit
	ids   []int32
	taken []uint64 // bit per unit in use
	based []uint64 // bit per base in use
	open  uint32   // no unit below is free
}

func (b *trieBuilder) grow() {
	b.units = append(b.units, make([]unit, 256)...)
	b.ids = append(b.ids, make([]int32, 256)...)
	b.taken = append(b.taken, make([]uint64, 4)...)
	b.based = append(b.based, make([]uint64, 4)...)
}

func bit(set []uint64, i uint32) bool { return set[i>>6]>>(i&63)&1 != 0 }

// place lays out the children of the node whose tokens, sorted, share their
// first depth bytes and are longer, and gives the node's base.
func (b *trieBuilder) place(list []entry, depth int) (base uint32, err error) {
	if len(list) == 0 {
		return 0, nil
	}
	var labels [256]byte
	var ends [257]int
	n := 0
	for i, e := range list {
		if c := e.key[depth]; i == 0 || labels[n-1] != c {
			labels[n], n = c, n+1
		}
		ends[n] = i + 1
	}
	base = b.fit(labels[:n])
	if base>>22 != 0 {
		return 0, errTrieFull
	}
	b.based[base>>6] |= 1 << (base & 63)
	for _, c := range labels[:n] {
		at := base ^ uint32(c)
		b.units[at] = unit(c) | unitUsed
		b.taken[at>>6] |= 1 << (at & 63)
	}
	for i, c := range labels[:n] {
		at, group := base^uint32(c), list[ends[i]:ends[i+1]]
		if len(group[0].key) == depth+1 {
			b.units[at] |= unitEnds
			b.ids[at] = group[0].id
			group = group[1:]
		}
		child, err := b.place(group, depth+1)
		if err != nil {
			return 0, err
		}
		b.units[at] |= unit(child) << unitShift
	}
	return base, nil
}

// fitBlocks bounds the search for a base to the last blocks of 256 units, which
// keeps building linear. Little room is lost in the blocks left behind.
const fitBlocks = 16

// fit finds an unused base under which the units of all labels are free.
func (b *trieBuilder) fit(labels []byte) uint32 {
	if low := uint32(max(len(b.units)-fitBlocks*256, 256)); b.open < low {
		b.open = low
	}
	for int(b.open) < len(b.units) && bit(b.taken, b.open) {
		b.open++
	}
search:
	for at := b.open; ; at++ {
		if int(at) == len(b.units) {
			b.grow()
		}
		if at&63 == 0 && b.taken[at>>6] == ^uint64(0) {
			at += 63
			continue
		}
		base := at ^ uint32(labels[0])
		if bit(b.taken, at) || bit(b.based, base) {
			continue
		}
		for _, c := range labels[1:] {
			if bit(b.taken, base^uint32(c)) {
				continue search
			}
		}
		return base
	}
}
