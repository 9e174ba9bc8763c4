package tokenize

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// addedToken is a token that is looked for in the text itself, before words are.
type addedToken struct {
	content string
	id      int32
	single  bool // only where no \w stands beside it
	lstrip  bool // takes the white space before it along
	rstrip  bool // and after it
}

// matcher finds added tokens, leftmost and longest first.
type matcher struct {
	count  int
	only   int                // the first byte of all tokens, -1 when they differ
	starts [256][]*addedToken // by first byte, longest first
	second [256]bool          // can be the second byte of a token
}

func newMatcher(tokens []addedToken) (matcher, error) {
	m := matcher{count: len(tokens), only: -1}
	rstrip, spaced := "", ""
	for i := range tokens {
		t := &tokens[i]
		if t.content == "" {
			return m, errors.New("a token is empty once normalised")
		}
		c := t.content[0]
		m.starts[c] = append(m.starts[c], t)
		if len(t.content) > 1 {
			m.second[t.content[1]] = true
		} else {
			for b := range m.second {
				m.second[b] = true
			}
		}
		if t.rstrip {
			rstrip = t.content
		}
		if r, _ := utf8.DecodeRuneInString(t.content); propertyOf(r).flags&isSpace != 0 {
			spaced = t.content
		}
	}
	if rstrip != "" && spaced != "" {
		// The first would swallow the start of the second.
		return m, fmt.Errorf("%q has rstrip and %q begins with white space: together they are %w", rstrip, spaced, ErrUnsupported)
	}
	kinds := 0
	for c, list := range m.starts {
		if len(list) > 0 {
			kinds++
			m.only = c
			slices.SortStableFunc(list, func(a, b *addedToken) int { return len(b.content) - len(a.content) })
		}
	}
	if kinds > 1 {
		m.only = -1
	}
	return m, nil
}

// match is an added token in a text.
type match struct {
	start, stop int // what it takes of the text
	resume      int // where to look for the next
	id          int32
}

// next finds the first token that begins at or after from. done is where the
// text not yet taken by a token begins.
func (m *matcher) next(text []byte, from, done int) (match, bool) {
	if m.count == 0 {
		return match{}, false
	}
	for at := m.candidate(text, from); at >= 0; at = m.candidate(text, from) {
		t := m.at(text[at:])
		if t == nil {
			from = at + 1
			continue
		}
		start, stop := at, at+len(t.content)
		from = stop
		if t.single && (endsWithWord(text[:start]) || startsWithWord(text[stop:])) {
			continue
		}
		if t.lstrip {
			for start > done {
				r, size := utf8.DecodeLastRune(text[done:start])
				if propertyOf(r).flags&isSpace == 0 {
					break
				}
				start -= size
			}
		}
		if t.rstrip {
			for stop < len(text) {
				r, size, _ := decode(text[stop:])
				if propertyOf(r).flags&isSpace == 0 {
					break
				}
				stop += size
			}
		}
		return match{start: start, stop: stop, resume: from, id: t.id}, true
	}
	return match{}, false
}

// candidate gives the next position at or after from where a token may begin,
// -1 when there is none.
func (m *matcher) candidate(text []byte, from int) int {
	if m.only >= 0 {
		for {
			i := bytes.IndexByte(text[from:], byte(m.only))
			if i < 0 {
				return -1
			}
			from += i + 1
			// Note: Go source has a bracket every 60 bytes or so; looking at the
			// byte after it spares the comparison with every token.
			if from == len(text) || m.second[text[from]] {
				return from - 1
			}
		}
	}
	for ; from < len(text); from++ {
		if m.starts[text[from]] != nil {
			return from
		}
	}
	return -1
}

// at gives the longest token that text begins with.
func (m *matcher) at(text []byte) *addedToken {
	for _, t := range m.starts[text[0]] {
		if len(text) >= len(t.content) && string(text[:len(t.content)]) == t.content {
			return t
		}
	}
	return nil
}

func endsWithWord(text []byte) bool {
	r, _ := utf8.DecodeLastRune(text)
	return len(text) > 0 && propertyOf(r).flags&isWordChar != 0
}

func startsWithWord(text []byte) bool {
	r, _ := utf8.DecodeRune(text)
	return len(text) > 0 && propertyOf(r).flags&isWordChar != 0
}
