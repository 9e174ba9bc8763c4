package collection

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"encbench/metrics/judge"
)

// FuzzQueryLine reads a labelled query of any spelling: what is accepted has an id,
// a text and finite grades, is valid UTF-8, and means the same written plainly.
func FuzzQueryLine(f *testing.F) {
	f.Add(`{"_id":"q","text":"t","labels":[{"id":"a","score":1},"b",3]}`)
	f.Add(`{"id":0,"query":"0","relevant":{"":"0"}}`)
	f.Add(` { "qid" : 7 , "query" : "t", "relevant" : { "a" : 2.5 , "b" : "1" }, "group" : 1, "context_length" : 256 } `)
	f.Add(`{"query_id":"q<::>1","query":"\u00e9","positive_passages":[ {"docid":"a#1"} ],"negative_passages":null,"instruction":"i"}`)
	f.Fuzz(func(t *testing.T, line string) {
		read := func(line string) (placed, *judge.Qrels, int, error) {
			q := queryTable{labelled: true, qrels: &judge.Qrels{}}
			if err := q.line([]byte(line), "in:1"); err != nil {
				return placed{}, nil, 0, err
			}
			return q.queries[0], q.qrels, q.lengths[0], nil
		}
		q, qrels, length, err := read(line)
		if err != nil {
			if err.Error() == "" || strings.Contains(err.Error(), "%!") {
				t.Errorf("%q: error %q", line, err)
			}
			return
		}
		if q.ID == "" || !utf8.ValidString(q.ID) || !utf8.ValidString(q.Text) {
			t.Errorf("%q: %+v", line, q)
		}
		type label struct {
			ID    string  `json:"id"`
			Score float64 `json:"score"`
		}
		plain := struct {
			ID          string  `json:"_id"`
			Text        string  `json:"text"`
			Instruction string  `json:"instruction"`
			Group       string  `json:"group,omitempty"`
			Labels      []label `json:"labels"`
			Length      int     `json:"context_length,omitempty"`
		}{q.ID, q.Text, q.Instruction, q.Group, []label{}, length}
		if qrels.Len() > 0 {
			docs, grades := qrels.Judged(0)
			for i, d := range docs {
				if d == "" || math.IsNaN(grades[i]) || math.IsInf(grades[i], 0) {
					t.Errorf("%q: document %q, grade %v", line, d, grades[i])
				}
				plain.Labels = append(plain.Labels, label{d, grades[i]})
			}
		}
		written, err := json.Marshal(plain)
		if err != nil {
			t.Fatal(err)
		}
		q2, qrels2, length2, err := read(string(written))
		if err != nil || q2 != q || length2 != length || qrels2.Len() != qrels.Len() {
			t.Fatalf("%q, written %s: %+v, %d, %v", line, written, q2, length2, err)
		}
		for i := range qrels.Len() {
			docs, grades := qrels.Judged(i)
			for k, d := range docs {
				if g, ok := qrels2.Grade(i, d); !ok || g != grades[k] {
					t.Errorf("%q, written %s: document %q has %v", line, written, d, g)
				}
			}
		}
	})
}

// FuzzTopics reads topics of any spelling: each has a number and a title of one line.
func FuzzTopics(f *testing.F) {
	f.Add("<top>\n<num> Number: 1\n<title> a b\n</top>\n")
	f.Add("<TOP>\n<NUM>1</NUM><TITLE>\nA\n</TITLE>\n</TOP>")
	f.Add("<top>\n\xff\u0130<num>1\xff<title>A\n</top>") // lower case has another length
	f.Fuzz(func(t *testing.T, text string) {
		root := folder(t, "topics\n"+text)
		queries, err := readTopics(root + "/topics")
		if err != nil {
			return
		}
		for _, q := range queries {
			if q.ID == "" || q.Text == "" || strings.ContainsAny(q.Text, "\n<") || q.place == "" {
				t.Errorf("%q: %+v", text, q)
			}
		}
	})
}
