package tokenize

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// lateTokenizers gives the tokenizers of testdata/late.json by name, and its texts.
func lateTokenizers(tb testing.TB) (names []string, list []*wordPiece, rows []goldenRow) {
	tb.Helper()
	data, err := os.ReadFile("testdata/late.json")
	if err != nil {
		tb.Fatal(err)
	}
	var g struct {
		Tokenizers []struct {
			Name     string
			Settings map[string]json.RawMessage
		}
		Rows []goldenRow
	}
	if err := json.Unmarshal(data, &g); err != nil {
		tb.Fatal(err)
	}
	base, err := os.ReadFile(cased + ".tokenizer.json")
	if err != nil {
		tb.Fatal(err)
	}
	for _, p := range g.Tokenizers {
		tok, err := loadWith(base, p.Settings)
		if err != nil {
			tb.Fatalf("%s: %v", p.Name, err)
		}
		names, list = append(names, p.Name), append(list, tok.(*wordPiece))
	}
	return names, list, g.Rows
}

func TestLateTokens(t *testing.T) {
	names, list, rows := lateTokenizers(t)
	if len(rows) < 100 {
		t.Fatalf("%d texts", len(rows))
	}
	for i, w := range list {
		if inside := names[i] != "space" && names[i] != "left" && names[i] != "right"; w.late.inside != inside {
			t.Errorf("%s: tokens stay within runs: %v, want %v", names[i], w.late.inside, inside)
		}
		for _, row := range rows {
			if got := w.AppendIDs(nil, []byte(row.Text)); !slices.Equal(got, row.IDs[i]) {
				t.Errorf("%s: %+q\n got %v\nwant %v", names[i], row.Text, got, row.IDs[i])
			}
			checkAgainstPlain(t, w, []byte(row.Text))
		}
	}
}

// lateParts are tokens, what normalises to one, and what nearly does.
var lateParts = []string{"cafe", "CAFE\u0301", "caf\u00e9s", "[x]", "[X", "<tok>", "\u226etok>", "<\x01tok>", "\u0301<tok>", "covidx", "acovidx", "=>", "\u2260>", "=\u0338>",
	"\u212a9", "k9", "x\u0301.y", "new word", "new\tword", "\u9f98", " <left>", "\u3000 <left>", "<right> ", "<RIGHT>\u3000", "[CLS]", "\xff<tok>\xe2\x82", "\x00[\x00x]", "a\u200d[x]"}

func TestLateTokensAgainstPlain(t *testing.T) {
	_, list, _ := lateTokenizers(t)
	r := rand.New(rand.NewPCG(71, 73))
	for _, w := range list {
		for range 150 {
			text := randomText(r)
			for range r.IntN(5) {
				text = append(append(text, lateParts[r.IntN(len(lateParts))]...), []string{"", " ", "\n", "a", "."}[r.IntN(5)]...)
			}
			checkAgainstPlain(t, w, append(text, randomText(r)...))
		}
	}
}

func FuzzLateTokens(f *testing.F) {
	_, list, _ := lateTokenizers(f)
	for i, s := range append(slices.Clone(fuzzSeeds), lateParts...) {
		f.Add([]byte(s), uint8(i))
	}
	f.Fuzz(func(t *testing.T, text []byte, which uint8) {
		checkAgainstPlain(t, list[int(which)%len(list)], text)
	})
}

func TestLateTokensDoNotAllocate(t *testing.T) {
	_, list, _ := lateTokenizers(t)
	dst, spans := make([]int32, 0, 1<<16), make([]Span, 0, 1<<16)
	for i, w := range list {
		for _, text := range append(texts(), []byte(strings.Repeat("caf\u00e9 [x] <TOK> \u2260> a ", 200))) {
			w.AppendSpans(dst, spans, text)
			if n := testing.AllocsPerRun(3, func() {
				w.AppendIDs(dst, text)
				w.AppendSpans(dst, spans, text)
			}); n != 0 {
				t.Errorf("tokenizer %d, %.40q: %v allocations", i, text, n)
			}
		}
	}
	text := bytes.Repeat([]byte("<tok"), 1<<20) // one run
	if got := list[0].AppendIDs(nil, text); len(got) == 0 || cap(list[0].whole.a.text) > maxScratch {
		t.Errorf("%d ids of a long run, which leave %d bytes of scratch memory", len(got), cap(list[0].whole.a.text))
	}
}
