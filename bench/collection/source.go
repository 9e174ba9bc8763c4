package collection

import (
	"errors"
	"fmt"
	"io"

	"encbench/corpus"
)

// opener opens the documents of a collection from the beginning.
type opener func() (corpus.Source, error)

// files opens one document file after another; newScanner is one of the scanners of
// package corpus. A broken line ends the scan with an error, and so does, with needID,
// a document without id: by its line number it could be taken for another one.
func files(paths []string, needID bool, newScanner func(io.Reader, string, corpus.Options) corpus.Source) opener {
	return func() (corpus.Source, error) {
		c := &chain{paths: paths, newScanner: newScanner, opt: corpus.Options{Strict: true, NeedID: needID}}
		return c, c.next()
	}
}

// chain scans files one after another as one source.
type chain struct {
	corpus.Source // of the current file
	paths         []string
	at            int // files opened so far
	newScanner    func(io.Reader, string, corpus.Options) corpus.Source
	opt           corpus.Options
	err           error
}

func (c *chain) next() error {
	path := c.paths[c.at]
	in, err := corpus.Open(path)
	if err != nil {
		return err
	}
	c.at++
	c.Source = c.newScanner(in, path, c.opt)
	return nil
}

// Scan moves to the next document, of the next file where one ends.
func (c *chain) Scan() bool {
	for c.err == nil {
		if c.Source.Scan() {
			return true
		}
		if c.err = c.Source.Err(); c.err != nil || c.at == len(c.paths) {
			return false
		}
		if c.err = c.Source.Close(); c.err == nil {
			c.err = c.next()
		}
	}
	return false
}

// Err gives the error that ended the scan.
func (c *chain) Err() error { return c.err }

// Place says where the current document stands.
func (c *chain) Place() string {
	return fmt.Sprintf("%s:%d", c.paths[c.at-1], c.Source.(corpus.Liner).Line())
}

// untitled gives documents without their titles.
type untitled struct{ corpus.Source }

func (u untitled) Doc() corpus.Doc {
	d := u.Source.Doc()
	d.Title = nil
	return d
}

// Place says where the current document stands.
func (u untitled) Place() string { return place(u.Source) }

// place says where the current document of s stands, "" where it does not know.
func place(s corpus.Source) string {
	if p, ok := s.(interface{ Place() string }); ok {
		return p.Place()
	}
	return ""
}

// some gives the documents of an opener whose numbers, counted from 0, are in keep,
// which ascends.
func some(open opener, keep []int64) opener {
	return func() (corpus.Source, error) {
		s, err := open()
		if err != nil {
			return nil, err
		}
		return &selected{Source: s, keep: keep, number: -1}, nil
	}
}

// selected gives some of the documents of a source.
type selected struct {
	corpus.Source
	keep   []int64 // numbers still to come
	number int64   // of the current document of Source
	end    bool
}

// Scan moves to the next kept document.
func (s *selected) Scan() bool {
	for len(s.keep) > 0 && s.Source.Scan() {
		if s.number++; s.number == s.keep[0] {
			s.keep = s.keep[1:]
			return true
		}
	}
	s.end = true
	return false
}

// Doc gives the current document.
func (s *selected) Doc() corpus.Doc {
	if s.end {
		return corpus.Doc{}
	}
	return s.Source.Doc()
}

// Place says where the current document stands.
func (s *selected) Place() string { return place(s.Source) }

// pool is a source of documents in memory.
type pool struct {
	docs   []document
	format string
	at     int // documents given
}

// document is a document in memory.
type document struct {
	id, text []byte
	place    string
}

func inMemory(docs []document, format string) opener {
	return func() (corpus.Source, error) { return &pool{docs: docs, format: format}, nil }
}

// Scan moves to the next document.
func (p *pool) Scan() bool {
	p.at = min(p.at+1, len(p.docs)+1)
	return p.at <= len(p.docs)
}

// Doc gives the current document.
func (p *pool) Doc() corpus.Doc {
	if p.at == 0 || p.at > len(p.docs) {
		return corpus.Doc{}
	}
	d := p.docs[p.at-1]
	return corpus.Doc{ID: d.id, Text: d.text}
}

// Place says where the current document stands.
func (p *pool) Place() string { return p.docs[p.at-1].place }

// Err gives nil: nothing can fail.
func (p *pool) Err() error { return nil }

// Close gives nil: nothing is held open.
func (p *pool) Close() error { return nil }

// Skipped gives nothing: all was read before.
func (p *pool) Skipped() corpus.Skipped { return corpus.Skipped{} }

// Format names the layout that the pool was read from.
func (p *pool) Format() string { return p.format }

// scan reads a source to its end and closes it. An error of visit ends it.
func scan(open opener, visit func(s corpus.Source, d corpus.Doc) error) (err error) {
	s, err := open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for s.Scan() {
		if err := visit(s, s.Doc()); err != nil {
			return err
		}
	}
	return s.Err()
}
