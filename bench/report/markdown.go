package report

import (
	"bytes"
	"fmt"
	"math"

	"encbench/bench"
)

// writeMarkdown writes a table of rates, then the ledgers and the verdict of each
// record, for an issue or a README.
func writeMarkdown(buf *bytes.Buffer, recs []*bench.Record) error {
	defer plainSpaces(buf)
	if len(recs) > 1 {
		fmt.Fprintf(buf, "# encbench speed: %s of %s on %s\n\n", plural(int64(len(recs)), "run"), markdownText(orNone(recs[0].Model.Name)), markdownText(orNone(recs[0].Corpus.Name)))
		columns, rows, _ := runTable(recs, math.MaxInt)
		markdownTable(buf, columns, rows)
		buf.WriteByte('\n')
		for i, n := range runNotes(recs) {
			fmt.Fprintf(buf, "%d. %s\n", i+1, markdownText(n))
		}
		for _, s := range ratioNotes(recs) {
			fmt.Fprintf(buf, "\n%s\n", markdownText(s))
		}
		for i, r := range recs {
			fmt.Fprintf(buf, "\n## Run %d\n", i+1)
			markdownRecord(buf, r, "###")
		}
		return nil
	}
	fmt.Fprintf(buf, "# %s\n", markdownText(title(recs[0])))
	markdownRecord(buf, recs[0], "##")
	return nil
}

// markdownRecord writes one record under headings of the given level.
func markdownRecord(buf *bytes.Buffer, r *bench.Record, level string) {
	buf.WriteByte('\n')
	if mark := stateMark(r); mark != "" && tellsState(r) {
		fmt.Fprintf(buf, "**%s** after %s.\n\n", mark, plural(int64(len(r.Samples)), "sample"))
	}
	if !hasRates(r) {
		fmt.Fprintf(buf, "**No rate:** %s.\n", markdownText(whyNoRates(r)))
	} else {
		e, unit := r.Headline()
		fmt.Fprintf(buf, "**%s %s**%s, %s, %s timed; %s.\n\n", number(e.Median), unit, given(len(r.Engine.Devices) > 0, " on "+markdownText(r.Engine.Parts())), spread(e), seconds(r.TimedSeconds()), join("; ", projected(r), publishable(r)))
		columns := rateColumns(r)
		columns[0].title, columns[2].title = "rate", "unit"
		var rows [][]string
		for _, row := range rateRows(r) {
			rows = append(rows, row.cells())
		}
		markdownTable(buf, columns, rows)
		fmt.Fprintf(buf, "\n%s.\n", markdownText(rateNote(r)))
	}
	fmt.Fprintf(buf, "\n%s What ran\n\n", level)
	facts := []ledger{{"model", modelText(r.Model)}, {"corpus", corpusText(r.Corpus)}, {"selection", selectionText(r.Corpus)}, {"protocol", protocolText(r.Protocol)},
		{"timed", regionText(r)}, {"engine", engineText(r.Engine)}, {"run as", r.Engine.HowRun}, {"accuracy", accuracyLine(r.Accuracy)}}
	facts = append(facts, deviceFacts(r.Engine)...)
	markdownList(buf, facts)
	markdownSearch(buf, r, level)
	if rows := probeRows(r.Accuracy); len(rows) > 0 {
		fmt.Fprintf(buf, "\n%s Accuracy\n\n", level)
		columns := append([]column{{"tokens of the probe", true}}, probeColumns(r.Accuracy)[1:]...)
		markdownTable(buf, columns, rows)
	}
	if hasRates(r) {
		fmt.Fprintf(buf, "\n%s Ledgers\n\n", level)
		markdownList(buf, append(ledgers(r), ledger{"MFU", join("; ", utilizationText(r.MFU, onReal), r.MFU.Formula, r.MFU.Source)}, ledger{"HFU", join("; ", utilizationText(r.HFU, issued), r.HFU.Formula)}))
		if len(r.Stages) > 0 {
			fmt.Fprintf(buf, "\n%s Stages\n\n", level)
			columns := append([]column{{"stage", false}}, stageColumns[1:]...)
			markdownTable(buf, columns, stageRows(r))
			if r.Bottleneck != "" {
				fmt.Fprintf(buf, "\nBottleneck: %s\n", markdownText(r.Bottleneck))
			}
		}
	}
	if hasRates(r) {
		markdownDevices(buf, r, level)
	}
	fmt.Fprintf(buf, "\n%s Environment\n\n", level)
	markdownList(buf, environmentRows(r))
	if len(r.Warnings) > 0 {
		fmt.Fprintf(buf, "\n%s Warnings\n\n", level)
		for _, w := range r.Warnings {
			fmt.Fprintf(buf, "- %s\n", markdownText(warningText(w)))
		}
	}
	if len(r.Verdict.Reasons) > 0 {
		fmt.Fprintf(buf, "\n%s Not publishable, because\n\n", level)
		for _, s := range r.Verdict.Reasons {
			fmt.Fprintf(buf, "- %s\n", markdownText(s))
		}
	}
}

func publishable(r *bench.Record) string {
	if r.Verdict.Publishable {
		return "publishable"
	}
	return "not publishable"
}

func markdownList(buf *bytes.Buffer, items []ledger) {
	for _, l := range items {
		if l.text != "" {
			fmt.Fprintf(buf, "- %s: %s\n", l.name, markdownText(l.text))
		}
	}
}
