package collection

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"unicode/utf8"

	"encbench/corpus"
	"encbench/metrics/judge"
	"encbench/metrics/trec"
)

// table is what one scan over the documents finds out: which judged documents are
// there, which ids come twice, and which documents a limit keeps.
type table struct {
	seed   uint64
	limit  int // of documents, 0 for none
	judged map[string]*found
	chosen int // judged documents of kept queries that are there

	tally  corpus.Tally
	hashes []uint64 // of each document's id
	empty  int
	bad    int     // documents that are not UTF-8
	must   []int64 // numbers of judged documents of kept queries
	spare  []spare // the best candidates among the other documents
	first  []string

	text []byte
}

// found is what is known of a judged document.
type found struct {
	judgments int  // of it
	kept      bool // judged for a query that is kept
	relevant  bool // to any query
	there     bool // among the documents
	empty     bool
}

// spare is a document that a limit may keep; the smallest rank goes first.
type spare struct {
	rank   uint64
	number int64
}

func compareSpare(a, b spare) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.number, b.number))
}

// newTable prepares a scan. The queries of c are already limited.
func newTable(qrels *judge.Qrels, c *Collection, opt Options) *table {
	// No corpus has 2⁴⁰ documents, and twice a limit must not overflow.
	t := &table{seed: opt.Seed, limit: min(opt.Documents, 1<<40), judged: map[string]*found{}}
	for j := range qrels.Len() {
		docs, grades := qrels.Judged(j)
		for i, d := range docs {
			f := t.judged[d]
			if f == nil {
				f = &found{}
				t.judged[d] = f
			}
			f.judgments++
			f.relevant = f.relevant || relevant(grades[i])
		}
	}
	for _, q := range c.Queries {
		j, _ := qrels.Find(q.ID)
		docs, _ := qrels.Judged(j)
		for _, d := range docs {
			t.judged[d].kept = true
		}
	}
	return t
}

// add takes in the next document.
func (t *table) add(s corpus.Source, d corpus.Doc) error {
	if len(d.ID) > trec.MaxID {
		return fmt.Errorf("%s: %w", place(s), longID(len(d.ID)))
	}
	t.tally.Add(d)
	number := int64(len(t.hashes))
	t.hashes = append(t.hashes, hashID(0, d.ID))
	if len(t.first) < 4 {
		t.first = append(t.first, string(d.ID))
	}
	t.text = d.AppendText(t.text[:0])
	if len(t.text) == 0 {
		t.empty++
	}
	if !utf8.Valid(t.text) {
		t.bad++
	}
	f := t.judged[string(d.ID)]
	if f != nil {
		f.there, f.empty = true, len(t.text) == 0
		if f.kept {
			t.chosen++
		}
	}
	switch {
	case t.limit == 0:
	case f != nil && f.kept:
		t.must = append(t.must, number)
	default:
		t.spare = append(t.spare, spare{hashID(t.seed, d.ID), number})
		// Twice the limit before the worse half goes: constant cost a document.
		if len(t.spare) >= 2*t.limit+1024 {
			slices.SortFunc(t.spare, compareSpare)
			t.spare = t.spare[:t.limit]
		}
	}
	return nil
}

// check refuses documents of one id and judgements of which none fits.
func (t *table) check(r *raw) error {
	if len(t.hashes) == 0 {
		return fmt.Errorf("%w: no document in %s", ErrLabels, r.at.docs)
	}
	if err := t.unique(r.docs); err != nil {
		return err
	}
	for _, f := range t.judged {
		if f.there {
			return nil
		}
	}
	docs, _ := r.qrels.Judged(0)
	return fmt.Errorf("%w: none of the %d judged documents is among the %d documents: judged are %s, documents are %s; do the files belong together?",
		ErrLabels, len(t.judged), len(t.hashes), examples(len(docs), func(i int) string { return docs[i] }),
		examples(len(t.first), func(i int) string { return t.first[i] }))
}

// unique refuses two documents of one id, with both places. Hashes find the
// suspects, which costs 16 bytes a document; a second scan, which an intact
// collection does not need, compares their ids.
func (t *table) unique(open opener) error {
	sorted := slices.Clone(t.hashes)
	slices.Sort(sorted)
	suspect := map[uint64]bool{}
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			suspect[sorted[i]] = true
		}
	}
	if len(suspect) == 0 {
		return nil
	}
	number, at := -1, map[string]string{}
	return scan(open, func(s corpus.Source, d corpus.Doc) error {
		if number++; number == len(t.hashes) {
			return fmt.Errorf("%s: %w: there are more documents than a moment ago; open the collection when nothing writes to it", place(s), ErrLabels)
		}
		if !suspect[t.hashes[number]] {
			return nil
		}
		if earlier, ok := at[string(d.ID)]; ok {
			return fmt.Errorf("%s: %w: document id %q is that of %s too; judgements cannot tell them apart", place(s), ErrLabels, d.ID, earlier)
		}
		at[string(d.ID)] = place(s)
		return nil
	})
}

// count fills in what c says of its documents.
func (t *table) count(c *Collection) {
	n := &c.Integrity
	n.Documents, n.DocumentsEmpty, n.DocumentsNotUTF8 = len(t.hashes), t.empty, t.bad
	c.Judged = t.chosen
	for _, f := range t.judged {
		switch {
		case !f.there:
			n.JudgmentsAbsent += f.judgments
		case f.empty && f.relevant:
			n.JudgedEmpty++
		}
	}
}

// kept gives the number of documents that the limit keeps.
func (t *table) kept() int {
	return max(min(t.limit, len(t.hashes)), len(t.must))
}

// keep gives the numbers of these documents, ascending.
func (t *table) keep() []int64 {
	slices.SortFunc(t.spare, compareSpare)
	keep := t.must
	for _, s := range t.spare[:t.kept()-len(t.must)] {
		keep = append(keep, s.number)
	}
	slices.Sort(keep)
	return keep
}

// hashID gives a number that depends on seed and id alone, the same everywhere:
// FNV-1a, then the finaliser of splitmix64, as FNV alone keeps ids that differ in
// their last byte close together.
func hashID(seed uint64, id []byte) uint64 {
	h := fnv.New64a()
	h.Write(id)
	z := h.Sum64() ^ (seed+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
