package tokenize

import (
	"math"
	"slices"
	"unicode/utf8"
)

// pieceTrie is a trie of one root with the id and the score of every piece beside
// its last unit, so that a step of a search costs one cache line.
type pieceTrie struct {
	units []pieceUnit
	root  unit
}

type pieceUnit struct {
	unit  unit
	id    int32
	score float64 // -Inf where no piece ends
}

// newPieceTrie makes a trie of pieces, none of them empty or twice.
func newPieceTrie(pieces []entry, scores []float64) (pieceTrie, error) {
	t, err := newTokenTrie(pieces)
	if err != nil {
		return pieceTrie{}, err
	}
	units := make([]pieceUnit, len(t.units))
	for i, u := range t.units {
		units[i] = pieceUnit{unit: u, score: math.Inf(-1)}
		if u&unitEnds != 0 {
			units[i].id, units[i].score = t.ids[i], scores[t.ids[i]]
		}
	}
	return pieceTrie{units, t.begin}, nil
}

// find gives the id of the piece that text is, -1 when it is none.
func (t *pieceTrie) find(text []byte) int32 {
	u, id := t.root, int32(-1)
	for _, c := range text {
		p := &t.units[uint32(u>>unitShift)^uint32(c)]
		if u = p.unit; u&(unitUsed|0xFF) != unit(c)|unitUsed {
			return -1
		}
		id = p.id
	}
	if u&unitEnds == 0 {
		return -1
	}
	return id
}

// lattice finds the best way to write a word in pieces: the one whose scores have
// the greatest sum. Its fields are scratch memory.
//
// Sums are taken from the left in float64 and of two equal ones the first found
// stands, which is that of the piece that begins first: as in the reference, where
// the last bit of a sum can decide.
//
// Note: words of the caches apart, this is where the time goes, some 20 ns a byte of
// ASCII on a 2-core AMD EPYC, AVX-512. Tried without gain, on Go source and 204,176
// pieces that mix no letters, digits and punctuation: cutting a word where no piece
// has the two bytes side by side, and remembering its parts. Looking up four parts
// takes as long as finding the path of all.
type lattice struct {
	nodes [shortWord + 1]node
	score []float64 // of a long word: a ring of the positions that a piece can reach
	back  []uint16  // of a long word: length of the best piece that ends there
}

// node is a position in a word.
type node struct {
	score float64 // of the best pieces up to here
	id    int32   // of the last of them
	back  int32   // where that begins
}

// shortWord bounds the words that have a node for every byte. Longer ones take two
// bytes a byte, and look up again what they found.
const shortWord = 1 << 10

// appendWord appends the ids of word, which is valid UTF-8 and not empty.
func (m *unigramModel) appendWord(dst []int32, l *lattice, word []byte) []int32 {
	from := len(dst)
	if len(word) <= shortWord {
		dst = m.shortPath(dst, l, word)
	} else {
		dst = m.longPath(dst, l, word)
	}
	slices.Reverse(dst[from:])
	return dst
}

// shortPath appends the ids of word, the last one first.
func (m *unigramModel) shortPath(dst []int32, l *lattice, word []byte) []int32 {
	nodes := l.nodes[:len(word)+1]
	for i := range nodes {
		nodes[i].score = math.Inf(-1)
	}
	nodes[0].score = 0
	units := m.pieces.units
	for s := 0; s < len(word); {
		sum, u, next := nodes[s].score, m.pieces.root, s+runeLength(word[s])
		alone := false
		for end := s; end < len(word); {
			c := word[end]
			p := &units[uint32(u>>unitShift)^uint32(c)]
			if u = p.unit; u&(unitUsed|0xFF) != unit(c)|unitUsed {
				break
			}
			if end++; end == next {
				alone = u&unitEnds != 0
			}
			if to := p.score + sum; to > nodes[end].score {
				nodes[end] = node{to, p.id, int32(s)}
			}
		}
		if to := m.unkCost + sum; !alone && to > nodes[next].score {
			nodes[next] = node{to, m.unk, int32(s)}
		}
		s = next
	}
	for end := len(word); end > 0; {
		start := int(nodes[end].back)
		if nodes[end].id != m.unk {
			dst = append(dst, nodes[end].id)
		} else {
			for start > 0 && nodes[start].id == m.unk {
				start = int(nodes[start].back)
			}
			dst = m.unknown(dst, word[start:end])
		}
		end = start
	}
	return dst
}

// longPath is shortPath of a word of any length.
func (m *unigramModel) longPath(dst []int32, l *lattice, word []byte) []int32 {
	ring := 1
	for ring <= max(m.longest, utf8.UTFMax) {
		ring *= 2
	}
	l.score = slices.Grow(l.score[:0], ring)[:ring]
	l.back = slices.Grow(l.back[:0], len(word)+1)[:len(word)+1]
	score, back, mask := l.score, l.back, ring-1
	for i := range score {
		score[i] = math.Inf(-1)
	}
	score[0] = 0
	units := m.pieces.units
	for s := 0; s < len(word); {
		sum, u, next := score[s&mask], m.pieces.root, s+runeLength(word[s])
		alone := false
		for end := s; end < len(word); {
			c := word[end]
			p := &units[uint32(u>>unitShift)^uint32(c)]
			if u = p.unit; u&(unitUsed|0xFF) != unit(c)|unitUsed {
				break
			}
			if end++; end == next {
				alone = u&unitEnds != 0
			}
			if to := p.score + sum; to > score[end&mask] {
				score[end&mask], back[end] = to, uint16(end-s)
			}
		}
		if to := m.unkCost + sum; !alone && to > score[next&mask] {
			score[next&mask], back[next] = to, uint16(next-s)
		}
		for ; s < next; s++ {
			score[s&mask] = math.Inf(-1) // for the position that takes this place
		}
	}
	for end := len(word); end > 0; {
		start := end - int(back[end])
		if id := m.pieceOf(word[start:end]); id != m.unk {
			dst = append(dst, id)
		} else {
			for start > 0 && m.pieceOf(word[start-int(back[start]):start]) == m.unk {
				start -= int(back[start])
			}
			dst = m.unknown(dst, word[start:end])
		}
		end = start
	}
	return dst
}

// pieceOf gives the id of a piece, the unknown one when text is none.
func (m *unigramModel) pieceOf(text []byte) int32 {
	if id := m.pieces.find(text); id >= 0 {
		return id
	}
	return m.unk
}

// unknown appends the ids, the last one first, of characters that stand together and
// are no pieces: the piece that they are together, or their bytes, or the unknown
// one. The first happens where scores are so high that no unknown character costs
// less.
func (m *unigramModel) unknown(dst []int32, text []byte) []int32 {
	if id := m.pieces.find(text); id >= 0 {
		return append(dst, id)
	}
	if m.bytes == nil {
		return append(dst, m.unk)
	}
	from := len(dst)
	for i := len(text) - 1; i >= 0; i-- {
		id := m.bytes[text[i]]
		if id < 0 {
			return append(dst[:from], m.unk)
		}
		dst = append(dst, id)
	}
	return dst
}

// runeLength gives the length of the character that begins with c, in valid UTF-8.
func runeLength(c byte) int {
	switch {
	case c < 0x80:
		return 1
	case c < 0xE0:
		return 2
	case c < 0xF0:
		return 3
	}
	return 4
}
