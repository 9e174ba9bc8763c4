package inhouse

import "strconv"

// Pool unites the candidates that several runs have for each query.
type Pool struct {
	depth   int
	queries []string
	docs    map[string][]string
	seen    map[pair]bool
}

type pair struct{ query, document string }

// NewPool makes a pool of the first depth documents of every list.
func NewPool(depth int) *Pool {
	return &Pool{depth: max(depth, 1), docs: map[string][]string{}, seen: map[pair]bool{}}
}

// Add adds the list of one run for a query, best first, up to the depth. Documents
// that are there already are not added again.
func (p *Pool) Add(query string, docs []string) {
	if _, ok := p.docs[query]; !ok {
		p.queries = append(p.queries, query)
		p.docs[query] = nil
	}
	for _, d := range docs[:min(len(docs), p.depth)] {
		if at := (pair{query, d}); !p.seen[at] {
			p.seen[at] = true
			p.docs[query] = append(p.docs[query], d)
		}
	}
}

// Len gives the number of pairs of query and document.
func (p *Pool) Len() int { return len(p.seen) }

// String counts, for messages.
func (p *Pool) String() string {
	return count(len(p.seen), "candidate", "candidates") + " for " + count(len(p.queries), "query", "queries")
}

// count is a number with its noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
