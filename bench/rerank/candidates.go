package rerank

import (
	"errors"
	"fmt"
	"math"
)

// candidates are the pairs of a collection: for each query its first documents.
// Pairs are numbered query by query, in the order of the lists.
type candidates struct {
	lists *Lists
	first []int // pair number of each query's first candidate; one more than queries
	// By document, in the order of first appearance: its first pair; by pair: the next
	// one of the same document, −1 after the last.
	number map[string]int32
	head   []int32
	next   []int32
	query  []int32 // of each pair
	found  []bool  // by document: the collection has it
	short  int     // queries with a list of fewer documents than asked for
}

// choose takes the first top documents of each list.
func choose(l *Lists, top int) (*candidates, error) {
	c := &candidates{lists: l, first: make([]int, 1, len(l.from)+1), number: map[string]int32{}}
	var tail []int32 // by document: its last pair so far
	for q := range l.from {
		n := min(top, l.to[q]-l.from[q])
		if l.came[q] && n < top {
			c.short++
		}
		if len(c.query)+n > math.MaxInt32 {
			return nil, fmt.Errorf("more than %d pairs; rerank fewer queries or documents at a time", math.MaxInt32)
		}
		for i := range n {
			pair := int32(len(c.query))
			c.query, c.next = append(c.query, int32(q)), append(c.next, -1)
			id := l.docs.At(l.from[q] + i)
			doc, ok := c.number[string(id)]
			if !ok {
				doc = int32(len(c.head))
				c.number[string(id)] = doc
				c.head, tail = append(c.head, pair), append(tail, pair)
				continue
			}
			c.next[tail[doc]] = pair
			tail[doc] = pair
		}
		c.first = append(c.first, len(c.query))
	}
	c.found = make([]bool, len(c.head))
	return c, nil
}

// pairs is their number.
func (c *candidates) pairs() int { return len(c.query) }

// doc gives the identifier of a pair's document, a view.
func (c *candidates) doc(pair int32) []byte {
	q := c.query[pair]
	return c.lists.docs.At(c.lists.from[q] + int(pair) - c.first[q])
}

// missing lists the documents that the collection has not, with the pairs that cannot
// be scored for it; examples are the first identifiers.
func (c *candidates) missing() (docs int, pairs int64, examples []string) {
	for d, head := range c.head {
		if c.found[d] {
			continue
		}
		if docs++; len(examples) < shown {
			examples = append(examples, string(c.doc(head)))
		}
		for p := head; p >= 0; p = c.next[p] {
			pairs++
		}
	}
	return docs, pairs, examples
}

// errNoPairs: there is nothing to score.
var errNoPairs = errors.New("no document to rerank")
