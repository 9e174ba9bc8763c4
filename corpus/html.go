package corpus

import (
	"bytes"
	"html"
	"unicode/utf8"
)

// cleanHTML gives the text of a piece of HTML: tags and comments become spaces,
// then entities are decoded (so an escaped tag stays as text), then each run of
// white space becomes one space and the ends are trimmed.
//
// Note: where tags vanish without a space, words of neighbouring table cells and
// list items grow together.
func cleanHTML(src []byte) []byte {
	flat := make([]byte, 0, len(src))
	var tags tagFinder
	for len(src) > 0 {
		open := bytes.IndexByte(src, '<')
		if open < 0 {
			break
		}
		flat = append(flat, src[:open]...)
		src = src[open:]
		n := tags.tagLen(src)
		if n == 0 {
			flat = append(flat, '<')
			n = 1
		} else {
			flat = append(flat, ' ')
		}
		src = src[n:]
	}
	flat = append(flat, src...)
	if bytes.IndexByte(flat, '&') >= 0 {
		flat = []byte(html.UnescapeString(string(flat)))
	}
	return collapse(flat)
}

// tagFinder finds the tags of one text, from its beginning to its end. It
// remembers that an end was not found, as then none is found further on either:
// that keeps a text of nothing but openings linear.
type tagFinder struct {
	noEnd        bool // no '>' follows
	noCommentEnd bool // no "-->" follows
}

// tagLen gives the length of the tag or comment that s begins with, 0 when its
// first byte, a '<', is text: followed by no letter, '/', '!' or '?', or never
// closed. s must be a later part of the text of the calls before.
func (f *tagFinder) tagLen(s []byte) int {
	if len(s) < 2 {
		return 0
	}
	if bytes.HasPrefix(s, []byte("<!--")) {
		if f.noCommentEnd {
			return 0
		}
		end := bytes.Index(s[4:], []byte("-->"))
		if end < 0 {
			f.noCommentEnd = true
			return 0
		}
		return 4 + end + 3
	}
	switch ch := s[1]; {
	case f.noEnd:
	case 'a' <= ch|0x20 && ch|0x20 <= 'z', ch == '/', ch == '!', ch == '?':
		end := bytes.IndexByte(s, '>')
		f.noEnd = end < 0
		return end + 1
	}
	return 0
}

// collapse makes each run of white space one space and trims the ends, in place.
func collapse(s []byte) []byte {
	w, pending := 0, false
	for r := 0; r < len(s); {
		ch, n := rune(s[r]), 1
		if ch >= utf8.RuneSelf {
			ch, n = utf8.DecodeRune(s[r:])
		}
		if isSpace(ch) {
			pending = w > 0
			r += n
			continue
		}
		if pending {
			s[w] = ' ' // the run of white space before made room
			w++
			pending = false
		}
		copy(s[w:], s[r:r+n])
		w, r = w+n, r+n
	}
	return s[:w]
}
