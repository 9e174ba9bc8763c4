package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"encbench/bench"
	"encbench/bench/report"
)

// outFile is a result file that appears whole or not at all: it grows as
// NAME.partial and takes its name at the end.
type outFile struct {
	path  string
	exist bool // something was there before
}

// openOut checks, before any work, that a result can be written to path, that
// what is there may be replaced (replaceable says so of its first bytes), and
// that it is none of the inputs. "" is no file.
func openOut(path string, replaceable func(head []byte) bool, inputs ...string) (*outFile, error) {
	if path == "" {
		return &outFile{}, nil
	}
	// A link is followed, so that it stays one.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	f := &outFile{path: path}
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("--out: %w", err)
	case !st.Mode().IsRegular():
		return nil, usagef("--out %s is not a regular file; name a file", path)
	default:
		f.exist = true
		for _, in := range inputs {
			if other, err := os.Stat(in); err == nil && os.SameFile(st, other) {
				return nil, usagef("--out %s is an input of this command; name another file", path)
			}
		}
		head, err := firstBytes(path)
		if err != nil {
			return nil, fmt.Errorf("--out: %w", err)
		}
		if len(head) > 0 && !replaceable(head) {
			return nil, usagef("--out %s exists and is no earlier result; name another file, or remove it", path)
		}
	}
	probe, err := os.OpenFile(f.partial(), os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, fmt.Errorf("--out: the result cannot be written: %w", err)
	}
	st, err = probe.Stat()
	err = errors.Join(err, probe.Close())
	if err == nil && st.Size() == 0 {
		err = os.Remove(f.partial())
	}
	return f, err
}

func firstBytes(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return head[:n], err
}

// isJSON says whether a file may be an earlier record or result.
func isJSON(head []byte) bool { return head[0] == '{' || head[0] == '[' }

// isGraph says whether a file may be an earlier ONNX graph: its first field is
// the IR version, a small number.
func isGraph(head []byte) bool { return len(head) > 1 && head[0] == 0x08 && head[1] < 0x20 }

func (f *outFile) partial() string { return f.path + ".partial" }

// save writes the partial file anew; an earlier one stays when that fails.
func (f *outFile) save(write func(w io.Writer) error) error {
	if f.path == "" {
		return nil
	}
	tmp := f.partial() + ".tmp"
	w, err := os.Create(tmp)
	if err != nil {
		return fmt.Errorf("write %s: %w", f.path, err)
	}
	err = write(w)
	if err = errors.Join(err, w.Close()); err == nil {
		err = os.Rename(tmp, f.partial())
	}
	if err != nil {
		os.Remove(tmp)
		return fmt.Errorf("write %s: %w", f.path, err)
	}
	return nil
}

// commit gives the partial file its name.
func (f *outFile) commit() error {
	if f.path == "" {
		return nil
	}
	if err := os.Rename(f.partial(), f.path); err != nil {
		return fmt.Errorf("write %s: %w", f.path, err)
	}
	return nil
}

// recordsTo writes records as JSON: an object, or a line each for several.
func recordsTo(recs []*bench.Record) func(io.Writer) error {
	return func(w io.Writer) error {
		format := "json"
		if len(recs) > 1 {
			format = "jsonl"
		}
		return report.Write(w, format, recs)
	}
}

// checked remembers the first error of a writer, so that a full disk behind
// standard output does not pass for success.
type checked struct {
	w   io.Writer
	err error
}

func (c *checked) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	if c.err == nil {
		c.err = err
	}
	return n, err
}

// interruptible gives a reader whose Read ends with the context, even while r
// blocks: a pipe that nobody writes to must not hold up Ctrl-C. The goroutine
// that reads r starts with the first Read and ends with r.
func interruptible(ctx context.Context, r io.Reader) io.Reader {
	var start sync.Once
	pr, pw := io.Pipe()
	return readerFunc(func(b []byte) (int, error) {
		start.Do(func() {
			go func() {
				_, err := io.Copy(pw, r)
				pw.CloseWithError(err)
			}()
			context.AfterFunc(ctx, func() { pr.CloseWithError(ctx.Err()) })
		})
		return pr.Read(b)
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }
