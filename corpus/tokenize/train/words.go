package train

import (
	"bytes"
	"maps"
	"unicode/utf8"
)

// Bounds of a Counter, far above what a tokenizer's words need.
const (
	// MaxWord is the length in bytes from which a word is not counted: a run of
	// dashes, an encoded blob.
	MaxWord = 64
	// MaxWords is how many different words are counted; further ones are left out.
	MaxWords = 2_000_000
)

// Counter counts the words of texts. Its memory is bounded by MaxWord and MaxWords.
type Counter struct {
	split  Split
	spaced bool // white space is one space, and one is before every text
	text   []byte
	counts map[string]*int64
	Texts  int64 // added
	Bytes  int64 // of them
	Left   int64 // words that were left out, for their length or because of MaxWords
}

// NewCounter gives a counter of the words that split makes.
func NewCounter(split Split) *Counter {
	return &Counter{split: split, counts: map[string]*int64{}}
}

// Add counts the words of a text. Invalid UTF-8 counts as U+FFFD, which is what a
// tokenizer makes of it.
func (c *Counter) Add(text []byte) {
	c.Texts++
	c.Bytes += int64(len(text))
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	if c.spaced {
		c.text = appendSpaced(c.text[:0], text)
		text = c.text
	}
	for len(text) > 0 {
		n := c.split(text)
		c.word(text[:n])
		text = text[n:]
	}
}

func (c *Counter) word(w []byte) {
	if len(w) > MaxWord {
		c.Left++
		return
	}
	if n, ok := c.counts[string(w)]; ok {
		*n++
		return
	}
	if len(c.counts) == MaxWords {
		c.Left++
		return
	}
	n := int64(1)
	c.counts[string(w)] = &n
}

// Words gives every word with its count. The caller owns the map.
func (c *Counter) Words() map[string]int64 {
	out := make(map[string]int64, len(c.counts))
	for w, n := range maps.All(c.counts) {
		out[w] = *n
	}
	return out
}

// appendSpaced appends the words of text, a space before each.
func appendSpaced(dst, text []byte) []byte {
	for len(text) > 0 {
		text = text[run(text, space, endless):]
		n := run(text, ^space, endless)
		if n > 0 {
			dst = append(append(dst, ' '), text[:n]...)
		}
		text = text[n:]
	}
	return dst
}
