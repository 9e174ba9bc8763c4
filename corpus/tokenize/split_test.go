package tokenize

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"encbench/corpus/tokenize/tokentest"
)

// splitSeeds are cut differently by almost every pattern.
var splitSeeds = []string{
	"", "a", "it's IT'S it'\u017f can't we'll they'RE 'sx 's's ''s !'s \u00e9's 1's\n's", "  a \n b\n\n c\t\td \r\n\r\n  e   ", "...\n\n//x\n/*y*/\n/\n",
	"1234567 12.5 \u0661\u0662\u0663\u0664x\u00bd", "HTTPServer iPhone's aB\u02b0C ABC\u05deDE \u01c5x \u0301a A\u0301b", "\u201cquoted\u201d \u00a0x \u3000\u3000y\u2028z\u0085",
	" !a \t!a !!a\n!\na (a)b \u2026a \u200da", strings.Repeat(" ", 70) + "x", strings.Repeat("a", 130) + "'s" + strings.Repeat("1", 130), strings.Repeat("!", 63) + "\n\n" + strings.Repeat("\n", 70) + "x",
	strings.Repeat(" \n", 40) + "  x", strings.Repeat("a'", 50), strings.Repeat("aB", 60) + "'ll", "\x00\x1f\x7f!\x00a",
}

// cutsOf gives the lengths of the pieces that next cuts s into.
func cutsOf(s []byte, next func([]byte) int) (cuts []int) {
	for len(s) > 0 {
		n := next(s)
		cuts, s = append(cuts, n), s[n:]
	}
	return cuts
}

// patternTest is a pattern beside its interpreter and a tokenizer that fills chunks
// by it.
type patternTest struct {
	pattern
	regex *regex
	bpe   *bpe
}

func patternTests(tb testing.TB) (list []patternTest) {
	for _, p := range patterns {
		m := &bpeModel{split: splitting{cuts: []cutter{p.cutter()}, window: windows[p.name]}}
		list = append(list, patternTest{p, parseRegex(tb, p.regex), newBPE(m)})
	}
	return list
}

// check compares the scan and the chunks with the pattern. text is valid UTF-8.
func (p *patternTest) check(t *testing.T, text []byte) {
	t.Helper()
	want := cutsOf(text, func(s []byte) int {
		n := p.regex.match([]rune(string(s)))
		return len(string([]rune(string(s))[:n]))
	})
	if got := cutsOf(text, p.scan); !slices.Equal(got, want) {
		t.Fatalf("%s: %q\n got %v\nwant %v", p.name, text, got, want)
	}
	p.checkChunks(t, text)
}

// checkChunks compares the chunks with the scan.
func (p *patternTest) checkChunks(t *testing.T, text []byte) {
	t.Helper()
	var got []int
	for s := text; len(s) > 0; {
		end, long := p.bpe.fill(s)
		if long {
			got, s = append(got, end), s[end:]
			continue
		}
		for from := 0; from < end; {
			to := p.bpe.chunk.nextStop(from)
			if p.bpe.chunk.starts[from/64]>>(from%64)&1 == 0 {
				t.Fatalf("%s: %q: no start at byte %d", p.name, s, from)
			}
			got, from = append(got, to-from), to
		}
		s = s[end:]
	}
	if want := cutsOf(text, p.scan); !slices.Equal(got, want) {
		t.Fatalf("%s: %q\n got %v\nwant %v", p.name, text, got, want)
	}
}

// repaired gives text with invalid UTF-8 replaced.
func repaired(text []byte) []byte {
	var n normalizer
	return bytes.Clone(n.run(new(normalScratch), text, false).text)
}

func TestPatterns(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 43))
	for _, p := range patternTests(t) {
		for _, s := range splitSeeds {
			p.check(t, []byte(s))
		}
		g := tokentest.New(r.Uint64(), nil)
		for range 300 {
			p.check(t, repaired(g.Text()))
		}
		// Every edge of windows and chunks meets every kind of character.
		alphabet := []string{"a", "B", "s", "S", "ll", "'", "'", "'re", "1", "23", " ", " ", "  ", "\n", "\r\n", "\t", ".", "!", "/", "//", "\u00e9", "\u3000", "\u0301", "\u0661", "\x00", "word", "WORD"}
		for range 1000 {
			var text []byte
			only := alphabet[:1+r.IntN(len(alphabet))]
			r.Shuffle(len(alphabet), func(i, j int) { alphabet[i], alphabet[j] = alphabet[j], alphabet[i] })
			for range r.IntN(120) {
				s := only[r.IntN(len(only))]
				text = append(text, strings.Repeat(s, 1+r.IntN(1+r.IntN(30)))...)
			}
			p.checkChunks(t, text)
		}
		var long []byte
		for len(long) < 3*chunkBlocks*blockSize {
			long = append(long, repaired(g.Text())...)
		}
		for cut := range blockSize + 1 {
			p.checkChunks(t, repaired(long[cut+len(long)/3:]))
			p.checkChunks(t, repaired(append(bytes.Repeat([]byte("x"), chunkBlocks*blockSize-cut), long[:100]...)))
		}
	}
}

func FuzzPatterns(f *testing.F) {
	list := patternTests(f)
	for i, s := range splitSeeds {
		f.Add([]byte(s), uint8(i))
	}
	f.Fuzz(func(t *testing.T, text []byte, which uint8) {
		p := list[int(which)%len(list)]
		p.check(t, repaired(text[:min(len(text), 2000)]))
	})
}

// classesPlain is what classesOf64 computes, a byte at a time.
func classesPlain(s *[blockSize]byte) (w classes64) {
	for i, c := range s {
		in := func(mask *uint64, yes bool) {
			if yes {
				*mask |= 1 << i
			}
		}
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		in(&w.letter, letter)
		in(&w.lower, c&0x20 != 0)
		in(&w.number, c >= '0' && c <= '9')
		in(&w.space, c == ' ' || c >= '\t' && c <= '\r')
		in(&w.line, c == '\n' || c == '\r')
		in(&w.blank, c == ' ')
		in(&w.quote, c == '\'')
		in(&w.slash, c == '/')
		in(&w.high, c >= 0x80)
	}
	return w
}

func FuzzClasses64(f *testing.F) {
	f.Add([]byte("it's A/b 12\t\n\r\v\f\x00\x7f\x80\xc3\xa9[]@`{}~\x1f !\"&()*+,-.:;<=>?^_|zZ"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var s [blockSize]byte
		copy(s[:], text)
		want := classesPlain(&s)
		got, generic := classes64{1, 2, 3, 4, 5, 6, 7, 8, 9}, classes64{9, 8, 7, 6, 5, 4, 3, 2, 1}
		classesOf64(&s, &got)
		classes64Generic(&s, &generic)
		if got != want || generic != want {
			t.Fatalf("%q\n got %x\n and %x\nwant %x", s, got, generic, want)
		}
	})
}

func TestClasses64OfEveryByte(t *testing.T) {
	for c := range 256 {
		var s [blockSize]byte
		for i := range s {
			s[i] = byte(c + i*(i%2)*37)
		}
		var got, generic classes64
		classesOf64(&s, &got)
		classes64Generic(&s, &generic)
		if want := classesPlain(&s); got != want || generic != want {
			t.Fatalf("%q\n got %x\n and %x\nwant %x", s, got, generic, want)
		}
	}
}

func FuzzIndexPair(f *testing.F) {
	f.Add([]byte(strings.Repeat("x", 100)+"<|"), []byte("<["), []byte("|C"))
	f.Add([]byte(strings.Repeat("\xe2\x96", 100)+"a"), []byte("\xe2"), []byte("\x81"))
	f.Add([]byte(strings.Repeat(" ", 33)), []byte(" "), []byte(""))
	f.Fuzz(func(t *testing.T, text, first, second []byte) {
		var a, b byteSet
		for _, c := range first {
			a.add(c)
		}
		for _, c := range second {
			b.add(c)
		}
		if len(second) == 0 {
			b.addAll()
		}
		in := func(set []byte, c byte) bool {
			return slices.ContainsFunc(set, func(m byte) bool { return m == c || m >= 0x80 && c >= 0x80 })
		}
		want := len(text)
		for i := len(text) - 1; i >= 0; i-- {
			if in(first, text[i]) && (i+1 == len(text) || len(second) == 0 || in(second, text[i+1])) {
				want = i
			}
		}
		for from := range min(len(text), 40) {
			if got := from + indexPair(text[from:], &a, &b); from <= want && got != want {
				t.Fatalf("%q from %d: %d, want %d", text, from, got, want)
			}
		}
	})
}

// The last byte counts as a beginning, whatever lies in memory behind it.
func TestIndexPairAtTheEnd(t *testing.T) {
	var first, second byteSet
	first.add('<')
	second.add('|')
	for n := range 200 {
		text := []byte(strings.Repeat("x", n) + "<z")
		if got := indexPair(text[:n+1], &first, &second); got != n {
			t.Errorf("%d bytes and a first: %d", n, got)
		}
		if got := indexPair(text, &first, &second); got != n+2 {
			t.Errorf("%d bytes, a first and another: %d", n, got)
		}
		text[n+1] = '|'
		if got := indexPair(text[:n], &first, &second); got != n {
			t.Errorf("%d bytes without a first: %d", n, got)
		}
	}
}
