package report

import (
	"bytes"
	"fmt"

	"encbench/bench"
	"encbench/bench/eval"
)

var evalCompareColumns = []column{{"Collections", false}, {"measure", false}, {"A", true}, {"B", true}, {"B − A", true}, {"95 % interval", true}, {"p", true}, {"p Holm", true}, {"n", true}, {"better, equal, worse", true}}

func evalCompareRows(c *eval.Comparison) [][]string {
	var rows [][]string
	last := ""
	for _, r := range c.Rows {
		name := counted(r.Collection)
		if r.Collection == last {
			name = ""
		}
		last = r.Collection
		rows = append(rows, []string{name, r.Measure, value(r.A), value(r.B), change(r.Paired.Diff), betweenChanges(r.Paired.CI), pvalue(r.Paired.P), pvalue(r.Holm),
			bench.Thousands(int64(r.Paired.N)), outcomes(r.Paired)})
	}
	for i, a := range c.Averages {
		name := "mean of collections"
		if i > 0 {
			name = ""
		}
		rows = append(rows, []string{name, a.Measure, "", "", change(a.Change.Mean), betweenChanges(a.Change.CI), "", "", bench.Thousands(int64(a.Change.N)), ""})
	}
	return rows
}

// evalCompareNotes say how to read the table.
func evalCompareNotes(c *eval.Comparison) []string {
	first := c.Rows[0].Paired
	out := []string{fmt.Sprintf("paired by query; p is that of %s, intervals of %s, both with %s replicates where they are not exact, seed %d; p Holm is corrected for the %s",
		first.Test, first.CI.Method, bench.Thousands(int64(first.B)), first.Seed, plural(int64(len(c.Rows)), "row"))}
	for _, r := range c.Rows {
		for _, w := range r.Paired.Warnings {
			out = append(out, counted(r.Collection)+", "+r.Measure+": "+w)
		}
	}
	return append(out, c.Notes...)
}

var evalSideColumns = []column{{"Records", false}, {"A", false}, {"B", false}}

func evalSideRows(c *eval.Comparison) [][]string {
	var rows [][]string
	for _, f := range []struct {
		name string
		of   func(eval.Side) string
	}{
		{"model", func(s eval.Side) string { return orNone(s.Model) }},
		{"length", func(s eval.Side) string { return s.Length + " at " + plural(int64(s.Tokens), "token") }},
		{"values a vector", func(s eval.Side) string { return fmt.Sprint(s.Dim) }},
		{"status", func(s eval.Side) string { return orNone(s.Status) }},
		{"started", func(s eval.Side) string { return s.Started }},
	} {
		rows = append(rows, []string{f.name, f.of(c.A), f.of(c.B)})
	}
	return rows
}

// evalFinding is the comparison in one sentence.
func evalFinding(c *eval.Comparison) string {
	r := c.Rows[0]
	s := fmt.Sprintf("B − A in %s on %s is %s (95 %% interval %s, p %s)", r.Measure, counted(r.Collection), change(r.Paired.Diff), betweenChanges(r.Paired.CI), pvalue(r.Paired.P))
	if r.Paired.P >= 0.05 {
		s += ": no difference beyond chance"
	}
	return s
}

func evalDifferenceRows(c *eval.Comparison) [][]string {
	var rows [][]string
	for _, d := range c.Differences {
		rows = append(rows, []string{d.Field, d.A, d.B})
	}
	return rows
}

func evalCompareText(buf *bytes.Buffer, c *eval.Comparison) error {
	defer plainSpaces(buf)
	p := page{buf}
	p.hang("", "encbench compare: "+evalFinding(c))
	p.table(evalCompareColumns, shortNames(evalCompareRows(c)))
	p.table(evalSideColumns, fold(evalSideColumns, evalSideRows(c)))
	if len(c.Differences) > 0 {
		p.table(differenceColumns, fold(differenceColumns, evalDifferenceRows(c)))
	} else {
		p.section("Differences: none in the fields that are compared")
	}
	list(p, "Notes", evalCompareNotes(c))
	return nil
}

func evalCompareMarkdown(buf *bytes.Buffer, c *eval.Comparison) error {
	defer plainSpaces(buf)
	fmt.Fprintf(buf, "# encbench compare\n\n%s.\n\n", markdownText(evalFinding(c)))
	table := func(title string, columns []column, rows [][]string) {
		columns = append([]column(nil), columns...)
		columns[0].title = title
		markdownTable(buf, columns, rows)
		buf.WriteByte('\n')
	}
	table("collection", evalCompareColumns, evalCompareRows(c))
	table("record", evalSideColumns, evalSideRows(c))
	if len(c.Differences) > 0 {
		table("field", differenceColumns, evalDifferenceRows(c))
	}
	for _, n := range evalCompareNotes(c) {
		fmt.Fprintf(buf, "- %s\n", markdownText(n))
	}
	return nil
}
