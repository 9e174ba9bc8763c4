package report

import (
	"bytes"
	"fmt"
	"strings"

	"encbench/bench"
)

// comparisonColumns names each spread for what it is: ± reaches to the farther end
// of the 95 % interval, or of the range where there are too few samples for one.
func comparisonColumns(c *bench.Comparison) []column {
	var a, b, n int
	if len(c.Rates) > 0 {
		a, b, n = c.Rates[0].A.N, c.Rates[0].B.N, c.Rates[0].Ratio.N
	}
	plus := func(n int) string { return "±" + gap + strings.TrimSuffix(intervalTitle(n), " interval") }
	return []column{{"Rates", false}, {"A", true}, {plus(a), true}, {"B", true}, {plus(b), true}, {"B ÷ A", true}, {intervalTitle(n), true}, {"p", true}, {"", false}}
}

func comparisonRows(c *bench.Comparison) [][]string {
	var rows [][]string
	for _, r := range c.Rates {
		within := none
		if r.Ratio.N > 1 {
			within = ratioInterval(r.Ratio)
		}
		p := none
		if r.P != nil {
			p = pvalue(*r.P)
		}
		rows = append(rows, []string{r.Unit, number(r.A.Median), plusMinus(r.A), number(r.B.Median), plusMinus(r.B), ratioValue(r.Ratio), within, p, significance(r)})
	}
	return rows
}

// plusMinus is how far the interval or the range of e reaches; one sample has none.
func plusMinus(e bench.Estimate) string {
	if e.N < 2 {
		return none
	}
	return percent(e.HalfWidth())
}

// significance is benchstat's sign for a change that may be chance.
func significance(r bench.RateRatio) string {
	switch {
	case r.P == nil:
		return "?"
	case *r.P >= bench.Significance:
		return "~"
	}
	return ""
}

var sideColumns = []column{{"Records", false}, {"A", false}, {"B", false}}

// sideRows puts what the two records are, and their quality, side by side.
func sideRows(c *bench.Comparison) [][]string {
	var rows [][]string
	for _, f := range []struct {
		name string
		of   func(bench.Side) string
	}{
		{"model", func(s bench.Side) string { return orNone(s.Model) }},
		{"accuracy", func(s bench.Side) string { return orNone(s.Level) }},
		{"1 − cosine at most", func(s bench.Side) string { return imprecision(s.Min) }},
		{"1 − cosine, mean", func(s bench.Side) string { return imprecision(s.Mean) }},
		{"largest difference of a value", func(s bench.Side) string { return deviation(s.MaxDiff) }},
		{"samples", func(s bench.Side) string { return bench.Thousands(int64(s.Samples)) }},
		{"timed", func(s bench.Side) string { return seconds(s.TimedS) }},
		{"status", func(s bench.Side) string { return orNone(s.Status) }},
		{"publishable", func(s bench.Side) string {
			if s.Publishable {
				return "yes"
			}
			return "no"
		}},
		{"started", func(s bench.Side) string { return s.Started }},
	} {
		rows = append(rows, []string{f.name, f.of(c.A), f.of(c.B)})
	}
	return rows
}

var differenceColumns = []column{{"Differences", false}, {"A", false}, {"B", false}}

func differenceRows(c *bench.Comparison) [][]string {
	var rows [][]string
	for _, d := range c.Differences {
		rows = append(rows, []string{d.Field, d.A, d.B})
	}
	return rows
}

// finding is the comparison in one sentence.
func finding(c *bench.Comparison) string {
	if len(c.Rates) == 0 {
		return "no rate is in both records"
	}
	r := c.Rates[0]
	does := fmt.Sprintf("B does %s the %s of A", ratioValue(r.Ratio), r.Unit)
	if r.P == nil {
		s := does + given(r.Ratio.N > 1, " (range "+ratioInterval(r.Ratio)+")")
		return s + fmt.Sprintf(": too few samples to say whether they differ (A has %d, B %d, 6 are needed)", r.A.N, r.B.N)
	}
	p := pvalue(*r.P)
	if p[0] != '<' {
		p = "=" + gap + p
	}
	s := does + fmt.Sprintf(" (95 %% interval %s, Mann-Whitney p"+gap+"%s)", ratioInterval(r.Ratio), p)
	if *r.P >= bench.Significance {
		s += ": no difference beyond chance"
	}
	return s
}

func compareText(buf *bytes.Buffer, c *bench.Comparison) error {
	defer plainSpaces(buf)
	p := page{buf}
	p.hang("", "encbench compare: "+finding(c))
	p.table(comparisonColumns(c), comparisonRows(c))
	p.table(sideColumns, fold(sideColumns, sideRows(c)))
	if len(c.Differences) > 0 {
		p.table(differenceColumns, fold(differenceColumns, differenceRows(c)))
	} else {
		p.section("Differences: none in the fields that are compared")
	}
	if len(c.Notes) > 0 {
		p.section("Notes")
		for _, n := range c.Notes {
			p.hang("  - ", n)
		}
	}
	return nil
}

func compareMarkdown(buf *bytes.Buffer, c *bench.Comparison) error {
	defer plainSpaces(buf)
	fmt.Fprintf(buf, "# encbench compare\n\n%s.\n\n", markdownText(finding(c)))
	columns := comparisonColumns(c)
	columns[0].title = "rate"
	markdownTable(buf, columns, comparisonRows(c))
	buf.WriteByte('\n')
	columns = append([]column(nil), sideColumns...)
	columns[0].title = "record"
	markdownTable(buf, columns, sideRows(c))
	if len(c.Differences) > 0 {
		buf.WriteByte('\n')
		columns = append([]column(nil), differenceColumns...)
		columns[0].title = "field"
		markdownTable(buf, columns, differenceRows(c))
	}
	if len(c.Notes) > 0 {
		buf.WriteByte('\n')
		for _, n := range c.Notes {
			fmt.Fprintf(buf, "- %s\n", markdownText(n))
		}
	}
	return nil
}
