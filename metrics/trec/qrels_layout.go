package trec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Names of columns, in tables with a header and in JSON.
var (
	queryNames    = []string{"query-id", "query_id", "qid", "q_id", "topic"}
	documentNames = []string{"corpus-id", "corpus_id", "did", "doc_id", "docid", "docno", "pid"}
	gradeNames    = []string{"score", "relevance", "rel", "label"}
)

// qrelsLayout says where a file has its columns; −1 where it has none.
type qrelsLayout struct {
	spelled                string
	columns                int
	query, document, grade int
	tabs, json             bool
}

// qrelsByCount are the layouts without a header.
var qrelsByCount = map[int]*qrelsLayout{
	2: {spelled: "query document", columns: 2, query: 0, document: 1, grade: -1},
	3: {spelled: "query document grade", columns: 3, query: 0, document: 1, grade: 2},
	4: {spelled: "query iteration document grade", columns: 4, query: 0, document: 2, grade: 3},
}

// detectQrels tells the layout from the first line, and whether that is a header.
func detectQrels(line string) (of *qrelsLayout, header bool, p *problem) {
	if line[0] == '{' {
		return &qrelsLayout{spelled: "JSON lines", json: true}, false, nil
	}
	of = &qrelsLayout{query: -1, document: -1, grade: -1, tabs: true}
	names := strings.Split(line, "\t")
	for i, name := range names {
		for _, c := range []struct {
			names []string
			place *int
		}{{queryNames, &of.query}, {documentNames, &of.document}, {gradeNames, &of.grade}} {
			if !slices.Contains(c.names, name) {
				continue
			}
			if *c.place >= 0 {
				return nil, false, faulty(0, "columns %q and %q of the header mean the same", names[*c.place], name)
			}
			*c.place = i
		}
	}
	if of.query >= 0 && of.document >= 0 {
		of.columns, of.spelled = len(names), strings.Join(names, " ")+" with a header"
		return of, true, nil
	}
	n := len(splitFields(nil, line))
	of, ok := qrelsByCount[n]
	if !ok {
		return nil, false, faulty(0, "%s, expected 4 (query iteration document grade), 3 (query document grade), 2 (query document), a header such as query-id, corpus-id, score with tabs, or JSON lines", plural(n, "column"))
	}
	return of, false, nil
}

// parseColumns reads a line without a header's rules.
func (q *qrelsReader) parseColumns(line string) (j judgement, p *problem) {
	of := q.layout
	f := splitFields(q.fields[:0], line)
	q.fields = f
	switch n := len(f); {
	case n > of.columns:
		return j, faulty(f[of.columns].from+1, "%s, expected %d (%s) as in the lines before; an id may hold no spaces, found %s after the last column", plural(n, "column"), of.columns, of.spelled, quote(line[f[of.columns].from:]))
	case n < of.columns:
		return j, faulty(len(line)+1, "%s, expected %d (%s) as in the lines before", plural(n, "column"), of.columns, of.spelled)
	}
	text := func(i int) string { return line[f[i].from:f[i].to] }
	j = judgement{text(of.query), text(of.document), 1}
	if of.grade >= 0 {
		g, ok := number(text(of.grade))
		if !ok {
			return j, badGrade(f[of.grade].from+1, text(of.grade))
		}
		j.grade = g
	}
	return j, nil
}

// parseTabs reads a line below a header.
func (of *qrelsLayout) parseTabs(line string) (j judgement, p *problem) {
	j.grade = 1
	column := 1
	n := 0
	for text := range strings.SplitSeq(line, "\t") {
		if n < of.columns && text == "" {
			return j, faulty(column, "column %d is empty; the header says %s", n+1, of.spelled)
		}
		switch n {
		case of.query, of.document:
			if isBlank(text[0]) || isBlank(text[len(text)-1]) {
				return j, faulty(column, "the id %s has a space at its end; columns are separated by single tabs", quote(text))
			}
			if n == of.query {
				j.query = text
			} else {
				j.document = text
			}
		case of.grade:
			g, ok := number(text)
			if !ok {
				return j, badGrade(column, text)
			}
			j.grade = g
		}
		n++
		column += len(text) + 1
	}
	if n != of.columns {
		return j, faulty(0, "%s separated by tabs, expected %d (%s)", plural(n, "column"), of.columns, of.spelled)
	}
	return j, nil
}

// parseJudgementJSON reads a line of JSON.
func parseJudgementJSON(line string) (j judgement, p *problem) {
	var object map[string]json.RawMessage
	dec := json.NewDecoder(strings.NewReader(line))
	if err := dec.Decode(&object); err != nil {
		return j, faulty(int(dec.InputOffset())+1, "no JSON object: %s", jsonFault(err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return j, faulty(int(dec.InputOffset())+1, "text behind the JSON object; one object a line is expected")
	}
	find := func(names []string) (name string, raw json.RawMessage, p *problem) {
		for _, n := range names {
			if v, ok := object[n]; ok && raw != nil {
				return "", nil, faulty(0, "fields %q and %q mean the same", name, n)
			} else if ok {
				name, raw = n, v
			}
		}
		return name, raw, nil
	}
	j.grade = 1
	for _, c := range []struct {
		names []string
		what  string
		id    *string
	}{{queryNames, "query", &j.query}, {documentNames, "document", &j.document}, {gradeNames, "grade", nil}} {
		name, raw, p := find(c.names)
		switch {
		case p != nil:
			return j, p
		case raw == nil && c.id != nil:
			return j, faulty(0, "no %s: a field named %s is expected", c.what, strings.Join(c.names, ", "))
		case raw == nil:
		case c.id == nil:
			g, ok := number(string(raw))
			if !ok {
				return j, badGrade(0, string(raw))
			}
			j.grade = g
		default:
			id, err := jsonID(raw)
			if err != nil {
				return j, faulty(0, "field %q: %v", name, err)
			}
			*c.id = id
		}
	}
	return j, nil
}

// jsonID gives an identifier: a string, or a number as it is spelled.
func jsonID(raw json.RawMessage) (string, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && (raw[0] == '-' || raw[0]-'0' <= 9) {
		return string(raw), nil
	}
	if len(raw) == 0 || raw[0] != '"' {
		return "", fmt.Errorf("%s is no id; a string or a number is expected", quote([]byte(raw)))
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", errors.New(jsonFault(err))
	}
	return s, nil
}

// jsonFault is a decoder's error in our words where it is a common one.
func jsonFault(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the text ends inside it"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}
