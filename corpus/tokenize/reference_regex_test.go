package tokenize

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
)

// regex interprets the patterns that split.go scans by hand: alternatives in their
// order, greedy repetition that gives back one at a time, negative look-ahead, as the
// reference's engine does. It defines what a scan must find.
type regex struct{ alternatives [][]term }

// term is one element of a sequence, repeated.
type term struct {
	is          func(rune) bool // one character, or:
	group       *regex
	negative    bool // group must not match here; takes no character
	least, most int
}

const unbounded = 1 << 30

func parseRegex(tb testing.TB, text string) *regex {
	tb.Helper()
	p := &regexParser{rest: []rune(text)}
	r := p.alternatives()
	if len(p.rest) > 0 || p.err != nil {
		tb.Fatalf("pattern %q: %v at %q", text, p.err, string(p.rest))
	}
	return r
}

type regexParser struct {
	rest []rune
	fold bool
	err  error
}

// take takes prefix off when the rest begins with it.
func (p *regexParser) take(prefix string) bool {
	if !strings.HasPrefix(string(p.rest), prefix) {
		return false
	}
	p.rest = p.rest[len([]rune(prefix)):]
	return true
}

func (p *regexParser) next() rune {
	if len(p.rest) == 0 {
		p.err = fmt.Errorf("it ends early")
		return 0
	}
	r := p.rest[0]
	p.rest = p.rest[1:]
	return r
}

func (p *regexParser) alternatives() *regex {
	r := &regex{}
	for {
		var seq []term
		for len(p.rest) > 0 && p.rest[0] != '|' && p.rest[0] != ')' && p.err == nil {
			seq = append(seq, p.term())
		}
		r.alternatives = append(r.alternatives, seq)
		if !p.take("|") {
			return r
		}
	}
}

func (p *regexParser) term() term {
	t := term{least: 1, most: 1}
	switch {
	case p.take("(?i:"):
		p.fold = true
		t.group = p.alternatives()
		p.fold = false
		p.closed()
	case p.take("(?!"):
		t.group, t.negative = p.alternatives(), true
		p.closed()
	case p.take("["):
		t.is = p.class()
	default:
		t.is = p.character()
	}
	switch {
	case p.take("?"):
		t.least = 0
	case p.take("*"):
		t.least, t.most = 0, unbounded
	case p.take("+"):
		t.most = unbounded
	case p.take("{1,3}"):
		t.most = 3
	}
	return t
}

func (p *regexParser) closed() {
	if !p.take(")") && p.err == nil {
		p.err = fmt.Errorf("a group is not closed")
	}
}

func (p *regexParser) class() func(rune) bool {
	not := p.take("^")
	var list []func(rune) bool
	for !p.take("]") && p.err == nil {
		list = append(list, p.character())
	}
	return func(r rune) bool {
		for _, is := range list {
			if is(r) {
				return !not
			}
		}
		return not
	}
}

func (p *regexParser) character() func(rune) bool {
	of := func(c category) func(rune) bool { return func(r rune) bool { return categoryOf(r)&c != 0 } }
	for text, is := range map[string]func(rune) bool{
		`\p{L}`: of(catLetter), `\p{N}`: of(catNumber), `\p{M}`: of(catMark), `\s`: of(catSpace), `\p{Ll}`: of(catLower),
		`\S`: func(r rune) bool { return categoryOf(r)&catSpace == 0 },
		// Upper and title case are one category here: they stand together in every pattern.
		`\p{Lu}\p{Lt}`: of(catUpper), `\p{Lm}\p{Lo}`: func(r rune) bool { return categoryOf(r)&(catLetter|catUpper|catLower) == catLetter },
		`\r`: func(r rune) bool { return r == '\r' }, `\n`: func(r rune) bool { return r == '\n' },
	} {
		if p.take(text) {
			return is
		}
	}
	c, fold := p.next(), p.fold
	if c == '\\' || c == '.' || c == '(' {
		p.err = fmt.Errorf("unknown syntax")
	}
	return func(r rune) bool {
		if r == c {
			return true
		}
		for f := unicode.SimpleFold(c); fold && f != c; f = unicode.SimpleFold(f) {
			if r == f {
				return true
			}
		}
		return false
	}
}

// match gives the length of the match of r at the beginning of text, -1 when there is
// none.
func (r *regex) match(text []rune) int {
	end := -1
	r.try(text, 0, func(at int) bool {
		end = at
		return true
	})
	return end
}

// try calls then with the end of each match at position at, until it says yes.
func (r *regex) try(text []rune, at int, then func(int) bool) bool {
	for _, seq := range r.alternatives {
		if trySequence(seq, text, at, then) {
			return true
		}
	}
	return false
}

func trySequence(seq []term, text []rune, at int, then func(int) bool) bool {
	if len(seq) == 0 {
		return then(at)
	}
	t, rest := &seq[0], seq[1:]
	after := func(at int) bool { return trySequence(rest, text, at, then) }
	switch {
	case t.negative:
		return !t.group.try(text, at, func(int) bool { return true }) && after(at)
	case t.group != nil:
		return t.group.try(text, at, after) || t.least == 0 && after(at)
	}
	n := 0
	for n < t.most && at+n < len(text) && t.is(text[at+n]) {
		n++
	}
	for ; n >= t.least; n-- {
		if after(at + n) {
			return true
		}
	}
	return false
}
