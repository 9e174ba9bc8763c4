package tokenize

import "unicode/utf8"

// category is what the reference's regex engine takes a code point for. The table of
// it in category_gen.go is generated from the reference, as is that of property,
// which comes from other libraries of other Unicode versions.
type category uint8

// Bits of a category; _gen/category_tables.py writes them.
const (
	catLetter  category = 1 << iota // \p{L}
	catNumber                       // \p{N}
	catSpace                        // \s
	catUpper                        // \p{Lu} or \p{Lt}; letters all
	catLower                        // \p{Ll}
	catMark                         // \p{M}
	catNumeric                      // a digit to the pre-tokenizer Digits
)

func categoryOf(r rune) category {
	return categoryRecords[uint32(categoryBlocks[r>>7])<<7|uint32(r)&127]
}

// categoryAt gives the category of the first code point of s, which is valid UTF-8
// and not empty, and its length in bytes.
func categoryAt(s []byte) (c category, size int) {
	if s[0] < utf8.RuneSelf {
		return categoryRecords[s[0]], 1
	}
	r, size := runeAt(s)
	return categoryOf(r), size
}

// runeAt decodes the first code point of s, which is valid UTF-8 and not ASCII.
func runeAt(s []byte) (r rune, size int) {
	switch c := rune(s[0]); {
	case c < 0xE0:
		return c&0x1F<<6 | rune(s[1]&0x3F), 2
	case c < 0xF0:
		return c&0x0F<<12 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), 3
	default:
		return c&0x07<<18 | rune(s[1]&0x3F)<<12 | rune(s[2]&0x3F)<<6 | rune(s[3]&0x3F), 4
	}
}
