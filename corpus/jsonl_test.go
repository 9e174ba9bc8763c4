package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestJSONL(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     doc
	}{
		{"BEIR", `{"_id": "d1", "title": "T", "text": "x y", "metadata": {"url": "u"}}`, doc{"d1", "T", "x y"}},
		{"MIRACL", `{"docid":"151236#1","title":"T","text":"x"}`, doc{"151236#1", "T", "x"}},
		{"LongEmbed", `{"doc_id":"d","text":"x"}`, doc{"d", "", "x"}},
		{"MAIR, number", `{"id": 17, "doc": "x"}`, doc{"17", "", "x"}},
		{"anserini", `{"id":"i","contents":"x"}`, doc{"i", "", "x"}},
		{"TREC", `{"docno":"FT911-3","text":"x"}`, doc{"FT911-3", "", "x"}},
		{"MS MARCO", `{"pid":7,"text":"x"}`, doc{"7", "", "x"}},
		{"number as written", `{"id":-1.50e+3,"text":""}`, doc{"-1.50e+3", "", ""}},
		{"precedence", `{"doc":"3","contents":"2","text":"1","pid":"p","id":"i","_id":"u"}`, doc{"u", "", "1"}},
		{"last of two", `{"id":"a","id":"b","text":"x","text":"y"}`, doc{"b", "", "y"}},
		{"null is absent", `{"_id":null,"id":"b","title":null,"text":"y"}`, doc{"b", "", "y"}},
		{"null after all", `{"id":"b","doc":"y","text":"x","text":null}`, doc{"b", "", "y"}},
		{"escaped key", `{"\u005fid":"b","te\u0078t":"y"}`, doc{"b", "", "y"}},
		{"case counts", `{"id":"b","TEXT":"n","text":"y"}`, doc{"b", "", "y"}},
		{"all escapes", `{"id":"b","text":"\"\\\/\b\f\n\r\t\u00e9\u6f22"}`, doc{"b", "", "\"\\/\b\f\n\r\té漢"}},
		{"surrogate pair", `{"id":"b","text":"a\ud83d\ude00b"}`, doc{"b", "", "a😀b"}},
		{"lone surrogates", `{"id":"b","text":"\ud83d \ude00 \ud83dx\ud83d\u0041\ud83d\ud83d\ude00"}`, doc{"b", "", "\ufffd \ufffd \ufffdx\ufffdA\ufffd😀"}},
		{"NUL escape", `{"id":"b","text":"\u0000"}`, doc{"b", "", "\x00"}},
		{"invalid UTF-8 stays", "{\"id\":\"b\",\"text\":\"a\xffb\"}", doc{"b", "", "a\xffb"}},
		{"deep unknown", `{"m":[[{"a":[1,-2.5e-7,true,false,null,"]}\"\\"]},{}],[]],"id":"b","text":"y"}`, doc{"b", "", "y"}},
		{"space everywhere", " \t{ \"id\" : \"b\" ,\r \"text\" : \"y\" } \r", doc{"b", "", "y"}},
		{"no id", `{"text":"y"}`, doc{"1", "", "y"}},
		{"no id, blank lines before", "\n \n" + `{"title":"T","text":"y"}`, doc{"3", "T", "y"}},
		{"null id", `{"_id":null,"text":"y"}`, doc{"1", "", "y"}},
		{"empty id", `{"_id":"","text":"y"}`, doc{"1", "", "y"}},
		{"the first id counts, though empty", `{"_id":"","id":"b","text":"y"}`, doc{"1", "", "y"}},
		{"wrong type loses to a better name", `{"_id":"b","id":[],"text":"y","doc":{}}`, doc{"b", "", "y"}},
	} {
		docs, skipped, err := drain(t, NewJSONL(strings.NewReader(c.in), "in", Options{Strict: true}))
		if err != nil || len(docs) != 1 || docs[0] != c.want || skipped.Broken != 0 {
			t.Errorf("%s: got %q, %v, want %q", c.name, docs, err, c.want)
		}
	}
}

func TestJSONLNeedID(t *testing.T) {
	for _, line := range []string{`{"text":"y"}`, `{"_id":null,"text":"y"}`, `{"_id":"","id":"b","text":"y"}`} {
		_, _, err := drain(t, NewJSONL(strings.NewReader(`{"_id":"a","text":"x"}`+"\n"+line), "in", Options{Strict: true, NeedID: true}))
		if want := "in:2: no document id (one of _id, id, docid, doc_id, docno, pid)"; err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

func TestJSONLBroken(t *testing.T) {
	for in, what := range map[string]string{
		`{"id":"a"}`:                               "no text (one of text, contents, doc)",
		`{}`:                                       "no text (one of text, contents, doc)",
		`{"id":true,"text":"a"}`:                   "the document id is neither a string nor a number",
		`{"id":"a","text":7}`:                      "the text is not a string",
		`{"id":"a","title":{},"text":""}`:          "the title is not a string",
		`["a"]`:                                    "not JSON at byte 1: expected an object",
		`plain text`:                               "not JSON at byte 1: expected an object",
		`{"id":"a","text":"b"`:                     "not JSON at byte 21: the line ends inside a value",
		`{"id":"a","text":`:                        "not JSON at byte 18: the line ends inside a value",
		`{"id":"a","text":"b`:                      "not JSON at byte 18: a string has no closing quote",
		`{"id":"a","text":"b\`:                     "not JSON at byte 20: a string has no closing quote",
		`{"id":"a" "text":"b"}`:                    "not JSON at byte 11: expected a comma or the closing bracket",
		`{"id":"a",}`:                              "not JSON at byte 11: expected a key in quotes",
		`{id:"a"}`:                                 "not JSON at byte 2: expected a key in quotes",
		`{"id" "a"}`:                               "not JSON at byte 7: expected a colon after the key",
		`{"id":"a","text":"b"} x`:                  "not JSON at byte 23: text after the object",
		`{"id":"a","text":"b"}{}`:                  "not JSON at byte 22: text after the object",
		`{"id":"a","text":"\x41"}`:                 "not JSON at byte 19: an escape that JSON does not have",
		`{"id":"a","text":"\u12g4"}`:               "not JSON at byte 19: an escape that JSON does not have",
		"{\"id\":\"a\",\"text\":\"b\tc\"}":         "not JSON at byte 20: a control character inside a string (it must be escaped)",
		`{"id":01,"text":"b"}`:                     "not JSON at byte 7: a malformed number",
		`{"id":1.,"text":"b"}`:                     "not JSON at byte 7: a malformed number",
		`{"id":"a","n":-,"text":"b"}`:              "not JSON at byte 15: a malformed number",
		`{"id":"a","n":tru,"text":"b"}`:            "not JSON at byte 15: expected a value",
		`{"id":"a","n":[1,],"text":"b"}`:           "not JSON at byte 18: expected a value",
		strings.Repeat(`{"a":`, 10001) + `1`:       "not JSON at byte 50001: nested deeper than 10000 levels",
		`{"a":` + strings.Repeat(`[`, 10000) + `1`: "not JSON at byte 10005: nested deeper than 10000 levels",
	} {
		if _, err := parsePlain([]byte(in)); err == nil {
			t.Errorf("%.60q: the plain twin takes it", in)
		}
		docs, skipped, err := drain(t, NewJSONL(strings.NewReader("\n"+in+"\n"), "c.jsonl", Options{}))
		if len(docs) != 0 || err != nil || skipped.Broken != 1 || len(skipped.First) != 1 {
			t.Errorf("%.60q: %d documents, %+v, %v", in, len(docs), skipped, err)
			continue
		}
		if got := skipped.First[0].Error(); got != "c.jsonl:2: "+what {
			t.Errorf("%.60q: %s, want %s", in, got, what)
		}
	}
}

// TestLineNumbersAreIDs counts every line of the input, whatever it holds.
func TestLineNumbersAreIDs(t *testing.T) {
	in := `{"text":"one"}` + "\n\nbroken\n" + `{"_id":"x","text":"four"}` + "\n" + `{"id":"","text":"five"}` + "\n" +
		`{"text":"` + strings.Repeat("long ", 40) + `"}` + "\n" + `{"docid":null,"text":"seven"}`
	docs, skipped, err := drain(t, NewJSONL(strings.NewReader(in), "in", Options{MaxDocument: 100}))
	if want := "[{1  one} {x  four} {5  five} {7  seven}]"; fmt.Sprint(docs) != want || skipped.Broken != 2 || err != nil {
		t.Errorf("got %v, %+v, %v; want %s", docs, skipped, err, want)
	}
}

func TestBrokenLinesAreCountedCappedAndStrict(t *testing.T) {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "{\"id\":%d,\"text\":\"t\"}\noops %d\n", i, i)
	}
	docs, skipped, err := drain(t, NewJSONL(strings.NewReader(b.String()), "c.jsonl", Options{}))
	if len(docs) != 100 || err != nil || skipped.Broken != 100 || len(skipped.First) != MaxKept {
		t.Fatalf("%d documents, %d broken, %d kept, %v", len(docs), skipped.Broken, len(skipped.First), err)
	}
	if got, want := skipped.First[9].Error(), "c.jsonl:20: not JSON at byte 1: expected an object"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}

	docs, skipped, err = drain(t, NewJSONL(strings.NewReader(b.String()), "c.jsonl", Options{Strict: true}))
	wantError(t, err, nil, "c.jsonl:2: not JSON at byte 1: expected an object")
	var line *LineError
	if !errors.As(err, &line) || line.Line != 2 || len(docs) != 1 || skipped.Broken != 1 {
		t.Errorf("strict: %d documents, %+v, %v", len(docs), skipped, err)
	}
}

func TestLines(t *testing.T) {
	const a, b = `{"id":"a","text":"1"}`, `{"id":"b","text":"2"}`
	for _, in := range []string{
		a + "\n" + b + "\n", a + "\n" + b, a + "\r\n" + b + "\r\n", "\xef\xbb\xbf" + a + "\n\n \t\n" + b + "\n\n",
	} {
		for _, r := range []io.Reader{strings.NewReader(in), &trickle{strings.NewReader(in)}} {
			docs, skipped, err := drain(t, NewJSONL(r, "in", Options{}))
			if fmt.Sprint(docs) != "[{a  1} {b  2}]" || skipped.Broken != 0 || err != nil {
				t.Errorf("%q: %v %+v %v", in, docs, skipped, err)
			}
		}
	}
	for _, in := range []string{"", "\n\n", "\xef\xbb\xbf", " "} {
		if docs, skipped, err := drain(t, NewJSONL(strings.NewReader(in), "in", Options{Strict: true})); docs != nil || skipped.Broken != 0 || err != nil {
			t.Errorf("%q: %v %+v %v", in, docs, skipped, err)
		}
	}
	_, _, err := drain(t, NewJSONL(stuck{}, "in", Options{}))
	wantError(t, err, io.ErrNoProgress, "read in: multiple Read calls return no data or error")
}

// trickle gives one byte at a time.
type trickle struct{ r io.Reader }

func (t *trickle) Read(p []byte) (int, error) { return t.r.Read(p[:min(len(p), 1)]) }

// stuck never gives anything.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestLongLines(t *testing.T) {
	long := strings.Repeat("word ", 2<<20) // 10 MiB
	in := `{"id":"a","text":"` + long + `"}` + "\n" + `{"id":"b","text":"short"}` + "\n"
	s := NewJSONL(strings.NewReader(in), "in", Options{}).(*jsonlScanner)
	if !s.Scan() || string(s.Doc().Text) != long {
		t.Fatalf("the long line is not what was written: %v", s.Err())
	}
	if len(s.buf) > 2*len(in) {
		t.Errorf("buffer of %d bytes for a line of %d", len(s.buf), len(in))
	}
	if !s.Scan() || string(s.Doc().Text) != "short" {
		t.Errorf("after the long line: %q, %v", s.Doc().Text, s.Err())
	}

	for _, limit := range []int64{64, 1 << 20, 5 << 20, 9 << 20} {
		for _, tail := range []string{"\n" + `{"id":"b","text":"short"}`, ""} {
			one := `{"id":"0","text":"first"}` + "\n"
			in := one + in[:len(in)-len(`{"id":"b","text":"short"}`)-2] + tail
			s := NewJSONL(strings.NewReader(in), "c.jsonl", Options{MaxDocument: limit}).(*jsonlScanner)
			docs, skipped, err := drain(t, s)
			want := 1
			if tail != "" {
				want = 2
			}
			if err != nil || len(docs) != want || skipped.Broken != 1 {
				t.Fatalf("limit %d: %d documents, %+v, %v", limit, len(docs), skipped, err)
			}
			what := "c.jsonl:2: longer than " + sizeText(limit) + ", the largest document that is read (Options.MaxDocument)"
			if got := skipped.First[0].Error(); got != what {
				t.Errorf("limit %d: %q, want %q", limit, got, what)
			}
			if int64(len(s.buf)) > max(limit, firstBuffer)+4096 {
				t.Errorf("limit %d: buffer of %d bytes", limit, len(s.buf))
			}
		}
	}
}

// corpusLines gives n lines like those of a real collection.
func corpusLines(n int) []byte {
	var b []byte
	for i := range n {
		b = AppendJSONL(b, Doc{
			ID:    fmt.Appendf(nil, "doc-%d", i),
			Title: []byte("A title"),
			Text:  []byte(strings.Repeat("The operation's \"name\" is a string of up to 64 characters.\nSee the guide. ", 1+i%60)),
		})
	}
	return b
}

// loop repeats a text for ever.
type loop struct {
	text []byte
	at   int
}

func (l *loop) Read(p []byte) (int, error) {
	n := copy(p, l.text[l.at:])
	if l.at += n; l.at == len(l.text) {
		l.at = 0
	}
	return n, nil
}

func TestScanAllocatesNothing(t *testing.T) {
	tsv := bytes.ReplaceAll(corpusLines(500), []byte(`,"title":`), []byte("\t"))
	for name, s := range map[string]Source{
		"jsonl":        NewJSONL(&loop{text: corpusLines(500)}, "in", Options{}),
		"jsonl no id":  NewJSONL(&loop{text: []byte("{\"text\":\"a\"}\n{\"id\":\"\",\"text\":\"b\"}\n")}, "in", Options{}),
		"jsonl broken": NewJSONL(&loop{text: []byte("{\"id\":1,\"text\":\"a\"}\nbroken\n")}, "in", Options{}),
		"tsv":          NewTSV(&loop{text: tsv}, "in", Options{}),
	} {
		var tally Tally
		for range 2000 {
			if !s.Scan() {
				t.Fatalf("%s: %v", name, s.Err())
			}
			tally.Add(s.Doc())
		}
		if n := testing.AllocsPerRun(3000, func() {
			if !s.Scan() {
				t.Fatal(s.Err())
			}
			tally.Add(s.Doc())
		}); n != 0 {
			t.Errorf("%s: %v allocations a document", name, n)
		}
	}
}

// repaired gives s as encoding/json decodes it: each invalid byte is U+FFFD.
func repaired(s []byte) string { return string([]rune(string(s))) }

func FuzzJSONLTwin(f *testing.F) {
	for _, in := range []string{
		`{"_id":"a","title":"T","text":"x"}`, `{"id":1.5e3,"doc":"\ud83d\ude00\ud83d\n"}`, `{"text":null,"contents":"c","pid":-0}`,
		`{"id":"a","text":"b","x":[{"y":[1,2,{"z":"\u00zz"}]}]} `, `{"id":"a","text":7}`, `{"a":[1,],"id":"a","text":""}`,
		"{\"id\":\"a\",\"text\":\"\xff\xe2\x82\"}", `{"id":"a","text":"\`, `{"id":"a","text":"\u12`, `null`, `{}`, `[]`, ``, `{"text":"x"}`, `{"_id":"","id":"b","text":"x"}`, `{"":""}`,
		"{\"id\":\"a\",\"text\":\"tab\there, and 0x7f \x7f\"}", `{"id":"\u0000","text":"\u0000"}`,
	} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		want, err := parsePlain(line)
		work := bytes.Clone(line)
		got, bad, at := parseLine(work[:len(work):len(work)])
		if (bad == noFault) != (err == nil) {
			t.Fatalf("%q: fast says %d at %d, plain says %v", line, bad, at, err)
		}
		if at < 0 || at > len(line) {
			t.Fatalf("%q: fault at %d", line, at)
		}
		if err != nil {
			bad.describe(at)
			return
		}
		for i, pair := range [][2][]byte{{got.ID, want.ID}, {got.Title, want.Title}, {got.Text, want.Text}} {
			if repaired(pair[0]) != string(pair[1]) {
				t.Fatalf("%q: field %d: fast %q, plain %q", line, i, pair[0], pair[1])
			}
		}
	})
}

func FuzzPlainLen(f *testing.F) {
	f.Add([]byte("0123456789\"0123456789\\0123456789\x1f \x7f\x80\xff\x00"))
	f.Add([]byte("\x80\x80\x80\x80\x80\x80\x80\x80\x1f\xa2\xdc"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for i := range b {
			want := i
			for want < len(b) && b[want] != '"' && b[want] != '\\' && b[want] >= 0x20 {
				want++
			}
			if got := i + plainLen(b[i:]); got != want {
				t.Fatalf("%q from %d: %d, want %d", b, i, got, want)
			}
		}
	})
}

// BenchmarkJSONL scans documentation-like lines in memory.
func BenchmarkJSONL(b *testing.B) {
	text := corpusLines(2000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		s := NewJSONL(bytes.NewReader(text), "in", Options{})
		n := 0
		for s.Scan() {
			n++
		}
		if n != 2000 {
			b.Fatal(n, s.Err())
		}
	}
}

// BenchmarkJSONLPlain is its plain twin.
func BenchmarkJSONLPlain(b *testing.B) {
	text := corpusLines(2000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		for line := range bytes.Lines(text) {
			if _, err := parsePlain(line); err != nil {
				b.Fatal(err)
			}
		}
	}
}
