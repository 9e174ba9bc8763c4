package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"encbench/engine/cpu"
	"encbench/engine/vectors"

	"github.com/spf13/pflag"
)

var searchFormats = []string{"trec", "ebrun", "npy"}

var searchCommand = &command{
	name:  "search",
	args:  "",
	short: "exact top-k of query vectors among document vectors",
	long: `
Finds the k best documents for each query, exactly: the same rows and the same score
bits on every machine, whatever instructions it has (equal scores: the lower row
first). Vectors come from .npy (float32 or float16), .safetensors (F32, F16, BF16) or
.ebvec, plain, gzip or zstd, and are read in blocks; only the documents' rows stay in
memory. Scores of l2 are negative squared distances, so that larger is better.

Identifiers come from the files of --doc-ids and --query-ids, one a line, from an
.ebvec file that has them, or are row numbers from 0. The result is TREC text on
standard output, or a file: .ebrun, TREC text (.run, .txt, .trec), or .npy with a
record (row, score) for each query and place. In a run, documents of equal score are
put in trec_eval's order, identifier descending; in .npy they keep that of the search.`,
	examples: []example{
		{"encbench search --docs docs.npy --queries queries.npy -k 10", "row numbers and inner products, as TREC text"},
		{"encbench search --docs docs.npy --queries queries.npy --metric cosine --store int8 --out found.ebrun", "rows kept as int8, a compressed run"},
		{"encbench search --docs docs.npy --queries queries.npy --metric l2 --out found.npy", "for numpy.load"},
	},
	define: func(fs *pflag.FlagSet) runner {
		f := &searchFlags{}
		fs.StringVar(&f.docs, "docs", "", "`FILE` of document vectors")
		fs.StringVar(&f.queries, "queries", "", "`FILE` of query vectors")
		fs.StringVar(&f.docTensor, "docs-tensor", "", "`NAME` of the matrix in a .safetensors file of documents; default: the only one")
		fs.StringVar(&f.queryTensor, "queries-tensor", "", "`NAME` of the matrix in a .safetensors file of queries")
		fs.StringVar(&f.docIDs, "doc-ids", "", "`FILE` of document identifiers, one a line, in the order of the rows")
		fs.StringVar(&f.queryIDs, "query-ids", "", "`FILE` of query identifiers")
		fs.IntVarP(&f.k, "k", "k", 10, "`K` documents for each query")
		fs.StringVar(&f.metric, "metric", "ip", "`KIND` of score: ip (inner product), cosine, l2")
		fs.StringVar(&f.store, "store", "given", "`TYPE` that document rows are kept as: given (as the file has them), float32, float16, bfloat16, int8; scores are those of the kept rows")
		fs.StringVar(&f.path, "path", "auto", "`WAY` of the search: auto, exact (every row by the rule), int16, int8 (a pass over codes first); the result is the same")
		fs.StringVar(&f.device, "device", "auto", deviceHelp+"; the result is the same")
		fs.IntVar(&f.threads, "threads", 0, "`N` threads; 0 means every CPU that this process may use")
		fs.StringVar(&f.out, "out", "", "`FILE` for the result, instead of standard output")
		fs.StringVar(&f.format, "format", "", "`FORMAT`: "+strings.Join(searchFormats, ", ")+"; default: by the ending of --out, trec for standard output")
		fs.StringVar(&f.tag, "tag", "", "`NAME` of the run")
		return f
	},
}

type searchFlags struct {
	docs, queries, docTensor, queryTensor, docIDs, queryIDs string
	metric, store, path, device, out, format, tag           string
	k, threads                                              int
}

// options turns the flags into those of a searcher, all but the dimension.
func (f *searchFlags) options() (opt cpu.Options, err error) {
	var errs []error
	opt.Threads = f.threads
	choose := func(flag, value string, n int, name func(i int) string, set func(i int)) {
		var names []string
		for i := range n {
			if name(i) == value {
				set(i)
				return
			}
			names = append(names, name(i))
		}
		errs = append(errs, fmt.Errorf("--%s %q: %s", flag, value, strings.Join(names, ", ")))
	}
	choose("metric", f.metric, int(cpu.L2)+1, func(i int) string { return cpu.Metric(i).String() }, func(i int) { opt.Metric = cpu.Metric(i) })
	choose("store", f.store, int(cpu.StoreInt8)+1, func(i int) string { return cpu.Store(i).String() }, func(i int) { opt.Store = cpu.Store(i) })
	choose("path", f.path, int(cpu.PathInt8)+1, func(i int) string { return cpu.Path(i).String() }, func(i int) { opt.Path = cpu.Path(i) })
	if f.k < 1 {
		errs = append(errs, fmt.Errorf("-k %d: 1 or more", f.k))
	}
	if err := oneDevice(f.device); err != nil {
		errs = append(errs, err)
	}
	// What only the processor has is asked of it where --device leaves the choice.
	if opt.Store == cpu.StoreInt8 || opt.Path != cpu.PathAuto {
		switch {
		case f.device == "auto":
			f.device = "cpu"
		case f.device != "cpu" && opt.Store == cpu.StoreInt8:
			errs = append(errs, fmt.Errorf("--store int8 is for the processor: --device cpu, or another --store"))
		case f.device != "cpu":
			errs = append(errs, fmt.Errorf("--path %s is for the processor: --device cpu, or no --path", f.path))
		}
	}
	if f.threads < 0 {
		errs = append(errs, fmt.Errorf("--threads %d: must not be negative", f.threads))
	}
	switch {
	case f.docs == "" || f.queries == "":
		errs = append(errs, errors.New("--docs and --queries: both name a file of vectors"))
	case f.docs == "-" && f.queries == "-":
		errs = append(errs, errors.New("--docs and --queries: only one of them can be standard input"))
	}
	return opt, errors.Join(errs...)
}

// target settles the format and opens the file.
func (f *searchFlags) target() (format string, out *outFile, err error) {
	format = f.format
	byName := ""
	if f.out != "" {
		byName = targetFormat(f.out)
		if strings.HasSuffix(f.out, ".npy") {
			byName = "npy"
		}
	}
	switch {
	case format == "" && f.out == "":
		format = "trec"
	case format == "":
		format = byName
	}
	switch {
	case format == "":
		return "", nil, usagef("--out %s: the ending says the format: .ebrun, .npy, or .run, .txt or .trec; or give --format", f.out)
	case format != "trec" && format != "ebrun" && format != "npy":
		return "", nil, usagef("--format %q: %s", format, strings.Join(searchFormats, ", "))
	case f.out == "" && format != "trec":
		return "", nil, usagef("--format %s needs a file: --out FILE", format)
	case byName != "" && byName != format:
		return "", nil, usagef("--format %s and --out %s contradict each other", format, f.out)
	}
	replaceable := func(head []byte) bool { return isRun(head) || isPackedRun(f.out) }
	if format == "npy" {
		replaceable = vectors.IsHitsNPY
	}
	out, err = openOut(f.out, replaceable, f.docs, f.queries, f.docIDs, f.queryIDs)
	return format, out, err
}

func (f *searchFlags) run(ctx context.Context, a *app, args []string) error {
	if err := noArguments(args); err != nil {
		return err
	}
	opt, err := f.options()
	if err != nil {
		return &usageError{err}
	}
	format, out, err := f.target()
	if err != nil {
		return err
	}
	s := &search{searchFlags: f, app: a, bar: a.progress(), opt: opt, format: format, out: out}
	defer s.close()
	if err := s.load(ctx); err != nil {
		return err
	}
	return s.answer(ctx)
}
