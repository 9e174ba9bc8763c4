package tokenize

import "unicode/utf8"

// lateTokens says where in a text added tokens that are matched after normalisation
// may begin, so that all else goes the usual way.
type lateTokens struct {
	any    bool
	inside bool    // none of them holds white space or takes it along
	first  byteSet // bytes that such a token may begin with before normalisation
	second byteSet // and go on with
}

// newLateTokens looks at the tokens of m, which are normalised.
//
// Before normalisation a character may be a capital, one of several bytes that has
// it in its decomposition, or stand behind controls and marks that are dropped.
func newLateTokens(m *model) lateTokens {
	l := lateTokens{any: m.addedN.count > 0, inside: m.addedN.insideRuns()}
	if !l.any {
		return l
	}
	composed := asciiParts()
	add := func(set *byteSet, c byte) {
		set.add(c)
		if 'a' <= c && c <= 'z' {
			set.add(c - 'a' + 'A')
		}
		if c >= utf8.RuneSelf || composed[c] {
			set.add(utf8.RuneSelf) // which stands for all of them
		}
	}
	for _, t := range m.addedN.tokens {
		l.inside = l.inside && !t.lstrip
		if add(&l.first, t.content[0]); len(t.content) == 1 {
			l.second.addAll()
		} else {
			add(&l.second, t.content[1])
		}
	}
	for c := range byte(utf8.RuneSelf) {
		if propertyOf(rune(c)).flags&isDropped != 0 {
			l.second.add(c)
		}
	}
	l.second.add(utf8.RuneSelf)
	return l
}

// asciiParts says which ASCII characters a character that is none may become.
func asciiParts() (parts [utf8.RuneSelf]bool) {
	var runes []rune
	for r := rune(utf8.RuneSelf); r <= utf8.MaxRune; r++ {
		if propertyOf(r).flags&(hasDecomp|hasLower) == 0 {
			continue
		}
		runes = append(appendDecomposed(runes[:0], r), r)
		for _, r := range runes {
			for _, r := range [2]rune{r, r + propertyOf(r).lower} {
				if r < utf8.RuneSelf {
					parts[r] = true
				}
			}
		}
	}
	return parts
}

// withTokens appends the ids of s, which begins at base in the source, where tokens
// may be matched after normalisation. Runs of text between ASCII white space that
// may hold one are normalised as wholes.
func (t *wordPiece) withTokens(dst []int32, s []byte, base int) []int32 {
	if !t.late.inside {
		return t.normalised(dst, s, base)
	}
	done := 0
	for {
		at := done + indexPair(s[done:], &t.late.first, &t.late.second)
		if at == len(s) {
			return t.segment(dst, s[done:], base+done)
		}
		start, end := at, at
		for start > done && !isASCIISpace(s[start-1]) {
			start--
		}
		for end < len(s) && !isASCIISpace(s[end]) {
			end++
		}
		dst = t.segment(dst, s[done:start], base+done)
		dst = t.normalised(dst, s[start:end], base+start)
		done = end
	}
}

func isASCIISpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// normalised appends the ids of s, which begins at base in the source, by normalising
// all of it.
func (t *wordPiece) normalised(dst []int32, s []byte, base int) []int32 {
	n := t.normal.run(&t.whole, s, t.keep)
	from, done, look := 0, 0, 0
	for {
		m, ok := t.addedN.next(n.text, from, done)
		stop := len(n.text)
		if ok {
			stop = m.start
		}
		dst, look = t.stretch(dst, n, done, stop, base, look)
		if !ok {
			return dst
		}
		if dst = append(dst, m.id); t.keep {
			var span Span
			span, look = n.extent(m.start, m.stop, look)
			t.spans = appendSpan(t.spans, 1, base+int(span.Start), base+int(span.End))
		}
		from, done = m.resume, m.stop
	}
}

// stretch appends the ids of the words of n from byte from to byte to. look is where
// to go on searching in the edits of n.
func (t *wordPiece) stretch(dst []int32, n *normalText, from, to, base, look int) (ids []int32, next int) {
	for from < to {
		r, size := utf8.DecodeRune(n.text[from:to])
		flags := propertyOf(r).flags & (isSpace | isPunct)
		end, chars := from+size, 1
		for flags == 0 && end < to {
			r, size := utf8.DecodeRune(n.text[end:to])
			if propertyOf(r).flags&(isSpace|isPunct) != 0 {
				break
			}
			end, chars = end+size, chars+1
		}
		if flags&isSpace == 0 {
			k := len(dst)
			if chars > t.maxChars {
				dst = append(dst, t.unk)
			} else {
				dst = t.trie.appendPieces(dst, n.text[from:end], t.unk)
			}
			if t.keep {
				var span Span
				span, look = n.extent(from, end, look)
				t.spans = appendSpan(t.spans, len(dst)-k, base+int(span.Start), base+int(span.End))
			}
		}
		from = end
	}
	return dst, look
}
