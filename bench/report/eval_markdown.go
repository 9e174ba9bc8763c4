package report

import (
	"bytes"
	"fmt"

	"encbench/bench/eval"
)

// evalMarkdown writes the same for an issue or a README.
func evalMarkdown(buf *bytes.Buffer, r *eval.Record) error {
	defer plainSpaces(buf)
	fmt.Fprintf(buf, "# %s\n", markdownText(evalTitle(r)))
	if mark := evalMark(r); mark != "" {
		fmt.Fprintf(buf, "\n**%s**: %s.\n", mark, doneText(r))
	}
	for _, s := range headlines(r) {
		fmt.Fprintf(buf, "\n%s.\n", markdownText(s))
	}
	table := func(title string, columns []column, rows [][]string) {
		if len(rows) == 0 {
			return
		}
		buf.WriteByte('\n')
		columns = append([]column(nil), columns...)
		columns[0].title = title
		markdownTable(buf, columns, rows)
	}
	if len(r.Collections) > 1 {
		columns, rows := summaryTable(r)
		table("collection", columns, rows)
		buf.WriteByte('\n')
		for _, s := range averageText(r) {
			fmt.Fprintf(buf, "- %s\n", markdownText(s))
		}
	}
	for i := range r.Collections {
		c := &r.Collections[i]
		fmt.Fprintf(buf, "\n## %s\n", markdownText(counted(c.Name)))
		if c.Error != "" {
			fmt.Fprintf(buf, "\n**Failed:** %s\n", markdownText(c.Error))
			continue
		}
		table("measure", valueColumns, valueRows(c.Values))
		if c.BM25 != nil {
			table("measure", baselineColumns, baselineRows(c.BM25))
			fmt.Fprintf(buf, "\n%s, %s.\n", markdownText(c.BM25.System), seconds(c.BM25.Seconds))
		}
		table("store", storeColumns, storeRows(c.Stores))
		buf.WriteByte('\n')
		markdownList(buf, collectionFacts(c))
		for _, n := range c.Notes {
			fmt.Fprintf(buf, "- note: %s\n", markdownText(counted(n)))
		}
	}
	buf.WriteString("\n## What ran\n\n")
	markdownList(buf, evalFacts(r))
	buf.WriteString("\n## Environment\n\n")
	markdownList(buf, evalEnvironment(r))
	if len(r.Warnings) > 0 {
		buf.WriteString("\n## Warnings\n\n")
		for _, s := range evalWarnings(r) {
			fmt.Fprintf(buf, "- %s\n", markdownText(s))
		}
	}
	return nil
}
