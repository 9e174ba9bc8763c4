package collection

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"encbench/corpus"
	"encbench/metrics/judge"
)

// Synonyms of the fields, in the order of preference.
var (
	queryIDNames     = []string{"_id", "id", "query-id", "query_id", "qid", "q_id", "question_id", "topic"}
	corpusIDNames    = []string{"_id", "id", "docid", "doc_id", "docno", "pid"} // of corpus.NewJSONL
	queryTextNames   = []string{"text", "query", "question", "title"}
	documentIDNames  = []string{"_id", "id", "corpus-id", "corpus_id", "doc", "did", "doc_id", "docid", "document_id", "docno", "pid"}
	gradeNames       = []string{"score", "relevance", "rel", "label", "grade"}
	instructionNames = []string{"instruction"}
	groupNames       = []string{"group", "conversation_id"}
	labelNames       = []string{"labels", "relevant", "positive_passages"}
)

// readTables reads the picked files. qrels is nil where queries bring their labels.
func (r *raw) readTables(l *listing, docs, queries, qrels []part, opt Options) error {
	r.docs = l.documents(docs)
	r.at = places{fileNames(docs), fileNames(queries), fileNames(queries)}
	if qrels != nil {
		r.at.qrels = fileNames(qrels)
	}
	t := queryTable{labelled: qrels == nil}
	if qrels == nil {
		r.qrels = &judge.Qrels{}
		t.qrels = r.qrels
	} else if err := r.readQrels(l, qrels); err != nil {
		return err
	}
	for _, path := range l.paths(queries) {
		read := t.jsonl
		if strings.HasSuffix(plain(path), ".tsv") {
			read = t.tsv
		}
		if err := read(path); err != nil {
			return err
		}
	}
	r.queries = t.queries
	if t.instructed {
		r.notes = append(r.notes, "queries bring an instruction, which is not part of their text")
	}
	if t.clustered {
		r.notes = append(r.notes, "turns of one conversation are not independent: they share a group")
	}
	if t.unread {
		r.notes = append(r.notes, "labels that queries bring are not read, as there are judgements in "+r.at.qrels)
	}
	if t.negatives {
		r.notes = append(r.notes, "negative_passages are not read as judgements")
	}
	return r.byLength(l.paths(docs), t.lengths, opt.Split)
}

// paths gives the paths of files.
func (l *listing) paths(parts []part) []string {
	paths := make([]string, len(parts))
	for i, p := range parts {
		paths[i] = l.path(p.file)
	}
	return paths
}

// fileNames lists files for a message.
func fileNames(parts []part) string {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.file
	}
	return firstFiles(names)
}

// documents opens document files, all of one format.
func (l *listing) documents(parts []part) opener {
	scanner := corpus.NewJSONL
	if strings.HasSuffix(plain(parts[0].file), ".tsv") {
		scanner = corpus.NewTSV
	}
	return files(l.paths(parts), true, scanner)
}

// queryTable collects queries from tables.
type queryTable struct {
	labelled bool
	qrels    *judge.Qrels // filled from labels where labelled

	queries               []placed
	lengths               []int // context_length of each query, 0 for none
	instructed, clustered bool
	negatives             bool // lines bring negative_passages
	unread                bool // lines bring labels where there are qrels
}

// add takes in a query.
func (t *queryTable) add(q placed, length int) {
	// MT-RAG: HASH<::>turn.
	if conversation, _, ok := strings.Cut(q.ID, "<::>"); ok && q.Group == "" {
		q.Group = conversation
	}
	t.clustered = t.clustered || q.Group != ""
	t.instructed = t.instructed || q.Instruction != ""
	t.queries = append(t.queries, q)
	t.lengths = append(t.lengths, length)
}

// jsonl reads queries from JSON lines.
func (t *queryTable) jsonl(path string) error {
	return eachLine(path, func(line []byte, number int) error {
		return t.line(line, path+":"+strconv.Itoa(number))
	})
}

// line reads a query from a line of JSON lines.
func (t *queryTable) line(line []byte, place string) error {
	o, err := parseObject(line)
	if err != nil {
		return err
	}
	q := placed{place: place}
	if q.ID, err = o.id(queryIDNames); err != nil {
		return err
	}
	var ok bool
	if q.Text, ok, err = o.text(queryTextNames); err != nil {
		return fmt.Errorf("query %q: %w", q.ID, err)
	} else if !ok {
		return fmt.Errorf("query %q: no text (one of %s)", q.ID, strings.Join(queryTextNames, ", "))
	}
	if q.Instruction, _, err = o.text(instructionNames); err != nil {
		return fmt.Errorf("query %q: %w", q.ID, err)
	}
	if q.Group, err = o.group(); err != nil {
		return fmt.Errorf("query %q: %w", q.ID, err)
	}
	if t.labelled {
		if err := o.labels(t.qrels, q.ID); err != nil {
			return err
		}
		t.negatives = t.negatives || o["negative_passages"] != nil
	} else if name, _ := o.field(labelNames); name != "" {
		t.unread = true
	}
	length, err := o.contextLength()
	t.add(q, length)
	return err
}

// group reads the cluster of a query, "" for none.
func (o object) group() (string, error) {
	n, v := o.field(groupNames)
	if n == "" {
		return "", nil
	}
	return idOf(n, v)
}

// tsv reads queries from lines of id, tab, text; a first line of column names is
// left out.
func (t *queryTable) tsv(path string) error {
	if t.labelled {
		return fmt.Errorf("%s: %w: no judgements: expected qrels beside queries in TSV", path, ErrLayout)
	}
	first := true
	return eachLine(path, func(line []byte, number int) error {
		if err := checkUTF8(line); err != nil {
			return err
		}
		columns := strings.Split(string(line), "\t")
		if len(columns) != 2 {
			return fmt.Errorf("%d columns: expected 2 (query id, text), separated by a tab", len(columns))
		}
		header := first && slices.Contains(queryIDNames, columns[0]) && slices.Contains(queryTextNames, columns[1])
		first = false
		switch {
		case header:
			return nil
		case columns[0] == "":
			return fmt.Errorf("the query id is empty")
		}
		t.add(placed{Query{ID: columns[0], Text: columns[1]}, path + ":" + strconv.Itoa(number)}, 0)
		return nil
	})
}
