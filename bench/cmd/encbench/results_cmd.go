package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"encbench/bench/report"

	"github.com/spf13/pflag"
)

var resultsCommand = &command{
	name:  "results",
	args:  "[DIR]",
	short: "render the tables of committed results from their JSON",
	long: `
Reads the JSON files of DIR (default docs/results) and writes their tables into
README.md beside them. A test fails when that file was edited by hand.`,
	examples: []example{
		{"encbench results docs/results", "after a new measurement"},
	},
	define: func(*pflag.FlagSet) runner { return runFunc(renderResults) },
}

func renderResults(_ context.Context, a *app, args []string) error {
	dir := "docs/results"
	switch len(args) {
	case 0:
	case 1:
		dir = args[0]
	default:
		return usagef("results takes one directory, %d given", len(args))
	}
	pages, err := report.Results(dir)
	if err != nil {
		return err
	}
	for name, page := range pages {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, page, 0o644); err != nil {
			return fmt.Errorf("write results: %w", err)
		}
		fmt.Fprintln(a.stdout, path)
	}
	return nil
}
