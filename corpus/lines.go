package corpus

import (
	"bytes"
	"fmt"
	"io"
	"math"
)

const (
	firstBuffer = 1 << 20  // enough for read calls to cost nothing beside the scan
	keptBuffer  = 16 << 20 // a larger buffer is given back once its line is done
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// lines cuts a stream into lines in one reused buffer, and counts broken ones.
// The line scanners embed it.
type lines struct {
	r    io.Reader
	name string
	opt  Options

	buf        []byte
	start, end int  // unread bytes: buf[start:end]
	eof        bool // r is exhausted
	line       []byte
	number     int64 // of line, from 1

	skipped Skipped
	kept    [MaxKept]LineError
	err     error
}

func newLines(r io.Reader, name string, opt Options) lines {
	return lines{r: r, name: name, opt: opt}
}

// next moves to the next line, without its line break; false at the end or on an
// error. The line may be overwritten, and lives until the next call.
func (l *lines) next() bool {
	if l.err != nil {
		return false
	}
	if l.buf == nil {
		l.buf = make([]byte, firstBuffer)
		if !l.fill() {
			return false
		}
	}
	searched := l.start
	for {
		to := l.end // of the line, as far as it is in the buffer
		n := bytes.IndexByte(l.buf[searched:l.end], '\n')
		if n >= 0 {
			to = searched + n
		}
		have := to - l.start
		switch {
		case int64(have) > l.opt.maxDocument():
			if !l.skipLine() {
				return false
			}
			searched = l.start
			continue
		case n >= 0:
			l.take(to)
			l.start = to + 1
			return true
		case l.eof && have == 0:
			return false
		case l.eof:
			l.take(to)
			l.start = to
			return true
		}
		if !l.fill() {
			return false
		}
		searched = l.start + have
	}
}

// take makes buf[start:to] the current line.
func (l *lines) take(to int) {
	line := l.buf[l.start:to]
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	if l.number++; l.number == 1 {
		line = bytes.TrimPrefix(line, byteOrderMark)
	}
	l.line = line
}

// fill reads more, moving what is unread to the front or to a buffer twice as
// large (but not beyond the largest document); false when reading failed.
func (l *lines) fill() bool {
	have := l.end - l.start
	largest := int(min(max(l.opt.maxDocument(), firstBuffer), math.MaxInt/2)) + 4096
	switch {
	case have > len(l.buf)/2 && len(l.buf) < largest:
		grown := make([]byte, min(2*len(l.buf), largest))
		copy(grown, l.buf[l.start:l.end])
		l.buf = grown
	case len(l.buf) > keptBuffer && have < firstBuffer/2:
		shrunk := make([]byte, firstBuffer)
		copy(shrunk, l.buf[l.start:l.end])
		l.buf = shrunk
	default:
		copy(l.buf, l.buf[l.start:l.end])
	}
	l.start, l.end = 0, have
	for tries := 0; tries < 100; tries++ {
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		if err == io.EOF {
			l.eof = true
			return true
		}
		if err != nil {
			l.err = err
			return false
		}
		if n > 0 {
			return true
		}
	}
	l.err = fmt.Errorf("read %s: %w", l.name, io.ErrNoProgress)
	return false
}

// skipLine drops a line that is too long, up to and with its line break, and
// counts it; false when that ended the scan.
func (l *lines) skipLine() bool {
	l.number++
	l.broken(fmt.Sprintf("longer than %s, the largest document that is read (Options.MaxDocument)", sizeText(l.opt.maxDocument())))
	for l.err == nil {
		if n := bytes.IndexByte(l.buf[l.start:l.end], '\n'); n >= 0 {
			l.start += n + 1
			return true
		}
		l.start = l.end
		if l.eof {
			return true
		}
		l.fill()
	}
	return false
}

// wantText says whether the text of the next broken line will be kept.
func (l *lines) wantText() bool { return l.opt.Strict || l.skipped.Broken < MaxKept }

// broken counts the current line as broken.
func (l *lines) broken(what string) {
	e := LineError{Path: l.name, Line: l.number, What: what}
	if n := l.skipped.Broken; n < MaxKept {
		l.kept[n] = e
	}
	l.skipped.Broken++
	if l.opt.Strict {
		l.err = &e
	}
}

// Err gives the error that ended the scan.
func (l *lines) Err() error { return l.err }

// Line gives the number of the current line, from 1.
func (l *lines) Line() int64 { return l.number }

// Skipped gives the broken lines so far.
func (l *lines) Skipped() Skipped {
	s := l.skipped
	s.First = l.kept[:min(s.Broken, MaxKept)]
	return s
}

// Close closes the reader when it can be closed.
func (l *lines) Close() error {
	if c, ok := l.r.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
