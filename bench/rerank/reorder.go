package rerank

import (
	"math"
	"slices"
)

// Reorder gives the new ranking of a list of n documents as places of the old one.
// The first len(logits) of them are the candidates; scored says which have a logit.
// Scored candidates come first, by logit, equal ones in the old order; then the other
// candidates, then the rest, both in the old order. No logit is NaN. dst is grown and
// given back.
func Reorder(dst []int, logits []float32, scored []bool, n int) []int {
	dst = dst[:0]
	for i := range logits {
		if scored[i] {
			dst = append(dst, i)
		}
	}
	slices.SortStableFunc(dst, func(a, b int) int {
		switch {
		case logits[a] > logits[b]:
			return -1
		case logits[a] < logits[b]:
			return 1
		}
		return 0
	})
	for i := range n {
		if i >= len(logits) || !scored[i] {
			dst = append(dst, i)
		}
	}
	return dst
}

// Rescore gives the scores of a new ranking. logits are those of its first documents,
// best first; rest are the first stage's scores of the others, in their order.
//
// A logit is a score as it is. The others are moved, all by the same amount, so that
// the first of them stands 1 below the last logit: their differences stay those of
// the first stage. Where that would not fall (equal scores, or a difference that is
// lost in rounding or is infinite) a score is the next number below the one before
// it, so that scores fall strictly as float64; trec_eval before version 10, which
// compares them as float32, may see neighbours as equal. Without any logit the first
// stage's scores stay, made to fall in the same way.
//
// dst is grown and given back.
func Rescore(dst []float64, logits []float32, rest []float64) []float64 {
	dst = dst[:0]
	last := math.Inf(1)
	add := func(score float64) {
		if !(score < last) || math.IsInf(score, -1) {
			score = math.Nextafter(last, math.Inf(-1))
		}
		dst = append(dst, score)
		last = score
	}
	for _, x := range logits {
		add(float64(x))
	}
	if len(rest) == 0 {
		return dst
	}
	first := rest[0]
	if len(logits) > 0 {
		first = last - 1
	}
	for _, score := range rest {
		add(first + (score - rest[0]))
	}
	return dst
}

// ties counts the scored candidates whose logit another one has too.
func ties(logits []float32, scored []bool) int {
	count := map[float32]int{}
	for i, x := range logits {
		if scored[i] {
			count[x]++
		}
	}
	n := 0
	for _, c := range count {
		if c > 1 {
			n += c
		}
	}
	return n
}
