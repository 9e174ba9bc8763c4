package tokenize

import (
	"bytes"
	"unicode/utf8"
)

// unigram is the Tokenizer of the Unigram family.
//
// Where the file's normalizer allows it (see runRules), a text is cut into runs at
// ASCII white space, and a run is what the caches remember. Else, and where the end
// of a text needs it, the whole text is normalised.
type unigram struct {
	*unigramModel
	walker
	lattice
	normalScratch
	probe [2]normalScratch
	word  []byte          // scratch: a word with its mark
	tail  [blockSize]byte // scratch: the end of a text
	lone  []int32         // ids of a mark that is a word
	again bool            // walkIDs met a run whose ids depend on what stands before it

	keep   bool // append the source range of every id to spans
	spans  []Span
	offset int // in the source, of the text that is normalised
	look   int // where in its edits to go on searching
	place  place
}

// place is where a walk stands in a segment. end and gap are of use only for spans.
type place struct {
	text []byte
	base int  // where text begins in the source
	end  int  // of the run before, in the source
	gap  Span // white space that no word has yet; Start is -1 where there is none
}

var noGap = Span{Start: -1}

func newUnigram(m *unigramModel) *unigram {
	t := &unigram{unigramModel: m, walker: walker{cache: newCache()}}
	if m.spacing.mark != "" {
		t.lone = m.appendWord(nil, &t.lattice, []byte(m.spacing.mark))
	}
	return t
}

func (t *unigram) Template() Template { return t.template }
func (t *unigram) Special() Special   { return t.special }
func (t *unigram) VocabSize() int     { return t.size }
func (t *unigram) Repaired() int64    { return t.repaired }
func (t *unigram) Clone() Tokenizer   { return newUnigram(t.unigramModel) }

func (t *unigram) Reset() {
	t.cache.reset()
	t.repaired = 0
}

func (t *unigram) AppendIDs(dst []int32, text []byte) []int32 {
	t.keep = false
	return t.text(dst, text)
}

func (t *unigram) AppendSpans(dst []int32, spans []Span, text []byte) ([]int32, []Span) {
	t.keep, t.spans = true, spans
	dst = t.text(dst, text)
	spans, t.spans = t.spans, nil
	return dst, spans
}

// text cuts text at added tokens. What lies between two of them is a text of its
// own to the reference too, but for the mark of prefixFirst.
func (t *unigram) text(dst []int32, text []byte) []int32 {
	from, done := 0, 0
	for {
		m, ok := t.added.next(text, from, done)
		if !ok {
			dst = t.segment(dst, text[done:], done)
			t.release()
			return dst
		}
		if done < m.start {
			dst = t.segment(dst, text[done:m.start], done)
		}
		if dst = append(dst, m.id); t.keep {
			t.spans = appendSpan(t.spans, 1, m.start, m.stop)
		}
		from, done = m.resume, m.stop
	}
}

// release gives up what only a very long word needed.
func (t *unigram) release() {
	if cap(t.word)+2*cap(t.back) > maxScratch {
		t.word, t.back = nil, nil
	}
	t.normalScratch.release()
}

// segment appends the ids of s, which begins at base in the source.
func (t *unigram) segment(dst []int32, s []byte, base int) []int32 {
	if !t.runs.on {
		return t.whole(dst, s, base)
	}
	head, tail := t.runs.trim.ends(s)
	s, base = s[head:tail], base+head
	marks, trailing := t.spacing.cut == cutNowhere, false
	if marks {
		var known bool
		if trailing, known = t.endsInSpace(s); !known {
			return t.whole(dst, s, base)
		}
	}
	// What is stripped from the left is part of no word, but may be in one cluster
	// with what follows it.
	head = 0
	for t.runs.strip.left && head < len(s) && t.runs.separator[s[head]] {
		head++
	}
	if head == len(s) {
		return dst
	}
	t.place = place{text: s, base: base, end: base + head, gap: noGap}
	rest := s[head:]
	if n := t.runs.length(rest); n > 0 && marks && (t.first(rest[0], base) || head > 0 && !t.plain(rest[:n])) {
		dst = t.run(dst, head, head+n, true)
		rest = rest[n:]
	}
	dst = t.walkRuns(dst, rest, len(s)-len(rest))
	if trailing {
		if t.keep {
			t.gapBefore(len(s))
			t.spans = appendSpan(t.spans, len(t.lone), int(t.place.gap.Start), int(t.place.gap.End))
		}
		dst = append(dst, t.lone...)
	}
	return dst
}

// first says whether the run that a segment at base begins with, by byte c, may have
// other ids than behind a space: there the mark stands before all else.
func (t *unigram) first(c byte, base int) bool {
	return t.spacing.prefix == prefixNever || t.spacing.prefix == prefixFirst && base > 0 ||
		c >= utf8.RuneSelf || t.runs.image[c] == 0
}

// endsInSpace says whether s, when normalised, ends in a space that becomes a mark.
// known is false where what is stripped from an end is more than spaces.
func (t *unigram) endsInSpace(s []byte) (yes, known bool) {
	r := &t.runs
	defer func(n int64) { t.repaired = n }(t.repaired) // what is read here is read again
	head, tail := 0, len(s)
	for head < tail && r.separator[s[head]] {
		head++
	}
	for tail > head && r.separator[s[tail-1]] {
		tail--
	}
	if head == tail {
		return !r.strip.left && !r.strip.right, true
	}
	if n := head + r.length(s[head:]); r.strip.left && !t.plain(s[head:n]) {
		text := bytes.TrimLeft(t.local(s, head, n).text, " ")
		c, _ := utf8.DecodeRune(text)
		if len(text) == 0 || propertyOf(c).flags&isSpace != 0 {
			return false, false
		}
	}
	start := tail
	for start > head && !r.separator[s[start-1]] {
		start--
	}
	if t.plain(s[start:tail]) {
		return tail < len(s) && !r.strip.right, true
	}
	text := t.local(s, start, tail).text
	if !r.strip.right {
		return tail < len(s) || bytes.HasSuffix(text, []byte{' '}), true
	}
	text = bytes.TrimRight(text, " ")
	c, _ := utf8.DecodeLastRune(text)
	return false, len(text) > 0 && propertyOf(c).flags&isSpace == 0
}

// local normalises the run of s from start to end, together with the separator
// before it, where there is one.
func (t *unigram) local(s []byte, start, end int) *normalText {
	return t.runs.local.run(&t.normalScratch, s[max(0, start-1):end], t.keep)
}

// plain says whether every byte of run has an image.
func (t *unigram) plain(run []byte) bool {
	if t.runs.printable {
		return printableLength(run) == len(run)
	}
	for _, c := range run {
		if c >= utf8.RuneSelf || t.runs.image[c] == 0 {
			return false
		}
	}
	return true
}

// gapBefore notes the separators between the run before and byte at of the segment.
func (t *unigram) gapBefore(at int) {
	p := &t.place
	if from, to := int32(p.end), int32(p.base+at); from < to {
		p.gap = joined(p.gap, Span{from, to})
	}
}

// joined gives the range of a, where there is one, and b.
func joined(a, b Span) Span {
	if a.Start < 0 {
		return b
	}
	return Span{min(a.Start, b.Start), max(a.End, b.End)}
}
