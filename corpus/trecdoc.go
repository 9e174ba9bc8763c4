package corpus

import (
	"bytes"
	"fmt"
	"io"
)

// FormatTREC is what a scanner of NewTREC gives as its format. OpenCorpus does not
// pick it: a collection in this form means nothing without its topics.
const FormatTREC = "trec"

// trecScanner scans TREC's SGML.
type trecScanner struct {
	lines
	id, title, text []byte
	first           int64
	doc             Doc
}

// NewTREC scans the SGML form of TREC's document collections from r:
//
//	<DOC>
//	<DOCNO>id</DOCNO>
//	<TITLE>…</TITLE>
//	text
//	</DOC>
//
// `<DOC>`, `</DOC>` and what stands outside them are lines of their own; element
// names may be in either case. The id is what DOCNO holds, the title what TITLE or
// HEADLINE holds, the text everything else: elements inside a document are taken
// for their text, their tags and comments become spaces and entities are decoded,
// as cleaned HTML, and runs of white space become one space. DOCID and DOCHDR (the
// header of a crawled page) are left out. A document without DOCNO, or one that is
// not closed, is broken. name stands in messages. Close closes r when it can.
func NewTREC(r io.Reader, name string, opt Options) Source {
	return &trecScanner{lines: newLines(r, name, opt)}
}

// Format gives "trec".
func (s *trecScanner) Format() string { return FormatTREC }

// Doc gives the current document.
func (s *trecScanner) Doc() Doc { return s.doc }

// Line gives the line of the current document's <DOC>.
func (s *trecScanner) Line() int64 { return s.first }

// Scan moves to the next document.
func (s *trecScanner) Scan() bool {
	s.doc = Doc{}
	inside := false
	for s.next() {
		line := bytes.TrimSpace(s.line)
		switch {
		case !inside && bytes.EqualFold(line, []byte("<DOC>")):
			inside, s.first, s.text = true, s.number, s.text[:0]
		case !inside && len(line) > 0:
			s.broken("text outside a document: a document begins with a line <DOC>")
		case !inside:
		case bytes.EqualFold(line, []byte("<DOC>")):
			s.broken(fmt.Sprintf("<DOC> inside the document of line %d, which has no </DOC>", s.first))
			s.first, s.text = s.number, s.text[:0]
		case bytes.EqualFold(line, []byte("</DOC>")):
			inside = false
			what := s.split()
			if what == "" {
				return true
			}
			s.broken(what)
		default:
			s.text = append(append(s.text, s.line...), '\n')
			if int64(len(s.text)) > s.opt.maxDocument() {
				s.broken(fmt.Sprintf("the document of line %d is longer than %s, the largest document that is read (Options.MaxDocument)", s.first, sizeText(s.opt.maxDocument())))
				inside = false
			}
		}
		if s.err != nil {
			return false
		}
	}
	if inside && s.err == nil {
		s.broken(fmt.Sprintf("the document of line %d has no </DOC>", s.first))
	}
	return false
}

// split makes the current document of its SGML; what says why it is none.
func (s *trecScanner) split() (what string) {
	body := s.text
	id, body, ok := cutElement(body, "DOCNO")
	if id = bytes.TrimSpace(id); !ok || len(id) == 0 {
		return fmt.Sprintf("the document of line %d has no <DOCNO>id</DOCNO>", s.first)
	}
	s.id = append(s.id[:0], id...)
	for _, name := range []string{"DOCID", "DOCHDR"} {
		_, body, _ = cutElement(body, name)
	}
	title, body, ok := cutElement(body, "TITLE")
	if !ok {
		title, body, _ = cutElement(body, "HEADLINE")
	}
	s.title = cleanHTML(title)
	s.doc = Doc{ID: s.id, Title: s.title, Text: cleanHTML(body)}
	return ""
}

// cutElement takes the first element of this name out of body: its content, and
// body without it.
func cutElement(body []byte, name string) (content, rest []byte, ok bool) {
	open, end := indexFold(body, "<"+name+">"), 0
	if open < 0 {
		return nil, body, false
	}
	start := open + len(name) + 2
	n := indexFold(body[start:], "</"+name+">")
	if n < 0 {
		return nil, body, false
	}
	end = start + n + len(name) + 3
	content = bytes.Clone(body[start : start+n])
	rest = append(append(bytes.Clone(body[:open]), ' '), body[end:]...)
	return content, rest, true
}

// indexFold is bytes.Index for a tag in either case of its ASCII letters.
func indexFold(b []byte, tag string) int {
	for i := 0; ; i++ {
		n := bytes.IndexByte(b[i:], tag[0])
		if i += n; n < 0 || len(b)-i < len(tag) {
			return -1
		}
		if bytes.EqualFold(b[i:i+len(tag)], []byte(tag)) {
			return i
		}
	}
}
