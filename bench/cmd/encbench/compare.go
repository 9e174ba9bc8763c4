package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"encbench/bench"
	"encbench/bench/report"

	"github.com/spf13/pflag"
)

var compareCommand = &command{
	name:  "compare",
	args:  "A.json[#N] B.json[#N]",
	short: "ratio of two records with its interval, quality beside it",
	long: `
Prints B ÷ A for every rate with a 95 % interval, the accuracy of both beside it
and what else differs. Records that measured different things are refused, with
the fields that differ: input, region, protocol, dtype and accuracy level must be
the same. FILE#2 is the second record of a file that holds several.`,
	examples: []example{
		{"encbench compare before.json after.json", "is the second run faster, and by how much?"},
		{"encbench compare before.json after.json --format md", "the same as a table for a pull request"},
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

func (f *compareFlags) run(_ context.Context, a *app, args []string) error {
	if len(args) != 2 {
		return usagef("compare takes two records, %d given", len(args))
	}
	if !slices.Contains(report.ComparisonFormats(), f.format) {
		return usagef("unknown format %q: %s", f.format, strings.Join(report.ComparisonFormats(), ", "))
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
	return report.WriteComparison(a.stdout, f.format, &c)
}
