package main

import (
	"path/filepath"
	"slices"
	"strings"

	"encbench/bench/eval"
	"encbench/bench/report"
	"encbench/metrics"

	"github.com/spf13/pflag"
)

// evalFlags are the flags of `encbench eval`, as given.
type evalFlags struct {
	fs *pflag.FlagSet

	data                 []string
	split, form, variant string
	docs, queries        int

	model, pooling        string
	queryPrompt           string
	docPrompt, promptName string
	maxTokens             int
	chunk, overlap        int
	pool, similarity      string
	dim                   int

	measures string
	k        int
	stores   []string
	rescore  int
	bm25     bool
	dropSelf bool

	runOut, vectorsOut string
	out, format        string
	failures           string
	dtype, device      string
	batch, threads     int
	seed               uint64
	ortLibrary         string

	parsed  []metrics.Measure
	leftOut []string // measures that are no mean over queries
}

const defaultMeasures = "nDCG@10 R@5 RR Success@5"

func defineEval(fs *pflag.FlagSet) runner {
	f := &evalFlags{fs: fs}
	fs.StringSliceVar(&f.data, "data", []string{embeddedCollection}, "`NAME|PATH` of a labelled collection, several in a comma list: "+embeddedCollection+", a folder (BEIR, MTEB, TREC, SMART and other layouts) or a labelled .jsonl")
	fs.StringVar(&f.split, "split", "", "`SPLIT`: dev or heldout part by a recorded hash, all for both, or a split of the collection's own (train, test, …); default test or the only one. Where encbench labels split has recorded a held-out part, all but heldout and all leave it out")
	fs.StringVar(&f.form, "form", "", "`FORM` of the queries where there are several: lastturn (default), rewrite, questions, allturns")
	fs.StringVar(&f.variant, "variant", "", "`VARIANT` of the documents where there are several: md (default), linearized, structure")
	fs.IntVar(&f.docs, "docs", 0, "`N` documents at most: every judged one stays, the rest is a sample by --seed; 0 takes all")
	fs.IntVar(&f.queries, "queries", 0, "`N` queries at most, a sample by --seed; 0 takes all")
	fs.StringVar(&f.model, "model", "", "`NAME`: minilm-l6 (pinned, the default), a Hugging Face directory, an .onnx file beside its tokenizer.json, or org/name[@rev] in your Hugging Face cache")
	poolingFlag(fs, &f.pooling)
	fs.StringVar(&f.queryPrompt, "query-prompt", "", "`TEXT` before every query, in place of the model's own; \"\" for none")
	fs.StringVar(&f.docPrompt, "doc-prompt", "", "`TEXT` before every document, in place of the model's own; \"\" for none")
	fs.StringVar(&f.promptName, "prompt-name", "", "`NAME` of one of the model's prompts, for queries, in place of \"query\"")
	fs.IntVar(&f.maxTokens, "max-tokens", 0, "`TOKENS` that a text is cut to, special tokens and prompt included; 0 is what the model's directory says")
	fs.IntVar(&f.chunk, "chunk", 0, "cut documents into windows of `TOKENS` instead, special tokens and prompt included; 0 does not")
	fs.IntVar(&f.overlap, "overlap", 100, "content `TOKENS` shared by neighbouring windows of --chunk")
	fs.StringVar(&f.pool, "pool", string(eval.PoolMax), "a document's score from those of its windows: `KIND` "+strings.Join(eval.Pools(), ", "))
	fs.StringVar(&f.similarity, "similarity", string(eval.Cosine), "`KIND` cosine, or dot for the vectors as they come")
	fs.IntVar(&f.dim, "truncate-dim", 0, "use the first `D` values of every vector, brought to length one again; 0 takes all")
	fs.StringVarP(&f.measures, "measures", "m", defaultMeasures, "`MEASURES` in one argument, separated by spaces or commas, in the syntax of ir_measures; other tools' names and presets (default, dl19, msmarco, beir, mteb) too")
	fs.IntVar(&f.k, "k", 1000, "`N` documents a query")
	fs.StringSliceVar(&f.stores, "store", nil, "also search the vectors kept as `TYPE`, several in a comma list: float16, bfloat16, int8, binary")
	fs.IntVar(&f.rescore, "rescore", 4, "`N` candidates of the binary store's first step for every document; 0 leaves the second step out")
	fs.BoolVar(&f.bm25, "bm25", false, "BM25 beside the model; always for "+embeddedCollection)
	fs.BoolVar(&f.dropSelf, "drop-self", false, "drop a document whose identifier is the query's")
	fs.StringVar(&f.runOut, "run-out", "", "`FILE` for the rankings: compressed as .ebrun, TREC text for .run and .txt; with several collections each adds its name")
	fs.StringVar(&f.vectorsOut, "vectors-out", "", "`PREFIX` of files for the vectors, as encbench search reads them: PREFIX-docs.ebvec, a row for each document or window, and PREFIX-queries.ebvec, 4 bytes a value; with several collections each adds its name")
	fs.StringVar(&f.failures, "failures", "", "`DIR` of an archive that takes the queries without a relevant document among the first 10")
	fs.StringVar(&f.out, "out", "", "`FILE` for the record (JSON)")
	fs.StringVar(&f.format, "format", "text", "`FORMAT` of the report: "+strings.Join(report.EvalFormats(), ", "))
	fs.StringVar(&f.device, "device", "auto", deviceHelp)
	fs.StringVar(&f.dtype, "dtype", dtypeAuto, deviceDTypeHelp)
	fs.IntVar(&f.batch, "batch-size", 512, "`ROWS` that the encoder is handed at a time")
	fs.IntVar(&f.threads, "threads", 0, "`N` threads; 0 means every CPU that this process may use")
	fs.Uint64Var(&f.seed, "seed", 1, "seed `N` of samples, intervals and tests")
	fs.StringVar(&f.ortLibrary, "ort-library", "", "`FILE`: your own ONNX Runtime shared library instead of the pinned one")
	return f
}

var evalCommand = &command{
	name:  "eval",
	short: "measure the quality of an encoder on labelled collections",
	long: `
Takes a labelled collection through the whole path in one process: documents are
tokenized, cut to the length that the model's directory declares, encoded, and
searched exactly; the rankings are judged, averaged with 95 % intervals, and
written as a run file where --run-out says so. The encoder's vectors are compared
with those of a plain reference encoder first: a model that fails has no values.

Texts longer than the model's length are cut, and the report says how many.
--chunk opts in to windows, as in encbench speed, whose best one is the document's
score. Queries and documents get the prompts that the model's directory declares;
the report shows them.

A limited collection (--docs, --queries) keeps every judged document of its
queries. Its values are of that size only: encbench compare refuses to set them
beside those of another. Ctrl-C keeps the collections that are done.`,
	examples: []example{
		{"encbench eval --docs 300 --queries 50", "a first look: the pinned model on a part of the embedded collection, BM25 beside it"},
		{"encbench eval --docs 300 --queries 50 --store int8,binary --truncate-dim 256", "what shorter and smaller vectors cost"},
		{"encbench eval --data labelled.jsonl --chunk 512 --run-out r.ebrun --out r.json", "your own documents and queries in windows; run and record kept"},
		{"encbench eval --data labelled.jsonl,techdocs-qa --docs 200 --queries 40 --format md", "two collections and their averages"},
	},
	define: defineEval,
}

// check resolves what does not need the model, listing all faults.
func (f *evalFlags) check(cpus int) error {
	var errs faults
	fault := errs.add
	f.parsed, f.leftOut = errs.means(f.measures, "evaluated")
	errs.atLeast(bound{"docs", f.docs, 0}, bound{"queries", f.queries, 0}, bound{"max-tokens", f.maxTokens, 0}, bound{"chunk", f.chunk, 0},
		bound{"overlap", f.overlap, 0}, bound{"truncate-dim", f.dim, 0}, bound{"k", f.k, 1}, bound{"rescore", f.rescore, 0})
	errs.threads(&f.threads, cpus)
	errs.batch(f.batch)
	if f.chunk > 0 && f.overlap >= f.chunk {
		fault("--overlap %d is not smaller than --chunk %d", f.overlap, f.chunk)
	}
	if f.chunk > 0 && f.maxTokens > 0 {
		fault("--chunk and --max-tokens: give one, windows or a cut")
	}
	if f.chunk == 0 && (f.fs.Changed("pool") || f.fs.Changed("overlap")) {
		fault("--pool and --overlap are of windows: give --chunk too")
	}
	if !slices.Contains(eval.Pools(), f.pool) {
		fault("--pool %q: %s", f.pool, strings.Join(eval.Pools(), ", "))
	}
	if f.similarity != string(eval.Cosine) && f.similarity != string(eval.Dot) {
		fault("--similarity %q: cosine or dot", f.similarity)
	}
	for i, s := range f.stores {
		switch {
		case !slices.Contains(eval.Stores(), s):
			fault("--store %q: %s", s, strings.Join(eval.Stores()[1:], ", "))
		case slices.Contains(f.stores[:i], s):
			fault("--store %s is given twice", s)
		}
	}
	f.stores = slices.DeleteFunc(f.stores, func(s string) bool { return s == string(eval.StoreFloat32) }) // is always there
	errs.addErr(checkDeviceDType(f.dtype))
	if f.device == "cpu" {
		errs.addErr(checkProcessor(f.dtype))
	}
	errs.addErr(oneDevice(f.device))
	if f.promptName != "" && f.fs.Changed("query-prompt") {
		fault("--prompt-name and --query-prompt: give one")
	}
	errs.addErr(checkPooling(f.pooling))
	if !slices.Contains(report.EvalFormats(), f.format) {
		fault("unknown format %q: %s", f.format, strings.Join(report.EvalFormats(), ", "))
	}
	if f.runOut != "" && runFormat(f.runOut) == "" {
		fault("--run-out %s: the name ends in .ebrun, or .run or .txt for TREC text", f.runOut)
	}
	errs.addErr(f.checkSplit())
	if len(f.data) == 0 {
		fault("--data: none is named")
	}
	for i, d := range f.data {
		if slices.Contains(f.data[:i], d) {
			fault("--data %s is given twice", d)
		}
	}
	return errs.join()
}

// runFormat says how rankings are written to a file of this name, "" for none.
func runFormat(name string) string {
	switch filepath.Ext(name) {
	case ".ebrun":
		return "ebrun"
	case ".run", ".txt", ".trec":
		return "trec"
	}
	return ""
}

// mostName is how many bytes of a collection's name a file's name takes.
const mostName = 64

// runName is where the rankings of one of several collections go.
func runName(path, collection string, several bool) string {
	if !several {
		return path
	}
	ext := filepath.Ext(path)
	return strings.TrimSuffix(path, ext) + "-" + safeName(collection) + ext
}

// safeName is a collection's name as a part of a file's.
func safeName(collection string) string {
	// Size, form and seed in brackets behind the name are in the run's header.
	part := ""
	if at := strings.LastIndex(collection, " ["); at >= 0 && strings.HasSuffix(collection, "]") {
		collection, part = collection[:at], "-"+collection[at+2:len(collection)-1]
	}
	collection, _, _ = strings.Cut(collection, " (")
	safe := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '-', c == '_':
			return c
		}
		return '_'
	}, filepath.Base(collection)+part)
	if len(safe) > mostName {
		safe = safe[:mostName]
	}
	return safe
}
