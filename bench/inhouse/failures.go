package inhouse

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"encbench/bench/collection"
)

// maxExpected is how many expected documents of a query are kept.
const maxExpected = 50

// Failure is a query whose ranking has no relevant document among the first Cut.
type Failure struct {
	Query    string     `json:"query"`
	Text     string     `json:"text"`
	Expected []Expected `json:"expected"`       // relevant documents: greatest grade first, then best rank
	More     int        `json:"more,omitempty"` // relevant documents beyond the 50 in Expected
	Found    []Found    `json:"found"`          // the first Cut documents, best first
	// Missing says that the run has no ranking for the query.
	Missing bool `json:"missing,omitempty"`
}

// Expected is a relevant document and where it was.
type Expected struct {
	ID    string   `json:"id"`
	Grade float64  `json:"grade"`
	Rank  int      `json:"rank"`            // from 1; 0 = not in the ranking
	Score *float64 `json:"score,omitempty"` // where it has a rank
}

// Found is a document that came instead.
type Found struct {
	ID    string   `json:"id"`
	Score float64  `json:"score"`
	Grade *float64 `json:"grade,omitempty"` // its label, where it has one
}

// Best gives the best rank of a relevant document, 0 where none was found.
func (f *Failure) Best() int {
	best := 0
	for _, e := range f.Expected {
		if e.Rank > 0 && (best == 0 || e.Rank < best) {
			best = e.Rank
		}
	}
	return best
}

// Failures collects the failed queries of one ranking of a collection. It serves
// one goroutine.
type Failures struct {
	cut      int
	c        *collection.Collection
	relevant int              // queries that have a relevant document
	number   map[string]int   // of each of these in the collection
	added    map[string]bool  // queries that had a ranking
	failed   map[int]*Failure // by number
	Unknown  int              // rankings of queries that the collection does not have
}

// NewFailures prepares to collect: a query fails when no document of a grade above
// 0 is among the first cut, at least 1. Queries without a relevant document cannot
// fail.
func NewFailures(c *collection.Collection, cut int) *Failures {
	f := &Failures{cut: max(cut, 1), c: c, number: map[string]int{}, added: map[string]bool{}, failed: map[int]*Failure{}}
	for i, q := range c.Queries {
		if len(f.expected(q.ID)) > 0 {
			f.relevant++
			f.number[q.ID] = i
		} else {
			f.number[q.ID] = -1
		}
	}
	return f
}

// expected gives the relevant documents of a query, in no order yet.
func (f *Failures) expected(query string) []Expected {
	j, ok := f.c.Qrels.Find(query)
	if !ok {
		return nil
	}
	var out []Expected
	docs, grades := f.c.Qrels.Judged(j)
	for i, d := range docs {
		if grades[i] > 0 {
			out = append(out, Expected{ID: d, Grade: grades[i]})
		}
	}
	return out
}

// Add takes the ranking of one query, best document first, as the judge ranks it,
// to whatever depth there is: ranks of relevant documents are those in docs. A
// query added twice is an error, and so is a score that is not a number.
func (f *Failures) Add(query string, docs []string, scores []float64) error {
	if len(docs) != len(scores) {
		panic(fmt.Sprintf("inhouse: %d documents with %d scores", len(docs), len(scores)))
	}
	at, ok := f.number[query]
	if !ok {
		f.Unknown++
		return nil
	}
	if f.added[query] {
		return fmt.Errorf("failures of %s: query %q has two rankings", f.c.Name, query)
	}
	f.added[query] = true
	if at < 0 {
		return nil
	}
	expected := f.expected(query)
	of := make(map[string]int, len(expected))
	for i, e := range expected {
		of[e.ID] = i
	}
	for r, d := range docs {
		if math.IsNaN(scores[r]) || math.IsInf(scores[r], 0) {
			return fmt.Errorf("failures of %s: query %q, document %q: score %v", f.c.Name, query, d, scores[r])
		}
		if i, ok := of[d]; ok {
			if r < f.cut {
				return nil
			}
			if expected[i].Rank == 0 {
				expected[i].Rank, expected[i].Score = r+1, &scores[r]
			}
		}
	}
	failure := f.failure(at, expected)
	j, _ := f.c.Qrels.Find(query)
	for r, d := range docs[:min(len(docs), f.cut)] {
		found := Found{ID: d, Score: scores[r]}
		if g, ok := f.c.Qrels.Grade(j, d); ok {
			found.Grade = &g
		}
		failure.Found = append(failure.Found, found)
	}
	f.failed[at] = failure
	return nil
}

func (f *Failures) failure(at int, expected []Expected) *Failure {
	slices.SortStableFunc(expected, func(a, b Expected) int {
		far := func(e Expected) int { return e.Rank - 1 } // 0 becomes −1, the greatest as uint
		return cmp.Or(cmp.Compare(b.Grade, a.Grade), cmp.Compare(uint(far(a)), uint(far(b))))
	})
	q := f.c.Queries[at]
	out := &Failure{Query: q.ID, Text: q.Text, Expected: expected, Found: []Found{}}
	if len(expected) > maxExpected {
		out.Expected, out.More = expected[:maxExpected], len(expected)-maxExpected
	}
	for i := range out.Expected {
		if s := out.Expected[i].Score; s != nil {
			own := *s // not the caller's slice
			out.Expected[i].Score = &own
		}
	}
	return out
}

// Missed gives the failed queries in the order of the collection: those without a
// relevant document among the first cut, and those that no ranking was added for.
func (f *Failures) Missed() []Failure {
	var out []Failure
	for i, q := range f.c.Queries {
		switch {
		case f.number[q.ID] < 0:
		case f.failed[i] != nil:
			out = append(out, *f.failed[i])
		case !f.added[q.ID]:
			missing := f.failure(i, f.expected(q.ID))
			missing.Missing = true
			out = append(out, *missing)
		}
	}
	return out
}
