package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"encbench/bench"
	"encbench/bench/eval"
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
	return openOutOf("--out", path, replaceable, inputs...)
}

// openOutOf is openOut for the file of another flag.
func openOutOf(flag, path string, replaceable func(head []byte) bool, inputs ...string) (*outFile, error) {
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
		return nil, fmt.Errorf("%s: %w", flag, err)
	case !st.Mode().IsRegular():
		return nil, usagef("%s %s is not a regular file; name a file", flag, path)
	default:
		f.exist = true
		for _, in := range inputs {
			if other, err := os.Stat(in); err == nil && os.SameFile(st, other) {
				return nil, usagef("%s %s is an input of this command; name another file", flag, path)
			}
		}
		head, err := firstBytes(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
		if len(head) > 0 && !replaceable(head) {
			return nil, usagef("%s %s exists and is no earlier result; name another file, or remove it", flag, path)
		}
	}
	probe, err := os.OpenFile(f.partial(), os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, fmt.Errorf("%s: the result cannot be written: %w", flag, err)
	}
	st, err = probe.Stat()
	err = errors.Join(err, probe.Close())
	if err == nil && st.Size() == 0 {
		// Another process may be about to write the same file, and have removed it.
		if err = os.Remove(f.partial()); errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	}
	return f, err
}

func firstBytes(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 4096)
	n, err := io.ReadFull(f, head)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return head[:n], err
}

// isSpeedRecord says whether a file is a record of speed, or several, one a line.
func isSpeedRecord(head []byte) bool {
	return begins(head, member{"schema", nil}, member{"tool", nil}, member{"status", nil})
}

// isEvalRecord says whether a file is a record of eval.
func isEvalRecord(head []byte) bool {
	return begins(head, member{"schema", nil}, member{"kind", eval.Kind}, member{"tool", nil})
}

// isPeersResult says whether a file is a comparison that peers made.
func isPeersResult(head []byte) bool {
	return begins(head, member{"title", nil}, member{"command", nil}, member{"commit", nil})
}

// member is a field of a JSON object; a nil value stands for any.
type member struct {
	name  string
	value any
}

// begins says whether a file that starts with head is a JSON object whose first
// fields are these, in this order: ours are written in one. What is cut off at the
// end of head does not fit.
func begins(head []byte, first ...member) bool {
	d := json.NewDecoder(bytes.NewReader(head))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	for _, m := range first {
		name, err := d.Token()
		if err != nil || name != m.name {
			return false
		}
		var value any
		if err := d.Decode(&value); err != nil || m.value != nil && value != m.value {
			return false
		}
	}
	return true
}

// isGraph says whether a file is an ONNX graph of this program: its first fields are
// the IR version, a small number, and the producer.
func isGraph(head []byte) bool {
	return len(head) > 2 && head[0] == 0x08 && head[1] < 0x20 && bytes.HasPrefix(head[2:], []byte("\x12\x08encbench"))
}

func (f *outFile) partial() string { return f.path + ".partial" }

// temporary gives a name of its own to every writing of the file. Two commands at
// once would write into one file if they shared it, and the result be a mixture.
func (f *outFile) temporary() string {
	return fmt.Sprintf("%s.%d.%d.tmp", f.partial(), os.Getpid(), writings.Add(1))
}

var writings atomic.Int64

// save writes the partial file anew; an earlier one stays when that fails.
func (f *outFile) save(write func(w io.Writer) error) error {
	return f.write(f.partial(), write)
}

// replace writes the file itself, whole or not at all.
func (f *outFile) replace(write func(w io.Writer) error) error { return f.write(f.path, write) }

func (f *outFile) write(path string, write func(w io.Writer) error) error {
	if f.path == "" {
		return nil
	}
	tmp := f.temporary()
	w, err := os.Create(tmp)
	if err != nil {
		return fmt.Errorf("write %s: %w", f.path, err)
	}
	err = write(w)
	if err = errors.Join(err, w.Close()); err == nil {
		err = os.Rename(tmp, path)
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
