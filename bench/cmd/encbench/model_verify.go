package main

import (
	"context"
	"fmt"

	"encbench/bench"
	"encbench/engine/ort"
	"encbench/engine/quant"

	"github.com/spf13/pflag"
)

var modelVerifyCommand = &command{
	name:  "model verify",
	args:  "[MODEL]",
	short: "run the accuracy gate alone, against the reference encoder or your vectors",
	long: `
Encodes the gate's rows (3, 64, 129 and 512 tokens, alone and in a batch) and
compares them with the plain Go reference encoder. --reference compares with
vectors of another implementation instead: FILE.npy holds float32 rows, and
FILE.ids.json beside it the token ids of each; bench/peers/reference.py writes
both with sentence-transformers.

With --dtype the weights are converted, and the reference is the encoder on the
weights as the directory has them. The same is then measured on real texts: 1,200
documents and 300 queries of techdocs-qa are encoded with both weights, and their
cosines and the ratio of nDCG@10 have limits as well. That takes a minute or more,
once: the outcome is kept for encbench speed. Rerankers and random weights have
the gate alone. "encbench model verify minilm-l6 --dtype int8" is such a call.`,
	examples: []example{
		{"encbench model verify minilm-l6", "does this machine compute what the checkpoint says?"},
	},
	define: func(fs *pflag.FlagSet) runner {
		f := &modelVerifyFlags{}
		poolingFlag(fs, &f.pooling)
		fs.StringVar(&f.dtype, "dtype", dtypeAuto, dtypeHelp)
		fs.StringVar(&f.reference, "reference", "", "`FILE.npy` of another implementation's vectors")
		fs.StringVar(&f.ortLibrary, "ort-library", "", "`FILE`: your own ONNX Runtime shared library instead of the pinned one")
		return f
	},
}

type modelVerifyFlags struct{ reference, ortLibrary, pooling, dtype string }

func (f *modelVerifyFlags) run(ctx context.Context, a *app, args []string) error {
	if err := checkDType(f.dtype); err != nil {
		return &usageError{err}
	}
	m, err := a.oneModel(ctx, args, f.pooling)
	if err != nil {
		return err
	}
	defer m.close()
	if err := m.convert(ctx, a, f.dtype); err != nil {
		return err
	}
	refs, from, err := f.vectors(ctx, a, m)
	if err != nil {
		return err
	}
	rt, err := a.runtime(ctx, f.ortLibrary)
	if err != nil {
		return err
	}
	passed, err := f.gates(ctx, a, m, rt, refs, from)
	if err != nil {
		return err
	}
	if m.losesRetrieval() {
		r, err := a.retrieval(ctx, m, rt, func() (*bench.Retrieval, error) {
			return a.measureRetrieval(ctx, m, rt, retrievalDocs, retrievalQueries)
		})
		if err != nil {
			return err
		}
		printRetrieval(a, m, r)
		passed = passed && r.Fault() == ""
	}
	if !passed {
		return errQuiet
	}
	return nil
}

// gates runs the gate in both layouts: rows of one length together, and padded rows.
func (f *modelVerifyFlags) gates(ctx context.Context, a *app, m *loadedModel, rt *ort.Runtime, refs []bench.Reference, from string) (passed bool, err error) {
	longest := 0
	for _, r := range refs {
		longest = max(longest, len(r.IDs))
	}
	passed = true
	for _, ubatch := range []int{0, 8} {
		g, err := m.build(ubatch > 1, longest)
		if err != nil {
			return false, err
		}
		if ubatch > 1 && !g.Masked() {
			continue
		}
		acc, how, err := gateOnce(ctx, rt, g, ubatch, refs, from, m.limits())
		if err != nil {
			return false, err
		}
		printGate(a, how, acc)
		passed = passed && acc.Passed
	}
	return passed, nil
}

// gateOnce runs the gate on an encoder of its own.
func gateOnce(ctx context.Context, rt *ort.Runtime, g ort.Graph, ubatch int, refs []bench.Reference, from string, limits bench.Limits) (bench.Accuracy, string, error) {
	layout := ort.Plan(1, 8, ubatch)
	enc, err := ort.Open(rt, g, ort.Options{Layout: layout})
	if err != nil {
		return bench.Accuracy{}, "", err
	}
	defer enc.Close()
	acc, _, err := bench.Gate(ctx, enc, refs, from, limits)
	return acc, layout.String(), err
}

// printGate prints the outcome of the gate in one layout.
func printGate(a *app, how string, acc bench.Accuracy) {
	fmt.Fprintf(a.stdout, "%s, against %s\n", how, acc.Reference)
	for _, p := range acc.Probes {
		if acc.Output == bench.OutputLogits {
			fmt.Fprintf(a.stdout, "  %4d tokens  logit off by %.2g alone, %.2g in a batch\n", p.Tokens, p.DiffAlone, p.DiffBatch)
			continue
		}
		fmt.Fprintf(a.stdout, "  %4d tokens  cosine %.8f alone, %.8f in a batch\n", p.Tokens, p.Alone, p.Batch)
	}
	fmt.Fprintf(a.stdout, "  %s\n", acc.Figures())
	if acc.Passed {
		fmt.Fprintf(a.stdout, "  passed (%s)\n", acc.Level)
	} else {
		fmt.Fprintf(a.stdout, "  FAILED: %s\n", acc.Error)
	}
}

// printRetrieval prints what converted weights cost on real texts.
func printRetrieval(a *app, m *loadedModel, r *bench.Retrieval) {
	fmt.Fprintf(a.stdout, "%s weights beside the %s ones of the directory, on %s of %s and %s\n",
		m.facts.Stored, quant.Stored(m.original), count(r.Documents, "document"), r.Collection, count(r.Queries, "query"))
	fmt.Fprintf(a.stdout, "  cosines of %s: least %.6f (limit %g), 1 %% below %.6f, mean %.6f (limit %g)\n",
		count(r.Texts, "text"), r.Min, r.Least, r.P1, r.Mean, r.Average)
	fmt.Fprintf(a.stdout, "  %s %.4f against %.4f: ratio %.4f (limit %g)\n", r.Measure, r.Value, r.Original, r.Ratio, r.RatioLimit)
	if fault := r.Fault(); fault != "" {
		fmt.Fprintf(a.stdout, "  FAILED: %s\n", fault)
	} else {
		fmt.Fprintf(a.stdout, "  passed\n")
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
