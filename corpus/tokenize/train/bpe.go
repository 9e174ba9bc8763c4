package train

import (
	"container/heap"
	"context"
	"maps"
	"slices"
)

// Merge joins the tokens Left and Right, which stand together, to the token ID.
type Merge struct{ Left, Right, ID int32 }

// Encoding is a byte-pair encoding (Sennrich et al., 2016).
type Encoding struct {
	Tokens []string // by id: the alphabet, then what merges make
	Merges []Merge  // the first is applied first
}

// minPair is how often a pair has to occur to be merged.
const minPair = 2

// BPE learns merges from words: again and again the pair of tokens that occurs most
// often, of equally frequent ones the one with the lowest ids, becomes a token, until
// there are size tokens or no pair occurs twice. alphabet are the tokens that words
// are made of at first; a character of a word that is none of them ends a word, and
// so does the end of the text. size is at least the length of the alphabet.
//
// As in the reference's trainer two pairs can make one token, so that there can be
// more merges than tokens. A pair is merged once: where it comes up again, because
// another one made its left or right token, it is merged silently, for its rank is
// that of the first time.
//
// progress, if any, is told the tokens so far and size, from time to time. The error
// of ctx ends the work. Words are kept as lists of ids, pairs with the words they
// occur in, and a heap finds the next pair (the method of the reference's trainer,
// and of others): the time goes with the occurrences that change.
func BPE(ctx context.Context, words map[string]int64, alphabet []string, size int, progress func(done, total int)) (Encoding, error) {
	t := &bpeTrainer{
		enc:   Encoding{Tokens: slices.Clone(alphabet)},
		ids:   map[string]int32{},
		pairs: map[pair]*occurrences{},
	}
	for i, s := range alphabet {
		t.ids[s] = int32(i)
	}
	t.load(words)
	for len(t.enc.Tokens) < size {
		if err := ctx.Err(); err != nil {
			return Encoding{}, err
		}
		if progress != nil && len(t.enc.Tokens)%256 == 0 {
			progress(len(t.enc.Tokens), size)
		}
		p, ok := t.next()
		if !ok {
			break
		}
		t.merge(p)
	}
	return t.enc, nil
}

// pair is two tokens that stand together.
type pair struct{ left, right int32 }

// occurrences says how often a pair occurs and in which words; a word may be listed
// though the pair is gone from it, or twice.
type occurrences struct {
	count  int64
	words  []int32
	merged bool // before
}

// trainWord is a word as tokens, and how often it occurs.
type trainWord struct {
	tokens []int32
	count  int64
}

type bpeTrainer struct {
	enc   Encoding
	ids   map[string]int32
	words []trainWord
	pairs map[pair]*occurrences
	queue pairQueue
	fresh []pair // whose count grew while one pair was merged
}

// load turns words into tokens and counts the pairs.
func (t *bpeTrainer) load(words map[string]int64) {
	// Sorted, so that nothing depends on the order of a map.
	for _, w := range slices.Sorted(maps.Keys(words)) {
		var tokens []int32
		flush := func() {
			if len(tokens) > 1 {
				t.words = append(t.words, trainWord{tokens, words[w]})
			}
			tokens = nil
		}
		for _, r := range w {
			if id, ok := t.ids[string(r)]; ok {
				tokens = append(tokens, id)
			} else {
				flush()
			}
		}
		flush()
	}
	for i, w := range t.words {
		for k := range len(w.tokens) - 1 {
			t.change(pair{w.tokens[k], w.tokens[k+1]}, w.count, int32(i))
		}
	}
	t.enqueue()
}

// change adds by to the count of a pair in word i.
func (t *bpeTrainer) change(p pair, by int64, i int32) {
	o := t.pairs[p]
	if o == nil {
		o = &occurrences{}
		t.pairs[p] = o
	}
	o.count += by
	if by > 0 {
		if n := len(o.words); n == 0 || o.words[n-1] != i {
			o.words = append(o.words, i)
		}
		t.fresh = append(t.fresh, p)
	}
}

// enqueue puts the pairs whose count grew into the queue.
func (t *bpeTrainer) enqueue() {
	slices.SortFunc(t.fresh, func(a, b pair) int { return a.compare(b) })
	for _, p := range slices.Compact(t.fresh) {
		if n := t.pairs[p].count; n >= minPair {
			heap.Push(&t.queue, queued{n, p})
		}
	}
	t.fresh = t.fresh[:0]
}

// next gives the pair to merge. An entry of the queue whose count has changed since
// is put back with the present one.
func (t *bpeTrainer) next() (pair, bool) {
	for len(t.queue) > 0 {
		top := t.queue[0]
		n := int64(0)
		if o := t.pairs[top.pair]; o != nil {
			n = o.count
		}
		switch {
		case n == top.count:
			heap.Pop(&t.queue)
			return top.pair, true
		case n < minPair:
			heap.Pop(&t.queue)
		default:
			t.queue[0].count = n
			heap.Fix(&t.queue, 0)
		}
	}
	return pair{}, false
}

// merge makes a token of a pair, everywhere.
func (t *bpeTrainer) merge(p pair) {
	o := t.pairs[p]
	token := t.enc.Tokens[p.left] + t.enc.Tokens[p.right]
	id, known := t.ids[token]
	if !known {
		id = int32(len(t.enc.Tokens))
		t.enc.Tokens = append(t.enc.Tokens, token)
		t.ids[token] = id
	}
	if !o.merged {
		t.enc.Merges = append(t.enc.Merges, Merge{p.left, p.right, id})
	}
	words := o.words
	o.words, o.merged = nil, true
	for _, i := range words {
		t.mergeIn(i, p, id)
	}
	o.count = 0
	t.enqueue()
}

// mergeIn merges the pair in word i, from left to right.
func (t *bpeTrainer) mergeIn(i int32, p pair, id int32) {
	w := &t.words[i]
	for k := 0; k+1 < len(w.tokens); k++ {
		if w.tokens[k] != p.left || w.tokens[k+1] != p.right {
			continue
		}
		if k > 0 {
			before := w.tokens[k-1]
			t.change(pair{before, p.left}, -w.count, i)
			t.change(pair{before, id}, w.count, i)
		}
		if k+2 < len(w.tokens) {
			after := w.tokens[k+2]
			t.change(pair{p.right, after}, -w.count, i)
			t.change(pair{id, after}, w.count, i)
		}
		w.tokens[k] = id
		w.tokens = slices.Delete(w.tokens, k+1, k+2)
	}
}

func (p pair) compare(q pair) int {
	if p.left != q.left {
		return int(p.left) - int(q.left)
	}
	return int(p.right) - int(q.right)
}

// queued is a pair with the count it had when it was put there.
type queued struct {
	count int64
	pair  pair
}

// pairQueue is a heap with the most frequent pair at the top, of equally frequent
// ones that with the lowest ids.
type pairQueue []queued

func (q pairQueue) Len() int { return len(q) }
func (q pairQueue) Less(i, j int) bool {
	if q[i].count != q[j].count {
		return q[i].count > q[j].count
	}
	return q[i].pair.compare(q[j].pair) < 0
}
func (q pairQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *pairQueue) Push(x any)   { *q = append(*q, x.(queued)) }
func (q *pairQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
