package tokenize

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// whole appends the ids of s, which begins at base in the source, by normalising all
// of it.
func (t *unigram) whole(dst []int32, s []byte, base int) []int32 {
	n := t.normal.run(&t.normalScratch, s, t.keep)
	t.offset, t.look = base, 0
	t.place.gap = noGap
	return t.tokens(dst, n, base == 0)
}

// words appends the ids of the words of a run, normalised into n together with the
// separator before it. first says that the segment begins with the run.
func (t *unigram) words(dst []int32, n *normalText, first bool) []int32 {
	t.look = 0
	if t.spacing.cut != cutNowhere {
		return t.tokens(dst, n, false)
	}
	p, text := &t.place, n.text
	for i := 0; ; {
		j := i
		for j < len(text) && text[j] == ' ' {
			j++
		}
		if i < j && !(first && t.runs.strip.left) {
			first = false
			if t.keep {
				p.gap = joined(p.gap, t.extent(n, i, j))
			}
		}
		if j == len(text) {
			return dst
		}
		if i = bytes.IndexByte(text[j:], ' '); i < 0 {
			i = len(text)
		} else {
			i += j
		}
		lead := leadSpace
		if first {
			lead = t.lead(p.base == 0)
		}
		dst = t.marked(dst, n, j, i, lead)
		first = false
	}
}

// tokens appends the ids of a normalised text: added tokens, and what lies between
// them. first says that it is the beginning of the source.
func (t *unigram) tokens(dst []int32, n *normalText, first bool) []int32 {
	from, done := 0, 0
	for {
		m, ok := t.addedN.next(n.text, from, done)
		stop := len(n.text)
		if ok {
			stop = m.start
		}
		dst = t.stretch(dst, n, done, stop, t.lead(first && done == 0))
		if !ok {
			return dst
		}
		if dst = append(dst, m.id); t.keep {
			span := t.extent(n, m.start, m.stop)
			if m.start == 0 {
				span = joined(t.place.gap, span) // the token took all white space before it
			}
			t.spans = append(t.spans, span)
			t.place.gap = noGap
		}
		from, done = m.resume, m.stop
	}
}

// stretch appends the ids of a text from byte from to byte to that holds no token.
func (t *unigram) stretch(dst []int32, n *normalText, from, to int, lead lead) []int32 {
	if t.spacing.cut == cutNowhere {
		if from < to {
			dst = t.marked(dst, n, from, to, lead)
		}
		return dst
	}
	for from < to {
		r, size := utf8.DecodeRune(n.text[from:to])
		kind := t.kindOf(r)
		end := from + size
		for end < to {
			r, size := utf8.DecodeRune(n.text[end:to])
			if t.kindOf(r) != kind {
				break
			}
			end += size
		}
		if kind != kindSpace {
			t.place.gap = noGap
			dst = t.marked(dst, n, from, end, lead)
		} else if t.keep {
			t.place.gap = joined(t.place.gap, t.extent(n, from, end))
		}
		from = end
	}
	return dst
}

// Kinds of characters to a cut.
const (
	kindSpace = iota
	kindWord
	kindOther
)

func (t *unigram) kindOf(r rune) int {
	switch f := propertyOf(r).flags; {
	case f&isSpace != 0:
		return kindSpace
	case t.spacing.cut == cutWords && f&isWordChar == 0:
		return kindOther
	}
	return kindWord
}

// lead says what stands before a piece of text.
type lead int

const (
	leadNone  lead = iota
	leadMark       // a mark, unless it begins with one
	leadSpace      // a space that becomes a mark
)

// lead gives what the prepend_scheme puts before a piece of text.
func (t *unigram) lead(first bool) lead {
	if t.spacing.prefix == prefixAlways || t.spacing.prefix == prefixFirst && first {
		return leadMark
	}
	return leadNone
}

// marked appends the ids of a piece of text, from byte from to byte to, with marks
// for its spaces.
func (t *unigram) marked(dst []int32, n *normalText, from, to int, lead lead) []int32 {
	word, text, mark := t.word[:0], n.text[:to], t.spacing.mark
	if lead == leadSpace || lead == leadMark && mark != "" && text[from] != ' ' && !bytes.HasPrefix(text[from:], []byte(mark)) {
		word = append(word, mark...)
	}
	begin := from
	for i := from; i < to; {
		size := 0
		if mark != "" {
			if text[i] == ' ' {
				size = 1
			} else if text[i] == mark[0] && bytes.HasPrefix(text[i:], []byte(mark)) {
				size = len(mark)
			}
		}
		if size == 0 {
			word = append(word, text[i])
			i++
			continue
		}
		if t.spacing.split && len(word) > 0 {
			dst = t.finishWord(dst, n, word, begin, i)
			word, begin = word[:0], i
		}
		word = append(word, mark...)
		i += size
	}
	dst = t.finishWord(dst, n, word, begin, to)
	t.word = word
	return dst
}

// finishWord appends the ids of word, which stands in the text from begin to end.
func (t *unigram) finishWord(dst []int32, n *normalText, word []byte, begin, end int) []int32 {
	from := len(dst)
	if t.runs.on {
		dst = t.appendWord(dst, &t.lattice, word)
	} else {
		dst = t.cachedWord(dst, word)
	}
	if t.keep {
		span := t.place.gap
		if begin < end {
			span = joined(span, t.extent(n, begin, end))
		}
		t.place.gap = noGap
		t.spans = appendSpan(t.spans, len(dst)-from, int(span.Start), int(span.End))
	}
	return dst
}

// cachedWord is appendWord by way of the caches, where they are not kept by run.
func (t *unigram) cachedWord(dst []int32, word []byte) []int32 {
	if len(word) > longKey || bytes.IndexByte(word, 0) >= 0 {
		return t.appendWord(dst, &t.lattice, word)
	}
	var key [4]uint64
	var text [longKey]byte
	copy(text[:], word)
	for i := range key {
		key[i] = binary.LittleEndian.Uint64(text[8*i:])
	}
	from := len(dst)
	if len(word) <= shortKey {
		if slot := t.cache.find(key[0], key[1]); slot != nil {
			return append(dst, slot.ids[:slot.count]...)
		}
		dst = t.appendWord(dst, &t.lattice, word)
		t.cache.putShort(key[0], key[1], dst[from:])
		return dst
	}
	if slot := &t.cache.long[longHash(key)]; slot.key == key {
		return append(dst, slot.ids[:slot.count]...)
	}
	dst = t.appendWord(dst, &t.lattice, word)
	t.cache.putLong(key, dst[from:])
	return dst
}

// extent gives the range of the source of the bytes of n from at to end, which lie
// behind those of the call before with the same n.
func (t *unigram) extent(n *normalText, at, end int) Span {
	span, look := n.extent(at, end, t.look)
	t.look = look
	return Span{span.Start + int32(t.offset), span.End + int32(t.offset)}
}
