package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"encbench/bench"
	"encbench/bench/inhouse"
	"encbench/metrics/trec"

	"github.com/spf13/pflag"
)

var labelsExportCommand = &command{
	name:  "labels export",
	short: "pool the candidates of several runs, or of BM25, into a blind sheet for labelling",
	long: `
Takes the first documents of every run, unites them, and writes a sheet with the
columns row, query, document, label and note. Neither system nor rank, score or
earlier label can be read from it: queries and documents stand in an order that the
seed decides. The key beside the sheet tells which pair each row is; keep it, and do
not hand it out. A name that ends in .csv gets commas, any other tabs. White space
other than single spaces is written as \n and \t, and what a spreadsheet would take
for a formula gets an apostrophe.

Without a run the candidates are those that BM25 finds, so that labelling can begin
with documents and queries alone; --bm25 adds them to those of runs. What no pooled
system finds is never labelled: pool several that differ. In a folder with corpus.jsonl and queries.jsonl all queries can be labelled, also
those that have no label yet; of other collections those with a label.`,
	examples: []example{
		{"encbench labels export --data mydata --out first.csv", "the first labels: what BM25 finds"},
		{"encbench labels export --data mydata --run bm25.run --run minilm.run --out sheet.csv", "the first 10 documents of each run"},
		{"encbench labels export --data mydata --run minilm.run --bm25 --unjudged --out more.tsv", "only what has no label yet"},
	},
	define: func(fs *pflag.FlagSet) runner {
		f := &labelsExport{}
		fs.StringVar(&f.data, "data", "", "`DIR` or name of the collection")
		fs.StringArrayVar(&f.runs, "run", nil, "`RUN` to pool, compressed or TREC text; once for each")
		fs.BoolVar(&f.bm25, "bm25", false, "pool BM25's candidates too; without --run they are the only ones")
		fs.IntVar(&f.depth, "depth", 10, "`N` documents of each ranking")
		fs.StringVar(&f.out, "out", "", "`FILE` for the sheet")
		fs.StringVar(&f.key, "key", "", "`FILE` for the key (default: beside the sheet, .key.json)")
		fs.Uint64Var(&f.seed, "seed", 1, "`N` that decides the order")
		fs.StringVar(&f.grades, "grades", "0,1,2,3", "`LIST` of the grades that may be given")
		fs.BoolVar(&f.unjudged, "unjudged", false, "leave out pairs that have a label already")
		fs.IntVar(&f.chars, "max-chars", 32000, "`N` characters of a document at most; spreadsheets take 32,767 a cell")
		return f
	},
}

type labelsExport struct {
	data, out, key, grades string
	runs                   []string
	depth, chars           int
	seed                   uint64
	unjudged, bm25         bool
}

func (f *labelsExport) run(ctx context.Context, a *app, args []string) error {
	if err := noArguments(args); err != nil {
		return err
	}
	switch {
	case f.data == "":
		return usagef("--data: name the collection")
	case f.out == "":
		return usagef("--out: name the sheet, sheet.csv or sheet.tsv")
	case f.depth < 1:
		return usagef("--depth %d: expected 1 or more", f.depth)
	case f.chars < 1:
		return usagef("--max-chars %d: expected 1 or more", f.chars)
	}
	grades, err := parseGrades(f.grades)
	if err != nil {
		return err
	}
	if f.key == "" {
		f.key = strings.TrimSuffix(f.out, filepath.Ext(f.out)) + ".key.json"
	}
	if filepath.Clean(f.key) == filepath.Clean(f.out) {
		return usagef("--key %s: it is the sheet; name another file", f.key)
	}
	sheet, err := openOutOf("--out", f.out, isSheet, f.runs...)
	if err != nil {
		return err
	}
	if n, err := labelsIn(sheet); err != nil {
		return err
	} else if n > 0 {
		return usagef("--out %s: %s filled in there already, which would be lost; name another file, or import and remove it", f.out, count(n, "label"))
	}
	key, err := openOutOf("--key", f.key, inhouse.IsKey, f.runs...)
	if err != nil {
		return err
	}
	c, err := a.openUnlabelled(ctx, f.data, f.unjudged)
	if err != nil {
		return err
	}
	if len(f.runs) == 0 {
		f.bm25 = true
	}
	opt := inhouse.SheetOptions{Seed: f.seed, Grades: grades, Unjudged: f.unjudged, MaxChars: f.chars}
	pool := inhouse.NewPool(f.depth)
	for _, path := range f.runs {
		info, err := a.rankedFile(ctx, path, trec.Options{}, func(query string, docs []string, _ []float64) error {
			pool.Add(query, docs)
			return nil
		})
		if err != nil {
			return err
		}
		opt.Runs = append(opt.Runs, inhouse.Pooled{Name: filepath.Base(path), SHA256: info.sha256})
	}
	var from []string
	if len(f.runs) > 0 {
		from = append(from, count(len(f.runs), "run"))
	}
	if f.bm25 {
		method, err := poolBM25(ctx, c, f.depth, pool)
		if err != nil {
			return err
		}
		from = append(from, method)
		opt.Runs = append(opt.Runs, inhouse.Pooled{Name: method})
	}
	s, k, err := inhouse.MakeSheet(c, pool, opt)
	if err != nil {
		return fmt.Errorf("make the sheet: %w", err)
	}
	if err := keepsKey(key, k); err != nil {
		return err
	}
	comma := '\t'
	if strings.EqualFold(filepath.Ext(f.out), ".csv") {
		comma = ','
	}
	// The key first: a sheet without its key is worth nothing.
	for _, step := range []struct {
		to    *outFile
		write func(io.Writer) error
	}{{key, k.Write}, {sheet, func(w io.Writer) error { return s.Write(w, comma) }}} {
		if err := step.to.replace(step.write); err != nil {
			return err
		}
	}
	t := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "collection\t%s\n", c.Name)
	fmt.Fprintf(t, "pool\t%s, the first %d of %s\n", pool, f.depth, strings.Join(from, " and "))
	fmt.Fprintf(t, "sheet\t%s, %s\n", f.out, count(len(s.Rows), "row"))
	fmt.Fprintf(t, "key\t%s; keep it from the labellers\n", f.key)
	if s.Labelled > 0 {
		fmt.Fprintf(t, "left out\t%s that have a label\n", count(s.Labelled, "pair"))
	}
	if s.Unknown > 0 {
		fmt.Fprintf(t, "unknown\t%s of the runs that the collection does not have\n", queriesOf(s.Unknown))
	}
	if s.Cut > 0 {
		fmt.Fprintf(t, "cut\t%s to %s characters\n", count(s.Cut, "document"), bench.Thousands(int64(f.chars)))
	}
	return t.Flush()
}

// keepsKey refuses to write another key over one: a sheet that was handed out
// cannot be read back without its own.
func keepsKey(to *outFile, key *inhouse.Key) error {
	if !to.exist {
		return nil
	}
	old, err := os.ReadFile(to.path)
	if err != nil {
		return fmt.Errorf("--key: %w", err)
	}
	var b bytes.Buffer
	if err := key.Write(&b); err != nil {
		return fmt.Errorf("--key: %w", err)
	}
	if len(old) > 0 && !bytes.Equal(old, b.Bytes()) {
		return usagef("--key %s is the key of another sheet, whose labels could not be read back without it; choose another name for --out, or for --key", to.path)
	}
	return nil
}

// count names n things.
func count[N int | int64](n N, what string) string {
	switch y, ok := strings.CutSuffix(what, "y"); {
	case n == 1:
	case ok:
		what = y + "ies"
	default:
		what += "s"
	}
	return bench.Thousands(int64(n)) + " " + what
}

func queriesOf(n int) string { return count(n, "query") }

// parseGrades reads a list of numbers.
func parseGrades(list string) (grades []float64, err error) {
	for s := range strings.SplitSeq(list, ",") {
		g, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil || g-g != 0 {
			return nil, usagef("--grades %q: expected numbers with commas between, such as 0,1,2,3", list)
		}
		grades = append(grades, g)
	}
	return grades, nil
}

// isSheet says whether a file may be an earlier sheet.
func isSheet(head []byte) bool {
	return strings.HasPrefix(string(head), "row\tquery\tdocument\tlabel") || strings.HasPrefix(string(head), "row,query,document,label")
}

// labelsIn counts the labels of the sheet that is to be replaced: nothing costs more
// to make again.
func labelsIn(sheet *outFile) (n int, err error) {
	if !sheet.exist {
		return 0, nil
	}
	f, err := os.Open(sheet.path)
	if err != nil {
		return 0, fmt.Errorf("--out: %w", err)
	}
	defer f.Close()
	return inhouse.CountLabels(f, sheet.path)
}
