package tokenize

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// bpe is the fast Tokenizer of the BPE family.
type bpe struct {
	*bpeModel
	walker
	scratch normalScratch
	classes classes64
	prefix  []byte   // a piece with a space in front
	dead    []uint64 // see encode
	symbols []int32
	known   []byte
	spanner
}

func newBPE(m *bpeModel) *bpe { return &bpe{bpeModel: m, walker: walker{cache: newCache()}} }

func (t *bpe) Template() Template { return t.template }
func (t *bpe) Special() Special   { return t.special }
func (t *bpe) VocabSize() int     { return t.size }
func (t *bpe) Repaired() int64    { return t.scratch.repaired }
func (t *bpe) Clone() Tokenizer   { return newBPE(t.bpeModel) }

func (t *bpe) Reset() {
	t.cache.reset()
	t.scratch.repaired = 0
}

func (t *bpe) AppendIDs(dst []int32, text []byte) []int32 {
	t.keep = false
	dst = t.text(dst, text)
	t.release()
	return dst
}

func (t *bpe) AppendSpans(dst []int32, spans []Span, text []byte) ([]int32, []Span) {
	from := len(spans)
	t.keep, t.spans = true, spans
	dst = t.text(dst, text)
	spans, t.spans = t.spans, nil
	if t.addedN.count > 0 {
		joinOverlaps(spans[from:])
	}
	t.release()
	return dst, spans
}

// release gives up what only a very long text or pre-token needed.
func (t *bpe) release() {
	t.scratch.release()
	if cap(t.prefix)+8*cap(t.dead)+cap(t.known) > maxScratch {
		t.prefix, t.dead, t.known = nil, nil, nil
	}
}

// text cuts text at the added tokens that are matched as they stand. What lies
// between two of them is a text of its own to the reference too.
func (t *bpe) text(dst []int32, text []byte) []int32 {
	from, done := 0, 0
	for {
		m, ok := t.added.next(text, from, done)
		if !ok {
			return t.segment(dst, text[done:], done)
		}
		dst = t.segment(dst, text[done:m.start], done)
		dst = append(dst, m.id)
		if t.keep {
			t.spans = appendSpan(t.spans, 1, m.start, m.stop)
		}
		from, done = m.resume, m.stop
	}
}

// segment appends the ids of s, which begins at base in the source and holds no added
// token but those that are matched after normalisation.
func (t *bpe) segment(dst []int32, s []byte, base int) []int32 {
	if len(s) == 0 {
		return dst
	}
	t.base, t.search, t.normalised = base, 0, nil
	if !t.asciiStays || asciiLength(s) < len(s) {
		t.normalised = t.normal.run(&t.scratch, s, t.keep)
		s = t.normalised.text
	}
	from, done := 0, 0
	for {
		m, ok := t.addedN.next(s, from, done)
		if !ok {
			return t.piece(dst, s[done:], done)
		}
		dst = t.piece(dst, s[done:m.start], done)
		dst = append(dst, m.id)
		if t.keep {
			t.spans = append(t.spans, t.source(m.start, m.stop))
		}
		from, done = m.resume, m.stop
	}
}

// piece appends the ids of s, which begins at byte at of the normalised text and
// holds no added token.
func (t *bpe) piece(dst []int32, s []byte, at int) []int32 {
	if len(s) == 0 {
		return dst
	}
	if s[0] != ' ' && (t.split.prefix == prefixAlways || t.split.prefix == prefixFirst && t.base+at == 0) {
		t.prefix = append(append(t.prefix[:0], ' '), s...)
		s = t.prefix
		at--
	}
	if id, ok := t.wholeText(s); ok {
		dst = append(dst, id)
		if t.keep {
			t.appendSpans(1, s, at)
		}
	} else if t.split.window != nil {
		dst = t.windowed(dst, s, at)
	} else {
		dst = t.cut(dst, s, at, t.split.cuts)
	}
	if t.keep {
		t.close()
	}
	return dst
}

// cut appends the ids of s, cut into pre-tokens by cuts.
func (t *bpe) cut(dst []int32, s []byte, at int, cuts []cutter) []int32 {
	for len(s) > 0 {
		n, drop := cuts[0].scan(s)
		switch {
		case drop:
		case len(cuts) > 1:
			dst = t.cut(dst, s[:n], at, cuts[1:])
		default:
			dst = t.item(dst, s[:n], at)
		}
		s, at = s[n:], at+n
	}
	return dst
}

// windowed appends the ids of s, whose pre-tokens a window finds.
func (t *bpe) windowed(dst []int32, s []byte, at int) []int32 {
	for len(s) > 0 {
		end, long := t.fill(s)
		switch {
		case long:
			dst = t.item(dst, s[:end], at)
		case t.keep || bytes.IndexByte(t.chunk.low[:end], 0) >= 0:
			// A NUL must not be part of a key (see cache.go).
			dst = t.walkItems(dst, s[:end], at)
		default:
			dst = t.walkIDs(dst, s, (end+blockSize-1)/blockSize, t)
		}
		s, at = s[end:], at+end
	}
	return dst
}

// walkItems appends the ids of the pre-tokens of the chunk one by one.
func (t *bpe) walkItems(dst []int32, s []byte, at int) []int32 {
	for from := 0; from < len(s); {
		to := t.chunk.nextStop(from)
		dst = t.item(dst, s[from:to], at+from)
		from = to
	}
	return dst
}

// nextStop gives the first stop behind byte at.
func (c *chunk) nextStop(at int) int {
	b := (at + 1) / blockSize
	stops := c.stops[b] >> ((at + 1) % blockSize) << ((at + 1) % blockSize)
	for stops == 0 {
		b++
		stops = c.stops[b]
	}
	return b*blockSize + bits.TrailingZeros64(stops)
}

// fill enters the pre-tokens of s in the chunk, as many as fit, and gives where they
// end. long says that the first alone does not fit: end is its length.
func (t *bpe) fill(s []byte) (end int, long bool) {
	c := &t.chunk
	const size = chunkBlocks * blockSize
	n := copy(c.low[:size], s)
	blocks := n/blockSize + 1
	clear(c.starts[:min(blocks, chunkBlocks)])
	clear(c.stops[:blocks])
	scan := t.split.cuts[0].scan
	w := &t.classes
	for end < n {
		text := s[end:min(len(s), end+2*blockSize)]
		got := min(n-end, blockSize)
		if t.units || got > 1 && text[0] < 0x80 && text[1] < 0x80 {
			if got == blockSize {
				classesOf64((*[blockSize]byte)(c.low[end:]), w)
			} else {
				var tail [blockSize]byte
				copy(tail[:], c.low[end:n])
				classesOf64(&tail, w)
			}
			last := end+got == len(s)
			if high := bits.TrailingZeros64(w.high); high < got && !t.units {
				got, last = high, false
			}
			starts := t.split.window(w, text, got, last)
			next := end + got
			if !last {
				// What the last start begins is found from there.
				more := 63 - bits.LeadingZeros64(starts)
				next = end + more
				starts &^= 1 << more
			}
			if next > end {
				c.enter(starts, end)
				end = next
				continue
			}
		}
		k, _ := scan(s[end:])
		if end+k > size {
			if end == 0 {
				return k, true
			}
			break
		}
		c.enter(1, end)
		end += k
	}
	c.stops[end/blockSize] |= 1 << (end % blockSize)
	return end, false
}

// enter enters starts, of bytes from at on.
func (c *chunk) enter(starts uint64, at int) {
	b, shift := at/blockSize, at%blockSize
	c.starts[b] |= starts << shift
	c.stops[b] |= starts << shift
	if high := starts >> (blockSize - shift); high != 0 {
		c.starts[b+1] |= high
		c.stops[b+1] |= high
	}
}

// shortItem is that of misses.
func (t *bpe) shortItem(dst []int32, run, _ []byte, k0, k1 uint64) []int32 {
	if slot := t.cache.find(k0, k1); slot != nil {
		return append(dst, slot.ids[:slot.count]...)
	}
	from := len(dst)
	dst = t.merged(dst, run)
	t.cache.putShort(k0, k1, dst[from:])
	return dst
}

// longItem is that of misses.
func (t *bpe) longItem(dst []int32, s []byte, at, length int) []int32 {
	if length > blockSize {
		length = t.chunk.nextStop(at) - at
	}
	return t.longRun(dst, s[:length])
}

func (t *bpe) longRun(dst []int32, run []byte) []int32 {
	if len(run) > longKey {
		return t.merged(dst, run)
	}
	var text [longKey]byte
	copy(text[:], run)
	key := [4]uint64{
		binary.LittleEndian.Uint64(text[:8]), binary.LittleEndian.Uint64(text[8:16]),
		binary.LittleEndian.Uint64(text[16:24]), binary.LittleEndian.Uint64(text[24:]),
	}
	if slot := &t.cache.long[longHash(key)]; slot.key == key {
		return append(dst, slot.ids[:slot.count]...)
	}
	from := len(dst)
	dst = t.merged(dst, run)
	t.cache.putLong(key, dst[from:])
	return dst
}

// item appends the ids, and the spans, of the pre-token run, which begins at byte at of
// the normalised text.
func (t *bpe) item(dst []int32, run []byte, at int) []int32 {
	from := len(dst)
	switch n := len(run); {
	case n > longKey || run[n-1] == 0:
		dst = t.merged(dst, run)
	case n > shortKey:
		dst = t.longRun(dst, run)
	default:
		var text [shortKey]byte
		copy(text[:], run)
		dst = t.shortItem(dst, run, nil, binary.LittleEndian.Uint64(text[:8]), binary.LittleEndian.Uint64(text[8:]))
	}
	if t.keep {
		t.appendSpans(len(dst)-from, run, at)
	}
	return dst
}
