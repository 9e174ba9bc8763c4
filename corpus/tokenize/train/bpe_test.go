package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// wordsOf counts the words of texts, spelt in bytes.
func wordsOf(split Split, texts ...string) map[string]int64 {
	c := NewCounter(split)
	for _, text := range texts {
		c.Add([]byte(text))
	}
	words := map[string]int64{}
	for w, n := range c.Words() {
		words[spellBytes(w)] += n
	}
	return words
}

// plainBPE is BPE written plainly: it counts all pairs anew before every merge.
func plainBPE(words map[string]int64, alphabet []string, size int) Encoding {
	enc := Encoding{Tokens: slices.Clone(alphabet)}
	type word struct {
		tokens []string
		count  int64
	}
	var list []word
	for _, w := range slices.Sorted(maps.Keys(words)) {
		tokens := []string{}
		for _, r := range w {
			if slices.Contains(alphabet, string(r)) {
				tokens = append(tokens, string(r))
				continue
			}
			list = append(list, word{tokens, words[w]})
			tokens = nil
		}
		list = append(list, word{tokens, words[w]})
	}
	id := func(token string) int32 { return int32(slices.Index(enc.Tokens, token)) }
	for len(enc.Tokens) < size {
		counts := map[pair]int64{}
		for _, w := range list {
			for k := range max(0, len(w.tokens)-1) {
				counts[pair{id(w.tokens[k]), id(w.tokens[k+1])}] += w.count
			}
		}
		best, found := pair{}, false
		for p, n := range counts {
			if n >= minPair && (!found || n > counts[best] || n == counts[best] && p.compare(best) < 0) {
				best, found = p, true
			}
		}
		if !found {
			break
		}
		left, right := enc.Tokens[best.left], enc.Tokens[best.right]
		if id(left+right) < 0 {
			enc.Tokens = append(enc.Tokens, left+right)
		}
		m := Merge{best.left, best.right, id(left + right)}
		if !slices.Contains(enc.Merges, m) {
			enc.Merges = append(enc.Merges, m)
		}
		for i, w := range list {
			var tokens []string
			for k := 0; k < len(w.tokens); k++ {
				if k+1 < len(w.tokens) && w.tokens[k] == left && w.tokens[k+1] == right {
					tokens = append(tokens, left+right)
					k++
				} else {
					tokens = append(tokens, w.tokens[k])
				}
			}
			list[i].tokens = tokens
		}
	}
	return enc
}

func (e Encoding) String() string { return fmt.Sprintf("%q %v", e.Tokens, e.Merges) }

func checkBPE(t *testing.T, words map[string]int64, alphabet []string, size int) {
	t.Helper()
	got, err := BPE(context.Background(), words, alphabet, size, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := plainBPE(words, alphabet, size); got.String() != want.String() {
		t.Errorf("of %v to %d tokens:\n got %s\nwant %s", words, size, got, want)
	}
}

func testText(tb testing.TB) string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "text.txt"))
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

func TestBPEIsPlainBPE(t *testing.T) {
	letters := []string{"a", "b", "c", "d"}
	for _, words := range []map[string]int64{
		{}, {"a": 9}, {"ab": 1}, {"ab": 2}, {"aaaa": 3, "aaa": 2}, {"abcabc": 2, "bca": 5, "cab": 5},
		{"abab": 1, "baba": 1, "aabb": 1}, {"axbxab": 2, "xx": 7}, {"abcd": 4, "bcd": 3, "abc": 3, "cd": 2},
	} {
		for _, size := range []int{4, 5, 7, 100} {
			checkBPE(t, words, letters, size)
		}
	}
	checkBPE(t, wordsOf(SplitGPT2, testText(t)), byteAlphabet(), 420)
}

// FuzzBPE trains on words of few letters, where pairs overlap and tokens can be made in
// several ways.
func FuzzBPE(f *testing.F) {
	f.Add("abcabd abd bd ab abcabd", uint8(9))
	f.Add("aaaaaaa aaaa aaa", uint8(40))
	f.Add("aabaab baab abaaba", uint8(20))
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		words := map[string]int64{}
		for w := range strings.FieldsSeq(text[:min(len(text), 200)]) {
			var b strings.Builder
			for i := range len(w) {
				b.WriteByte("abcd"[w[i]%4])
			}
			words[b.String()]++
		}
		checkBPE(t, words, []string{"a", "b", "c"}, 3+int(size)%60)
	})
}

// The merges are those of the reference library's trainer.
func TestBPEGolden(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "bpe.golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden struct{ Merges [][2]string }
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	enc, err := BPE(context.Background(), wordsOf(SplitGPT2, testText(t)), byteAlphabet(), 1000, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got [][2]string
	for _, m := range enc.Merges {
		got = append(got, [2]string{enc.Tokens[m.Left], enc.Tokens[m.Right]})
	}
	if !slices.Equal(got, golden.Merges) {
		t.Errorf("%d merges %q\nwant %d %q", len(got), got, len(golden.Merges), golden.Merges)
	}
}

func TestBPEStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	seen := 0
	_, err := BPE(ctx, wordsOf(SplitGPT2, testText(t)), byteAlphabet(), 1<<20, func(done, total int) {
		if seen++; done < 256 || total != 1<<20 {
			t.Errorf("progress %d of %d", done, total)
		}
		cancel()
	})
	if !errors.Is(err, context.Canceled) || seen != 1 {
		t.Errorf("%v after %d calls", err, seen)
	}
}

func TestCounter(t *testing.T) {
	c := NewCounter(SplitGPT2)
	c.Add([]byte("a b a " + strings.Repeat("x", MaxWord+1)))
	c.Add([]byte("a"))
	if got := fmt.Sprint(c.Words(), c.Texts, c.Bytes, c.Left); got != "map[ a:1  b:1 a:2] 2 72 1" {
		t.Error(got)
	}
	l, err := Find("XLM-RoBERTa")
	if err != nil {
		t.Fatal(err)
	}
	c = l.Counter()
	c.Add([]byte("a\n\nb  a, \u3000a "))
	if got := fmt.Sprint(c.Words()); got != "map[ a:3  b:1 ,:1]" {
		t.Error(got)
	}
}
