package train

import (
	"unicode"
	"unicode/utf8"
)

// Split gives the length of the word that s, which is not empty, begins with. Words
// are what merges never reach across.
//
// A Split does what the pre-tokenizer of its family does, with the categories of Go's
// unicode package. The reference's categories differ for rare characters; that
// changes which merges are learnt, never what a tokenizer with them does.
type Split func(s []byte) int

// class is a set of the categories that the patterns tell apart.
type class uint8

const (
	upper  class = 1 << iota // Lu, Lt
	lower                    // Ll
	letter                   // Lm, Lo
	mark                     // M
	number                   // N
	space
	other

	anyLetter = upper | lower | letter
)

var asciiClass = func() (t [utf8.RuneSelf]class) {
	for r := range t {
		t[r] = classOf(rune(r))
	}
	return t
}()

func classOf(r rune) class {
	switch {
	case unicode.IsSpace(r):
		return space
	case unicode.In(r, unicode.Ll):
		return lower
	case unicode.In(r, unicode.Lu, unicode.Lt):
		return upper
	case unicode.IsLetter(r):
		return letter
	case unicode.IsMark(r):
		return mark
	case unicode.IsNumber(r):
		return number
	}
	return other
}

// first gives the class and length of the first character, 0 and 0 at the end.
func first(s []byte) (class, int) {
	if len(s) == 0 {
		return 0, 0
	}
	if s[0] < utf8.RuneSelf {
		return asciiClass[s[0]], 1
	}
	r, size := utf8.DecodeRune(s)
	return classOf(r), size
}

// run gives the length of the characters of classes c that s begins with, most at
// most.
func run(s []byte, c class, most int) int {
	n := 0
	for ; most > 0; most-- {
		k, size := first(s[n:])
		if k&c == 0 {
			break
		}
		n += size
	}
	return n
}

const endless = int(^uint(0) >> 1)

// SplitGPT2 is the pattern that ByteLevel has built in: contractions, letters,
// numbers and other characters, each with a space before it, and white space.
func SplitGPT2(s []byte) int {
	if n := contraction(s, false); n > 0 {
		return n
	}
	at := 0
	if s[0] == ' ' {
		at = 1
	}
	c, _ := first(s[at:])
	for _, kind := range []class{anyLetter, number, mark | other} {
		if c&kind != 0 {
			return at + run(s[at:], kind, endless)
		}
	}
	return spaces(s)
}

// SplitQwen2 is the pattern of Qwen 2 and 3: as SplitGPT2, but words take any
// character before them along, digits stand alone, and lines end words.
func SplitQwen2(s []byte) int {
	if n := contraction(s, true); n > 0 {
		return n
	}
	c, size := first(s)
	if c&number != 0 {
		return size
	}
	if n := run(s, anyLetter, endless); n > 0 {
		return n
	}
	if s[0] != '\r' && s[0] != '\n' {
		if n := run(s[size:], anyLetter, endless); n > 0 {
			return size + n
		}
	}
	return marksOrLines(s, "\r\n")
}

// SplitO200k is the pattern of o200k: words are cut before capitals and take a
// contraction along, numbers go by three digits.
func SplitO200k(s []byte) int {
	c, size := first(s)
	if c&number != 0 {
		return run(s, number, 3)
	}
	lead := 0
	if c&anyLetter == 0 && s[0] != '\r' && s[0] != '\n' {
		lead = size
	}
	for _, word := range []func([]byte) int{cased, capitals} {
		for _, at := range []int{lead, 0} {
			if n := word(s[at:]); n > 0 {
				n += at
				return n + contraction(s[n:], true)
			}
		}
	}
	return marksOrLines(s, "\r\n/")
}

// cased gives the length of the longest word of which capitals stand only in front
// and that does not end in one.
func cased(s []byte) int {
	n := run(s, upper|letter|mark, endless)
	if tail := run(s[n:], lower|letter|mark, endless); tail > 0 {
		return n + tail
	}
	for end := n; end > 0; {
		r, size := utf8.DecodeLastRune(s[:end])
		if classOf(r)&(letter|mark) != 0 {
			return end
		}
		end -= size
	}
	return 0
}

// capitals gives the length of the word that is left where there is no cased one.
func capitals(s []byte) int { return run(s, upper|letter|mark, endless) }

// marksOrLines gives the length of other characters with a space before them and the
// bytes of tail after them, else of white space up to the last line end, else of
// white space.
func marksOrLines(s []byte, tail string) int {
	at := 0
	if s[0] == ' ' {
		at = 1
	}
	if n := run(s[at:], mark|other, endless); n > 0 {
		n += at
		for n < len(s) && contains(tail, s[n]) {
			n++
		}
		return n
	}
	lines := run(s, space, endless)
	for lines > 0 && s[lines-1] != '\n' && s[lines-1] != '\r' {
		lines--
	}
	if lines > 0 {
		return lines
	}
	return spaces(s)
}

func contains(set string, b byte) bool {
	for i := range len(set) {
		if set[i] == b {
			return true
		}
	}
	return false
}

// spaces gives the length of white space without its last character, which belongs to
// the word that follows, unless it is all there is or ends the text.
func spaces(s []byte) int {
	n := run(s, space, endless)
	_, last := utf8.DecodeLastRune(s[:n])
	if n == len(s) || n == last {
		return n
	}
	return n - last
}

// contraction gives the length of 's, 't, 're, 've, 'm, 'll or 'd at the beginning of
// s, 0 without one.
func contraction(s []byte, fold bool) int {
	if len(s) < 2 || s[0] != '\'' {
		return 0
	}
	at := func(i int) byte {
		if i >= len(s) {
			return 0
		}
		if fold && s[i] >= 'A' && s[i] <= 'Z' {
			return s[i] + 'a' - 'A'
		}
		return s[i]
	}
	switch a, b := at(1), at(2); {
	case a == 's' || a == 't' || a == 'm' || a == 'd':
		return 2
	case a == 'r' && b == 'e', a == 'v' && b == 'e', a == 'l' && b == 'l':
		return 3
	}
	return 0
}

// SplitPieces cuts as SentencePiece does before it learns: words of letters or of
// other characters, with a space before them, digits and line ends alone, runs of
// spaces together.
func SplitPieces(s []byte) int {
	if n := runOf(s, ' '); n > 1 {
		if n == len(s) {
			return n
		}
		return n - 1
	}
	at := 0
	if s[0] == ' ' {
		at = 1
	}
	c, size := first(s[at:])
	switch {
	case c == 0, c&space != 0 && at == 1:
		return 1
	case c&space != 0:
		return max(runOf(s, '\n'), size)
	case c&number != 0 && at == 1:
		return 1
	case c&number != 0:
		return size
	case c&(anyLetter|mark) != 0:
		return at + run(s[at:], anyLetter|mark, endless)
	}
	return at + run(s[at:], other, endless)
}

func runOf(s []byte, b byte) int {
	n := 0
	for n < len(s) && s[n] == b {
		n++
	}
	return n
}
