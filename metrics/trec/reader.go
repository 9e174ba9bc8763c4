package trec

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"encbench/metrics/ranking"
)

// Options says how a run is read.
type Options struct {
	Format Format
	// Lenient skips lines that cannot be read, accepts infinite scores, ranks that
	// are no numbers and columns behind the tag, and counts all of it.
	Lenient bool
	// Comments skips lines whose first byte is #.
	Comments bool
}

// Stats is the account of what was read.
type Stats struct {
	Lines    int64 // of text, blank ones included
	Rows     int64
	Marks    int   // byte order marks removed
	Blank    int64 // lines without a row: blank, and comments where asked
	Skipped  int64 // lines that a lenient reading left out
	Forgiven int64 // lines that only a lenient reading accepts
	// Fault is the first line that was skipped, for a message.
	Fault *FormatError
}

// Reader reads a run in blocks of whole queries. It is a [ranking.Source].
type Reader struct {
	opt Options

	mu     sync.Mutex
	in     chunker
	format Format // Auto until the first line was seen
	json   *jsonRun
	seq    int
	begun  bool // a row was seen
	seen   map[string]sighting
	tag    []byte
	tagSeq int
	faulty int // block of stats.Fault
	stats  Stats
	err    error // of every further call
	// scattered reads rows of a query wherever they stand.
	scattered bool
}

// sighting is where a query's rows begin.
type sighting struct {
	line int64
	seq  int // of the block
}

// NewReader reads a run from r, named name in messages.
func NewReader(r io.Reader, name string, opt Options) *Reader {
	return &Reader{
		opt:    opt,
		in:     chunker{in: r, name: name, line: 1, whole: true, comment: opt.Comments},
		format: opt.Format,
		seen:   make(map[string]sighting),
	}
}

// Stats gives the account so far.
func (r *Reader) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stats
	s.Marks = r.in.marks
	return s
}

// Tag gives the tag of the last row read, empty where the format has none.
func (r *Reader) Tag() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.tag)
}

// Format gives the layout, Auto before the first call of Next.
func (r *Reader) Format() Format {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.format
}

// Next fills b with the next whole queries. It may be called from several
// goroutines at once, each with a block of its own; see [ranking.Source]. The
// error is io.EOF at the end, a *FormatError for a line that cannot be read, and
// wraps ErrEmpty for a file without rows and ErrNotGrouped for a query whose rows
// do not stand together.
func (r *Reader) Next(b *ranking.Block) error {
	text, line, next, err := r.take(b)
	if text == nil || err != nil {
		return err
	}
	c := counted{Stats: Stats{Lines: int64(next - line)}}
	err = r.parse(b, text, line, &c)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		err = r.enter(b, &c)
	}
	if err != nil && r.err == nil {
		r.err = err
	}
	return err
}

// take gives the block its text, nil where the format gave whole rows, and the
// numbers of its first line and of the line behind it.
func (r *Reader) take(b *ranking.Block) (text []byte, line, next int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b.Seq = r.seq
	if r.err != nil {
		return nil, 0, 0, r.err
	}
	r.seq++
	if text, line, err = r.open(b); err == nil && r.json != nil {
		text, err = nil, r.json.next(b)
	}
	r.err = err
	return text, line, r.in.line, err
}

// open gives the next text, at the first call from the first row on, by which it
// tells the format.
func (r *Reader) open(b *ranking.Block) (text []byte, line int, err error) {
	if r.seq == 1 {
		first, err := r.in.begin()
		if err != nil {
			return nil, 0, err
		}
		if r.format == JSON || r.format == Auto && first == '{' {
			r.format = JSON
			r.json = newJSONRun(r.in.name, io.MultiReader(bytes.NewReader(r.in.carry), r.in.in), r.opt, &r.stats)
		}
	}
	for r.json == nil {
		text, line, err = r.in.next(b.Docs.Bytes)
		if err == io.EOF && !r.begun {
			return nil, 0, fmt.Errorf("%s: no rows: %w", r.in.name, ErrEmpty)
		}
		if err != nil {
			return nil, 0, err
		}
		b.Docs.Bytes = text
		if r.begun {
			return text, line, nil
		}
		first, at := r.firstRow(text, line)
		if first == nil {
			r.stats.Lines += int64(at - line)
			r.stats.Blank += int64(at - line)
			continue
		}
		r.begun = true
		if r.format == Auto {
			format, p := detect(first)
			if p != nil {
				return nil, 0, &FormatError{r.in.name, at, p.column, p.text}
			}
			r.format = format
		}
		return text, line, nil
	}
	return nil, 0, nil
}

// firstRow gives the first line that is neither blank nor a comment, and its number;
// from is that of text's first line.
func (r *Reader) firstRow(text []byte, from int) (line []byte, number int) {
	for number = from; len(text) > 0; number++ {
		line, next := cutLine(text)
		if len(bytes.Trim(line, " \t")) > 0 && !(r.opt.Comments && line[0] == '#') {
			return line, number
		}
		text = text[next:]
	}
	return nil, number
}

// counted is what reading one block adds to the account.
type counted struct {
	Stats
	tag   []byte
	first []int64 // line of each query's first row
}

// enter adds a block to the account and to the queries seen.
func (r *Reader) enter(b *ranking.Block, c *counted) error {
	s := &r.stats
	s.Lines += c.Lines
	s.Rows += c.Rows
	s.Blank += c.Blank
	s.Skipped += c.Skipped
	s.Forgiven += c.Forgiven
	if c.Fault != nil && (s.Fault == nil || b.Seq < r.faulty) {
		s.Fault, r.faulty = c.Fault, b.Seq
	}
	if b.Seq >= r.tagSeq && c.tag != nil {
		r.tag, r.tagSeq = append(r.tag[:0], c.tag...), b.Seq
	}
	if r.scattered {
		return nil
	}
	for q := range b.Len() {
		line := c.first[q]
		if other, ok := r.seen[string(b.Queries.At(q))]; ok {
			err := fmt.Errorf("%s: query %s has rows at line %d and again at line %d: %w", r.in.name, quote(b.Queries.At(q)), min(other.line, line), max(other.line, line), ErrNotGrouped)
			b.Seq = max(b.Seq, other.seq) // where a reader of one block after the other meets it
			return err
		}
		r.seen[string(b.Queries.At(q))] = sighting{line, b.Seq}
	}
	return nil
}
