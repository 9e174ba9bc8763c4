package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"encbench/metrics/ranking"
	"encbench/metrics/run"
	"encbench/metrics/trec"

	"github.com/spf13/pflag"
)

var runCatCommand = &command{
	name:  "run cat",
	args:  "FILE...",
	short: "print runs as TREC text",
	long: `
Prints runs of any format that score reads as "query Q0 document rank score tag".
Scores are the shortest text that reads back as the same number. --query finds a
query of an .ebrun file by its index, without decoding the others.`,
	examples: []example{
		{"encbench run cat run.ebrun", "everything, for a tool that reads text"},
		{"encbench run cat run.ebrun --query 7 --depth 10", "the first documents of one query"},
	},
	define: func(fs *pflag.FlagSet) runner {
		f := &runCatFlags{}
		fs.StringArrayVar(&f.queries, "query", nil, "print only the query `ID` (repeatable)")
		fs.IntVar(&f.depth, "depth", 0, "print only the first `N` rows of each query; 0 is all")
		fs.StringVar(&f.tag, "tag", "", "`NAME` in the last column; default: the run's own")
		f.in.define(fs)
		return f
	},
}

type runCatFlags struct {
	queries []string
	depth   int
	tag     string
	in      runInputFlags
}

func (f *runCatFlags) run(ctx context.Context, a *app, args []string) error {
	if len(args) == 0 {
		return usagef("run cat takes at least one run")
	}
	if f.depth < 0 {
		return usagef("--depth %d: must not be negative", f.depth)
	}
	for _, path := range args {
		err := f.cat(ctx, a, path)
		if scattered(err, path) { // part of it may be printed
			return fmt.Errorf("%w, so that it cannot be printed as a stream; `encbench run convert` reads it in memory", err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *runCatFlags) cat(ctx context.Context, a *app, path string) error {
	if len(f.queries) > 0 && !f.in.lenient {
		if found, err := f.byIndex(a, path); found {
			return err
		}
	}
	in, err := f.in.open(a, path, run.Options{}, false)
	if err != nil {
		return err
	}
	defer in.Close()
	missing := map[string]bool{}
	for _, q := range f.queries {
		missing[q] = true
	}
	wanted := func(id []byte) bool {
		if len(f.queries) == 0 {
			return true
		}
		ok := missing[string(id)]
		delete(missing, string(id))
		return ok
	}
	var w *trec.Writer
	var part ranking.Block
	printing := false
	err = in.each(ctx, func(b *ranking.Block) error {
		if w == nil {
			w = f.writer(a, in.header().Tag)
		}
		if len(f.queries) > 0 || f.depth > 0 {
			excerpt(&part, b, f.depth, wanted)
			b = &part
		}
		printing = printing || len(b.Score) > 0
		return w.Write(b)
	})
	if w != nil {
		// A writer that failed gives its fault again.
		if closed := w.Close(); err == nil {
			err = closed
		}
	}
	in.notes(a, "run cat")
	if printing && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("interrupted; what was printed of %s is a part", in.name)
	}
	if err == nil && len(missing) > 0 {
		for _, q := range f.queries {
			if missing[q] {
				return fmt.Errorf("%s has no query %q", in.name, q)
			}
		}
	}
	return err
}

func (f *runCatFlags) writer(a *app, tag string) *trec.Writer {
	if f.tag != "" {
		tag = f.tag
	}
	return trec.NewWriter(a.stdout, tag)
}

// byIndex prints the queries of a whole .ebrun file; false when it is none.
func (f *runCatFlags) byIndex(a *app, path string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, nil // the stream says what is wrong
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return false, nil
	}
	r, err := run.OpenFile(file, st.Size(), path)
	if err != nil {
		return false, nil
	}
	w := f.writer(a, r.Header().Tag)
	var b, part ranking.Block
	for _, q := range f.queries {
		found, err := r.Find(q, &b)
		if err != nil {
			return true, errors.Join(err, w.Close())
		}
		if !found {
			return true, errors.Join(fmt.Errorf("%s has no query %q", path, q), w.Close())
		}
		excerpt(&part, &b, f.depth, func([]byte) bool { return true })
		if err := w.Write(&part); err != nil {
			return true, err
		}
	}
	return true, w.Close()
}

// excerpt makes dst a view of the wanted queries of b with up to depth rows each, 0
// for all.
func excerpt(dst, b *ranking.Block, depth int, wanted func(id []byte) bool) {
	dst.Reset()
	dst.Queries.Bytes, dst.Seq = b.Queries.Bytes, b.Seq
	dst.Docs.Start, dst.Docs.End = dst.Docs.Start[:0], dst.Docs.End[:0]
	dst.Docs.Bytes = b.Docs.Bytes
	dst.Off = append(dst.Off, 0)
	for q := range b.Len() {
		if !wanted(b.Queries.At(q)) {
			continue
		}
		from, to := b.Rows(q)
		if depth > 0 {
			to = min(to, from+depth)
		}
		dst.Queries.Start, dst.Queries.End = append(dst.Queries.Start, b.Queries.Start[q]), append(dst.Queries.End, b.Queries.End[q])
		dst.Score = append(dst.Score, b.Score[from:to]...)
		if b.Rank != nil {
			dst.Rank = append(dst.Rank, b.Rank[from:to]...)
		}
		for row := from; row < to; row++ {
			doc := row
			if b.Doc != nil {
				doc = int(b.Doc[row])
			}
			dst.Docs.Start, dst.Docs.End = append(dst.Docs.Start, b.Docs.Start[doc]), append(dst.Docs.End, b.Docs.End[doc])
		}
		dst.Off = append(dst.Off, int32(len(dst.Score)))
	}
}
