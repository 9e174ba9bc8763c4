package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"encbench/bench"
	"encbench/engine/model"

	"github.com/spf13/pflag"
)

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

func (f *modelShowFlags) run(ctx context.Context, a *app, args []string) error {
	m, err := a.oneModel(ctx, args, f.pooling)
	if err != nil {
		return err
	}
	defer m.close()
	m.print(a)
	return nil
}

// fact is a line of model show.
type fact struct{ name, text string }

func (m *loadedModel) print(a *app) {
	f := m.facts
	rows := []fact{{"model", fmt.Sprintf("%s (%s)", f.Name, f.Source)}}
	if f.Revision != "" {
		rows = append(rows, fact{"revision", f.Revision})
	}
	if m.dir != nil {
		rows = append(rows, modelFacts(m.dir)...)
	} else {
		rows = append(rows, fact{"architecture", f.Architecture},
			fact{"output", fmt.Sprintf("%d values, pooling %s, %s", f.Hidden, m.pooling, normalised(m.normalize))})
	}
	tokenizer := fmt.Sprintf("%s, %s ids", m.tokInfo.Kind, bench.Thousands(int64(m.tok.VocabSize())))
	if m.tokInfo.Lowercase {
		tokenizer += ", lower-cases"
	}
	rows = append(rows, fact{"tokenizer", tokenizer})
	if m.tokInfo.Truncation > 0 || m.tokInfo.Padding != 0 {
		rows = append(rows, fact{"ignored", fmt.Sprintf("tokenizer.json carries truncation to %d and padding; the chunker decides instead", m.tokInfo.Truncation)})
	}
	rows = append(rows,
		fact{"weights", "sha256 " + f.SHA256},
		fact{"config", "sha256 " + orWord(f.ConfigSHA256, "none")},
		fact{"tokenizer file", "sha256 " + f.TokenizerSHA256})
	t := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\n", r.name, r.text)
	}
	t.Flush()
}

// modelFacts are the lines that a directory's description gives.
func modelFacts(d *model.Model) []fact {
	c := d.Config
	var rows []fact
	add := func(name, format string, args ...any) { rows = append(rows, fact{name, fmt.Sprintf(format, args...)}) }
	add("kind", "%s: %s, family %s", d.Kind, orWord(c.Architecture, c.ModelType), c.Family)
	if s, ok := d.SyntheticShape(); ok {
		add("synthetic", "random weights in the shape of %s, seed %d, %s tokenizer: speed only", orWord(s.Shape, "nothing named"), s.Seed, s.Tokenizer)
	}
	enc, pooler := d.Parameters()
	parameters := bench.Thousands(enc)
	if pooler > 0 {
		parameters += fmt.Sprintf(", and %s of a pooler that nothing uses", bench.Thousands(pooler))
	}
	add("parameters", "%s", parameters)
	add("shape", "%d layers, hidden %s, %s, feed-forward %s, vocabulary %s", c.Layers, bench.Thousands(int64(c.Hidden)), headsText(c),
		bench.Thousands(int64(c.FFN)), bench.Thousands(int64(c.Vocab)))
	add("layers", "%s", layersText(d))
	add("attention", "%s", attentionText(d))
	add("positions", "%s", positionsText(d))
	longest := bench.Thousands(int64(d.MaxPositions())) + " tokens"
	if d.MaxSeqLength > 0 || d.TokenizerMaxLength > 0 {
		longest += fmt.Sprintf("; the directory says %s for texts and %s for the tokenizer", orUnsaid(d.MaxSeqLength), orUnsaid(d.TokenizerMaxLength))
	}
	add("longest row", "%s", longest)
	if len(d.Head) > 0 {
		add("head", "%s", headText(d))
	}
	if d.Kind == model.Reranker {
		add("output", "one logit for a pair, from pooling %s", d.Pooling)
	} else {
		add("output", "%s values, pooling %s, %s", bench.Thousands(int64(d.Dim())), d.Pooling, normalised(d.Normalize))
	}
	if d.TruncateDim > 0 {
		add("dimensions", "the directory keeps the first %d of them: --truncate-dim %d", d.TruncateDim, d.TruncateDim)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Prompts)) {
		use := ""
		if _, document := d.DocumentPrompt(); document == name {
			use = ", put before documents"
		}
		add("prompt", "%q, named %s%s", d.Prompts[name], name, use)
	}
	add("stored", "%s", storedText(d))
	add("work", "%s", workText(d))
	return rows
}

func normalised(on bool) string {
	if on {
		return "L2-normalised"
	}
	return "not normalised"
}

func headsText(c model.Config) string {
	s := fmt.Sprintf("%d heads of %d", c.Heads, c.HeadDim)
	if c.KVHeads != c.Heads {
		s = fmt.Sprintf("%d heads of %d for queries, %d for keys and values", c.Heads, c.HeadDim, c.KVHeads)
	}
	return s
}

// activationNames are what people call the activations.
var activationNames = map[model.Activation]string{
	"": "none", model.GELU: "GELU", model.GELUTanh: "GELU (tanh)", model.SiLU: "SiLU", model.ReLU: "ReLU", model.Tanh: "tanh",
}

// layersText says how a block is put together, by the last layer: the first may lack
// a norm.
func layersText(d *model.Model) string {
	l := d.Layers[len(d.Layers)-1]
	norm, where := "LayerNorm", "after"
	if l.OutputNorm.RMS {
		norm = "RMSNorm"
	}
	if l.PreNorm {
		where = "before"
	}
	s := fmt.Sprintf("%s %s the blocks", norm, where)
	if l.Attention.QueryNorm.Weight != "" {
		s += " and of every head's queries and keys"
	}
	s += ", " + activationNames[l.FeedForward.Act]
	if l.FeedForward.Gate.Weight != "" {
		s += " with a gate"
	}
	if l.FeedForward.Down.Bias == "" && l.Attention.Output.Bias == "" {
		s += ", no biases"
	}
	return s
}

// attentionText says which tokens a token attends to.
func attentionText(d *model.Model) string {
	window, local := 0, 0
	for _, l := range d.Layers {
		if w := l.Attention.Window; w > 0 {
			window, local = w, local+1
		}
	}
	switch {
	case d.Layers[0].Attention.Causal:
		return "causal: to the token itself and those before it"
	case local == 0:
		return "to all tokens"
	}
	return fmt.Sprintf("to all tokens in %d of %d layers, in the others to %d on each side", len(d.Layers)-local, len(d.Layers), window)
}

func positionsText(d *model.Model) string {
	var parts []string
	if e := d.Embedding; e.Position.Weight != "" {
		s := "a learned table"
		if e.FirstPosition > 0 {
			s += fmt.Sprintf(", from its row %d on", e.FirstPosition)
		}
		parts = append(parts, s)
	}
	var bases []string
	for _, narrow := range []bool{false, true} {
		for _, l := range d.Layers {
			a := l.Attention
			if a.Rope.Dim == 0 || (a.Window > 0) != narrow {
				continue
			}
			s := bench.Thousands(int64(a.Rope.Theta))
			if narrow {
				s += " in layers with a window"
			}
			bases = append(bases, s)
			break
		}
	}
	if len(bases) > 0 {
		parts = append(parts, "RoPE, base "+strings.Join(bases, ", "))
	}
	if b := d.RelativeBias; b.Table.Weight != "" {
		parts = append(parts, fmt.Sprintf("a bias by distance, %d buckets", b.Table.Rows))
	}
	return strings.Join(parts, "; ")
}

// headText lists what follows the pooling.
func headText(d *model.Model) string {
	var parts []string
	for _, h := range d.Head {
		s := fmt.Sprintf("%d to %d", h.Linear.In, h.Linear.Out)
		if h.Act != "" {
			s += ", " + activationNames[h.Act]
		}
		if h.Norm.Weight != "" {
			s += ", LayerNorm"
		}
		parts = append(parts, s)
	}
	kind := "Dense "
	if d.Kind == model.Reranker {
		kind = "classifier "
	}
	return kind + strings.Join(parts, "; ")
}

// dtypeNames are what people call the element types.
var dtypeNames = map[model.DType]string{model.F32: "float32", model.F16: "float16", model.BF16: "bfloat16", model.I8: "int8"}

// storedText says in which element types the weights that are used lie on disk, most
// bytes first, and how many bytes a CPU converts.
func storedText(d *model.Model) string {
	bytes := map[model.DType]int64{}
	var all int64
	for _, t := range d.Tensors() {
		bytes[t.DType] += t.Bytes
		all += t.Bytes
	}
	types := slices.SortedFunc(maps.Keys(bytes), func(a, b model.DType) int {
		return cmp.Or(cmp.Compare(bytes[b], bytes[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, t := range types {
		parts = append(parts, fmt.Sprintf("%s %s", megabytes(bytes[t]), dtypeNames[t]))
	}
	s := strings.Join(parts, ", ")
	if rest := all - bytes[model.F32] - bytes[model.I8]; rest > 0 {
		s += fmt.Sprintf("; a CPU computes in float32, so %s are converted", megabytes(rest))
	}
	return s
}

func megabytes(n int64) string {
	if n < 10e6 {
		return fmt.Sprintf("%.2f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.0f MB", float64(n)/1e6)
}

// workText gives the work of a token in a short, a common and the longest row.
func workText(d *model.Model) string {
	s := fmt.Sprintf("%.4g MFLOP a token in linear layers", d.LinearFLOPPerToken()/1e6)
	lengths := []int{d.MaxPositions()}
	if d.MaxPositions() > 512 {
		lengths = []int{512, d.MaxPositions()}
	}
	for _, n := range lengths {
		s += fmt.Sprintf(", %.4g in rows of %s", d.RowFLOP(n)/float64(n)/1e6, bench.Thousands(int64(n)))
	}
	return s
}

func orUnsaid(n int) string {
	if n == 0 {
		return "nothing"
	}
	return bench.Thousands(int64(n))
}
