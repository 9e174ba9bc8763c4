package corpus

import (
	"slices"
	"strings"
	"testing"
)

func TestTREC(t *testing.T) {
	const text = `<DOC>
<DOCNO>1</DOCNO>
two  lines
of text
</DOC>

<doc>
<docno> FT911-3 </docno>
<DOCID>dropped</DOCID>
<HEADLINE>A &amp; B</HEADLINE>
<TEXT>
<P>First.</P><P>Second.</P> <!-- comment -->
</TEXT>
</doc>
<DOC>
<DOCNO>W1</DOCNO>
<DOCHDR>
http://example
</DOCHDR>
<html><title>Page</title><body>body <b>bold</b> 3 < 4
</body></html>
</DOC>
<DOC>
<DOCNO>empty</DOCNO>
</DOC>
`
	s := NewTREC(strings.NewReader(strings.ReplaceAll(text, "\n", "\r\n")), "in", Options{Strict: true})
	if s.Format() != "trec" {
		t.Errorf("format %s", s.Format())
	}
	var docs []doc
	var lines []int64
	for s.Scan() {
		d := s.Doc()
		docs = append(docs, doc{string(d.ID), string(d.Title), string(d.Text)})
		lines = append(lines, s.(Liner).Line())
	}
	want := []doc{
		{"1", "", "two lines of text"},
		{"FT911-3", "A & B", "First. Second."},
		{"W1", "Page", "body bold 3 < 4"},
		{"empty", "", ""},
	}
	if s.Err() != nil || !slices.Equal(docs, want) || !slices.Equal(lines, []int64{1, 7, 15, 23}) {
		t.Errorf("got %q at lines %d, %v\nwant %q", docs, lines, s.Err(), want)
	}
	if s.Scan() || s.Doc().ID != nil {
		t.Error("a scan went on after its end")
	}
}

func TestTRECBroken(t *testing.T) {
	const good = "<DOC>\n<DOCNO>1</DOCNO>\na\n</DOC>\n"
	one := []doc{{"1", "", "a"}}
	for _, test := range []struct {
		text  string
		docs  []doc
		first string
	}{
		{"stray\n" + good, one, "in:1: text outside a document: a document begins with a line <DOC>"},
		{"<DOC>\nb\n</DOC>\n" + good, one, "in:3: the document of line 1 has no <DOCNO>id</DOCNO>"},
		{"<DOC>\n<DOCNO> </DOCNO>\nb\n</DOC>\n" + good, one, "in:4: the document of line 1 has no <DOCNO>id</DOCNO>"},
		{"<DOC>\n<DOCNO>2\nb\n</DOC>\n" + good, one, "in:4: the document of line 1 has no <DOCNO>id</DOCNO>"},
		{"<DOC>\nb\n" + good, one, "in:3: <DOC> inside the document of line 1, which has no </DOC>"},
		{good + "<DOC>\n<DOCNO>2</DOCNO>\nb\n", one, "in:7: the document of line 5 has no </DOC>"},
		{"<DOC>\n" + strings.Repeat("long text\n", 5) + "</DOC>\n" + good, one,
			"in:5: the document of line 1 is longer than 30 bytes, the largest document that is read (Options.MaxDocument)"},
	} {
		docs, skipped, err := drain(t, NewTREC(strings.NewReader(test.text), "in", Options{MaxDocument: 30}))
		if err != nil || !slices.Equal(docs, test.docs) || skipped.Broken == 0 || skipped.First[0].Error() != test.first {
			t.Errorf("%q: %q, %+v, %v", test.text, docs, skipped, err)
		}
		_, _, err = drain(t, NewTREC(strings.NewReader(test.text), "in", Options{MaxDocument: 30, Strict: true}))
		wantError(t, err, nil, test.first)
	}
}

// FuzzTREC writes documents of any text and reads them back.
func FuzzTREC(f *testing.F) {
	f.Add("d1", "plain text\nof two lines")
	f.Add("x", "</DOCNO><DOCNO>y</DOCNO> & <TITLE>t</TITLE>")
	f.Add("<b>", "<TITLE><HEADLINE></TITLE></HEADLINE><DOCID>")
	f.Fuzz(func(t *testing.T, id, text string) {
		id = strings.TrimSpace(id)
		if id == "" || strings.ContainsAny(id, "<>\n\r") || len(id)+len(text) > 1000 {
			return
		}
		for line := range strings.SplitSeq(text, "\n") {
			if l := strings.TrimSpace(line); strings.EqualFold(l, "<DOC>") || strings.EqualFold(l, "</DOC>") {
				return
			}
		}
		docs, skipped, err := drain(t, NewTREC(strings.NewReader("<DOC>\n<DOCNO>"+id+"</DOCNO>\n"+text+"\n</DOC>\n<DOC>\n<DOCNO>last</DOCNO>\n</DOC>\n"), "in", Options{}))
		if err != nil || skipped.Broken > 0 || len(docs) != 2 || docs[0].id != id || docs[1] != (doc{"last", "", ""}) {
			t.Fatalf("%q, %q: got %q, %+v, %v", id, text, docs, skipped, err)
		}
		for _, tag := range []string{"<", "&"} {
			if strings.Contains(text, tag) {
				return
			}
		}
		if got, want := docs[0].text, string(collapse([]byte(strings.ReplaceAll(text, "\r\n", "\n")))); got != want {
			t.Errorf("%q: text %q, want %q", text, got, want)
		}
	})
}
