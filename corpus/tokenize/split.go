package tokenize

// scan gives the length of the pre-token that s begins with. s is valid UTF-8 and not
// empty. What stands before s does not matter: none of the patterns looks back.
type scan func(s []byte) int

// pattern is a regular expression that the reference cuts text with, scanned by hand.
// Every character of a text is in a match of it.
type pattern struct {
	name  string
	regex string
	scan  scan
}

// Patterns are recognised by their exact text: two that differ in one character cut
// differently, or may.
var patterns = []pattern{
	{"GPT-2", `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`, scanGPT2},
	{"Llama 3", `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`, scanLlama3},
	{"Qwen2", `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`, scanQwen2},
	{"Qwen3.5", `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`, scanQwen35},
	{"o200k", `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
		`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`, scanO200K},
}

// scanGPT2 scans the pattern of GPT-2, which ByteLevel has built in.
func scanGPT2(s []byte) int {
	if s[0] == '\'' {
		if n := contraction(s, false); n > 0 {
			return n
		}
	}
	at := 0
	c, _ := categoryAt(s)
	if s[0] == ' ' && len(s) > 1 {
		if next, _ := categoryAt(s[1:]); next&catSpace == 0 {
			c, at = next, 1
		}
	}
	switch {
	case c&catLetter != 0:
		return at + runOf(s[at:], catLetter)
	case c&catNumber != 0:
		return at + runOf(s[at:], catNumber)
	case c&catSpace == 0:
		return at + runWithout(s[at:], catLetter|catNumber|catSpace)
	}
	return scanSpace(s)
}

func scanLlama3(s []byte) int { return scanGPT4(s, catLetter, 3) }
func scanQwen2(s []byte) int  { return scanGPT4(s, catLetter, 1) }
func scanQwen35(s []byte) int { return scanGPT4(s, catLetter|catMark, 1) }

// scanGPT4 scans the patterns that follow GPT-4's: words of these letters, numbers
// of up to digits digits.
func scanGPT4(s []byte, letters category, digits int) int {
	if s[0] == '\'' {
		if n := contraction(s, true); n > 0 {
			return n
		}
	}
	c, size := categoryAt(s)
	if c&letters != 0 {
		return runOf(s, letters)
	}
	if c&catNumber != 0 {
		return upTo(s, catNumber, digits)
	}
	if size < len(s) && s[0] != '\r' && s[0] != '\n' {
		if next, _ := categoryAt(s[size:]); next&letters != 0 {
			return size + runOf(s[size:], letters)
		}
	}
	if n := runOfMarks(s, c, letters|catNumber|catSpace); n > 0 {
		return n + countBytes(s[n:], "\r\n")
	}
	return scanLines(s)
}

// runOfMarks gives the length of ` ?[^…]+`, where without is what the class leaves
// out and c the category of the first character; 0 when s does not begin so.
func runOfMarks(s []byte, c, without category) int {
	if c&without == 0 {
		return runWithout(s, without)
	}
	if s[0] == ' ' && len(s) > 1 {
		if next, _ := categoryAt(s[1:]); next&without == 0 {
			return 1 + runWithout(s[1:], without)
		}
	}
	return 0
}

// scanO200K scans the pattern of o200k: words are cut where lower case ends too, and
// take a contraction along.
func scanO200K(s []byte) int {
	c, size := categoryAt(s)
	if c&catNumber != 0 {
		return upTo(s, catNumber, 3)
	}
	n := 0
	if c&catLetter == 0 && size < len(s) && s[0] != '\r' && s[0] != '\n' {
		if n = casedWord(s[size:]); n > 0 {
			n += size
		} else if next, _ := categoryAt(s[size:]); c&catMark == 0 && next&catUpper != 0 {
			n = size + runOf(s[size:], catUpper)
		}
	}
	if n == 0 {
		n = casedWord(s)
	}
	if n == 0 && c&catUpper != 0 {
		n = runOf(s, catUpper)
	}
	if n > 0 {
		if n < len(s) && s[n] == '\'' {
			n += contraction(s[n:], true)
		}
		return n
	}
	if n := runOfMarks(s, c, catLetter|catNumber|catSpace); n > 0 {
		return n + countBytes(s[n:], "\r\n/")
	}
	return scanLines(s)
}

// casedWord gives the length of [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+
// at the beginning of s, 0 when there is none. The first class takes what it can and
// gives back no more than it must.
func casedWord(s []byte) int {
	at, both := 0, 0 // both: behind the last character that either class takes
	for at < len(s) {
		c, size := categoryAt(s[at:])
		if c&(catLetter|catMark) == 0 || c&catLower != 0 {
			break
		}
		at += size
		if c&catUpper == 0 {
			both = at
		}
	}
	end := at
	for end < len(s) {
		c, size := categoryAt(s[end:])
		if c&(catLetter|catMark) == 0 || c&catUpper != 0 {
			break
		}
		end += size
	}
	if end > at {
		return end
	}
	return both
}

// scanLines scans \s*[\r\n]+|\s+(?!\S)|\s+ in s, which begins with white space.
func scanLines(s []byte) int {
	line := 0
	for at := 0; at < len(s); {
		c, size := categoryAt(s[at:])
		if c&catSpace == 0 {
			break
		}
		at += size
		if s[at-1] == '\n' || s[at-1] == '\r' {
			line = at
		}
	}
	if line > 0 {
		return line
	}
	return scanSpace(s)
}

// scanSpace scans \s+(?!\S)|\s+ in s, which begins with white space: a run of it
// without its last character, unless the text ends there or that is all.
func scanSpace(s []byte) int {
	at, last := 0, 0
	for at < len(s) {
		c, size := categoryAt(s[at:])
		if c&catSpace == 0 {
			if at == last {
				return at
			}
			return at - last
		}
		at, last = at+size, size
	}
	return at
}

// contraction gives the length of 's, 't, 're, 've, 'm, 'll or 'd at the beginning of
// s, which begins with the apostrophe; 0 when there is none. fold disregards case, as
// (?i:…) does: it takes U+017F for an s too.
func contraction(s []byte, fold bool) int {
	if len(s) < 2 {
		return 0
	}
	lower := func(c byte) byte {
		if fold && 'A' <= c && c <= 'Z' {
			return c | 0x20
		}
		return c
	}
	var second byte
	switch lower(s[1]) {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v':
		second = 'e'
	case 'l':
		second = 'l'
	case 0xC5:
		if fold && len(s) > 2 && s[2] == 0xBF {
			return 3
		}
		return 0
	default:
		return 0
	}
	if len(s) > 2 && lower(s[2]) == second {
		return 3
	}
	return 0
}

// runOf gives the length of the run of characters of the categories in of that s
// begins with.
func runOf(s []byte, of category) int { return upTo(s, of, len(s)) }

// upTo is runOf for at most most characters.
func upTo(s []byte, of category, most int) int {
	at := 0
	for ; most > 0 && at < len(s); most-- {
		c, size := categoryAt(s[at:])
		if c&of == 0 {
			break
		}
		at += size
	}
	return at
}

// runWithout gives the length of the run of characters of no category in without that
// s begins with.
func runWithout(s []byte, without category) int {
	at := 0
	for at < len(s) {
		c, size := categoryAt(s[at:])
		if c&without != 0 {
			break
		}
		at += size
	}
	return at
}

// countBytes gives the length of the run of ASCII characters in set that s begins
// with.
func countBytes(s []byte, set string) int {
	for i, c := range s {
		found := false
		for j := range len(set) {
			found = found || c == set[j]
		}
		if !found {
			return i
		}
	}
	return len(s)
}
