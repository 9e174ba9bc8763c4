package tokenize

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// formStep is a normalisation form of Unicode (UAX 15).
//
// A stretch of text that can change begins and ends where the form is known to be
// settled: changed marks the code points that decompose, that are reordered, or,
// in the composed forms, that may compose with what stands before them. What
// stands before such a one belongs to the stretch as well. All else is only looked
// at.
type formStep struct {
	changed uint16 // flag of the code points that need work
	compat  bool
	compose bool
}

func (p *formStep) apply(s *normalScratch, out, in *normalText) bool {
	w := rewrite{in: in, out: out}
	text := in.text
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			i += asciiLength(text[i:])
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if normalFlags(r)&p.changed == 0 {
			i += size
			continue
		}
		begin := i
		if p.compose && begin > w.done {
			_, before := utf8.DecodeLastRune(text[:begin])
			begin -= before
		}
		end := p.stretch(s, &w, begin, i)
		if !spells(s.marks, text[begin:end]) {
			w.same(begin)
			for _, m := range s.marks {
				w.putRune(m.r, m.from, m.to)
			}
			w.skip(end)
		}
		i = end
	}
	return w.finish()
}

// stretch leaves in s.marks the form of what stands from begin up to the next code
// point behind at that is settled, and gives its end.
func (p *formStep) stretch(s *normalScratch, w *rewrite, begin, at int) (end int) {
	s.marks = s.marks[:0]
	text := w.in.text
	for end = begin; end < len(text); {
		r, size := utf8.DecodeRune(text[end:])
		if end > at && normalFlags(r)&p.changed == 0 {
			break
		}
		from, to := w.from(end, end+size)
		if p.compat {
			s.runes = appendCompatible(s.runes[:0], r)
		} else {
			s.runes = appendDecomposed(s.runes[:0], r)
		}
		for _, r := range s.runes {
			s.marks = append(s.marks, mapped{r, propertyOf(r).rank, from, to})
		}
		end += size
	}
	s.order()
	if p.compose {
		s.compose()
	}
	return end
}

// spells says whether text is the code points of marks.
func spells(marks []mapped, text []byte) bool {
	for _, m := range marks {
		r, size := utf8.DecodeRune(text)
		if r != m.r || size == 0 {
			return false
		}
		text = text[size:]
	}
	return len(text) == 0
}

// order brings every sequence of non-starters in s.marks into canonical order.
func (s *normalScratch) order() {
	for i := 0; i < len(s.marks); i++ {
		j, sorted := i, true
		for ; j < len(s.marks) && s.marks[j].rank != 0; j++ {
			sorted = sorted && (j == i || s.marks[j-1].rank <= s.marks[j].rank)
		}
		if !sorted {
			s.sort(s.marks[i:j])
		}
		i = j
	}
}

// sort sorts marks by rank and leaves equals as they stand. It takes time in
// proportion to their number, which a hostile text makes large.
func (s *normalScratch) sort(marks []mapped) {
	if len(marks) <= 32 {
		slices.SortStableFunc(marks, func(a, b mapped) int { return cmp.Compare(a.rank, b.rank) })
		return
	}
	var starts [257]int
	for _, m := range marks {
		starts[int(m.rank)+1]++
	}
	for i := 1; i < len(starts); i++ {
		starts[i] += starts[i-1]
	}
	s.sorted = append(s.sorted[:0], marks...)
	for _, m := range s.sorted {
		marks[starts[m.rank]] = m
		starts[m.rank]++
	}
}

// compose composes what it can of s.marks, which is in canonical order: a code point
// with the starter before it, unless one of the same rank or a higher one stands
// between the two.
func (s *normalScratch) compose() {
	n, starter := 0, -1
	for _, m := range s.marks {
		if starter >= 0 && (starter == n-1 || s.marks[n-1].rank < m.rank) {
			if r := composed(s.marks[starter].r, m.r); r != 0 {
				c := &s.marks[starter]
				c.r, c.from, c.to = r, min(c.from, m.from), max(c.to, m.to)
				continue
			}
		}
		if m.rank == 0 {
			starter = n
		}
		s.marks[n] = m
		n++
	}
	s.marks = s.marks[:n]
}
