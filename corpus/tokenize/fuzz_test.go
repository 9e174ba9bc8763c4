package tokenize

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// variants gives tokenizers over the committed vocabularies and over one of
// single characters, where ids show every step of normalisation, with all
// settings of the normaliser.
func variants(tb testing.TB) []*wordPiece {
	tb.Helper()
	var list []*wordPiece
	for _, name := range []string{cased, uncased} {
		data, err := os.ReadFile(name + ".tokenizer.json")
		if err != nil {
			tb.Fatal(err)
		}
		for i, text := range []string{string(data), withVocab(tb, data, characters())} {
			for _, flags := range []string{
				`"clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true`,
				`"clean_text":true,"handle_chinese_chars":false,"strip_accents":true,"lowercase":false`,
				`"clean_text":false,"handle_chinese_chars":true,"strip_accents":false,"lowercase":true`,
				`"clean_text":false,"handle_chinese_chars":false,"strip_accents":true,"lowercase":true`,
			} {
				// The normalizer is replaced whole.
				var f map[string]json.RawMessage
				if err := json.Unmarshal([]byte(text), &f); err != nil {
					tb.Fatal(err)
				}
				f["normalizer"] = json.RawMessage(`{"type":"BertNormalizer",` + flags + `}`)
				out, err := json.Marshal(f)
				if err != nil {
					tb.Fatal(err)
				}
				if i == 1 {
					out = bytes.Replace(out, []byte(`"max_input_chars_per_word":100`), []byte(`"max_input_chars_per_word":9`), 1)
				}
				t, _, err := Load(bytes.NewReader(out))
				if err != nil {
					tb.Fatal(err)
				}
				list = append(list, t.(*wordPiece))
			}
		}
	}
	return list
}

// withVocab gives a tokenizer.json whose vocabulary is tokens behind the
// special ones.
func withVocab(tb testing.TB, data []byte, tokens []string) string {
	tb.Helper()
	var f map[string]any
	if err := json.Unmarshal(data, &f); err != nil {
		tb.Fatal(err)
	}
	vocab := map[string]int{"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}
	for _, s := range tokens {
		if _, ok := vocab[s]; !ok {
			vocab[s] = len(vocab)
		}
	}
	f["model"].(map[string]any)["vocab"] = vocab
	f["added_tokens"] = f["added_tokens"].([]any)[:5]
	out, err := json.Marshal(f)
	if err != nil {
		tb.Fatal(err)
	}
	return string(out)
}

func characters() []string {
	var list []string
	for _, r := range [][2]rune{{'!', 0x800}, {0x900, 0x980}, {0xE00, 0xE80}, {0x1100, 0x1200}, {0x1AB0, 0x1B00}, {0x1DC0, 0x2100},
		{0x3041, 0x3100}, {0x4E00, 0x4E40}, {0x1D165, 0x1D180}, {0x1E000, 0x1E030}} {
		for c := r[0]; c < r[1]; c++ {
			list = append(list, string(c), "##"+string(c))
		}
	}
	return append(list, "the", "##ing", "abc", "##bc", "##bcd", "\u0301x", "a\u0301")
}

var fuzzSeeds = []string{
	"", "a", "The reader of a PIPE.", "caf\u00e9 e\u0301\u0323 \u1e9b\u0323 \u01c5 \u0130", "[CLS] a[SEP]b [[MASK]] <left> x<word> <both>\t<right> ",
	"\x00\x01\v\f\x7f\u0085a\x00b\u200d\ufeff", "\u6771\u4eac \U0002F800\uf900", "\ud55c\uad6d \u1100\u1161\u11a8", "\xe2\x82 \xf0\x9f\x98a\xff\xc0\x80",
	"\u2260\u226e\u1fef\u037e\u2000\u2028\u3000", "a\u0327\u0301\u08d3\u302e\u0345\u05b0\U0001D165\U0001E000",
	strings.Repeat("a", 101), strings.Repeat("ab ", 1500), strings.Repeat("\u0301", 300), strings.Repeat(".", 4200), strings.Repeat("x", 4200) + " y",
}

// checkAgainstPlain compares ids, spans and repairs of t with those of the plain
// twin.
func checkAgainstPlain(t *testing.T, w *wordPiece, text []byte) {
	t.Helper()
	p := &plain{model: w.model}
	wantIDs, wantSpans := p.AppendSpans(nil, nil, text)
	before := w.Repaired()
	for range 2 { // the second time from the caches
		if got := w.AppendIDs(nil, text); !slices.Equal(got, wantIDs) {
			t.Fatalf("%q\n got %v\nwant %v", text, got, wantIDs)
		}
	}
	if got := w.Repaired() - before; got != 2*p.repaired {
		t.Fatalf("%q: %d repaired in two rounds, want %d a round", text, got, p.repaired)
	}
	ids, spans := w.AppendSpans(nil, nil, text)
	if !slices.Equal(ids, wantIDs) || !slices.Equal(spans, wantSpans) {
		t.Fatalf("%q\n got %v %v\nwant %v %v", text, ids, spans, wantIDs, wantSpans)
	}
	for i, s := range spans {
		if s.Start < 0 || s.End <= s.Start || int(s.End) > len(text) || ids[i] < 0 || int(ids[i]) >= w.size {
			t.Fatalf("%q: id %d spans %v of %d bytes", text, ids[i], s, len(text))
		}
	}
}

func FuzzAppend(f *testing.F) {
	list := variants(f)
	for i, s := range fuzzSeeds {
		f.Add([]byte(s), uint8(i))
	}
	f.Fuzz(func(t *testing.T, text []byte, which uint8) {
		checkAgainstPlain(t, list[int(which)%len(list)], text)
	})
}

// randomText draws from what has been trouble: marks, controls, case, white
// space, added tokens, invalid bytes, long runs.
func randomText(r *rand.Rand) []byte {
	var b []byte
	for range 1 + r.IntN(12) {
		switch r.IntN(10) {
		case 0:
			b = append(b, fuzzSeeds[r.IntN(11)]...)
		case 1:
			b = append(b, byte(r.IntN(256)))
		case 2:
			b = utf8.AppendRune(b, rune(r.IntN(0x110000)))
		case 3:
			for range r.IntN(6) {
				b = utf8.AppendRune(b, rune(0x300+r.IntN(0x70)))
			}
		case 4:
			b = utf8.AppendRune(b, rune(r.IntN(0x2100)))
		case 5:
			b = append(b, strings.Repeat(string(rune('a'+r.IntN(26))), r.IntN(70))...)
		case 6:
			b = append(b, []string{" ", "\n", "\t ", "\r\n", "  ", "."}[r.IntN(6)]...)
		default:
			for range r.IntN(20) {
				b = append(b, "abcdeTHINGxyz0189"[r.IntN(17)])
			}
			b = append(b, ' ')
		}
	}
	return b
}

func TestAgainstPlain(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for i, w := range variants(t) {
		for _, s := range fuzzSeeds {
			checkAgainstPlain(t, w, []byte(s))
		}
		for range 200 {
			checkAgainstPlain(t, w, randomText(r))
		}
		if i%4 == 0 {
			// Every item meets every edge of a block and of the chunk.
			var long []byte
			for len(long) < chunkBlocks*blockSize+200 {
				long = append(long, randomText(r)...)
			}
			for cut := range blockSize + 1 {
				checkAgainstPlain(t, w, long[cut:])
			}
		}
	}
}

// classesOf is what classify computes, a byte at a time.
func classesOf(s []byte, carry bool) (starts, stops []bool) {
	for _, c := range s {
		space, punct := isSpaceByte(c), isPunctByte(c)
		run := !space && !punct
		inside := run && carry
		starts = append(starts, !space && !inside)
		stops = append(stops, !inside)
		carry = run
	}
	return starts, stops
}

func FuzzClassify(f *testing.F) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	f.Add(all, true, true)
	f.Add([]byte(strings.Repeat("Ab. \t\xc3\x80[Z]@`{", 40)), false, true)
	f.Add(bytes.Repeat([]byte{'x'}, 64), true, false)
	f.Fuzz(func(t *testing.T, s []byte, inside, lower bool) {
		for len(s)%blockSize != 0 || len(s) == 0 {
			s = append(s, ' ')
		}
		s = s[:min(len(s), chunkBlocks*blockSize)]
		carry, fold := uint64(0), uint64(0)
		if inside {
			carry = 1
		}
		want := s
		if lower {
			fold = highs
			want = nil
			for _, c := range s {
				if c >= 'A' && c <= 'Z' {
					c += 'a' - 'A'
				}
				want = append(want, c)
			}
		}
		starts, stops := classesOf(s, inside)
		for name, do := range map[string]func(*chunk, []byte, uint64, uint64) uint64{"generic": classifyGeneric, "dispatched": classifyBlocks} {
			c := new(chunk)
			for i := range c.low {
				c.low[i] = 0xA5
			}
			last := do(c, s, carry, fold)
			if !bytes.Equal(c.low[:len(s)], want) {
				t.Fatalf("%s: lower case %q, want %q", name, c.low[:len(s)], want)
			}
			for _, b := range c.low[len(s):] {
				if b != 0xA5 {
					t.Fatalf("%s writes beyond %d bytes", name, len(s))
				}
			}
			for i := range s {
				if got := c.starts[i/64]>>(i%64)&1 == 1; got != starts[i] {
					t.Fatalf("%s: byte %d of %q starts an item: %v, want %v", name, i, s, got, starts[i])
				}
				if got := c.stops[i/64]>>(i%64)&1 == 1; got != stops[i] {
					t.Fatalf("%s: byte %d of %q stops an item: %v, want %v", name, i, s, got, stops[i])
				}
			}
			if end := s[len(s)-1]; (last == 1) != (!isSpaceByte(end) && !isPunctByte(end)) {
				t.Fatalf("%s: carry %d after %q", name, last, end)
			}
		}
		n := 0
		for n < len(s) && !isSpaceByte(s[n]) && !isPunctByte(s[n]) {
			n++
		}
		if got := runLength(s); got != n {
			t.Fatalf("run of %d bytes in %q, want %d", got, s, n)
		}
		for _, c := range s {
			plain := c > ' ' && c < 0x7F
			if got := plainASCII([]byte{c}); got != (plain || c == ' ') {
				t.Fatalf("plainASCII of %q is %v", c, got)
			}
		}
	})
}

func isSpaceByte(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func isPunctByte(c byte) bool {
	return c >= '!' && c <= '~' && !(c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z')
}

// The walk in assembly against the one in Go, over the same caches.
func TestWalkTwins(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, w := range variants(t) {
		twin := w.Clone().(*wordPiece)
		for range 200 {
			var text []byte
			for len(text) < blockSize {
				text = append(text, randomText(r)...)
			}
			blocks := min(len(text)/blockSize, chunkBlocks)
			w.keep, twin.keep = false, false
			w.chunk.classify(text, blocks, 0, w.fold)
			twin.chunk.classify(text, blocks, 0, w.fold)
			got, want := w.walkIDs(nil, text, blocks, w), twin.walkGeneric(nil, text, blocks, twin)
			if !slices.Equal(got, want) {
				t.Fatalf("%q\n got %v\nwant %v", text, got, want)
			}
		}
	}
}

func TestTrieAgainstMap(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 9))
	for range 40 {
		alphabet := []string{"a", "b", "\x00", "\u00e9", "\U0001F680", "#"}[:2+r.IntN(5)]
		word := func(n int) string {
			var s string
			for range 1 + r.IntN(n) {
				s += alphabet[r.IntN(len(alphabet))]
			}
			return s
		}
		m := &model{core: core{vocab: map[string]int32{}}, prefix: "##", maxChars: 100}
		for range r.IntN(400) {
			m.vocab[word(6)] = int32(len(m.vocab)) + 1
			m.vocab["##"+word(4)] = int32(len(m.vocab)) + 1
		}
		tr, err := newTrie(m.vocab, m.prefix)
		if err != nil {
			t.Fatal(err)
		}
		for range 500 {
			s := word(14)
			var chars []char
			for _, c := range s {
				chars = append(chars, char{r: c})
			}
			if got, want := tr.appendPieces(nil, []byte(s), 0), (&plain{model: m}).appendWord(nil, chars); !slices.Equal(got, want) {
				t.Fatalf("%q of %v: %v, want %v", s, m.vocab, got, want)
			}
		}
	}
}
