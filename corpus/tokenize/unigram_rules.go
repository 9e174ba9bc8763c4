package tokenize

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// runRules says what is known of a file's normalizer and pre-tokenizer that lets
// runs of text between ASCII white space be worked on alone, each of them with the
// same ids wherever it stands. Where on is false nothing is known, and texts are
// normalised and cut as wholes.
type runRules struct {
	on        bool
	set       [4]byte   // the ASCII white space that separates runs, and again, to four
	separator [256]bool // the same
	// image is the byte that an ASCII character becomes in a run of such, 0 where it
	// takes more to tell.
	image     [utf8.RuneSelf]byte
	printable bool       // image is the identity from '!' to '~'
	local     normalizer // without the steps that only concern the ends of a text
	trim      stripStep  // white space removed before all else
	strip     stripStep  // and in the end
	clusters  bool       // a run may be read otherwise at the beginning of a text
}

// rulesOf finds the rules of m. Every step is held to what it can do to a neighbour:
// nothing that is put in for one run may reach across white space.
func rulesOf(m *unigramModel) runRules {
	r := runRules{}
	steps := m.normal.steps
	marks := m.spacing.cut == cutNowhere // a space becomes part of a word
	switch {
	case m.spacing.cut == cutWords, marks && (m.spacing.mark == "" || !m.spacing.split):
		return r
	case m.addedN.count > 0 && (marks || !m.addedN.insideRuns()):
		return r
	}
	if len(steps) > 0 {
		if p, ok := steps[0].(stripStep); ok {
			r.trim, steps = p, steps[1:]
		}
	}
	steps, merged := r.dropEnds(steps, m.spacing)
	if marks && !merged {
		return r
	}
	if r.strip.left && m.spacing.prefix != prefixAlways {
		return r // the first word may have lost its space
	}
	r.local = normalizer{steps: steps}
	if !r.staysInside(m) || !r.findSeparators(marks) {
		return r
	}
	r.findImages(m)
	r.on = true
	return r
}

// dropEnds takes off the steps that merge white space and strip it from the ends, and
// says whether every run of white space counts as one.
func (r *runRules) dropEnds(steps []step, s spacing) (rest []step, merged bool) {
	strip := func() {
		if n := len(steps) - 1; n >= 0 {
			if p, ok := steps[n].(stripStep); ok {
				r.strip.left, r.strip.right = r.strip.left || p.left, r.strip.right || p.right
				steps = steps[:n]
			}
		}
	}
	strip()
	if n := len(steps) - 1; n >= 0 {
		if p, ok := steps[n].(*spacesStep); ok {
			merged = string(p.by) == " "
			if !p.all && s.cut == cutNowhere && string(p.by) == s.mark {
				steps, merged = steps[:n], true
				strip()
			} else if !p.all && merged {
				steps = steps[:n]
				strip()
			}
		}
	}
	return steps, merged
}

// staysInside says whether the local steps leave the ends of every run alone, as far
// as their kinds tell.
func (r *runRules) staysInside(m *unigramModel) bool {
	inserted := [][]byte{}
	for _, p := range r.local.steps {
		switch p := p.(type) {
		case *runeStep, *formStep:
		case *spacesStep:
			if string(p.by) != " " {
				return false
			}
		case *replaceStep:
			if bytes.ContainsFunc(p.old, func(c rune) bool { return propertyOf(c).flags&isSpace != 0 }) {
				return false
			}
			inserted = append(inserted, p.by)
		case *precompiledStep:
			if r.clusters || p.hasPrefix([]byte{' '}) {
				return false
			}
			r.clusters = true
			for c := rune(0); c <= utf8.MaxRune; c++ {
				if normalFlags(c)&isPrepended != 0 && p.hasPrefix([]byte(string(c))) {
					return false // it would take the space behind it along
				}
			}
			for _, by := range inserted {
				if first, _ := utf8.DecodeRune(by); len(by) == 0 || normalFlags(first)&isJoining != 0 {
					return false
				}
			}
		default:
			return false
		}
	}
	return true
}

// findSeparators finds the ASCII white space that stays white space.
func (r *runRules) findSeparators(marks bool) bool {
	separates := func(text string) bool {
		got := r.local.string(text)
		if got == "" || marks && strings.Trim(got, " ") != "" {
			return false
		}
		return !strings.ContainsFunc(got, func(c rune) bool { return propertyOf(c).flags&isSpace == 0 })
	}
	n := 0
	for _, c := range []byte(" \n\r\t") {
		if separates(string(rune(c))) {
			r.separator[c] = true
			r.set[n] = c
			n++
		}
	}
	if !r.separator[' '] || r.separator['\r'] && r.separator['\n'] && !separates("\r\n") {
		return false
	}
	for ; n < len(r.set); n++ {
		r.set[n] = ' '
	}
	return true
}

// findImages follows every printable character through the steps.
func (r *runRules) findImages(m *unigramModel) {
	r.printable = true
	s := new(normalScratch)
	for c := byte('!'); c <= '~'; c++ {
		now, ok := []byte{c}, true
		for _, p := range r.local.steps {
			if p, is := p.(*replaceStep); is && bytes.ContainsAny(now, string(p.old)) {
				ok = false
			}
			now = bytes.Clone(s.apply(p, now))
		}
		ok = ok && len(now) == 1 && now[0] > ' ' && now[0] <= '~' && string(now) != m.spacing.mark &&
			!m.addedN.first.has(now[0])
		if ok {
			r.image[c] = now[0]
		}
		r.printable = r.printable && r.image[c] == c
	}
}

// leans says whether a run that begins with the character c may be read otherwise
// behind a space than at the beginning of a text, or behind another separator: it
// could be in one cluster with it. s is scratch memory.
func (r *runRules) leans(s *[2]normalScratch, c rune) bool {
	if !r.clusters || c < utf8.RuneSelf && r.image[c] != 0 {
		return false
	}
	s[1].a.text = utf8.AppendRune(s[1].a.text[:0], c)
	text := s[1].a.text
	for i, p := range r.local.steps {
		if _, ok := p.(*precompiledStep); ok {
			first, _ := utf8.DecodeRune(text)
			return len(text) == 0 || normalFlags(first)&isJoining != 0
		}
		text = s[i%2].apply(p, text)
	}
	return false
}

// insideRuns says whether every token of m lies within a run of text without white
// space. It may take white space before it along.
func (m *matcher) insideRuns() bool {
	for _, t := range m.tokens {
		if t.rstrip || strings.ContainsFunc(t.content, func(c rune) bool { return propertyOf(c).flags&isSpace != 0 }) {
			return false
		}
	}
	return true
}
