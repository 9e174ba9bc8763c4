package tokenize

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// bpeTable is what encoding needs of vocabulary and merges.
//
// The definition merges symbols by rank, leftmost first, which costs a queue. The
// table instead decides from two tokens alone whether they may stand side by side:
// a sequence of tokens is the result of merging exactly when merging the text of
// every neighbouring two gives those two. (Were it another result, its first merge
// across a boundary of the sequence would happen as well in the text of the two
// tokens there, since all before it stayed within tokens; and a boundary of the
// result lets nothing across in the text of its two neighbours either.) The
// observation is that of the Rust crate bpe (GitHub, 2024).
type bpeTable struct {
	trie   trie // the tokens that merging can make, by their text
	tokens []bpeToken
	pairs  pairTable
	// lengths are in bytes of text, for every token of the trie.
	lengths []uint16
	// uneven lists tokens whose merging does not go by ascending ranks. Where it is
	// not empty, pairs with one of them are decided by merging.
	uneven map[int32]bool
	// whole are the tokens that merging cannot make, by their text.
	whole map[string]int32
	// beside[x] is the set of bytes that stand behind byte x in some token of the trie.
	// Between others nothing is ever joined.
	beside [256][4]uint64
}

// bpeToken is how merging makes a token: last of all left and right, by the merge of
// that rank.
type bpeToken struct {
	left, right int32
	rank        uint32 // one more than the merge's; 0 for a single symbol
	prefix      int32  // the longest other token of the trie that this one begins with, or -1
}

// spelled gives the text that the token stands for, false when no text gives it.
func (m *bpeModel) spelled(token string) (string, bool) {
	switch {
	case m.split.bytes:
		return fromByteRunes(token)
	case m.split.marked:
		if strings.Contains(token, " ") {
			return "", false // every space has become a mark
		}
		return strings.ReplaceAll(token, spaceMark, " "), true
	}
	return token, true
}

// fromByteRunes gives the bytes whose visible forms token is made of (see byteRunes),
// false when it holds anything else.
func fromByteRunes(token string) (string, bool) {
	out := make([]byte, 0, len(token))
	for _, r := range token {
		if int(r) >= len(runeBytes) || runeBytes[r] < 0 {
			return "", false
		}
		out = append(out, byte(runeBytes[r]))
	}
	return string(out), true
}

// runeBytes is the inverse of byteRunes, -1 where there is none.
var runeBytes = func() (bytes [324]int16) {
	for r := range bytes {
		bytes[r] = -1
	}
	for b, r := range byteRunes {
		bytes[r] = int16(b)
	}
	return bytes
}()

// prepare builds the table.
func (m *bpeModel) prepare() error {
	t := &m.table
	t.pairs = newPairTable(m.merges)
	t.tokens = make([]bpeToken, m.size)
	t.lengths = make([]uint16, m.size)
	t.whole = map[string]int32{}
	t.uneven = map[int32]bool{}
	b := &tableBuilder{model: m, symbols: m.symbols()}
	var list []entry
	for token, id := range m.vocab {
		text, ok := m.spelled(token)
		if !ok || text == "" {
			continue
		}
		if !b.make(text, id) {
			t.whole[text] = id
			continue
		}
		list = append(list, entry{text, id})
		for i := 1; i < len(text); i++ {
			t.beside[text[i-1]][text[i]>>6] |= 1 << (text[i] & 63)
		}
		t.lengths[id] = uint16(len(text))
	}
	if err := m.checkInert(); err != nil {
		return err
	}
	// Shorter tokens first: the parts of a token come before it.
	slices.SortFunc(list, func(a, b entry) int {
		if len(a.key) != len(b.key) {
			return len(a.key) - len(b.key)
		}
		return strings.Compare(a.key, b.key)
	})
	for _, e := range list {
		k := &t.tokens[e.id]
		if k.rank == 0 {
			continue
		}
		if l, r := k.left, k.right; t.uneven[l] || t.uneven[r] || t.tokens[l].rank >= k.rank || t.tokens[r].rank >= k.rank {
			t.uneven[e.id] = true
		}
	}
	var err error
	if t.trie, err = newTokenTrie(list); err != nil {
		return err
	}
	for _, e := range list {
		t.tokens[e.id].prefix, _ = t.trie.longest([]byte(e.key[:len(e.key)-1]))
	}
	return nil
}

// symbols gives the ids of the characters, or bytes, that texts are made of.
func (m *bpeModel) symbols() map[string]int32 {
	symbols := map[string]int32{}
	for token, id := range m.vocab {
		if utf8.RuneCountInString(token) != 1 {
			continue
		}
		if text, ok := m.spelled(token); ok {
			symbols[text] = id
		}
	}
	return symbols
}

// checkInert makes sure that what stands for unknown characters takes no part in
// merges.
func (m *bpeModel) checkInert() error {
	inert := map[int32]string{}
	for token, id := range m.vocab {
		if id == m.unk || m.byteFallback && slices.Contains(m.byteIDs[:], id) {
			inert[id] = token
		}
	}
	for i, g := range m.merges {
		for _, id := range []int32{g.left, g.right} {
			if token, ok := inert[id]; ok {
				return fmt.Errorf("merge %d joins %.200q, which stands for unknown characters: that is %w", i, token, ErrUnsupported)
			}
		}
	}
	return nil
}

// tableBuilder finds out how merging makes tokens.
type tableBuilder struct {
	model   *bpeModel
	symbols map[string]int32
	scratch []int32
}

// make enters how merging makes the token of this text, false when it does not.
func (b *tableBuilder) make(text string, id int32) bool {
	syms := b.scratch[:0]
	for i := 0; i < len(text); {
		n := 1
		if !b.model.split.bytes {
			_, n = utf8.DecodeRuneInString(text[i:])
		}
		s, ok := b.symbols[text[i:i+n]]
		if !ok {
			return false
		}
		syms = append(syms, s)
		i += n
	}
	b.scratch = syms
	t := &b.model.table
	k := &t.tokens[id]
	*k = bpeToken{left: -1, right: -1}
	if len(syms) == 1 {
		return syms[0] == id
	}
	syms, last := t.mergeAll(syms, b.model.merges)
	if len(syms) != 1 || syms[0] != id {
		return false
	}
	k.left, k.right, k.rank = b.model.merges[last].left, b.model.merges[last].right, uint32(last)+1
	return true
}

// mergeAll does what defines the family to the symbols: it joins the neighbours of
// the lowest rank, leftmost first, again and again. It gives what is left, in place,
// and the rank of the last merge. The time is quadratic: syms should be few.
func (t *bpeTable) mergeAll(syms []int32, merges []merge) (left []int32, last int) {
	last = -1
	for len(syms) > 1 {
		best, at := uint32(math.MaxUint32), -1
		for i := range len(syms) - 1 {
			if r := t.pairs.rank(syms[i], syms[i+1]); r != 0 && r < best {
				best, at = r, i
			}
		}
		if at < 0 {
			break
		}
		last = int(best) - 1
		syms[at] = merges[last].id
		syms = slices.Delete(syms, at+1, at+2)
	}
	return syms, last
}

// pairTable gives the ranks of pairs: an open table of left << 43 | right << 22 |
// rank + 1, 0 where it is empty.
//
// Note: a bitmap that tells most absent pairs, and a cache of what apart found, were
// tried; neither was faster.
type pairTable struct {
	slots []uint64
	shift uint8
}

const (
	rankBits = 22
	idBits   = 21
)

func newPairTable(merges []merge) pairTable {
	bits := uint8(4)
	for 1<<bits < 2*len(merges) {
		bits++
	}
	p := pairTable{slots: make([]uint64, 1<<bits), shift: 64 - bits}
	for i, g := range merges {
		key := uint64(g.left)<<idBits | uint64(g.right)
		at := key * hashMul0 >> p.shift
		for p.slots[at] != 0 {
			at = (at + 1) & uint64(len(p.slots)-1)
		}
		p.slots[at] = key<<rankBits | uint64(i+1)
	}
	return p
}

// rank gives one more than the rank of the merge of the two, 0 when there is none.
func (p *pairTable) rank(left, right int32) uint32 {
	key := uint64(left)<<idBits | uint64(right)
	for at := key * hashMul0 >> p.shift; ; at++ {
		e := p.slots[at&uint64(len(p.slots)-1)]
		if e>>rankBits == key {
			return uint32(e & (1<<rankBits - 1)) // of an empty slot 0, whatever the key
		}
		if e == 0 {
			return 0
		}
	}
}

// newTokenTrie makes a trie of one root.
func newTokenTrie(list []entry) (trie, error) {
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	b := trieBuilder{taken: make([]uint64, 4), based: make([]uint64, 4), open: 256}
	b.grow()
	base, err := b.place(list, 0)
	return trie{units: b.units, ids: b.ids, begin: unit(base) << unitShift}, err
}

// longest gives the longest token that s begins with and its length, -1 and 0 when
// there is none.
func (t *trie) longest(s []byte) (id int32, length int) {
	units, u, last := t.units, t.begin, uint32(0)
	for i, c := range s {
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
		return -1, 0
	}
	return t.ids[last], length
}

// scanUnits scans the parts of a text that nothing joins: from a space that follows
// something else to the next, where no token has the two together.
func (t *bpeTable) scanUnits(s []byte) (n int, drop bool) {
	for at := 1; at < len(s); at++ {
		i := bytes.IndexByte(s[at:], ' ')
		if i < 0 {
			break
		}
		if at += i; s[at-1] != ' ' && !t.isBeside(s[at-1], ' ') {
			return at, false
		}
	}
	return len(s), false
}

// windowUnits is scanUnits as a window, of any bytes.
func (t *bpeTable) windowUnits(w *classes64, s []byte, n int, _ bool) (starts uint64) {
	starts = w.blank&^(w.blank<<1)&(^uint64(0)>>(64-n)) | 1
	for more := starts &^ 1; more != 0; more &= more - 1 {
		if i := bits.TrailingZeros64(more); t.isBeside(s[i-1], ' ') {
			starts &^= 1 << i
		}
	}
	return starts
}

// isBeside says whether the bytes stand together in some token of the trie.
func (t *bpeTable) isBeside(left, right byte) bool {
	return t.beside[left][right>>6]>>(right&63)&1 != 0
}
