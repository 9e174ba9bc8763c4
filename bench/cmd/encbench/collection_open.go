package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"encbench/bench/collection"
	"encbench/corpus"
)

// openCollection opens the labelled collection that --data names: a path, or an
// embedded one, which is built once into the cache.
func (a *app) openCollection(ctx context.Context, name string, opt collection.Options) (*collection.Collection, error) {
	if _, err := os.Lstat(name); !errors.Is(err, os.ErrNotExist) {
		return collection.Open(name, opt)
	}
	labelled := labelledCorpora()
	if !slices.Contains(labelled, name) {
		if slices.Contains(corpus.Names(), name) {
			return nil, usagef("corpus %q has no queries; labelled are: %s", name, strings.Join(labelled, ", "))
		}
		return nil, usagef("unknown collection %q: neither a folder or file nor one of: %s", name, strings.Join(labelled, ", "))
	}
	in, err := embedded[name](ctx, a)
	if err != nil {
		return nil, err
	}
	opt.Name = name
	c, err := collection.Open(in.path, opt)
	if err != nil {
		return nil, err
	}
	e, err := corpus.Describe(name)
	c.Corpus.Rule = e.Rule
	c.Notes = slices.Insert(c.Notes, 0, "rule "+e.Rule+", "+e.Summary)
	return c, err
}

// labelledCorpora lists the embedded corpora that bring queries.
func labelledCorpora() (names []string) {
	for _, name := range corpus.Names() {
		if e, err := corpus.Describe(name); err == nil && e.Queries > 0 {
			names = append(names, name)
		}
	}
	return names
}
