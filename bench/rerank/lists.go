package rerank

import (
	"fmt"
	"math"

	"encbench/bench/collection"
	"encbench/metrics/ranking"
)

// Lists is a first-stage run in memory: for the queries of a collection their
// documents, best first. It takes about 16 bytes and the identifier for each row.
type Lists struct {
	number   map[string]int // of each query of the collection
	from, to []int          // rows of each query
	came     []bool         // the run has the query, if only with an empty list
	docs     ranking.IDs
	score    []float64
	seen     map[string]int // rank of each document of the list that is being added
	dropSelf bool

	// Unknown counts the queries of the run that the collection has not, or has
	// without a judgement; they are not kept. UnknownIDs are the first of them.
	Unknown    int
	UnknownIDs []string
	// SelfHits counts the documents that were dropped because their identifier is the
	// query's.
	SelfHits int
}

// shown is how many identifiers a message or a record names.
const shown = 3

// maxNames bounds what identifiers take, which ranking.IDs counts in 32 bits.
const maxNames = math.MaxUint32

// NewLists prepares for a run over the queries of a collection. With dropSelf a
// document whose identifier is the query's is left out, by identifier.
func NewLists(queries []collection.Query, dropSelf bool) *Lists {
	l := &Lists{
		number: make(map[string]int, len(queries)), from: make([]int, len(queries)), to: make([]int, len(queries)),
		came: make([]bool, len(queries)), seen: map[string]int{}, dropSelf: dropSelf,
	}
	for i := range queries {
		l.number[queries[i].ID] = i
	}
	return l
}

// Add takes the documents of a query with their scores, best first. A query that came
// before and a document that stands in the list twice are errors.
func (l *Lists) Add(query string, docs []string, scores []float64) error {
	q, ok := l.number[query]
	if !ok {
		if l.Unknown++; len(l.UnknownIDs) < shown {
			l.UnknownIDs = append(l.UnknownIDs, query)
		}
		return nil
	}
	if l.came[q] {
		return fmt.Errorf("query %q has two lists; a run holds one for each query", query)
	}
	clear(l.seen)
	l.came[q], l.from[q] = true, len(l.score)
	for i, doc := range docs {
		if earlier, ok := l.seen[doc]; ok {
			return fmt.Errorf("query %q: document %q stands at ranks %d and %d; a document is ranked once", query, doc, earlier+1, i+1)
		}
		l.seen[doc] = i
		if l.dropSelf && doc == query {
			l.SelfHits++
			continue
		}
		if len(l.docs.Bytes)+len(doc) > maxNames {
			return fmt.Errorf("query %q: the identifiers of the run take more than %d bytes", query, maxNames)
		}
		l.docs.Append([]byte(doc))
		l.score = append(l.score, scores[i])
	}
	l.to[q] = len(l.score)
	return nil
}

// Queries counts the queries of the collection that have a list, and those of them
// whose list is not empty.
func (l *Lists) Queries() (all, filled int) {
	for q, came := range l.came {
		if came {
			all++
		}
		if l.to[q] > l.from[q] {
			filled++
		}
	}
	return all, filled
}

// Rows is the number of documents in all lists.
func (l *Lists) Rows() int { return len(l.score) }

// Longest is the length of the longest list.
func (l *Lists) Longest() int {
	n := 0
	for q := range l.from {
		n = max(n, l.to[q]-l.from[q])
	}
	return n
}

// Each visits every document of every list, queries by their number in the
// collection. The identifier is a view.
func (l *Lists) Each(visit func(query int, doc []byte) error) error {
	for q := range l.from {
		for row := l.from[q]; row < l.to[q]; row++ {
			if err := visit(q, l.docs.At(row)); err != nil {
				return err
			}
		}
	}
	return nil
}
