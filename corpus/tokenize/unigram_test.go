package tokenize

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

const xlmr = "testdata/xlmr-like-unigram"

// smallUnigram is a tokenizer.json to spoil.
const smallUnigram = `{
	"version": "1.0", "truncation": null, "padding": null,
	"added_tokens": [{"id": 0, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
	"normalizer": null,
	"pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": true},
	"post_processor": null, "decoder": null,
	"model": {"type": "Unigram", "unk_id": 1, "vocab": [["<s>", 0.0], ["<unk>", 0.0], ["\u2581", -2.0], ["a", -1.5], ["\u2581a", -1.0], ["b", -3]], "byte_fallback": false}
}`

func TestUnigramGoldens(t *testing.T) {
	tok, info := load(t, xlmr+".tokenizer.json")
	checkGolden(t, tok, readGolden(t, xlmr+".golden.json"))
	if want := (Info{Kind: "Unigram", Vocab: 3002, Added: 5, Normalizer: info.Normalizer, PreTokenizer: info.PreTokenizer}); info != want {
		t.Errorf("info %+v, want %+v", info, want)
	}
	if got, want := tok.Special(), (Special{CLS: 0, SEP: 2, PAD: 1, UNK: 3, MASK: 3001}); got != want || tok.VocabSize() != 3002 {
		t.Errorf("special %+v of %d ids, want %+v", got, tok.VocabSize(), want)
	}
}

// pipelines gives the tokenizers of testdata/unigram.json by name, and its texts. The
// tokenizers are clones.
func pipelines(tb testing.TB) (names []string, list []*unigram, rows []goldenRow) {
	tb.Helper()
	names, shared, rows, err := loadPipelines()
	if err != nil {
		tb.Fatal(err)
	}
	for _, u := range shared {
		list = append(list, newUnigram(u.unigramModel))
	}
	return names, list, rows
}

var loadPipelines = onceValues(func() (names []string, list []*unigram, rows []goldenRow, err error) {
	data, err := os.ReadFile("testdata/unigram.json")
	if err != nil {
		return nil, nil, nil, err
	}
	base, err := os.ReadFile(xlmr + ".tokenizer.json")
	if err != nil {
		return nil, nil, nil, err
	}
	var g struct {
		Pipelines []struct {
			Name     string
			Settings map[string]json.RawMessage
		}
		Rows []goldenRow
	}
	if err := json.Unmarshal(filled(data, base), &g); err != nil {
		return nil, nil, nil, err
	}
	for _, p := range g.Pipelines {
		tok, err := loadWith(base, p.Settings)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		names, list = append(names, p.Name), append(list, tok.(*unigram))
	}
	return names, list, g.Rows, nil
})

// loadWith loads the tokenizer.json base with other sections, and without a
// post-processor.
func loadWith(base []byte, sections map[string]json.RawMessage) (Tokenizer, error) {
	var f map[string]json.RawMessage
	if err := json.Unmarshal(base, &f); err != nil {
		return nil, err
	}
	maps.Copy(f, sections)
	f["post_processor"] = json.RawMessage("null")
	text, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	tok, _, err := Load(bytes.NewReader(text))
	return tok, err
}

// filled puts the charsmap of the tokenizer.json base in the place of its sign.
func filled(settings, base []byte) []byte {
	const name = `"precompiled_charsmap":"`
	_, rest, _ := bytes.Cut(bytes.Replace(base, []byte(`": "`), []byte(`":"`), 100), []byte(name))
	text, _, _ := bytes.Cut(rest, []byte(`"`))
	return bytes.ReplaceAll(settings, []byte(name+"@"), append([]byte(name), text...))
}

// onceValues is sync.OnceValues of four.
func onceValues[A, B, C any](f func() (A, B, C, error)) func() (A, B, C, error) {
	var once sync.Once
	var a A
	var b B
	var c C
	var err error
	return func() (A, B, C, error) {
		once.Do(func() { a, b, c, err = f() })
		return a, b, c, err
	}
}

type goldenRow struct {
	Text string
	IDs  [][]int32
}

func TestUnigramPipelines(t *testing.T) {
	names, list, rows := pipelines(t)
	if len(rows) < 100 {
		t.Fatalf("%d texts", len(rows))
	}
	// These are cut at white space; a change that loses it makes them slow.
	for _, name := range []string{"xlm-r", "t5", "sentencepiece", "first", "never", "albert", "deberta", "stripped", "nmt", "late tokens", "bytes"} {
		if i := slices.Index(names, name); !list[i].runs.on {
			t.Errorf("%s does not work by runs", name)
		}
	}
	for _, row := range rows {
		for i, u := range list {
			for range 2 { // the second time from the caches
				if got := u.AppendIDs(nil, []byte(row.Text)); !slices.Equal(got, row.IDs[i]) {
					t.Errorf("%s: %+q\n got %v\nwant %v", names[i], row.Text, got, row.IDs[i])
				}
			}
			if got, _ := (&plainUnigram{unigramModel: u.unigramModel}).AppendSpans(nil, nil, []byte(row.Text)); !slices.Equal(got, row.IDs[i]) {
				t.Errorf("plain %s: %+q\n got %v\nwant %v", names[i], row.Text, got, row.IDs[i])
			}
		}
	}
}

// checkUnigram compares ids, spans and repairs of u with those of the plain twin.
func checkUnigram(t *testing.T, name string, u *unigram, text []byte) {
	t.Helper()
	p := &plainUnigram{unigramModel: u.unigramModel}
	wantIDs, wantSpans := p.AppendSpans(nil, nil, text)
	before := u.Repaired()
	for range 2 {
		if got := u.AppendIDs(nil, text); !slices.Equal(got, wantIDs) {
			t.Fatalf("%s: %q\n got %v\nwant %v", name, text, got, wantIDs)
		}
	}
	if got := u.Repaired() - before; got != 2*p.repaired {
		t.Fatalf("%s: %q: %d repaired in two rounds, want %d a round", name, text, got, p.repaired)
	}
	ids, spans := u.AppendSpans(nil, nil, text)
	if !slices.Equal(ids, wantIDs) || !slices.Equal(spans, wantSpans) {
		t.Fatalf("%s: %q\n got %v %v\nwant %v %v", name, text, ids, spans, wantIDs, wantSpans)
	}
	for i, s := range spans {
		if s.Start < 0 || s.End <= s.Start || int(s.End) > len(text) || ids[i] < 0 || int(ids[i]) >= u.size {
			t.Fatalf("%s: %q: id %d spans %v of %d bytes", name, text, ids[i], s, len(text))
		}
	}
}

func FuzzUnigram(f *testing.F) {
	names, list, _ := pipelines(f)
	for i, s := range slices.Concat(normalSeeds, fuzzSeeds, []string{"   \u0344\u200dx", " \u0340\u0341 a\u0340\n\u0340\u0341 ", "  e\U0001f3fd "}) {
		f.Add([]byte(s), uint8(i))
	}
	f.Fuzz(func(t *testing.T, text []byte, which uint8) {
		i := int(which) % len(list)
		checkUnigram(t, names[i], list[i], text)
	})
}

// randomUnigram draws words, white space and what the normalisers treat specially.
func randomUnigram(r *rand.Rand, parts int) []byte {
	var b []byte
	pick := func(from string, most int) {
		runes := []rune(from)
		for range r.IntN(most) {
			b = utf8.AppendRune(b, runes[r.IntN(len(runes))])
		}
	}
	for range parts {
		switch r.IntN(9) {
		case 8: // what could be in one cluster with the white space before it
			const joining = "\u0344\u0340\u0341\u200d\u200c\u0301\u0903\ufe0f\U0001f3fd\u20e3"
			pick(" \n\t\r", 4)
			pick(joining, 4)
			pick("ae\u0600\u00e9\u00ad\u200b\x01\u0085\u3000\u00a0\ufdfa\u2581\u1100\u1161\u0915\u00a9x.", 4)
			pick(joining, 3)
		case 0:
			b = append(b, randomNormal(r)...)
		case 1:
			b = append(b, randomText(r)...)
		case 2:
			b = append(b, []string{"<s>", " <mask>", "<mask>", "Caf\u00e9", "wordy", "[X]", "\u2581", "\u2581\u2581a", "\u0301b", "\u0340\u0341"}[r.IntN(10)]...)
		case 3:
			b = append(b, []string{"  ", "\n", "\r\n", "\t", "\u3000", " \u00a0", "\v", "   "}[r.IntN(8)]...)
		default:
			for range 1 + r.IntN(12) {
				b = append(b, "abcdenorxX."[r.IntN(11)])
			}
			b = append(b, ' ')
		}
	}
	return b
}

func TestUnigramAgainstPlain(t *testing.T) {
	names, list, _ := pipelines(t)
	r := rand.New(rand.NewPCG(31, 37))
	for i, u := range list {
		for _, s := range slices.Concat(normalSeeds, fuzzSeeds[:12]) {
			checkUnigram(t, names[i], u, []byte(s))
		}
		for range 120 {
			checkUnigram(t, names[i], u, randomUnigram(r, 1+r.IntN(12)))
		}
		if i%5 == 0 {
			// Every run meets every edge of a block and of the chunk.
			var long []byte
			for len(long) < chunkBlocks*blockSize+200 {
				long = append(long, randomUnigram(r, 4)...)
			}
			for cut := 0; cut < blockSize; cut += 7 {
				checkUnigram(t, names[i], u, long[cut:])
			}
		}
	}
}

// What lies between the borders of words gives their ids when it is tokenized alone:
// bench.Select relies on it.
func TestUnigramPiecesAlone(t *testing.T) {
	names, list, _ := pipelines(t)
	r := rand.New(rand.NewPCG(41, 43))
	for i, u := range list {
		switch names[i] {
		case "first", "unsplit", "nothing", "whole", "odd":
			continue // there a word depends on where it stands
		}
		checked := 0
		for range 200 {
			text := []byte(strings.ToValidUTF8(string(randomUnigram(r, 1+r.IntN(8))), "?"))
			if bytes.ContainsFunc(text, func(r rune) bool { return normalFlags(r)&isJoining != 0 }) {
				continue // which may be in one cluster with a space, and alone is not
			}
			text = bytes.ReplaceAll(text, []byte("\u2581"), []byte("_"))
			ids, spans := u.AppendSpans(nil, nil, text)
			if len(ids) == 0 {
				continue
			}
			from := r.IntN(len(ids))
			to := from + 1 + r.IntN(len(ids)-from)
			for from > 0 && spans[from-1] == spans[from] {
				from--
			}
			for to < len(ids) && spans[to] == spans[to-1] {
				to++
			}
			if overlaps(spans, from, to) {
				continue // words of one character
			}
			checked++
			piece := text[spans[from].Start:spans[to-1].End]
			if got := u.AppendIDs(nil, piece); !slices.Equal(got, ids[from:to]) {
				t.Errorf("%s: %q of %q\n got %v\nwant %v", names[i], piece, text, got, ids[from:to])
			}
		}
		if checked < 10 {
			t.Errorf("%s: only %d texts", names[i], checked)
		}
	}
}

// overlaps says whether the words of spans from from to to share bytes with others, or
// do not follow each other.
func overlaps(spans []Span, from, to int) bool {
	for i := 1; i < len(spans); i++ {
		if spans[i] != spans[i-1] && spans[i].Start < spans[i-1].End && i >= from && i <= to {
			return true
		}
	}
	return false
}

func FuzzClassifySpaces(f *testing.F) {
	f.Add([]byte(strings.Repeat("Ab. \t\xc3\x80\r\n \x00", 40)), true, uint8(15))
	f.Add(bytes.Repeat([]byte{'x'}, 64), true, uint8(0))
	f.Fuzz(func(t *testing.T, s []byte, inside bool, which uint8) {
		for len(s)%blockSize != 0 || len(s) == 0 {
			s = append(s, ' ')
		}
		s = s[:min(len(s), chunkBlocks*blockSize)]
		set, carry := [4]byte{' ', ' ', ' ', ' '}, uint64(0)
		for i, c := range []byte("\n\r\t") {
			if which>>i&1 != 0 {
				set[1+i] = c
			}
		}
		if inside {
			carry = 1
		}
		for name, do := range map[string]func(*chunk, []byte, uint64, [4]byte) uint64{"generic": classifySpacesGeneric, "dispatched": classifySpaces} {
			c := new(chunk)
			for i := range c.low {
				c.low[i] = 0xA5
			}
			last := do(c, s, carry, set)
			if !bytes.Equal(c.low[:len(s)], s) || bytes.ContainsFunc(c.low[len(s):], func(r rune) bool { return r != 0xFFFD }) {
				t.Fatalf("%s: the text is not copied, or more is", name)
			}
			run := inside
			for i, b := range s {
				space := bytes.IndexByte(set[:], b) >= 0
				if got, want := c.starts[i/64]>>(i%64)&1 == 1, !space && !run; got != want {
					t.Fatalf("%s: byte %d of %q starts a run: %v, want %v", name, i, s, got, want)
				}
				if got, want := c.stops[i/64]>>(i%64)&1 == 1, space || !run; got != want {
					t.Fatalf("%s: byte %d of %q stops a run: %v, want %v", name, i, s, got, want)
				}
				run = !space
			}
			if (last == 1) != run {
				t.Fatalf("%s: carry %d after %q", name, last, s)
			}
		}
		r := runRules{set: set}
		n := 0
		for _, c := range set {
			r.separator[c] = true
		}
		for n < len(s) && bytes.IndexByte(set[:], s[n]) < 0 {
			n++
		}
		if got := r.length(s); got != n {
			t.Fatalf("run of %d bytes in %q, want %d", got, s, n)
		}
	})
}

// Words beyond shortWord are read by the ring; both ways must agree, ties included.
func TestLongWords(t *testing.T) {
	names, list, _ := pipelines(t)
	r := rand.New(rand.NewPCG(51, 53))
	for i, u := range list {
		if names[i] != "ties" && names[i] != "positive" && names[i] != "bytes" && names[i] != "xlm-r" {
			continue
		}
		for range 20 {
			var word []byte
			for n := 1 + r.IntN(shortWord-8); len(word) < n; {
				word = append(word, []string{"a", "b", "c", "de", "no", "r", "\u2581", "\u00e9", "\u4f60", "~", "xx", "<unk>"}[r.IntN(12)]...)
			}
			short, long := u.shortPath(nil, &u.lattice, word), u.longPath(nil, &u.lattice, word)
			if !slices.Equal(short, long) {
				t.Fatalf("%s: %q\n short %v\n  long %v", names[i], word, short, long)
			}
		}
		for _, n := range []int{shortWord - 3, shortWord, shortWord + 1, 3 * shortWord} {
			checkUnigram(t, names[i], u, bytes.Repeat([]byte("ab"), n/2))
		}
	}
}

// Hostile texts take linear time; a quadratic step would not end within the test's
// time.
func TestHostileUnigram(t *testing.T) {
	names, list, _ := pipelines(t)
	const size = 10 << 20
	for i, u := range list {
		switch names[i] {
		case "xlm-r", "unmerged", "sentencepiece", "unsplit", "odd":
		default:
			continue
		}
		for _, unit := range []string{"a", "\u0430", "\u0301", "\u0340\u0345", "\x01", "\xff", " ", "\u3000", "\u2581", "~", "<", "\u0600", "a\u0301", "\uac00\u11a8", " \u0340"} {
			text := bytes.Repeat([]byte(unit), size/128/len(unit))
			if names[i] == "xlm-r" && unit == "a" {
				text = bytes.Repeat([]byte(unit), size)
			}
			ids := u.AppendIDs(nil, text)
			again, spans := u.AppendSpans(nil, nil, text)
			if !slices.Equal(ids, again) || len(spans) != len(ids) || len(ids) > len(text)+1 {
				t.Errorf("%s: %q, often: %d ids, %d with %d spans", names[i], unit, len(ids), len(again), len(spans))
			}
			if n := cap(u.word) + cap(u.back) + cap(u.a.text) + cap(u.b.text) + cap(u.marks); n > 1<<21 {
				t.Errorf("%s: %q: scratch memory of %d elements after a long text", names[i], unit, n)
			}
		}
	}
}

func TestUnigramDoesNotAllocate(t *testing.T) {
	names, list, rows := pipelines(t)
	dst, spans := make([]int32, 0, 1<<16), make([]Span, 0, 1<<16)
	for i, u := range list {
		for _, text := range slices.Concat(texts(), [][]byte{[]byte(strings.Repeat("\u0301a \u0340\u0341 caf\u00e9 e\u0301 \u6771\u4eac\u3000\ufdfa ", 90)), []byte(rows[7].Text)}) {
			u.AppendIDs(dst, text)
			u.AppendSpans(dst, spans, text)
			if n := testing.AllocsPerRun(2, func() {
				u.Reset()
				u.AppendIDs(dst, text)
				u.AppendSpans(dst, spans, text)
			}); n != 0 {
				t.Errorf("%s: %.40q: %v allocations", names[i], text, n)
			}
		}
	}
}

func TestUnigramWritesWithinTheCapacity(t *testing.T) {
	const guard, before = -77, 5
	names, list, _ := pipelines(t)
	r := rand.New(rand.NewPCG(61, 67))
	for i, u := range list {
		text := slices.Concat(randomUnigram(r, 6), []byte(" a b de no ac ~ \u0340\u0341b"))
		want := u.AppendIDs(nil, text)
		for spare := range len(want) + 9 {
			memory, spanMemory := make([]int32, before+spare+16), make([]Span, before+spare+16)
			for i := range memory {
				memory[i], spanMemory[i] = guard, Span{guard, guard}
			}
			end := before + spare
			got := u.AppendIDs(memory[:before:end], text)
			ids, _ := u.AppendSpans(memory[:before:end], spanMemory[:before:end], text)
			if !slices.Equal(got[before:], want) || !slices.Equal(ids[before:], want) {
				t.Fatalf("%s: %q with room for %d: %v and %v, want %v", names[i], text, spare, got[before:], ids[before:], want)
			}
			for at := range memory {
				if (at < before || at >= end) && (memory[at] != guard || spanMemory[at] != (Span{guard, guard})) {
					t.Fatalf("%s: %q with room for %d: element %d was written", names[i], text, spare, at)
				}
			}
		}
	}
}

func TestUnigramClone(t *testing.T) {
	tok, _ := load(t, xlmr+".tokenizer.json")
	text := []byte("The reader of a pipe: unaffordable caf\u00e9 <mask> \xff")
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
	if c := tok.Clone(); tok.Repaired() != 1 || c.Repaired() != 0 {
		t.Errorf("%d repaired, %d by a new clone", tok.Repaired(), c.Repaired())
	}
	if tok.Reset(); tok.Repaired() != 0 || !slices.Equal(tok.AppendIDs(nil, text), want) {
		t.Error("Reset keeps the count, or changes ids")
	}
}
