package tokenize

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// speller turns the bytes of one run into normalised words. Its fields are
// scratch memory.
type speller struct {
	word       []byte // normalised, in UTF-8, while chars <= maxChars
	chars      int
	start, end int // source range of the word
	marks      []waiting
	parts      []rune

	words    int // finished since the run began
	repaired int64
	keep     bool // append the source range of every id to spans
	base     int  // where in the source the run begins
	spans    []Span
}

// waiting is a non-starter that waits for its turn in canonical order.
type waiting struct {
	r          rune
	p          property
	start, end int
}

// spell appends the ids of a run of any bytes.
func (t *wordPiece) spell(dst []int32, run []byte) []int32 {
	t.words = 0
	for at := 0; at < len(run); {
		r, size, ok := decode(run[at:])
		if !ok {
			t.repaired++
		}
		start, end := at, at+size
		at = end
		p := propertyOf(r)
		if t.clean {
			if p.flags&isDropped != 0 {
				continue
			}
			if p.flags&isSpace != 0 {
				dst = t.finish(dst)
				continue
			}
		}
		apart := t.cjk && p.flags&isCJK != 0
		if apart {
			dst = t.finish(dst)
		}
		switch {
		case !t.strip:
			dst = t.letter(dst, r, p, start, end)
		case p.flags&hasDecomp == 0 && uint32(r-hangulFirst) >= hangulCount:
			dst = t.decomposed(dst, r, p, start, end)
		default:
			t.parts = appendDecomposed(t.parts[:0], r)
			for _, r := range t.parts {
				dst = t.decomposed(dst, r, propertyOf(r), start, end)
			}
		}
		if apart {
			dst = t.finish(dst)
		}
	}
	return t.finish(dst)
}

// decomposed takes the next code point of the decomposed text, which is not yet
// in canonical order. A mark that is stripped still ends a sequence of marks
// when it is a starter.
func (t *wordPiece) decomposed(dst []int32, r rune, p property, start, end int) []int32 {
	switch {
	case p.rank == 0:
		dst = t.settle(dst)
		if p.flags&isMark == 0 {
			dst = t.letter(dst, r, p, start, end)
		}
	case p.flags&isMark != 0:
	case t.chars+len(t.marks) > t.maxChars:
		// The word is unknown already; only its extent still counts.
		t.widen(start, end)
	default:
		t.marks = append(t.marks, waiting{r, p, start, end})
	}
	return dst
}

// settle moves the waiting marks to the word, in canonical order.
func (t *wordPiece) settle(dst []int32) []int32 {
	if len(t.marks) == 0 {
		return dst
	}
	slices.SortStableFunc(t.marks, func(a, b waiting) int { return cmp.Compare(a.p.rank, b.p.rank) })
	for _, m := range t.marks {
		dst = t.letter(dst, m.r, m.p, m.start, m.end)
	}
	t.marks = t.marks[:0]
	return dst
}

// letter takes the next code point of the text in canonical order.
func (t *wordPiece) letter(dst []int32, r rune, p property, start, end int) []int32 {
	if t.lower && p.flags&hasLower != 0 {
		t.parts = appendLower(t.parts[:0], r, p)
		for _, r := range t.parts {
			dst = t.cased(dst, r, propertyOf(r), start, end)
		}
		return dst
	}
	return t.cased(dst, r, p, start, end)
}

// cased takes the next code point of the normalised text.
func (t *wordPiece) cased(dst []int32, r rune, p property, start, end int) []int32 {
	if p.flags&(isSpace|isPunct) == 0 {
		if t.chars < t.maxChars {
			t.word = utf8.AppendRune(t.word, r)
		}
		t.widen(start, end)
		return dst
	}
	dst = t.finishWord(dst)
	if p.flags&isPunct != 0 {
		t.word = utf8.AppendRune(t.word, r)
		t.widen(start, end)
		dst = t.finishWord(dst)
	}
	return dst
}

// widen counts a character of the word that comes from start to end.
func (t *wordPiece) widen(start, end int) {
	if t.chars == 0 {
		t.start, t.end = start, end
	}
	t.chars++
	t.start, t.end = min(t.start, start), max(t.end, end)
}

// finish ends the word, waiting marks included.
func (t *wordPiece) finish(dst []int32) []int32 { return t.finishWord(t.settle(dst)) }

func (t *wordPiece) finishWord(dst []int32) []int32 {
	if t.chars == 0 {
		return dst
	}
	from := len(dst)
	if t.chars > t.maxChars {
		dst = append(dst, t.unk)
	} else {
		dst = t.trie.appendPieces(dst, t.word, t.unk)
	}
	if t.keep {
		t.spans = appendSpan(t.spans, len(dst)-from, t.base+t.start, t.base+t.end)
	}
	t.word, t.chars = t.word[:0], 0
	t.words++
	return dst
}

// appendSpan appends the span from start to end n times.
func appendSpan(spans []Span, n, start, end int) []Span {
	for range n {
		spans = append(spans, Span{int32(start), int32(end)})
	}
	return spans
}
