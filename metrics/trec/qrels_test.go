package trec

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"encbench/metrics/judge"
)

// spellQrels writes judgements in one line, in their order.
func spellQrels(q *judge.Qrels) string {
	var s []string
	for i := range q.Len() {
		docs, grades := q.Judged(i)
		for d := range docs {
			s = append(s, fmt.Sprintf("%s %s %v", q.Query(i), docs[d], grades[d]))
		}
	}
	return strings.Join(s, ", ")
}

func TestQrelsLayouts(t *testing.T) {
	for name, c := range map[string]struct{ text, want, layout string }{
		"TREC":         {"q 0 d 1\nq 0 e -2\n\nr Q0 d 0", "q d 1, q e -2, r d 0", "query iteration document grade"},
		"spaces, CRLF": {"q \t0  d\t1\r\nr 0 d 2 \r\n", "q d 1, r d 2", "query iteration document grade"},
		"MS MARCO":     {"300674\t0\t7067032\t1\n", "300674 7067032 1", "query iteration document grade"},
		"three":        {"q d 1.5\n", "q d 1.5", "query document grade"},
		"two":          {"q d\nq e\n", "q d 1, q e 1", "query document"},
		"BEIR":         {"query-id\tcorpus-id\tscore\nq\ta doc\t1\n", "q a doc 1", "query-id corpus-id score with a header"},
		"other order":  {"rel\tx\tdocno\tqid\n2\t-\td\tq\n", "q d 2", "rel x docno qid with a header"},
		"NanoBEIR":     {"\xef\xbb\xbfquery-id\tcorpus-id\nq\td\n", "q d 1", "query-id corpus-id with a header"},
		"JSON lines":   {`{"qid": 7, "did": "d", "score": 0.5, "more": [1]}` + "\n" + `{"query-id": "a\u00e9", "corpus-id": "d"}` + "\n", "7 d 0.5, a\u00e9 d 1", "JSON lines"},
		"bytes":        {"q\xff 0 \x80 1\n", "q\xff \x80 1", "query iteration document grade"},
		"again":        {"q 0 d 1\nq 0 d 1\n", "q d 1", "query iteration document grade"},
	} {
		q, stats, err := ReadQrelsWith(strings.NewReader(c.text), "qrels", QrelsOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := spellQrels(q); got != c.want || stats.Layout != c.layout {
			t.Errorf("%s: %s, layout %s, want %s, %s", name, got, stats.Layout, c.want, c.layout)
		}
	}
}

func TestBadQrels(t *testing.T) {
	long := strings.Repeat("x", MaxID+1)
	for name, c := range map[string]struct{ text, want string }{
		"missing column":    {"q 0 d 1\nq 0 e\n", `qrels.txt:2:6: 3 columns, expected 4 (query iteration document grade) as in the lines before`},
		"an id with spaces": {"q 0 d 1\nq 0 my doc 1\n", `qrels.txt:2:12: 5 columns, expected 4 (query iteration document grade) as in the lines before; an id may hold no spaces, found "1" after the last column`},
		"five columns":      {"q 0 my doc 1\n", `qrels.txt:1: 5 columns, expected 4 (query iteration document grade), 3 (query document grade), 2 (query document), a header such as query-id, corpus-id, score with tabs, or JSON lines`},
		"a word":            {"q 0 d yes\n", `qrels.txt:1:7: grade "yes" is not a number`},
		"half a number":     {"q 0 d 1\nq 0 e 1x\n", `qrels.txt:2:7: grade "1x" is not a number`},
		"NaN":               {"q 0 d nan\n", `qrels.txt:1:7: grade "nan" is not a number`},
		"a huge grade":      {"q 0 d 1e30\n", `qrels.txt:1: query "q", document "d": grade 1e+30: must be a number from -1e+15 to 1e+15`},
		"contradiction":     {"q 0 d 1\nr 0 d 1\nq 0 d 2\n", `qrels.txt:3: query "q", document "d": judged twice, 1 and 2`},
		"header twice":      {"qid\tquery-id\tdid\n", `qrels.txt:1: columns "qid" and "query-id" of the header mean the same`},
		"a field too few":   {"qid\tdid\tscore\nq\td\n", `qrels.txt:2: 2 columns separated by tabs, expected 3 (qid did score with a header)`},
		"a field too many":  {"qid\tdid\tscore\nq\td\t1\t2\n", `qrels.txt:2: 4 columns separated by tabs, expected 3 (qid did score with a header)`},
		"an empty field":    {"qid\tdid\tscore\nq\t\t1\n", `qrels.txt:2:3: column 2 is empty; the header says qid did score with a header`},
		"space at the end":  {"qid\tdid\tscore\nq\td \t1\n", `qrels.txt:2:3: the id "d " has a space at its end; columns are separated by single tabs`},
		"grade in a table":  {"qid\tdid\tscore\nq\td\t-\n", `qrels.txt:2:5: grade "-" is not a number`},
		"broken JSON":       {"{\"qid\": \"q\", \"did\"\n", `qrels.txt:1:1: no JSON object: the text ends inside it`},
		"JSON and more":     {`{"qid": "q", "did": "d"} {}` + "\n", `qrels.txt:1:27: text behind the JSON object; one object a line is expected`},
		"no document":       {`{"qid": "q", "text": "d"}` + "\n", `qrels.txt:1: no document: a field named corpus-id, corpus_id, did, doc_id, docid, docno, pid is expected`},
		"two documents":     {`{"qid": "q", "did": "d", "pid": "e"}` + "\n", `qrels.txt:1: fields "did" and "pid" mean the same`},
		"an id of lists":    {`{"qid": "q", "did": ["d"]}` + "\n", `qrels.txt:1: field "did": "[\"d\"]" is no id; a string or a number is expected`},
		"a grade in quotes": {`{"qid": "q", "did": "d", "rel": "1"}` + "\n", `qrels.txt:1: grade "\"1\"" is not a number`},
		"an empty id":       {`{"qid": "", "did": "d"}` + "\n", `qrels.txt:1: an empty id; every judgement names a query and a document`},
		"a long id":         {"q 0 " + long + " 1\n", `qrels.txt:1:1: an id of 1048577 bytes, at most 1048576 are read: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"…`},
		"UTF-16":            {"\xfe\xff\x00q", `qrels.txt:1:1: the text is UTF-16 by its byte order mark; UTF-8 or another encoding that keeps ASCII is read`},
		"empty":             {"", `qrels.txt: no judgements: the file is empty`},
		"a header alone":    {"query-id\tcorpus-id\tscore\n", `qrels.txt: the file has a header and no judgement`},
	} {
		_, err := ReadQrels(strings.NewReader(c.text), "qrels.txt")
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", name, err, c.want)
		}
	}
	if _, err := ReadQrels(strings.NewReader("query-id\tcorpus-id\tscore\n\n"), "x"); !errors.Is(err, ErrNoJudgement) || err.Error() != "x: the file has a header and no judgement" {
		t.Errorf("a header alone: %v", err)
	}
	if _, err := ReadQrels(strings.NewReader("\n"), "x"); !errors.Is(err, ErrEmpty) {
		t.Errorf("%v is not ErrEmpty", err)
	}
}

func TestLenientQrels(t *testing.T) {
	text := "# judged in 1992\n\xef\xbb\xbfq 0 d 1\nq 0 e x\nq 0 d 3\n#q 0 f 1\nr 0 d 1\nr 0 d 1\n"
	q, stats, err := ReadQrelsWith(strings.NewReader(text), "qrels", QrelsOptions{Lenient: true, Comments: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := spellQrels(q); got != "\xef\xbb\xbfq d 1, q d 3, r d 1" {
		t.Errorf("%q", got)
	}
	if stats.Skipped != 1 || stats.Fault.Error() != `qrels:3:7: grade "x" is not a number` || stats.Blank != 2 || q.Repeated != 1 || stats.Lines != 7 {
		t.Errorf("account %+v, repeated %d", stats, q.Repeated)
	}
	const want = `qrels: no line is a judgement; the first fault: qrels:1:7: grade "x" is not a number`
	if _, _, err := ReadQrelsWith(strings.NewReader("q 0 d x\n"), "qrels", QrelsOptions{Lenient: true}); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// twinQrels reads TREC judgements with strings and strconv alone.
func twinQrels(text string) (want map[[2]string]float64, ok bool) {
	want = map[[2]string]float64{}
	for line := range strings.SplitSeq(text, "\n") {
		f := strings.FieldsFunc(strings.TrimSuffix(line, "\r"), func(r rune) bool { return r == ' ' || r == '\t' })
		if len(f) == 0 {
			continue
		}
		if len(f) != 4 || strings.ContainsAny(f[3], "xXpPnN_") {
			return nil, false
		}
		g, err := strconv.ParseFloat(f[3], 64)
		if err != nil || g > 1e15 || g < -1e15 {
			return nil, false
		}
		key := [2]string{f[0], f[2]}
		if old, again := want[key]; again && old != g {
			return nil, false
		}
		want[key] = g
	}
	return want, len(want) > 0
}

func FuzzQrels(f *testing.F) {
	for _, s := range []string{"q 0 d 1\n", "q\t0\td\t1\r\nq 0 e -2", "q 0 d 1\nq 0 d 2\n", "q 0 d 1.5e1\n\n", "q 0 d\n", "qid\tdid\tscore\nq\td\t1\n", `{"qid":1,"did":2}`, "q 0 d 1 2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, stats, err := ReadQrelsWith(strings.NewReader(text), "qrels", QrelsOptions{})
		if strings.HasPrefix(text, byteOrderMark) || otherMark([]byte(text)) != "" {
			return // the twin knows no marks
		}
		want, ok := twinQrels(text)
		if stats.Layout != qrelsByCount[4].spelled {
			if ok && stats.Layout != "JSON lines" && !strings.HasSuffix(stats.Layout, "header") {
				t.Fatalf("%q: layout %q, the twin reads it as TREC", text, stats.Layout)
			}
			return
		}
		if ok != (err == nil) {
			t.Fatalf("%q: %v, the twin says %v", text, err, ok)
		}
		if !ok {
			return
		}
		n := 0
		for i := range q.Len() {
			docs, grades := q.Judged(i)
			for d := range docs {
				n++
				if g, there := want[[2]string{q.Query(i), docs[d]}]; !there || g != grades[d] {
					t.Fatalf("%q: %s %s %v, want %v", text, q.Query(i), docs[d], grades[d], g)
				}
			}
		}
		if n != len(want) {
			t.Fatalf("%q: %d judgements, want %d", text, n, len(want))
		}
	})
}
