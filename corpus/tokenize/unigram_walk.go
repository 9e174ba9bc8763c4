package tokenize

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// classifySpaces is classify where only the bytes of set end a run, and nothing is
// in lower case.
func (c *chunk) classifySpaces(s []byte, blocks int, carry uint64, set [4]byte) uint64 {
	carry = classifySpaces(c, s[:blocks*blockSize], carry, set)
	c.stops[blocks] = 0
	return carry
}

// classifySpacesGeneric does the work of classifySpaces for a positive number of
// blocks, eight bytes at a time in ordinary registers.
func classifySpacesGeneric(c *chunk, s []byte, carry uint64, set [4]byte) uint64 {
	for b := range len(s) / blockSize {
		var spaces uint64
		for i := 0; i < blockSize; i += 8 {
			spaces |= gather(spaceBytes(binary.LittleEndian.Uint64(s[b*blockSize+i:]), set)) << i
		}
		copy(c.low[b*blockSize:], s[b*blockSize:(b+1)*blockSize])
		runs := ^spaces
		inside := runs & (runs<<1 | carry)
		carry = runs >> 63
		c.starts[b], c.stops[b] = runs&^inside, ^inside
	}
	return carry
}

// spaceBytes gives the high bits of the bytes of w that are in set, which is ASCII.
func spaceBytes(w uint64, set [4]byte) uint64 {
	other := ^uint64(0)
	for _, c := range set {
		other &= (w&^highs ^ uint64(c)*every) + 0x7F*every
	}
	return ^(other | w) & highs
}

// length counts the bytes of s before the first separator.
func (r *runRules) length(s []byte) int {
	n := 0
	for ; n+8 <= len(s); n += 8 {
		if w := spaceBytes(binary.LittleEndian.Uint64(s[n:]), r.set); w != 0 {
			return n + bits.TrailingZeros64(w)/8
		}
	}
	for n < len(s) && !r.separator[s[n]] {
		n++
	}
	return n
}

// walkRuns appends the ids of the runs of s, which begins at byte at of the segment.
func (t *unigram) walkRuns(dst []int32, s []byte, at int) []int32 {
	carry := uint64(0)
	for len(s) >= blockSize {
		blocks := min(len(s)/blockSize, chunkBlocks)
		carry = t.chunk.classifySpaces(s, blocks, carry, t.runs.set)
		dst = t.walk(dst, s, blocks, at)
		s, at = s[blocks*blockSize:], at+blocks*blockSize
	}
	if len(s) > 0 {
		t.tail = spaces
		copy(t.tail[:], s)
		t.chunk.classifySpaces(t.tail[:], 1, carry, t.runs.set)
		dst = t.walk(dst, t.tail[:], 1, at)
	}
	return dst
}

// walk appends the ids of the runs that start in the first blocks blocks of the
// chunk, whose text s begins at byte at of the segment.
//
// A NUL must not be part of a key (see cache.go), which only walkCarefully makes
// sure of.
func (t *unigram) walk(dst []int32, s []byte, blocks, at int) []int32 {
	if !t.keep && bytes.IndexByte(s[:blocks*blockSize], 0) < 0 {
		from, repaired := len(dst), t.repaired
		t.again = false
		if dst = t.walkIDs(dst, s, blocks, t); !t.again {
			return dst
		}
		dst, t.repaired = dst[:from], repaired
	}
	return t.walkCarefully(dst, blocks, at)
}

// walkCarefully is walkIDs with regard to what stands before every run, and to where
// it stands.
func (t *unigram) walkCarefully(dst []int32, blocks, at int) []int32 {
	for b := range blocks {
		for starts := t.chunk.starts[b]; starts != 0; starts &= starts - 1 {
			in := b*blockSize + bits.TrailingZeros64(starts)
			start := at + in
			end := start + t.runs.length(t.place.text[start:])
			run := t.place.text[start:end]
			if !t.plain(run) {
				dst = t.run(dst, start, end, false)
				continue
			}
			from := len(dst)
			if length := end - start; length > longKey || in+length > blocks*blockSize {
				dst = t.plainRun(dst, run)
			} else if length > shortKey {
				dst = t.longItem(dst, run, in, length)
			} else {
				k0, k1 := shortKeyOf(&t.chunk.low, in, length)
				dst = t.shortItem(dst, run, nil, k0, k1)
			}
			t.placed(len(dst)-from, start, end)
		}
	}
	return dst
}

// placed gives a plain run, from start to end of the segment, its spans.
func (t *unigram) placed(ids, start, end int) {
	if !t.keep {
		return
	}
	p, span := &t.place, Span{int32(t.place.base + start), int32(t.place.base + end)}
	if t.spacing.cut == cutNowhere {
		t.gapBefore(start)
		span = joined(p.gap, span)
	}
	p.gap, p.end = noGap, p.base+end
	t.spans = appendSpan(t.spans, ids, int(span.Start), int(span.End))
}

// run appends the ids of the run of the segment from start to end. first says that
// the segment begins with it.
func (t *unigram) run(dst []int32, start, end int, first bool) []int32 {
	if t.keep {
		t.gapBefore(start)
		t.offset = t.place.base + max(0, start-1)
	}
	dst = t.words(dst, t.local(t.place.text, start, end), first)
	t.place.end = t.place.base + end
	return dst
}

// shortItem is that of misses.
func (t *unigram) shortItem(dst []int32, run, _ []byte, k0, k1 uint64) []int32 {
	if slot := t.cache.find(k0, k1); slot != nil {
		return append(dst, slot.ids[:slot.count]...)
	}
	from := len(dst)
	dst, whole := t.uncached(dst, run)
	if whole {
		t.cache.putShort(k0, k1, dst[from:])
	}
	return dst
}

// longItem is that of misses.
func (t *unigram) longItem(dst []int32, s []byte, at, length int) []int32 {
	if length > blockSize {
		dst, _ = t.uncached(dst, s[:t.runs.length(s)])
		return dst
	}
	if length > longKey {
		dst, _ = t.uncached(dst, s[:length])
		return dst
	}
	key := longKeyOf(&t.chunk.low, at, length)
	if slot := &t.cache.long[longHash(key)]; slot.key == key {
		return append(dst, slot.ids[:slot.count]...)
	}
	from := len(dst)
	dst, whole := t.uncached(dst, s[:length])
	if whole {
		t.cache.putLong(key, dst[from:])
	}
	return dst
}

// uncached appends the ids of a run that stands behind a separator, or whose ids are
// the same elsewhere. It says whether they may be remembered. Where they depend on
// what stands before the run, it sets t.again.
func (t *unigram) uncached(dst []int32, run []byte) (ids []int32, whole bool) {
	if t.plain(run) {
		return t.plainRun(dst, run), true
	}
	if c, _ := utf8.DecodeRune(run); t.again || t.runs.leans(&t.probe, c) {
		t.again = true
		return dst, false
	}
	repaired := t.repaired
	dst = t.words(dst, t.runs.local.run(&t.normalScratch, run, false), false)
	return dst, t.repaired == repaired
}

// plainRun appends the ids of a run that is plain and does not begin a segment, or
// has the same ids there.
func (t *unigram) plainRun(dst []int32, run []byte) []int32 {
	word := t.word[:0]
	if t.spacing.cut == cutNowhere || t.spacing.prefix == prefixAlways {
		word = append(word, t.spacing.mark...)
	}
	n := len(word)
	word = append(word, run...)
	if !t.runs.printable {
		for i, c := range word[n:] {
			word[n+i] = t.runs.image[c]
		}
	}
	t.word = word
	return t.appendWord(dst, &t.lattice, word)
}
