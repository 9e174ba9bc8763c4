package collection

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"encbench/corpus"
	"encbench/metrics/judge"
)

// Query is a query with an id of its own.
type Query struct {
	ID   string
	Text string
	// Instruction is a task instruction that the collection gives beside the query
	// (MAIR), "" for none. Text does not contain it; whether and how it is put in
	// front is up to the protocol.
	Instruction string
	// Group is the cluster that the query belongs to, such as its conversation:
	// queries of one group are not independent. "" for a query of its own.
	Group string
}

// Collection is a labelled collection, checked and perhaps limited.
type Collection struct {
	// Name is the last element of the path, with everything that makes it another
	// collection behind it in brackets: split, form, variant, size, seed. Two
	// collections of one name may be compared, two of different names may not.
	Name   string
	Path   string // as given to Open
	Layout string // one of Layouts
	Split  string // of the judgements, "" where the layout has none
	Form   string // of the queries, "" where there is only one

	Queries []Query      // in the order of the collection, each with a judgement
	Qrels   *judge.Qrels // of Queries alone, in their order

	Corpus    corpus.Manifest // of the documents that Open gives, under Name and Layout
	Documents int             // number of them
	Judged    int             // of them, those with a judgement for one of Queries

	// SHA256 covers the documents, the queries and the judgements: see Open.
	SHA256    string
	Integrity Integrity
	Notes     []string // what a report must say, full sentences without full stop

	// Open scans the documents from the beginning, at each call anew. The caller
	// closes the source.
	Open func() (corpus.Source, error)
}

// Integrity counts what is odd about a collection. All counts are of the whole
// collection, before a limit.
type Integrity struct {
	Documents int // in the collection
	Queries   int // with text
	Judgments int // of the split
	// QueriesUnjudged had no judgement and were dropped (MTEB's rule).
	QueriesUnjudged int
	// QueriesWithoutRelevant are judged and have no document of gain above 0: they
	// are kept and score 0.
	QueriesWithoutRelevant int
	// QueriesRepeated were given again with the same text.
	QueriesRepeated int
	// TextsRepeated are queries with the text of an earlier query.
	TextsRepeated int
	// JudgedWithoutText are judged query ids of which there is no query.
	JudgedWithoutText int
	// JudgmentsRepeated were given again with the same grade.
	JudgmentsRepeated int
	// JudgmentsAbsent point at documents that the collection does not have.
	JudgmentsAbsent int
	// JudgmentsNegative have a grade below 0, JudgmentsSmall one between 0 and 1.
	JudgmentsNegative, JudgmentsSmall int
	// DocumentsEmpty have no text, JudgedEmpty of them are relevant to a query.
	DocumentsEmpty, JudgedEmpty int
	// DocumentsNotUTF8 have bytes in their text that are not UTF-8.
	DocumentsNotUTF8 int
}

// Options says what to read of a collection. The zero value reads all of its test
// split.
type Options struct {
	// Split picks the judgements, as in qrels/SPLIT.tsv; for LongEmbed's needle and
	// passkey the context length too, as in test_256. "" takes test, or the only one.
	Split string
	// Form picks the form of the queries where there are several: lastturn (the
	// default), rewrite or questions in MT-RAG, lastturn or allturns in MTRAG-UN.
	Form string
	// Variant picks the rendering of the documents where there are several, as in
	// corpus_VARIANT.jsonl: md (the default), linearized, structure.
	Variant string
	// Documents limits the number of documents, Queries that of queries; 0 takes all.
	// Every judged document of the kept queries stays, whatever the limit; the rest
	// is filled up with a sample by Seed. Which are kept depends on ids and Seed alone.
	Documents, Queries int
	Seed               uint64
	// Name stands for the last element of the path.
	Name string
}

// Errors of opening; what wraps them says the rest.
var (
	// ErrLayout: the path holds no layout that can be read.
	ErrLayout = errors.New("not a labelled collection")
	// ErrSplit: the split, form or variant is not there, or has to be chosen.
	ErrSplit = errors.New("no such choice")
	// ErrLabels: the parts contradict each other.
	ErrLabels = errors.New("the parts do not fit")
)

// Open reads the collection at path, a folder or a file, checks it and hashes it:
// the documents are scanned once, twice for a limit. Errors name file and line.
//
// The hash is over the sha256 of the documents (corpus.Manifest), then each query's
// id, text and instruction, then its judgements sorted by document id, with the bits of
// the gain: two collections with one hash give one model the same values.
func Open(path string, opt Options) (*Collection, error) {
	c, err := openCollection(path, opt)
	if err != nil {
		return nil, fmt.Errorf("open collection %s: %w", path, err)
	}
	return c, nil
}

func openCollection(path string, opt Options) (*Collection, error) {
	switch {
	case opt.Documents < 0:
		return nil, fmt.Errorf("a limit of %d documents: expected 1 or more, or 0 for all", opt.Documents)
	case opt.Queries < 0:
		return nil, fmt.Errorf("a limit of %d queries: expected 1 or more, or 0 for all", opt.Queries)
	}
	if _, err := os.Stat(path); err != nil {
		return nil, bare(err)
	}
	r, err := recognise(path, opt)
	if err != nil {
		return nil, err
	}
	return r.finish(path, opt)
}

// bare takes the path out of an error of the system: the caller names it.
func bare(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// name says what the collection is, down to its size.
func (r *raw) name(path string, opt Options, c *Collection) string {
	name := opt.Name
	if name == "" {
		if abs, err := filepath.Abs(path); err == nil {
			path = abs
		}
		name = filepath.Base(path)
		for _, ext := range []string{".gz", ".zst", ".jsonl"} {
			name = strings.TrimSuffix(name, ext)
		}
	}
	var parts []string
	for _, p := range []string{r.split, r.form, r.variant} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if c.Documents < c.Integrity.Documents {
		parts = append(parts, fmt.Sprintf("%d of %d documents", c.Documents, c.Integrity.Documents))
	}
	if all := c.Integrity.Queries - c.Integrity.QueriesUnjudged; len(c.Queries) < all {
		parts = append(parts, fmt.Sprintf("%d of %d queries", len(c.Queries), all))
	}
	if c.Documents < c.Integrity.Documents || len(c.Queries) < c.Integrity.Queries-c.Integrity.QueriesUnjudged {
		parts = append(parts, fmt.Sprintf("seed %d", opt.Seed))
	}
	if len(parts) == 0 {
		return name
	}
	return name + " (" + strings.Join(parts, ", ") + ")"
}
