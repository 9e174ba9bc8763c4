package tokenize

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// randomMerges makes a model of a few characters and random merges, in an order in
// which each comes behind those of its parts, or in any order.
func randomMerges(tb testing.TB, r *rand.Rand, ordered bool) *bpeModel {
	tb.Helper()
	m := &bpeModel{core: core{vocab: map[string]int32{}}, unk: -1}
	tokens := []string{"a", "b", "\u00e9", "c"}[:1+r.IntN(4)]
	for i, s := range tokens {
		m.vocab[s] = int32(i)
	}
	pairs := map[[2]int32]bool{}
	for range r.IntN(60) {
		left, right := tokens[r.IntN(len(tokens))], tokens[r.IntN(len(tokens))]
		pair := [2]int32{m.vocab[left], m.vocab[right]}
		if pairs[pair] || len(left)+len(right) > 12 {
			continue
		}
		sum := left + right
		if _, ok := m.vocab[sum]; !ok {
			m.vocab[sum] = int32(len(m.vocab))
			tokens = append(tokens, sum)
		}
		pairs[pair] = true
		m.merges = append(m.merges, merge{pair[0], pair[1], m.vocab[sum]})
	}
	if !ordered {
		r.Shuffle(len(m.merges), func(i, j int) { m.merges[i], m.merges[j] = m.merges[j], m.merges[i] })
	}
	m.size = len(m.vocab)
	if err := m.prepare(); err != nil {
		tb.Fatal(err)
	}
	return m
}

// The tokens that encode takes from left to right are those that merging makes.
func TestEncodeAgainstMerging(t *testing.T) {
	r := rand.New(rand.NewPCG(59, 61))
	uneven := 0
	for i := range 400 {
		m := randomMerges(t, r, i%2 == 0)
		b := newBPE(m)
		uneven += len(m.table.uneven)
		chars := []string{"a", "b", "\u00e9", "c"}
		for range 100 {
			var text strings.Builder
			var syms []int32
			for range 1 + r.IntN(40+i%3*60) {
				c := chars[r.IntN(1+r.IntN(len(chars)))]
				if id, ok := m.vocab[c]; ok {
					text.WriteString(c)
					syms = append(syms, id)
				}
			}
			if len(syms) == 0 {
				continue
			}
			want, _ := m.table.mergeAll(syms, m.merges)
			if got, ok := b.encode(nil, []byte(text.String())); !ok || !slices.Equal(got, want) {
				t.Fatalf("%q by %v of %v: %v (%v), want %v", text.String(), m.merges, m.vocab, got, ok, want)
			}
			for range 4 {
				left, right := int32(r.IntN(m.size)), int32(r.IntN(m.size))
				if m.table.lengths[left] == 0 || m.table.lengths[right] == 0 {
					continue // merging makes no such token
				}
				syms := m.table.appendSymbols(m.table.appendSymbols(nil, left), right)
				syms, _ = m.table.mergeAll(syms, m.merges)
				if got, want := b.apart(left, right), len(syms) == 2 && syms[0] == left; got != want {
					t.Fatalf("%d and %d stay apart: %v, want %v; by %v", left, right, got, want, m.merges)
				}
			}
		}
	}
	if uneven == 0 {
		t.Error("no tokens whose ranks do not ascend")
	}
}

func TestPairTable(t *testing.T) {
	merges := []merge{{0, 0, 1}, {0, 1, 2}, {1, 0, 3}, {maxBPE - 1, maxBPE - 1, 4}, {maxBPE - 1, 0, 5}, {0, maxBPE - 1, 6}}
	for i := range int32(1000) {
		merges = append(merges, merge{i + 7, 3 * i, 9})
	}
	p := newPairTable(merges)
	for i, g := range merges {
		if got := p.rank(g.left, g.right); got != uint32(i+1) {
			t.Errorf("merge %d of %d and %d has rank %d + 1", i, g.left, g.right, int(got)-1)
		}
	}
	for _, g := range [][2]int32{{1, 1}, {2, 0}, {maxBPE - 2, maxBPE - 1}, {8, 4}} {
		if got := p.rank(g[0], g[1]); got != 0 {
			t.Errorf("%v has rank %d + 1, want none", g, int(got)-1)
		}
	}
	if empty := newPairTable(nil); empty.rank(0, 0) != 0 {
		t.Error("an empty table has a pair")
	}
}

func FuzzBPE(f *testing.F) {
	list := bpeVariants(f)
	for i, s := range slices.Concat(splitSeeds, fuzzSeeds) {
		for k := range 3 {
			f.Add([]byte(s), uint8(i+k*17))
		}
	}
	f.Add([]byte("Caf\u00e9 cafe\u0301 <left> a<word> <a><b> || \u2581\u2581 a\u2581b  \u4e2d\u6587 \u0130\u0131 \u03a3\u03c2 \u0378\ue000"), uint8(10))
	f.Fuzz(func(t *testing.T, text []byte, which uint8) {
		v := list[int(which)%len(list)]
		text = text[:min(len(text), 3000)]
		v.check(t, text)
		v.checkCuts(t, text, rand.New(rand.NewPCG(uint64(which), uint64(len(text)))))
	})
}
