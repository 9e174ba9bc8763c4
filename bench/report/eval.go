package report

import (
	"bytes"
	"io"

	"encbench/bench/eval"
)

// evalFormats render one record of encbench eval, in the order they are offered.
var evalFormats = []form[*eval.Record]{
	{"text", evalText},
	{"json", evalJSON},
	{"md", evalMarkdown},
	{"csv", evalCSV},
}

// evalComparisonFormats render a comparison of two of them.
var evalComparisonFormats = []form[*eval.Comparison]{
	{"text", evalCompareText},
	{"md", evalCompareMarkdown},
	{"json", func(buf *bytes.Buffer, c *eval.Comparison) error { return encodeJSON(buf, c) }},
}

// EvalFormats gives the names that WriteEval accepts.
func EvalFormats() []string { return formNames(evalFormats) }

// WriteEval renders a record of encbench eval in the format to w, in one write, so
// that an error leaves nothing behind.
func WriteEval(w io.Writer, format string, r *eval.Record) error {
	return writeAs(w, "report", format, evalFormats, r)
}

// WriteEvalComparison renders a comparison of two such records, in the formats of
// ComparisonFormats.
func WriteEvalComparison(w io.Writer, format string, c *eval.Comparison) error {
	return writeAs(w, "comparison", format, evalComparisonFormats, c)
}
