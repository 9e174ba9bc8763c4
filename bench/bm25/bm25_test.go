package bm25

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"encbench/corpus"
)

// source gives texts as documents named d0, d1 …
func source(texts ...string) corpus.Source {
	var b []byte
	for i, t := range texts {
		b = corpus.AppendJSONL(b, corpus.Doc{ID: fmt.Append(nil, "d", i), Text: []byte(t)})
	}
	return corpus.NewJSONL(strings.NewReader(string(b)), "test", corpus.Options{Strict: true})
}

func build(t testing.TB, opt Options, texts ...string) *Index {
	t.Helper()
	x, err := Build(source(texts...), opt)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// plainWords is the definition of a word.
func plainWords(text string) []string {
	return strings.FieldsFunc(strings.Map(unicode.ToLower, strings.ToValidUTF8(text, " ")), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r)
	})
}

// plain scores every document from its text, as the package's comment says it.
func plain(k1, b float64, texts []string, query string, k int) (hits []Hit) {
	documents := make([][]string, len(texts))
	total := 0
	for i, t := range texts {
		documents[i] = plainWords(t)
		total += len(documents[i])
	}
	average := float64(total) / float64(len(texts))
	count := func(words []string, w string) (n int) {
		for _, v := range words {
			if v == w {
				n++
			}
		}
		return n
	}
	asked := plainWords(query)
	for d, words := range documents {
		h := Hit{Doc: uint32(d)}
		for i, w := range asked {
			if slices.Index(asked, w) < i || count(words, w) == 0 {
				continue
			}
			with := 0
			for _, other := range documents {
				if slices.Contains(other, w) {
					with++
				}
			}
			idf := math.Log(1 + (float64(len(texts)-with)+0.5)/(float64(with)+0.5))
			tf := float64(count(words, w))
			norm := float64(k1 * (1 - b + float64(b*float64(len(words))/average)))
			h.Score += float64(float64(count(asked, w)) * idf * (tf / (tf + norm)))
		}
		if h.Score > 0 {
			hits = append(hits, h)
		}
	}
	slices.SortFunc(hits, compareHits)
	return hits[:min(k, len(hits))]
}

// TestKnownScores holds the formula to what another implementation gives for these
// texts: bm25s 0.3.16, method lucene, k1 0.9, b 0.4, float64.
func TestKnownScores(t *testing.T) {
	texts := []string{
		"a cat is a feline and likes to purr",
		"a dog is the human's best friend and loves to play",
		"a bird is a beautiful animal that can fly",
		"a fish is a creature that lives in water and swims",
	}
	x := build(t, Options{}, texts...)
	if x.Name() != "BM25(k1=0.9,b=0.4)" || x.Documents() != 4 || x.Words() != 28 || string(x.ID(3)) != "d3" || string(x.ID(0)) != "d0" {
		t.Errorf("%s, %d documents, %d words, %s", x.Name(), x.Documents(), x.Words(), x.ID(3))
	}
	want := []Hit{{0, 1.37109565}, {3, 0.69701323}, {1, 0.6675288}, {2, 0.07377935}}
	got := x.Search(nil, "does the fish purr like a cat?", 10)
	for i, h := range got {
		if i < len(want) && (h.Doc != want[i].Doc || math.Abs(h.Score-want[i].Score) > 5e-9) {
			t.Errorf("hit %d: %+v, want %+v", i, h, want[i])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d hits, want %d", len(got), len(want))
	}
}

func TestSearch(t *testing.T) {
	x := build(t, Options{}, "same words", "other", "Same WORDS", "same same", "", "words-same")
	for _, test := range []struct {
		query string
		k     int
		want  []uint32
	}{
		{"same words", 10, []uint32{0, 2, 5, 3}}, // equal scores in the order of the corpus
		{"same words", 2, []uint32{0, 2}},
		{"words", 1, []uint32{0}},
		{"absent", 10, nil},
		{"", 10, nil},
		{"same", 0, nil},
		{"SAME!", 1, []uint32{3}},
	} {
		var got []uint32
		for _, h := range x.Search(nil, test.query, test.k) {
			got = append(got, h.Doc)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%q, %d: %v, want %v", test.query, test.k, got, test.want)
		}
	}
	once, twice := x.Search(nil, "other", 1)[0].Score, x.Search(nil, "other other", 1)[0].Score
	if twice != 2*once {
		t.Errorf("a word asked twice scores %v, once %v", twice, once)
	}
	kept := x.Search([]Hit{{9, 9}}, "other", 1)
	if len(kept) != 2 || kept[0] != (Hit{9, 9}) {
		t.Errorf("appended to %v", kept)
	}
	if hits := build(t, Options{}).Search(nil, "a", 1); hits != nil {
		t.Errorf("an empty index gives %v", hits)
	}
	if hits := build(t, Options{}, "", "").Search(nil, "a", 1); hits != nil {
		t.Errorf("an index of empty documents gives %v", hits)
	}
}

func TestParameters(t *testing.T) {
	f := func(v float64) *float64 { return &v }
	x := build(t, Options{K1: f(1.2), B: f(0.75)}, "a")
	if x.Name() != "BM25(k1=1.2,b=0.75)" {
		t.Error(x.Name())
	}
	for _, test := range []struct {
		opt  Options
		want string
	}{
		{Options{K1: f(-1)}, "bm25: k1 -1: expected a number from 0"},
		{Options{K1: f(math.NaN())}, "bm25: k1 NaN: expected a number from 0"},
		{Options{K1: f(math.Inf(1))}, "bm25: k1 +Inf: expected a number from 0"},
		{Options{B: f(1.5)}, "bm25: b 1.5: expected a number from 0 to 1"},
		{Options{B: f(math.NaN())}, "bm25: b NaN: expected a number from 0 to 1"},
	} {
		if _, err := Build(source("a"), test.opt); err == nil || err.Error() != test.want {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
	broken := corpus.NewJSONL(strings.NewReader("{"), "in", corpus.Options{Strict: true})
	if _, err := Build(broken, Options{}); err == nil || err.Error() != "bm25: read the documents: in:1: not JSON at byte 2: the line ends inside a value" {
		t.Error(err)
	}
}

// randomTexts draws few words, so that equal scores are common.
func randomTexts(r *rand.Rand, n int) []string {
	words := strings.Fields("a B c Dé e f ğ H 1 x2")
	texts := make([]string, n)
	for i := range texts {
		for range r.IntN(8) {
			texts[i] += words[r.IntN(len(words))] + []string{" ", ", ", "-"}[r.IntN(3)]
		}
	}
	return texts
}

// The index gives the documents and score bits of the plain definition, one query
// after another and all at once.
func TestAgainstPlain(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		texts := randomTexts(r, 1+r.IntN(60))
		k1, b := r.Float64()*2, r.Float64()
		x := build(t, Options{K1: &k1, B: &b}, texts...)
		queries := randomTexts(r, 20)
		k := r.IntN(30)
		got := make([][]Hit, len(queries))
		err := x.SearchAll(t.Context(), queries, k, func(q int, hits []Hit) error {
			got[q] = slices.Clone(hits)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for q, query := range queries {
			want := plain(k1, b, texts, query, k)
			if one := x.Search(nil, query, k); !slices.Equal(one, want) || !slices.Equal(got[q], want) {
				t.Fatalf("%q in %q, k %d: one %v, all %v, want %v", query, texts, k, one, got[q], want)
			}
		}
	}
}

func TestSearchAllStops(t *testing.T) {
	x := build(t, Options{}, "a", "b")
	queries := make([]string, 1000)
	stop := errors.New("enough")
	calls := 0
	err := x.SearchAll(t.Context(), queries, 1, func(int, []Hit) error { calls++; return stop })
	if err != stop || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = x.SearchAll(ctx, queries, 1, func(int, []Hit) error { t.Error("called"); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := x.SearchAll(t.Context(), nil, 1, nil); err != nil {
		t.Error(err)
	}
}

func FuzzWords(f *testing.F) {
	f.Add("The quick (brown) fox's ÄÖÜ ﬀ İ 12a")
	f.Add("\xff\xfea\xc3b ab")
	f.Fuzz(func(t *testing.T, text string) {
		var got []string
		eachWord([]byte(text), nil, func(w []byte) { got = append(got, string(w)) })
		if want := plainWords(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	})
}

// BenchmarkBuild indexes 20,000 documents of 100 words out of 30,000, by Zipf's law.
func BenchmarkBuild(b *testing.B) {
	texts := zipf(20_000, 100)
	for b.Loop() {
		build(b, Options{}, texts...)
	}
}

// BenchmarkSearch asks for ten words, k = 1,000.
func BenchmarkSearch(b *testing.B) {
	x := build(b, Options{}, zipf(20_000, 100)...)
	queries := zipf(100, 10)
	b.ResetTimer()
	for b.Loop() {
		if err := x.SearchAll(b.Context(), queries, 1000, func(int, []Hit) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func zipf(n, length int) []string {
	r := rand.New(rand.NewPCG(3, 4))
	z := rand.NewZipf(r, 1.1, 1, 30_000)
	texts := make([]string, n)
	for i := range texts {
		var b strings.Builder
		for range length {
			fmt.Fprintf(&b, "w%d ", z.Uint64())
		}
		texts[i] = b.String()
	}
	return texts
}
