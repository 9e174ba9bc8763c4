package main

import (
	"context"
	"encoding/json"
	"errors"
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
	},
	define: func(fs *pflag.FlagSet) runner {
		f := &peersFlags{}
		fs.StringVar(&f.python, "python", "", "`PYTHON` of the pinned environment (default: ENCBENCH_PYTHON, else python3)")
		fs.StringVar(&f.part, "part", "speed", "`PART`: speed, search, score or quality")
		fs.StringVar(&f.trecEval, "trec-eval", "", "`FILE`: the trec_eval binary (default: beside the interpreter of --python)")
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
	only                                                 []string
	pairs, threads, rows                                 int
	small                                                bool
}

// peerParts gives for each --part its title and what runs it.
var peerParts = map[string]struct {
	title string
	run   func(*peersRun, context.Context) error
}{
	"speed":   {"encbench against its peers, and against its own parts", (*peersRun).speed},
	"search":  {"exact search against FAISS", (*peersRun).search},
	"score":   {"scoring and run files against trec_eval, pytrec_eval, ranx and zstd", (*peersRun).score},
	"quality": {"quality of the pinned model on labelled collections", (*peersRun).quality},
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
		return usagef("--part %s: expected speed, search, score or quality", f.part)
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

// peerArms runs the arms of other programs.
func (r *peersRun) peerArms(ctx context.Context) error {
	arms, err := peers.Arms(r.threads)
	if err != nil {
		return err
	}
	var w *peers.Worker
	defer func() {
		if w != nil {
			w.Close()
		}
	}()
	for _, arm := range arms {
		if !r.wanted(arm.Name) {
			continue
		}
		// A process of its own for every arm: one peer's thread pools and memory must
		// not weigh on the next.
		if w != nil {
			w.Close()
		}
		if w, err = peers.New(ctx, peers.Start{Python: r.python, Threads: max(1, arm.Candidates[0].Threads)}); err != nil {
			return err
		}
		for name, v := range w.Hello().Versions {
			r.result.Versions[name] = v
		}
		if err := r.peerArm(ctx, w, arm.For(r.in.model.dir.Dir, r.cache)); err != nil {
			var fault *peers.Fault
			if !errors.As(err, &fault) && !errors.Is(err, errDisagree) {
				return fmt.Errorf("%s: %w", arm.Name, err)
			}
			r.note("%s (%s) was not timed: %v", arm.Name, arm.Input, err)
		}
	}
	return nil
}

func (r *peersRun) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	fmt.Fprintln(r.app.stderr, text)
	r.result.Notes = append(r.result.Notes, text)
}

// peerArm calibrates one peer, checks its ids and vectors, and times the pairs.
func (r *peersRun) peerArm(ctx context.Context, w *peers.Worker, arm peers.Arm) error {
	mine, err := r.in.side(ctx, arm)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.app.stderr, "%s on %s: calibrating %d arrangements\n", arm.Name, arm.Input, len(arm.Candidates))
	if _, err := w.Load(ctx, arm.Candidates[0]); err != nil {
		return err
	}
	input, err := w.Input(ctx, mine.file)
	if err != nil {
		return err
	}
	if arm.Vectors {
		if err := input.Check(); err != nil {
			return err
		}
	}
	best, trials, err := peers.Calibrate(ctx, arm.Candidates, peers.CalibrationRepeats, w.Measure)
	if err != nil {
		return err
	}
	config := arm.Candidates[best]
	if _, err := w.Load(ctx, config); err != nil {
		return err
	}
	check, err := r.agree(ctx, w, arm, config, mine)
	if err != nil {
		return err
	}
	ours, theirs, err := peers.Interleave(ctx, r.pairs,
		func() (float64, error) { return mine.pass(ctx) },
		func() (float64, error) {
			run, err := w.Run(ctx, "")
			return run.WallS, err
		})
	if err != nil {
		return err
	}
	row := bench.ResultRow{
		Name: fmt.Sprintf("%s (%s, %s)", arm.Name, arm.Input, arm.Region), Unit: mine.unit,
		PeerName: describe(arm.Peer, config), Note: check + tried(trials),
	}
	for i := range ours {
		row.Ours = append(row.Ours, mine.amount/ours[i])
		row.Peer = append(row.Peer, mine.amount/theirs[i])
	}
	if arm.Bar > 0 {
		row.Bar = &arm.Bar
	}
	return r.add(row)
}

// agreement is the least cosine between a peer's vector and ours for the two to
// have done the same work.
const agreement = 0.9999

var errDisagree = errors.New("the vectors differ from ours")

// agree compares what both sides computed, before any of it is timed.
func (r *peersRun) agree(ctx context.Context, w *peers.Worker, arm peers.Arm, config peers.Config, mine *ourSide) (string, error) {
	if !arm.Vectors {
		run, err := w.Run(ctx, "")
		if err != nil {
			return "", err
		}
		if run.IDsSHA != mine.idsHash {
			return "", fmt.Errorf("%w: sha256 over all ids %s, ours %s", peers.ErrIDs, run.IDsSHA, mine.idsHash)
		}
		return "ids equal", nil
	}
	run, err := w.Run(ctx, filepath.Join(r.in.dir, "peer.npy"))
	if err != nil {
		return "", err
	}
	theirs, dim, err := peers.ReadMatrix(run.Out)
	if err != nil {
		return "", fmt.Errorf("peer's vectors: %w", err)
	}
	low, mean, err := peers.Cosines(mine.vectors, theirs, dim)
	if err != nil {
		return "", fmt.Errorf("peer's vectors: %w", err)
	}
	if low < agreement {
		return "", fmt.Errorf("%w: %s gives a cosine of %.4f to ours, at least %g expected", errDisagree, describe(arm.Peer, config), low, agreement)
	}
	return fmt.Sprintf("ids equal, cosine of vectors at least %.7f, mean %.7f", low, mean), nil
}

// describe names a peer's arrangement.
func describe(peer string, c peers.Config) string {
	text := fmt.Sprintf("%s, batch %d", peer, c.Batch)
	if c.Workers > 1 {
		text += fmt.Sprintf(", %d one-thread workers", c.Workers)
	}
	for _, key := range []string{"graph", "hint", "streams", "pooling"} {
		if v := c.Options[key]; v != "" {
			text += fmt.Sprintf(", %s %s", key, v)
		}
	}
	return text
}

// tried lists the arrangements that calibration passed over.
func tried(trials []peers.Trial) string {
	if len(trials) < 2 {
		return ""
	}
	var parts []string
	for _, t := range trials {
		if t.Error != "" {
			parts = append(parts, describe(t.Config.Peer, t.Config)+" could not run")
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %.2f s", describe(t.Config.Peer, t.Config), t.Median))
	}
	return "; arrangements tried: " + strings.Join(parts, "; ")
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
