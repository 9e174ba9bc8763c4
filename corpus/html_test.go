package corpus

import (
	"bytes"
	"html"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCleanHTML(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "",
		"plain":                  "plain",
		"<p>One.</p> <p>Two</p>": "One. Two",
		"<p>See <a href=\"x?a=1&amp;b=2\">the <b>guide</b></a>.": "See the guide .",
		"a<br/>b<BR>c":              "a b c",
		"<td>a</td><td>b</td>":      "a b",
		"1 < 2 and 3 > 2":           "1 < 2 and 3 > 2",
		"a<1 <":                     "a<1 <",
		"<unclosed tag":             "<unclosed tag",
		"x<!-- a > b <p> -->y":      "x y",
		"x<!-- open":                "x<!-- open",
		"<?xml v?><!DOCTYPE html>x": "x",
		"&lt;tag&gt; &amp;amp; &quot;q&quot; &#39;&#x41;": "<tag> &amp; \"q\" 'A",
		"a&nbsp;&nbsp;b\u00a0c\u2003d":                    "a b c d",
		"  \n\t a \r\n b  ":                               "a b",
		"&unknown; &":                                     "&unknown; &",
		"é 漢\u3000字":                                      "é 漢 字",
	} {
		if got := string(cleanHTML([]byte(in))); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// cleanPlain is the definition of what cleanHTML makes of tags: each '<' is looked
// at by itself.
func cleanPlain(src []byte) []byte {
	var flat []byte
	for len(src) > 0 {
		n := 1
		if src[0] == '<' {
			n = new(tagFinder).tagLen(src)
		}
		switch {
		case src[0] != '<' || n == 0:
			n = 1
			flat = append(flat, src[0])
		default:
			flat = append(flat, ' ')
		}
		src = src[n:]
	}
	return collapse([]byte(html.UnescapeString(string(flat))))
}

// A step that looks to the end of the text for each opening would not end within
// the test's time.
func TestCleanHTMLIsLinear(t *testing.T) {
	for _, unit := range []string{"<!--", "<a ", "</", "<!-- <a ", "<?<!--"} {
		text := strings.Repeat(unit, 4<<20/len(unit))
		if got := string(cleanHTML([]byte(text))); got != strings.TrimSpace(text) {
			t.Errorf("%q repeated: %d bytes of %d are left", unit, len(got), len(text))
		}
		// What closes late still closes what it can.
		got := string(cleanHTML([]byte("<p>x</p><b>" + text + "-->y")))
		if want := map[string]string{
			"<!--": "x y", "<a ": "x y", "</": "x y", "<!-- <a ": "x y", "<?<!--": "x y",
		}[unit]; got != want {
			t.Errorf("%q repeated and closed: %.40q, want %q", unit, got, want)
		}
	}
}

func FuzzCollapse(f *testing.F) {
	for _, in := range []string{"", " a  b ", "\u00a0\u3000x\u2028", "\xff \xe2\x82 x", "\x1c\x1fa\x85"} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		want := strings.Join(strings.FieldsFunc(string(in), isSpace), " ")
		if got := string(collapse(bytes.Clone(in))); got != want {
			t.Fatalf("%q: got %q, want %q", in, got, want)
		}
	})
}

func FuzzCleanHTML(f *testing.F) {
	f.Add([]byte("<p>a &lt;b&gt; <!-- c --> d</p>"))
	f.Add([]byte("<<a>><"))
	f.Add([]byte("<!--<a <!--> </-> <b"))
	f.Add([]byte("<a <!-- > <!-- --> <!-- <c"))
	f.Fuzz(func(t *testing.T, in []byte) {
		got := cleanHTML(in)
		if want := cleanPlain(in); !bytes.Equal(got, want) {
			t.Fatalf("%q: got %q, want %q", in, got, want)
		}
		if utf8.Valid(in) && !utf8.Valid(got) {
			t.Fatalf("%q became invalid: %q", in, got)
		}
		if !bytes.Equal(collapse(bytes.Clone(got)), got) {
			t.Fatalf("%q: white space is left in %q", in, got)
		}
	})
}
