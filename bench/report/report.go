package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"encbench/bench"
)

// formats in the order they are offered. Each renders one or more records.
var formats = []struct {
	name  string
	write func(*bytes.Buffer, []*bench.Record) error
}{
	{"text", writeText},
	{"json", writeJSON},
	{"jsonl", writeJSONLines},
	{"csv", writeCSV},
	{"md", writeMarkdown},
	{"bench", writeGoBench},
}

// comparisonFormats render a comparison of two records.
var comparisonFormats = []struct {
	name  string
	write func(*bytes.Buffer, *bench.Comparison) error
}{
	{"text", compareText},
	{"md", compareMarkdown},
	{"json", compareJSON},
}

// Formats gives the names that Write accepts.
func Formats() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.name
	}
	return names
}

// ComparisonFormats gives the names that WriteComparison accepts.
func ComparisonFormats() []string {
	names := make([]string, len(comparisonFormats))
	for i, f := range comparisonFormats {
		names[i] = f.name
	}
	return names
}

// Write renders the records in the format to w, in one write, so that an error
// leaves nothing behind. An unknown format is an error that lists the known ones;
// no records is an error too.
func Write(w io.Writer, format string, recs []*bench.Record) error {
	if len(recs) == 0 {
		return fmt.Errorf("write report: no records")
	}
	for _, f := range formats {
		if f.name != format {
			continue
		}
		var buf bytes.Buffer
		if err := f.write(&buf, recs); err != nil {
			return fmt.Errorf("write report as %s: %w", format, err)
		}
		if _, err := w.Write(buf.Bytes()); err != nil {
			return fmt.Errorf("write report: %w", err)
		}
		return nil
	}
	return unknownFormat(format, Formats())
}

// WriteComparison renders the comparison in the format to w, as Write does.
func WriteComparison(w io.Writer, format string, c *bench.Comparison) error {
	for _, f := range comparisonFormats {
		if f.name != format {
			continue
		}
		var buf bytes.Buffer
		if err := f.write(&buf, c); err != nil {
			return fmt.Errorf("write comparison as %s: %w", format, err)
		}
		if _, err := w.Write(buf.Bytes()); err != nil {
			return fmt.Errorf("write comparison: %w", err)
		}
		return nil
	}
	return unknownFormat(format, ComparisonFormats())
}

func unknownFormat(format string, known []string) error {
	return fmt.Errorf("unknown format %q, expected one of %s", format, strings.Join(known, ", "))
}
