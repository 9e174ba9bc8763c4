package tokenize

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// The digest of the tables as the reference, tokenizers 0.23.3, gave them.
const wantNormalTables = "4010817076e5b0d4a48a19bfff2b361b1fd843bbdde00dfcfa6a64518914c8ce"

func TestNormalTablesAreThoseOfTheReference(t *testing.T) {
	data, err := os.ReadFile("normal_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	_, body, ok := strings.Cut(string(data), "const normalTablesSHA256 = \""+normalTablesSHA256+"\"\n\n")
	if !ok {
		t.Fatal("normal_gen.go lacks its digest line")
	}
	sum := sha256.Sum256([]byte(body))
	if got := hex.EncodeToString(sum[:]); got != normalTablesSHA256 {
		t.Errorf("the tables have digest %s, the file says %s: run _gen/normal_tables.py", got, normalTablesSHA256)
	}
	if normalTablesSHA256 != wantNormalTables {
		t.Errorf("the tables have digest %s, those of the reference had %s", normalTablesSHA256, wantNormalTables)
	}
}

// The two tables of decompositions must not contradict each other.
func TestNormalFlags(t *testing.T) {
	for r := rune(0); r <= utf8.MaxRune; r++ {
		f, p := normalFlags(r), propertyOf(r)
		hangul := r >= hangulFirst && r < hangulFirst+hangulCount
		decomposes := string(appendDecomposed(nil, r)) != string(r)
		if r >= 0xD800 && r < 0xE000 {
			continue
		}
		if got, want := f&notNFD != 0, p.rank > 0 || decomposes; got != want {
			t.Fatalf("%U: changed by NFD: %v, want %v", r, got, want)
		}
		if got, want := f&notNFKD != 0, p.rank > 0 || string(appendCompatible(nil, r)) != string(r); got != want {
			t.Fatalf("%U: changed by NFKD: %v, want %v", r, got, want)
		}
		if r < utf8.RuneSelf && f&^isBreaking != 0 {
			t.Fatalf("%U has flags %b", r, f)
		}
		if kind := f >> hangulShift; hangul != (kind == hangulOpen || kind == hangulClosed) {
			t.Fatalf("%U is of kind %d", r, kind)
		}
		if decomposes && f&(notNFD|notNFC) == notNFD && !hangul {
			// NFC leaves it: its parts compose to it again.
			s := &normalScratch{}
			for _, r := range appendDecomposed(nil, r) {
				s.marks = append(s.marks, mapped{r: r, rank: propertyOf(r).rank})
			}
			if s.compose(); len(s.marks) != 1 || s.marks[0].r != r {
				t.Fatalf("%U: its parts compose to %v", r, s.marks)
			}
		}
	}
}

type normalizerGolden struct {
	Normalizers []json.RawMessage
	Rows        []struct {
		Text       string
		Normalized []string
	}
}

func readNormalizers(tb testing.TB) (g normalizerGolden, list []*normalizer) {
	tb.Helper()
	data, err := os.ReadFile("testdata/normalizers.json")
	if err != nil {
		tb.Fatal(err)
	}
	base, err := os.ReadFile(xlmr + ".tokenizer.json")
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(filled(data, base), &g); err != nil {
		tb.Fatal(err)
	}
	for i, settings := range g.Normalizers {
		n, err := parseNormalizer(settings)
		if err != nil {
			tb.Fatalf("normalizer %d: %v", i, err)
		}
		list = append(list, &n)
	}
	return g, list
}

func TestNormalizerGoldens(t *testing.T) {
	g, list := readNormalizers(t)
	if len(g.Rows) < 100 {
		t.Fatalf("%d texts", len(g.Rows))
	}
	for _, row := range g.Rows {
		for i, n := range list {
			if got := n.string(row.Text); got != row.Normalized[i] {
				t.Errorf("%.120s of %+q:\n got %+q\nwant %+q", g.Normalizers[i], row.Text, got, row.Normalized[i])
			}
		}
	}
}

// checkNormalizer compares the text and the source of every character with those of
// the plain twin.
func checkNormalizer(t *testing.T, n *normalizer, s *normalScratch, text []byte) {
	t.Helper()
	twin := plain{}
	want := n.plain(twin.chars(text))
	before := s.repaired
	got := n.run(s, text, true)
	if s.repaired-before != twin.repaired {
		t.Fatalf("%q: %d repaired, want %d", text, s.repaired-before, twin.repaired)
	}
	at, look := 0, 0
	for _, c := range want {
		r, size := utf8.DecodeRune(got.text[at:])
		if r != c.r || size == 0 {
			t.Fatalf("%q: got %q, from byte %d on, want %q next", text, got.text, at, c.r)
		}
		var span Span
		if span, look = got.extent(at, at+size, look); span != (Span{int32(c.start), int32(c.end)}) {
			t.Fatalf("%q: %q at byte %d of %q is from %v, want %d to %d\n%v", text, c.r, at, got.text, span, c.start, c.end, got.edits)
		}
		at += size
	}
	if at != len(got.text) {
		t.Fatalf("%q: got %q, want %d bytes", text, got.text, at)
	}
	if string(n.run(s, text, false).text) != string(got.text) {
		t.Fatalf("%q: other text without edits", text)
	}
}

var normalSeeds = []string{
	"", "a", " a  b ", "caf\u00e9 e\u0301\u0323\u0302 \u1e9b\u0323", "\u1100\u1161\u11a8\uac00\u11a8 \u1161", "\u212b\ufb01\ufdfa\u00bd", "\u0600a \u06dd",
	"\u0928\u094d\u091c\u0301 \u0915\u094d\u0958\u0301", "\u00a9\u200d\u00a9\u0301 \U0001F468\u200d\U0001F469", "\r\n\r \t\v\f\u0085\u3000", "``a''ab",
	"\u0344\u0340\u0341x\u0338 <\u0338", "\xe2\x82 \xf0\x9f\x98a\xff", "\x00a\x00", strings.Repeat("\u0301\u0323", 40), "A\u0302\u0300 a\u0302\u0301", "\u2581a",
}

// randomNormal draws from what the normalisers treat specially.
func randomNormal(r *rand.Rand) []byte {
	var b []byte
	for range 1 + r.IntN(10) {
		switch r.IntN(9) {
		case 0:
			b = append(b, normalSeeds[r.IntN(len(normalSeeds))]...)
		case 1:
			b = utf8.AppendRune(b, rune(r.IntN(0x110000)))
		case 2:
			b = append(b, byte(r.IntN(256)))
		case 3:
			for range r.IntN(5) {
				b = utf8.AppendRune(b, rune(0x300+r.IntN(0x70)))
			}
		case 4:
			b = utf8.AppendRune(b, rune(0x1100+r.IntN(0x100)))
		case 5:
			b = utf8.AppendRune(b, []rune{0x915, 0x94D, 0x200D, 0xA9, 0x600, 0xAC00, 0x301, 0x1F3FD, 0x903}[r.IntN(9)])
		default:
			b = append(b, "aeo AE` ' ab\u00e9\u3000"[r.IntN(16):]...)
			b = b[:max(0, len(b)-r.IntN(8))]
		}
	}
	return b
}

func FuzzNormalizer(f *testing.F) {
	_, list := readNormalizers(f)
	for i, s := range normalSeeds {
		f.Add([]byte(s), uint8(i), uint8(3*i))
	}
	s := new(normalScratch)
	f.Fuzz(func(t *testing.T, text []byte, a, b uint8) {
		both := normalizer{steps: slices.Concat(list[int(a)%len(list)].steps, list[int(b)%len(list)].steps)}
		checkNormalizer(t, &both, s, text)
	})
}

func TestNormalizersAgainstPlain(t *testing.T) {
	_, list := readNormalizers(t)
	r, s := rand.New(rand.NewPCG(21, 23)), new(normalScratch)
	for i, n := range list {
		for _, text := range normalSeeds {
			checkNormalizer(t, n, s, []byte(text))
		}
		for range 60 {
			other := list[r.IntN(len(list))]
			both := normalizer{steps: slices.Concat(n.steps, other.steps)}
			checkNormalizer(t, &both, s, randomNormal(r))
		}
		text := []byte(strings.Repeat("The quick fox. ", 300))
		if got := n.run(s, text, false); len(got.text) == len(text) && i < 4 && &got.text[0] != &text[0] {
			t.Errorf("normalizer %d copies a text that it leaves as it is", i)
		}
	}
}

// Text that is normal already is not copied, and nothing is allocated in any case.
func TestNormalizersDoNotAllocate(t *testing.T) {
	_, list := readNormalizers(t)
	s := new(normalScratch)
	for i, n := range list {
		for _, text := range normalSeeds {
			text := []byte(strings.Repeat(text+" ", 20))
			n.run(s, text, true)
			if got := testing.AllocsPerRun(5, func() { n.run(s, text, true); n.run(s, text, false) }); got != 0 {
				t.Errorf("normalizer %d of %.40q: %v allocations", i, text, got)
			}
		}
	}
}

func TestHostileMarks(t *testing.T) {
	n := normalizer{steps: []step{&formStep{changed: notNFC, compose: true}}}
	s := new(normalScratch)
	text := bytes.Repeat([]byte("\u0301\u0323\u0327"), 1<<20)
	got := n.run(s, text, false)
	if len(got.text) != len(text) || string(got.text[:4]) != "\u0327\u0327" || !bytes.HasSuffix(got.text, []byte("\u0301\u0301")) {
		t.Errorf("%d bytes that begin with %+q, want %d in canonical order", len(got.text), got.text[:8], len(text))
	}
	if s.release(); cap(s.a.text)+cap(s.marks) > 0 {
		t.Error("scratch memory outlives the text")
	}
}

func TestLoadRefusesNormalizers(t *testing.T) {
	for _, c := range []struct {
		name, settings, want string
		unsupported          bool
	}{
		{"type", `{"type": "Punycode"}`, `normalizer type "Punycode" is not supported; supported: BertNormalizer, ByteLevel, Lowercase, NFC, NFD, NFKC, NFKD, Nmt, Precompiled, Prepend, Replace, Sequence, Strip, StripAccents, or none`, true},
		{"no type", `{}`, `it has no type`, false},
		{"option", `{"type": "NFC", "form": 1}`, `unknown field "form"; known are type`, false},
		{"bert", `{"type": "BertNormalizer", "clean_text": true}`, `BertNormalizer has no handle_chinese_chars`, false},
		{"sequence", `{"type": "Sequence"}`, `Sequence has no normalizers`, false},
		{"in sequence", `{"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "x"}]}`, `normalizer 1 of the sequence: normalizer type "x" is not supported; supported: …`, true},
		{"null in sequence", `{"type": "Sequence", "normalizers": [null]}`, `normalizer 0 of the sequence is null`, false},
		{"strip", `{"type": "Strip", "strip_left": true}`, `Strip has no strip_left or no strip_right`, false},
		{"prepend", `{"type": "Prepend"}`, `Prepend has no prepend`, false},
		{"prepend nothing", `{"type": "Prepend", "prepend": ""}`, `empty prepend of Prepend is not supported`, true},
		{"replace", `{"type": "Replace", "pattern": {"String": "a"}}`, `Replace has no content`, false},
		{"replace nothing", `{"type": "Replace", "pattern": {}, "content": ""}`, `pattern of Replace must be a String or a Regex`, false},
		{"replace both", `{"type": "Replace", "pattern": {"String": "a", "Regex": "a"}, "content": ""}`, `pattern of Replace must be a String or a Regex`, false},
		{"replace empty", `{"type": "Replace", "pattern": {"String": ""}, "content": "x"}`, `empty pattern of Replace is not supported`, true},
		{"replace by regex", `{"type": "Replace", "pattern": {"Regex": "a+\\d"}, "content": "x"}`, `regular expression "a+\\d" of Replace is not supported; supported: " {2,}", "\\s+", and those without special characters`, true},
		{"no charsmap", `{"type": "Precompiled"}`, `Precompiled has no precompiled_charsmap`, false},
		{"null charsmap", `{"type": "Precompiled", "precompiled_charsmap": null}`, `Precompiled has no precompiled_charsmap`, false},
		{"base64", `{"type": "Precompiled", "precompiled_charsmap": "?"}`, `precompiled_charsmap is not base64: illegal base64 data at input byte 0`, false},
		{"short charsmap", `{"type": "Precompiled", "precompiled_charsmap": "AAA="}`, `precompiled_charsmap has 2 bytes, expected the size of its trie in 4`, false},
		{"empty charsmap", `{"type": "Precompiled", "precompiled_charsmap": ""}`, `precompiled_charsmap has 0 bytes, expected the size of its trie in 4`, false},
		{"charsmap cut off", `{"type": "Precompiled", "precompiled_charsmap": "AAQAAAAAAAA="}`, `precompiled_charsmap ends early: a trie of 1024 bytes is announced, 4 follow`, false},
		{"empty trie", `{"type": "Precompiled", "precompiled_charsmap": "AAAAAAAAAAA="}`, `precompiled_charsmap has an empty trie`, false},
		{"small trie", `{"type": "Precompiled", "precompiled_charsmap": "BAAAAAAAAAA="}`, `precompiled_charsmap points to unit 255 of a trie of 1 units`, false},
		{"images", `{"type": "Precompiled", "precompiled_charsmap": "BAAAAAAAAAD/"}`, `precompiled_charsmap has replacements that are not UTF-8`, false},
		{"huge charsmap", `{"type": "Precompiled", "precompiled_charsmap": "` + strings.Repeat("A", maxCharsmap+1) + `"}`, `precompiled_charsmap of 16777217 characters is not supported; supported: up to 16777216`, true},
	} {
		_, err := parseNormalizer([]byte(c.settings))
		checkRefusal(t, c.name, err, c.want, c.unsupported)
	}
	// And the place is named.
	text := strings.Replace(smallUnigram, `"normalizer": null`, `"normalizer": {"type": "Strip"}`, 1)
	_, _, err := Load(strings.NewReader(text))
	checkRefusal(t, "place", err, "tokenizer.json: normalizer: Strip has no strip_left or no strip_right", false)
}

// checkRefusal compares an error with its text; of a text that ends in … only the
// beginning counts.
func checkRefusal(t *testing.T, name string, err error, want string, unsupported bool) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", name)
		return
	}
	want, prefix := strings.CutSuffix(want, "…")
	if got := err.Error(); got != want && !(prefix && strings.HasPrefix(got, want)) {
		t.Errorf("%s:\n got %s\nwant %s", name, got, want)
	}
	if errors.Is(err, ErrUnsupported) != unsupported {
		t.Errorf("%s: %v wraps ErrUnsupported: %v, want %v", name, err, !unsupported, unsupported)
	}
}
