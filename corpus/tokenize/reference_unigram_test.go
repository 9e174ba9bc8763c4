package tokenize

import (
	"fmt"
	"math"
	"strings"
)

// plainUnigram is the Unigram family written plainly, step by step as the reference
// does it. It defines the answer that unigram is tested against.
type plainUnigram struct {
	*unigramModel
	repaired int64
}

func (p *plainUnigram) AppendSpans(dst []int32, spans []Span, text []byte) ([]int32, []Span) {
	repairs := plain{}
	chars := repairs.chars(text)
	p.repaired += repairs.repaired
	for _, part := range splitAt(&p.added, chars) {
		if part.token {
			dst, spans = append(dst, part.id), append(spans, extent(part.chars))
			continue
		}
		first := part.chars[0].start == 0
		for _, part := range splitAt(&p.addedN, p.normal.plain(part.chars)) {
			if part.token {
				dst, spans = append(dst, part.id), append(spans, extent(part.chars))
				first = false
				continue
			}
			for _, piece := range p.pieces(part.chars) {
				for _, word := range p.words(piece, first) {
					from := len(dst)
					dst = p.appendPath(dst, word)
					for range len(dst) - from {
						spans = append(spans, extent(word))
					}
				}
				first = false
			}
		}
	}
	return dst, spans
}

// pieces does what WhitespaceSplit or Whitespace does.
func (p *plainUnigram) pieces(chars []char) [][]char {
	if p.spacing.cut == cutNowhere {
		return [][]char{chars}
	}
	kind := func(c char) int {
		switch f := propertyOf(c.r).flags; {
		case f&isSpace != 0:
			return 0
		case p.spacing.cut == cutWords && f&isWordChar == 0:
			return 1
		}
		return 2
	}
	var list [][]char
	for i := 0; i < len(chars); {
		j := i
		for j < len(chars) && kind(chars[j]) == kind(chars[i]) {
			j++
		}
		if kind(chars[i]) != 0 {
			list = append(list, chars[i:j])
		}
		i = j
	}
	return list
}

// words does what Metaspace does.
func (p *plainUnigram) words(chars []char, first bool) [][]char {
	if p.spacing.mark == "" {
		return [][]char{chars}
	}
	mark := []rune(p.spacing.mark)[0]
	var text []char
	for _, c := range chars {
		if c.r == ' ' {
			c.r = mark
		}
		text = append(text, c)
	}
	if text[0].r != mark && (p.spacing.prefix == prefixAlways || p.spacing.prefix == prefixFirst && first) {
		text = append([]char{{mark, text[0].start, text[0].end}}, text...)
	}
	if !p.spacing.split {
		return [][]char{text}
	}
	var list [][]char
	for i, c := range text {
		if i == 0 || c.r == mark {
			list = append(list, nil)
		}
		list[len(list)-1] = append(list[len(list)-1], c)
	}
	return list
}

// appendPath does what the Unigram model does: of all ways to write the word in
// pieces the one with the greatest sum, and of equal ones the one found first.
func (p *plainUnigram) appendPath(dst []int32, word []char) []int32 {
	var text string
	at := []int{0} // of characters
	for _, c := range word {
		text += string(c.r)
		at = append(at, len(text))
	}
	best, back, ids := make([]float64, len(at)), make([]int, len(at)), make([]int32, len(at))
	for i := range best {
		back[i] = -1
	}
	take := func(from, to int, score float64, id int32) {
		if sum := score + best[from]; back[to] < 0 || sum > best[to] {
			best[to], back[to], ids[to] = sum, from, id
		}
	}
	worst := math.Inf(1)
	for _, s := range p.scores {
		worst = min(worst, s)
	}
	for i := range word {
		alone := false
		for j := i + 1; j < len(at) && at[j]-at[i] <= p.longest; j++ {
			if id, ok := p.vocab[text[at[i]:at[j]]]; ok {
				take(i, j, p.scores[id], id)
				alone = alone || j == i+1
			}
		}
		if !alone {
			take(i, i+1, worst-10, p.unk)
		}
	}
	var pieces []string
	for end := len(word); end > 0; {
		start := back[end]
		for ids[end] == p.unk && start > 0 && ids[start] == p.unk {
			start = back[start]
		}
		pieces = append([]string{text[at[start]:at[end]]}, pieces...)
		end = start
	}
	for _, s := range pieces {
		dst = append(dst, p.idsOf(s)...)
	}
	return dst
}

func (p *plainUnigram) idsOf(piece string) []int32 {
	if id, ok := p.vocab[piece]; ok {
		return []int32{id}
	}
	var list []int32
	for _, b := range []byte(piece) {
		id, ok := p.vocab[fmt.Sprintf("<0x%s>", strings.ToUpper(fmt.Sprintf("%02x", b)))]
		if !ok || p.bytes == nil {
			return []int32{p.unk}
		}
		list = append(list, id)
	}
	return list
}
