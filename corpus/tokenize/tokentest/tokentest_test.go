package tokentest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"unicode/utf8"
)

// The texts of a seed are the same everywhere, which another program relies on.
func TestTextsArePinned(t *testing.T) {
	h := sha256.New()
	g := New(7, []string{"<s>", "[MASK]", "\u4e2d"})
	for range 2000 {
		h.Write(g.Text())
		h.Write([]byte{0xFF, 0})
	}
	const want = "535e0e7afbe8e267b64297929e5d4d12b1fd83c38d544eee8b2c6ef7f317b932"
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		t.Errorf("sha256 %s, want %s", got, want)
	}
}

func TestTextsHoldWhatTheyPromise(t *testing.T) {
	g := New(1, []string{"[MASK]"})
	counts := map[string]int{}
	longest := 0
	for range 3000 {
		text := g.Text()
		longest = max(longest, len(text))
		for name, in := range map[string]bool{
			"special token":     bytes.Contains(text, []byte("[MASK]")),
			"part of one":       bytes.Contains(text, []byte("[MAS")) && !bytes.Contains(text, []byte("[MASK]")),
			"invalid UTF-8":     !utf8.Valid(text),
			"line end":          bytes.Contains(text, []byte("\r\n")),
			"zero-width joiner": bytes.Contains(text, []byte("\u200d")),
			"combining mark":    bytes.Contains(text, []byte("\u0301")),
			"final sigma":       bytes.Contains(text, []byte("\u03c2")),
			"dotted capital i":  bytes.Contains(text, []byte("\u0130")),
			"long s":            bytes.Contains(text, []byte("'\u017f")),
			"next line":         bytes.Contains(text, []byte("\u0085")),
			"line separator":    bytes.Contains(text, []byte("\u2028")),
			"NUL":               bytes.Contains(text, []byte{0}),
			"unassigned":        bytes.Contains(text, []byte("\u0378")),
			"emoji":             bytes.Contains(text, []byte("\U0001F44D\U0001F3FD")),
			"Hangul":            bytes.Contains(text, []byte("\u1112\u1161")),
		} {
			if in {
				counts[name]++
			}
		}
	}
	for _, name := range []string{"special token", "part of one", "invalid UTF-8", "line end", "zero-width joiner", "combining mark", "final sigma", "dotted capital i",
		"long s", "next line", "line separator", "NUL", "unassigned", "emoji", "Hangul"} {
		if counts[name] < 10 {
			t.Errorf("%s in %d of 3000 texts, want 10 and more", name, counts[name])
		}
	}
	if longest < 4096 || longest > 65536 {
		t.Errorf("the longest text has %d bytes", longest)
	}
}
