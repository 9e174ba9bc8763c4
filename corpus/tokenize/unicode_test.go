package tokenize

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// The digest of the tables as the reference, tokenizers 0.23.3, gave them. A
// regenerated file with another digest is another tokenizer.
const wantTables = "7091b534191e3547273cd4b9eb352b9b2677188cecec6ddc8ca9027e36fe7c8d"

func TestUnicodeTablesAreThoseOfTheReference(t *testing.T) {
	checkTables(t, "unicode", unicodeTablesSHA256, wantTables)
}

// checkTables checks that the tables of a generated file have the digest that the file
// gives and that the reference gave.
func checkTables(t *testing.T, name, digest, want string) {
	t.Helper()
	data, err := os.ReadFile(name + "_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	_, body, ok := strings.Cut(string(data), "const "+name+"TablesSHA256 = \""+digest+"\"\n\n")
	if !ok {
		t.Fatalf("%s_gen.go lacks its digest line", name)
	}
	sum := sha256.Sum256([]byte(body))
	if got := hex.EncodeToString(sum[:]); got != digest {
		t.Errorf("the tables have digest %s, the file says %s: run _gen/%s_tables.py", got, digest, name)
	}
	if digest != want {
		t.Errorf("the tables have digest %s, those of the reference had %s", digest, want)
	}
}

func TestProperties(t *testing.T) {
	for _, c := range []struct {
		r    rune
		want uint8
	}{
		{' ', isSpace}, {'\t', isSpace}, {'\v', isSpace | isDropped}, {0x85, isSpace | isDropped}, {0xA0, isSpace},
		{0x3000, isSpace}, {0x200B, isDropped}, {0xFEFF, isDropped}, {0, isDropped}, {0xFFFD, isDropped},
		{0x378, 0}, {0xE000, isDropped}, {'!', isPunct}, {'$', isPunct}, {'_', isPunct | isWordChar}, {0x2019, isPunct},
		{0x20AC, 0}, {'a', isWordChar}, {'A', isWordChar | hasLower}, {0x4E00, isWordChar | isCJK}, {0x301, isWordChar | isMark},
		{0xE9, isWordChar | hasDecomp}, {0x130, isWordChar | hasDecomp | hasLower}, {0x10FFFF, 0},
	} {
		if got := propertyOf(c.r).flags; got != c.want {
			t.Errorf("%U has flags %08b, want %08b", c.r, got, c.want)
		}
	}
	for _, c := range []struct {
		r    rune
		want string
	}{
		{0xAC01, "\u1100\u1161\u11a8"}, {0xAC00, "\u1100\u1161"}, {0xD7A3, "\u1112\u1175\u11c2"}, {0xD7A4, "\ud7a4"},
		{0x1E9B, "\u017f\u0307"}, {0x212B, "A\u030a"}, {0x344, "\u0308\u0301"}, {0x2FA1D, "\U0002A600"}, {'a', "a"}, {0x10FFFF, "\U0010FFFF"},
	} {
		if got := string(appendDecomposed(nil, c.r)); got != c.want {
			t.Errorf("%U decomposes to %+q, want %+q", c.r, got, c.want)
		}
	}
	for _, c := range []struct{ r, want string }{{"\u0130", "i\u0307"}, {"\u03a3", "\u03c3"}, {"\u01c5", "\u01c6"}, {"\u1e9e", "\u00df"}, {"q", "q"}} {
		r := []rune(c.r)[0]
		if got := string(appendLower(nil, r, propertyOf(r))); got != c.want {
			t.Errorf("%s in lower case is %+q, want %+q", c.r, got, c.want)
		}
	}
}
