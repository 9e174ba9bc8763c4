package corpus

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// cursor walks over JSON text (RFC 8259) in memory that it may overwrite: strings
// are decoded in place, which never grows them. The first fault sticks: every
// later call fails. It accepts exactly what encoding/json accepts.
type cursor struct {
	b     []byte
	i     int   // next byte
	fault fault // first fault met
	at    int   // its place in b
}

// fault says what is wrong with a line.
type fault uint8

const (
	noFault fault = iota
	faultObject
	faultEnd
	faultKey
	faultColon
	faultComma
	faultValue
	faultString
	faultControl
	faultEscape
	faultNumber
	faultDepth
	faultTrailing
)

var faultText = [...]string{
	faultObject:   "expected an object",
	faultEnd:      "the line ends inside a value",
	faultKey:      "expected a key in quotes",
	faultColon:    "expected a colon after the key",
	faultComma:    "expected a comma or the closing bracket",
	faultValue:    "expected a value",
	faultString:   "a string has no closing quote",
	faultControl:  "a control character inside a string (it must be escaped)",
	faultEscape:   "an escape that JSON does not have",
	faultNumber:   "a malformed number",
	faultDepth:    "nested deeper than 10000 levels",
	faultTrailing: "text after the object",
}

// maxDepth is the nesting limit of encoding/json.
const maxDepth = 10000

func (c *cursor) fail(f fault, at int) bool {
	if c.fault == noFault {
		c.fault, c.at = f, at
	}
	return false
}

// space moves over white space and gives the next byte, 0 at the end.
func (c *cursor) space() byte {
	for c.i < len(c.b) {
		switch ch := c.b[c.i]; ch {
		case ' ', '\t', '\n', '\r':
			c.i++
		default:
			return ch
		}
	}
	return 0
}

// plainLen gives the length of the run at the start of b without quote,
// backslash or control character. It equals
//
//	for i, ch := range b { if ch == '"' || ch == '\\' || ch < 0x20 { return i } }
//	return len(b)
//
// eight bytes at a time: subtracting from each byte sets its high bit exactly at
// the first match (a borrow can only falsify later ones).
func plainLen(b []byte) int {
	const (
		ones = 0x0101010101010101
		high = 0x8080808080808080
	)
	i := 0
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		q := x ^ ones*'"'
		s := x ^ ones*'\\'
		if m := ((q-ones)&^q | (s-ones)&^s | (x-ones*0x20)&^x) & high; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for ; i < len(b); i++ {
		if ch := b[i]; ch == '"' || ch == '\\' || ch < 0x20 {
			return i
		}
	}
	return i
}

// str reads the string at the cursor (which is at its opening quote) and gives
// its decoded bytes, a view into b. Invalid UTF-8 stays as it is; a lone
// surrogate becomes U+FFFD.
func (c *cursor) str() ([]byte, bool) {
	open := c.i
	start := c.i + 1
	r := start + plainLen(c.b[start:])
	w := r
	for {
		if r >= len(c.b) {
			return nil, c.fail(faultString, open)
		}
		switch c.b[r] {
		case '"':
			c.i = r + 1
			return c.b[start:w:w], true
		case '\\':
			var ok bool
			if r, w, ok = c.escape(r, w); !ok {
				return nil, false
			}
		default:
			return nil, c.fail(faultControl, r)
		}
		n := plainLen(c.b[r:])
		copy(c.b[w:], c.b[r:r+n])
		r, w = r+n, w+n
	}
}

// escape decodes the escape at b[r] to b[w] and gives the places after both.
func (c *cursor) escape(r, w int) (int, int, bool) {
	if r+1 >= len(c.b) {
		return r, w, c.fail(faultString, r)
	}
	ch := c.b[r+1]
	switch ch {
	case '"', '\\', '/':
	case 'n':
		ch = '\n'
	case 't':
		ch = '\t'
	case 'r':
		ch = '\r'
	case 'b':
		ch = '\b'
	case 'f':
		ch = '\f'
	case 'u':
		u, ok := hex4(c.b[r+2:])
		if !ok {
			return r, w, c.fail(faultEscape, r)
		}
		r += 6
		if utf16.IsSurrogate(u) {
			pair := rune(utf8.RuneError)
			if len(c.b) > r+1 && c.b[r] == '\\' && c.b[r+1] == 'u' {
				if low, ok := hex4(c.b[r+2:]); ok {
					pair = utf16.DecodeRune(u, low)
				}
			}
			if pair != utf8.RuneError {
				r += 6
			}
			u = pair
		}
		return r, w + utf8.EncodeRune(c.b[w:w+4], u), true
	default:
		return r, w, c.fail(faultEscape, r)
	}
	c.b[w] = ch
	return r + 2, w + 1, true
}

// hex4 reads four hexadecimal digits.
func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var u rune
	for _, ch := range b[:4] {
		switch {
		case '0' <= ch && ch <= '9':
			ch -= '0'
		case 'a' <= ch && ch <= 'f':
			ch -= 'a' - 10
		case 'A' <= ch && ch <= 'F':
			ch -= 'A' - 10
		default:
			return 0, false
		}
		u = u<<4 | rune(ch)
	}
	return u, true
}

// skipStr moves over the string at the cursor without decoding it.
func (c *cursor) skipStr() bool {
	open := c.i
	r := c.i + 1
	for {
		r += plainLen(c.b[r:])
		if r >= len(c.b) {
			return c.fail(faultString, open)
		}
		switch c.b[r] {
		case '"':
			c.i = r + 1
			return true
		case '\\':
			if r+1 >= len(c.b) {
				return c.fail(faultString, open)
			}
			switch c.b[r+1] {
			case '"', '\\', '/', 'n', 't', 'r', 'b', 'f':
				r += 2
			case 'u':
				if _, ok := hex4(c.b[r+2:]); !ok {
					return c.fail(faultEscape, r)
				}
				r += 6
			default:
				return c.fail(faultEscape, r)
			}
		default:
			return c.fail(faultControl, r)
		}
	}
}

// number reads the number at the cursor and gives its literal text.
func (c *cursor) number() ([]byte, bool) {
	b, start := c.b, c.i
	digits := func(i int) int {
		for i < len(b) && '0' <= b[i] && b[i] <= '9' {
			i++
		}
		return i
	}
	i := start
	if i < len(b) && b[i] == '-' {
		i++
	}
	whole := i
	i = digits(i)
	if i == whole || b[whole] == '0' && i > whole+1 {
		return nil, c.fail(faultNumber, start)
	}
	if i < len(b) && b[i] == '.' {
		frac := i + 1
		if i = digits(frac); i == frac {
			return nil, c.fail(faultNumber, start)
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		exp := i
		if i = digits(exp); i == exp {
			return nil, c.fail(faultNumber, start)
		}
	}
	c.i = i
	return b[start:i:i], true
}

// literal moves over the word s.
func (c *cursor) literal(s string) bool {
	if len(c.b)-c.i < len(s) || string(c.b[c.i:c.i+len(s)]) != s {
		return c.fail(faultValue, c.i)
	}
	c.i += len(s)
	return true
}

// next moves to the next element of the object or array that closes with end:
// false when it is closed or faulty. first is true before the first element.
func (c *cursor) next(first bool, end byte) bool {
	ch := c.space()
	if ch == end && c.i < len(c.b) {
		c.i++
		return false
	}
	if first {
		return c.i < len(c.b) || c.fail(faultEnd, c.i)
	}
	if ch != ',' {
		if c.i >= len(c.b) {
			return c.fail(faultEnd, c.i)
		}
		return c.fail(faultComma, c.i)
	}
	c.i++
	c.space()
	return true
}

// key moves to the next key of the object and over its colon; nil and false when
// the object is closed or faulty.
func (c *cursor) key(first bool) ([]byte, bool) {
	if !c.next(first, '}') {
		return nil, false
	}
	if c.i >= len(c.b) || c.b[c.i] != '"' {
		return nil, c.fail(faultKey, c.i)
	}
	k, ok := c.str()
	if !ok {
		return nil, false
	}
	if c.space() != ':' {
		return nil, c.fail(faultColon, c.i)
	}
	c.i++
	c.space()
	return k, true
}

// skip moves over the value at the cursor, which lies at the given depth.
func (c *cursor) skip(depth int) bool {
	if c.i >= len(c.b) {
		return c.fail(faultEnd, c.i)
	}
	switch ch := c.b[c.i]; ch {
	case '"':
		return c.skipStr()
	case '{', '[':
		if depth >= maxDepth {
			return c.fail(faultDepth, c.i)
		}
		c.i++
		if ch == '{' {
			for first := true; ; first = false {
				if _, ok := c.key(first); !ok {
					return c.fault == noFault
				}
				if !c.skip(depth + 1) {
					return false
				}
			}
		}
		for first := true; c.next(first, ']'); first = false {
			if !c.skip(depth + 1) {
				return false
			}
		}
		return c.fault == noFault
	case 't':
		return c.literal("true")
	case 'f':
		return c.literal("false")
	case 'n':
		return c.literal("null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		_, ok := c.number()
		return ok
	}
	return c.fail(faultValue, c.i)
}
