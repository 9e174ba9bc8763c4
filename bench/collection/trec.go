package collection

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"encbench/corpus"
	"encbench/metrics/judge"
)

// trecQrels are the names of judgements beside <DOC>s and <top>s.
var trecQrels = regexp.MustCompile(`(?i)^(?:qrels?(?:[._-].*)?|.*[._-]qrels?(?:\.txt|\.trec)?)$`)

// trecFiles reads a folder of <DOC>s, <top>s and qrels. Of several files of topics
// the one with most topics counts. Topics that have no lower-case letter at all are
// lower-cased: what a cased model makes of capitals is another question.
func trecFiles(l *listing, opt Options) (*raw, error) {
	docs, topics := l.begin("<DOC>"), l.begin("<top>")
	if len(docs) == 0 {
		return nil, nil
	}
	var labels []string
	for _, f := range l.files {
		if trecQrels.MatchString(plain(f)) {
			labels = append(labels, f)
		}
	}
	switch {
	case len(topics) == 0:
		return nil, fmt.Errorf("%w: no topics beside %s: expected a file that begins with <top>", ErrLayout, docs[0])
	case len(labels) != 1:
		return nil, fmt.Errorf("%w: %d files of judgements beside %s: expected one named qrels", ErrLayout, len(labels), docs[0])
	}
	if err := noChoice(opt, LayoutTREC); err != nil {
		return nil, err
	}
	r := &raw{layout: LayoutTREC, at: places{strings.Join(docs, ", "), strings.Join(topics, ", "), labels[0]}}
	var paths []string
	for _, f := range docs {
		paths = append(paths, l.path(f))
	}
	r.docs = files(paths, true, corpus.NewTREC)
	used := ""
	for _, f := range topics {
		q, err := readTopics(l.path(f))
		if err != nil {
			return nil, err
		}
		if len(q) > len(r.queries) {
			r.queries, used = q, f
		}
	}
	if len(topics) > 1 {
		r.notes = append(r.notes, fmt.Sprintf("topics of %s, the largest of %d files of topics", used, len(topics)))
	}
	r.notes = append(r.notes, "queries are the titles of the topics")
	if lowerCase(r.queries) {
		r.notes = append(r.notes, "topics in capitals are lower-cased")
	}
	if err := r.readQrels(l, []part{{file: labels[0]}}); err != nil {
		return nil, err
	}
	if renumber(r.queries, r.qrels) {
		r.notes = append(r.notes, "topics are joined with judgements by the value of their numbers (051 is 51)")
	}
	return r, nil
}

// renumber takes leading zeros off the numbers of topics that are judged without
// them only: TREC's topics 51 to 99 are written 051, their judgements 51.
func renumber(topics []placed, qrels *judge.Qrels) (changed bool) {
	taken := map[string]bool{}
	for _, t := range topics {
		taken[t.ID] = true
	}
	for i := range topics {
		id := number(topics[i].ID)
		_, asWritten := qrels.Find(topics[i].ID)
		if _, judged := qrels.Find(id); judged && !asWritten && !taken[id] {
			topics[i].ID, taken[id], changed = id, true, true
		}
	}
	return changed
}

// lowerCase lower-cases queries that are all in capitals.
func lowerCase(queries []placed) bool {
	upper := false
	for _, q := range queries {
		if strings.IndexFunc(q.Text, unicode.IsLower) >= 0 {
			return false
		}
		upper = upper || strings.IndexFunc(q.Text, unicode.IsUpper) >= 0
	}
	if upper {
		for i := range queries {
			queries[i].Text = strings.ToLower(queries[i].Text)
		}
	}
	return upper
}

// readTopics reads the topics of a file: number and title. A field ends where the
// next tag begins, as TREC's topics do not close theirs.
func readTopics(path string) (queries []placed, err error) {
	var topic []byte
	begun := 0 // line of the current <top>, 0 outside
	err = eachLine(path, func(line []byte, n int) error {
		trimmed := bytes.TrimSpace(line)
		switch {
		case bytes.EqualFold(trimmed, []byte("<top>")):
			if begun > 0 {
				return fmt.Errorf("<top> inside the topic of line %d, which has no </top>", begun)
			}
			begun, topic = n, topic[:0]
		case bytes.EqualFold(trimmed, []byte("</top>")):
			if begun == 0 {
				return fmt.Errorf("</top> without <top>")
			}
			id := strings.TrimSpace(strings.TrimPrefix(topicField(topic, "num"), "Number:"))
			title := strings.TrimSpace(strings.TrimPrefix(topicField(topic, "title"), "Topic:"))
			switch {
			case id == "":
				return fmt.Errorf("the topic of line %d has no <num>", begun)
			case title == "":
				return fmt.Errorf("topic %s of line %d has no <title>", id, begun)
			}
			queries = append(queries, placed{Query{ID: id, Text: title}, path + ":" + strconv.Itoa(begun)})
			begun = 0
		case begun == 0:
			return fmt.Errorf("text outside a topic: a topic begins with a line <top>")
		default:
			topic = append(append(topic, line...), '\n')
		}
		return nil
	})
	if err == nil && begun > 0 {
		err = fmt.Errorf("%s:%d: the topic has no </top>", path, begun)
	}
	return queries, err
}

// topicField gives the text of a field of a topic, in one line.
func topicField(topic []byte, name string) string {
	tag := []byte("<" + name + ">")
	for i := 0; i+len(tag) <= len(topic); i++ {
		if !bytes.EqualFold(topic[i:i+len(tag)], tag) {
			continue
		}
		text := topic[i+len(tag):]
		if end := bytes.IndexByte(text, '<'); end >= 0 {
			text = text[:end]
		}
		return flat(string(text))
	}
	return ""
}
