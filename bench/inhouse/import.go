package inhouse

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"encbench/metrics/judge"
)

// Label is a grade that a labeller gave.
type Label struct {
	Query, Document string
	Grade           float64
	Place           string // file and line
}

// Import reads filled sheets of one key.
type Import struct {
	key    *Key
	rows   map[string]int // of the key
	labels []*Label       // by row of the key, nil where unjudged
	inFile map[int]string // rows of the sheet that is read, and their place
	faults []string       // the first of them
	count  int            // of faults
	texts  bool           // compare texts
	Sheets int            // read
	Agreed int            // labels that a second sheet gave again
}

// maxFaults is how many faults an error lists.
const maxFaults = 10

// ErrSheet: rows of a sheet do not fit; nothing of it should be used.
var ErrSheet = errors.New("the sheet cannot be used")

// NewImport prepares to read sheets. checkTexts compares the texts of each row with
// those that were exported, which finds a column that was sorted by itself.
func NewImport(key *Key, checkTexts bool) *Import {
	m := &Import{key: key, rows: map[string]int{}, labels: make([]*Label, len(key.Rows)), texts: checkTexts}
	for i, r := range key.Rows {
		m.rows[r.Row] = i
	}
	return m
}

func (m *Import) fault(format string, args ...any) {
	if m.count++; m.count <= maxFaults {
		m.faults = append(m.faults, fmt.Sprintf(format, args...))
	}
}

// Read reads a sheet, with commas, semicolons or tabs between its columns, which
// its first line names. Columns row and label are needed; query and document are
// compared where they are there. Unknown rows, rows given twice, labels outside the
// grades, and labels that contradict an earlier sheet are listed in the error,
// which is an ErrSheet; rows without a label stay unjudged.
func (m *Import) Read(r io.Reader, name string) error {
	m.inFile, m.faults, m.count = map[int]string{}, nil, 0
	if err := m.read(r, name); err != nil {
		return fmt.Errorf("read sheet %s: %w", name, err)
	}
	m.Sheets++
	if m.count == 0 {
		return nil
	}
	text := strings.Join(m.faults, "\n  ")
	if more := m.count - len(m.faults); more > 0 {
		text += fmt.Sprintf("\n  and %d more", more)
	}
	return fmt.Errorf("read sheet %s: %w:\n  %s", name, ErrSheet, text)
}

func (m *Import) read(r io.Reader, name string) error {
	t, err := openTable(r)
	if err != nil {
		return err
	}
	for {
		err := t.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		line, _ := t.in.FieldPos(0)
		if row, at := m.swallowed(t); row != "" {
			m.fault("%s:%d: a quotation mark begins a text that runs on to row %q in line %d; close it, or write two for one", name, line, row, at)
			continue
		}
		m.row(fmt.Sprintf("%s:%d", name, line), t.cell)
	}
}

// swallowed finds a row of the key within a cell of several lines, and its line: a
// quotation mark that nothing closes takes in all that follows.
func (m *Import) swallowed(t *table) (row string, line int) {
	for i, text := range t.fields {
		if !strings.Contains(text, "\n") {
			continue
		}
		first, _ := t.in.FieldPos(i)
		for k, part := range strings.Split(text, "\n") {
			for j, id := range strings.Split(part, string(t.in.Comma)) {
				id = strings.Trim(id, " \r\"")
				if _, ok := m.rows[id]; ok && k+j > 0 {
					return id, first + k
				}
			}
		}
	}
	return "", 0
}

// row takes in one line of a sheet.
func (m *Import) row(place string, get func(column string) (string, bool)) {
	id, _ := get("row")
	id = strings.TrimSpace(id)
	label, there := get("label")
	if id == "" {
		if strings.TrimSpace(label) != "" {
			m.fault("%s: a label without a row", place)
		}
		return // an empty line of a spreadsheet
	}
	i, ok := m.rows[id]
	if !ok {
		m.fault("%s: unknown row %.40q: the key has %s, such as %q; is it another sheet's key?", place, id, count(len(m.key.Rows), "row", "rows"), m.example())
		return
	}
	if earlier, ok := m.inFile[i]; ok {
		m.fault("%s: row %q is at %s too; keep one of them", place, id, earlier)
		return
	}
	m.inFile[i] = place
	if !there {
		m.fault("%s: row %q has no column label", place, id)
		return
	}
	if column := m.differs(i, get); column != "" {
		m.fault("%s: the %s of row %q is not what was exported: was one column sorted by itself? If the text alone was edited, use --ignore-text", place, column, id)
		return
	}
	grade, judged, err := m.key.grade(label)
	if err != nil {
		m.fault("%s: row %q: %v", place, id, err)
		return
	}
	if !judged {
		return
	}
	if first := m.labels[i]; first != nil {
		if first.Grade != grade {
			m.fault("%s: row %q: label %g contradicts %g at %s; agree on one", place, id, grade, first.Grade, first.Place)
		} else {
			m.Agreed++
		}
		return
	}
	m.labels[i] = &Label{m.key.Rows[i].Query, m.key.Rows[i].Document, grade, place}
}

// differs names the column whose text is not the exported one, or "".
func (m *Import) differs(row int, get func(column string) (string, bool)) string {
	if !m.texts {
		return ""
	}
	if text, ok := get("query"); ok && textCheck(unescape(text)) != m.key.Rows[row].QueryCheck {
		return "query"
	}
	if text, ok := get("document"); ok && textCheck(unescape(text)) != m.key.Rows[row].DocumentCheck {
		return "document"
	}
	return ""
}

func (m *Import) example() string {
	if len(m.key.Rows) == 0 {
		return ""
	}
	return m.key.Rows[0].Row
}

// Labels gives the labels of all sheets, by query and document.
func (m *Import) Labels() []Label {
	var out []Label
	for _, l := range m.labels {
		if l != nil {
			out = append(out, *l)
		}
	}
	slices.SortFunc(out, func(a, b Label) int {
		if c := strings.Compare(a.Query, b.Query); c != 0 {
			return c
		}
		return strings.Compare(a.Document, b.Document)
	})
	return out
}

// Unjudged gives the number of rows that no sheet has a label for.
func (m *Import) Unjudged() int { return len(m.labels) - len(m.Labels()) }

// Merged counts what a merge did.
type Merged struct{ Added, Same, Replaced int }

// ErrConflict: a label contradicts an existing one.
var ErrConflict = errors.New("labels contradict existing ones")

// Merge adds labels to judgements, which may be nil, and gives new ones: the old in
// their order, then what was added. A label that differs from an old one is an
// ErrConflict with the first places, or, with replace, takes its place.
func Merge(old *judge.Qrels, labels []Label, replace bool) (*judge.Qrels, Merged, error) {
	var n Merged
	var conflicts []string
	given := map[pair]float64{}
	for _, l := range labels {
		have, ok := 0.0, false
		if old != nil {
			if j, found := old.Find(l.Query); found {
				have, ok = old.Grade(j, l.Document)
			}
		}
		switch {
		case !ok:
			n.Added++
		case have == l.Grade:
			n.Same++
		default:
			n.Replaced++
			conflicts = append(conflicts, fmt.Sprintf("%s: query %q, document %q: label %g, existing %g", l.Place, l.Query, l.Document, l.Grade, have))
		}
		given[pair{l.Query, l.Document}] = l.Grade
	}
	if len(conflicts) > 0 && !replace {
		text := strings.Join(conflicts[:min(len(conflicts), maxFaults)], "\n  ")
		if more := len(conflicts) - maxFaults; more > 0 {
			text += fmt.Sprintf("\n  and %d more", more)
		}
		return nil, n, fmt.Errorf("%w:\n  %s\nuse --replace to take the new ones", ErrConflict, text)
	}
	out := &judge.Qrels{}
	if old != nil {
		for j := range old.Len() {
			docs, grades := old.Judged(j)
			for i, d := range docs {
				at := pair{old.Query(j), d}
				g := grades[i]
				if fresh, ok := given[at]; ok {
					g = fresh
					delete(given, at)
				}
				if err := out.Add(at.query, d, g); err != nil {
					return nil, n, err
				}
			}
		}
	}
	for _, l := range labels {
		if g, ok := given[pair{l.Query, l.Document}]; ok {
			if err := out.Add(l.Query, l.Document, g); err != nil {
				return nil, n, err
			}
		}
	}
	return out, n, nil
}

// QrelsHeader is the first line of the judgements that WriteQrels writes.
const QrelsHeader = "query-id\tcorpus-id\tscore"

// WriteQrels writes judgements as BEIR's TSV with a header. Ids with white space
// that breaks a line or a column are an error.
func WriteQrels(w io.Writer, q *judge.Qrels) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, QrelsHeader)
	for j := range q.Len() {
		docs, grades := q.Judged(j)
		for i, d := range docs {
			if strings.ContainsAny(q.Query(j)+d, "\t\r\n") {
				return fmt.Errorf("query %q, document %q: an id with a tab or line break cannot be written as TSV", q.Query(j), d)
			}
			fmt.Fprintf(out, "%s\t%s\t%s\n", q.Query(j), d, strconv.FormatFloat(grades[i], 'f', -1, 64))
		}
	}
	return out.Flush()
}
