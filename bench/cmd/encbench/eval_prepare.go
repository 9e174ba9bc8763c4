package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"encbench/bench"
	"encbench/bench/eval"
	"encbench/bench/inhouse"
	"encbench/corpus"
	"encbench/engine"
	"encbench/engine/binary"
	"encbench/engine/cpu"
	"encbench/engine/feed"
	"encbench/engine/gpu"
	"encbench/engine/ort"
)

// embeddedCollection is the labelled collection that needs no download beyond the
// assets.
const embeddedCollection = corpus.TechdocsQA

// openCollections opens what --data names. What is wrong with the command line ends
// it; a collection that cannot be read does so when it is the only one, and
// otherwise travels on with its error.
func (e *evalRun) openCollections(ctx context.Context) error {
	for _, name := range e.data {
		e.bar.show(0, func() string { return "reading collection " + name })
		in, d, err := e.openData(ctx, name)
		var usage *usageError
		if err != nil && (len(e.data) == 1 || errors.As(err, &usage) || ctx.Err() != nil) {
			return err
		}
		if err != nil {
			in, d = eval.Input{Name: filepath.Base(name), Err: err}, nil
		}
		if d != nil && e.failures != "" {
			d.failures = inhouse.NewFailures(in.Collection, failureCut)
		}
		e.inputs, e.datasets = append(e.inputs, in), append(e.datasets, d)
	}
	e.bar.clear()
	return nil
}

// openModel loads the model, resolves its length and its prompts.
func (e *evalRun) openModel(ctx context.Context) (err error) {
	opt := modelOptions{name: e.evalFlags.model, pooling: e.pooling, dtype: weightsOf(e.dtype)}
	if e.fs.Changed("doc-prompt") {
		opt.prompt = &e.docPrompt
	}
	if e.model, err = e.app.openModel(ctx, opt); err != nil {
		return err
	}
	if e.model.facts.Synthetic {
		return usagef("model %s has random weights: its vectors mean nothing, so there is no quality to measure; use encbench speed, or trained weights", e.model.facts.Name)
	}
	if err := e.prompts(); err != nil {
		return err
	}
	if dir := e.model.dir; dir != nil && dir.TruncateDim > 0 && e.dim == 0 {
		e.warn("truncate-dim-unused", fmt.Sprintf("--truncate-dim %d", dir.TruncateDim), "the model's directory keeps the first %d values of a vector, all %d are used", dir.TruncateDim, dir.Dim())
	}
	return e.lengths()
}

// prompts resolves the prompts of queries and documents, and warns of those that
// the model declares in vain.
func (e *evalRun) prompts() error {
	var declared map[string]string
	e.document = eval.Prompt{Text: e.model.prompt}
	if dir := e.model.dir; dir != nil {
		declared = dir.Prompts
		if !e.fs.Changed("doc-prompt") {
			_, e.document.Name = dir.DocumentPrompt()
		}
		e.query = eval.Prompt{Name: dir.DefaultPrompt, Text: declared[dir.DefaultPrompt]}
	}
	name := e.promptName
	if _, ok := declared["query"]; ok && name == "" {
		name = "query"
	}
	if name != "" {
		text, ok := declared[name]
		if !ok {
			known := "it declares none"
			if len(declared) > 0 {
				known = "it declares " + strings.Join(slices.Sorted(maps.Keys(declared)), ", ")
			}
			return usagef("--prompt-name %q: model %s has no prompt of that name; %s", name, e.model.facts.Name, known)
		}
		e.query = eval.Prompt{Name: name, Text: text}
	}
	if e.fs.Changed("query-prompt") {
		e.query = eval.Prompt{Text: e.queryPrompt}
	}
	for _, p := range []eval.Prompt{e.document, e.query} {
		if err := e.model.checkPrompt(p.Text); err != nil {
			return err
		}
	}
	var unused []string
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		if text := declared[name]; text != "" && text != e.query.Text && text != e.document.Text {
			unused = append(unused, fmt.Sprintf("%s (%q)", name, text))
		}
	}
	if len(unused) > 0 {
		e.warn("prompts-unused", "--prompt-name, --query-prompt, --doc-prompt", "the model declares prompts that are not used here: %s", strings.Join(unused, ", "))
	}
	return nil
}

// lengths resolves how long texts may be.
func (e *evalRun) lengths() error {
	m := e.model
	most := m.maxPositions()
	own := 0
	if m.dir != nil {
		own = most
		for _, n := range []int{m.dir.TokenizerMaxLength, m.dir.MaxSeqLength} {
			if n > 0 && n <= most {
				own = n
			}
		}
	}
	e.tokens, e.queryTokens = e.maxTokens, e.maxTokens
	switch {
	case e.maxTokens == 0 && own == 0:
		return usagef("graph %s does not say how long a text may be; give --max-tokens", m.graph)
	case e.maxTokens == 0:
		e.tokens, e.queryTokens = own, own
	}
	if e.chunk > 0 {
		e.tokens = e.chunk
	}
	for _, n := range []struct {
		flag  string
		value int
	}{{"max-tokens", e.queryTokens}, {"chunk", e.tokens}} {
		if n.value > most {
			return usagef("--%s %d is longer than the %d positions of model %s; use %d or less", n.flag, n.value, most, m.facts.Name, most)
		}
	}
	if n := m.tokInfo.Truncation; n > 0 {
		e.warn("tokenizer-truncation", "", "tokenizer.json carries a truncation to %d tokens, which is ignored", n)
	}
	if own > 0 && max(e.tokens, e.queryTokens) > own {
		e.warn("longer-than-card", fmt.Sprintf("--max-tokens %d", own), "the model's directory declares at most %d tokens a text, rows have up to %d", own, max(e.tokens, e.queryTokens))
	}
	return nil
}

// openEncoder creates the session and gates it: wrong vectors have no values.
func (e *evalRun) openEncoder(ctx context.Context) (err error) {
	if e.place, err = e.app.encodePlace(e.device, e.ortLibrary); err != nil {
		return err
	}
	if len(e.place.cuda) > 0 {
		return e.openDevices(ctx)
	}
	if err := checkProcessor(e.dtype); err != nil {
		return err
	}
	if e.rt, err = e.app.runtime(ctx, e.ortLibrary); err != nil {
		return err
	}
	sha, err := fileSHA256(e.rt.Path)
	if err != nil {
		return err
	}
	longest := max(e.tokens, e.queryTokens)
	layout := ort.Plan(e.threads, e.batch, 0).For(longest)
	if err := e.admit(ctx, layout, longest); err != nil {
		return err
	}
	g, err := e.model.build(false, longest)
	if err != nil {
		return err
	}
	if e.encoder, err = ort.Open(e.rt, g, ort.Options{Layout: layout}); err != nil {
		return err
	}
	e.base.Engine = bench.Engine{
		Backend: "onnxruntime", Version: e.rt.Version, Library: filepath.Base(e.rt.Path), LibrarySHA256: sha,
		Device: "cpu", DeviceNote: e.place.note, Threads: e.threads, Workers: layout.Workers, Intra: layout.Intra,
		UBatch: "auto", HowRun: layout.String(), Optimization: "all", ActivationBits: e.model.activationBits(),
		Slots: e.encoder.Slots(), Feeders: e.threads,
	}
	acc, _, err := e.app.gate(ctx, e.model, e.encoder, longest)
	if err != nil {
		return err
	}
	return e.passed(acc)
}

// openDevices is openEncoder on devices.
func (e *evalRun) openDevices(ctx context.Context) error {
	d := deviceRun{model: e.model, place: e.place, limit: feed.Limit{Rows: e.batch}, longest: max(e.tokens, e.queryTokens), smaller: "--batch-size"}
	o, err := e.app.encodeOn(ctx, d, e.dtype, e.ortLibrary, e.threads, func() error {
		return e.admit(ctx, ort.Plan(e.threads, e.batch, 0), d.longest)
	})
	if err != nil {
		return err
	}
	e.encoder, e.rt, e.base.Engine, e.model.facts.Computed = o.deviceEncoder, o.rt, o.engine, o.engine.Engaged
	e.base.Warnings = append(e.base.Warnings, o.warnings...)
	return e.passed(o.accuracy)
}

// passed takes the outcome of the gate: what fails it has no values.
func (e *evalRun) passed(acc bench.Accuracy) error {
	e.base.Accuracy = acc
	if !acc.Passed {
		return fmt.Errorf("accuracy gate failed, so there are no values: %s\nCompared with %s. Check the model with `encbench model verify`", acc.Error, acc.Reference)
	}
	return nil
}

// admit predicts the memory of the evaluation, which must fit: the encoder and the
// vectors of the largest collection.
func (e *evalRun) admit(ctx context.Context, layout ort.Layout, longest int) (err error) {
	p := &memoryPlan{encoders: []plannedEncoder{{model: e.model, layout: layout, longest: longest, limit: feed.Limit{Rows: e.batch}, feeders: e.threads, devices: len(e.place.cuda)}}}
	p.advice.runs = "a smaller --max-tokens or --chunk, or fewer --threads"
	p.advice.batches = "a smaller --batch-size"
	p.advice.vectors = "a smaller --docs, or fewer --store"
	if e.model.dir != nil {
		dim := int64(e.model.dir.Dim())
		each := int64(0)
		for _, store := range append([]string{string(eval.StoreFloat32)}, e.stores...) {
			// Beside the vectors a searcher keeps codes of them.
			each += storeBytes(eval.Store(store), dim) + 2*dim
		}
		for _, in := range e.inputs {
			if in.Collection != nil {
				p.vectors = max(p.vectors, int64(in.Collection.Documents)*each+int64(len(in.Collection.Queries))*4*dim)
			}
		}
	}
	e.base.Memory, err = e.app.admit(ctx, p)
	return err
}

// deviceStores are those that devices keep.
var deviceStores = map[eval.Store]engine.Store{
	eval.StoreFloat32: engine.StoreF32, eval.StoreFloat16: engine.StoreF16, eval.StoreBFloat16: engine.StoreBF16,
}

// storeBytes is what a vector of dim values takes.
func storeBytes(store eval.Store, dim int64) int64 {
	switch store {
	case eval.StoreFloat16, eval.StoreBFloat16:
		return 2 * dim
	case eval.StoreInt8, eval.StoreBinary:
		return dim + 4
	}
	return 4 * dim
}

func (e *evalRun) warn(code, advice, format string, args ...any) {
	e.base.Warnings = append(e.base.Warnings, bench.Warning{Code: code, Text: fmt.Sprintf(format, args...), Advice: advice})
}

// searcher opens a store where the model runs, int8 and binary ones on the processor, and
// says what a vector takes in it. Results are the same wherever it is.
func (e *evalRun) searcher(dim int, store eval.Store) (engine.Searcher, int, error) {
	if kept, ok := deviceStores[store]; ok && len(e.place.cuda) > 0 {
		s, err := newDeviceSearch(e.place, gpu.Options{Dim: dim, Store: kept, K: e.k}, func(text string) { e.warn("device-memory", "", "%s", text) })
		return s, int(storeBytes(store, int64(dim))), err
	}
	if store == eval.StoreBinary {
		s, err := binary.New(binary.Options{Dim: dim, Rescore: e.rescore, Threads: e.threads})
		if err != nil {
			return nil, 0, err
		}
		return s, s.RowBytes(), nil
	}
	opt := cpu.Options{Dim: dim, Threads: e.threads}
	bytes := 0
	switch store {
	case eval.StoreFloat32:
		opt.Store, bytes = cpu.StoreF32, 4*dim
	case eval.StoreFloat16:
		opt.Store, bytes = cpu.StoreF16, 2*dim
	case eval.StoreBFloat16:
		opt.Store, bytes = cpu.StoreBF16, 2*dim
	case eval.StoreInt8:
		opt.Store, bytes = cpu.StoreInt8, dim+4 // a scale each
	default:
		return nil, 0, fmt.Errorf("unknown store %q", store)
	}
	s, err := cpu.NewSearcher(opt)
	return s, bytes, err
}
