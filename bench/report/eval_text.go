package report

import (
	"bytes"
	"fmt"
	"strings"

	"encbench/bench"
	"encbench/bench/eval"
)

// evalText renders the report that a person reads: the headline, a table of values
// for each collection with what became of its texts, then what was run.
func evalText(buf *bytes.Buffer, r *eval.Record) error {
	p := page{buf}
	defer plainSpaces(buf)
	p.hang("", evalTitle(r))
	p.line("")
	if mark := evalMark(r); mark != "" {
		p.hang("  "+mark+"  ", doneText(r))
	}
	for _, s := range headlines(r) {
		p.hang("  ", s)
	}
	if len(r.Collections) > 1 {
		columns, rows := summaryTable(r)
		p.table(columns, shortNames(rows))
		for _, s := range averageText(r) {
			p.hang("  ", s)
		}
	}
	for i := range r.Collections {
		c := &r.Collections[i]
		if len(r.Collections) > 1 {
			p.line("")
			p.line(strings.Repeat("─", 12) + " " + counted(c.Name))
		}
		if c.Error != "" {
			p.line("")
			p.hang("  FAILED  ", c.Error)
			continue
		}
		p.table(valueColumns, valueRows(c.Values))
		if c.BM25 != nil {
			p.table(baselineColumns, baselineRows(c.BM25))
			p.hang("  ", c.BM25.System+", "+seconds(c.BM25.Seconds))
		}
		p.table(storeColumns, storeRows(c.Stores))
		p.section("Collection")
		for _, l := range collectionFacts(c) {
			p.row(l.name, l.text)
		}
		for _, n := range c.Notes {
			p.row("note", counted(n))
		}
	}
	p.section("What ran")
	for _, l := range evalFacts(r) {
		p.row(l.name, l.text)
	}
	p.section("Environment")
	for _, l := range evalEnvironment(r) {
		p.row(l.name, l.text)
	}
	list(p, "Warnings", evalWarnings(r))
	return nil
}

func evalTitle(r *eval.Record) string {
	on := fmt.Sprintf("%d collections", len(r.Collections))
	if len(r.Collections) == 1 {
		on = counted(r.Collections[0].Name)
	}
	return fmt.Sprintf("encbench eval: %s on %s", orNone(r.Model.Name), on)
}

func evalMark(r *eval.Record) string {
	switch r.Status {
	case bench.StatusComplete:
		return ""
	case bench.StatusInterrupted:
		return "INTERRUPTED"
	case bench.StatusFailed:
		return "FAILED IN PART"
	}
	return strings.ToUpper("status " + orNone(r.Status))
}

func done(r *eval.Record) int {
	n := 0
	for _, c := range r.Collections {
		if c.Error == "" {
			n++
		}
	}
	return n
}

// doneText says how many collections a report holds that others are missing from.
func doneText(r *eval.Record) string {
	if n := done(r); n != 1 {
		return fmt.Sprintf("%d of its collections are done", n)
	}
	return "1 of its collections is done"
}

// headlines are the first measure, and BM25's beside it, in words.
func headlines(r *eval.Record) []string {
	if len(r.Collections) != 1 || len(r.Collections[0].Values) == 0 {
		return nil
	}
	c := &r.Collections[0]
	v := c.Values[0]
	depth := ", k " + bench.Thousands(int64(r.Protocol.K))
	if r.Protocol.K > c.Documents {
		depth = ", all of which are ranked (k " + bench.Thousands(int64(r.Protocol.K)) + ")"
	}
	out := []string{fmt.Sprintf("%s %s, 95 %% interval %s, over %s and %s%s", v.Measure, value(v.Mean), between(v.CI),
		queries(v.N), plural(int64(c.Documents), "document"), depth)}
	if c.BM25 != nil && len(c.BM25.Values) > 0 {
		d := c.BM25.Differences[0]
		out = append(out, fmt.Sprintf("BM25 has %s: model − BM25 is %s (95 %% interval %s, p Holm %s)", value(c.BM25.Values[0].Mean), change(d.Diff), betweenChanges(d.CI), pvalue(d.Holm)))
	}
	return out
}

// evalEnvironment is what decides speed little and repeatability much.
func evalEnvironment(r *eval.Record) []ledger {
	e := r.Env
	return []ledger{
		{"processor", join(", ", e.CPU.Model, given(e.CPU.Logical > 0, plural(int64(e.CPU.Logical), "CPU")))},
		{"system", join(", ", given(e.OS != "", e.OS+"/"+e.Arch), e.Kernel, given(e.HostHash != "", "host "+e.HostHash))},
		{"software", join(", ", "encbench "+orNone(r.Tool.Version), commitText(r.Tool), r.Tool.Go, given(r.Engine.Library != "", r.Engine.Library+" "+shortHash(r.Engine.LibrarySHA256)))},
		{"hashes", join(", ", hash("model", r.Model.SHA256), hash("config", r.Model.ConfigSHA256), hash("tokenizer", r.Model.TokenizerSHA256))},
		{"memory", given(r.Memory.PeakRSS > 0, memorySize(r.Memory.PeakRSS)+" at the peak")},
		{"command", strings.Join(r.Command, " ")},
		{"started", given(!r.Started.IsZero(), r.Started.UTC().Format("2006-01-02 15:04:05 UTC"))},
	}
}

func evalWarnings(r *eval.Record) []string {
	out := make([]string, len(r.Warnings))
	for i, w := range r.Warnings {
		out[i] = warningText(w)
	}
	return out
}
