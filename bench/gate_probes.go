package bench

import (
	"math/rand/v2"

	"encbench/corpus/tokenize"
)

// probeLengths are the gated shapes, in tokens with special tokens: a row of
// next to nothing, a short one, one past a power of two, and a full chunk.
var probeLengths = [...]int{3, 64, 129, 512}

// ProbeIDs gives the gate's rows for a vocabulary: seeded random ids between the
// prefix and suffix tokens, of 3, 64, 129 and 512 tokens or the model's longest
// row where that is shorter.
func ProbeIDs(vocab int, prefix, suffix []int32, longest int) [][]int32 {
	draw := drawer(vocab, append(append([]int32{}, prefix...), suffix...))
	var out [][]int32
	for _, n := range lengths(longest) {
		row := append([]int32{}, prefix...)
		if content := n - len(prefix) - len(suffix); content > 0 {
			row = append(row, draw(content)...)
		}
		out = append(out, append(row, suffix...))
	}
	return out
}

// ProbePairs gives the gate's rows of a reranker: two pairs of seeded random ids in
// the template for each length of ProbeIDs, a short first text and a second that fills
// the row, with their token types where the model has several.
func ProbePairs(vocab int, t tokenize.Template, types, longest int) []Reference {
	var special []int32
	for _, p := range t.Pair {
		if p.Text == 0 {
			special = append(special, p.ID)
		}
	}
	draw := drawer(vocab, special)
	var out []Reference
	for _, n := range lengths(longest) {
		content := max(n-t.PairOverhead(), 2)
		first := min(content/2, 16)
		for range 2 {
			ids, kinds := t.AppendPair(nil, nil, draw(first), draw(content-first))
			r := Reference{IDs: ids}
			if types > 1 {
				r.Types = kinds
			}
			out = append(out, r)
		}
	}
	return out
}

// lengths are the lengths of the probes, each once.
func lengths(longest int) []int {
	var out []int
	for _, n := range probeLengths {
		n = min(n, longest)
		if len(out) > 0 && out[len(out)-1] == n {
			break
		}
		out = append(out, n)
	}
	return out
}

// drawer gives a function that draws ids other than the reserved ones.
func drawer(vocab int, reserved []int32) func(n int) []int32 {
	rng := rand.New(rand.NewPCG(1, 512))
	taken := map[int32]bool{}
	for _, id := range reserved {
		taken[id] = true
	}
	return func(n int) []int32 {
		out := make([]int32, 0, n)
		for len(out) < n {
			if id := rng.Int32N(int32(vocab)); !taken[id] {
				out = append(out, id)
			}
		}
		return out
	}
}
