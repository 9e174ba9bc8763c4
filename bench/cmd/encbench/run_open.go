package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"encbench/corpus"
	"encbench/metrics/ranking"
	"encbench/metrics/run"
	"encbench/metrics/trec"

	"github.com/spf13/pflag"
)

// runInputFlags say how runs are read.
type runInputFlags struct {
	layout   string
	comments bool
	lenient  bool
}

func (f *runInputFlags) define(fs *pflag.FlagSet) {
	fs.StringVar(&f.layout, "run-format", "auto", "`FORMAT` of text runs: "+strings.Join(trec.Formats(), ", "))
	fs.BoolVar(&f.comments, "comments", false, "lines that begin with # are comments")
	fs.BoolVar(&f.lenient, "lenient", false, "pass over damaged frames and lines that cannot be read, and count them")
}

// runInput is an opened run: our own format or text, told by its content.
type runInput struct {
	ranking.Source
	name   string
	own    *run.Reader // nil for text
	text   textSource  // nil for our own
	closer io.Closer
}

// open opens a run, plain, gzip or zstd; "-" is standard input. collect holds a
// text in memory, whose queries then need not stand together.
func (f *runInputFlags) open(a *app, path string, opt run.Options, collect bool) (*runInput, error) {
	layout, err := trec.ParseFormat(f.layout)
	if err != nil {
		return nil, &usageError{fmt.Errorf("--run-format: %w", err)}
	}
	r, name, err := a.openText(path)
	if err != nil {
		return nil, err
	}
	in := &runInput{name: name, closer: r}
	// The readers ask for large pieces, which pass by this buffer.
	buffered := bufio.NewReaderSize(r, 4<<10)
	head, err := buffered.Peek(8)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, r.Close())
	}
	err = nil // a reader says what is wrong with a short file
	text := trec.Options{Format: layout, Lenient: f.lenient, Comments: f.comments}
	switch {
	case run.Sniff(head):
		opt.Skip = opt.Skip || f.lenient
		in.own, err = run.NewReader(buffered, name, opt)
		in.Source = in.own
	case collect:
		in.text, err = trec.Collect(buffered, name, text)
		in.Source = in.text
	default:
		in.text = trec.NewReader(buffered, name, text)
		in.Source = in.text
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return in, nil
}

func (in *runInput) Close() error { return in.closer.Close() }

// header gives what is known of the run.
func (in *runInput) header() run.Header {
	if in.own != nil {
		return in.own.Header()
	}
	return run.Header{Tag: in.text.Tag()}
}

// each hands every block to visit. A text whose queries do not stand together is
// trec.ErrNotGrouped.
func (in *runInput) each(ctx context.Context, visit func(*ranking.Block) error) error {
	var b ranking.Block
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := in.Next(&b)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := visit(&b); err != nil {
			return err
		}
	}
}

// notes says on standard error what a lenient reading passed over, and whether
// that was anything.
func (in *runInput) notes(a *app, command string) (lost bool) {
	if in.own != nil {
		for _, d := range in.own.Damage() {
			fmt.Fprintf(a.stderr, "encbench %s: passed over: %v\n", command, d)
		}
		return len(in.own.Damage()) > 0
	}
	s := in.text.Stats()
	if s.Skipped > 0 {
		fmt.Fprintf(a.stderr, "encbench %s: %s: %s skipped, the first: %v\n", command, in.name, count(int64(s.Skipped), "line"), s.Fault)
	}
	return s.Skipped > 0
}

// scattered says whether err is that of a text that can be read again in memory.
func scattered(err error, path string) bool { return errors.Is(err, trec.ErrNotGrouped) && path != "-" }

// runTarget is a run on its way to a file, which takes its name only once it is
// whole.
type runTarget struct {
	out  *outFile
	temp string
	file io.WriteCloser
	to   interface {
		Write(*ranking.Block) error
		Close() error
	}
}

// targetFormat gives the format that a name asks for: "ebrun", "trec", or "".
func targetFormat(name string) string {
	switch ext := filepath.Ext(name); ext {
	case ".ebrun":
		return "ebrun"
	case ".gz", ".zst":
		if inner := targetFormat(strings.TrimSuffix(name, ext)); inner != "ebrun" {
			return inner
		}
	case ".run", ".txt", ".trec":
		return "trec"
	}
	return ""
}

// checkTarget refuses, before any work, a name (of flag, for messages) without a known ending, one that is
// an input, and a file that is no run.
func checkTarget(flag, path string, inputs ...string) (*outFile, error) {
	if path == "-" {
		return nil, usagef("%s: the result goes to a file; `encbench run cat` writes to standard output", flag)
	}
	if targetFormat(path) == "" {
		return nil, usagef("%s %s: the ending says the format: .ebrun (compressed columns), or .run, .txt or .trec (TREC text), which .gz or .zst may follow", flag, path)
	}
	return openOutOf(flag, path, func(head []byte) bool { return isRun(head) || isPackedRun(path) }, inputs...)
}

// isPackedRun says whether a compressed file holds a run.
func isPackedRun(path string) bool {
	r, err := corpus.Open(path)
	if err != nil {
		return false
	}
	defer r.Close()
	head := make([]byte, 512)
	n, _ := io.ReadFull(r, head)
	return n > 0 && isRun(head[:n])
}

// create opens the temporary file for a format, "ebrun" or "trec". Text is compressed
// as the file's name says.
func (t *runTarget) create(out *outFile, format string, h run.Header) (err error) {
	t.out = out
	t.temp = out.temporary()
	if ext := filepath.Ext(out.path); format == "trec" && (ext == ".gz" || ext == ".zst") {
		t.temp += ext // by which corpus.Create knows
	}
	if t.file, err = corpus.Create(t.temp); err != nil {
		return fmt.Errorf("write %s: %w", out.path, err)
	}
	if format == "trec" {
		t.to = trec.NewWriter(t.file, h.Tag)
		return nil
	}
	w, err := run.NewWriter(t.file, h)
	if err != nil {
		t.discard()
		return err
	}
	t.to = w
	return nil
}

// Write adds rankings.
func (t *runTarget) Write(b *ranking.Block) error { return t.to.Write(b) }

// commit completes the file and gives it its name.
func (t *runTarget) commit() (size int64, err error) {
	if err := errors.Join(t.to.Close(), t.file.Close()); err != nil {
		return 0, errors.Join(fmt.Errorf("write %s: %w", t.out.path, err), os.Remove(t.temp))
	}
	t.file = nil
	if err := os.Rename(t.temp, t.out.path); err != nil {
		return 0, errors.Join(fmt.Errorf("write %s: %w", t.out.path, err), os.Remove(t.temp))
	}
	st, err := os.Stat(t.out.path)
	if err != nil {
		return 0, fmt.Errorf("write %s: %w", t.out.path, err)
	}
	return st.Size(), nil
}

// discard removes what was written, if anything.
func (t *runTarget) discard() {
	if t.file != nil {
		t.file.Close()
		os.Remove(t.temp)
		t.file = nil
	}
}
