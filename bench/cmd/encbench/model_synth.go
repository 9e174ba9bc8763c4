package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"encbench/bench"
	"encbench/engine/model"
	"encbench/engine/synth"

	"github.com/spf13/pflag"
)

var modelSynthCommand = &command{
	name:  "model synth",
	args:  "[NAME]",
	short: "write a stand-in for a model: its exact shape, random weights",
	long: `
Writes a Hugging Face directory with the exact architecture and parameter count of
a public model and random weights, the same bytes for the same seed on every
machine: for measuring speed where the weights are not at hand. Reports say
"synthetic weights: speed only", and eval refuses such a directory.

BERT shapes come with MiniLM's own vocabulary, which the real models share. For
the others --tokenizer takes the real model's tokenizer.json. Without it a
tokenizer of the same family is trained on techdocs (once; cached afterwards):
chunks/s and tokens/s of such a stand-in hold, docs/s do not and are left out.`,
	examples: []example{
		{"encbench model synth minilm-l6 --out minilm-synth", "MiniLM's shape and vocabulary, 91 MB"},
		{"encbench model synth --list", "the shapes and their sizes"},
	},
	define: func(fs *pflag.FlagSet) runner {
		f := &modelSynthFlags{}
		fs.StringVar(&f.out, "out", "", "`DIR` to write, new or empty; it appears whole or not at all")
		fs.StringVar(&f.tokenizer, "tokenizer", "", "`FILE`: the real model's tokenizer.json")
		fs.Int64Var(&f.seed, "seed", 1, "`N` that the weights are drawn from")
		fs.StringVar(&f.dtype, "dtype", "float32", "`TYPE` of the stored weights: float32, float16 or bfloat16")
		fs.BoolVar(&f.list, "list", false, "print the shapes and write nothing")
		return f
	},
}

type modelSynthFlags struct {
	out, tokenizer, dtype string
	seed                  int64
	list                  bool
}

// synthDTypes are the values of --dtype.
var synthDTypes = map[string]model.DType{"float32": model.F32, "float16": model.F16, "bfloat16": model.BF16}

func (f *modelSynthFlags) run(ctx context.Context, a *app, args []string) error {
	if f.list {
		if err := noArguments(args); err != nil {
			return err
		}
		return listShapes(a.stdout)
	}
	if len(args) != 1 {
		return usagef("model synth takes one name, %d given; --list prints them", len(args))
	}
	shape, err := synth.Find(args[0])
	if err != nil {
		return usagef("%w", err)
	}
	dtype, ok := synthDTypes[f.dtype]
	switch {
	case !ok:
		return usagef("--dtype %q: float32, float16 or bfloat16", f.dtype)
	case f.out == "":
		return usagef("name the directory to write with --out")
	}
	if err := synth.CheckDirectory(f.out); err != nil {
		return usagef("--out: %w", err)
	}
	tok, err := a.synthTokenizer(ctx, shape, f.tokenizer)
	if err != nil {
		return err
	}
	p := a.progress()
	opt := synth.Options{Seed: f.seed, DType: dtype, Tokenizer: tok.copyTo, Kind: tok.kind}
	opt.Progress = func(done, total int64) {
		p.show(float64(done)/float64(total), func() string {
			return fmt.Sprintf("weights, %.0f of %.0f MB", float64(done)/1e6, float64(total)/1e6)
		})
	}
	size, err := synth.WriteDirectory(ctx, f.out, shape, opt)
	p.clear()
	if err != nil {
		return err
	}
	f.print(a, shape, tok, size)
	return nil
}

func (f *modelSynthFlags) print(a *app, s synth.Shape, tok *synthTokenizer, size int64) {
	t := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	encoder, pooler := s.Parameters()
	row("model", "%s, the shape of %s", s.Name, s.Hub)
	if pooler > 0 {
		row("parameters", "%s, and %s of a pooler that embeddings do not use", bench.Thousands(encoder), bench.Thousands(pooler))
	} else {
		row("parameters", "%s", bench.Thousands(encoder))
	}
	row("weights", "%s, drawn from seed %d", f.dtype, f.seed)
	row("tokenizer", "%s: %s, %s ids, from %s", tok.kind, tok.model, bench.Thousands(int64(tok.ids)), tok.from)
	note := "synthetic weights: speed only"
	if tok.kind == model.SyntheticStandIn {
		unused := "every id used"
		if tok.unused > 0 {
			unused = bench.Thousands(int64(tok.unused)) + " ids unused"
		}
		row(tok.learntName(), "%s, %s", bench.Thousands(int64(tok.learnt)), unused)
		row("chars_per_token", "%.3f on techdocs", tok.charsPerToken)
		note += "; chunks/s and tokens/s hold, docs/s do not"
	}
	row("written", "%s, %s bytes", f.out, bench.Thousands(size))
	row("note", "%s", note)
	t.Flush()
}

// listShapes prints the table of --list: text to the left, numbers to the right.
func listShapes(w io.Writer) error {
	rows := [][]string{{"NAME", "KIND", "FAMILY", "POOLING", "LAYERS", "HIDDEN", "HEADS", "FFN", "VOCABULARY", "POSITIONS", "PARAMETERS"}}
	const texts = 4 // columns
	for _, s := range synth.Shapes() {
		encoder, _ := s.Parameters()
		heads := fmt.Sprint(s.Heads)
		if s.KVHeads != s.Heads {
			heads = fmt.Sprintf("%d/%d", s.Heads, s.KVHeads)
		}
		rows = append(rows, []string{
			s.Name, string(s.Kind), string(s.Family), string(s.Pooling),
			fmt.Sprint(s.Layers), fmt.Sprint(s.Hidden), heads, fmt.Sprint(s.FFN),
			bench.Thousands(int64(s.Vocab)), bench.Thousands(int64(s.Positions)), bench.Thousands(encoder),
		})
	}
	width := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			width[i] = max(width[i], len(cell))
		}
	}
	var out strings.Builder
	for _, r := range rows {
		for i, cell := range r {
			if i < texts {
				fmt.Fprintf(&out, "%-*s  ", width[i], cell)
			} else {
				fmt.Fprintf(&out, "%*s  ", width[i], cell)
			}
		}
		out.WriteString("\n")
	}
	text := strings.ReplaceAll(out.String(), "  \n", "\n")
	_, err := fmt.Fprintf(w, "%s\nHEADS of queries/keys where they differ. PARAMETERS leaves out the pooler that BERT\ncheckpoints carry and embeddings do not use.\n", text)
	return err
}
