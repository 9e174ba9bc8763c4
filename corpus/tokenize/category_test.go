package tokenize

import (
	"testing"
	"unicode/utf8"
)

// The digest of the tables as the reference, tokenizers 0.23.3, gave them.
const wantCategories = "7b16055ae6ca164f88ec492272d6a6e66af4272e369854305f8eeb1ed42e9fb1"

func TestCategoryTablesAreThoseOfTheReference(t *testing.T) {
	checkTables(t, "category", categoryTablesSHA256, wantCategories)
}

func TestCategories(t *testing.T) {
	for _, c := range []struct {
		r    rune
		want category
	}{
		{'a', catLetter | catLower}, {'A', catLetter | catUpper}, {'0', catNumber | catNumeric}, {' ', catSpace}, {'\t', catSpace}, {'\v', catSpace},
		{0x1C, 0}, {0, 0}, {'!', 0}, {'_', 0}, {0x85, catSpace}, {0xA0, catSpace}, {0x200B, 0}, {0x2028, catSpace}, {0x3000, catSpace}, {0x180E, 0},
		{0xAA, catLetter}, {0xBD, catNumber | catNumeric}, {0x1C5, catLetter | catUpper}, {0x2B0, catLetter}, {0x301, catMark}, {0x660, catNumber | catNumeric},
		{0x2160, catNumber | catNumeric}, {0x4E00, catLetter}, {0x3007, catNumber | catNumeric}, {0x20DD, catMark}, {0x378, 0}, {0xE000, 0}, {0x10FFFF, 0},
	} {
		if got := categoryOf(c.r); got != c.want {
			t.Errorf("%U is %07b, want %07b", c.r, got, c.want)
		}
		s := append(utf8.AppendRune(nil, c.r), 'x')
		if got, size := categoryAt(s); got != c.want || size != len(s)-1 {
			t.Errorf("%U at the beginning of a text is %07b in %d bytes, want %07b in %d", c.r, got, size, c.want, len(s)-1)
		}
	}
	// What the scans rely on.
	for r := range rune(0x110000) {
		if (r >= 0xD800 && r <= 0xDFFF) || r < 0x80 {
			continue
		}
		c := categoryOf(r)
		if c&(catUpper|catLower) != 0 && c&catLetter == 0 || c&catSpace != 0 != (propertyOf(r).flags&isSpace != 0) {
			t.Errorf("%U is %07b", r, c)
		}
		if got, size := runeAt(utf8.AppendRune(nil, r)); got != r || size != utf8.RuneLen(r) {
			t.Errorf("%U is decoded as %U of %d bytes", r, got, size)
		}
	}
}
