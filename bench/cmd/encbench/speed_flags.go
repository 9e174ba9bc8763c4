package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"encbench/bench"
	"encbench/bench/report"
	"encbench/corpus"
	"encbench/engine/feed"

	"github.com/spf13/pflag"
)

// speedFlags are the flags of `encbench speed`, as given.
type speedFlags struct {
	fs *pflag.FlagSet

	model, pooling, prompt string
	corpus, corpusFormat   string
	strict, graphs         bool
	chunk, overlap         []int
	batch                  []string
	batchTokens            []int
	ubatch, device, dtype  []string
	threads                []int
	region                 []string
	sample, profile        string
	minTime                time.Duration
	repeats                int
	seed                   uint64
	format, out            string
	ortLibrary             string
}

func defineSpeed(fs *pflag.FlagSet) runner {
	f := &speedFlags{fs: fs}
	fs.SetNormalizeFunc(batchAliases)
	fs.StringVar(&f.model, "model", "", "`NAME`: minilm-l6 (pinned, the default), a Hugging Face directory, an .onnx file beside its tokenizer.json, or org/name[@rev] in your Hugging Face cache")
	poolingFlag(fs, &f.pooling)
	fs.StringVar(&f.prompt, "prompt", "", "document prompt `TEXT` in every window, in place of the model's own; \"\" for none")
	fs.StringVar(&f.corpus, "corpus", "techdocs", "`NAME|PATH`: techdocs, techdocs-law, gostd, a .jsonl or .tsv file (plain, .gz, .zst), a directory of text files, or - for standard input")
	fs.StringVar(&f.corpusFormat, "corpus-format", "", "`FORMAT` of the corpus, where its name and content do not tell: jsonl, tsv, text, dir")
	fs.BoolVar(&f.strict, "strict", false, "stop at the first broken line of the corpus instead of counting it")
	fs.IntSliceVar(&f.chunk, "chunk", []int{512}, "`TOKENS` a chunk, special tokens and document prompt included: 512 is 510 content tokens for BERT")
	fs.IntSliceVar(&f.overlap, "overlap", []int{100}, "content `TOKENS` shared by neighbouring chunks; Hugging Face's \"stride\" is this overlap")
	fs.StringSliceVar(&f.batch, "batch-size", []string{"128"}, "`CHUNKS` a batch, the protocol's unit; auto tries batches and physical batches that fit the memory, and takes the smallest within noise of the fastest. --batch is the same flag")
	fs.IntSliceVar(&f.batchTokens, "batch-tokens", nil, "`TOKENS` a batch instead of chunks: it ends when its chunks, padded to the longest, would be more; at least --chunk")
	fs.StringSliceVar(&f.ubatch, "ubatch-size", []string{"auto"}, "`ROWS` of a physical batch: auto groups rows of equal length, on a CUDA device of like length; 128 runs the literal protocol. --ubatch is the same flag")
	fs.StringArrayVar(&f.device, "device", []string{"auto"}, deviceHelp+". cpu,cuda:0,cuda:0,1 compares three: a number belongs to the device before it")
	fs.BoolVar(&f.graphs, "cuda-graphs", false, "on CUDA devices capture the run of each length bucket and replay it; needs --ubatch-size with a number, rows are padded to the bucket")
	fs.StringSliceVar(&f.dtype, "dtype", []string{dtypeAuto}, deviceDTypeHelp)
	fs.IntSliceVar(&f.threads, "threads", []int{0}, "`N` threads of the encoder; 0 means every CPU that this process may use")
	fs.StringSliceVar(&f.region, "region", []string{string(bench.RegionEndToEnd)}, "what the clock covers: `REGION` end-to-end (file to vectors), tokenize+encode (text in memory to vectors) or encode (ids in memory to vectors)")
	fs.StringVar(&f.sample, "sample", "auto", "`CHUNKS` a pass, stratified by length and projected to the corpus; all times every chunk; auto is 128 for every two threads")
	fs.StringVar(&f.profile, "profile", "standard", "`PROFILE` quick (8 samples, 10 s), standard (10, 60 s) or mlperf-like (10, 600 s)")
	fs.DurationVar(&f.minTime, "min-time", 0, "timed `DURATION` in all at least, in place of the profile's: 20s, 2m")
	fs.IntVar(&f.repeats, "repeats", 0, "`N` samples at least, in place of the profile's")
	fs.Uint64Var(&f.seed, "seed", 1, "seed `N` of the stratified selection")
	fs.StringVar(&f.format, "format", "text", "`FORMAT` of the report: "+strings.Join(report.Formats(), ", "))
	fs.StringVar(&f.out, "out", "", "`FILE` for the record (JSON; JSON lines for several); grows as FILE.partial after every sample")
	fs.StringVar(&f.ortLibrary, "ort-library", "", "`FILE`: your own ONNX Runtime shared library instead of the pinned one")
	return f
}

var speedCommand = &command{
	name:  "speed",
	short: "measure documents per second of an encoder on this machine",
	long: `
Reads, tokenizes, cuts into chunks of 512 tokens with 100 tokens of overlap and
encodes in batches of 128. Before any rate is given, the encoder's vectors are
compared with those of a plain reference encoder; a model that fails has no rate.

512 includes the special tokens and the document prompt: BERT's [CLS] and [SEP]
leave 510 content tokens, and windows step by 410. The overlap is what Hugging
Face tokenizers call "stride".

A sample is one pass over a selection of chunks that is stratified by length;
docs/s is projected from it to the whole corpus, whose every document has been
tokenized and chunked (untimed). Flags that take numbers or choices take comma
lists: all combinations run interleaved, one record each, in one table.

Ctrl-C ends politely: what was measured is printed, marked as interrupted, and
written. A second Ctrl-C ends at once.`,
	examples: []example{
		{"encbench speed --profile quick --out speed.json", "a first look: the pinned model on the embedded corpus"},
		{"encbench speed --batch-size 32,128 --threads 1,2 --profile quick", "compare batch sizes and thread counts, interleaved"},
		{"encbench speed --batch-size auto --profile quick", "find the batch that suits this machine, then measure with it"},
		{"encbench speed --batch-tokens 16384 --profile quick", "batches of up to 16,384 tokens instead of 128 chunks"},
		{"encbench speed --ubatch-size 128 --sample 128 --repeats 1 --min-time 1s", "the literal protocol: 128 chunks in one run of the model"},
		{"encbench speed --corpus docs.jsonl --sample 16 --repeats 3 --min-time 1s --format json", "your own documents, the record as JSON"},
		{"encbench speed --region encode --format bench --sample 16 --repeats 3 --min-time 1s", "pre-tokenized input, in the format that benchstat reads"},
	},
	define: defineSpeed,
}

// profiles are the schedules by name. The chunk floors of the literature (2,048
// and 24,576) are for GPUs: on a CPU they would take hours and prove nothing.
var profiles = map[string]bench.Schedule{
	"quick":       {Profile: "quick", Repeats: 8, MinTime: 10 * time.Second},
	"standard":    {Profile: "standard", Repeats: 10, MinTime: 60 * time.Second},
	"mlperf-like": {Profile: "mlperf-like", Repeats: 10, MinTime: 600 * time.Second},
}

// corpusFormats are the values of --corpus-format; "" leaves it to the corpus.
var corpusFormats = []string{"", corpus.FormatJSONL, corpus.FormatTSV, corpus.FormatText, corpus.FormatDir}

// config is one point of the cross product.
type config struct {
	chunk, overlap int
	batch          int // chunks; 0 = to be searched, with batchTokens at most
	batchTokens    int // 0 = batch alone counts
	ubatch         int // 0 = auto
	device, dtype  string
	threads        int
	region         bench.Region
}

// schedule resolves profile, repeats and time.
func (f *speedFlags) schedule() (bench.Schedule, error) {
	s, ok := profiles[f.profile]
	if !ok {
		return s, fmt.Errorf("unknown profile %q: quick, standard or mlperf-like", f.profile)
	}
	if f.fs.Changed("min-time") {
		s.MinTime = f.minTime
	}
	if f.fs.Changed("repeats") {
		s.Repeats = f.repeats
	}
	if s.Repeats < 1 {
		return s, fmt.Errorf("--repeats %d: at least 1", s.Repeats)
	}
	if s.MinTime < 0 {
		return s, fmt.Errorf("--min-time %s: must not be negative", s.MinTime)
	}
	return s, nil
}

// sampleChunks resolves --sample: chunks a pass, 0 for all of them.
func (f *speedFlags) sampleChunks(threads int) (int, error) {
	switch f.sample {
	case "auto":
		return 128 * ((threads + 1) / 2), nil
	case "all":
		return 0, nil
	}
	n, err := strconv.Atoi(f.sample)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("--sample %q: a number of chunks from 1, auto or all", f.sample)
	}
	return n, nil
}

// configs expands the cross product and checks every value, listing all faults.
func (f *speedFlags) configs(cpus int) ([]config, error) {
	var errs faults
	fault := errs.add
	var ubatch []int
	for _, u := range f.ubatch {
		n, err := strconv.Atoi(u)
		switch {
		case u == "auto":
			n = 0
		case err != nil || n < 1:
			fault("--ubatch-size %q: a number from 1, or auto", u)
		}
		ubatch = append(ubatch, n)
	}
	var devices []string
	for _, list := range f.device {
		groups, err := splitDevices(list)
		errs.addErr(err)
		devices = append(devices, groups...)
	}
	for _, d := range f.dtype {
		errs.addErr(checkDeviceDType(d))
		if slices.Contains(devices, "cpu") {
			errs.addErr(checkProcessor(d))
		}
	}
	for _, r := range f.region {
		switch bench.Region(r) {
		case bench.RegionEndToEnd, bench.RegionTokenizeEncode, bench.RegionEncode:
		default:
			fault("--region %q: end-to-end, tokenize+encode or encode", r)
		}
	}
	for i := range f.threads {
		errs.threads(&f.threads[i], cpus)
	}
	batches, err := f.batches()
	errs.addErr(err)
	if !slices.Contains(corpusFormats, f.corpusFormat) {
		fault("--corpus-format %q: jsonl, tsv, text or dir", f.corpusFormat)
	}
	if !slices.Contains(report.Formats(), f.format) {
		fault("unknown format %q: %s", f.format, strings.Join(report.Formats(), ", "))
	}
	errs.addErr(checkPooling(f.pooling))
	out := []config{{}}
	out = times(out, f.chunk, func(c *config, v int) { c.chunk = v })
	out = times(out, f.overlap, func(c *config, v int) { c.overlap = v })
	out = times(out, f.region, func(c *config, v string) { c.region = bench.Region(v) })
	out = times(out, devices, func(c *config, v string) { c.device = v })
	out = times(out, f.dtype, func(c *config, v string) { c.dtype = v })
	out = times(out, f.threads, func(c *config, v int) { c.threads = v })
	out = times(out, batches, func(c *config, v feed.Limit) { c.batch, c.batchTokens = v.Rows, v.Tokens })
	out = times(out, ubatch, func(c *config, v int) { c.ubatch = v })
	for _, c := range out {
		switch {
		case c.chunk < 1:
			fault("--chunk %d: at least 1", c.chunk)
		case c.overlap < 0:
			fault("--overlap %d: must not be negative", c.overlap)
		case c.batchTokens > 0 && c.batchTokens < c.chunk:
			fault("--batch-tokens %d is smaller than --chunk %d: a batch must hold the longest chunk", c.batchTokens, c.chunk)
		case c.batchTokens > 0 && c.ubatch > c.batch:
			fault("--ubatch-size %d is more rows than the %d tokens of --batch-tokens", c.ubatch, c.batchTokens)
		case c.batch >= 1 && c.ubatch > c.batch:
			fault("--ubatch-size %d is larger than --batch-size %d", c.ubatch, c.batch)
		case f.graphs && c.ubatch == 0:
			fault("--cuda-graphs has fixed shapes: give --ubatch-size a number of rows")
		case f.sample == "all" && c.region != bench.RegionEndToEnd:
			fault("--region %s keeps its input in memory: give --sample a number of chunks", c.region)
		case c.overlap >= c.chunk:
			fault("--overlap %d is not smaller than --chunk %d", c.overlap, c.chunk)
		}
	}
	return dedupe(out), errs.join()
}

// times is the cross product of configurations and the values of one flag.
func times[T any](in []config, values []T, set func(*config, T)) []config {
	var out []config
	for _, c := range in {
		for _, v := range values {
			set(&c, v)
			out = append(out, c)
		}
	}
	return out
}

// dedupe drops configurations that came out equal, keeping the first.
func dedupe(in []config) []config {
	var out []config
	for _, c := range in {
		if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}
