package train

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// The patterns as regular expressions, without what looks ahead: white space is the
// last resort, and plainSplit treats it by hand. Contractions fold ASCII only.
var (
	blank = `[\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]`
	solid = `\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}`
	apos  = `'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])`

	plainPatterns = map[string]struct {
		split Split
		plain *regexp.Regexp
	}{
		"GPT-2": {SplitGPT2, regexp.MustCompile(`^(?:'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^` + solid + `\p{L}\p{N}]+)`)},
		"Qwen2": {SplitQwen2, regexp.MustCompile(`^(?:` + apos + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^` + solid + `\p{L}\p{N}]+[\r\n]*|` + blank + `*[\r\n]+)`)},
		"o200k": {SplitO200k, regexp.MustCompile(`^(?:[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?:` + apos + `)?|` +
			`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?:` + apos + `)?|` +
			`\p{N}{1,3}| ?[^` + solid + `\p{L}\p{N}]+[\r\n/]*|` + blank + `*[\r\n]+)`)},
	}
	blanks = regexp.MustCompile(`^` + blank + `+`)
)

// plainSplit is what the splits are held against.
func plainSplit(plain *regexp.Regexp, s string) int {
	if m := plain.FindString(s); m != "" {
		return len(m)
	}
	m := blanks.FindString(s)
	if len(m) == len(s) {
		return len(m)
	}
	_, last := utf8.DecodeLastRuneInString(m)
	if last == len(m) {
		return last
	}
	return len(m) - last
}

var splitTexts = []string{
	"Hello, world! It's 12345 o'clock; don't  you'll THINK'RE so?\n\n  next\tline \r\n",
	"   ", "\n", "a", " ", "'", "''s", "'S", "x'Ll y", "camelCaseWord HTTPServer ǅungla", "日本語テキスト、カタカナ ｶﾀ", "Ünïcödé e\u0301te\u0301 \u0301mark", "€100.50 … ½ ³²",
	"path/to/file//\r\n/x", "A\u00a0B\u2003C\u3000\u3000D", "ʰABcʰ", "éÉéÉ ÀB", "12\u0660\u06613", "_foo__bar_ $baz", "tab\t\tword", "word \nword", "🚀🚀 a🚀b",
	"\u0744A", "\u0301\u0301AB c", "0 \u200300", " \u2003",
}

func checkSplits(t *testing.T, text string) {
	for name, c := range plainPatterns {
		for rest := text; rest != ""; {
			got, want := c.split([]byte(rest)), plainSplit(c.plain, rest)
			if got != want {
				t.Fatalf("%s: the first word of %q has %d bytes, want %d", name, rest, got, want)
			}
			rest = rest[got:]
		}
	}
	for rest := text; rest != ""; {
		n := SplitPieces([]byte(rest))
		if n < 1 || n > len(rest) {
			t.Fatalf("SplitPieces of %q is %d", rest, n)
		}
		rest = rest[n:]
	}
}

func TestSplits(t *testing.T) {
	for _, text := range splitTexts {
		checkSplits(t, text)
	}
}

func FuzzSplit(f *testing.F) {
	for _, text := range splitTexts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { checkSplits(t, strings.ToValidUTF8(text, "?")) })
}

func TestSplitPieces(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"Hello, world", "Hello|,| world"}, {" a  b   c ", " a| | b|  | c| "}, {"x 12 y", "x| |1|2| y"}, {"a\n\n\tb", "a|\n\n|\t|b"},
		{"don't (x)", "don|'|t| (|x|)"}, {"  ", "  "}, {" \n", " |\n"}, {" é1", " é|1"}, {"日本 語", "日本| 語"},
	} {
		var words []string
		for rest := c.text; rest != ""; {
			n := SplitPieces([]byte(rest))
			words = append(words, rest[:n])
			rest = rest[n:]
		}
		if got := strings.Join(words, "|"); got != c.want {
			t.Errorf("%q is cut to %q, want %q", c.text, got, c.want)
		}
	}
}
