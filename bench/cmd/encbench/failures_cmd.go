package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"encbench/bench/collection"
	"encbench/bench/inhouse"
	"encbench/metrics/trec"

	"github.com/spf13/pflag"
)

var failuresAddCommand = &command{
	name:  "failures add",
	args:  "RUN",
	short: "take the failed queries of a run into an archive",
	long: `
A query fails when no relevant document is among the first --cut. Each is kept with
what was expected, where that was, what came instead and the scores; queries that
failed in an earlier run of the archive and do not now are marked fixed, and those
that fail again reopened. eval --failures does the same with its own ranking. Where
a held-out part is recorded, its queries are left out.`,
	examples: []example{
		{"encbench failures add minilm.run --data mydata --archive failures --cut 1", "what the first document does not answer"},
	},
	define: func(fs *pflag.FlagSet) runner {
		f := &failuresAdd{}
		fs.StringVar(&f.data, "data", "", "`DIR` or name of the collection")
		fs.StringVar(&f.archive, "archive", "", "`DIR` of the archive, made where it is not there")
		fs.IntVar(&f.cut, "cut", 10, "`N` documents among which a relevant one has to be")
		fs.StringVar(&f.model, "model", "", "`NAME` of the system, for the archive (default: the name of the run file)")
		return f
	},
}

type failuresAdd struct {
	data, archive, model string
	cut                  int
}

func (f *failuresAdd) run(ctx context.Context, a *app, args []string) error {
	switch {
	case len(args) != 1:
		return usagef("failures add takes one run, %d given", len(args))
	case f.data == "":
		return usagef("--data: name the collection")
	case f.archive == "":
		return usagef("--archive: name the folder of the archive")
	case f.cut < 1:
		return usagef("--cut %d: expected 1 or more", f.cut)
	}
	c, err := a.openCollection(ctx, f.data, collection.Options{})
	if err != nil {
		return err
	}
	part := inhouse.All
	if _, err := inhouse.ReadLedger(inhouse.LedgerPath(c.Path)); !errors.Is(err, fs.ErrNotExist) {
		s, err := inhouse.OpenSplit(ctx, c.Path, c.Queries, func(field string) ([]string, error) {
			return strataOf(c.Path, c, field)
		})
		if err != nil {
			return err
		}
		part = inhouse.Dev
		if c, err = s.Take(c, part); err != nil {
			return err
		}
	}
	found := inhouse.NewFailures(c, f.cut)
	if _, err := a.rankedFile(ctx, args[0], trec.Options{}, found.Add); err != nil {
		return err
	}
	if f.model == "" {
		f.model = args[0]
	}
	r, err := inhouse.Record(ctx, f.archive, inhouse.ArchivedRun{Model: f.model}, part, found)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, archivedRun(&r))
	if found.Unknown > 0 && part == inhouse.All {
		fmt.Fprintf(a.stderr, "%s of %s are not in %s\n", queriesOf(found.Unknown), args[0], c.Name)
	}
	return nil
}

// archivedRun says in a line what a run came to.
func archivedRun(r *inhouse.ArchivedRun) string {
	return fmt.Sprintf("run %d, %s on %s: %d of %s have no relevant document among the first %d (%d new, %d reopened), %d fixed",
		r.Run, visible(r.Model), visible(r.Collection), r.Failed, queriesOf(r.Queries), r.Cut, r.New, r.Reopened, r.Fixed)
}

var failuresListCommand = &command{
	name:  "failures list",
	args:  "DIR",
	short: "list the failed queries of an archive",
	examples: []example{
		{"encbench failures list failures", "what fails now, the most stubborn first"},
		{"encbench failures list failures --status fixed", "what a later run mended"},
	},
	define: func(fs *pflag.FlagSet) runner {
		f := &failuresList{}
		fs.StringVar(&f.status, "status", "failing", "`STATUS`: failing (open and reopened), open, reopened, fixed or all")
		fs.StringVar(&f.collection, "collection", "", "`NAME` of the only collection to list")
		return f
	},
}

type failuresList struct{ status, collection string }

func (f *failuresList) run(_ context.Context, a *app, args []string) error {
	if len(args) != 1 {
		return usagef("failures list takes one archive, %d given", len(args))
	}
	wanted, ok := map[string][]inhouse.Status{
		"failing": {inhouse.Open, inhouse.Reopened}, "open": {inhouse.Open}, "reopened": {inhouse.Reopened},
		"fixed": {inhouse.Fixed}, "all": {inhouse.Open, inhouse.Reopened, inhouse.Fixed},
	}[f.status]
	if !ok {
		return usagef("--status %q: failing, open, reopened, fixed or all", f.status)
	}
	archive, err := readArchive(args[0])
	if err != nil {
		return err
	}
	entries := slices.DeleteFunc(slices.Clone(archive.Entries), func(e *inhouse.Entry) bool {
		return !slices.Contains(wanted, e.Status) || f.collection != "" && e.Collection != f.collection
	})
	slices.SortStableFunc(entries, func(x, y *inhouse.Entry) int { return y.Times() - x.Times() })
	fmt.Fprintln(a.stdout, archivedRun(&archive.Runs[len(archive.Runs)-1]))
	if len(entries) == 0 {
		_, err := fmt.Fprintf(a.stdout, "\nno query is %s\n", f.status)
		return err
	}
	fmt.Fprintln(a.stdout)
	t := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "STATUS\tQUERY\tFAILED IN\tBEST RANK\tTEXT")
	for _, e := range entries {
		last := e.Latest()
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", e.Status, printable(last.Query, 40), count(e.Times(), "run"), rankText(last.Best()), printable(last.Text, 70))
	}
	return t.Flush()
}

// readArchive reads an archive that has a run.
func readArchive(dir string) (*inhouse.Archive, error) {
	archive, err := inhouse.ReadArchive(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(archive.Runs) == 0 {
		return nil, fmt.Errorf("%s holds no archive of failures; make one with failures add, or with eval --failures", dir)
	}
	return archive, err
}

// rankText gives a rank, "none" where there is no relevant document in the ranking.
func rankText(rank int) string {
	if rank == 0 {
		return "none"
	}
	return strconv.Itoa(rank)
}

// printable puts a text on one line of at most n characters.
func printable(text string, n int) string {
	runes := []rune(visible(strings.Join(strings.Fields(text), " ")))
	if len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return string(runes)
}

var failuresShowCommand = &command{
	name:  "failures show",
	args:  "DIR QUERY",
	short: "show what was expected of a failed query, what came, and its history",
	examples: []example{
		{"encbench failures show failures q2", "one query in full"},
	},
	define: func(*pflag.FlagSet) runner { return runFunc(failuresShow) },
}

func failuresShow(_ context.Context, a *app, args []string) error {
	if len(args) != 2 {
		return usagef("failures show takes an archive and a query, %d given", len(args))
	}
	archive, err := readArchive(args[0])
	if err != nil {
		return err
	}
	entries := archive.Find(args[1])
	if len(entries) == 0 {
		return fmt.Errorf("query %q never failed in %s; `encbench failures list %s --status all` lists those that did", args[1], args[0], args[0])
	}
	for i, e := range entries {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		if err := showEntry(a, archive, e); err != nil {
			return err
		}
	}
	return nil
}

func showEntry(a *app, archive *inhouse.Archive, e *inhouse.Entry) error {
	last := e.Latest()
	run := archive.Runs[last.Run-1]
	t := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "query\t%s\n", visible(last.Query))
	fmt.Fprintf(t, "text\t%s\n", printable(last.Text, 1000))
	fmt.Fprintf(t, "collection\t%s\n", visible(e.Collection))
	fmt.Fprintf(t, "status\t%s\n", e.Status)
	fmt.Fprintf(t, "last failure\trun %d, %s, no relevant document among the first %d\n", run.Run, visible(run.Model), run.Cut)
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "\nexpected\n")
	t = tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  RANK\tSCORE\tGRADE\tDOCUMENT")
	for _, x := range last.Expected {
		score := "-"
		if x.Score != nil {
			score = fmt.Sprintf("%.6g", *x.Score)
		}
		fmt.Fprintf(t, "  %s\t%s\t%g\t%s\n", rankText(x.Rank), score, x.Grade, visible(x.ID))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if last.More > 0 {
		fmt.Fprintf(a.stdout, "  and %d more\n", last.More)
	}
	fmt.Fprintf(a.stdout, "\nfound\n")
	if last.Missing {
		fmt.Fprintf(a.stdout, "  the run has no ranking for this query\n")
	}
	t = tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for i, x := range last.Found {
		if i == 0 {
			fmt.Fprintln(t, "  RANK\tSCORE\tGRADE\tDOCUMENT")
		}
		grade := "unjudged"
		if x.Grade != nil {
			grade = fmt.Sprintf("%g", *x.Grade)
		}
		fmt.Fprintf(t, "  %d\t%.6g\t%s\t%s\n", i+1, x.Score, grade, visible(x.ID))
	}
	fmt.Fprintf(t, "\nhistory\n")
	for _, v := range e.Events {
		r := archive.Runs[v.Run-1]
		what := string(v.Status)
		if v.Status != inhouse.Fixed {
			what += ", best rank " + rankText(v.Best())
		}
		fmt.Fprintf(t, "  run %d\t%s\t%s\t%s\n", v.Run, r.Time.Format("2006-01-02"), visible(r.Model), what)
	}
	return t.Flush()
}
