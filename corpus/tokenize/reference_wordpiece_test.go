package tokenize

import (
	"slices"
	"unicode/utf8"
)

// plain is the WordPiece family written plainly, step by step as the reference does
// it. It defines the answer that wordPiece is tested against.
type plain struct {
	*model
	repaired int64
}

func (p *plain) Template() Template { return p.template }
func (p *plain) Special() Special   { return p.special }
func (p *plain) VocabSize() int     { return p.size }
func (p *plain) Repaired() int64    { return p.repaired }
func (p *plain) Reset()             { p.repaired = 0 }
func (p *plain) Clone() Tokenizer   { return &plain{model: p.model} }

func (p *plain) AppendIDs(dst []int32, text []byte) []int32 {
	dst, _ = p.AppendSpans(dst, nil, text)
	return dst
}

func (p *plain) AppendSpans(dst []int32, spans []Span, text []byte) ([]int32, []Span) {
	from := len(spans)
	for _, part := range splitAt(&p.added, p.chars(text)) {
		if part.token {
			dst = append(dst, part.id)
			spans = append(spans, extent(part.chars))
		} else {
			dst, spans = p.normalised(dst, spans, part.chars)
		}
	}
	if p.addedN.count > 0 {
		joinOverlaps(spans[from:])
	}
	return dst, spans
}

func (p *plain) normalised(dst []int32, spans []Span, chars []char) ([]int32, []Span) {
	for _, part := range splitAt(&p.addedN, normalize(p.model, chars)) {
		if part.token {
			dst = append(dst, part.id)
			spans = append(spans, extent(part.chars))
			continue
		}
		for _, word := range words(part.chars) {
			from := len(dst)
			dst = p.appendWord(dst, word)
			for range len(dst) - from {
				spans = append(spans, extent(word))
			}
		}
	}
	return dst, spans
}

// char is a character and the bytes of the source it comes from.
type char struct {
	r          rune
	start, end int
}

// chars decodes text and repairs it.
func (p *plain) chars(text []byte) []char {
	var chars []char
	for at := 0; at < len(text); {
		r, size, ok := decode(text[at:])
		if !ok {
			p.repaired++
		}
		chars = append(chars, char{r, at, at + size})
		at += size
	}
	return chars
}

func extent(chars []char) Span {
	start, end := chars[0].start, chars[0].end
	for _, c := range chars {
		start, end = min(start, c.start), max(end, c.end)
	}
	return Span{int32(start), int32(end)}
}

// part is a stretch of text that is an added token or holds none.
type part struct {
	chars []char
	token bool
	id    int32
}

// splitAt cuts chars at the added tokens of m: leftmost first, longest first.
func splitAt(m *matcher, chars []char) []part {
	var parts []part
	done := 0
	is := func(i int, flag uint8) bool {
		return i >= 0 && i < len(chars) && propertyOf(chars[i].r).flags&flag != 0
	}
	for at := 0; at < len(chars); {
		t := longestToken(m, chars[at:])
		if t == nil {
			at++
			continue
		}
		start, stop := at, at+utf8.RuneCountInString(t.content)
		at = stop
		if t.single && (is(start-1, isWordChar) || is(stop, isWordChar)) {
			continue
		}
		for t.lstrip && start > done && is(start-1, isSpace) {
			start--
		}
		for t.rstrip && is(stop, isSpace) {
			stop++
		}
		if done < start {
			parts = append(parts, part{chars: chars[done:start]})
		}
		parts = append(parts, part{chars: chars[start:stop], token: true, id: t.id})
		done = stop
	}
	if done < len(chars) {
		parts = append(parts, part{chars: chars[done:]})
	}
	return parts
}

func longestToken(m *matcher, chars []char) *addedToken {
	var best *addedToken
tokens:
	for k := range m.tokens {
		t, i := &m.tokens[k], 0
		for _, r := range t.content {
			if i == len(chars) || chars[i].r != r {
				continue tokens
			}
			i++
		}
		if best == nil || len(t.content) > len(best.content) {
			best = t
		}
	}
	return best
}

// normalize does what BertNormalizer does, pass by pass.
func normalize(m *model, chars []char) []char {
	if m.clean {
		chars = each(chars, func(r rune, f uint8) []rune {
			switch {
			case f&isDropped != 0:
				return nil
			case f&isSpace != 0:
				return []rune{' '}
			}
			return []rune{r}
		})
	}
	if m.cjk {
		chars = each(chars, func(r rune, f uint8) []rune {
			if f&isCJK != 0 {
				return []rune{' ', r, ' '}
			}
			return []rune{r}
		})
	}
	if m.strip {
		chars = each(chars, func(r rune, _ uint8) []rune { return appendDecomposed(nil, r) })
		reorder(chars)
		chars = slices.DeleteFunc(chars, func(c char) bool { return propertyOf(c.r).flags&isMark != 0 })
	}
	if m.lower {
		chars = each(chars, func(r rune, _ uint8) []rune { return appendLower(nil, r, propertyOf(r)) })
	}
	return chars
}

// each replaces every character by those that to gives for it and its flags.
func each(chars []char, to func(rune, uint8) []rune) []char {
	var out []char
	for _, c := range chars {
		for _, r := range to(c.r, propertyOf(c.r).flags) {
			out = append(out, char{r, c.start, c.end})
		}
	}
	return out
}

// reorder brings every sequence of non-starters into canonical order.
func reorder(chars []char) {
	rank := func(c char) int { return int(propertyOf(c.r).rank) }
	for i := 0; i < len(chars); i++ {
		j := i
		for j < len(chars) && rank(chars[j]) != 0 {
			j++
		}
		slices.SortStableFunc(chars[i:j], func(a, b char) int { return rank(a) - rank(b) })
		i = j
	}
}

// words does what BertPreTokenizer does: white space divides, punctuation stands
// alone.
func words(chars []char) [][]char {
	var list [][]char
	from := 0
	for i, c := range chars {
		f := propertyOf(c.r).flags
		if f&(isSpace|isPunct) == 0 {
			continue
		}
		if from < i {
			list = append(list, chars[from:i])
		}
		if f&isSpace == 0 {
			list = append(list, chars[i:i+1])
		}
		from = i + 1
	}
	if from < len(chars) {
		list = append(list, chars[from:])
	}
	return list
}

// appendWord does what the WordPiece model does: the longest token that the rest
// of the word begins with, again and again; unknown when there is none.
func (p *plain) appendWord(dst []int32, word []char) []int32 {
	if len(word) > p.maxChars {
		return append(dst, p.unk)
	}
	var text []rune
	for _, c := range word {
		text = append(text, c.r)
	}
	from := len(dst)
	for at := 0; at < len(text); {
		prefix, end := "", len(text)
		if at > 0 {
			prefix = p.prefix
		}
		for ; end > at; end-- {
			if id, ok := p.vocab[prefix+string(text[at:end])]; ok {
				dst = append(dst, id)
				break
			}
		}
		if end == at {
			return append(dst[:from], p.unk)
		}
		at = end
	}
	return dst
}
