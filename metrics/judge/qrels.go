package judge

import (
	"fmt"
	"hash/maphash"
	"math"

	"encbench/metrics"
)

// Qrels is a set of judgements: for each query its judged documents and their
// grades. The zero value is empty. Identifiers are bytes and are compared as such.
// Reading it is safe from several goroutines once nothing is added any more.
type Qrels struct {
	queries []string
	judged  []judged
	byQuery map[string]int32
	// Judgements of one query mostly stand together: the last query is remembered,
	// and its list grows at the end of a piece that it shares with those before it.
	last   int32
	docs   []string
	grades []float64
	// Repeated counts judgements that were given again with the same grade.
	Repeated int
}

// judged is one query's judgements.
type judged struct {
	docs   []string
	grades []float64
	// index finds a document: a hash table with place+1 in docs, 0 where empty, its
	// length a power of two. A short list has none and is searched.
	index []uint32
}

// searched is the length up to which a list of judgements has no index.
const searched = 16

var seed = maphash.MakeSeed()

// Add adds a judgement and keeps the two strings. The same judgement again is
// counted; another grade for the same query and document is an error, and so is a
// grade that is not a number within ±metrics.MaxGrade.
func (j *Qrels) Add(query, doc string, grade float64) error {
	if !(math.Abs(grade) <= metrics.MaxGrade) {
		return fmt.Errorf("query %q, document %q: grade %v: must be a number from %g to %g", query, doc, grade, -metrics.MaxGrade, metrics.MaxGrade)
	}
	if j.byQuery == nil {
		j.byQuery = make(map[string]int32)
	}
	q := j.last
	if len(j.queries) == 0 || j.queries[q] != query {
		var ok bool
		if q, ok = j.byQuery[query]; !ok {
			q = int32(len(j.queries))
			j.byQuery[query] = q
			j.queries = append(j.queries, query)
			j.judged = append(j.judged, judged{docs: j.docs[len(j.docs):], grades: j.grades[len(j.grades):]})
			j.last = q
		}
	}
	of := &j.judged[q]
	if d := of.find(doc); d >= 0 {
		if of.grades[d] != grade {
			return fmt.Errorf("query %q, document %q: judged twice, %v and %v", query, doc, of.grades[d], grade)
		}
		j.Repeated++
		return nil
	}
	if q == j.last {
		j.grow(of)
	}
	of.add(doc, grade)
	return nil
}

// piece is how many judgements are given memory at once.
const piece = 4096

// grow makes room for a judgement behind those of the last query, in the shared
// piece while that lasts.
func (j *Qrels) grow(of *judged) {
	n := len(of.docs)
	if len(j.docs) == cap(j.docs) {
		size := max(piece, 2*n)
		j.docs = append(make([]string, 0, size), of.docs...)
		j.grades = append(make([]float64, 0, size), of.grades...)
	}
	j.docs, j.grades = j.docs[:len(j.docs)+1], j.grades[:len(j.grades)+1]
	from := len(j.docs) - n - 1
	of.docs, of.grades = j.docs[from:from+n:len(j.docs)], j.grades[from:from+n:len(j.grades)]
}

// Len gives the number of judged queries.
func (j *Qrels) Len() int { return len(j.queries) }

// Query gives the identifier of judged query i, in order of first appearance.
func (j *Qrels) Query(i int) string { return j.queries[i] }

// Find gives the number of a judged query.
func (j *Qrels) Find(query string) (int, bool) {
	i, ok := j.byQuery[query]
	return int(i), ok
}

// Judged gives the documents of query i and their grades, in the order in which
// they were added; views, not to be changed.
func (j *Qrels) Judged(i int) (docs []string, grades []float64) {
	return j.judged[i].docs, j.judged[i].grades
}

// Grade gives a document's grade for query i.
func (j *Qrels) Grade(i int, doc string) (grade float64, ok bool) {
	d := j.judged[i].find(doc)
	if d < 0 {
		return 0, false
	}
	return j.judged[i].grades[d], true
}

// find gives the place of a document, −1 where it is not judged.
func (of *judged) find(doc string) int {
	if of.index == nil {
		for d, other := range of.docs {
			if other == doc {
				return d
			}
		}
		return -1
	}
	mask := len(of.index) - 1
	for at := int(maphash.String(seed, doc)) & mask; of.index[at] != 0; at = (at + 1) & mask {
		if d := int(of.index[at]) - 1; of.docs[d] == doc {
			return d
		}
	}
	return -1
}

// add adds a document that is not there yet.
func (of *judged) add(doc string, grade float64) {
	of.docs = append(of.docs, doc)
	of.grades = append(of.grades, grade)
	switch n := len(of.docs); {
	case n <= searched:
	case 2*n > len(of.index):
		of.index = make([]uint32, max(4*searched, 2*len(of.index)))
		for d := range of.docs {
			of.place(d)
		}
	default:
		of.place(n - 1)
	}
}

// place enters document d into the index, which has room.
func (of *judged) place(d int) {
	mask := len(of.index) - 1
	at := int(maphash.String(seed, of.docs[d])) & mask
	for of.index[at] != 0 {
		at = (at + 1) & mask
	}
	of.index[at] = uint32(d + 1)
}
