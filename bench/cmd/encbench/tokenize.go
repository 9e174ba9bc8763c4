package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"
	"time"

	"encbench/bench"
	"encbench/bench/report"
	"encbench/corpus"
	"encbench/corpus/chunk"
	"encbench/engine"
	"encbench/engine/feed"

	"github.com/spf13/pflag"
)

var tokenizeCommand = &command{
	name:  "tokenize",
	args:  "[CORPUS]",
	short: "token and chunk statistics of a corpus, or the ids of texts",
	long: `
With --stats: tokenizes and chunks the corpus (default techdocs) with a model's
tokenizer and prints counts, lengths, what overlap and special tokens add, and
how fast it went. Without it: prints the ids of every line of standard input.

--chunk counts special tokens and the document prompt; --overlap is what Hugging
Face calls "stride".`,
	examples: []example{
		{"encbench tokenize --stats techdocs", "what the embedded corpus looks like in tokens"},
		{"encbench tokenize --stats docs.jsonl --chunk 256 --overlap 50", "chunks that your documents would make"},
		{"echo 'hello world' | encbench tokenize", "ids of a text"},
	},
	define: func(fs *pflag.FlagSet) runner {
		f := &tokenizeFlags{fs: fs}
		fs.BoolVar(&f.stats, "stats", false, "print statistics of a corpus")
		fs.StringVar(&f.model, "model", "", "`NAME` of the model whose tokenizer is used, as in speed")
		fs.StringVar(&f.format, "corpus-format", "", "`FORMAT` of the corpus: jsonl, tsv, text, dir")
		fs.BoolVar(&f.strict, "strict", false, "stop at the first broken line of the corpus instead of counting it")
		fs.IntVar(&f.chunk, "chunk", 512, "`TOKENS` a chunk, special tokens and document prompt included")
		fs.IntVar(&f.overlap, "overlap", 100, "content `TOKENS` shared by neighbouring chunks; Hugging Face's \"stride\" is this overlap")
		fs.IntVar(&f.threads, "threads", 0, "`N` tokenizing goroutines; 0 means every CPU that this process may use")
		return f
	},
}

type tokenizeFlags struct {
	fs                      *pflag.FlagSet
	stats, strict           bool
	model, format           string
	chunk, overlap, threads int
}

func (f *tokenizeFlags) run(ctx context.Context, a *app, args []string) error {
	if len(args) > 1 {
		return usagef("tokenize takes one corpus, %d given", len(args))
	}
	if !f.stats && len(args) == 1 {
		return usagef("a corpus needs --stats; without it standard input is tokenized")
	}
	m, err := a.openModel(ctx, modelOptions{name: f.model})
	if err != nil {
		return err
	}
	defer m.close()
	if !f.stats {
		return a.tokenizeLines(m)
	}
	name := "techdocs"
	if len(args) == 1 {
		name = args[0]
	}
	return f.printStats(ctx, a, m, name)
}

// tokenizeLines prints the ids of every line, special tokens included.
func (a *app) tokenizeLines(m *loadedModel) error {
	in := bufio.NewReader(a.stdin)
	w := bufio.NewWriter(a.stdout)
	var ids, row []int32
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			if line[len(line)-1] == '\n' {
				line = line[:len(line)-1]
			}
			ids = m.tok.AppendIDs(ids[:0], line)
			row = m.tok.Template().AppendSingle(row[:0], ids)
			for i, id := range row {
				if i > 0 {
					w.WriteByte(' ')
				}
				fmt.Fprint(w, id)
			}
			w.WriteByte('\n')
		}
		if errors.Is(err, io.EOF) {
			return w.Flush()
		}
		if err != nil {
			return fmt.Errorf("read standard input: %w", err)
		}
	}
}

func (f *tokenizeFlags) printStats(ctx context.Context, a *app, m *loadedModel, name string) error {
	overhead := m.tok.Template().Overhead() + len(m.promptIDs)
	window := chunk.Window{Size: f.chunk - overhead, Overlap: f.overlap}
	if err := window.Validate(); err != nil {
		return usagef("--chunk %d leaves %d content tokens: %w", f.chunk, window.Size, err)
	}
	if f.threads < 0 {
		return usagef("--threads %d: must not be negative", f.threads)
	}
	if f.threads == 0 {
		f.threads = runtime.GOMAXPROCS(0)
	}
	in, done, err := a.openInput(ctx, name, corpus.Options{Format: f.format, Strict: f.strict}, true)
	if err != nil {
		return err
	}
	defer done()
	src, err := in.open()
	if err != nil {
		return err
	}
	defer src.Close()
	mark := time.Now()
	fd, err := feed.New(ctx, src, feed.Options{Tokenizer: m.tok, Window: window, Prompt: m.promptIDs, Batch: 1024, Workers: f.threads})
	if err != nil {
		return err
	}
	defer fd.Close()
	p := a.progress()
	for {
		b, err := fd.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("tokenize corpus %s: %w", name, err)
		}
		fd.Recycle(b)
		p.show(0, func() string { return fmt.Sprintf("%d documents", fd.Stats().Docs) })
	}
	p.clear()
	printTokenStats(a.stdout, in, m, fd.Stats(), window, overhead, time.Since(mark), f.threads)
	sel := selection{skipped: src.Skipped()}
	sel.noteSkipped(a)
	if fd.Stats().Docs == 0 {
		return fmt.Errorf("corpus %s has no documents%s", in.name, leftOut(sel.skipped))
	}
	return nil
}

func printTokenStats(out io.Writer, in *input, m *loadedModel, s feed.Stats, w chunk.Window, overhead int, took time.Duration, threads int) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	per := func(a, b int64) float64 { return float64(a) / float64(max(b, 1)) }
	seconds := took.Seconds()
	row("corpus", "%s (%s)", in.name, orWord(in.rule, "own"))
	row("tokenizer", "%s of %s, %s ids", m.tokInfo.Kind, m.facts.Name, bench.Thousands(int64(m.tok.VocabSize())))
	row("documents", "%s, %d empty", bench.Thousands(s.Docs), s.Empty)
	row("text", "%s, %s repaired", report.Size(s.TextBytes), count(s.Repaired, "invalid UTF-8 sequence"))
	row("tokens", "%s, mean %.0f a document, longest %s, %.2f bytes each", bench.Thousands(s.Tokens), per(s.Tokens, s.Docs), bench.Thousands(s.Longest), per(s.TextBytes, s.Tokens))
	row("window", "%d content tokens beside %d special and prompt tokens, overlap %d, step %d", w.Size, overhead, w.Overlap, w.Size-w.Overlap)
	row("chunks", "%s, %.2f a document", bench.Thousands(s.Rows), per(s.Rows, s.Docs))
	row("encoded", "%s tokens: %.3f times the source with overlap, %s special and prompt tokens", bench.Thousands(s.Content+s.Rows*int64(overhead)), per(s.Content, s.Tokens), bench.Thousands(s.Rows*int64(overhead)))
	row("speed", "%.2f s on %d workers: %.0f MB/s, %.1f million tokens/s, %s chunks/s, reading included", seconds, threads,
		float64(s.TextBytes)/1e6/seconds, float64(s.Tokens)/1e6/seconds, bench.Thousands(int64(float64(s.Rows)/seconds)))
	t.Flush()
	fmt.Fprintf(out, "\nchunk tokens  chunks\n")
	low := 1
	for b, n := range s.RowsByBucket {
		top := engine.BucketTop(b)
		if n > 0 {
			label := fmt.Sprintf("%d-%d", low, top)
			if top == 0 {
				label = fmt.Sprintf("%d-", low)
			}
			fmt.Fprintf(out, "%12s  %9s  %5.1f %%\n", label, bench.Thousands(n), 100*per(n, s.Rows))
		}
		low = top + 1
	}
}

func orWord(s, word string) string {
	if s == "" {
		return word
	}
	return s
}
