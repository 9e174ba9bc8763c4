package collection

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"encbench/corpus"
	"encbench/metrics/judge"
)

// labels reads the labels of a query line: under labels, relevant or
// positive_passages either an array, of document ids or of objects with a document
// id and perhaps a grade, or an object of grades by document id. A grade that is
// not given is 1.
func (o object) labels(q *judge.Qrels, query string) error {
	name, v := o.field(labelNames)
	for _, other := range labelNames {
		if v := o[other]; other != name && v != nil && string(v) != "null" {
			return fmt.Errorf("query %q: fields %q and %q mean the same", query, name, other)
		}
	}
	if name == "" {
		return fmt.Errorf("query %q: no labels (one of %s), and the collection has no qrels", query, strings.Join(labelNames, ", "))
	}
	wrong := fmt.Errorf("query %q: %s: expected an array of document ids or of objects {\"id\", \"score\"}, or an object of grades by document id", query, name)
	switch v[0] {
	case '{':
		// Not through a map: that keeps one of two grades of a document.
		d := json.NewDecoder(bytes.NewReader(v))
		if _, err := d.Token(); err != nil {
			return wrong
		}
		for d.More() {
			id, err := d.Token()
			if err != nil {
				return wrong
			}
			var grade json.RawMessage
			if err := d.Decode(&grade); err != nil {
				return wrong
			}
			if err := addLabel(q, query, id.(string), grade); err != nil {
				return err
			}
		}
		return nil
	case '[':
		var items []json.RawMessage
		if err := json.Unmarshal(v, &items); err != nil {
			return wrong
		}
		for _, item := range items {
			if err := oneLabel(q, query, name, item); err != nil {
				return err
			}
		}
		return nil
	}
	return wrong
}

// oneLabel reads an element of an array of labels.
func oneLabel(q *judge.Qrels, query, name string, item json.RawMessage) error {
	if item[0] != '{' {
		id, err := idOf(name, item)
		if err != nil {
			return fmt.Errorf("query %q: %w", query, err)
		}
		return q.Add(query, id, 1)
	}
	var o object
	if err := json.Unmarshal(item, &o); err != nil {
		return fmt.Errorf("query %q: %s: %w", query, name, err)
	}
	id, err := o.id(documentIDNames)
	if err != nil {
		return fmt.Errorf("query %q: %s: %w", query, name, err)
	}
	_, grade := o.field(gradeNames)
	return addLabel(q, query, id, grade)
}

// addLabel adds a judgement whose grade is JSON, a number or a string that holds
// one; nil and null are 1.
func addLabel(q *judge.Qrels, query, doc string, grade json.RawMessage) error {
	if doc == "" {
		return fmt.Errorf("query %q: a label with an empty document id", query)
	}
	g := 1.0
	if grade != nil && string(grade) != "null" {
		text, _ := bytes.CutPrefix(grade, []byte{'"'})
		text = bytes.TrimSuffix(text, grade[:len(grade)-len(text)])
		var n json.Number // as ParseFloat alone takes 0x10 and Inf, too
		err := json.Unmarshal(text, &n)
		if err == nil {
			g, err = n.Float64()
		}
		if err != nil || text[0] == '"' {
			return fmt.Errorf("query %q, document %q: grade %.40s: expected a number", query, doc, grade)
		}
	}
	return q.Add(query, doc, g)
}

// labelledFile reads one file of JSON lines, each a document with the queries that
// it answers:
//
//	{"_id": "d1", "title": "…", "text": "…", "queries": [{"_id": "q1", "text": "…", "score": 2, "group": "…"}]}
//
// The document's fields are those of corpus.NewJSONL, the queries' those of a
// queries.jsonl. A query without id is named by its document and its place there,
// as in "d1?1"; one of several documents is given in each, with the same text. A
// score that is not given is 1. A document without queries is a distractor.
func labelledFile(path string, opt Options) (*raw, error) {
	if err := noChoice(opt, LayoutFile); err != nil {
		return nil, err
	}
	head, err := peek(path)
	if err != nil {
		return nil, err
	}
	if len(head) == 0 || head[0] != '{' {
		const expected = "expected a folder, or a file of JSON lines with documents and their queries"
		switch {
		case len(head) == 0:
			return nil, fmt.Errorf("%w: %s, found an empty file", ErrLayout, expected)
		case bytes.HasPrefix(head, []byte(parquetMagic)):
			return nil, parquet(filepath.Base(path))
		}
		return nil, fmt.Errorf("%w: %s, found text that begins with %.20q", ErrLayout, expected, head)
	}
	r := &raw{layout: LayoutFile, qrels: &judge.Qrels{}, at: places{path, path, path}}
	r.docs = files([]string{path}, false, corpus.NewJSONL)
	seen := map[string]string{} // text of each query
	err = eachLine(path, func(line []byte, number int) error {
		o, err := parseObject(line)
		if err != nil || o["queries"] == nil {
			return err
		}
		// As corpus.NewJSONL names the document.
		doc := strconv.Itoa(number)
		if n, v := o.field(corpusIDNames); n != "" && string(v) != `""` {
			if doc, err = idOf(n, v); err != nil {
				return err
			}
		}
		var queries []object
		if err := json.Unmarshal(o["queries"], &queries); err != nil {
			return fmt.Errorf("document %q: queries: expected an array of objects {\"_id\", \"text\"}", doc)
		}
		for i, q := range queries {
			if err := r.answers(q, doc, i, path+":"+strconv.Itoa(number), seen); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(r.queries) == 0 {
		return nil, fmt.Errorf("%w: no document has queries: expected a field \"queries\" with objects {\"_id\", \"text\"}", ErrLayout)
	}
	return r, nil
}

// answers adds a query that a document answers.
func (r *raw) answers(o object, doc string, number int, place string, seen map[string]string) error {
	q := placed{place: place}
	var err error
	if n, _ := o.field(queryIDNames); n == "" {
		q.ID = doc + "?" + strconv.Itoa(number+1)
	} else if q.ID, err = o.id(queryIDNames); err != nil {
		return fmt.Errorf("document %q: queries: %w", doc, err)
	}
	if q.Text, _, err = o.text(queryTextNames); err != nil {
		return fmt.Errorf("query %q: %w", q.ID, err)
	}
	if q.Group, err = o.group(); err != nil {
		return fmt.Errorf("query %q: %w", q.ID, err)
	}
	if text, ok := seen[q.ID]; !ok || text != q.Text {
		seen[q.ID] = q.Text
		r.queries = append(r.queries, q)
	}
	_, grade := o.field(gradeNames)
	return addLabel(r.qrels, q.ID, doc, grade)
}
