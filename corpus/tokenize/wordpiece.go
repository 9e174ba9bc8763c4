package tokenize

import (
	"bytes"
	"encoding/binary"
)

// wordPiece is the fast Tokenizer.
type wordPiece struct {
	*model
	speller
	walker
	fold uint64 // highs where the model is uncased, else 0
	low  []byte // scratch

	whole normalScratch // for what is normalised as a whole
}

func newWordPiece(m *model) *wordPiece {
	t := &wordPiece{model: m, walker: walker{cache: newCache()}}
	if m.lower {
		t.fold = highs
	}
	return t
}

func (t *wordPiece) Template() Template { return t.template }
func (t *wordPiece) Special() Special   { return t.special }
func (t *wordPiece) VocabSize() int     { return t.size }
func (t *wordPiece) Repaired() int64    { return t.repaired + t.whole.repaired }
func (t *wordPiece) Clone() Tokenizer   { return newWordPiece(t.model) }

func (t *wordPiece) Reset() {
	t.cache.reset()
	t.repaired, t.whole.repaired = 0, 0
}

func (t *wordPiece) AppendIDs(dst []int32, text []byte) []int32 {
	t.keep = false
	return t.text(dst, text)
}

func (t *wordPiece) AppendSpans(dst []int32, spans []Span, text []byte) ([]int32, []Span) {
	from := len(spans)
	t.keep, t.spans = true, spans
	dst = t.text(dst, text)
	spans, t.spans = t.spans, nil
	if t.late.any {
		joinOverlaps(spans[from:])
	}
	return dst, spans
}

// text cuts text at added tokens. What lies between two of them is a text of its
// own to the reference too.
func (t *wordPiece) text(dst []int32, text []byte) []int32 {
	from, done := 0, 0
	for {
		m, ok := t.added.next(text, from, done)
		if !ok {
			return t.part(dst, text[done:], done)
		}
		if done < m.start {
			dst = t.part(dst, text[done:m.start], done)
		}
		dst = append(dst, m.id)
		if t.keep {
			t.spans = appendSpan(t.spans, 1, m.start, m.stop)
		}
		from, done = m.resume, m.stop
	}
}

// part appends the ids of s, which begins at base in the source and holds no token
// that is matched before normalisation.
func (t *wordPiece) part(dst []int32, s []byte, base int) []int32 {
	if t.late.any {
		dst = t.withTokens(dst, s, base)
		t.whole.release()
		return dst
	}
	return t.segment(dst, s, base)
}

// segment appends the ids of s, which begins at base in the source.
func (t *wordPiece) segment(dst []int32, s []byte, base int) []int32 {
	carry := uint64(0)
	for len(s) >= blockSize {
		blocks := min(len(s)/blockSize, chunkBlocks)
		carry = t.chunk.classify(s, blocks, carry, t.fold)
		dst = t.walk(dst, s, blocks, base)
		s, base = s[blocks*blockSize:], base+blocks*blockSize
	}
	if len(s) > 0 {
		tail := spaces
		copy(tail[:], s)
		t.chunk.classify(tail[:], 1, carry, t.fold)
		dst = t.walk(dst, s, 1, base)
	}
	return dst
}

// spaces pads the end of a text to a block.
var spaces = [blockSize]byte(bytes.Repeat([]byte{' '}, blockSize))

// shortItem is that of misses. low is run in lower case where the model is uncased.
func (t *wordPiece) shortItem(dst []int32, run, low []byte, k0, k1 uint64) []int32 {
	if slot := t.cache.find(k0, k1); slot != nil {
		return append(dst, slot.ids[:slot.count]...)
	}
	from := len(dst)
	dst, whole := t.uncached(dst, run, low)
	if whole {
		t.cache.putShort(k0, k1, dst[from:])
	}
	return dst
}

// longItem is that of misses.
func (t *wordPiece) longItem(dst []int32, s []byte, at, length int) []int32 {
	if length > blockSize {
		return t.crossing(dst, s[:max(1, runLength(s))]) // 1 for a mark at the chunk's end
	}
	run, low := s[:length], t.chunk.low[at:at+length]
	if length > longKey {
		dst, _ = t.uncached(dst, run, low)
		return dst
	}
	key := longKeyOf(&t.chunk.low, at, length)
	if slot := &t.cache.long[longHash(key)]; slot.key == key {
		return append(dst, slot.ids[:slot.count]...)
	}
	from := len(dst)
	dst, whole := t.uncached(dst, run, low)
	if whole {
		t.cache.putLong(key, dst[from:])
	}
	return dst
}

// crossing appends the ids of an item that the chunk may hold in part only.
func (t *wordPiece) crossing(dst []int32, run []byte) []int32 {
	low := run
	if len(run) <= t.maxChars && t.lower {
		low = append(t.low[:0], run...)
		for i, c := range low {
			if 'A' <= c && c <= 'Z' {
				low[i] = c | 0x20
			}
		}
		t.low = low
	}
	dst, _ = t.uncached(dst, run, low)
	return dst
}

// uncached appends the ids of a run or punctuation mark. low is the same in
// lower case where the model is uncased. whole says that the ids may be
// remembered: the run is one pre-token at most and needed no repair.
func (t *wordPiece) uncached(dst []int32, run, low []byte) (ids []int32, whole bool) {
	switch {
	case !plainASCII(run):
		repaired := t.repaired
		dst = t.spell(dst, run)
		return dst, t.words <= 1 && t.repaired == repaired
	case len(run) > t.maxChars:
		return append(dst, t.unk), true
	}
	return t.trie.appendPieces(dst, low, t.unk), true
}

// plainASCII says that normalisation can only lower the case of run.
func plainASCII(run []byte) bool {
	for ; len(run) >= 8; run = run[8:] {
		if odd(binary.LittleEndian.Uint64(run)) != 0 {
			return false
		}
	}
	for _, c := range run {
		if odd(uint64(c)|' '*(every-1)) != 0 {
			return false
		}
	}
	return true
}
