package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// segmentations lists every way to cut a word into pieces.
func segmentations(text string, pieces []weighed) (all [][]int32) {
	if text == "" {
		return [][]int32{nil}
	}
	for i, p := range pieces {
		if rest, ok := strings.CutPrefix(text, p.text); ok {
			for _, s := range segmentations(rest, pieces) {
				all = append(all, append([]int32{int32(i)}, s...))
			}
		}
	}
	return all
}

func probability(s []int32, pieces []weighed) float64 {
	p := 1.0
	for _, id := range s {
		p *= pieces[id].p
	}
	return p
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12*max(math.Abs(a), math.Abs(b)) }

// checkLattice holds expect and best against all segmentations of the words.
func checkLattice(t *testing.T, words map[string]int64) {
	t.Helper()
	u := &unigramTrainer{}
	u.seed(words)
	got, want := make([]float64, len(u.pieces)), make([]float64, len(u.pieces))
	for i := range u.words {
		w := &u.words[i]
		u.expect(w, got)
		all := segmentations(w.text, u.pieces)
		total, largest := 0.0, 0.0
		for _, s := range all {
			p := probability(s, u.pieces)
			total, largest = total+p, max(largest, p)
		}
		for _, s := range all {
			for _, id := range s {
				want[id] += w.count * probability(s, u.pieces) / total
			}
		}
		power := math.Pow(scale, float64(len(w.ends)))
		ids, p := u.best(w, -1)
		slices.Reverse(ids)
		if !near(p, largest*power) || !near(probability(ids, u.pieces), largest) {
			t.Errorf("best of %q is %v with %g, want %g", w.text, ids, p/power, largest)
		}
	}
	for i, p := range u.pieces {
		if !near(got[i], want[i]) {
			t.Errorf("%q is expected %g times, want %g", p.text, got[i], want[i])
		}
	}
}

func TestLattice(t *testing.T) {
	for _, words := range []map[string]int64{
		{"a": 1}, {"ab": 3, "abc": 2, "bc": 4}, {"aaaa": 2, "aa": 5}, {"▁größe": 2, "▁größer": 3, "größ": 1},
		{"banana": 2, "bandana": 1, "ana": 4, "nab": 2},
	} {
		checkLattice(t, words)
	}
}

func FuzzLattice(f *testing.F) {
	f.Add("ab abc bcab aab")
	f.Add("éa aé éé aaa")
	f.Fuzz(func(t *testing.T, text string) {
		words := map[string]int64{}
		for w := range strings.FieldsSeq(strings.ToValidUTF8(text[:min(len(text), 60)], "?")) {
			if len(w) <= 8 {
				words[w]++
			}
		}
		if len(words) > 0 {
			checkLattice(t, words)
		}
	})
}

func pieceWords(tb testing.TB) map[string]int64 {
	tb.Helper()
	l, err := Find("XLM-RoBERTa")
	if err != nil {
		tb.Fatal(err)
	}
	c := l.Counter()
	c.Add([]byte(testText(tb)))
	words := map[string]int64{}
	for w, n := range c.Words() {
		words[spellSpaces(w)] += n
	}
	return words
}

func TestUnigram(t *testing.T) {
	words := pieceWords(t)
	l, _ := Find("XLM-RoBERTa")
	characters := l.alphabet(words)
	for _, size := range []int{len(characters), 200, 240, 10_000} {
		rounds := 0
		pieces, err := Unigram(context.Background(), words, size, func(done, total int) {
			if rounds++; done != rounds-1 || done >= total {
				t.Errorf("progress %d of %d in round %d", done, total, rounds)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(pieces) > size || size < 10_000 && len(pieces) < size*9/10 {
			t.Errorf("%d pieces of %d", len(pieces), size)
		}
		sum := 0.0
		for i, p := range pieces {
			sum += math.Exp(p.Score)
			if i > 0 && p.Score > pieces[i-1].Score {
				t.Errorf("piece %q is more probable than %q before it", p.Text, pieces[i-1].Text)
			}
		}
		if math.Abs(sum-1) > 1e-4 {
			t.Errorf("the probabilities of %d pieces sum to %g", len(pieces), sum)
		}
		for _, c := range characters {
			if !slices.ContainsFunc(pieces, func(p Piece) bool { return p.Text == c }) {
				t.Errorf("character %q is not among the %d pieces", c, len(pieces))
			}
		}
	}
}

// The pieces are the same on every machine.
func TestUnigramGolden(t *testing.T) {
	pieces, err := Unigram(context.Background(), pieceWords(t), 200, nil)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "unigram.golden.txt", func() string {
		var b strings.Builder
		for _, p := range pieces {
			fmt.Fprintf(&b, "%q %.6f\n", p.Text, p.Score)
		}
		return b.String()
	}())
}

// Characters are never dropped, so fewer pieces than those cannot be had.
func TestUnigramTooSmall(t *testing.T) {
	want := "a Unigram model of 2 pieces: the words have 3 characters, each of which is a piece"
	if _, err := Unigram(context.Background(), map[string]int64{"abc": 3, "ab": 2}, 2, nil); err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
	if pieces, err := Unigram(context.Background(), map[string]int64{"abc": 3, "ab": 2}, 3, nil); err != nil || len(pieces) != 3 {
		t.Errorf("3 pieces of 3 characters: %d, %v", len(pieces), err)
	}
}

func TestUnigramStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Unigram(ctx, pieceWords(t), 200, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestLogarithm(t *testing.T) {
	for _, x := range []float64{1, 2, 0.5, 1e-9, 3.7e-5, 0.7071, 1.4143, 123456.789, math.E} {
		if got, want := logarithm(x), math.Log(x); math.Abs(got-want) > 1e-15*max(1, math.Abs(want)) {
			t.Errorf("logarithm of %g is %.17g, want %.17g", x, got, want)
		}
	}
}
