package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// textScanner gives one document: all of a stream.
type textScanner struct {
	lines // for its buffer and its counts
	doc   Doc
	done  bool
}

// NewText reads all of r as one document whose id is the last element of name. An
// r that gives nothing, or a byte order mark alone, holds no document. Close closes
// r when it can be closed.
func NewText(r io.Reader, name string, opt Options) Source {
	return &textScanner{lines: newLines(r, name, opt)}
}

// Format gives "text".
func (s *textScanner) Format() string { return FormatText }

// Doc gives the document.
func (s *textScanner) Doc() Doc { return s.doc }

// Scan reads the document.
func (s *textScanner) Scan() bool {
	s.doc = Doc{}
	if s.done || s.err != nil {
		return false
	}
	s.done = true
	text, what, err := s.whole()
	switch {
	case err != nil:
		s.err = err
	case what != "":
		s.broken(what)
	case len(text) > 0:
		s.doc = Doc{ID: []byte(filepath.Base(s.name)), Text: text}
		return true
	}
	return false
}

// whole reads the rest of the stream into the buffer; what says why it is no
// document.
func (l *lines) whole() (text []byte, what string, err error) {
	l.start, l.end, l.eof = 0, 0, false
	if l.buf == nil {
		l.buf = make([]byte, firstBuffer)
	}
	for !l.eof {
		if !l.fill() {
			return nil, "", l.err
		}
		if int64(l.end) > l.opt.maxDocument() {
			return nil, fmt.Sprintf("longer than %s, the largest document that is read (Options.MaxDocument)", sizeText(l.opt.maxDocument())), nil
		}
	}
	return bytes.TrimPrefix(l.buf[:l.end], byteOrderMark), "", nil
}

// binaryHead is how much of a file is looked at to tell binary from text.
const binaryHead = 8 << 10

// isBinary says whether a file that begins with head is not text: it has a zero
// byte there (which also catches UTF-16).
func isBinary(head []byte) bool {
	return bytes.IndexByte(head[:min(len(head), binaryHead)], 0) >= 0
}

// dirScanner gives one document for each text file of a folder.
type dirScanner struct {
	lines         // for its buffer and its counts; name is the root
	want   filter // nil takes every file
	format string
	levels []level
	id     []byte
	doc    Doc
}

// level is one folder of the walk: its path below the root and what is left of it.
type level struct {
	rel   string
	names []string
	kinds []os.FileMode
}

// filter says whether to take the entry of this name; a folder that is not taken
// is not entered.
type filter func(name string, dir bool) bool

// OpenDir scans the text files below root, one document each: its id is the path
// below root with slashes, its title empty; an empty file is an empty document.
// Order: names sorted by bytes within
// each folder, a folder's files at its place among its siblings. Compressed files
// are unpacked as by Open and keep their whole name. Left out and counted: names
// that begin with a dot, files with a zero byte in their first 8 KiB (binary),
// symbolic links to folders (a walk that follows them may not end) and to nothing;
// a link to a regular file is read. A file that cannot be read, or is larger than
// MaxDocument, counts as broken.
//
// Only the names of the folders on the current path are held. Opening a file
// allocates.
func OpenDir(root string, opt Options) (Source, error) {
	return openDir(root, FormatDir, nil, opt)
}

func openDir(root, format string, want filter, opt Options) (*dirScanner, error) {
	s := &dirScanner{lines: newLines(nil, root, opt), want: want, format: format}
	if err := s.enter(""); err != nil {
		return nil, fmt.Errorf("open corpus folder: %w", err)
	}
	return s, nil
}

// Format gives "dir".
func (s *dirScanner) Format() string { return s.format }

// Doc gives the current document.
func (s *dirScanner) Doc() Doc { return s.doc }

// enter reads the folder rel.
func (s *dirScanner) enter(rel string) error {
	entries, err := os.ReadDir(filepath.Join(s.name, filepath.FromSlash(rel)))
	if err != nil {
		return err
	}
	l := level{rel: rel}
	for _, e := range entries { // sorted by name
		if strings.HasPrefix(e.Name(), ".") {
			s.skipped.Hidden++
			continue
		}
		if s.want != nil && !s.want(e.Name(), e.IsDir()) {
			continue
		}
		l.names = append(l.names, e.Name())
		l.kinds = append(l.kinds, e.Type())
	}
	s.levels = append(s.levels, l)
	return nil
}

// Scan moves to the next file that is text.
func (s *dirScanner) Scan() bool {
	for s.err == nil && len(s.levels) > 0 {
		top := &s.levels[len(s.levels)-1]
		if len(top.names) == 0 {
			s.levels = s.levels[:len(s.levels)-1]
			continue
		}
		rel, kind := top.names[0], top.kinds[0]
		if top.rel != "" {
			rel = top.rel + "/" + rel
		}
		top.names, top.kinds = top.names[1:], top.kinds[1:]
		if s.visit(rel, kind) {
			return true
		}
	}
	s.doc = Doc{}
	return false
}

// visit enters a folder or reads a file; true when it gave a document.
func (s *dirScanner) visit(rel string, kind os.FileMode) bool {
	path := filepath.Join(s.name, filepath.FromSlash(rel))
	if kind&os.ModeSymlink != 0 {
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			s.skipped.Links++
			return false
		}
		kind = info.Mode().Type()
	}
	switch {
	case kind.IsDir():
		if err := s.enter(rel); err != nil {
			s.brokenFile(path, err)
		}
		return false
	case !kind.IsRegular(): // sockets, pipes and devices hold no text
		s.skipped.Binary++
		return false
	}
	f, err := Open(path)
	if err != nil {
		s.brokenFile(path, err)
		return false
	}
	s.r = f
	text, what, err := s.whole()
	s.r = nil
	err = errors.Join(err, f.Close())
	switch {
	case err != nil:
		s.err = nil // of this file only
		s.brokenFile(path, err)
	case what != "":
		s.brokenFile(path, errors.New(what))
	case isBinary(text):
		s.skipped.Binary++
	default:
		s.id = append(s.id[:0], rel...)
		s.doc = Doc{ID: s.id, Text: text}
		return true
	}
	return false
}

// brokenFile counts a file that gave no document.
func (s *dirScanner) brokenFile(path string, err error) {
	root := s.name
	s.name = path
	s.broken(err.Error())
	s.name = root
}
