package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"encbench/bench"
	"encbench/bench/collection"
	"encbench/bench/inhouse"

	"github.com/spf13/pflag"
)

var labelsSplitCommand = &command{
	name:  "labels split",
	args:  "DIR",
	short: "divide a collection's queries into a part for tuning and a held-out part",
	long: `
Divides the labelled queries by a hash of the salt and the query's group, or its id
where it has none, and records the rule in heldout.json beside the collection. Adding
queries moves none. --share, --salt or --by make a split where none is recorded;
without them the recorded one is shown. A new one begins when the file is removed.
eval then leaves the held-out part out unless --split asks for it, and counts every
look there. No figure is shown here. The embedded collections lie in the cache that
all projects share; a copy of their file can be split.`,
	examples: []example{
		{"encbench labels split mydata --share 0.5", "half to tune on, half to report"},
		{"encbench labels split mydata", "the recorded split and its looks"},
	},
	define: func(fs *pflag.FlagSet) runner {
		f := &labelsSplit{fs: fs}
		fs.StringVar(&f.plan.Salt, "salt", "", fmt.Sprintf("make a split with the `TEXT` in its hash (default %q)", inhouse.DefaultPlan.Salt))
		fs.Float64Var(&f.plan.Share, "share", 0, fmt.Sprintf("make a split that holds out the `SHARE` of the queries (default %g)", inhouse.DefaultPlan.Share))
		fs.StringVar(&f.plan.By, "by", "", "make a split of each value of the `FIELD` of queries.jsonl for itself, such as metadata.team")
		return f
	},
}

type labelsSplit struct {
	fs   *pflag.FlagSet
	plan inhouse.Plan
}

func (f *labelsSplit) run(ctx context.Context, a *app, args []string) error {
	if len(args) != 1 {
		return usagef("labels split takes one collection, %d given", len(args))
	}
	fresh, err := f.check()
	if err != nil {
		return err
	}
	if err := a.ownPlace(args[0]); err != nil {
		return err
	}
	c, err := a.openCollection(ctx, args[0], collection.Options{})
	if err != nil {
		return err
	}
	strata := func(field string) ([]string, error) { return strataOf(c.Path, c, field) }
	var s *inhouse.Split
	if fresh {
		s, err = inhouse.RecordSplit(ctx, c.Path, f.plan, c.Queries, strata)
	} else {
		s, err = inhouse.OpenSplit(ctx, c.Path, c.Queries, strata)
	}
	if errors.Is(err, inhouse.ErrPlan) {
		return &usageError{err}
	}
	if err != nil {
		return err
	}
	return printSplit(a, c, s)
}

// check says whether the flags ask for a split, and refuses what would pass for
// their default.
func (f *labelsSplit) check() (fresh bool, err error) {
	given := f.fs.Changed
	switch {
	case given("share") && f.plan.Share == 0:
		return false, usagef("--share 0: expected more than 0 and less than 1")
	case given("salt") && f.plan.Salt == "":
		return false, usagef("--salt: no text given")
	case given("by") && f.plan.By == "":
		return false, usagef("--by: name a field of queries.jsonl, such as metadata.team")
	}
	return given("share") || given("salt") || given("by"), nil
}

// ownPlace refuses a collection in the cache, where a split and the looks at it
// would be those of every project on the machine.
func (a *app) ownPlace(name string) error {
	if _, err := os.Lstat(name); errors.Is(err, os.ErrNotExist) {
		if slices.Contains(labelledCorpora(), name) {
			return usagef("%s lies in the cache, which all projects on this machine share, and so would its split; copy the file that `encbench corpus show %s` names, and split the copy", name, name)
		}
		return nil // opening says that there is no such collection
	}
	// Without a usable cache there is nothing in it.
	if s, err := a.store(); err == nil && inside(name, s.Dir()) {
		return usagef("%s lies in the cache, which all projects on this machine share, and so would its split; split a copy of it", name)
	}
	return nil
}

// inside says whether path lies below dir, links followed.
func inside(path, dir string) bool {
	for _, p := range []*string{&path, &dir} {
		if real, err := filepath.EvalSymlinks(*p); err == nil {
			*p = real
		}
		if abs, err := filepath.Abs(*p); err == nil {
			*p = abs
		}
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// printSplit shows a split and its looks, and no figure.
func printSplit(a *app, c *collection.Collection, s *inhouse.Split) error {
	ledger := inhouse.LedgerPath(c.Path)
	l, err := inhouse.ReadLedger(ledger)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "collection\t%s\n", c.Name)
	fmt.Fprintf(t, "rule\tsalt %q, share %g\n", s.Salt, s.Share)
	fmt.Fprintf(t, "dev\t%s\n", queriesOf(s.Dev))
	fmt.Fprintf(t, "held out\t%s\n", queriesOf(s.HeldOut))
	for _, x := range s.Strata {
		fmt.Fprintf(t, "%s %s\t%s dev, %s held out\n", s.By, x.Value, bench.Thousands(int64(x.Dev)), bench.Thousands(int64(x.HeldOut)))
	}
	fmt.Fprintf(t, "digest\t%s\n", s.Digest)
	fmt.Fprintf(t, "ledger\t%s\n", ledger)
	fmt.Fprintf(t, "looks\t%d at the held-out part", len(l.Looks))
	if n := len(l.Looks); n > 0 {
		last := l.Looks[n-1]
		fmt.Fprintf(t, ", the last one %s with %s", last.Time.Format("2006-01-02"), last.Model)
	}
	fmt.Fprintln(t)
	if err := t.Flush(); err != nil {
		return err
	}
	for _, d := range s.Duplicates {
		fmt.Fprintf(a.stdout, "on both sides: %.80q: %s (dev), %s (heldout)\n", d.Text, d.Dev[0], d.HeldOut[0])
	}
	return nil
}
