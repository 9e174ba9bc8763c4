package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"encbench/bench"
)

// form is one way to render a T.
type form[T any] struct {
	name  string
	write func(*bytes.Buffer, T) error
}

// formats in the order they are offered. Each renders one or more records.
var formats = []form[[]*bench.Record]{
	{"text", writeText},
	{"json", writeJSON},
	{"jsonl", writeJSONLines},
	{"csv", writeCSV},
	{"md", writeMarkdown},
	{"bench", writeGoBench},
}

// comparisonFormats render a comparison of two records.
var comparisonFormats = []form[*bench.Comparison]{
	{"text", compareText},
	{"md", compareMarkdown},
	{"json", compareJSON},
}

// Formats gives the names that Write accepts.
func Formats() []string { return formNames(formats) }

// ComparisonFormats gives the names that WriteComparison and WriteEvalComparison
// accept.
func ComparisonFormats() []string { return formNames(comparisonFormats) }

func formNames[T any](forms []form[T]) []string {
	names := make([]string, len(forms))
	for i, f := range forms {
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
	return writeAs(w, "report", format, formats, recs)
}

// WriteComparison renders the comparison in the format to w, as Write does.
func WriteComparison(w io.Writer, format string, c *bench.Comparison) error {
	return writeAs(w, "comparison", format, comparisonFormats, c)
}

// writeAs writes v, called what in messages, in one of the forms, in one write.
func writeAs[T any](w io.Writer, what, format string, forms []form[T], v T) error {
	for _, f := range forms {
		if f.name != format {
			continue
		}
		var buf bytes.Buffer
		if err := f.write(&buf, v); err != nil {
			return fmt.Errorf("write %s as %s: %w", what, format, err)
		}
		if _, err := w.Write(buf.Bytes()); err != nil {
			return fmt.Errorf("write %s: %w", what, err)
		}
		return nil
	}
	return fmt.Errorf("unknown format %q, expected one of %s", format, strings.Join(formNames(forms), ", "))
}
