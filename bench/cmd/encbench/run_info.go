package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"

	"encbench/bench"
	"encbench/metrics/ranking"
	"encbench/metrics/run"
	"encbench/metrics/trec"

	"github.com/spf13/pflag"
)

var runInfoCommand = &command{
	name:  "run info",
	args:  "FILE",
	short: "what a run file says of itself, its size, and whether it is whole",
	long: `
Reads the whole file, checks every checksum, counts, and sets its size beside that
of the same run as TREC text. A damaged or truncated file is described as far as it
can be read, and ends with exit code 1.`,
	examples: []example{
		{"encbench run info run.ebrun", "is it whole, and what made it?"},
	},
	define: func(fs *pflag.FlagSet) runner {
		f := &runInfoFlags{}
		fs.StringVar(&f.in.layout, "run-format", "auto", "`FORMAT` of a text run, as in run convert")
		fs.BoolVar(&f.in.comments, "comments", false, "lines that begin with # are comments")
		return f
	},
}

type runInfoFlags struct{ in runInputFlags }

// runCounts are counted while a run is read.
type runCounts struct {
	frames, queries, empty, rows, longest int64
	unwritable                            error // why it has no form as TREC text
	text                                  countingWriter
}

type countingWriter int64

func (c *countingWriter) Write(b []byte) (int, error) {
	*c += countingWriter(len(b))
	return len(b), nil
}

func (f *runInfoFlags) run(ctx context.Context, a *app, args []string) error {
	if len(args) != 1 {
		return usagef("run info takes one run, %d given", len(args))
	}
	in, err := f.in.open(a, args[0], run.Options{Skip: true}, false)
	if err != nil {
		return err
	}
	defer in.Close()
	var c runCounts
	var w *trec.Writer
	err = in.each(ctx, func(b *ranking.Block) error {
		if w == nil {
			w = trec.NewWriter(&c.text, in.header().Tag)
		}
		c.add(b, w)
		return nil
	})
	if errors.Is(err, trec.ErrNotGrouped) {
		return fmt.Errorf("%w; `encbench run convert` puts them together", err)
	}
	if err != nil {
		return err
	}
	if w != nil && c.unwritable == nil {
		c.unwritable = w.Close()
	}
	return f.print(a, in, args[0], &c)
}

func (c *runCounts) add(b *ranking.Block, w *trec.Writer) {
	c.frames++
	c.queries += int64(b.Len())
	c.rows += int64(len(b.Score))
	for q := range b.Len() {
		from, to := b.Rows(q)
		c.longest = max(c.longest, int64(to-from))
		if from == to {
			c.empty++
		}
	}
	if c.unwritable == nil {
		c.unwritable = w.Write(b)
	}
}

func (f *runInfoFlags) print(a *app, in *runInput, path string, c *runCounts) error {
	t := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	// What a file says of itself must not pass for a row of its own, nor steer the
	// terminal.
	row := func(name, format string, args ...any) {
		fmt.Fprintf(t, "%s\t%s\n", name, visible(fmt.Sprintf(format, args...)))
	}
	given := func(name, value string) {
		if value != "" {
			row(name, "%s", value)
		}
	}
	h := in.header()
	row("run", "%s", in.name)
	if in.own != nil {
		row("format", "compressed columns, schema %d, rows in %s order", h.Schema, h.Order)
		depth := "not known"
		if h.K > 0 {
			depth = bench.Thousands(int64(h.K))
		}
		row("cut at", "%s", depth)
	} else {
		row("format", "text, %s", in.text.Format())
	}
	given("tag", h.Tag)
	given("protocol", h.Protocol)
	given("model", h.Model)
	given("model sha256", h.ModelSHA256)
	given("corpus", h.Corpus)
	given("corpus sha256", h.CorpusSHA256)
	for _, n := range h.Notes {
		row("note", "%s", n)
	}
	given("extra", string(h.Extra))
	row("queries", "%s, %s without documents", bench.Thousands(c.queries), bench.Thousands(c.empty))
	row("rows", "%s, longest list %s", bench.Thousands(c.rows), bench.Thousands(c.longest))
	size := int64(-1)
	if st, err := os.Stat(path); err == nil && path != "-" && st.Mode().IsRegular() {
		size = st.Size()
		row("size", "%s bytes%s", bench.Thousands(size), perRow(size, c.rows))
	}
	switch {
	case c.unwritable != nil:
		row("as TREC text", "impossible: %v", c.unwritable)
	case size > 0 && int64(c.text) > 0:
		row("as TREC text", "%s bytes%s: %.2f times as large", bench.Thousands(int64(c.text)), perRow(int64(c.text), c.rows), float64(c.text)/float64(size))
	default:
		row("as TREC text", "%s bytes", bench.Thousands(int64(c.text)))
	}
	var damage []*run.Damage
	if in.own != nil {
		damage = in.own.Damage()
		total := in.own.Totals()
		if total.Frames > 0 || len(damage) == 0 {
			row("frames", "%s, %s tied at the cut", bench.Thousands(int64(total.Frames)), count(total.TiesAtCut, "list"))
		}
		if len(damage) == 0 {
			row("integrity", "every checksum is right")
		} else {
			row("integrity", "%s, %s", count(len(damage), "fault"), count(c.frames, "whole frame"))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, d := range damage {
		fmt.Fprintf(a.stderr, "encbench run info: %v\n", d)
	}
	if len(damage) > 0 {
		return errQuiet
	}
	return nil
}

// visible is a text on one line without anything that steers a terminal.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

func perRow(size, rows int64) string {
	if rows == 0 {
		return ""
	}
	return fmt.Sprintf(", %.2f a row", float64(size)/float64(rows))
}
