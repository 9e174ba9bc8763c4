package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"encbench/bench"
	"encbench/corpus"

	"github.com/spf13/pflag"
)

var corpusListCommand = &command{
	name:  "corpus list",
	short: "list the embedded corpora",
	examples: []example{
		{"encbench corpus list", "names for --corpus"},
	},
	define: func(*pflag.FlagSet) runner { return runFunc(corpusList) },
}

func corpusList(_ context.Context, a *app, args []string) error {
	if err := noArguments(args); err != nil {
		return err
	}
	t := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tRULE\tDOCUMENTS\tTEXT\tWHAT IT IS")
	for _, name := range corpus.Names() {
		e, err := corpus.Describe(name)
		if err != nil {
			return err
		}
		docs, text := "as installed", "as installed"
		if e.Documents > 0 {
			docs, text = bench.Thousands(e.Documents), fmt.Sprintf("%.1f MB", float64(e.TextBytes)/1e6)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", e.Name, e.Rule, docs, text, e.Summary)
	}
	return t.Flush()
}

var corpusShowCommand = &command{
	name:  "corpus show",
	args:  "NAME|PATH",
	short: "count and hash a corpus, embedded or your own",
	long: `
Reads the whole corpus, prints its counts and its sha256 and, for an embedded
corpus, where the built file lies. --cat writes the documents themselves as JSON
lines.`,
	examples: []example{
		{"encbench corpus show techdocs", "is it the same text as on another machine?"},
		{"encbench corpus show docs.jsonl", "what a file of yours holds"},
	},
	define: func(fs *pflag.FlagSet) runner {
		f := &corpusShowFlags{}
		fs.BoolVar(&f.cat, "cat", false, "write the documents to standard output as JSON lines")
		fs.StringVar(&f.format, "corpus-format", "", "`FORMAT` of the corpus: jsonl, tsv, text, dir")
		fs.BoolVar(&f.strict, "strict", false, "stop at the first broken line")
		return f
	},
}

type corpusShowFlags struct {
	cat, strict bool
	format      string
}

func (f *corpusShowFlags) run(ctx context.Context, a *app, args []string) error {
	if len(args) != 1 {
		return usagef("corpus show takes one corpus, %d given", len(args))
	}
	in, done, err := a.openInput(ctx, args[0], corpus.Options{Format: f.format, Strict: f.strict}, true)
	if err != nil {
		return err
	}
	defer done()
	src, err := in.open()
	if err != nil {
		return err
	}
	defer src.Close()
	var line []byte
	visit := func(d corpus.Doc) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !f.cat {
			return nil
		}
		line = corpus.AppendJSONL(line[:0], d)
		_, err := a.stdout.Write(line)
		return err
	}
	m, err := corpus.Scan(src, in.name, in.rule, visit)
	if err != nil {
		return fmt.Errorf("read corpus %s: %w", in.name, err)
	}
	k := src.Skipped()
	(&selection{skipped: k}).noteSkipped(a)
	if m.Documents == 0 {
		return fmt.Errorf("corpus %s has no documents%s", in.name, leftOut(k))
	}
	if f.cat {
		return nil
	}
	t := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "corpus\t%s\n", in.name)
	fmt.Fprintf(t, "rule\t%s\n", orWord(m.Rule, src.Format()))
	fmt.Fprintf(t, "documents\t%s\n", bench.Thousands(m.Documents))
	fmt.Fprintf(t, "text\t%s bytes, longest %s\n", bench.Thousands(m.TextBytes), bench.Thousands(m.Longest))
	if in.queries > 0 {
		fmt.Fprintf(t, "queries\t%s, judged; see `encbench eval --data %s`\n", bench.Thousands(in.queries), in.name)
	}
	fmt.Fprintf(t, "sha256\t%s\n", m.SHA256)
	fmt.Fprintf(t, "file\t%s\n", in.path)
	if in.repetition != "" {
		fmt.Fprintf(t, "repetition\t%s\n", in.repetition)
	}
	if k.Broken+k.Binary+k.Links > 0 {
		fmt.Fprintf(t, "skipped\t%d broken, %d binary, %d dead links\n", k.Broken, k.Binary, k.Links)
	}
	return t.Flush()
}

// runFunc is a subcommand without flags.
type runFunc func(ctx context.Context, a *app, args []string) error

func (f runFunc) run(ctx context.Context, a *app, args []string) error { return f(ctx, a, args) }
