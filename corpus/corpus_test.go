package corpus

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// doc is a copy of a Doc that compares and prints well.
type doc struct{ id, title, text string }

// drain reads s to its end and closes it.
func drain(t *testing.T, s Source) ([]doc, Skipped, error) {
	t.Helper()
	var docs []doc
	for s.Scan() {
		d := s.Doc()
		docs = append(docs, doc{string(d.ID), string(d.Title), string(d.Text)})
	}
	skipped, err := s.Skipped(), s.Err()
	skipped.First = slices.Clone(skipped.First)
	if s.Scan() || s.Doc().ID != nil {
		t.Error("a scan went on after its end")
	}
	if cerr := s.Close(); cerr != nil {
		t.Errorf("close: %v", cerr)
	}
	return docs, skipped, err
}

// write puts content into a new file of the test's folder.
func write(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantError compares an error with a sentinel (nil: any) and its exact text.
func wantError(t *testing.T, err, is error, text string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %q", text)
	}
	if is != nil && !errors.Is(err, is) {
		t.Errorf("error %v is not %v", err, is)
	}
	if err.Error() != text {
		t.Errorf("error text\n got %s\nwant %s", err, text)
	}
}

func TestAppendText(t *testing.T) {
	for _, c := range []struct{ title, text, want string }{
		{"", "", ""},
		{"", "text", "text"},
		{"", " \n text\t ", "text"},
		{"Title", "text", "Title text"},
		{"Title", "", "Title"},
		{"  Title ", " text ", "Title   text"}, // only the ends are stripped
		{" ", " text", "text"},
		{" ", " ", ""},
		{"", "\u00a0\u3000text\u2028\x1c\x85", "text\u2028\x1c\x85"}, // a lone 0x85 is invalid UTF-8 and no space
		{"", "\x1c\x1d text \x1e\x1f", "text"},                       // as Python's str.strip
		{"", "\u200btext\ufeff", "\u200btext\ufeff"},
	} {
		got := Doc{Title: []byte(c.title), Text: []byte(c.text)}.AppendText([]byte("> "))
		if string(got) != "> "+c.want {
			t.Errorf("title %q, text %q: got %q, want %q", c.title, c.text, got[2:], c.want)
		}
	}
}

func TestManifest(t *testing.T) {
	const lines = `{"_id":"1","title":"A","text":"bc"}` + "\n" + `{"_id":"2","text":" def "}` + "\n"
	m, err := Scan(NewJSONL(strings.NewReader(lines), "x", Options{}), "name", "rule", nil)
	if err != nil {
		t.Fatal(err)
	}
	// By Python's hashlib over struct.pack('<Q', len(part)) + part.
	want := Manifest{
		Name: "name", Rule: "rule", Documents: 2, TextBytes: 4 + 3, Longest: 4,
		SHA256: "f0c7e52ec28b9ecad430ba092479733ada92b1ced32d637b8ab9765a3469d3fd",
	}
	if m != want {
		t.Errorf("got %+v, want %+v", m, want)
	}

	h := NewHashing(NewJSONL(strings.NewReader(lines), "x", Options{}))
	for h.Scan() {
	}
	if got := h.Manifest(); got.SHA256 != want.SHA256 || got.Documents != 2 {
		t.Errorf("hashing gives %+v", got)
	}

	// A byte that moves from one field to the next is another corpus.
	var a, b Tally
	a.Add(Doc{ID: []byte("12"), Text: []byte("3")})
	b.Add(Doc{ID: []byte("1"), Title: []byte("2"), Text: []byte("3")})
	if a.Manifest("", "").SHA256 == b.Manifest("", "").SHA256 {
		t.Error("fields run into each other")
	}
	var none Tally
	if m := none.Manifest("", ""); m.Documents != 0 || len(m.SHA256) != 64 {
		t.Errorf("empty corpus: %+v", m)
	}
}

func TestScanStopsAtVisitorsError(t *testing.T) {
	stop := errors.New("enough")
	s := NewJSONL(strings.NewReader(`{"id":1,"text":"a"}`+"\n"+`{"id":2,"text":"b"}`), "x", Options{})
	m, err := Scan(s, "n", "r", func(Doc) error { return stop })
	if !errors.Is(err, stop) || m.Documents != 1 {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestEmbedded(t *testing.T) {
	if got := strings.Join(Names(), " "); got != "techdocs techdocs-law gostd techdocs-qa" {
		t.Errorf("names %q", got)
	}
	for _, name := range Names() {
		e, err := Describe(name)
		if err != nil || e.Name != name || e.Summary == "" || !strings.HasPrefix(e.Rule, name+"-") {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
	_, err := Describe("wiki")
	wantError(t, err, ErrUnknownCorpus, `unknown corpus "wiki": the embedded ones are techdocs, techdocs-law, gostd, techdocs-qa`)
}

func TestAppendJSONLRoundTrip(t *testing.T) {
	for _, d := range []doc{
		{"1", "", ""},
		{"a\"b\\c", "T\n\r\t\x00\x1f", "é 漢 😀 \u2028 <>&"},
		{"id", "t", strings.Repeat(`long "quoted" \ text `, 100)},
	} {
		line := AppendJSONL(nil, Doc{[]byte(d.id), []byte(d.title), []byte(d.text)})
		if !bytes.HasSuffix(line, []byte("}\n")) {
			t.Errorf("%q does not end its line", line)
		}
		p, err := parsePlain(line)
		if got := (doc{string(p.ID), string(p.Title), string(p.Text)}); err != nil || got != d {
			t.Errorf("%q: got %q, %v", d, got, err)
		}
	}
	// By Python's bytes.decode(errors='replace').
	for in, want := range map[string]string{
		"a\xff\xfeb\xe2\x82":   "a\ufffd\ufffdb\ufffd",
		"\xe2\x82\"x\xe2\x82":  "\ufffd\"x\ufffd",
		"\xe2\x82\n\xac":       "\ufffd\n\ufffd",
		"\xf0\x9f\x98":         "\ufffd",
		"\xf0\x9fa\xf0\x9f":    "\ufffda\ufffd",
		"\xed\xa0\x80":         "\ufffd\ufffd\ufffd",
		"\xc0\x80":             "\ufffd\ufffd",
		"\xe0\x80\x80":         "\ufffd\ufffd\ufffd",
		"\xf4\x90\x80\x80":     "\ufffd\ufffd\ufffd\ufffd",
		"\xf4\x8f\xbf\xe2\x82": "\ufffd\ufffd",
		"\xf5\x80":             "\ufffd\ufffd",
		"\xc3\xa9\xc3":         "é\ufffd",
		"\ufffd\xef\xbf":       "\ufffd\ufffd",
		"\xe2\x82\xe2\x82\xac": "\ufffd€",
	} {
		p, err := parsePlain(AppendJSONL(nil, Doc{ID: []byte("i"), Text: []byte(in)}))
		if err != nil || string(p.Text) != want {
			t.Errorf("invalid UTF-8 %q: got %q, %v, want %q", in, p.Text, err, want)
		}
	}
}
