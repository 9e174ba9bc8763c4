package train

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"
)

// Piece is a token of a Unigram model, with the logarithm of its probability.
type Piece struct {
	Text  string
	Score float64
}

// Bounds of the Unigram trainer.
const (
	maxPiece  = 16        // characters of a piece, as SentencePiece has it
	maxSeeds  = 1_000_000 // pieces to begin with; as there
	emRounds  = 2         // of expectation and maximisation between two prunings
	pruneKeep = 0.75      // of the pieces that a pruning leaves, at least
	// leastCount is the expected count from which a piece is kept.
	leastCount = 0.5
)

// scale is what every character multiplies the probability of a segmentation with, so
// that products over a word stay in the range of a float64: pieces of one character
// have probabilities of 1e-9 to 0.1, words at most MaxWord characters. It is the same
// for all segmentations of a word.
const scale = 1 << 16

// Unigram learns the pieces of a Unigram model (Kudo, 2018) from words: all their
// substrings that occur twice, and their characters, are pieces at first, weighed by
// how often they occur times how long they are. Then expectation and maximisation
// take turns, and the pieces whose loss costs the text's probability least are
// dropped until there are size of them; characters stay, and a size below their number
// is an error. The pieces come by falling score.
//
// progress, if any, is told the rounds done and those expected. The error of ctx ends
// the work.
//
// The result is the same on every machine: sums, products and quotients of float64
// are rounded alike everywhere when no product is fused into a sum, which the
// conversions see to, and the logarithm is logarithm, not math.Log.
func Unigram(ctx context.Context, words map[string]int64, size int, progress func(done, total int)) ([]Piece, error) {
	u := &unigramTrainer{}
	u.seed(words)
	if chars := u.characters(); size < chars {
		return nil, fmt.Errorf("a Unigram model of %d pieces: the words have %d characters, each of which is a piece", size, chars)
	}
	total := 1
	for n := float64(len(u.pieces)); n > float64(size); n *= pruneKeep {
		total++
	}
	for done := 0; ; done++ {
		if progress != nil {
			progress(min(done, total), total+1)
		}
		for range emRounds {
			if err := u.round(ctx); err != nil {
				return nil, err
			}
		}
		if len(u.pieces) <= size {
			return u.result(), nil
		}
		if err := u.prune(ctx, size); err != nil {
			return nil, err
		}
	}
}

// unigramTrainer holds the model while it is learnt.
type unigramTrainer struct {
	words  []countedWord
	pieces []weighed
	ids    map[string]int32 // of the pieces

	forward, backward []float64
}

type countedWord struct {
	text  string
	ends  []int // of its characters
	count float64
}

// weighed is a piece with its probability.
type weighed struct {
	text   string
	chars  int
	p      float64
	single bool // a character: never dropped
}

// seed makes the first pieces. It counts the substrings of one length after the
// other, and of those only the ones whose beginning occurs twice, so that what is
// held grows with the pieces and not with the substrings.
func (u *unigramTrainer) seed(words map[string]int64) {
	for _, w := range slices.Sorted(maps.Keys(words)) {
		u.words = append(u.words, countedWord{w, characterEnds(w), float64(words[w])})
	}
	var shorter map[string]int64
	for chars := 1; chars <= maxPiece; chars++ {
		counts := map[string]int64{}
		for i := range u.words {
			w := &u.words[i]
			for k := chars - 1; k < len(w.ends); k++ {
				start := w.start(k - chars + 1)
				if chars == 1 || shorter[w.text[start:w.ends[k-1]]] >= minPair {
					counts[w.text[start:w.ends[k]]] += words[w.text]
				}
			}
		}
		for text, n := range counts {
			if chars == 1 || n >= minPair {
				u.pieces = append(u.pieces, weighed{text, chars, float64(n) * float64(chars), chars == 1})
			}
		}
		if len(u.pieces) > maxSeeds {
			u.limit(maxSeeds)
		}
		shorter = counts
	}
	u.sort()
	u.normalise()
}

// characters counts the pieces that are never dropped.
func (u *unigramTrainer) characters() (n int) {
	for _, p := range u.pieces {
		if p.single {
			n++
		}
	}
	return n
}

// limit keeps the most probable of more than most pieces, and all characters.
func (u *unigramTrainer) limit(most int) {
	u.sort()
	rest := slices.DeleteFunc(slices.Clone(u.pieces[most:]), func(p weighed) bool { return !p.single })
	u.pieces = append(u.pieces[:most], rest...)
}

// characterEnds gives where each character of s ends.
func characterEnds(s string) (ends []int) {
	for at := 0; at < len(s); {
		_, n := utf8.DecodeRuneInString(s[at:])
		at += n
		ends = append(ends, at)
	}
	return ends
}

// start gives where character i of the word begins.
func (w *countedWord) start(i int) int {
	if i == 0 {
		return 0
	}
	return w.ends[i-1]
}

// sort puts the pieces into the order of falling probability, equal ones into that of
// their texts.
func (u *unigramTrainer) sort() {
	slices.SortFunc(u.pieces, func(a, b weighed) int {
		return cmp.Or(cmp.Compare(b.p, a.p), cmp.Compare(a.text, b.text))
	})
}

// normalise makes the weights sum to 1 and numbers the pieces.
func (u *unigramTrainer) normalise() {
	sum := 0.0
	for _, p := range u.pieces {
		sum += p.p
	}
	u.ids = make(map[string]int32, len(u.pieces))
	for i := range u.pieces {
		u.pieces[i].p /= sum
		u.ids[u.pieces[i].text] = int32(i)
	}
}

// checkEvery is how many words are done between two looks at the context.
const checkEvery = 4096

// round is one of expectation and maximisation: how often each piece occurs, over all
// segmentations by their probability, becomes its weight. Less half an occurrence,
// which is close to the exponential of the digamma function: the Bayesian estimate
// that SentencePiece takes, and that drops rare pieces.
func (u *unigramTrainer) round(ctx context.Context) error {
	expected := make([]float64, len(u.pieces))
	for i := range u.words {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		u.expect(&u.words[i], expected)
	}
	kept := u.pieces[:0]
	for i, p := range u.pieces {
		switch n := expected[i]; {
		case n > 2*leastCount:
			p.p = n - leastCount
		case n >= leastCount || p.single:
			p.p = leastCount / 2
		default:
			continue
		}
		kept = append(kept, p)
	}
	u.pieces = kept
	u.normalise()
	return nil
}

// expect adds to expected how often each piece occurs in a word (the forward-backward
// algorithm).
func (u *unigramTrainer) expect(w *countedWord, expected []float64) {
	n := len(w.ends)
	u.forward = slices.Grow(u.forward[:0], n+1)[:n+1]
	u.backward = slices.Grow(u.backward[:0], n+1)[:n+1]
	clear(u.forward)
	clear(u.backward)
	u.forward[0], u.backward[n] = 1, 1
	for i := range n {
		u.spans(w, i, func(end int, id int32, weight float64) {
			u.forward[end] += float64(u.forward[i] * weight)
		})
	}
	for i := n - 1; i >= 0; i-- {
		u.spans(w, i, func(end int, id int32, weight float64) {
			u.backward[i] += float64(u.backward[end] * weight)
		})
	}
	factor := w.count / u.forward[n]
	for i := range n {
		u.spans(w, i, func(end int, id int32, weight float64) {
			through := float64(u.forward[i]*weight) * u.backward[end]
			expected[id] += float64(through * factor)
		})
	}
}

// spans visits the pieces that character i of a word begins: the character after
// their end, their id, their probability times scale for each character.
func (u *unigramTrainer) spans(w *countedWord, i int, visit func(end int, id int32, weight float64)) {
	start, power := w.start(i), 1.0
	for k := i; k < min(len(w.ends), i+maxPiece); k++ {
		power *= scale
		if id, ok := u.ids[w.text[start:w.ends[k]]]; ok {
			visit(k+1, id, u.pieces[id].p*power)
		}
	}
}

// best gives the pieces of the most probable segmentation of a word and its
// probability, times scale for each character; without is a piece that may not be
// used, −1 for none. Of equally probable ones it takes that whose last pieces are
// shorter.
func (u *unigramTrainer) best(w *countedWord, without int32) ([]int32, float64) {
	n := len(w.ends)
	value := make([]float64, n+1)
	from, by := make([]int, n+1), make([]int32, n+1)
	value[0] = 1
	for i := range n {
		u.spans(w, i, func(end int, id int32, weight float64) {
			if v := value[i] * weight; id != without && v >= value[end] {
				value[end], from[end], by[end] = v, i, id
			}
		})
	}
	var ids []int32
	for at := n; at > 0; at = from[at] {
		ids = append(ids, by[at])
	}
	return ids, value[n]
}

// prune drops pieces: a quarter, or those beyond size, whichever is fewer. Those go
// whose occurrences, in the best segmentation of every word, cost least when they are
// replaced by the next best segmentation of the piece itself.
func (u *unigramTrainer) prune(ctx context.Context, size int) error {
	used := make([]float64, len(u.pieces))
	total := 0.0
	for i := range u.words {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		ids, _ := u.best(&u.words[i], -1)
		for _, id := range ids {
			used[id] += u.words[i].count
			total += u.words[i].count
		}
	}
	type costly struct {
		id   int
		loss float64
	}
	var free []costly
	for i, p := range u.pieces {
		if p.single {
			continue
		}
		w := countedWord{text: p.text, ends: characterEnds(p.text)}
		power := 1.0
		for range p.chars {
			power *= scale
		}
		_, other := u.best(&w, int32(i))
		// The piece is always the more probable of the two where it is used at all.
		free = append(free, costly{i, float64(used[i]/total) * logarithm(max(1, p.p*power/other))})
	}
	slices.SortStableFunc(free, func(a, b costly) int { return cmp.Compare(a.loss, b.loss) })
	goal := max(size, int(pruneKeep*float64(len(u.pieces))))
	drop := make([]bool, len(u.pieces))
	for _, c := range free[:min(len(free), len(u.pieces)-goal)] {
		drop[c.id] = true
	}
	kept := u.pieces[:0]
	for i, p := range u.pieces {
		if !drop[i] {
			kept = append(kept, p)
		}
	}
	u.pieces = kept
	u.normalise()
	return nil
}

// result gives the pieces with their scores, rounded to a millionth.
func (u *unigramTrainer) result() []Piece {
	u.sort()
	out := make([]Piece, len(u.pieces))
	for i, p := range u.pieces {
		out[i] = Piece{p.text, float64(int64(float64(logarithm(p.p)*1e6)-0.5)) / 1e6}
	}
	return out
}

// logarithm is the natural logarithm of a positive number, with an error of a few
// units in the 16th digit and the same bits on every machine.
func logarithm(x float64) float64 {
	const ln2 = 0.693147180559945309417232121458
	exp := 0
	for ; x > 1.4142135623730951; x /= 2 {
		exp++
	}
	for ; x < 0.7071067811865476; x *= 2 {
		exp--
	}
	s := (x - 1) / (x + 1)
	square := s * s
	sum, power := 0.0, s
	for k := 1; k < 40; k += 2 {
		sum += power / float64(k)
		power *= square
	}
	return float64(float64(exp)*ln2) + float64(2*sum)
}
