package tokenize

import (
	"encoding/binary"
	"math/bits"
)

// window finds pre-tokens in the first n bytes of a window, all of them ASCII (but see
// windowUnits). The window begins with a pre-token; s is what follows in the text, at least as far as
// the window, at most to the end of the piece; last says that the piece ends with the
// n bytes. starts has a bit for every byte that begins a pre-token, but only up to
// the last that what lies beyond the n bytes cannot change.
//
// The formulas are those of the patterns (split.go) for runs of bytes of a class,
// which are runs of bits: x<<1 are the bytes behind those of x, x>>1 the ones before.
type window func(w *classes64, s []byte, n int, last bool) (starts uint64)

// windows has the patterns that can be scanned so.
var windows = map[string]window{
	"GPT-2":   windowGPT2,
	"Llama 3": func(w *classes64, s []byte, n int, last bool) uint64 { return windowGPT4(w, s, n, last, true) },
	"Qwen2":   func(w *classes64, s []byte, n int, last bool) uint64 { return windowGPT4(w, s, n, last, false) },
	"Qwen3.5": func(w *classes64, s []byte, n int, last bool) uint64 { return windowGPT4(w, s, n, last, false) },
	"o200k":   windowO200K,
}

// classes64 has a bit for each of 64 bytes that is of a class.
type classes64 struct {
	letter uint64 // A to Z, a to z
	lower  uint64 // among letters a to z, elsewhere anything
	number uint64 // 0 to 9
	space  uint64 // \s
	line   uint64 // line feed, carriage return
	blank  uint64 // the space itself
	quote  uint64 // the apostrophe
	slash  uint64 // /
	high   uint64 // not ASCII
}

// classes64Generic finds the classes of s, eight bytes at a time.
func classes64Generic(s *[blockSize]byte, w *classes64) {
	*w = classes64{}
	for i := 0; i < blockSize; i += 8 {
		v := binary.LittleEndian.Uint64(s[i : i+8])
		x := v &^ highs
		fold := x | 0x20*every
		// is has its high bit clear exactly where x is c.
		is := func(c uint64) uint64 { return x ^ c*every + 0x7F*every }
		between := func(x, first, last uint64) uint64 { return (x + (0x80-first)*every) &^ (x + (0x7F-last)*every) }
		ascii := ^v & highs
		w.letter |= gather(between(fold, 'a', 'z')&ascii) << i
		w.lower |= gather(v<<2&highs) << i
		w.number |= gather(between(x, '0', '9')&ascii) << i
		blank := ^is(' ') & ascii
		w.blank |= gather(blank) << i
		w.space |= gather(between(x, '\t', '\r')&ascii|blank) << i
		w.line |= gather(^(is('\n')&is('\r'))&ascii) << i
		w.quote |= gather(^is('\'')&ascii) << i
		w.slash |= gather(^is('/')&ascii) << i
		w.high |= gather(v&highs) << i
	}
}

// known cuts starts to those that are certain: all of them at the end of a piece, else
// those before the last byte, which what follows may change.
func known(starts uint64, n int, last bool) uint64 {
	if last {
		return starts
	}
	return starts & (1<<(n-1) - 1)
}

func windowGPT2(w *classes64, s []byte, n int, last bool) uint64 {
	valid := ^uint64(0) >> (64 - n)
	letter, number, space := w.letter&valid, w.number&valid, w.space&valid
	other := valid &^ (letter | number | space)
	behindBlank := w.blank << 1
	starts := space&^(space<<1) | space&^(space>>1)&(valid>>1) |
		(letter&^(letter<<1)|number&^(number<<1)|other&^(other<<1))&^behindBlank
	for quotes := w.quote & starts; quotes != 0; quotes &= quotes - 1 {
		i := bits.TrailingZeros64(quotes)
		if k := contraction(s[i:], false); k > 0 {
			starts = starts&^((1<<k-1)<<i) | 1<<i | 1<<(i+k)&valid
		}
	}
	return known(starts, n, last)
}

// lines is what the patterns after GPT-4's have in common.
type lines struct {
	starts uint64 // of white space, numbers and marks
	attach uint64 // bytes that a word takes along when it follows
	tail   uint64 // white space at the end of the n bytes that may go on
}

// windowLines finds what windowGPT4 and windowO200K have in common. ends are the
// bytes that belong to the marks before them when a line end stands between.
func windowLines(w *classes64, ends uint64, n int, last, threes bool) lines {
	valid := ^uint64(0) >> (64 - n)
	letter, number, space := w.letter&valid, w.number&valid, w.space&valid
	other := valid &^ (letter | number | space)
	line, behindBlank := w.line&valid, w.blank<<1
	// Line ends behind marks belong to these.
	if taken := other << 1 & line; taken != 0 {
		for more := taken; more != 0; more = more << 1 & ends & valid &^ taken {
			taken |= more
		}
		space, line, other = space&^taken, line&^taken, other&^taken
	}
	// White space: a run of it; what follows its last line end; its last character,
	// if no line end, before anything else.
	inner := space &^ line
	behindLine := line << 1 & inner
	if behindLine != 0 {
		// Not where another line end follows.
		first := inner &^ (inner << 1)
		for bad := (inner + first) &^ inner & line; bad != 0; bad &= bad - 1 {
			before := ^inner & (bad&-bad - 1)
			behindLine &^= 1 << (64 - bits.LeadingZeros64(before))
		}
	}
	l := lines{starts: space&^(space<<1) | behindLine | inner&^(space>>1)&(valid>>1)}
	// Numbers.
	if threes {
		for at := number &^ (number << 1); at != 0; at = at << 3 & number & (number << 1) & (number << 2) {
			l.starts |= at
		}
	} else {
		l.starts |= number
	}
	// Marks: a run of them, with a space before. A single one goes to the word behind.
	mark := other &^ (other << 1) &^ behindBlank
	l.starts |= mark
	l.attach = inner | mark&^(other>>1)
	if !last && space>>(n-1)&1 != 0 {
		l.tail = ^uint64(0) << (64 - bits.LeadingZeros64(^space&valid)) & valid
	}
	return l
}

// known cuts starts to those that are certain.
func (l *lines) known(starts uint64, n int, last bool) uint64 {
	// White space that may go on is certain only where it begins.
	return known(starts, n, last) &^ (l.tail & (l.tail - 1))
}

func windowGPT4(w *classes64, s []byte, n int, last, threes bool) uint64 {
	l := windowLines(w, w.line, n, last, threes)
	valid := ^uint64(0) >> (64 - n)
	letter := w.letter & valid
	starts := l.starts | letter&^(letter<<1)&^(l.attach<<1)
	for quotes := w.quote & l.starts & valid; quotes != 0; quotes &= quotes - 1 {
		i := bits.TrailingZeros64(quotes)
		if k := contraction(s[i:], true); k > 0 {
			starts = starts&^((1<<k-1)<<i) | 1<<i | 1<<(i+k)&valid
		}
	}
	return l.known(starts, n, last)
}

func windowO200K(w *classes64, s []byte, n int, last bool) uint64 {
	l := windowLines(w, w.line|w.slash, n, last, true)
	valid := ^uint64(0) >> (64 - n)
	letter := w.letter & valid
	upper := letter &^ w.lower
	starts := l.starts | letter&^(letter<<1)&^(l.attach<<1) | upper&((letter&w.lower)<<1)
	end := 0 // of the contraction before, which takes none along
	for quotes := w.quote & (letter << 1) & valid; quotes != 0; quotes &= quotes - 1 {
		i := bits.TrailingZeros64(quotes)
		if i == end {
			continue
		}
		if k := contraction(s[i:], true); k > 0 {
			end = i + k
			starts = starts&^((1<<k-1)<<i) | 1<<end&valid
		}
	}
	return l.known(starts, n, last)
}
