package inhouse

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"encbench/metrics/judge"
)

func pool(depth int, runs ...map[string][]string) *Pool {
	p := NewPool(depth)
	for _, run := range runs {
		for _, q := range []string{"q1", "q2", "q3"} {
			p.Add(q, run[q])
		}
	}
	return p
}

var otherRun = map[string][]string{
	"q1": {"d3", "d1"}, "q2": {"d4", "d5"}, "q3": {"d5", "d4"},
}

func TestPoolUnitesRuns(t *testing.T) {
	p := pool(2, goldenRun, otherRun)
	if p.Len() != 10 || p.String() != "10 candidates for 3 queries" {
		t.Errorf("pool %s", p)
	}
	if got := p.docs["q1"]; !slices.Equal(got, []string{"d1", "d2", "d3"}) {
		t.Errorf("candidates of q1 %q", got)
	}
}

func makeSheet(t *testing.T, opt SheetOptions) (*Sheet, *Key) {
	t.Helper()
	s, k, err := MakeSheet(open(t, write(t, golden)), pool(3, goldenRun, otherRun), opt)
	if err != nil {
		t.Fatal(err)
	}
	return s, k
}

func sheetText(t *testing.T, s *Sheet, comma rune) string {
	t.Helper()
	var b bytes.Buffer
	if err := s.Write(&b, comma); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The sheet is a golden: what a labeller sees, order included.
func TestSheetIsBlind(t *testing.T) {
	s, k := makeSheet(t, SheetOptions{Seed: 7, Runs: []Pooled{{"bm25.ebrun", "00"}}})
	const want = "row\tquery\tdocument\tlabel\tnote\n" +
		"01-3ab0f3\twhen do we eat\tReset How to reset a password.\t\t\n" +
		"02-87e2cd\twhen do we eat\tLunch is at noon.\t\t\n" +
		"03-6b1319\twhen do we eat\tPasswords expire\\tafter 90 days.\\nAsk the desk.\t\t\n" +
		"04-3180a6\twhen do we eat\tVacation is requested in the portal.\t\t\n" +
		"05-fb7a93\tforgot my password\t\"'=HYPERLINK(\"\"http://example.invalid\"\") is a formula.\"\t\t\n" +
		"06-6b5eca\tforgot my password\tPasswords expire\\tafter 90 days.\\nAsk the desk.\t\t\n" +
		"07-b8c3ed\tforgot my password\tReset How to reset a password.\t\t\n" +
		"08-27b71c\tdays off\tReset How to reset a password.\t\t\n" +
		"09-04e49b\tdays off\tPasswords expire\\tafter 90 days.\\nAsk the desk.\t\t\n" +
		"10-c44929\tdays off\tVacation is requested in the portal.\t\t\n" +
		"11-9d7c15\tdays off\tLunch is at noon.\t\t\n"
	text := sheetText(t, s, '\t')
	if text != want {
		t.Errorf("sheet\n%q\nwant\n%q", text, want)
	}
	for _, tell := range []string{"d1", "q1", "bm25", "0.9"} {
		if strings.Contains(text, tell) {
			t.Errorf("the sheet tells %q", tell)
		}
	}
	// Neither the order of the runs nor that of the lists shows.
	turned, key, err := MakeSheet(open(t, write(t, golden)), pool(3, otherRun, goldenRun), SheetOptions{Seed: 7})
	if err != nil || sheetText(t, turned, '\t') != text || fmt.Sprint(key.Rows) != fmt.Sprint(k.Rows) {
		t.Errorf("runs in another order give another sheet, %v", err)
	}
	if other, _ := makeSheet(t, SheetOptions{Seed: 8}); sheetText(t, other, '\t') == text {
		t.Error("another seed gives the same sheet")
	}
	// Rows of a query stand together.
	seen := map[string]bool{}
	for i, r := range s.Rows {
		if i > 0 && r.Query != s.Rows[i-1].Query && seen[r.Query] {
			t.Errorf("query %q stands in two places", r.Query)
		}
		seen[r.Query] = true
	}
}

func TestKeyRoundTrip(t *testing.T) {
	_, k := makeSheet(t, SheetOptions{Seed: 7, Grades: []float64{0, 0.5, 1}, Runs: []Pooled{{"a<b>.ebrun", "00"}}})
	var b bytes.Buffer
	if err := k.Write(&b); err != nil {
		t.Fatal(err)
	}
	if !IsKey(b.Bytes()) || IsKey([]byte(`{"schema":1}`)) {
		t.Error("a key is not recognised as one")
	}
	back, err := ReadKey(&b, "k")
	if err != nil || fmt.Sprintf("%+v", back) != fmt.Sprintf("%+v", k) {
		t.Errorf("key %+v is read as %+v, %v", k, back, err)
	}
	for _, c := range []struct{ text, want string }{
		{"row\tquery", "read key k: invalid character 'r' looking for beginning of value; expected the file that labels export wrote beside the sheet"},
		{`{"encbench_label_key":1,"rows":[]}{}`, "read key k: something follows the JSON value that ends at byte 34; expected the file that labels export wrote beside the sheet"},
		{`{"rows":[]}`, "read key k: schema 0, this program knows 1; expected the file that labels export wrote beside the sheet"},
		{`{"encbench_label_key":1,"rows":[["a","q","d","x"]]}`, "read key k: a row of 4 fields, expected 5; expected the file that labels export wrote beside the sheet"},
		{`{"encbench_label_key":1,"rows":[["a","q","d","x","y"],["a","q","d","x","y"]]}`, `read key k: row "a" is there twice`},
	} {
		if _, err := ReadKey(strings.NewReader(c.text), "k"); err == nil || err.Error() != c.want {
			t.Errorf("%s: error %v, want %s", c.text, err, c.want)
		}
	}
}

func TestSheetOptions(t *testing.T) {
	// Pairs with a label are left out on request: d1, d2 of q1, d4 of q2, d5 of q3.
	all, _ := makeSheet(t, SheetOptions{})
	some, _ := makeSheet(t, SheetOptions{Unjudged: true})
	if len(all.Rows) != 11 || len(some.Rows) != 7 || some.Labelled != 4 || all.Labelled != 0 {
		t.Errorf("%d rows, unjudged %d and %d left out", len(all.Rows), len(some.Rows), some.Labelled)
	}
	cut, _ := makeSheet(t, SheetOptions{MaxChars: 12})
	if cut.Cut == 0 || !slices.ContainsFunc(cut.Rows, func(r SheetRow) bool { return r.Document == "Lunch is at…" }) {
		t.Errorf("%d documents cut: %+v", cut.Cut, cut.Rows)
	}
	c := open(t, write(t, golden))
	p := NewPool(5)
	p.Add("q8", []string{"d1"})
	if _, _, err := MakeSheet(c, p, SheetOptions{}); err == nil || err.Error() != "no pair to label: 1 candidate for 1 query, 1 query not in "+c.Name+", 0 pairs labelled already" {
		t.Errorf("a pool of unknown queries: %v", err)
	}
	p.Add("q1", []string{"x9", "d1", "x8"})
	if _, _, err := MakeSheet(c, p, SheetOptions{}); err == nil || err.Error() != "2 documents of the runs are not in "+c.Name+`, the first "x8"; were the runs made on another collection?` {
		t.Errorf("a pool of unknown documents: %v", err)
	}
}

// A row is a line, and no cell is a formula.
func TestCellsAreSafe(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"plain", "plain"},
		{"a\tb\nc\rd", `a\tb\nc\rd`},
		{`C:\new`, `C:\\new`},
		{"=1+1", "'=1+1"},
		{" +1", "' +1"},
		{"-1", "'-1"},
		{"@cmd", "'@cmd"},
		{"|calc", "'|calc"},
		{"\t=1", `\t=1`},
		{"a\x00b\x07c", "a b c"},
		{"bad \xff byte", "bad \uFFFD byte"},
		{"", ""},
	} {
		if got := cell(c.text); got != c.want {
			t.Errorf("cell(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

// fill sets the label of every row by f and writes the sheet again.
func fill(t *testing.T, text string, comma, to rune, f func(row int) string) string {
	t.Helper()
	r := csv.NewReader(strings.NewReader(text))
	r.Comma = comma
	all, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Comma = to
	for i := range all {
		if i > 0 {
			all[i][3] = f(i - 1)
		}
	}
	if err := w.WriteAll(all); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestImport(t *testing.T) {
	s, k := makeSheet(t, SheetOptions{Seed: 7})
	label := func(row int) string { return []string{"1", "", " 0 ", "2.0"}[row%4] }
	for _, c := range []struct{ comma, to rune }{{'\t', '\t'}, {',', ','}, {',', ';'}, {'\t', ','}} {
		text := "\xef\xbb\xbf" + strings.ReplaceAll(fill(t, sheetText(t, s, c.comma), c.comma, c.to, label), "\n", "\r\n")
		m := NewImport(k, true)
		if err := m.Read(strings.NewReader(text), "sheet"); err != nil {
			t.Fatal(err)
		}
		labels := m.Labels()
		if len(labels) != 8 || m.Unjudged() != 3 {
			t.Errorf("%d labels and %d unjudged of %d rows", len(labels), m.Unjudged(), len(k.Rows))
		}
		for _, l := range labels {
			i := slices.IndexFunc(k.Rows, func(r KeyRow) bool { return r.Query == l.Query && r.Document == l.Document })
			if want := []float64{1, -1, 0, 2}[i%4]; l.Grade != want || l.Place != fmt.Sprintf("sheet:%d", i+2) {
				t.Errorf("row %d: %+v, want grade %v", i, l, want)
			}
		}
	}
}

// What spreadsheets do to texts is forgiven, what makes another row of it is not.
func TestImportComparesTexts(t *testing.T) {
	s, k := makeSheet(t, SheetOptions{Seed: 7})
	text := fill(t, sheetText(t, s, ','), ',', ',', func(int) string { return "1" })
	mild := strings.NewReplacer(`\t`, "\t", "'=", "=", "  ", " ", "Lunch", "LUNCH").Replace(text)
	if err := NewImport(k, true).Read(strings.NewReader(mild), "s"); err != nil {
		t.Errorf("a sheet with other white space: %v", err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	doc := func(line string) string { return strings.Split(line, ",")[2] }
	sorted := strings.Replace(text, doc(lines[1]), "Vacation of another row", 1)
	row := k.Rows[0].Row
	want := fmt.Sprintf("read sheet s: the sheet cannot be used:\n  s:2: the document of row %q is not what was exported: was one column sorted by itself? If the text alone was edited, use --ignore-text", row)
	if err := NewImport(k, true).Read(strings.NewReader(sorted), "s"); err == nil || err.Error() != want || !errors.Is(err, ErrSheet) {
		t.Errorf("another document: %v, want %s", err, want)
	}
	if err := NewImport(k, false).Read(strings.NewReader(sorted), "s"); err != nil {
		t.Errorf("another document, not compared: %v", err)
	}
}

func TestImportRefuses(t *testing.T) {
	k := &Key{Schema: 1, Grades: []float64{0, 1}, Rows: []KeyRow{{"1-a", "q1", "d1", "", ""}, {"2-b", "q1", "d2", "", ""}, {"3-c", "q2", "d1", "", ""}}}
	for _, c := range []struct{ text, want string }{
		{"", "read sheet s: it is empty"},
		{"\xff\xfer\x00o\x00", "read sheet s: it is UTF-16; save it as CSV in UTF-8"},
		{"PK\x03\x04xlsx", "read sheet s: it is a spreadsheet's own format; save it as CSV in UTF-8"},
		{"row\tgrade\n", `read sheet s: line 1: no column "label": expected row, query, document, label, note, found "row, grade"`},
		{"a,b\n1,2\n", `read sheet s: line 1: no column "row": expected row, query, document, label, note, found "a, b"`},
		{"row,label\n9-z,1\n", "read sheet s: the sheet cannot be used:\n  s:2: unknown row \"9-z\": the key has 3 rows, such as \"1-a\"; is it another sheet's key?"},
		{"row,label\n1-a,1\n2-b,0\n1-a,1\n", "read sheet s: the sheet cannot be used:\n  s:4: row \"1-a\" is at s:2 too; keep one of them"},
		{"row,label\n1-a,1\n1-a,0\n", "read sheet s: the sheet cannot be used:\n  s:3: row \"1-a\" is at s:2 too; keep one of them"},
		{"row,label\n1-a,5\n2-b,yes\n", "read sheet s: the sheet cannot be used:\n  s:2: row \"1-a\": label \"5\" is none of 0, 1; leave it empty for unjudged\n  s:3: row \"2-b\": label \"yes\" is none of 0, 1; leave it empty for unjudged"},
		{"row,label\n1-a\n", "read sheet s: the sheet cannot be used:\n  s:2: row \"1-a\" has no column label"},
		{"row,label\r1-a,1\r2-b,0", "read sheet s: its lines end in CR alone, as those of old Macintosh programs; save it as CSV in UTF-8"},
		{"row,label,note,Label\n1-a,,x,1\n", `read sheet s: line 1: column "label" is there twice; remove one`},
		{"row,label,note\n1-a,1,\"not sure\n2-b,0,\n3-c,1,\n", "read sheet s: the sheet cannot be used:\n  s:2: a quotation mark begins a text that runs on to row \"2-b\" in line 3; close it, or write two for one"},
		{"label;note;row\n1;\"not sure;1-a\n0;;2-b\n", "read sheet s: the sheet cannot be used:\n  s:2: a quotation mark begins a text that runs on to row \"1-a\" in line 2; close it, or write two for one"},
		{"row,label\n,1\n", "read sheet s: the sheet cannot be used:\n  s:2: a label without a row"},
		{"row,label\n" + strings.Repeat("x,1\n", 12), "read sheet s: the sheet cannot be used:" +
			strings.Join(func() (l []string) {
				for i := range 10 {
					l = append(l, fmt.Sprintf("\n  s:%d: unknown row \"x\": the key has 3 rows, such as \"1-a\"; is it another sheet's key?", i+2))
				}
				return l
			}(), "") + "\n  and 2 more"},
	} {
		err := NewImport(k, true).Read(strings.NewReader(c.text), "s")
		if err == nil || err.Error() != c.want {
			t.Errorf("%q:\n%v\nwant\n%s", c.text, err, c.want)
		}
	}
	// A note of several lines, empty lines of a spreadsheet and unjudged rows are fine.
	m := NewImport(k, true)
	if err := m.Read(strings.NewReader("row,label,note\n1-a,1,\"not\nsure\"\n2-b,1,\n"), "s"); err != nil || len(m.Labels()) != 2 {
		t.Errorf("%d labels, %v", len(m.Labels()), err)
	}
	m = NewImport(k, true)
	if err := m.Read(strings.NewReader("row,label,note\n,,\n1-a,,why\n2-b,1\n"), "s"); err != nil || len(m.Labels()) != 1 || m.Unjudged() != 2 {
		t.Errorf("%d labels, %d unjudged, %v", len(m.Labels()), m.Unjudged(), err)
	}
}

func TestCountLabels(t *testing.T) {
	for text, want := range map[string]int{"row,label\n1-a,\n2-b, \n": 0, "row;label;note\n1-a;5;\n2-b;;x\n3-c;?;\n": 2} {
		if n, err := CountLabels(strings.NewReader(text), "s"); err != nil || n != want {
			t.Errorf("%q: %d labels, %v; want %d", text, n, err, want)
		}
	}
	if _, err := CountLabels(strings.NewReader(""), "s"); err == nil || err.Error() != "read sheet s: it is empty" {
		t.Errorf("empty: %v", err)
	}
}

func TestTwoLabellers(t *testing.T) {
	k := &Key{Schema: 1, Grades: []float64{0, 1}, Rows: []KeyRow{{"1-a", "q1", "d1", "", ""}, {"2-b", "q1", "d2", "", ""}}}
	m := NewImport(k, true)
	if err := m.Read(strings.NewReader("row,label\n1-a,1\n2-b,\n"), "anna"); err != nil {
		t.Fatal(err)
	}
	if err := m.Read(strings.NewReader("row,label\n1-a,1\n2-b,0\n"), "ben"); err != nil || m.Agreed != 1 || m.Sheets != 2 || m.Unjudged() != 0 {
		t.Errorf("agreed %d, sheets %d, unjudged %d, %v", m.Agreed, m.Sheets, m.Unjudged(), err)
	}
	err := m.Read(strings.NewReader("row,label\n2-b,1\n"), "carl")
	if want := "read sheet carl: the sheet cannot be used:\n  carl:2: row \"2-b\": label 1 contradicts 0 at ben:3; agree on one"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestMerge(t *testing.T) {
	old := &judge.Qrels{}
	for _, l := range []Label{{"q1", "d1", 1, ""}, {"q1", "d2", 0, ""}, {"q2", "d1", 2, ""}} {
		if err := old.Add(l.Query, l.Document, l.Grade); err != nil {
			t.Fatal(err)
		}
	}
	text := func(q *judge.Qrels) string {
		var b bytes.Buffer
		if err := WriteQrels(&b, q); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	fits := []Label{{"q1", "d1", 1, "s:2"}, {"q1", "d9", 0.5, "s:3"}, {"q3", "d1", 0, "s:4"}}
	q, n, err := Merge(old, fits, false)
	want := "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\nq1\td9\t0.5\nq2\td1\t2\nq3\td1\t0\n"
	if err != nil || n != (Merged{Added: 2, Same: 1}) || text(q) != want {
		t.Errorf("%q, %+v, %v, want %q", text(q), n, err, want)
	}
	clash := append(fits, Label{"q2", "d1", 0, "s:5"})
	if _, _, err = Merge(old, clash, false); !errors.Is(err, ErrConflict) || err.Error() != "labels contradict existing ones:\n  s:5: query \"q2\", document \"d1\": label 0, existing 2\nuse --replace to take the new ones" {
		t.Errorf("a conflict: %v", err)
	}
	q, n, err = Merge(old, clash, true)
	if err != nil || n != (Merged{2, 1, 1}) || text(q) != strings.Replace(want, "q2\td1\t2", "q2\td1\t0", 1) {
		t.Errorf("replaced: %q, %+v, %v", text(q), n, err)
	}
	if q, n, err = Merge(nil, fits, false); err != nil || n.Added != 3 || q.Len() != 2 {
		t.Errorf("into nothing: %d queries, %+v, %v", q.Len(), n, err)
	}
	bad, _, err := Merge(nil, []Label{{"q\t1", "d", 1, ""}}, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteQrels(&bytes.Buffer{}, bad); err == nil || err.Error() != `query "q\t1", document "d": an id with a tab or line break cannot be written as TSV` {
		t.Errorf("an id with a tab: %v", err)
	}
}

// Whatever is in the cells, what was exported comes back with its labels.
func FuzzSheet(f *testing.F) {
	f.Add("a query", "a document", "another", 2)
	f.Add("=cmd|' /C calc'!A0", "tab\there", "line\nbreak \"quoted\", and, commas; and \\n", 1)
	f.Add("'", "\\\\n", "\xff\x00", 0)
	f.Fuzz(func(t *testing.T, query, one, two string, grade int) {
		if query == "" {
			query = "q"
		}
		k := &Key{Schema: keySchema, Grades: []float64{0, 1, 2, 3}}
		s := &Sheet{}
		for i, d := range []string{one, two} {
			row := fmt.Sprintf("%d-x", i)
			s.Rows = append(s.Rows, SheetRow{row, query, d})
			k.Rows = append(k.Rows, KeyRow{row, "q", fmt.Sprint("d", i), textCheck(query), textCheck(d)})
		}
		label := fmt.Sprint((grade%4 + 4) % 4)
		for _, comma := range []rune{'\t', ','} {
			text := sheetText(t, s, comma)
			if n := strings.Count(text, "\n"); n != 3 {
				t.Fatalf("%d lines in %q, want 3", n, text)
			}
			m := NewImport(k, true)
			if err := m.Read(strings.NewReader(fill(t, text, comma, comma, func(i int) string {
				if i == 0 {
					return label
				}
				return ""
			})), "s"); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			if l := m.Labels(); len(l) != 1 || l[0].Document != "d0" || fmt.Sprint(l[0].Grade) != label {
				t.Fatalf("%q: labels %+v", text, l)
			}
		}
	})
}

// No sheet, however broken, makes a label that is not in it.
func FuzzImport(f *testing.F) {
	f.Add([]byte("row,label\n1-a,1\n"))
	f.Add([]byte("row\tlabel\n\"1-a\t1\n"))
	f.Add([]byte("\xef\xbb\xbfrow;label\r\n1-a;0\r\n2-b;;;\r\n"))
	k := &Key{Schema: 1, Grades: []float64{0, 1}, Rows: []KeyRow{{"1-a", "q1", "d1", "", ""}, {"2-b", "q1", "d2", "", ""}}}
	f.Fuzz(func(t *testing.T, text []byte) {
		m := NewImport(k, false)
		err := m.Read(bytes.NewReader(text), "s")
		for _, l := range m.Labels() {
			row := k.Rows[slices.IndexFunc(k.Rows, func(r KeyRow) bool { return r.Document == l.Document })].Row
			if !bytes.Contains(text, []byte(row)) || l.Grade != 0 && l.Grade != 1 {
				t.Errorf("%q gives %+v", text, l)
			}
		}
		if err == nil && m.Sheets != 1 {
			t.Errorf("%d sheets read", m.Sheets)
		}
	})
}
