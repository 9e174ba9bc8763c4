package collection

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"encbench/corpus"
	"encbench/metrics/judge"
)

// The names of judgements beside .I records.
var smartQrels = regexp.MustCompile(`(?i)^(?:\w*qrels?(?:\.txt|\.text)?|\w+\.rel)$`)

// smart reads a folder in the form of the SMART collections.
//
// Judgements of three columns are Cranfield's: query, document and code. Its queries
// are numbered by their position in the file, from 1, not by their .I (001 to 365
// with gaps; joining by it gives wrong scores that look right). Codes 1 (best) to 4
// become gains 4 to 1; -1, which nothing documents, becomes 0. Titles are left out,
// as the text repeats them in its first sentence.
//
// Other judgements begin with query and document, are joined by .I and mean gain 1:
// CISI, CACM. Numbers are compared by value (01 is 1).
func smart(l *listing, opt Options) (*raw, error) {
	records := l.begin(".I ", ".I\t")
	var docs, queries, labels []string
	for _, f := range records {
		if name := strings.ToLower(plain(f)); strings.HasSuffix(name, ".qry") || strings.HasPrefix(name, "query") {
			queries = append(queries, f)
		} else {
			docs = append(docs, f)
		}
	}
	for _, f := range l.files {
		if smartQrels.MatchString(plain(f)) {
			labels = append(labels, f)
		}
	}
	switch {
	case len(docs) == 0:
		return nil, nil
	case len(docs) > 1:
		return nil, fmt.Errorf("%w: several files of .I records: %s; which holds the documents? Queries are those named *.qry or query*", ErrLayout, strings.Join(docs, ", "))
	case len(queries) != 1:
		return nil, fmt.Errorf("%w: %d files of queries beside %s: expected one named *.qry or query*", ErrLayout, len(queries), docs[0])
	case len(labels) != 1:
		return nil, fmt.Errorf("%w: %d files of judgements beside %s: expected one, such as cranqrel or CISI.REL", ErrLayout, len(labels), docs[0])
	}
	if err := noChoice(opt, LayoutSMART); err != nil {
		return nil, err
	}
	r := &raw{layout: LayoutSMART, at: places{docs[0], queries[0], labels[0]}}
	columns, err := r.smartLabels(l.path(labels[0]))
	if err != nil {
		return nil, err
	}
	cranfield := columns == cranfieldColumns
	open := files([]string{l.path(docs[0])}, true, corpus.NewSMART)
	r.docs = open
	if cranfield {
		r.docs = func() (corpus.Source, error) {
			s, err := open()
			return untitled{s}, err
		}
		r.notes = append(r.notes, "queries are joined with judgements by position, not by .I",
			"gain is 5 minus the code (1 is best); code -1, which is undocumented, is gain 0",
			"documents are their .W field, which repeats the title")
	} else {
		note := "queries are joined with judgements by .I; every judgement is gain 1"
		if columns > 2 {
			note += fmt.Sprintf(", as %d of its %d columns are not read", columns-2, columns)
		}
		r.notes = append(r.notes, note)
	}
	return r, r.smartQueries(l.path(queries[0]), cranfield)
}

// noChoice refuses a split, form or variant where a layout has none.
func noChoice(opt Options, layout string) error {
	for _, c := range [...]struct{ what, value string }{{"split", opt.Split}, {"form", opt.Form}, {"variant", opt.Variant}} {
		if c.value != "" {
			return fmt.Errorf("%w: %s %q is not there: layout %s has no %ss", ErrSplit, c.what, c.value, layout, c.what)
		}
	}
	return nil
}

// cranfieldColumns tells Cranfield's judgements from the others.
const cranfieldColumns = 3

// smartLabels reads judgements and gives the number of their columns.
func (r *raw) smartLabels(path string) (columns int, err error) {
	r.qrels = &judge.Qrels{}
	err = eachLine(path, func(line []byte, _ int) error {
		f := strings.Fields(string(line))
		if columns == 0 {
			columns = len(f)
		}
		cranfield := columns == cranfieldColumns
		if len(f) != columns || columns < 2 {
			return fmt.Errorf("%d columns: expected %d (query, document%s)", len(f), max(columns, 2), map[bool]string{true: ", code"}[cranfield])
		}
		if !cranfield {
			return r.qrels.Add(number(f[0]), number(f[1]), 1)
		}
		switch code, err := strconv.Atoi(f[2]); {
		case err != nil || code != -1 && (code < 1 || code > 5):
			return fmt.Errorf("code %q: expected 1 (best) to 4, 5 or -1", f[2])
		case code == -1:
			return r.qrels.Add(number(f[0]), number(f[1]), 0)
		default:
			return r.qrels.Add(number(f[0]), number(f[1]), float64(5-code))
		}
	})
	return columns, err
}

// number takes leading zeros off a whole number; anything else stays as it is.
func number(id string) string {
	if n, err := strconv.ParseUint(id, 10, 64); err == nil {
		return strconv.FormatUint(n, 10)
	}
	return id
}

// smartQueries reads queries, named by position or by their .I.
func (r *raw) smartQueries(path string, byPosition bool) (err error) {
	return scan(files([]string{path}, true, corpus.NewSMART), func(s corpus.Source, d corpus.Doc) error {
		id := number(string(d.ID))
		if byPosition {
			id = strconv.Itoa(len(r.queries) + 1)
		}
		r.queries = append(r.queries, placed{Query{ID: id, Text: flat(string(d.AppendText(nil)))}, place(s)})
		return nil
	})
}

// flat makes each run of white space one space.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }
