package corpus

import (
	"bytes"
	"unicode"
)

// Doc is one document. Its slices are views, valid until the next Scan.
type Doc struct {
	ID    []byte
	Title []byte
	Text  []byte
}

// AppendText appends the text of d that an encoder sees: title, one space and
// text, without white space at either end (MTEB's rule, Python's str.strip; an
// empty title gives the stripped text). It allocates only to grow dst.
func (d Doc) AppendText(dst []byte) []byte {
	start := len(dst)
	if len(d.Title) > 0 {
		dst = append(append(dst, d.Title...), ' ')
	}
	dst = append(dst, d.Text...)
	trimmed := bytes.TrimFunc(dst[start:], isSpace)
	n := copy(dst[start:], trimmed)
	return dst[:start+n]
}

// isSpace is Python's str.isspace: Unicode white space and the four separators
// of ASCII that Go does not count.
func isSpace(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f }

// Scanner streams documents.
//
//	for s.Scan() { use(s.Doc()) }
//	if err := s.Err(); err != nil { … }
//
// A Scanner serves one goroutine at a time.
type Scanner interface {
	// Scan moves to the next document; false at the end or on an error.
	Scan() bool
	// Doc gives the current document, valid until the next Scan.
	Doc() Doc
	// Err gives the error that ended the scan, nil at a regular end.
	Err() error
	// Close frees what the scanner holds. It may be called before the end.
	Close() error
}

// Skipper says what a scanner left out.
type Skipper interface {
	// Skipped gives the counts so far. Its First is owned by the scanner.
	Skipped() Skipped
}

// Skipped counts what a scanner left out, and keeps the first broken lines.
type Skipped struct {
	Broken int64       // broken lines, unreadable files of a folder
	First  []LineError // the first of them, at most MaxKept
	Binary int64       // files of a folder that are not text
	Links  int64       // symbolic links of a folder that do not lead to a regular file
	Hidden int64       // entries of a folder whose name begins with a dot
}

// MaxKept is the number of broken lines that are kept with their text; the rest
// is only counted.
const MaxKept = 10

// Source is a scanner that says what it reads and what it left out.
type Source interface {
	Scanner
	Skipper
	// Format names what is read: jsonl, tsv, text or dir; an embedded corpus gives its rule.
	Format() string
}

// Options says how to read a corpus. The zero value picks the format and counts
// broken lines.
type Options struct {
	// Format is jsonl, tsv, text or dir; "" picks by extension, then by content.
	Format string
	// Strict makes the first broken line (or unreadable file of a folder) the end.
	Strict bool
	// NeedID makes a JSONL document without an id a broken line, instead of naming it
	// by its line number.
	NeedID bool
	// MaxDocument is the largest line, or file of a text corpus, in bytes after
	// unpacking; 0 means DefaultMaxDocument. The buffer begins with 1 MiB, grows
	// to the longest line by doubling, never past this limit or 1 MiB, whichever
	// is more, plus 4 KiB, and shrinks again.
	MaxDocument int64
}

// DefaultMaxDocument is the limit on one document where Options gives none: 1 GiB.
const DefaultMaxDocument = 1 << 30

func (o Options) maxDocument() int64 {
	if o.MaxDocument > 0 {
		return o.MaxDocument
	}
	return DefaultMaxDocument
}
