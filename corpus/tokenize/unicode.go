package tokenize

import "unicode/utf8"

// property is what the reference does with one code point. The tables of it in
// unicode_gen.go are generated from the reference itself: its Unicode
// version is neither Go's nor that of any one published standard.
type property struct {
	flags uint8
	rank  uint8 // order of the canonical combining class, 0 for starters
	lower int32 // distance to the lower case letter
}

// Flags of a property; _gen/unicode_tables.py writes them.
const (
	isDropped  = 1 << iota // removed by clean_text: controls, formats, private use, U+FFFD, NUL
	isSpace                // white space to the pre-tokenizer, and \s
	isPunct                // punctuation, a pre-token of its own
	isCJK                  // set apart by handle_chinese_chars
	isMark                 // non-spacing mark, removed by strip_accents
	hasLower               // lower case differs
	hasDecomp              // canonical decomposition differs, Hangul syllables apart
	isWordChar             // \w, for added tokens that are single words
)

func propertyOf(r rune) property {
	return unicodeProps[unicodeRecords[uint32(unicodeBlocks[r>>7])<<7|uint32(r)&127]]
}

// The only code point whose lower case is two code points.
const (
	capitalIDot  = 0x130
	combiningDot = 0x307
)

// appendLower appends the lower case of r, whose property is p.
func appendLower(dst []rune, r rune, p property) []rune {
	if p.flags&hasLower == 0 {
		return append(dst, r)
	}
	if r == capitalIDot {
		return append(dst, 'i', combiningDot)
	}
	return append(dst, r+p.lower)
}

// Hangul syllables decompose by arithmetic.
const (
	hangulFirst = 0xAC00
	hangulCount = 11172
	jamoLead    = 0x1100
	jamoVowel   = 0x1161
	jamoTail    = 0x11A7
	jamoVowels  = 21
	jamoTails   = 28
)

// appendDecomposed appends the full canonical decomposition of r, r itself when
// it has none. Reordering is left to the caller.
func appendDecomposed(dst []rune, r rune) []rune {
	if i := r - hangulFirst; i >= 0 && i < hangulCount {
		dst = append(dst, jamoLead+i/(jamoVowels*jamoTails), jamoVowel+i/jamoTails%jamoVowels)
		if tail := i % jamoTails; tail > 0 {
			dst = append(dst, jamoTail+tail)
		}
		return dst
	}
	if block := int(r >> 6); block < len(decompBlocks) {
		if n := decompNumbers[int(decompBlocks[block])<<6|int(r)&63]; n > 0 {
			return append(dst, decompRunes[decompStarts[n-1]:decompStarts[n]]...)
		}
	}
	return append(dst, r)
}

// decode gives the first code point of s, its length in bytes and whether it was
// valid UTF-8. An invalid sequence is U+FFFD over its maximal subpart, the
// longest prefix of some valid sequence or else one byte, as Python's
// errors='replace' and the Unicode standard's recommended practice have it. s
// must not be empty.
func decode(s []byte) (r rune, size int, ok bool) {
	r, size = utf8.DecodeRune(s)
	if r != utf8.RuneError || size != 1 {
		return r, size, true
	}
	// Note: DecodeRune calls every invalid sequence one byte long.
	need, lo, hi := 0, byte(0x80), byte(0xBF)
	switch c := s[0]; {
	case c >= 0xC2 && c <= 0xDF:
		need = 1
	case c >= 0xE0 && c <= 0xEF:
		need = 2
		if c == 0xE0 {
			lo = 0xA0
		} else if c == 0xED {
			hi = 0x9F
		}
	case c >= 0xF0 && c <= 0xF4:
		need = 3
		if c == 0xF0 {
			lo = 0x90
		} else if c == 0xF4 {
			hi = 0x8F
		}
	}
	for size = 1; size <= need && size < len(s) && s[size] >= lo && s[size] <= hi; size++ {
		lo, hi = 0x80, 0xBF
	}
	return utf8.RuneError, size, false
}
