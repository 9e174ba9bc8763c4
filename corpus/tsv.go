package corpus

import (
	"bytes"
	"fmt"
	"io"
)

// tsvScanner scans TSV.
type tsvScanner struct {
	lines
	doc     Doc
	columns int // of the first line; 0 before it
}

// NewTSV scans tab-separated lines from r: `id <tab> text`, as in MS MARCO's
// collection.tsv, or `id <tab> title <tab> text`. The first line decides which;
// a line with another number of columns is broken. Nothing is quoted or escaped.
// A first line of column names (an id name of JSONL, then its title and text
// names) is skipped. name stands in messages. Close closes r when it can.
func NewTSV(r io.Reader, name string, opt Options) Source {
	return &tsvScanner{lines: newLines(r, name, opt)}
}

// Format gives "tsv".
func (s *tsvScanner) Format() string { return FormatTSV }

// Doc gives the current document.
func (s *tsvScanner) Doc() Doc { return s.doc }

// Scan moves to the next document.
func (s *tsvScanner) Scan() bool {
	for s.next() {
		if blank(s.line) {
			continue
		}
		d, n := splitTSV(s.line)
		if s.columns == 0 && (n == 2 || n == 3) {
			s.columns = n
			if isHeader(d, n) {
				continue
			}
		}
		switch {
		case s.columns == 0:
			s.fault("%d columns: expected 2 (id, text) or 3 (id, title, text), separated by tabs", n)
		case n != s.columns:
			s.fault("%d columns: expected %d, as on the first line", n, s.columns)
		case len(d.ID) == 0:
			s.fault("the document id is empty")
		default:
			s.doc = d
			return true
		}
	}
	s.doc = Doc{}
	return false
}

func (s *tsvScanner) fault(format string, args ...any) { s.broken(fmt.Sprintf(format, args...)) }

// splitTSV splits a line of two or three columns and gives their number. It
// equals bytes.Split at tabs without its allocation.
func splitTSV(line []byte) (Doc, int) {
	a := bytes.IndexByte(line, '\t')
	if a < 0 {
		return Doc{}, 1
	}
	id, rest := line[:a:a], line[a+1:]
	b := bytes.IndexByte(rest, '\t')
	if b < 0 {
		return Doc{ID: id, Text: rest}, 2
	}
	if more := bytes.Count(rest[b+1:], []byte{'\t'}); more > 0 {
		return Doc{}, 3 + more
	}
	return Doc{ID: id, Title: rest[:b:b], Text: rest[b+1:]}, 3
}

// isHeader says whether d consists of column names.
func isHeader(d Doc, columns int) bool {
	id := fieldIndex(d.ID)
	return 0 <= id && id < titleAt && fieldIndex(d.Text) >= textAt &&
		(columns == 2 || fieldIndex(d.Title) == titleAt)
}
