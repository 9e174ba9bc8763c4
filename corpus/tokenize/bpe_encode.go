package tokenize

import (
	"math"
	"slices"
	"unicode/utf8"
)

// apart says whether merging the text of a and b gives these two again.
//
// Both are undone, the merge of the higher rank first, and with every two symbols
// that thus meet at the boundary it is asked whether they would have been joined
// before what was just undone. Of equal ranks the left one was first.
func (t *bpeTable) apart(a, b int32) bool {
	limit := uint32(math.MaxUint32)
	for {
		if r := t.pairs.rank(a, b); r != 0 && r < limit {
			return false
		}
		left, right := &t.tokens[a], &t.tokens[b]
		switch {
		case left.rank > right.rank:
			limit, a = left.rank, left.right
		case right.rank == 0:
			return true
		default:
			limit, b = right.rank+1, right.left
		}
	}
}

// apart says whether merging the text of a and b gives these two again.
func (t *bpe) apart(a, b int32) bool {
	table := &t.table
	if len(table.uneven) == 0 || !table.uneven[a] && !table.uneven[b] {
		return table.apart(a, b)
	}
	syms := table.appendSymbols(t.symbols[:0], a)
	syms = table.appendSymbols(syms, b)
	t.symbols = syms
	syms, _ = table.mergeAll(syms, t.merges)
	return len(syms) == 2 && syms[0] == a && syms[1] == b
}

// appendSymbols appends the symbols that the token is made of.
func (t *bpeTable) appendSymbols(dst []int32, id int32) []int32 {
	for t.tokens[id].rank != 0 {
		dst = t.appendSymbols(dst, t.tokens[id].left)
		id = t.tokens[id].right
	}
	return append(dst, id)
}

// encode appends what merging makes of run, which is not empty. It says false, and
// appends nothing, when run holds a character that is no token.
//
// From left to right it takes the longest token that may stand beside the one before,
// and where there is none it goes back and shortens that one. What merging makes of
// the text up to a position is one sequence, so that a position that was left once
// need not be tried again, and the time is linear.
func (t *bpe) encode(dst []int32, run []byte) ([]int32, bool) {
	var few [1]uint64
	dead := few[:]
	if len(run) >= 64 {
		n := len(run)/64 + 1
		t.dead = slices.Grow(t.dead[:0], n)[:n]
		clear(t.dead)
		dead = t.dead
	}
	table := &t.table
	from, at := len(dst), 0
	id, length := table.trie.longest(run)
	for {
		for id >= 0 {
			end := at + length
			if (end == len(run) || dead[end>>6]>>(end&63)&1 == 0) &&
				(len(dst) == from || !table.isBeside(run[at-1], run[at]) || t.apart(dst[len(dst)-1], id)) {
				break
			}
			id, length = table.shorter(id)
		}
		switch {
		case id >= 0:
			dst = append(dst, id)
			if at += length; at == len(run) {
				return dst, true
			}
			id, length = table.trie.longest(run[at:])
		case len(dst) == from:
			return dst, false
		default:
			dead[at>>6] |= 1 << (at & 63)
			last := dst[len(dst)-1]
			dst = dst[:len(dst)-1]
			at -= int(table.lengths[last])
			id, length = table.shorter(last)
		}
	}
}

// shorter gives the longest other token that the token begins with and its length, -1
// and 0 when there is none.
func (t *bpeTable) shorter(id int32) (prefix int32, length int) {
	if prefix = t.tokens[id].prefix; prefix >= 0 {
		length = int(t.lengths[prefix])
	}
	return prefix, length
}

// wholeText gives the token that a text is which is one pre-token and in the
// vocabulary, but for those that merging makes anyway.
func (t *bpe) wholeText(s []byte) (id int32, ok bool) {
	if t.units && t.ignoreMerges && len(s) <= maxTokenBytes {
		id, ok = t.table.whole[string(s)]
	}
	return id, ok
}

// merged appends the ids of run, a pre-token or a unit of one, which is not empty.
func (t *bpe) merged(dst []int32, run []byte) []int32 {
	if t.ignoreMerges && !t.units && len(run) <= maxTokenBytes {
		if id, ok := t.table.whole[string(run)]; ok {
			return append(dst, id)
		}
	}
	dst, ok := t.encode(dst, run)
	if !ok {
		dst = t.spelled(dst, run)
	}
	return dst
}

// spelled is merged for a run with characters that are no tokens. Nothing joins what
// stands for them, so that the stretches between are merged by themselves; those that
// nothing stands for are left out.
func (t *bpe) spelled(dst []int32, run []byte) []int32 {
	t.known = t.known[:0]
	flush := func(dst []int32) []int32 {
		if len(t.known) > 0 {
			dst, _ = t.encode(dst, t.known)
			t.known = t.known[:0]
		}
		return dst
	}
	unknown := false // one waits to be appended
	for len(run) > 0 {
		n := 1
		if !t.split.bytes {
			_, n = utf8.DecodeRune(run)
		}
		c := run[:n]
		run = run[n:]
		if t.table.isSymbol(c) {
			if unknown {
				dst, unknown = append(flush(dst), t.unk), false
			}
			t.known = append(t.known, c...)
			continue
		}
		if t.byteFallback {
			var form [utf8.UTFMax]byte
			if t.split.bytes {
				// The bytes of its visible form, which is what the reference has by then.
				c = utf8.AppendRune(form[:0], byteRunes[c[0]])
			} else if c[0] == ' ' && t.split.marked {
				c = markBytes
			}
			if t.allBytes(c) {
				// The reference leaves an unknown one waiting here.
				dst = flush(dst)
				for _, b := range c {
					dst = append(dst, t.byteIDs[b])
				}
				continue
			}
		}
		if t.unk < 0 {
			continue
		}
		if unknown && !t.fuseUnk {
			dst = append(flush(dst), t.unk)
		}
		unknown = true
	}
	dst = flush(dst)
	if unknown {
		dst = append(dst, t.unk)
	}
	return dst
}

var markBytes = []byte(spaceMark)

// isSymbol says whether the character c is a token.
func (t *bpeTable) isSymbol(c []byte) bool {
	_, length := t.trie.longest(c)
	return length == len(c)
}

// allBytes says whether every byte of c has a token.
func (m *bpeModel) allBytes(c []byte) bool {
	for _, b := range c {
		if m.byteIDs[b] < 0 {
			return false
		}
	}
	return true
}
