package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"encbench/corpus"
	"encbench/corpus/tokenize"
)

// input is a corpus that can be opened, as often as needed unless it is once.
type input struct {
	name string
	rule string // construction rule of an embedded corpus, else the format
	path string
	opt  corpus.Options
	once io.Reader // standard input, read as it comes; nil for a file

	queries    int64  // judged ones that an embedded collection brings
	repetition string // stated repetition of a regrouped corpus
}

func (in *input) open() (corpus.Source, error) {
	if in.once != nil {
		return corpus.OpenReader(in.once, in.name, in.opt)
	}
	return corpus.OpenCorpus(in.path, in.opt)
}

// openInput finds what --corpus names. An embedded corpus is built once into the
// cache. Standard input is kept in a temporary file, so that it can be scanned
// first and timed afterwards; the caller calls done at the end.
func (a *app) openInput(ctx context.Context, name string, opt corpus.Options, stream bool) (in *input, done func(), err error) {
	done = func() {}
	if name == "-" {
		in = &input{name: "standard input", path: "-", opt: opt, once: a.stdin}
		if stream {
			return in, done, nil
		}
		in.once = nil
		in.path, done, err = a.spool()
		return in, done, err
	}
	if _, err := os.Lstat(name); err == nil {
		return &input{name: name, path: name, opt: opt}, done, nil
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, done, fmt.Errorf("open corpus: %w", err)
	}
	e, ok := embedded[name]
	if !ok {
		return nil, done, usagef("%w %q: neither a file nor one of: %s", corpus.ErrUnknownCorpus, name, strings.Join(corpus.Names(), ", "))
	}
	in, err = e(ctx, a)
	if in != nil {
		in.name = name
	}
	return in, done, err
}

// spool copies standard input to a temporary file.
func (a *app) spool() (path string, done func(), err error) {
	f, err := os.CreateTemp("", "encbench-stdin-*")
	if err != nil {
		return "", func() {}, fmt.Errorf("keep standard input: %w", err)
	}
	// Without a name nothing is left of it, whatever happens.
	err = os.Remove(f.Name())
	if err == nil {
		_, err = io.Copy(f, a.stdin)
	}
	if err != nil {
		return "", func() {}, errors.Join(fmt.Errorf("keep standard input: %w", err), f.Close())
	}
	return reopen(f), func() { f.Close() }, nil
}

// embedded says how each embedded corpus is built.
var embedded = map[string]func(context.Context, *app) (*input, error){
	"techdocs":     buildTechdocs,
	"techdocs-law": buildTechdocsLaw,
	"gostd":        buildGostd,
	"techdocs-qa":  buildTechdocsQA,
}

// derive gives the cached JSONL of an embedded corpus, building it when absent.
func (a *app) derive(ctx context.Context, rule string, build func(io.Writer) error) (*input, error) {
	s, err := a.store()
	if err != nil {
		return nil, err
	}
	path, err := s.Derived(ctx, rule+".jsonl", func(w io.Writer) error {
		fmt.Fprintf(a.stderr, "building corpus %s (once; cached afterwards)\n", rule)
		return build(w)
	})
	if err != nil {
		return nil, fmt.Errorf("build corpus %s: %w", rule, err)
	}
	return &input{rule: rule, path: path, opt: corpus.Options{Format: "jsonl"}}, nil
}

func buildTechdocs(ctx context.Context, a *app) (*input, error) {
	wheel, err := a.asset(ctx, "techdocs")
	if err != nil {
		return nil, err
	}
	return a.derive(ctx, corpus.TechdocsRule, func(w io.Writer) error {
		_, err := corpus.BuildTechdocs(wheel.Path, w)
		return err
	})
}

func buildTechdocsQA(ctx context.Context, a *app) (*input, error) {
	wheel, err := a.asset(ctx, "techdocs")
	if err != nil {
		return nil, err
	}
	in, err := a.derive(ctx, corpus.TechdocsQARule, func(w io.Writer) error {
		_, err := corpus.BuildTechdocsQA(wheel.Path, w)
		return err
	})
	if err != nil {
		return nil, err
	}
	e, err := corpus.Describe(corpus.TechdocsQA)
	in.queries = e.Queries
	return in, err
}

// buildTechdocsLaw measures lengths in the tokens of the pinned BERT tokenizer,
// whatever model is under test: the corpus must be the same bytes for all.
func buildTechdocsLaw(ctx context.Context, a *app) (*input, error) {
	wheel, err := a.asset(ctx, "techdocs")
	if err != nil {
		return nil, err
	}
	in, err := a.derive(ctx, corpus.TechdocsLawRule, func(w io.Writer) error {
		bert, err := a.asset(ctx, pinnedModels[defaultModel])
		if err != nil {
			return err
		}
		tok, _, err := tokenize.LoadFile(bert.Path + "/tokenizer.json")
		if err != nil {
			return err
		}
		var ids []int32
		_, err = corpus.BuildTechdocsLaw(wheel.Path, w, func(text []byte) int {
			ids = tok.AppendIDs(ids[:0], text)
			return len(ids)
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	e, err := corpus.Describe(corpus.TechdocsLaw)
	in.repetition = e.Repetition
	return in, err
}

func buildGostd(ctx context.Context, a *app) (*input, error) {
	root, version, err := corpus.GoRoot()
	if err != nil {
		return nil, err
	}
	return a.derive(ctx, corpus.GostdRule+"-"+version, func(w io.Writer) error {
		_, err := corpus.BuildGostd(root, w)
		return err
	})
}
