package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"encbench/bench"
	"encbench/bench/eval"
	"encbench/bench/latency"
	"encbench/bench/report"
	"encbench/bench/rerank"

	"github.com/spf13/pflag"
)

var compareCommand = &command{
	name:  "compare",
	args:  "A.json[#N] B.json[#N]",
	short: "two records with intervals: ratios of speed, differences of quality",
	long: `
Of two records of encbench speed: B ÷ A for every rate with a 95 % interval, the
accuracy of both beside it and what else differs. Records that measured different
things are refused, with the fields that differ: input, region, protocol, dtype
and accuracy level must be the same. FILE#2 is the second record of a file that
holds several.

Of two records of encbench eval: B − A for every measure on every collection that
is in both, paired by query, with a 95 % interval, the p-value of a randomisation
test and its correction for the number of rows. A collection of another version
or size is another collection, and two records without one in common are refused.`,
	examples: []example{
		{"encbench compare before.json after.json", "is the second run faster, and by how much?"},
		{"encbench compare before.json after.json --format md", "the same as a table for a pull request"},
		{"encbench compare eval-before.json eval-after.json", "is the second model better, and is that more than chance?"},
	},
	define: func(fs *pflag.FlagSet) runner {
		f := &compareFlags{}
		fs.StringVar(&f.format, "format", "text", "`FORMAT`: "+strings.Join(report.ComparisonFormats(), ", "))
		return f
	},
}

// readRecord reads FILE, or record N of FILE#N.
func readRecord(name string) (*bench.Record, error) {
	path, number, ok := strings.Cut(name, "#")
	if _, err := os.Stat(name); err == nil || !ok {
		return bench.ReadRecord(name)
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 {
		return nil, usagef("%s: a record's number follows #, as in %s#2", name, path)
	}
	recs, err := bench.ReadRecords(path)
	if err != nil {
		return nil, err
	}
	if n > len(recs) {
		return nil, usagef("%s: the file holds %d records", name, len(recs))
	}
	return recs[n-1], nil
}

type compareFlags struct{ format string }

// otherKind names the command whose record a file is, where that cannot be compared.
func otherKind(name string) string {
	head, err := firstBytes(name)
	switch {
	case err != nil:
	case isRerankRecord(head):
		return rerank.Kind
	case isLatencyRecord(head):
		return latency.Kind
	}
	return ""
}

func (f *compareFlags) run(_ context.Context, app *app, args []string) error {
	if len(args) != 2 {
		return usagef("compare takes two records, %d given", len(args))
	}
	if !slices.Contains(report.ComparisonFormats(), f.format) {
		return usagef("unknown format %q: %s", f.format, strings.Join(report.ComparisonFormats(), ", "))
	}
	for _, name := range args {
		if kind := otherKind(name); kind != "" {
			return usagef("%s is a record of encbench %s; compare takes two of speed or two of eval", name, kind)
		}
		if path, _, ok := strings.Cut(name, "#"); ok && !isEval(name) && isEval(path) {
			return usagef("%s: a file of encbench eval holds one record; leave out the number", name)
		}
	}
	switch a, b := isEval(args[0]), isEval(args[1]); {
	case a && b:
		return f.evals(app, args)
	case a != b:
		// A file that cannot be read is no record of either.
		other := args[0]
		if a {
			other = args[1]
		}
		if _, err := readRecord(other); err != nil {
			return err
		}
		kinds := map[bool]string{true: "encbench eval", false: "encbench speed"}
		return fmt.Errorf("%s and %s cannot be compared: the first is a record of %s, the second one of %s", args[0], args[1], kinds[a], kinds[b])
	}
	first, err := readRecord(args[0])
	if err != nil {
		return err
	}
	second, err := readRecord(args[1])
	if err != nil {
		return err
	}
	c, err := bench.Compare(first, second)
	if err != nil {
		return fmt.Errorf("%s and %s cannot be compared: %w", args[0], args[1], err)
	}
	return report.WriteComparison(app.stdout, f.format, &c)
}

// isEval says whether the file holds a record of encbench eval.
func isEval(path string) bool {
	data, err := os.ReadFile(path)
	return err == nil && eval.IsRecord(data)
}

// evals compares two records of encbench eval.
func (f *compareFlags) evals(app *app, args []string) error {
	first, err := eval.ReadRecord(args[0])
	if err != nil {
		return err
	}
	second, err := eval.ReadRecord(args[1])
	if err != nil {
		return err
	}
	c, err := eval.Compare(first, second)
	if err != nil {
		return fmt.Errorf("%s and %s cannot be compared: %w", args[0], args[1], err)
	}
	return report.WriteEvalComparison(app.stdout, f.format, c)
}
