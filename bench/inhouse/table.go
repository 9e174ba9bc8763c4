package inhouse

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// table reads a sheet row by row, whatever a spreadsheet made of its form: a byte
// order mark, commas, semicolons or tabs, quotes, the order of the columns.
type table struct {
	in     *csv.Reader
	column map[string]int
	fields []string // of the row that next read
}

// openTable reads the first line, which names the columns. row and label are
// needed; a column of ours that is there twice is an error.
func openTable(r io.Reader) (*table, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	head, err := br.Peek(4096)
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case len(head) == 0:
		return nil, errors.New("it is empty")
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return nil, errors.New("it is UTF-16; save it as CSV in UTF-8")
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return nil, errors.New("it is a spreadsheet's own format; save it as CSV in UTF-8")
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		if _, err := br.Discard(3); err != nil {
			return nil, err
		}
		head = head[3:]
	}
	line, _, ends := bytes.Cut(head, []byte("\n"))
	if !ends && bytes.IndexByte(bytes.TrimRight(head, "\r"), '\r') >= 0 {
		return nil, errors.New("its lines end in CR alone, as those of old Macintosh programs; save it as CSV in UTF-8")
	}
	t := &table{in: csv.NewReader(br), column: map[string]int{}}
	t.in.Comma = delimiter(line)
	t.in.FieldsPerRecord = -1
	t.in.LazyQuotes = true
	t.in.ReuseRecord = true
	if err := t.next(); err != nil {
		return nil, err
	}
	for i, n := range t.fields {
		t.column[strings.ToLower(strings.TrimSpace(n))] = i
	}
	for _, n := range columns {
		i, ok := t.column[n]
		if !ok && (n == "row" || n == "label") {
			return nil, fmt.Errorf("line 1: no column %q: expected %s, found %.80q", n, strings.Join(columns, ", "), strings.Join(t.fields, ", "))
		}
		for _, other := range t.fields[:i] {
			if strings.ToLower(strings.TrimSpace(other)) == n {
				return nil, fmt.Errorf("line 1: column %q is there twice; remove one", n)
			}
		}
	}
	return t, nil
}

// delimiter is the one of tab, semicolon and comma that the first line has most of.
func delimiter(line []byte) rune {
	best := '\t'
	for _, d := range []rune{';', ','} {
		if bytes.Count(line, []byte(string(d))) > bytes.Count(line, []byte(string(best))) {
			best = d
		}
	}
	return best
}

// next reads a row, and gives io.EOF behind the last.
func (t *table) next() (err error) {
	t.fields, err = t.in.Read()
	return err
}

// cell gives the text in a column of the row; false where it has none.
func (t *table) cell(column string) (string, bool) {
	i, ok := t.column[column]
	if !ok || i >= len(t.fields) {
		return "", false
	}
	return t.fields[i], true
}

// CountLabels gives the number of rows of a sheet that have a label, of whatever
// kind; name is for messages.
func CountLabels(r io.Reader, name string) (n int, err error) {
	t, err := openTable(r)
	for err == nil {
		if err = t.next(); err == nil {
			if label, _ := t.cell("label"); strings.TrimSpace(label) != "" {
				n++
			}
		}
	}
	if err != io.EOF {
		return n, fmt.Errorf("read sheet %s: %w", name, err)
	}
	return n, nil
}
