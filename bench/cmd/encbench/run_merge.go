package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"encbench/bench"
	"encbench/metrics/ranking"
	"encbench/metrics/run"
	"encbench/metrics/trec"

	"github.com/spf13/pflag"
)

var runMergeCommand = &command{
	name:  "run merge",
	args:  "IN IN...",
	short: "merge runs of shards, exactly, or join runs of other queries",
	long: `
Queries that several inputs have are merged: the inputs searched parts of one
corpus, and the merged list is what a search of the whole would have found, by score
descending and then document identifier descending. That is exact up to the depth
that the shards were cut at, which .ebrun files say and text does not: there -k
states it. A document with two different scores for a query is an error. Queries
that one input alone has are copied, cut at the same depth. With --lenient a
damaged input loses rows, and the merge is no longer what a search would have found.

The ending of --out says the format, as in run convert. Inputs are read twice; a
query waits in memory until all inputs that have it have given it.`,
	examples: []example{
		{"encbench run merge --out whole.ebrun shard1.ebrun shard2.ebrun", "two parts of a corpus, searched apart"},
		{"encbench run merge --out both.run run.txt more.txt -k 1000", "text that was cut at 1,000"},
	},
	define: func(fs *pflag.FlagSet) runner {
		f := &runMergeFlags{fs: fs}
		fs.StringVar(&f.out, "out", "", "`FILE` for the merged run")
		fs.IntVarP(&f.k, "depth", "k", 0, "cut merged lists at `K`, and take text inputs to have been cut there; 0 is the least that the inputs say")
		fs.StringVar(&f.tag, "tag", "", "`NAME` of the run; default: the inputs', where they agree")
		f.in.define(fs)
		return f
	},
}

type runMergeFlags struct {
	fs       *pflag.FlagSet
	k        int
	out, tag string
	in       runInputFlags
}

func (f *runMergeFlags) run(ctx context.Context, a *app, args []string) error {
	err := f.merge(ctx, a, args)
	if errors.Is(err, trec.ErrNotGrouped) {
		return fmt.Errorf("%w; `encbench run convert` puts them together", err)
	}
	return err
}

func (f *runMergeFlags) merge(ctx context.Context, a *app, args []string) error {
	if f.out == "" {
		return usagef("--out: name the file to write, as in run merge --out OUT IN IN")
	}
	if len(args) < 2 {
		return usagef("run merge takes two runs or more, %d given", len(args))
	}
	if f.k < 0 {
		return usagef("--depth %d: must not be negative", f.k)
	}
	if slices.Contains(args, "-") {
		return usagef("run merge reads its inputs twice, so standard input cannot be one")
	}
	out, err := checkTarget("--out", f.out, args...)
	if err != nil {
		return err
	}
	var inputs []run.Input
	var headers []run.Header
	for _, path := range args {
		h, err := f.header(a, path)
		if err != nil {
			return err
		}
		headers = append(headers, h)
		inputs = append(inputs, f.input(a, path, h.K))
	}
	m, err := run.PlanMerge(ctx, f.k, inputs)
	if errors.Is(err, run.ErrDepth) {
		return usagef("%w (-k)", err)
	}
	if err != nil {
		return err
	}
	h := commonHeader(headers)
	h.K = m.K()
	if f.fs.Changed("tag") {
		h.Tag = f.tag
	}
	var t runTarget
	if err := t.create(out, targetFormat(out.path), h); err != nil {
		return err
	}
	defer t.discard()
	sum, err := m.Write(&t)
	if err != nil {
		return err
	}
	size, err := t.commit()
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "encbench run merge: %s of %s came from several inputs; %s below the cut, %s repeated; %s at the cut; at most %s waited\n",
		bench.Thousands(sum.Shared), count(sum.Queries, "query"), count(sum.Dropped, "row"), bench.Thousands(sum.Repeated), count(sum.Ties, "tie"), count(sum.Held, "query"))
	_, err = fmt.Fprintln(a.stdout, wrote(out.path, sum.Queries, sum.Rows, size))
	return err
}

// mergedInput says at its end what a lenient reading passed over.
type mergedInput struct {
	*runInput
	a *app
}

func (in mergedInput) Close() error {
	if in.notes(in.a, "run merge") {
		fmt.Fprintf(in.a.stderr, "encbench run merge: %s is not whole: lists that it shares with others lack its rows\n", in.name)
	}
	return in.runInput.Close()
}

// header reads what an input says of itself.
func (f *runMergeFlags) header(a *app, path string) (run.Header, error) {
	in, err := f.in.open(a, path, run.Options{Workers: 1}, false)
	if err != nil {
		return run.Header{}, err
	}
	defer in.Close()
	if in.own != nil {
		return in.own.Header(), nil
	}
	var b ranking.Block
	if err := in.Next(&b); err != nil && !errors.Is(err, io.EOF) {
		return run.Header{}, err
	}
	h := in.header()
	h.K = f.k
	return h, nil
}

func (f *runMergeFlags) input(a *app, path string, k int) run.Input {
	return run.Input{Name: path, K: k, Open: func(queriesOnly bool) (ranking.Source, io.Closer, error) {
		in, err := f.in.open(a, path, run.Options{QueriesOnly: queriesOnly}, false)
		if err != nil {
			return nil, nil, err
		}
		if queriesOnly {
			return in.Source, in, nil
		}
		return in.Source, mergedInput{in, a}, nil
	}}
}

// commonHeader keeps what all headers agree on, but for their K.
func commonHeader(headers []run.Header) run.Header {
	h := headers[0]
	for _, other := range headers[1:] {
		for _, field := range []struct {
			mine  *string
			other string
		}{
			{&h.Tag, other.Tag}, {&h.Protocol, other.Protocol}, {&h.Model, other.Model}, {&h.ModelSHA256, other.ModelSHA256},
			{&h.Corpus, other.Corpus}, {&h.CorpusSHA256, other.CorpusSHA256},
		} {
			if *field.mine != field.other {
				*field.mine = ""
			}
		}
		if string(h.Extra) != string(other.Extra) {
			h.Extra = nil
		}
		for _, n := range other.Notes {
			if !slices.Contains(h.Notes, n) {
				h.Notes = append(h.Notes, n)
			}
		}
	}
	h.Order = run.OrderTREC
	return h
}
