package collection

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"

	"encbench/corpus"
	"encbench/metrics/judge"
	"encbench/metrics/trec"
)

// raw is a collection as its layout gives it, before it is checked.
type raw struct {
	layout, split, form, variant string

	docs    opener
	queries []placed
	qrels   *judge.Qrels
	notes   []string
	at      places
}

// places names the files that the parts were read from, for messages.
type places struct{ docs, queries, qrels string }

// placed is a query and where it was read.
type placed struct {
	Query
	place string
}

// finish checks a collection, limits it and hashes it.
func (r *raw) finish(path string, opt Options) (*Collection, error) {
	c := &Collection{Path: path, Layout: r.layout, Split: r.split, Form: r.form, Notes: r.notes, Open: r.docs}
	if err := r.checkQueries(c); err != nil {
		return nil, err
	}
	limitQueries(c, opt)
	t := newTable(r.qrels, c, opt)
	if err := scan(r.docs, t.add); err != nil {
		return nil, err
	}
	if err := t.check(r); err != nil {
		return nil, err
	}
	t.count(c)
	c.Qrels = subset(r.qrels, c.Queries)

	limited := opt.Documents > 0 && t.kept() < c.Integrity.Documents
	if limited {
		c.Open = some(r.docs, t.keep())
		t.tally = corpus.Tally{}
		if err := scan(c.Open, func(_ corpus.Source, d corpus.Doc) error { t.tally.Add(d); return nil }); err != nil {
			return nil, err
		}
	}
	c.Corpus = t.tally.Manifest("", r.layout)
	c.Documents = int(c.Corpus.Documents)
	c.Name = r.name(path, opt, c)
	c.Corpus.Name = c.Name
	c.SHA256 = c.hash()
	c.noteLimit(opt, limited)
	c.Notes = append(c.Notes, c.Integrity.Sentences()...)
	return c, nil
}

// checkQueries makes the queries of c: each id once, each with a judgement.
func (r *raw) checkQueries(c *Collection) error {
	n := &c.Integrity
	first := make(map[string]*placed, len(r.queries))
	texts := make(map[string]bool, len(r.queries))
	for i := range r.queries {
		q := &r.queries[i]
		if same := first[q.ID]; same != nil {
			if same.Text != q.Text {
				return fmt.Errorf("%s: %w: query id %q has another text at %s; give each query an id of its own", q.place, ErrLabels, q.ID, same.place)
			}
			n.QueriesRepeated++
			continue
		}
		if len(q.ID) > trec.MaxID {
			return fmt.Errorf("%s: %w", q.place, longID(len(q.ID)))
		}
		j, judged := r.qrels.Find(q.ID)
		if judged && strings.TrimSpace(q.Text) == "" {
			return fmt.Errorf("%s: %w: query %q is judged and has no text; give it one, or take its judgements out", q.place, ErrLabels, q.ID)
		}
		first[q.ID] = q
		n.Queries++
		if texts[q.Text] {
			n.TextsRepeated++
		}
		texts[q.Text] = true
		if !judged {
			n.QueriesUnjudged++
			continue
		}
		if _, grades := r.qrels.Judged(j); !slices.ContainsFunc(grades, relevant) {
			n.QueriesWithoutRelevant++
		}
		c.Queries = append(c.Queries, q.Query)
	}
	for j := range r.qrels.Len() {
		_, grades := r.qrels.Judged(j)
		n.Judgments += len(grades)
		for _, g := range grades {
			switch {
			case g < 0:
				n.JudgmentsNegative++
			case g > 0 && g < 1:
				n.JudgmentsSmall++
			}
		}
		if first[r.qrels.Query(j)] == nil {
			n.JudgedWithoutText++
		}
	}
	n.JudgmentsRepeated = r.qrels.Repeated
	switch {
	case n.Queries == 0:
		return fmt.Errorf("%w: no query in %s", ErrLabels, r.at.queries)
	case r.qrels.Len() == 0:
		return fmt.Errorf("%w: no judgement in %s", ErrLabels, r.at.qrels)
	case len(c.Queries) == 0:
		return fmt.Errorf("%w: none of the %d judged queries is among the %d queries: judged are %s, queries are %s; do the files belong together?",
			ErrLabels, r.qrels.Len(), n.Queries, examples(r.qrels.Len(), r.qrels.Query),
			examples(len(r.queries), func(i int) string { return r.queries[i].ID }))
	}
	return nil
}

// longID is the error for an id that no run file can hold.
func longID(n int) error {
	return fmt.Errorf("an id of %d bytes, at most %d are read", n, trec.MaxID)
}

func relevant(grade float64) bool { return grade > 0 }

// examples quotes the first three of n ids.
func examples(n int, id func(int) string) string {
	var s []string
	for i := range min(n, 3) {
		s = append(s, fmt.Sprintf("%.60q", id(i)))
	}
	if n > 3 {
		s = append(s, "…")
	}
	return strings.Join(s, ", ")
}

// subset gives the judgements of these queries, in their order.
func subset(all *judge.Qrels, queries []Query) *judge.Qrels {
	some := &judge.Qrels{}
	for _, q := range queries {
		j, _ := all.Find(q.ID)
		docs, grades := all.Judged(j)
		for i, d := range docs {
			if err := some.Add(q.ID, d, grades[i]); err != nil {
				panic("collection: a judgement that was accepted before: " + err.Error())
			}
		}
	}
	return some
}

// hash identifies a collection; see Open.
func (c *Collection) hash() string {
	h := sha256.New()
	var b []byte
	part := func(s string) {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(s)))
		b = append(b, s...)
	}
	part("encbench collection 1")
	part(c.Corpus.SHA256)
	for i, q := range c.Queries {
		part(q.ID)
		part(q.Text)
		part(q.Instruction)
		docs, grades := c.Qrels.Judged(i)
		order := make([]int, len(docs))
		for k := range order {
			order[k] = k
		}
		slices.SortFunc(order, func(x, y int) int { return strings.Compare(docs[x], docs[y]) })
		b = binary.LittleEndian.AppendUint64(b, uint64(len(order)))
		for _, k := range order {
			part(docs[k])
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(grades[k]))
		}
		h.Write(b)
		b = b[:0]
	}
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil))
}

// Sentences says what is odd, one sentence for each count above zero that changes
// or may explain a figure.
func (n Integrity) Sentences() []string {
	var s []string
	say := func(count int, one, many string, args ...any) {
		switch {
		case count == 1:
			s = append(s, fmt.Sprintf(one, args...))
		case count > 1:
			s = append(s, fmt.Sprintf(many, args...))
		}
	}
	of := func(count, all int, noun, one, many string, args ...any) {
		args = append([]any{count, all}, args...)
		say(count, "%d of %d "+noun+" "+one, "%d of %d "+noun+" "+many, args...)
	}
	of(n.QueriesUnjudged, n.Queries, "queries", "has no judgement and is left out before encoding", "have no judgement and are left out before encoding")
	say(n.QueriesWithoutRelevant, "%d judged query has no relevant document and scores 0", "%d judged queries have no relevant document and score 0", n.QueriesWithoutRelevant)
	say(n.JudgedWithoutText, "%d judged query id has no query and is left out", "%d judged query ids have no query and are left out", n.JudgedWithoutText)
	of(n.JudgmentsAbsent, n.Judgments, "judgements", "points at a document that the collection does not have; where it is relevant, recall cannot reach 1",
		"point at documents that the collection does not have; where they are relevant, recall cannot reach 1")
	of(n.JudgmentsNegative, n.Judgments, "judgements", "has a grade below 0: not relevant, and without gain", "have a grade below 0: not relevant, and without gain")
	of(n.JudgmentsSmall, n.Judgments, "judgements", "has a grade between 0 and 1: a gain for nDCG, not relevant for measures that count from grade 1",
		"have a grade between 0 and 1: a gain for nDCG, not relevant for measures that count from grade 1")
	of(n.DocumentsNotUTF8, n.Documents, "documents", "holds bytes that are not UTF-8, which a tokenizer replaces or drops", "hold bytes that are not UTF-8, which a tokenizer replaces or drops")
	of(n.DocumentsEmpty, n.Documents, "documents", "has no text, %d of them relevant to a query", "have no text, %d of them relevant to a query", n.JudgedEmpty)
	say(n.QueriesRepeated, "%d query is given again with the same id and text", "%d queries are given again with the same id and text", n.QueriesRepeated)
	say(n.TextsRepeated, "%d query has the text of another query", "%d queries have the text of another query", n.TextsRepeated)
	say(n.JudgmentsRepeated, "%d judgement is given again with the same grade", "%d judgements are given again with the same grade", n.JudgmentsRepeated)
	return s
}
