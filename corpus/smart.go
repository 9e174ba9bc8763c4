package corpus

import (
	"bytes"
	"fmt"
	"io"
)

// FormatSMART is what a scanner of NewSMART gives as its format. OpenCorpus does
// not pick it: a collection in this form means nothing without its queries.
const FormatSMART = "smart"

// Liner is a scanner that knows where its documents stand. The scanners of lines
// are: JSONL, TSV, SMART, TREC.
type Liner interface {
	// Line gives the line on which the current document begins, counted from 1.
	Line() int64
}

// smartScanner scans SMART.
type smartScanner struct {
	lines
	id, title, text []byte
	seen            [256]bool // field letters met in the current record
	first           int64     // line of the current record's .I
	head            []byte    // id of the next record, from its .I
	headLine        int64
	begun           bool // head is set
	doc             Doc
}

// NewSMART scans the form of the SMART collections (Cranfield, CISI, CACM) from r.
// A record begins with a line `.I id`; then follow fields, each a line that holds
// nothing but a dot and a capital letter, and its text on the lines below. The
// document's title is what stands under .T and its text what stands under .W,
// lines joined with line breaks; other fields are left out, and so is what stands
// before the first record (a broken line each, blank ones aside). name stands in
// messages. Close closes r when it can be closed.
//
// A record has each field once: a mark that it had before is text. Cranfield needs
// that (240 has stray .A and .B lines in its abstract, 576 and 578 a second .W),
// CACM needs fields to end the text. A record without id is broken.
func NewSMART(r io.Reader, name string, opt Options) Source {
	return &smartScanner{lines: newLines(r, name, opt)}
}

// Format gives "smart".
func (s *smartScanner) Format() string { return FormatSMART }

// Doc gives the current document.
func (s *smartScanner) Doc() Doc { return s.doc }

// Line gives the line of the current document's .I.
func (s *smartScanner) Line() int64 { return s.first }

// Scan moves to the next record.
func (s *smartScanner) Scan() bool {
	s.doc = Doc{}
	for s.begun || s.find() {
		if s.record() {
			s.doc = Doc{ID: s.id, Title: s.title, Text: s.text}
			return true
		}
	}
	return false
}

// record reads the record that begun says, up to the next; false where it is left
// out or the scan has ended.
func (s *smartScanner) record() bool {
	s.id, s.first = append(s.id[:0], s.head...), s.headLine
	s.title, s.text = s.title[:0], s.text[:0]
	s.begun, s.seen = false, [256]bool{}
	field := byte(0)
	for s.next() {
		if id, ok := smartID(s.line); ok {
			if s.begin(id) {
				break
			}
			if s.err != nil {
				return false
			}
			continue
		}
		if m := smartMark(s.line); m != 0 && !s.seen[m] {
			field, s.seen[m] = m, true
			continue
		}
		switch field {
		case 'T':
			s.title = appendLine(s.title, s.line)
		case 'W':
			s.text = appendLine(s.text, s.line)
		}
		if n := int64(len(s.text) + len(s.title)); n > s.opt.maxDocument() {
			s.broken(fmt.Sprintf("the record of line %d is longer than %s, the largest document that is read (Options.MaxDocument)", s.first, sizeText(s.opt.maxDocument())))
			return false
		}
	}
	return s.err == nil
}

// find moves to the first record.
func (s *smartScanner) find() bool {
	for s.next() {
		id, ok := smartID(s.line)
		switch {
		case ok && s.begin(id):
			return true
		case !ok && !blank(s.line):
			s.broken("text outside a record: a record begins with a line `.I id`")
		}
		if s.err != nil {
			return false
		}
	}
	return false
}

// begin keeps the id of the record whose .I is the current line.
func (s *smartScanner) begin(id []byte) bool {
	if len(id) == 0 {
		s.broken("a record without id: expected `.I id`")
		return false
	}
	s.head, s.headLine, s.begun = append(s.head[:0], id...), s.number, true
	return true
}

// smartID gives the id of a line that begins a record.
func smartID(line []byte) (id []byte, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(".I"))
	if !ok || len(rest) > 0 && rest[0] != ' ' && rest[0] != '\t' {
		return nil, false
	}
	return bytes.TrimSpace(rest), true
}

// smartMark gives the letter of a line that is a mark, 0 for any other line.
func smartMark(line []byte) byte {
	line = bytes.TrimRight(line, " \t")
	if len(line) == 2 && line[0] == '.' && 'A' <= line[1] && line[1] <= 'Z' {
		return line[1]
	}
	return 0
}

// appendLine appends a line to a text of lines.
func appendLine(text, line []byte) []byte {
	if len(text) > 0 {
		text = append(text, '\n')
	}
	return append(text, line...)
}
