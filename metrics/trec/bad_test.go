package trec

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"encbench/metrics/ranking"
)

// readErr gives the error of reading a run.
func readErr(text string, opt Options) error {
	r := NewReader(strings.NewReader(text), "run.txt", opt)
	var b ranking.Block
	for {
		if err := r.Next(&b); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// A line without an end is told before it fills the memory, however it is made, and
// no leniency passes it over: whether it would be a row is not known.
func TestLongLines(t *testing.T) {
	const good = "q1 Q0 d1 1 3 t\n"
	x := strings.Repeat("x", MaxLine)
	for name, c := range map[string]struct {
		text string
		line int
	}{
		"first":          {x + x, 1},
		"behind a row":   {good + x + x, 2},
		"the tag":        {good + "q1 Q0 d2 2 2 " + x + "\n" + good, 2},
		"the first tag":  {"q1 Q0 d2 2 2 " + x + "\n" + good, 1},
		"blank":          {good + strings.Repeat(" ", MaxLine+1) + "\n" + good, 2},
		"behind a query": {good + "q2 Q0 d1 1 3 t\n" + x + x + "\n", 3},
	} {
		for _, lenient := range []bool{false, true} {
			want := fmt.Sprintf("run.txt:%d: a line of more than 8388608 bytes; is this a text file?", c.line)
			if err := readErr(c.text, Options{Lenient: lenient}); err == nil || err.Error() != want {
				t.Errorf("%s, lenient %v:\n got %v\nwant %s", name, lenient, err, want)
			}
		}
	}
	endless := NewReader(io.MultiReader(strings.NewReader(good), endlessly{}), "run.txt", Options{})
	if err := endless.Next(new(ranking.Block)); err == nil || err.Error() != "run.txt:2: a line of more than 8388608 bytes; is this a text file?" {
		t.Errorf("a stream without end: %v", err)
	}
}

type endlessly struct{}

func (endlessly) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

// Every fault of a run names file, line and column, what was found and what was
// expected.
func TestBadRuns(t *testing.T) {
	const good = "q1 Q0 d1 1 3 t\n"
	long := strings.Repeat("x", MaxID+1)
	for name, c := range map[string]struct {
		text   string
		format Format
		want   string
	}{
		"five columns":       {good + "q1 Q0 d2 2 2.5\n", Auto, `run.txt:2:15: 5 columns, expected 6 (query Q0 document rank score tag)`},
		"five columns first": {"q1 Q0 d2 2 2.5\n", Auto, `run.txt:1:15: 5 columns, expected 6 (query Q0 document rank score tag)`},
		"seven columns":      {good + "q1 Q0 d2 2 2.5 my tag\n", Auto, `run.txt:2:19: 7 columns, expected 6 (query Q0 document rank score tag); an id or tag may hold no spaces, found "tag" after the last column`},
		"an id with a space": {good + "q1 Q0 my doc 2 2.5 t\n", Auto, `run.txt:2:20: 7 columns, expected 6 (query Q0 document rank score tag); an id or tag may hold no spaces, found "t" after the last column`},
		"a space, no tag":    {good + "q1 Q0 my doc 2 2.5\n", Auto, `run.txt:2:10: rank "doc" is not a whole number of 32 bits; an id with a space shifts the columns`},
		"one column":         {"hello\n", Auto, `run.txt:1:6: 1 column, expected 6 (query Q0 document rank score tag)`},
		"two columns":        {"q1 d1\n", Auto, `run.txt:1: 2 columns, expected 6 (query Q0 document rank score tag); a run of query and document in the order of its lines is read as format pairs: name the format`},
		"three columns":      {"\nq1 d1 1\n", Auto, `run.txt:2: 3 columns, expected 6 (query Q0 document rank score tag); they may be query, document and score (format scores) or MS MARCO's query, document and rank (format msmarco): name the format`},
		"NaN":                {good + "q1 Q0 d2 2 nan t\n", Auto, `run.txt:2:12: score "nan" of query "q1", document "d2" is not a number and has no place in an order`},
		"infinity":           {good + "q1 Q0 d2 2 -inf t\n", Auto, `run.txt:2:12: score "-inf" of query "q1", document "d2" is infinite; a lenient reading accepts it`},
		"a word":             {good + "q1 Q0 d2 2 high t\n", Auto, `run.txt:2:12: score "high" is not a number`},
		"half a number":      {good + "q1 Q0 d2 2 1.5x t\n", Auto, `run.txt:2:12: score "1.5x" is not a number`},
		"a decimal comma":    {good + "q1 Q0 d2 2 1,5 t\n", Auto, `run.txt:2:12: score "1,5" is not a number`},
		"hexadecimal":        {good + "q1 Q0 d2 2 0x1p3 t\n", Auto, `run.txt:2:12: score "0x1p3" is not a number`},
		"out of range":       {good + "q1 Q0 d2 2 1e999 t\n", Auto, `run.txt:2:12: score "1e999" is beyond float64's range`},
		"rank in words":      {good + "q1 Q0 d2 two 2 t\n", Auto, `run.txt:2:10: rank "two" is not a whole number of 32 bits; an id with a space shifts the columns`},
		"a huge rank":        {good + "q1 Q0 d2 9999999999 2 t\n", Auto, `run.txt:2:10: rank "9999999999" is not a whole number of 32 bits; an id with a space shifts the columns`},
		"a long id":          {good + "q1 Q0 " + long + " 2 2 t\n", Auto, `run.txt:2:7: an id of 1048577 bytes, at most 1048576 are read: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"…`},
		"a long query":       {long + " Q0 d 2 2 t\n", Auto, `run.txt:1:1: an id of 1048577 bytes, at most 1048576 are read: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"…`},
		"a long line":        {good + strings.Repeat("x", MaxLine+chunkSize), Auto, `run.txt:2: a line of more than 8388608 bytes; is this a text file?`},
		"UTF-16":             {"\xff\xfeq\x001\x00", Auto, `run.txt:1:1: the text is UTF-16 by its byte order mark; UTF-8 or another encoding that keeps ASCII is read`},
		"empty":              {"", Auto, `run.txt: no rows: the file is empty`},
		"blank lines":        {"\n \n\t\r\n", Auto, `run.txt: no rows: the file is empty`},
		"not grouped":        {good + "q2 Q0 d1 1 3 t\nq1 Q0 d3 2 2 t\n", Auto, `run.txt: query "q1" has rows at line 1 and again at line 3: the rows of a query do not stand together`},
		"comment":            {"# a comment\n" + good, Auto, `run.txt:1: 3 columns, expected 6 (query Q0 document rank score tag); they may be query, document and score (format scores) or MS MARCO's query, document and rank (format msmarco): name the format`},
		"msmarco columns":    {"q1\td1\t1\t2\n", MSMARCO, `run.txt:1:9: 4 columns, expected 3 (query document rank); an id or tag may hold no spaces, found "2" after the last column`},
		"msmarco rank":       {"q1\td1\t1.5\n", MSMARCO, `run.txt:1:7: rank "1.5" is not a whole number of 32 bits; an id with a space shifts the columns`},
		"scores":             {"q1\td1\n", Scores, `run.txt:1:6: 2 columns, expected 3 (query document score)`},
	} {
		err := readErr(c.text, Options{Format: c.format})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", name, err, c.want)
		}
	}
	if err := readErr("", Options{}); !errors.Is(err, ErrEmpty) {
		t.Errorf("%v is not ErrEmpty", err)
	}
}

// The first fault of a file is the one that is told, and it is told again.
func TestErrorsStay(t *testing.T) {
	r := NewReader(strings.NewReader("q Q0 d 1 x t\n"), "run.txt", Options{})
	var b ranking.Block
	first := r.Next(&b)
	if again := r.Next(&b); first == nil || again == nil || again.Error() != first.Error() {
		t.Errorf("first %v, then %v", first, again)
	}
}

func TestLenientRun(t *testing.T) {
	text := "\xef\xbb\xbf# made by hand\nq1 Q0 d1 1 3 t\nq1 Q0 d2 2\n\nq1 Q0 d3 x inf t more\nq1 Q0 d4 4 nan t\n"
	r := NewReader(strings.NewReader(text), "run.txt", Options{Lenient: true, Comments: true})
	rows, err := readAll(t, r)
	if err != nil {
		t.Fatal(err)
	}
	var docs []string
	for _, row := range rows {
		docs = append(docs, row.doc)
	}
	if got := strings.Join(docs, " "); got != "d1 d3" {
		t.Errorf("rows %s", got)
	}
	s := r.Stats()
	fault := "run.txt:3:11: 4 columns, expected 6 (query Q0 document rank score tag)"
	if s.Fault == nil || s.Fault.Error() != fault {
		t.Errorf("first fault %v, want %s", s.Fault, fault)
	}
	s.Fault = nil
	if want := (Stats{Lines: 6, Rows: 2, Marks: 1, Blank: 2, Skipped: 2, Forgiven: 1}); s != want {
		t.Errorf("account %+v, want %+v", s, want)
	}
}

func TestOtherLayouts(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		format Format
		want   string // document and score of each row
	}{
		"msmarco": {"7\td2\t1\r\n7\td1\t2\n8\td1\t1", MSMARCO, "7 d2 -1, 7 d1 -2, 8 d1 -1"},
		"scores":  {"q d2 0.5\nq d1 0.75\n", Scores, "q d2 0.5, q d1 0.75"},
		"pairs":   {"q d2\nq d1\nr d1\n", Pairs, "q d2 0, q d1 -1, r d1 0"},
		"ranx":    {`{"q": {"d2": 0.5, "d1": 2}, "none": {}, "r": {"d1": -1e-3}}`, Auto, "q d2 0.5, q d1 2, r d1 -0.001"},
		"MTEB":    {"  {\"mteb_model_meta\": {\"x\": [1, {}]}, \"default\": {\"test\": {\"q\": {\"d2\": 0.5}, \"r\": {\"d1\": 1}}}}", JSON, "q d2 0.5, r d1 1"},
	} {
		rows, err := readAll(t, NewReader(strings.NewReader(c.text), "run", Options{Format: c.format}))
		if got := spell(rows); err != nil || got != c.want {
			t.Errorf("%s: %s, want %s, %v", name, got, c.want, err)
		}
	}
}

func TestBadJSONRuns(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"NaN":        {`{"q": {"d": NaN}}`, `run.txt: byte 12: no JSON run: invalid character 'N' looking for beginning of value`},
		"cut off":    {`{"q": {"d": 1`, `run.txt: byte 13: no JSON run: the text ends inside it`},
		"list":       {`{"q": ["d"]}`, `run.txt: byte 7: a list at "q"; an object of documents and scores is expected`},
		"text":       {`{"q": {"d": "1"}}`, `run.txt: byte 15: 1 at "q": "d"; a score is expected`},
		"depth":      {`{"a": {"b": {"d": 1}}}`, `run.txt: byte 19: a score at "a": "b": "d": expected {query: {document: score}}, or the same inside {subset: {split: …}}`},
		"mixed":      {`{"q": {"d": 1}, "r": {"e": {"f": 1}}}`, `run.txt: byte 28: an object at "r": "e", where other documents have scores`},
		"shallow":    {`{"q": {"d": 1}, "r": 1}`, `run.txt: byte 22: a score at "r", where other entries are objects`},
		"two splits": {`{"default": {"test": {"q": {"d": 1}}, "dev": {"q": {"d": 1}}}}`, `run.txt: byte 52: predictions of default/dev after those of default/test; judge one split at a time`},
		"range":      {`{"q": {"d": 1e999}}`, `run.txt: byte 17: score 1e999 at "q": "d" is beyond float64's range`},
		"no query":   {`{}`, `run.txt: no query in it: the file is empty`},
		"trailing":   {`{"q": {"d": 1}} x`, `run.txt: byte 16: text behind the JSON object`},
	} {
		if err := readErr(c.text, Options{}); err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", name, err, c.want)
		}
	}
}

// A query with more documents than a block usually holds stays whole.
func TestLongJSONQuery(t *testing.T) {
	var text strings.Builder
	text.WriteString(`{"q1":{`)
	for i := range 2*jsonRows + 7 {
		fmt.Fprintf(&text, `"d%d":%d,`, i, -i)
	}
	text.WriteString(`"last":1},"q2":{"a":1}}`)
	rows, err := readAll(t, NewReader(strings.NewReader(text.String()), "run", Options{}))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(rows); n != 2*jsonRows+9 || rows[n-2].query != "q1" || rows[n-2].doc != "last" || rows[n-1].query != "q2" {
		t.Errorf("%d rows, the last ones %+v", n, rows[max(0, n-2):])
	}
}

// A query without documents is a query of the run.
func TestJSONKeepsEmptyQueries(t *testing.T) {
	var b ranking.Block
	if err := NewReader(strings.NewReader(`{"none": {}, "q": {"d": 1}, "also": {}}`), "run", Options{}).Next(&b); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for q := range b.Len() {
		ids = append(ids, string(b.Queries.At(q)))
	}
	if got := strings.Join(ids, " "); got != "none q also" || len(b.Off) != 4 {
		t.Errorf("queries %s, offsets %v", got, b.Off)
	}
}

func TestFormatNames(t *testing.T) {
	for _, name := range Formats() {
		if f, err := ParseFormat(name); err != nil || f.String() != name {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	if _, err := ParseFormat("csv"); err == nil || err.Error() != `unknown run format "csv": auto, trec, msmarco, scores, pairs, json` {
		t.Errorf("error %v", err)
	}
}
