package corpus

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestTSV(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []doc
		broken   []string
	}{
		{"MS MARCO", "0\tThe presence.\n1\t \"quoted\" text \n", []doc{{"0", "", "The presence."}, {"1", "", ` "quoted" text `}}, nil},
		{"with title", "a\tT\tx y\r\nb\t\t\r\n", []doc{{"a", "T", "x y"}, {"b", "", ""}}, nil},
		{"header of two", "pid\ttext\n1\tx\n", []doc{{"1", "", "x"}}, nil},
		{"header of three", "_id\ttitle\tcontents\n1\tt\tx\n", []doc{{"1", "t", "x"}}, nil},
		{"header only once", "id\ttext\nid\ttext\n", []doc{{"id", "", "text"}}, nil},
		{"no header", "id\tsome text\n", []doc{{"id", "", "some text"}}, nil},
		{"blank lines", "\n1\tx\n\n\t\n2\ty", []doc{{"1", "", "x"}, {"2", "", "y"}}, nil},
		{
			"other numbers of columns", "1\tx\n2\n3\ta\tb\n4\ty\n", []doc{{"1", "", "x"}, {"4", "", "y"}},
			[]string{"c.tsv:2: 1 columns: expected 2, as on the first line", "c.tsv:3: 3 columns: expected 2, as on the first line"},
		},
		{
			"first line with too many", "1\ta\tb\tc\n2\tx\n", []doc{{"2", "", "x"}},
			[]string{"c.tsv:1: 4 columns: expected 2 (id, text) or 3 (id, title, text), separated by tabs"},
		},
		{"empty id", "\tx\n2\ty\n", []doc{{"2", "", "y"}}, []string{"c.tsv:1: the document id is empty"}},
	} {
		docs, skipped, err := drain(t, NewTSV(strings.NewReader(c.in), "c.tsv", Options{}))
		if fmt.Sprint(docs) != fmt.Sprint(c.want) || err != nil {
			t.Errorf("%s: got %q, %v, want %q", c.name, docs, err, c.want)
		}
		var broken []string
		for _, e := range skipped.First {
			broken = append(broken, e.Error())
		}
		if fmt.Sprint(broken) != fmt.Sprint(c.broken) || skipped.Broken != int64(len(c.broken)) {
			t.Errorf("%s: broken %q, want %q", c.name, broken, c.broken)
		}
	}
	_, _, err := drain(t, NewTSV(strings.NewReader("1\tx\nbroken\n"), "c.tsv", Options{Strict: true}))
	wantError(t, err, nil, "c.tsv:2: 1 columns: expected 2, as on the first line")
}

func FuzzTSVTwin(f *testing.F) {
	for _, in := range []string{"", "a", "a\tb", "a\tb\tc", "a\tb\tc\td", "\t", "\t\t\t"} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		d, n := splitTSV(line)
		want := bytes.Split(line, []byte{'\t'})
		if n != len(want) {
			t.Fatalf("%q: %d columns, want %d", line, n, len(want))
		}
		var got [][]byte
		switch n {
		case 2:
			got = [][]byte{d.ID, d.Text}
		case 3:
			got = [][]byte{d.ID, d.Title, d.Text}
		default:
			return
		}
		for i := range got {
			if !bytes.Equal(got[i], want[i]) {
				t.Fatalf("%q: column %d is %q, want %q", line, i, got[i], want[i])
			}
		}
	})
}
