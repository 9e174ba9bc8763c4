package corpus

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestSMART(t *testing.T) {
	const text = "\ufeff\r\n.I 001\r\n.T\r\na title\r\non two lines\r\n.A\r\nauthor\r\n.W\r\n.Ink\r\n first .\r\n.A\r\nstray\r\n.W\r\nsecond\r\n.I 2\r\n.W \r\n.I 3\r\n.X\r\n.T\r\nlate title"
	s := NewSMART(strings.NewReader(text), "in", Options{Strict: true})
	if s.Format() != "smart" {
		t.Errorf("format %s", s.Format())
	}
	var lines []int64
	var docs []doc
	for s.Scan() {
		d := s.Doc()
		docs = append(docs, doc{string(d.ID), string(d.Title), string(d.Text)})
		lines = append(lines, s.(Liner).Line())
	}
	want := []doc{
		{"001", "a title\non two lines", ".Ink\n first .\n.A\nstray\n.W\nsecond"},
		{"2", "", ""},
		{"3", "late title", ""},
	}
	if s.Err() != nil || !slices.Equal(docs, want) || !slices.Equal(lines, []int64{2, 15, 17}) {
		t.Errorf("got %q at lines %d, %v\nwant %q", docs, lines, s.Err(), want)
	}
	if s.Scan() || s.Doc().ID != nil {
		t.Error("a scan went on after its end")
	}
}

func TestSMARTBroken(t *testing.T) {
	for _, test := range []struct {
		text  string
		docs  []doc
		first string
	}{
		{"stray\n.I 1\n.W\na\n", []doc{{"1", "", "a"}}, "in:1: text outside a record: a record begins with a line `.I id`"},
		{".I 1\n.W\na\n.I\n.I 2\n.W\nb", []doc{{"1", "", "a"}, {"2", "", "b"}}, "in:4: a record without id: expected `.I id`"},
		{".I 1\n.W\n" + strings.Repeat("long text\n", 5) + ".I 2\n.W\nb", []doc{{"2", "", "b"}},
			"in:6: the record of line 1 is longer than 30 bytes, the largest document that is read (Options.MaxDocument)"},
	} {
		docs, skipped, err := drain(t, NewSMART(strings.NewReader(test.text), "in", Options{MaxDocument: 30}))
		if err != nil || !slices.Equal(docs, test.docs) || skipped.Broken == 0 || skipped.First[0].Error() != test.first {
			t.Errorf("%q: %q, %+v, %v", test.text, docs, skipped, err)
		}
		_, _, err = drain(t, NewSMART(strings.NewReader(test.text), "in", Options{MaxDocument: 30, Strict: true}))
		wantError(t, err, nil, test.first)
	}
}

// plainSMART reads records as NewSMART says it, from all of the text.
func plainSMART(text string) (docs []doc) {
	record := regexp.MustCompile(`^\.I[ \t]+(.*[^ \t].*)$`)
	empty := regexp.MustCompile(`^\.I[ \t]*$`)
	mark := regexp.MustCompile(`^\.([A-Z])[ \t]*$`)
	var fields map[string][]string
	field := ""
	end := func() {
		if fields != nil {
			docs[len(docs)-1].title, docs[len(docs)-1].text = strings.Join(fields["T"], "\n"), strings.Join(fields["W"], "\n")
		}
	}
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		switch m := mark.FindStringSubmatch(line); {
		case empty.MatchString(line): // broken
		case record.MatchString(line):
			end()
			docs = append(docs, doc{id: strings.TrimSpace(record.FindStringSubmatch(line)[1])})
			fields, field = map[string][]string{}, ""
		case fields == nil: // before the first record
		case m != nil && fields[m[1]] == nil:
			field, fields[m[1]] = m[1], []string{}
		case field != "" && !(len(fields[field]) == 0 && line == ""): // an empty line does not begin a text
			fields[field] = append(fields[field], line)
		}
	}
	end()
	return docs
}

func FuzzSMART(f *testing.F) {
	f.Add(".I 1\n.T\nt\n.W\nw\n.W\nx\n.I 2\n.A\n\n.W\n\n\na")
	f.Add("x\n.I\n.I \t 3 \n.W\r\n.IX\n.I4\n.Z\n")
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ReplaceAll(text, "\r", "")
		if strings.HasPrefix(text, "\ufeff") || strings.ContainsAny(text, "\v\f\u0085\u00a0") || strings.TrimSpace(text) != strings.Trim(text, " \t\n") {
			return // white space that only one of the two trims
		}
		docs, _, err := drain(t, NewSMART(strings.NewReader(text+"\n"), "in", Options{}))
		want := plainSMART(text)
		if err != nil || fmt.Sprint(docs) != fmt.Sprint(want) {
			t.Errorf("%q\n got %q, %v\nwant %q", text, docs, err, want)
		}
	})
}
