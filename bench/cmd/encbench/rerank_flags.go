package main

import (
	"errors"
	"slices"
	"strings"

	"encbench/metrics"
	"encbench/metrics/trec"

	"github.com/spf13/pflag"
)

// rerankFlags are the flags of `encbench rerank`, as given.
type rerankFlags struct {
	fs *pflag.FlagSet

	model      string
	runs, data []string
	layout     string // of text runs

	split, form, variant string
	queries              int
	dropSelf             bool

	top, queryTokens, maxTokens int
	measures                    string
	runOut, out, format         string
	batch, threads              int
	dtype, device               string
	seed                        uint64
	ortLibrary                  string

	parsed    []metrics.Measure
	leftOut   []string // measures that are no mean over queries
	runFormat trec.Format
}

// rerankFormats are those of its report.
var rerankFormats = []string{"text", "json", "jsonl", "md"}

func defineRerank(fs *pflag.FlagSet) runner {
	f := &rerankFlags{fs: fs}
	fs.StringVar(&f.model, "model", "", "`NAME` of a cross-encoder: a Hugging Face directory, or org/name[@rev] in your Hugging Face cache")
	fs.StringSliceVar(&f.runs, "run", nil, "`FILE` of the first stage: TREC text and other layouts, or .ebrun, plain, gzip or zstd; one for each collection, in a comma list")
	fs.StringSliceVar(&f.data, "data", []string{embeddedCollection}, "`NAME|PATH` of the labelled collection that the run is over, several in a comma list: "+embeddedCollection+", a folder or a labelled .jsonl, as encbench eval reads them")
	fs.StringVar(&f.layout, "run-format", "auto", "`FORMAT` of text runs: "+strings.Join(trec.Formats(), ", "))
	fs.IntVar(&f.top, "top", 20, "the first `N` documents of a query are reranked; ranks below keep their order")
	fs.IntVar(&f.queryTokens, "max-query-tokens", 64, "content `TOKENS` that a query is cut to, special tokens not counted")
	fs.IntVar(&f.maxTokens, "max-tokens", 0, "`TOKENS` of a pair, special tokens included; the document is cut to what the query leaves; 0 is what the model's directory says")
	fs.StringVar(&f.split, "split", "", "`SPLIT` of the queries, as in encbench eval: dev, heldout, all, or one of the collection's own")
	fs.StringVar(&f.form, "form", "", "`FORM` of the queries where there are several, as in encbench eval")
	fs.StringVar(&f.variant, "variant", "", "`VARIANT` of the documents where there are several, as in encbench eval")
	fs.IntVar(&f.queries, "queries", 0, "`N` queries at most, a sample by --seed; 0 takes all")
	fs.BoolVar(&f.dropSelf, "drop-self", false, "drop a document whose identifier is the query's, before the first --top are taken")
	fs.StringVarP(&f.measures, "measures", "m", defaultMeasures, "`MEASURES` in one argument, separated by spaces or commas, as in encbench eval")
	fs.StringVar(&f.runOut, "run-out", "", "`FILE` for the new run: .ebrun, or .run, .txt or .trec for TREC text, which .gz or .zst may follow; with several collections each adds its name")
	fs.StringVar(&f.out, "out", "", "`FILE` for the record (JSON)")
	fs.StringVar(&f.format, "format", "text", "`FORMAT` of the report: "+strings.Join(rerankFormats, ", "))
	fs.IntVar(&f.batch, "batch-size", 64, "`PAIRS` that the encoder is handed at a time")
	fs.StringVar(&f.device, "device", "auto", deviceHelp)
	fs.StringVar(&f.dtype, "dtype", dtypeAuto, deviceDTypeHelp)
	fs.IntVar(&f.threads, "threads", 0, "`N` threads; 0 means every CPU that this process may use")
	fs.Uint64Var(&f.seed, "seed", 1, "seed `N` of samples, intervals and tests")
	fs.StringVar(&f.ortLibrary, "ort-library", "", "`FILE`: your own ONNX Runtime shared library instead of the pinned one")
	return f
}

var rerankCommand = &command{
	name:  "rerank",
	short: "re-order the first documents of a run with a cross-encoder: pairs per second, and values before and after",
	long: `
Reads a first-stage run and the collection it is over, makes a pair of each query
with each of its first --top documents, and puts these in the order of the model's
logits. The logits of probe pairs are compared with those of the plain reference
encoder first: a model that fails has neither rate nor values.

A pair is the tokenizer's own template, CLS query SEP document SEP for BERT, with its
token types. The query is cut to its first --max-query-tokens tokens, special tokens
not counted, then the document to what is left of --max-tokens (what Hugging Face
tokenizers call only_second). Both are counted.

Equal logits keep the first stage's order. Documents that the collection does not
have, then the ranks below --top stand below, in the first stage's order; their
scores are moved, all by the same amount, to begin 1 below the last logit. Scores of
the new run fall strictly, so that no reader's rule for ties changes the order.

pairs/s covers tokenizing, pairing and encoding of text in memory; reading the
collection is outside. Synthetic weights give their speed alone. Ctrl-C keeps the
collections that are done.`,
	examples: []example{
		{"encbench rerank --model reranker --run first.ebrun --data labelled.jsonl --top 10 --run-out reranked.ebrun", "the first 10 of every query, the new run kept"},
		{"encbench rerank --model reranker --run first.ebrun --data labelled.jsonl --top 3 --max-query-tokens 16 --max-tokens 48 -m nDCG@10,RR --format md --out rerank.json", "shorter pairs, other measures, the record kept"},
	},
	define: defineRerank,
}

// check resolves what does not need the model, listing all faults.
func (f *rerankFlags) check(cpus int) error {
	var errs faults
	fault := errs.add
	if f.model == "" {
		fault("--model: name a cross-encoder, a Hugging Face directory")
	}
	switch {
	case len(f.runs) == 0:
		fault("--run: name the first stage's run")
	case len(f.runs) != len(f.data):
		fault("--run names %s, --data %s: give a run for each collection, in the same order", count(len(f.runs), "file"), count(len(f.data), "collection"))
	}
	for i, r := range f.runs {
		if r == "-" && slices.Contains(f.runs[:i], r) {
			fault("--run: standard input can be read once")
		}
	}
	for i, d := range f.data {
		if slices.Contains(f.data[:i], d) {
			fault("--data %s is given twice", d)
		}
	}
	var err error
	if f.runFormat, err = trec.ParseFormat(f.layout); err != nil {
		fault("--run-format: %w", err)
	}
	f.parsed, f.leftOut = errs.means(f.measures, "compared")
	errs.atLeast(bound{"top", f.top, 1}, bound{"max-query-tokens", f.queryTokens, 1}, bound{"max-tokens", f.maxTokens, 0}, bound{"queries", f.queries, 0})
	errs.threads(&f.threads, cpus)
	errs.batch(f.batch)
	errs.addErr(checkDeviceDType(f.dtype))
	if f.device == "cpu" {
		errs.addErr(checkProcessor(f.dtype))
	}
	errs.addErr(oneDevice(f.device))
	if !slices.Contains(rerankFormats, f.format) {
		fault("unknown format %q: %s", f.format, strings.Join(rerankFormats, ", "))
	}
	if strings.EqualFold(f.split, "held-out") {
		fault("--split %s: it is called heldout", f.split)
	}
	return errs.join()
}

// errNoDirectory refuses a bare graph where the description of a model is needed.
var errNoDirectory = errors.New("a bare .onnx graph does not say how its pairs are made, and has no reference; name the model's Hugging Face directory")
