package tokenize

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"encbench/bench/assets/assettest"
)

const (
	cased   = "testdata/bert-cased-wordpiece"
	uncased = "testdata/bert-uncased-wordpiece"
)

func load(tb testing.TB, path string) (Tokenizer, Info) {
	tb.Helper()
	t, info, err := LoadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return t, info
}

// miniLM loads the real tokenizer where its asset is there.
func miniLM(tb testing.TB) (Tokenizer, Info) {
	tb.Helper()
	return load(tb, filepath.Join(assettest.Need(tb, "all-minilm-l6-v2"), "tokenizer.json"))
}

type golden struct {
	Singles []struct {
		Text    string
		IDs     []int32
		Offsets [][2]int
	}
	Pairs []struct {
		A, B    string
		IDs     []int32
		TypeIDs []uint8 `json:"type_ids"`
	}
}

func readGolden(tb testing.TB, path string) golden {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(data, &g); err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
	if len(g.Singles) == 0 {
		tb.Fatalf("%s holds no texts", path)
	}
	return g
}

// checkGolden compares ids, pairs, and the extent of every word with offsets.
func checkGolden(t *testing.T, tok Tokenizer, g golden) {
	t.Helper()
	tmpl := tok.Template()
	for _, s := range g.Singles {
		got := tmpl.AppendSingle(nil, tok.AppendIDs(nil, []byte(s.Text)))
		if !slices.Equal(got, s.IDs) {
			t.Errorf("%q\n got %v\nwant %v", s.Text, got, s.IDs)
		}
		ids, spans := tok.AppendSpans(nil, nil, []byte(s.Text))
		if len(ids) != len(spans) || len(ids)+2 != len(s.IDs) || !slices.Equal(ids, s.IDs[1:len(s.IDs)-1]) {
			t.Errorf("%q: %d spans of ids %v, want %v", s.Text, len(spans), ids, s.IDs)
			continue
		}
		checkOffsets(t, s.Text, spans, s.Offsets[1:len(s.Offsets)-1])
	}
	for _, p := range g.Pairs {
		ids, types := tmpl.AppendPair(nil, nil, tok.AppendIDs(nil, []byte(p.A)), tok.AppendIDs(nil, []byte(p.B)))
		if !slices.Equal(ids, p.IDs) || !slices.Equal(types, p.TypeIDs) {
			t.Errorf("%q, %q\n got %v %v\nwant %v %v", p.A, p.B, ids, types, p.IDs, p.TypeIDs)
		}
	}
}

// checkOffsets checks that spans are those of whole words: offsets, in code
// points, are those of single tokens.
func checkOffsets(t *testing.T, text string, spans []Span, offsets [][2]int) {
	t.Helper()
	var at []int32
	for i := range text {
		at = append(at, int32(i))
	}
	at = append(at, int32(len(text)))
	for i := 0; i < len(spans); {
		j := i
		for j < len(spans) && spans[j] == spans[i] {
			j++
		}
		want := Span{at[offsets[i][0]], at[offsets[j-1][1]]}
		for want.End < spans[i].End {
			// Precompiled of the reference leaves out marks that it composes with what
			// stands before them.
			r, size := utf8.DecodeRuneInString(text[want.End:])
			if normalFlags(r)&isCombining == 0 {
				break
			}
			want.End += int32(size)
		}
		if spans[i] != want {
			t.Errorf("%q: word of ids %d to %d spans %v, want %v", text, i, j, spans[i], want)
		}
		i = j
	}
}

func TestGoldens(t *testing.T) {
	for _, name := range []string{cased, uncased} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			tok, _ := load(t, name+".tokenizer.json")
			checkGolden(t, tok, readGolden(t, name+".golden.json"))
			for _, s := range readGolden(t, name+".hostile.json").Singles {
				if got := tok.AppendIDs(nil, []byte(s.Text)); !slices.Equal(got, s.IDs) {
					t.Errorf("%q\n got %v\nwant %v", s.Text, got, s.IDs)
				}
				if got := (&plain{model: modelOf(tok)}).AppendIDs(nil, []byte(s.Text)); !slices.Equal(got, s.IDs) {
					t.Errorf("plain: %q\n got %v\nwant %v", s.Text, got, s.IDs)
				}
			}
		})
	}
}

func TestMiniLMGoldens(t *testing.T) {
	tok, info := miniLM(t)
	checkGolden(t, tok, readGolden(t, "testdata/all-minilm-l6-v2.json"))
	checkGolden(t, tok, readGolden(t, "testdata/bert-base-uncased.json"))
	want := Info{Kind: "WordPiece", Vocab: 30522, Added: 5, Truncation: 128, Padding: 128, Lowercase: true, StripAccents: true,
		Normalizer: "BertNormalizer", PreTokenizer: "BertPreTokenizer"}
	if info != want {
		t.Errorf("info %+v, want %+v", info, want)
	}
	if got, want := tok.Special(), (Special{CLS: 101, SEP: 102, PAD: 0, UNK: 100, MASK: 103}); got != want {
		t.Errorf("special %+v, want %+v", got, want)
	}
	for _, c := range []struct {
		text string
		want []int32
	}{
		{"\u0130", []int32{1045}},
		{"i", []int32{1045}},
		{"\u1e9b\u0323 \u01c5", []int32{100, 100}},
		{"a\x00\ufeff\u200db", tok.AppendIDs(nil, []byte("ab"))},
		{"[CLS]", []int32{101}},
		{"x[CLS]y", []int32{1060, 101, 1061}},
		{strings.Repeat("w", 101), []int32{100}},
	} {
		if got := tok.AppendIDs(nil, []byte(c.text)); !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, want %v", c.text, got, c.want)
		}
	}
	if got := tok.AppendIDs(nil, []byte(strings.Repeat("w", 100))); len(got) < 2 || slices.Contains(got, 100) {
		t.Errorf("a word of 100 characters gave %v, want its pieces", got)
	}
}

func modelOf(t Tokenizer) *model {
	switch t := t.(type) {
	case *wordPiece:
		return t.model
	case *plain:
		return t.model
	}
	panic("tokenize: unknown Tokenizer")
}

func TestInfo(t *testing.T) {
	tok, info := load(t, uncased+".tokenizer.json")
	want := Info{Kind: "WordPiece", Vocab: tok.VocabSize(), Added: 9, Truncation: 128, Padding: 128, Lowercase: true, StripAccents: true,
		Normalizer: "BertNormalizer", PreTokenizer: "BertPreTokenizer"}
	if info != want {
		t.Errorf("info %+v, want %+v", info, want)
	}
	if got, want := tok.Special(), (Special{CLS: 2, SEP: 3, PAD: 0, UNK: 1, MASK: 4}); got != want {
		t.Errorf("special %+v, want %+v", got, want)
	}
	text := []byte(strings.Repeat("the reader ", 400))
	if n := len(tok.AppendIDs(nil, text)); n < 800 {
		t.Errorf("%d ids for 800 words: the file's truncation was honoured", n)
	}
	tok, info = load(t, cased+".tokenizer.json")
	want = Info{Kind: "WordPiece", Vocab: 3000, Added: 5, Normalizer: "BertNormalizer", PreTokenizer: "BertPreTokenizer"}
	if info != want || tok.VocabSize() != 3000 {
		t.Errorf("info %+v of %d ids, want %+v", info, tok.VocabSize(), want)
	}
}

func TestRepair(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []int // lengths of the pieces
		bad  int
	}{
		{"\xe2\x82", []int{2}, 1},
		{"\xe2\x82a", []int{2, 1}, 1},
		{"\xf0\x9f\x98", []int{3}, 1},
		{"\xf0\x9fa", []int{2, 1}, 1},
		{"\xed\xa0\x80", []int{1, 1, 1}, 3},
		{"\xc0\x80", []int{1, 1}, 2},
		{"\xe0\x80\x80", []int{1, 1, 1}, 3},
		{"\xf0\x8f\xbf\xbf", []int{1, 1, 1, 1}, 4},
		{"\xf4\x90\x80\x80", []int{1, 1, 1, 1}, 4},
		{"\xf4\x8f\xbf", []int{3}, 1},
		{"\xf5\x80", []int{1, 1}, 2},
		{"\xc3\xa9\xc3", []int{2, 1}, 1},
		{"\xef\xbf\xbd", []int{3}, 0},
	} {
		var got []int
		bad := 0
		for s := []byte(c.in); len(s) > 0; {
			r, size, ok := decode(s)
			if !ok {
				bad++
			}
			if !ok && r != utf8.RuneError {
				t.Errorf("% x decodes to %U", s, r)
			}
			got, s = append(got, size), s[size:]
		}
		if !slices.Equal(got, c.want) || bad != c.bad {
			t.Errorf("% x: pieces of %v bytes, %d of them invalid; want %v, %d", c.in, got, bad, c.want, c.bad)
		}
	}
	tok, _ := load(t, uncased+".tokenizer.json")
	got := tok.AppendIDs(nil, []byte("the re\xe2\x82ader\xff \xf0\x9f\x98"))
	if want := tok.AppendIDs(nil, []byte("the reader")); !slices.Equal(got, want) {
		t.Errorf("with invalid bytes %v, without %v", got, want)
	}
	for range 2 { // nothing that needs repair is remembered
		tok.AppendIDs(nil, []byte("re\xffader"))
	}
	if got := tok.Repaired(); got != 5 {
		t.Errorf("%d repaired, want 5", got)
	}
	if c := tok.Clone(); c.Repaired() != 0 {
		t.Errorf("a clone starts with %d repaired", c.Repaired())
	}
	tok.Reset()
	if got := tok.Repaired(); got != 0 {
		t.Errorf("%d repaired after Reset", got)
	}
}

func TestSpans(t *testing.T) {
	tok, _ := load(t, uncased+".tokenizer.json")
	for _, c := range []struct {
		text string
		want []string // source text of each word
	}{
		{"The reader.", []string{"The", "reader", "."}},
		{" \u200dpipe\u200d ", []string{"pipe"}},
		{"\x00re\x00ader\x00", []string{"re\x00ader"}},
		{"e\u0301a\u0301 x", []string{"e\u0301a", "x"}},
		{"\u4e16\u754c", []string{"\u4e16", "\u754c"}},
		{"a  <both>  b", []string{"a", "  <both>  ", "b"}},
		{"\u2260", []string{"\u2260"}},
		{strings.Repeat("a", 101) + " b", []string{strings.Repeat("a", 101), "b"}},
		{strings.Repeat(" ", 4090) + "unaffordable, " + strings.Repeat("z", 70), []string{"unaffordable", ",", strings.Repeat("z", 70)}},
	} {
		ids, spans := tok.AppendSpans([]int32{7}, []Span{{1, 2}}, []byte(c.text))
		if ids[0] != 7 || spans[0] != (Span{1, 2}) || len(ids) != len(spans) {
			t.Fatalf("%q: %v and %v do not begin with what was there", c.text, ids, spans)
		}
		var got []string
		for _, s := range slices.Compact(spans[1:]) {
			got = append(got, c.text[s.Start:s.End])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: words %q, want %q", c.text, got, c.want)
		}
	}
}

// texts exercises every path: hits, both caches, long runs, chunk edges, what is
// not ASCII.
func texts() [][]byte {
	long := strings.Repeat("DescribeReservedInstancesOfferings the unaffordable pipe, x1 ", 200)
	return [][]byte{
		nil, []byte("a"), []byte(long), []byte(long[:4096]), []byte(long[:4097]),
		[]byte(strings.Repeat("caf\u00e9 na\u00efve \u6771\u4eac ", 500)),
		bytes.Repeat([]byte("x"), 9000), bytes.Repeat([]byte("."), 5000),
		[]byte("[CLS] a <left> b <word>\n\tx"),
	}
}

func TestCachesChangeNothing(t *testing.T) {
	for _, name := range []string{cased, uncased} {
		warm, _ := load(t, name+".tokenizer.json")
		cold := warm.Clone()
		for round := range 3 {
			for _, text := range texts() {
				cold.Reset()
				w, c := warm.AppendIDs(nil, text), cold.AppendIDs(nil, text)
				if !slices.Equal(w, c) {
					t.Fatalf("round %d, %.40q: warm and cold caches give different ids", round, text)
				}
			}
		}
		// Runs of NUL have the key of an empty slot.
		var text []byte
		for i := range 3 * shortSets {
			text = fmt.Appendf(text, "\x00 w%d \x00\x00 ", i)
		}
		w, c := warm.AppendIDs(nil, text), (&plain{model: modelOf(warm)}).AppendIDs(nil, text)
		if !slices.Equal(w, c) {
			t.Error("runs of NUL change ids")
		}
		used := slices.Sorted(slices.Values(warm.(*wordPiece).cache.shortUsed))
		if n := len(slices.Compact(used)); n != len(warm.(*wordPiece).cache.shortUsed) {
			t.Errorf("the list of %d used sets names %d", len(warm.(*wordPiece).cache.shortUsed), n)
		}
		fresh := newCache()
		warm.Reset()
		got := warm.(*wordPiece).cache
		for i := range got.short {
			for w := range got.short[i] {
				got.short[i][w].ids = [shortIDs]int32{}
			}
		}
		for i := range got.long {
			got.long[i].ids = [longIDs]int32{}
		}
		if !reflect.DeepEqual(got.short, fresh.short) || !reflect.DeepEqual(got.long, fresh.long) || len(got.shortUsed)+len(got.longUsed) != 0 {
			t.Error("Reset leaves something in the caches")
		}
	}
}

func TestNoAllocations(t *testing.T) {
	tok, _ := load(t, uncased+".tokenizer.json")
	dst, spans := make([]int32, 0, 1<<16), make([]Span, 0, 1<<16)
	for _, text := range texts() {
		tok.AppendIDs(dst, text)
		tok.AppendSpans(dst, spans, text)
		if n := testing.AllocsPerRun(20, func() {
			tok.Reset()
			tok.AppendIDs(dst, text)
			tok.AppendSpans(dst, spans, text)
		}); n != 0 {
			t.Errorf("%.40q: %v allocations", text, n)
		}
	}
}

// Hostile texts take linear time and little memory; a quadratic step would not
// end within the test's time.
func TestHostileTexts(t *testing.T) {
	tok, _ := load(t, uncased+".tokenizer.json")
	const size = 1 << 20
	for _, c := range []struct {
		name, unit string
		want       int // ids
	}{
		{"no space", strings.Repeat("a", 10*size), 1},
		{"no space, not ASCII", "\u0430", 1},
		{"stripped marks", "\u0301", 0},
		{"kept marks in falling order", "\u08d3\u302e", 1},
		{"controls", "\x01", 0},
		{"invalid", "\xff", 0},
		{"brackets", "[", size},
		{"spaces", " ", 0},
	} {
		text := bytes.Repeat([]byte(c.unit), max(1, size/len(c.unit)))
		ids, spans := tok.AppendSpans(nil, nil, text)
		if len(ids) != c.want || len(spans) != c.want || len(tok.AppendIDs(nil, text)) != c.want {
			t.Errorf("%s: %d ids, %d spans, want %d", c.name, len(ids), len(spans), c.want)
		}
	}
	if w := tok.(*wordPiece); cap(w.word) > 4096 || cap(w.marks) > 4096 || cap(w.low) > 4096 {
		t.Errorf("scratch memory of %d, %d and %d elements after a long text", cap(w.word), cap(w.marks), cap(w.low))
	}
}

func TestClone(t *testing.T) {
	tok, _ := load(t, uncased+".tokenizer.json")
	text := []byte("The reader of a pipe: unaffordable caf\u00e9 [CLS]")
	want := tok.AppendIDs(nil, text)
	done := make(chan []int32)
	for range 4 {
		c := tok.Clone()
		go func() {
			var ids []int32
			for range 200 {
				ids = c.AppendIDs(ids[:0], text)
			}
			done <- ids
		}()
	}
	for range 4 {
		if got := <-done; !slices.Equal(got, want) {
			t.Errorf("a clone gives %v, want %v", got, want)
		}
	}
}

func TestTemplate(t *testing.T) {
	tok, _ := load(t, cased+".tokenizer.json")
	tmpl := tok.Template()
	if tmpl.Overhead() != 2 || tmpl.PairOverhead() != 3 {
		t.Errorf("overheads %d and %d, want 2 and 3", tmpl.Overhead(), tmpl.PairOverhead())
	}
	if got, want := tmpl.AppendSingle([]int32{9}, nil), []int32{9, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("empty text gives %v, want %v", got, want)
	}
}
