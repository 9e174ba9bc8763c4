package corpus

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The formats of a corpus.
const (
	FormatJSONL = "jsonl"
	FormatTSV   = "tsv"
	FormatText  = "text"
	FormatDir   = "dir"
)

// formats lists them for messages.
const formats = "jsonl, tsv, text, dir"

// extensions that settle the format; others are settled by content.
var extensions = map[string]string{
	".jsonl": FormatJSONL, ".ndjson": FormatJSONL,
	".tsv": FormatTSV,
	".txt": FormatText, ".text": FormatText, ".md": FormatText, ".rst": FormatText,
}

// OpenCorpus opens the corpus at path: a file, a folder, or "-" for standard
// input. opt.Format settles the format; else the extension does (.gz and .zst
// aside), else the content: an object first is jsonl, a first line of two or three
// tab-separated columns is tsv, anything else without zero bytes is text. A
// folder is a dir, unless it holds a corpus.jsonl, plain or compressed (the
// layout of BEIR), which is then read instead. The caller closes the source.
func OpenCorpus(path string, opt Options) (Source, error) {
	switch opt.Format {
	case "", FormatJSONL, FormatTSV, FormatText, FormatDir:
	default:
		return nil, fmt.Errorf("%w %q: the formats are %s", ErrFormat, opt.Format, formats)
	}
	if path != "-" {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && isLink(path):
			return nil, fmt.Errorf("open corpus %s: the link points nowhere: %w", path, fs.ErrNotExist)
		case errors.Is(err, fs.ErrNotExist) && filepath.Base(path) == path:
			return nil, fmt.Errorf("%w %q: neither a file or folder here nor one of %s", ErrUnknownCorpus, path, strings.Join(Names(), ", "))
		case err != nil:
			return nil, fmt.Errorf("open corpus: %w", err)
		case info.IsDir():
			inner, err := insideDir(path, opt)
			if inner == "" {
				if err != nil {
					return nil, err
				}
				return OpenDir(path, opt)
			}
			path = inner
		case opt.Format == FormatDir:
			return nil, fmt.Errorf("open corpus %s: format dir, but it is no folder", path)
		}
	} else if opt.Format == FormatDir {
		return nil, errors.New("open corpus: format dir cannot be read from standard input")
	}
	return openFile(path, opt)
}

// isLink says whether path itself is a symbolic link.
func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// insideDir gives the file to read in place of the folder, "" for the folder itself.
func insideDir(path string, opt Options) (string, error) {
	if opt.Format == "" || opt.Format == FormatJSONL {
		for _, name := range []string{"corpus.jsonl", "corpus.jsonl.gz", "corpus.jsonl.zst"} {
			inner := filepath.Join(path, name)
			if info, err := os.Stat(inner); err == nil && info.Mode().IsRegular() {
				return inner, nil
			}
		}
	}
	if opt.Format != "" && opt.Format != FormatDir {
		return "", fmt.Errorf("open corpus %s: format %s, but it is a folder", path, opt.Format)
	}
	return "", nil
}

// sniffBytes is how much of an input is looked at to settle its format.
const sniffBytes = 64 << 10

func openFile(path string, opt Options) (Source, error) {
	in, err := Open(path)
	if err != nil {
		return nil, err
	}
	if path == "-" {
		path = standardInput
	}
	return openStream(in, path, opt)
}

const standardInput = "standard input"

// OpenReader reads a corpus from r, plain, gzip or zstd, as OpenCorpus reads a
// file; name stands in messages. Closing the source does not close r.
func OpenReader(r io.Reader, name string, opt Options) (Source, error) {
	if opt.Format == FormatDir {
		return nil, fmt.Errorf("open corpus: format dir cannot be read from %s", name)
	}
	u, err := unpack(name, r)
	if err != nil {
		return nil, err
	}
	return openStream(&stream{Reader: u}, name, opt)
}

// openStream settles the format of an unpacked input and reads it.
func openStream(in io.ReadCloser, name string, opt Options) (Source, error) {
	head := bufio.NewReaderSize(in, sniffBytes)
	first, err := head.Peek(sniffBytes)
	if err != nil && err != io.EOF && len(first) == 0 {
		return nil, errors.Join(err, in.Close())
	}
	format := opt.Format
	if format == "" {
		var unknown error
		if format, unknown = settle(name, first); unknown != nil {
			return nil, errors.Join(unknown, in.Close())
		}
	}
	r := &sniffed{head: head, err: err, Closer: in}
	switch format {
	case FormatJSONL:
		return NewJSONL(r, name, opt), nil
	case FormatTSV:
		return NewTSV(r, name, opt), nil
	}
	return NewText(r, name, opt), nil
}

// sniffed is an input whose beginning was looked at.
type sniffed struct {
	head *bufio.Reader
	err  error // met while looking; follows what head holds
	io.Closer
}

// Read gives what was looked at, then the error met there or the rest.
func (s *sniffed) Read(p []byte) (int, error) {
	// Peek hands out a reader's error once and forgets it; the reader itself may
	// give its end the next time.
	if s.err != nil && s.head.Buffered() == 0 {
		return 0, s.err
	}
	return s.head.Read(p)
}

// settle picks the format of an input that begins with first.
func settle(name string, first []byte) (string, error) {
	base := strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	if f, ok := extensions[strings.ToLower(filepath.Ext(base))]; ok {
		return f, nil
	}
	if isBinary(first) || bytes.HasPrefix(first, []byte("PAR1")) {
		return "", fmt.Errorf("%w: %s is binary: the formats are %s, plain, gzip or zstd", ErrFormat, name, formats)
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(first, byteOrderMark), " \t\r\n")
	if len(text) > 0 && text[0] == '{' {
		return FormatJSONL, nil
	}
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	if _, n := splitTSV(line); n == 2 || n == 3 {
		return FormatTSV, nil
	}
	return FormatText, nil
}
