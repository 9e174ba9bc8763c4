package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"encbench/bench"
	"encbench/bench/env"
	"encbench/bench/peers"

	"github.com/spf13/pflag"
)

var peersCommand = &command{
	name:  "peers",
	short: "run the same chunks through other programs, interleaved with ours",
	long: `
Measures encbench against other programs, in parts:

  speed   onnxruntime, OpenVINO, sentence-transformers and the Hugging Face
          tokenizers on the same chunks, and our own pipeline against its parts
  tokenizers
          ids and speed of every kind of tokenizer against the tokenizers package
  models  ModernBERT against transformers and against dense attention masks, int8
          against onnxruntime's own, the import of a checkpoint of 600 MB
  search  exact search against FAISS on the same vectors
  score   scoring and run files against trec_eval, pytrec_eval, ranx, ir_measures
          and zstd on the same runs
  quality the pinned model's values on labelled collections, beside those of
          earlier measurements and of BM25

Results are checked equal before anything is timed; both sides have the same
threads, each peer its best settings, in ABBA pairs. Writes the raw samples as
JSON, from which "encbench results" renders the tables. "make peers" installs what
is pinned and runs all parts.`,
	examples: []example{
		{"encbench peers --python bench/peers/.venv/bin/python --out docs/results/peers.json", "what `make peers` runs first"},
		{"encbench peers --only pipeline --pairs 12", "only our own pipeline, which needs no Python"},
		{"encbench peers --part search --small --python bench/peers/.venv/bin/python", "whether the comparison with FAISS works here, in a minute"},
		{"encbench peers --part tokenizers --tokenizer mine=tokenizer.json --only mine --python bench/peers/.venv/bin/python", "ids and speed of a tokenizer of your own"},
	},
	define: func(fs *pflag.FlagSet) runner {
		f := &peersFlags{}
		fs.StringVar(&f.python, "python", "", "`PYTHON` of the pinned environment (default: ENCBENCH_PYTHON, else python3)")
		fs.StringVar(&f.part, "part", "speed", "`PART`: "+peerPartNames)
		fs.StringVar(&f.trecEval, "trec-eval", "", "`FILE`: the trec_eval binary (default: beside the interpreter of --python)")
		fs.StringVar(&f.tokenizersDir, "tokenizers", "", "`DIR` with small tokenizers, NAME.tokenizer.json, for tokenizers")
		fs.StringArrayVar(&f.tokenizer, "tokenizer", nil, "`[NAME=]FILE`: a tokenizer.json more for tokenizers; several where repeated")
		fs.StringVar(&f.int8Graph, "int8-graph", "", "`FILE`: MiniLM's graph as others quantised it, for models (default: beside the interpreter of --python)")
		fs.StringVar(&f.collections, "collections", "", "`DIR` with the folders cranfield, npl-vaswani and mtrag-un, for quality")
		fs.BoolVar(&f.small, "small", false, "tiny inputs for the other parts: a trial, no result")
		fs.StringArrayVar(&f.only, "only", nil, "`TEXT` that the names of the arms to run contain; several where repeated")
		fs.IntVar(&f.pairs, "pairs", peers.PairsAtLeast, "`N` ABBA pairs an arm")
		fs.IntVar(&f.threads, "threads", 0, "`N` threads on both sides; 0 means every CPU that this process may use")
		fs.IntVar(&f.rows, "rows", 48, "`CHUNKS` a pass")
		fs.StringVar(&f.out, "out", "", "`FILE` for the raw samples")
		fs.StringVar(&f.ortLibrary, "ort-library", "", "`FILE`: your own ONNX Runtime shared library instead of the pinned one")
		return f
	},
}

type peersFlags struct {
	python, part, trecEval, collections, out, ortLibrary string
	tokenizersDir, int8Graph                             string
	only, tokenizer                                      []string
	pairs, threads, rows                                 int
	small                                                bool
}

const peerPartNames = "speed, tokenizers, models, search, score or quality"

// peerParts gives for each --part its title and what runs it.
var peerParts = map[string]struct {
	title string
	run   func(*peersRun, context.Context) error
}{
	"speed":      {"encbench against its peers, and against its own parts", (*peersRun).speed},
	"tokenizers": {"tokenizers against the tokenizers package", (*peersRun).tokenizers},
	"models":     {"models, int8 and the import against their peers", (*peersRun).models},
	"search":     {"exact search against FAISS", (*peersRun).search},
	"score":      {"scoring and run files against trec_eval, pytrec_eval, ranx and zstd", (*peersRun).score},
	"quality":    {"quality of the pinned model on labelled collections", (*peersRun).quality},
}

// peersRun is one `encbench peers` at work.
type peersRun struct {
	*peersFlags
	app    *app
	in     *peerInputs
	cache  string
	file   *outFile
	dir    string // temporary files
	memory int64  // bytes of the machine
	result bench.Result
}

func (f *peersFlags) run(ctx context.Context, a *app, args []string) error {
	if err := noArguments(args); err != nil {
		return err
	}
	facts := env.Collect()
	cpus := env.CPUs(facts)
	part, known := peerParts[f.part]
	switch {
	case !known:
		return usagef("--part %s: expected %s", f.part, peerPartNames)
	case f.pairs < 1:
		return usagef("--pairs %d: at least 1", f.pairs)
	case f.rows < 1:
		return usagef("--rows %d: at least 1", f.rows)
	case f.threads < 0 || f.threads > cpus:
		return usagef("--threads %d: this process may use %d CPUs (%s)", f.threads, cpus, cpuLimits())
	case f.threads == 0:
		f.threads = cpus
	}
	if f.python == "" {
		f.python = os.Getenv("ENCBENCH_PYTHON")
	}
	if f.python == "" {
		f.python = "python3"
	}
	r := &peersRun{peersFlags: f, app: a, memory: facts.Memory.TotalBytes}
	var err error
	if r.file, err = openOut(f.out, isPeersResult); err != nil {
		return err
	}
	t := tool()
	r.result = bench.Result{
		Title:   part.title,
		Command: f.command(),
		Commit:  t.Commit, Date: time.Now().UTC().Format(time.DateOnly),
		Machine:  fmt.Sprintf("%s, %d CPUs used of %d, %.0f GiB, Linux %s, %s", facts.CPU.Model, f.threads, facts.CPU.Logical, float64(facts.Memory.TotalBytes)/(1<<30), facts.Kernel, strings.Join(facts.CPU.ISA, " ")),
		Versions: map[string]string{"encbench": t.Version, "go": t.Go},
	}
	if t.Dirty {
		r.result.Commit += " with changes"
	}
	if r.dir, err = os.MkdirTemp("", "encbench-peers-*"); err != nil {
		return fmt.Errorf("peers: %w", err)
	}
	defer os.RemoveAll(r.dir)
	s, err := a.store()
	if err != nil {
		return err
	}
	r.cache = filepath.Join(s.Dir(), "peers")
	if err := part.run(r, ctx); err != nil {
		return err
	}
	switch {
	case len(r.result.Rows)+len(r.result.Means) > 0:
		return r.file.commit()
	case len(r.result.Notes) > 0: // nothing that would make a table
		return nil
	}
	return usagef(`--only "%s": no arm's name contains that`, strings.Join(r.only, `" or "`))
}

// command is the line that makes the same measurement.
func (f *peersFlags) command() string {
	line := fmt.Sprintf("encbench peers --pairs %d --threads %d", f.pairs, f.threads)
	if f.part == "speed" {
		return fmt.Sprintf("%s --rows %d", line, f.rows)
	}
	line += " --part " + f.part
	if f.small {
		line += " --small"
	}
	return line
}

// speed runs the arms of the speed part.
func (r *peersRun) speed(ctx context.Context) (err error) {
	if r.in, err = r.app.peerInputs(ctx, r.peersFlags, r.dir); err != nil {
		return err
	}
	defer r.in.close()
	r.result.Versions["onnxruntime (ours)"] = r.in.rt.Version
	if err := r.pipelineArms(ctx); err != nil {
		return err
	}
	return r.peerArms(ctx)
}

// wanted says whether --only lets an arm run.
func (r *peersRun) wanted(name string) bool {
	return len(r.only) == 0 || slices.ContainsFunc(r.only, func(text string) bool { return strings.Contains(name, text) })
}

func (r *peersRun) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	fmt.Fprintln(r.app.stderr, text)
	r.result.Notes = append(r.result.Notes, text)
}

// add appends a row, saves it and prints what it came to.
func (r *peersRun) add(row bench.ResultRow) error {
	r.result.Rows = append(r.result.Rows, row)
	j := row.Judge()
	what := "ratio"
	if len(row.Peer) == 0 {
		what = row.Unit
	}
	fmt.Fprintf(r.app.stdout, "%s: %s %.4g", row.Name, what, j.Value.Value)
	if !row.Counted {
		fmt.Fprintf(r.app.stdout, " (%.4g to %.4g)", j.Value.Low, j.Value.High)
	}
	if row.Bar != nil {
		state := "MISSED"
		switch {
		case !j.Enough:
			state = fmt.Sprintf("not judged below %d samples", j.Need)
		case j.Met:
			state = "met"
		}
		fmt.Fprintf(r.app.stdout, ", bar %g %s", *row.Bar, state)
	}
	fmt.Fprintln(r.app.stdout)
	return r.save()
}

// save keeps what was measured so far beside --out.
func (r *peersRun) save() error {
	return r.file.save(func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r.result)
	})
}
