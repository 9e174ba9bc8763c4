package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"encbench/bench"
	"encbench/bench/env"
	"encbench/bench/latency"
	"encbench/bench/report"
	"encbench/engine/cpu"
	"encbench/engine/ort"

	"github.com/spf13/pflag"
)

// latencyFlags are the flags of `encbench latency`, as given.
type latencyFlags struct {
	fs *pflag.FlagSet

	model, pooling, queryPrompt string
	index, tensor               string
	metric, store               string
	k                           int
	tokens                      []int
	samples, cold               int
	data                        string
	threads                     int
	dtype                       string
	seed                        uint64
	format, out                 string
	ortLibrary                  string

	search cpu.Options // of the index
}

// latencyFormats are those of its report.
var latencyFormats = []string{"text", "json", "md"}

var latencyCommand = &command{
	name:  "latency",
	short: "measure how long one query takes: text to vector, and text to the best documents of an index",
	long: `
Takes queries one at a time from text to vector and, with --index, to the k best rows
of a file of vectors: tokenize, encode a batch of one row on all threads, search
exactly. The encoder is compared with the plain reference encoder first: a model that
fails has no latency.

Queries have exactly --tokens tokens of the model's tokenizer, special tokens and the
query prompt not counted: they are cut and joined from those of --data, drawn by
--seed. Lengths take turns. Cold is the first query of a session that was just
opened, with a tokenizer whose caches are empty; warm are --samples of each length
after a warm-up. Text to vector allocates nothing, Go's collector is off while samples
are taken, and no sample is dropped.

Intervals of percentiles come from order statistics (the binomial distribution). A p95
or p99 stands as a figure from as many samples as MLPerf asks for; with fewer only its
interval is printed, and with too few nothing. The report says how many it takes.`,
	examples: []example{
		{"encbench latency --samples 400 --out latency.json", "the pinned model, enough samples for an interval of p99"},
		{"encbench latency --index v-docs.ebvec --metric cosine --tokens 8,32 --samples 100", "text to the 10 best documents, for vectors of encbench eval --vectors-out"},
		{"encbench latency --tokens 16 --samples 80 --threads 1 --cold 1 --format json", "one thread, the record as JSON"},
	},
	define: func(fs *pflag.FlagSet) runner {
		f := &latencyFlags{fs: fs}
		fs.StringVar(&f.model, "model", "", "`NAME`: minilm-l6 (pinned, the default), a Hugging Face directory, an .onnx file beside its tokenizer.json, or org/name[@rev] in your Hugging Face cache")
		poolingFlag(fs, &f.pooling)
		fs.StringVar(&f.queryPrompt, "query-prompt", "", "`TEXT` before every query, in place of the model's own; \"\" for none")
		fs.StringVar(&f.index, "index", "", "`FILE` of document vectors to search, as encbench search reads them: .ebvec, .npy or .safetensors")
		fs.StringVar(&f.tensor, "index-tensor", "", "`NAME` of the matrix in a .safetensors file; default: the only one")
		fs.StringVar(&f.metric, "metric", "ip", "`KIND` of score: ip (inner product), cosine, l2")
		fs.StringVar(&f.store, "store", "given", "`TYPE` that rows of the index are kept as: given (as the file has them), float32, float16, bfloat16, int8")
		fs.IntVarP(&f.k, "k", "k", 10, "`K` documents a query")
		fs.IntSliceVar(&f.tokens, "tokens", []int{8, 32, 128}, "`TOKENS` of a query's text, several in a comma list; special tokens and prompt come on top")
		fs.IntVar(&f.samples, "samples", 500, "`N` warm queries of each length")
		fs.IntVar(&f.cold, "cold", 3, "`N` sessions that are opened for the first queries of each length")
		fs.StringVar(&f.data, "data", embeddedCollection, "`NAME|PATH` of the labelled collection whose queries the texts are made of")
		fs.IntVar(&f.threads, "threads", 0, "`N` threads of one run; 0 means every CPU that this process may use")
		fs.StringVar(&f.dtype, "dtype", dtypeAuto, dtypeHelp)
		fs.Uint64Var(&f.seed, "seed", 1, "seed `N` of the texts")
		fs.StringVar(&f.format, "format", "text", "`FORMAT` of the report: "+strings.Join(latencyFormats, ", "))
		fs.StringVar(&f.out, "out", "", "`FILE` for the record (JSON)")
		fs.StringVar(&f.ortLibrary, "ort-library", "", "`FILE`: your own ONNX Runtime shared library instead of the pinned one")
		return f
	},
}

// check resolves what does not need the model, listing all faults.
func (f *latencyFlags) check(cpus int) error {
	var errs faults
	fault := errs.add
	errs.atLeast(bound{"samples", f.samples, 1}, bound{"cold", f.cold, 0})
	errs.threads(&f.threads, cpus)
	if len(f.tokens) == 0 {
		fault("--tokens: no length is named")
	}
	for i, n := range f.tokens {
		switch {
		case n < 1:
			fault("--tokens %d: at least 1", n)
		case slices.Contains(f.tokens[:i], n):
			fault("--tokens %d is given twice", n)
		}
	}
	// Flags of the search, checked as encbench search does.
	search := searchFlags{docs: f.index, queries: f.index, metric: f.metric, store: f.store, path: "auto", device: "cpu", k: f.k}
	if f.index == "" {
		search.docs, search.queries = "none", "none"
		for _, name := range []string{"index-tensor", "metric", "store", "k"} {
			if f.fs.Changed(name) {
				fault("--%s is of a search: give --index too", name)
			}
		}
	}
	if f.index == "-" {
		search.queries = "none" // standard input is read once
	}
	var err error
	f.search, err = search.options()
	errs.addErr(err)
	f.search.Threads = f.threads
	errs.addErr(checkDType(f.dtype))
	errs.addErr(checkPooling(f.pooling))
	if !slices.Contains(latencyFormats, f.format) {
		fault("unknown format %q: %s", f.format, strings.Join(latencyFormats, ", "))
	}
	return errs.join()
}

// latencyRun is one `encbench latency` on its way.
type latencyRun struct {
	*latencyFlags
	app *app
	bar *progress
	out *outFile

	model    *loadedModel
	prompt   string
	sources  []string
	rt       *ort.Runtime
	graph    ort.Graph
	searcher *cpu.Searcher // nil without an index
	base     latency.Record
}

// isLatencyRecord says whether a file is a record of latency.
func isLatencyRecord(head []byte) bool {
	return begins(head, member{"schema", nil}, member{"kind", latency.Kind}, member{"tool", nil})
}

// run measures and prints the report.
func (f *latencyFlags) run(ctx context.Context, a *app, args []string) error {
	if err := noArguments(args); err != nil {
		return err
	}
	l := &latencyRun{latencyFlags: f, app: a, bar: a.progress()}
	l.base = latency.Record{Tool: tool(), Command: os.Args, Started: time.Now().UTC(), Env: env.Collect()}
	if err := f.check(env.CPUs(l.base.Env)); err != nil {
		return &usageError{err}
	}
	// A place that cannot be written must show before minutes of measuring.
	var err error
	if l.out, err = openOut(f.out, isLatencyRecord, f.data, f.model, f.index); err != nil {
		return err
	}
	defer l.close()
	if err := l.openModel(ctx); err != nil {
		return err
	}
	if err := l.openQueries(ctx); err != nil {
		return err
	}
	if err := l.prepare(ctx); err != nil {
		return err
	}
	return l.measure(ctx)
}

func (l *latencyRun) close() {
	l.bar.clear()
	var errs []error
	if l.searcher != nil {
		errs = append(errs, l.searcher.Close())
	}
	if l.model != nil {
		errs = append(errs, l.model.close())
	}
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintf(l.app.stderr, "encbench latency: closing: %v\n", err)
	}
}

// measure runs the measurement, writes the record and prints the report.
func (l *latencyRun) measure(ctx context.Context) error {
	setup := l.setup()
	if err := setup.Validate(); err != nil {
		return &usageError{err}
	}
	r, err := latency.Run(ctx, setup)
	l.bar.clear()
	if r == nil {
		return err
	}
	r.Memory.PeakRSS, r.Memory.GoHeap = env.PeakRSS(), goHeap()
	if l.model.dir != nil {
		r.Memory.Weights = l.model.dir.Weights.Size
	}
	if l.searcher != nil {
		st := l.searcher.Stats()
		r.Index.RowBytes, r.Index.Path = l.searcher.RowBytes(), fmt.Sprintf("%s on %s", st.Path, st.ISA)
	}
	name := l.out.path
	whole := r.Status == bench.StatusComplete
	kept := l.out.save(func(w io.Writer) error { return report.JSON(w, r) })
	if kept == nil && (whole || !l.out.exist) {
		kept = l.out.commit()
	} else {
		name = l.out.partial()
	}
	if err := l.write(r); err != nil {
		return errors.Join(err, kept)
	}
	if l.out.path != "" && kept == nil {
		fmt.Fprintf(l.app.stderr, "record written to %s\n", name)
	}
	if !whole && kept == nil {
		return errors.New("interrupted; the report holds what was measured so far")
	}
	return kept
}

// write prints the report in the format.
func (l *latencyRun) write(r *latency.Record) error {
	switch l.format {
	case "json":
		return report.JSON(l.app.stdout, r)
	case "md":
		return latencySheet(r).markdown(l.app.stdout)
	}
	return latencySheet(r).text(l.app.stdout)
}

// show draws the progress line.
func (l *latencyRun) show(s latency.Step) {
	l.bar.show(float64(s.Done)/float64(max(1, s.Total)), func() string {
		switch s.Phase {
		case "cold":
			return fmt.Sprintf("cold query %d of %d", s.Done+1, s.Total)
		case "warm-up":
			return "warming up"
		}
		return fmt.Sprintf("sample %s of %s of each length", bench.Thousands(int64(s.Done)), bench.Thousands(int64(s.Total)))
	})
}
