package main

import (
	"context"
	"fmt"
	"io"

	"encbench/metrics/ranking"
	"encbench/metrics/run"

	"github.com/spf13/pflag"
)

var runConvertCommand = &command{
	name:  "run convert",
	args:  "IN OUT",
	short: "turn a run from TREC text into compressed columns, or back",
	long: `
IN is a run of any format that score reads, plain, gzip or zstd, told by its
content; "-" is standard input. The ending of OUT says the format: .ebrun for
compressed columns (about a seventh of the text, less than zstd -19 makes of it),
.run, .txt or .trec for TREC text, which .gz or .zst may follow.

Scores come back bit for bit. Compressed columns hold each list in trec_eval's
order, score descending and then document identifier descending, and number the
ranks anew; --order given keeps the order of the lines. OUT appears whole or not at
all.`,
	examples: []example{
		{"encbench run convert run.txt run.ebrun -k 1000", "keep a run in a few bytes a row"},
		{"encbench run convert run.ebrun run.run.zst", "text for another tool, compressed"},
	},
	define: func(fs *pflag.FlagSet) runner {
		f := &runConvertFlags{fs: fs}
		fs.IntVarP(&f.k, "depth", "k", 0, "the run was cut at `K` documents a query: recorded, not done, and a longer list refused; 0 is what IN says, or not known")
		fs.StringVar(&f.tag, "tag", "", "`NAME` of the run; default: IN's")
		fs.StringVar(&f.order, "order", "", "`ORDER` of rows in compressed columns: trec or given; default: IN's, trec for text")
		fs.StringArrayVar(&f.notes, "note", nil, "`TEXT` that a reader of the figures must know, kept in the header (repeatable)")
		f.in.define(fs)
		return f
	},
}

type runConvertFlags struct {
	fs         *pflag.FlagSet
	k          int
	tag, order string
	notes      []string
	in         runInputFlags
}

func (f *runConvertFlags) run(ctx context.Context, a *app, args []string) error {
	if len(args) != 2 {
		return usagef("run convert takes a run and the file to write, %d given", len(args))
	}
	if f.k < 0 {
		return usagef("--depth %d: must not be negative", f.k)
	}
	if f.order != "" && f.order != run.OrderTREC && f.order != run.OrderGiven {
		return usagef("--order %q: trec or given", f.order)
	}
	out, err := checkTarget("OUT", args[1], args[0])
	if err != nil {
		return err
	}
	err = f.convert(ctx, a, args[0], out, false)
	if scattered(err, args[0]) {
		fmt.Fprintf(a.stderr, "encbench run convert: %v; reading it again in memory\n", err)
		err = f.convert(ctx, a, args[0], out, true)
	}
	return err
}

func (f *runConvertFlags) convert(ctx context.Context, a *app, path string, out *outFile, collect bool) error {
	in, err := f.in.open(a, path, run.Options{}, collect)
	if err != nil {
		return err
	}
	defer in.Close()
	// The tag of a text is known once a row was read.
	var first ranking.Block
	begun := in.Next(&first)
	if begun != nil && begun != io.EOF {
		return begun
	}
	h := in.header()
	if f.k > 0 {
		h.K = f.k
	}
	if f.fs.Changed("tag") {
		h.Tag = f.tag
	}
	if f.order != "" {
		h.Order = f.order
	}
	h.Notes = append(h.Notes, f.notes...)
	var t runTarget
	if err := t.create(out, targetFormat(out.path), h); err != nil {
		return err
	}
	defer t.discard()
	bar := a.progress()
	defer bar.clear()
	var queries, rows int64
	write := func(b *ranking.Block) error {
		queries += int64(b.Len())
		rows += int64(len(b.Score))
		bar.show(0, func() string {
			return count(queries, "query") + ", " + count(rows, "row")
		})
		if err := checkDepth(b, h.K, f.k); err != nil {
			return fmt.Errorf("convert %s: %w", in.name, err)
		}
		if err := t.Write(b); err != nil {
			return fmt.Errorf("convert %s: %w", in.name, err)
		}
		return nil
	}
	if begun == nil {
		if err := write(&first); err != nil {
			return err
		}
		if err := in.each(ctx, write); err != nil {
			return err
		}
	}
	size, err := t.commit()
	if err != nil {
		return fmt.Errorf("convert %s: %w", in.name, err)
	}
	bar.clear()
	in.notes(a, "run convert")
	_, err = fmt.Fprintln(a.stdout, wrote(out.path, queries, rows, size))
	return err
}

// checkDepth refuses a list that is longer than lists are said to be.
func checkDepth(b *ranking.Block, k, flag int) error {
	if k == 0 {
		return nil
	}
	for q := range b.Len() {
		from, to := b.Rows(q)
		if to-from <= k {
			continue
		}
		if flag > 0 {
			return usagef("query %.200q has %d rows, so its list was not cut at %d; give the -k that it was cut at, or leave it out", b.Queries.At(q), to-from, k)
		}
		return fmt.Errorf("query %.200q has %d rows, and the file says that lists were cut at %d; state with -k where they were", b.Queries.At(q), to-from, k)
	}
	return nil
}

// wrote is the line about a run that was written.
func wrote(path string, queries, rows, size int64) string {
	each := ""
	if rows > 0 {
		each = fmt.Sprintf(", %.2f a row", float64(size)/float64(rows))
	}
	return fmt.Sprintf("%s: %s, %s, %s%s", path, count(queries, "query"), count(rows, "row"), count(size, "byte"), each)
}
