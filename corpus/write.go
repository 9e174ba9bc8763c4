package corpus

import (
	"bufio"
	"fmt"
	"io"
	"unicode/utf8"
)

// AppendJSONL appends d as one line of JSONL: `_id`, `title` when there is one,
// and `text`. What parses it gets the same bytes back, except that each invalid
// UTF-8 sequence becomes one U+FFFD: each maximal subpart (the longest beginning of
// some valid sequence, or else one byte), as Python's errors='replace' and the
// tokenizer repair it, so that E2 82 is one and FF FE are two.
func AppendJSONL(dst []byte, d Doc) []byte {
	dst = append(dst, `{"_id":`...)
	dst = appendString(dst, d.ID)
	if len(d.Title) > 0 {
		dst = append(dst, `,"title":`...)
		dst = appendString(dst, d.Title)
	}
	dst = append(dst, `,"text":`...)
	dst = appendString(dst, d.Text)
	return append(dst, '}', '\n')
}

// appendString appends s as a JSON string.
func appendString(dst, s []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for len(s) > 0 {
		n := plainLen(s)
		if run := s[:n]; utf8.Valid(run) {
			dst = append(dst, run...)
		} else {
			dst = appendRepaired(dst, run)
		}
		if s = s[n:]; len(s) == 0 {
			break
		}
		switch ch := s[0]; ch {
		case '"', '\\':
			dst = append(dst, '\\', ch)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[ch>>4], hex[ch&15])
		}
		s = s[1:]
	}
	return append(dst, '"')
}

// appendRepaired appends s with U+FFFD in place of each maximal subpart of an
// invalid sequence.
func appendRepaired(dst, s []byte) []byte {
	for len(s) > 0 {
		r, n := utf8.DecodeRune(s)
		if r == utf8.RuneError && n == 1 {
			// FullRune says of what begins a valid sequence, and only of that, that
			// something is missing.
			for n < len(s) && n < utf8.UTFMax && !utf8.FullRune(s[:n+1]) {
				n++
			}
		}
		dst = utf8.AppendRune(dst, r)
		s = s[n:]
	}
	return dst
}

// writer writes a corpus as JSONL and keeps its tally.
type writer struct {
	out  *bufio.Writer
	t    Tally
	line []byte
}

func newWriter(w io.Writer) *writer { return &writer{out: bufio.NewWriterSize(w, 1<<20)} }

// add writes d.
func (w *writer) add(d Doc) error {
	w.t.Add(d)
	w.line = AppendJSONL(w.line[:0], d)
	if _, err := w.out.Write(w.line); err != nil {
		return fmt.Errorf("write corpus: %w", err)
	}
	return nil
}

// addWithQuery writes d with the one query that it answers.
func (w *writer) addWithQuery(d Doc, id, query string) error {
	w.t.Add(d)
	w.line = AppendJSONL(w.line[:0], d)
	w.line = append(w.line[:len(w.line)-len("}\n")], `,"queries":[{"_id":`...)
	w.line = appendString(w.line, []byte(id))
	w.line = append(w.line, `,"text":`...)
	w.line = appendString(w.line, []byte(query))
	w.line = append(w.line, "}]}\n"...)
	if _, err := w.out.Write(w.line); err != nil {
		return fmt.Errorf("write corpus: %w", err)
	}
	return nil
}

// finish writes what is buffered and gives the manifest.
func (w *writer) finish(name, rule string) (Manifest, error) {
	if err := w.out.Flush(); err != nil {
		return Manifest{}, fmt.Errorf("write corpus: %w", err)
	}
	return w.t.Manifest(name, rule), nil
}
