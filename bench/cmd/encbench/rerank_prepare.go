package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"encbench/bench"
	"encbench/bench/eval"
	"encbench/bench/rerank"
	"encbench/engine/feed"
	"encbench/engine/model"
	"encbench/engine/ort"
	"encbench/metrics/run"
	"encbench/metrics/trec"
)

// openModel loads the cross-encoder and resolves how long a pair may be.
func (e *rerankRun) openModel(ctx context.Context) (err error) {
	mark := time.Now()
	if e.model, err = e.app.openModel(ctx, modelOptions{name: e.rerankFlags.model, kind: model.Reranker, dtype: weightsOf(e.dtype)}); err != nil {
		return err
	}
	m := e.model
	if m.dir == nil {
		return usagef("model %s: %w", m.facts.Name, errNoDirectory)
	}
	e.base.Cold.ModelLoad = time.Since(mark).Seconds()
	e.base.Model = m.facts
	if m.facts.Synthetic && e.runOut != "" {
		return usagef("--run-out: model %s has synthetic weights, whose order means nothing; leave it out, speed is all there is", m.facts.Name)
	}
	most, own := m.maxPositions(), ownLength(m)
	e.tokens = own
	if e.maxTokens > 0 {
		e.tokens = e.maxTokens
	}
	if e.tokens > most {
		return usagef("--max-tokens %d is longer than the %d positions of model %s; use %d or less", e.tokens, most, m.facts.Name, most)
	}
	if e.tokens > own {
		e.warn("longer-than-card", fmt.Sprintf("--max-tokens %d", own), "the model's directory declares at most %d tokens, pairs have up to %d", own, e.tokens)
	}
	if n := m.tokInfo.Truncation; n > 0 {
		e.warn("tokenizer-truncation", "", "tokenizer.json carries a truncation to %d tokens, which is ignored", n)
	}
	// Said here, where nothing has been read yet, and by the setup.
	cut := rerank.Cut{Template: m.tok.Template(), MaxTokens: e.tokens, QueryTokens: e.queryTokens, Types: m.dir.Types()}
	if err := cut.Validate(); err != nil {
		return &usageError{err}
	}
	return nil
}

// ownLength is the longest row that a model's directory declares, at most what its
// positions allow.
func ownLength(m *loadedModel) int {
	own := m.maxPositions()
	for _, n := range []int{m.dir.TokenizerMaxLength, m.dir.MaxSeqLength} {
		if n > 0 && n <= m.maxPositions() {
			own = n
		}
	}
	return own
}

// openInputs opens every collection and reads the run over it.
func (e *rerankRun) openInputs(ctx context.Context) error {
	// A collection is opened, and its held-out part kept back, as encbench eval does it.
	opener := &evalRun{app: e.app, evalFlags: &evalFlags{split: e.split, form: e.form, variant: e.variant, queries: e.queries, seed: e.seed}}
	for i, name := range e.data {
		e.bar.show(0, func() string { return "reading collection " + name })
		in, d, err := opener.openData(ctx, name)
		if err != nil {
			return err
		}
		lists := rerank.NewLists(in.Collection.Queries, e.dropSelf)
		path := e.runs[i]
		e.bar.show(0, func() string { return "reading run " + path })
		info, err := e.app.rankedFile(ctx, path, trec.Options{Format: e.runFormat}, lists.Add)
		if err != nil && strings.HasSuffix(err.Error(), trec.NameFormat) {
			err = fmt.Errorf("%w with --run-format", err)
		}
		if err != nil {
			return err
		}
		input := rerank.Input{
			Collection: in.Collection, Part: in.Part, Digest: in.Digest, Lists: lists,
			First: rerank.FirstStage{File: path, SHA256: info.sha256, Tag: info.header.Tag, Model: info.header.Model, Depth: info.header.K},
		}
		if err := input.Check(); err != nil {
			return fmt.Errorf("collection %s: %w", in.Collection.Name, err)
		}
		e.datasets, e.inputs = append(e.datasets, d), append(e.inputs, input)
	}
	e.bar.clear()
	return nil
}

// checkTargets looks at the places of all new runs before the work: each has to be
// writable, another than the rest, and no input. Text has to be able to carry the
// identifiers.
func (e *rerankRun) checkTargets() error {
	if e.runOut == "" {
		return nil
	}
	taken := map[string]string{}
	for _, in := range e.inputs {
		c := in.Collection
		path := runName(e.runOut, c.Name, len(e.inputs) > 1)
		if other, ok := taken[path]; ok {
			return usagef("--run-out: the rankings of both %s and %s would go to %s; rerank them one after the other", other, c.Name, path)
		}
		taken[path] = c.Name
		out, err := checkTarget("--run-out", path, append(e.runs, e.data...)...)
		if err != nil {
			return err
		}
		if e.out.path != "" && samePlace(out.path, e.out.path) {
			return usagef("--run-out and --out both name %s; give the record a name of its own", path)
		}
		if targetFormat(path) != "trec" {
			continue
		}
		if err := in.Lists.Each(func(q int, doc []byte) error {
			if id := c.Queries[q].ID; !trec.Writable([]byte(id)) {
				return fmt.Errorf("query id %q of %s is empty or holds white space", id, in.First.File)
			}
			if !trec.Writable(doc) {
				return fmt.Errorf("document id %q of %s is empty or holds white space", doc, in.First.File)
			}
			return nil
		}); err != nil {
			return fmt.Errorf("--run-out %s: %w; name the file .ebrun, which carries any id", path, err)
		}
	}
	return nil
}

// openEncoder creates the session and gates it: wrong logits have neither values nor a
// rate.
func (e *rerankRun) openEncoder(ctx context.Context) error {
	var err error
	if e.place, err = e.app.encodePlace(e.device, e.ortLibrary); err != nil {
		return err
	}
	if len(e.place.cuda) > 0 {
		return e.openDevices(ctx)
	}
	if err := checkProcessor(e.dtype); err != nil {
		return err
	}
	rt, err := e.app.runtime(ctx, e.ortLibrary)
	if err != nil {
		return err
	}
	sha, err := fileSHA256(rt.Path)
	if err != nil {
		return err
	}
	layout := ort.Plan(e.threads, e.batch, 0).For(e.tokens)
	if err := e.admit(ctx, layout); err != nil {
		return err
	}
	mark := time.Now()
	g, err := e.model.build(false, e.tokens)
	if err != nil {
		return err
	}
	cold := &e.base.Cold
	cold.Import = time.Since(mark).Seconds()
	enc, err := ort.Open(rt, g, ort.Options{Layout: layout})
	if err != nil {
		return err
	}
	e.encoder, cold.SessionCreate = enc, enc.CreateTime().Seconds()
	e.base.Engine = bench.Engine{
		Backend: "onnxruntime", Version: rt.Version, Library: filepath.Base(rt.Path), LibrarySHA256: sha,
		Device: "cpu", DeviceNote: e.place.note, Threads: e.threads, Workers: layout.Workers, Intra: layout.Intra,
		UBatch: "auto", HowRun: layout.String(), Optimization: "all", ActivationBits: e.model.activationBits(),
		Slots: enc.Slots(), Feeders: e.threads,
	}
	acc, first, err := e.app.gate(ctx, e.model, enc, e.tokens)
	if err != nil {
		return err
	}
	return e.passed(acc, first)
}

// admit predicts the memory, which must fit.
func (e *rerankRun) admit(ctx context.Context, layout ort.Layout) (err error) {
	p := &memoryPlan{encoders: []plannedEncoder{{model: e.model, layout: layout, longest: e.tokens, limit: feed.Limit{Rows: e.batch}, feeders: e.threads, devices: len(e.place.cuda)}}}
	p.advice.runs = "a smaller --max-tokens, or fewer --threads"
	p.advice.batches = "a smaller --batch-size"
	e.base.Memory, err = e.app.admit(ctx, p)
	return err
}

// openDevices is openEncoder on devices.
func (e *rerankRun) openDevices(ctx context.Context) error {
	d := deviceRun{model: e.model, place: e.place, limit: feed.Limit{Rows: e.batch}, longest: e.tokens, smaller: "--batch-size"}
	o, err := e.app.encodeOn(ctx, d, e.dtype, e.ortLibrary, e.threads, func() error {
		return e.admit(ctx, ort.Plan(e.threads, e.batch, 0))
	})
	if err != nil {
		return err
	}
	e.encoder, e.base.Engine, e.base.Model.Computed = o.deviceEncoder, o.engine, o.engine.Engaged
	e.base.Cold.Import, e.base.Cold.SessionCreate = o.graph.Seconds(), o.create.Seconds()
	e.base.Warnings = append(e.base.Warnings, o.warnings...)
	return e.passed(o.accuracy, o.first)
}

// passed takes the outcome of the gate: what fails it has neither values nor a rate.
func (e *rerankRun) passed(acc bench.Accuracy, first time.Duration) error {
	cold := &e.base.Cold
	cold.FirstRun = first.Seconds()
	cold.Total = cold.ModelLoad + cold.Import + cold.SessionCreate + cold.FirstRun
	e.base.Accuracy = acc
	if !acc.Passed {
		return fmt.Errorf("accuracy gate failed, so there are neither values nor a rate: %s\nCompared with %s. Check the model with `encbench model verify`", acc.Error, acc.Reference)
	}
	return nil
}

// openRun gives what takes the new rankings of a collection, or nothing.
func (e *rerankRun) openRun(number int, c *rerank.Collection) (eval.RunWriter, error) {
	if e.runOut == "" {
		return nil, nil
	}
	path := runName(e.runOut, c.Name, len(e.inputs) > 1)
	out, err := checkTarget("--run-out", path, append(e.runs, e.data...)...)
	if err != nil {
		return nil, err
	}
	s := e.setup()
	p := s.Protocol()
	extra, err := json.Marshal(struct {
		Protocol rerank.Protocol   `json:"protocol"`
		First    rerank.FirstStage `json:"first_stage"`
	}{p, c.First})
	if err != nil {
		return nil, err
	}
	t := &rerankTarget{number: number}
	if err := t.create(out, targetFormat(path), run.Header{
		K: c.First.Depth, Tag: e.model.label(), Protocol: p.SHA256(), Model: e.model.label(), ModelSHA256: e.model.facts.SHA256,
		Corpus: c.Name, CorpusSHA256: c.SHA256, Extra: extra,
		Notes: append([]string{"reranked from " + c.First.File + ", tag " + c.First.Tag, p.Order}, c.Notes...),
	}); err != nil {
		return nil, err
	}
	e.targets = append(e.targets, t)
	c.Run = path
	return t, nil
}

// rerankTarget is a run on its way to a file, which takes its name only once the
// collection is done.
type rerankTarget struct {
	runTarget
	number int // of the input
}

// Close leaves the end to settle: the file is not complete before the record says so.
func (t *rerankTarget) Close() error { return nil }

// settle gives the runs of the collections that are done their names and removes the
// others.
func (e *rerankRun) settle(r *rerank.Record) error {
	var errs []error
	for _, t := range e.targets {
		if r == nil || t.number >= len(r.Collections) {
			t.discard()
			continue
		}
		_, err := t.commit()
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (e *rerankRun) warn(code, advice, format string, args ...any) {
	e.base.Warnings = append(e.base.Warnings, bench.Warning{Code: code, Text: fmt.Sprintf(format, args...), Advice: advice})
}
