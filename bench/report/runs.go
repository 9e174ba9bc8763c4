package report

import (
	"fmt"
	"slices"
	"strings"

	"encbench/bench"
)

// axis is a setting that runs of one command may differ in.
type axis struct {
	name  string
	right bool
	of    func(*bench.Record) string
}

var axes = []axis{
	{"model", false, func(r *bench.Record) string { return r.Model.Name }},
	{"corpus", false, func(r *bench.Record) string { return r.Corpus.Name }},
	{"region", false, func(r *bench.Record) string { return string(r.Protocol.Region) }},
	{"dtype", false, dtypeText},
	{"chunk", true, func(r *bench.Record) string { return fmt.Sprint(r.Protocol.Chunk) }},
	{"overlap", true, func(r *bench.Record) string { return fmt.Sprint(r.Protocol.Overlap) }},
	{"batch", true, func(r *bench.Record) string { return batchShort(r.Protocol) }},
	{"ubatch", true, func(r *bench.Record) string { return r.Engine.UBatch }},
	{"device", false, func(r *bench.Record) string { return r.Engine.Device }},
	{"threads", true, func(r *bench.Record) string { return fmt.Sprint(r.Engine.Threads) }},
	{"selection", true, func(r *bench.Record) string { return fmt.Sprint(r.Corpus.Selection.Chunks) }},
	{"profile", false, func(r *bench.Record) string { return r.Schedule.Profile }},
}

// varying gives the axes in which the records differ.
func varying(recs []*bench.Record) []axis {
	var out []axis
	for _, a := range axes {
		for _, r := range recs[1:] {
			if a.of(r) != a.of(recs[0]) {
				out = append(out, a)
				break
			}
		}
	}
	return out
}

// runTable is the table of several records: one row each, what differs, the rates,
// and the headline rate over that of the first. Where it would be wider than most
// characters, settings are left out, the widest first; they are in named, to be
// said in the notes.
func runTable(recs []*bench.Record, most int) (columns []column, rows [][]string, named []axis) {
	differ := varying(recs)
	for {
		columns, rows = runColumns(recs, differ)
		if len(differ) == 0 || tableWidth(columns, rows) <= most {
			return columns, rows, named
		}
		widest, at := 0, 0
		for i, a := range differ {
			if w := tableWidth([]column{{a.name, a.right}}, column1(recs, a)); w > widest {
				widest, at = w, i
			}
		}
		named = append(named, differ[at])
		differ = slices.Delete(slices.Clone(differ), at, at+1)
	}
}

func column1(recs []*bench.Record, a axis) [][]string {
	rows := make([][]string, len(recs))
	for i, r := range recs {
		rows[i] = []string{a.of(r)}
	}
	return rows
}

func runColumns(recs []*bench.Record, differ []axis) ([]column, [][]string) {
	columns := []column{{"run", true}}
	for _, a := range differ {
		columns = append(columns, column{a.name, a.right})
	}
	_, unit := recs[0].Headline()
	columns = append(columns, column{unit, true}, column{"95 % interval", true}, column{"against run 1", true})
	if unit != "chunks/s" {
		columns = append(columns, column{"chunks/s", true})
	}
	columns = append(columns, column{"tokens/s", true}, column{"MFU", true})
	rows := make([][]string, len(recs))
	for i, r := range recs {
		row := []string{fmt.Sprint(i + 1)}
		for _, a := range differ {
			row = append(row, a.of(r))
		}
		if !hasRates(r) {
			row = append(row, "no rate", none, none)
			for len(row) < len(columns) {
				row = append(row, none)
			}
			rows[i] = row
			continue
		}
		e, own := r.Headline()
		against := "baseline"
		if i > 0 {
			against = none
			if comparable(recs[0], r) {
				v, _ := bench.PairedHeadline(recs[0], r)
				against = ratio(v)
			}
		}
		median := number(e.Median)
		if own != unit {
			median += " " + own
		}
		within := none
		if bench.Coverage(e.N) >= 0.95 {
			within = interval(e.Median, e.Low, e.High)
		}
		row = append(row, median, within, against)
		if unit != "chunks/s" {
			row = append(row, estimate(r.Rates.Chunks))
		}
		mfu := none
		if r.MFU.Peak > 0 {
			mfu = percent(r.MFU.Value)
		}
		rows[i] = append(row, estimate(r.Rates.Tokens), mfu)
	}
	return columns, rows
}

func estimate(e bench.Estimate) string {
	if e.N == 0 {
		return none
	}
	return number(e.Median)
}

// comparable tells whether the headline rates of two runs count the same things:
// the same documents, or for chunks/s the same chunks. The element type is a setting:
// both have a gate of their own to pass. Settings of a sweep may
// differ; that is what it is for. bench.Compare is stricter.
func comparable(a, b *bench.Record) bool {
	_, unit := a.Headline()
	_, other := b.Headline()
	if !hasRates(a) || !hasRates(b) || unit != other || a.Protocol.Region != b.Protocol.Region ||
		a.Accuracy.Referenced() != b.Accuracy.Referenced() || a.Corpus.SHA256 != b.Corpus.SHA256 {
		return false
	}
	return unit == "docs/s" || a.Corpus.Selection.SHA256 == b.Corpus.Selection.SHA256
}

// ratioNotes says how the ratios against run 1 were taken, and why one is missing.
func ratioNotes(recs []*bench.Record) []string {
	var out []string
	var pairs, independent, few, missing bool
	for _, r := range recs[1:] {
		if !comparable(recs[0], r) {
			missing = true
			continue
		}
		v, paired := bench.PairedHeadline(recs[0], r)
		pairs, independent = pairs || paired, independent || !paired
		few = few || bench.Coverage(v.N) < 0.95
	}
	if pairs {
		out = append(out, "Against run 1: the median over the rounds in which both were measured, with its 95 % interval.")
	}
	if independent {
		s := "Against run 1: the ratio of the medians of independent samples, with its 95 % interval."
		if pairs {
			s = "Runs that share no rounds with run 1: the ratio of the medians, taken as independent samples."
		}
		out = append(out, s)
	}
	if few {
		out = append(out, "A ratio of fewer than 6 samples has no interval: too few to say whether the runs differ.")
	}
	if missing {
		out = append(out, "A run without a ratio has no rate, or differs from run 1 in input, timed region or accuracy level.")
	}
	return out
}

// runNotes says of each run the settings that have no column, how it ran and what
// to know before using its rates.
func runNotes(recs []*bench.Record, named ...axis) []string {
	notes := make([]string, len(recs))
	for i, r := range recs {
		parts := []string{stateMark(r)}
		for _, a := range named {
			parts = append(parts, a.name+" "+orNone(a.of(r)))
		}
		parts = append(parts, r.Engine.HowRun)
		if hasRates(r) {
			e, _ := r.Headline()
			parts = append(parts, spread(e)+", "+seconds(r.TimedSeconds())+" timed", projected(r))
		} else {
			parts = append(parts, "NO RATE: "+whyNoRates(r))
		}
		parts = append(parts, given(len(r.Engine.Devices) > 0, "on "+r.Engine.Parts()))
		notes[i] = join("; ", append(parts, publishable(r))...)
	}
	return notes
}

// shared gathers what is said of the records, each text once, in the order first
// said, with the runs it holds for unless it holds for all.
func shared(recs []*bench.Record, said func(*bench.Record) []string) []string {
	var texts []string
	runs := map[string][]string{}
	for i, r := range recs {
		for _, s := range said(r) {
			if runs[s] == nil {
				texts = append(texts, s)
			}
			runs[s] = append(runs[s], fmt.Sprint(i+1))
		}
	}
	for i, s := range texts {
		switch of := runs[s]; {
		case len(of) == 1:
			texts[i] = "run " + of[0] + ": " + s
		case len(of) < len(recs):
			texts[i] = "runs " + strings.Join(of, ", ") + ": " + s
		}
	}
	return texts
}

func warningTexts(r *bench.Record) []string {
	texts := make([]string, len(r.Warnings))
	for i, w := range r.Warnings {
		texts[i] = warningText(w)
	}
	return texts
}

// writeRuns renders several records as one table. What all runs share is taken
// from the first.
func writeRuns(p page, recs []*bench.Record) {
	first := recs[0]
	p.hang("", fmt.Sprintf("encbench speed: %s of %s on %s", plural(int64(len(recs)), "run"), orNone(first.Model.Name), orNone(first.Corpus.Name)))
	columns, rows, named := runTable(recs, tableLimit)
	columns[0] = column{"Runs", true}
	p.table(columns, rows)
	for _, s := range ratioNotes(recs) {
		p.hang("  ", s)
	}
	p.section("Notes")
	for i, n := range runNotes(recs, named...) {
		p.hang(fmt.Sprintf("  %d  ", i+1), n)
	}
	p.section("Run 1 in full (the others differ as said above)")
	p.row("model", modelText(first.Model))
	p.row("corpus", corpusText(first.Corpus))
	p.row("selection", selectionText(first.Corpus))
	p.row("protocol", protocolText(first.Protocol))
	p.row("timed", regionText(first))
	p.row("engine", engineText(first.Engine))
	for _, l := range deviceFacts(first.Engine) {
		p.row(l.name, l.text)
	}
	p.row("schedule", scheduleText(first.Schedule))
	if hasRates(first) {
		for _, l := range ledgers(first) {
			p.row(l.name, l.text)
		}
		p.row("bottleneck", first.Bottleneck)
		p.row("MFU", utilizationText(first.MFU, onReal))
	}
	p.row("accuracy", accuracyLine(first.Accuracy))
	writeEnvironment(p, first)
	list(p, "Warnings", shared(recs, warningTexts))
	list(p, "Not publishable, because", shared(recs, func(r *bench.Record) []string { return r.Verdict.Reasons }))
}

// accuracyLine is the gate in one line.
func accuracyLine(a bench.Accuracy) string {
	if !a.Passed {
		return "FAILED: " + gateOutcome(a)
	}
	s := fmt.Sprintf("passed (%s), %s", orNone(a.Level), figures(a))
	if a.Retrieval != nil {
		s += "; " + retrievalText(a.Retrieval)
	}
	return s
}

// dtypeText is the type computed in, after the one stored where that is another.
func dtypeText(r *bench.Record) string {
	if s := r.Model.Stored; s != "" && s != r.Protocol.DType && !strings.Contains(s, " ") {
		return s + " → " + r.Protocol.DType
	}
	return r.Protocol.DType
}
