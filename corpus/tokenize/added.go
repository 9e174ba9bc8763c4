package tokenize

import (
	"errors"
	"fmt"
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
	tokens []addedToken
	trie   trie // of numbers of tokens
	first  byteSet
	second byteSet // can be the second byte of a token
}

func newMatcher(tokens []addedToken) (matcher, error) {
	m := matcher{count: len(tokens), tokens: tokens}
	rstrip, spaced := "", ""
	list := make([]entry, 0, len(tokens))
	seen := make(map[string]int32, len(tokens))
	for i, t := range tokens {
		if t.content == "" {
			return m, errors.New("a token is empty once normalised")
		}
		if len(t.content) > maxTokenBytes {
			return m, fmt.Errorf("token with id %d has %d bytes once normalised, more than %d", t.id, len(t.content), maxTokenBytes)
		}
		if prior, twice := seen[t.content]; twice {
			return m, fmt.Errorf("tokens with ids %d and %d are both %.200q once normalised", prior, t.id, t.content)
		}
		seen[t.content] = t.id
		list = append(list, entry{t.content, int32(i)})
		m.first.add(t.content[0])
		if len(t.content) > 1 {
			m.second.add(t.content[1])
		} else {
			m.second.addAll()
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
	var err error
	m.trie, err = newTokenTrie(list)
	return m, err
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
	for at := m.candidate(text, from); at < len(text); at = m.candidate(text, from) {
		n, length := m.trie.longest(text[at:])
		if n < 0 {
			from = at + 1
			continue
		}
		t := &m.tokens[n]
		start, stop := at, at+length
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

// candidate gives the next position at or after from where a token may begin, the
// length of text when there is none.
//
// Note: Go source has a bracket every 60 bytes or so; looking at the byte after it
// spares the comparison with the tokens.
func (m *matcher) candidate(text []byte, from int) int {
	return from + indexPair(text[from:], &m.first, &m.second)
}

func endsWithWord(text []byte) bool {
	r, _ := utf8.DecodeLastRune(text)
	return len(text) > 0 && propertyOf(r).flags&isWordChar != 0
}

func startsWithWord(text []byte) bool {
	r, _ := utf8.DecodeRune(text)
	return len(text) > 0 && propertyOf(r).flags&isWordChar != 0
}
