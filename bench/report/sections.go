package report

import (
	"fmt"
	"strings"

	"encbench/bench"
)

// rateRow is one of the five rates under the name that every format shows. basis
// says what it counts where the rates count different things.
type rateRow struct {
	name, unit, basis string
	e                 bench.Estimate
}

func rateRows(r *bench.Record) []rateRow {
	var corpus, timed string
	if r.Projection != nil {
		corpus, timed = "projected", "timed chunks"
	}
	text := rateRow{"text", "MB/s", corpus, r.Rates.TextMB}
	if e := &text.e; e.Median < 0.1 {
		text.unit = "kB/s"
		for _, x := range []*float64{&e.Median, &e.Low, &e.High, &e.Min, &e.Max} {
			*x *= 1000
		}
	}
	return []rateRow{
		{"documents", "docs/s", corpus, r.Rates.Docs},
		{"chunks", "chunks/s", timed, r.Rates.Chunks},
		{"tokens, real", "tokens/s", timed, r.Rates.Tokens},
		{"tokens with padding", "tokens/s", timed, r.Rates.Padded},
		text,
	}
}

// cells gives a rate's median, interval, variation, range and basis as text.
func (r rateRow) cells() []string {
	e := r.e
	if e.N == 0 {
		return []string{r.name, none, r.unit, none, none, none, none, r.basis}
	}
	d := places(e.Median)
	within, cv := interval(e.Median, e.Low, e.High), percent(e.CV)
	if e.N == 1 {
		within, cv = none, none
	}
	return []string{r.name, number(e.Median), r.unit, within, cv, fixed(e.Min, d), fixed(e.Max, d), r.basis}
}

// intervalTitle names the ends of an estimate from n samples for what they are.
func intervalTitle(n int) string {
	if bench.Coverage(n) < 0.95 {
		return "range"
	}
	return "95 % interval"
}

func rateColumns(r *bench.Record) []column {
	e, _ := r.Headline()
	return []column{{"Rates", false}, {"median", true}, {"", false}, {intervalTitle(e.N), true}, {"CV", true}, {"min", true}, {"max", true}, {"basis", false}}
}

// rateNote says what the tokens are and, for a sample, how docs/s follows from it.
func rateNote(r *bench.Record) string {
	s := "tokens are counted incl. overlap and special tokens"
	if r.Model.StandInTokenizer {
		s += "; documents and text are not, as the tokenizer is a stand-in and makes other numbers of tokens of them"
	}
	if pr := r.Projection; pr != nil {
		s += fmt.Sprintf("; projected docs/s is %s; the whole corpus would take %s", pr.Formula, seconds(pr.CorpusS))
	}
	return s
}

func writeRates(p page, r *bench.Record) {
	var rows [][]string
	for _, row := range rateRows(r) {
		rows = append(rows, row.cells())
	}
	columns := rateColumns(r)
	if tableWidth(columns, rows) > tableLimit {
		for _, row := range rows { // the range gives way first; the record has it
			row[5], row[6] = "", ""
		}
	}
	p.table(columns, rows)
	p.hang("  ", rateNote(r))
}

var stageColumns = []column{{"Stages", false}, {"workers", true}, {"busy", true}, {"share", true}, {"waiting", true}, {"hidden behind encode", true}}

// stageRows gives the stage table; share is busy time over the timed seconds of
// all workers of the stage.
func stageRows(r *bench.Record) [][]string {
	timed := r.TimedSeconds()
	var rows [][]string
	for _, s := range r.Stages {
		share := none
		if timed > 0 && s.Workers > 0 {
			share = percent(s.BusyS / (timed * float64(s.Workers)))
		}
		hidden := none // also where stages share CPUs, and nobody can tell
		if s.Overlap != nil && s.Name != "encode" {
			hidden = percent(*s.Overlap)
		}
		rows = append(rows, []string{s.Name, bench.Thousands(int64(s.Workers)), columnSeconds(s.BusyS), share, columnSeconds(s.WaitS), hidden})
	}
	return rows
}

// columnSeconds writes seconds for a column, where one unit and one precision compare
// at a glance.
func columnSeconds(s float64) string {
	switch {
	case !isNumber(s):
		return none
	case s == 0:
		return "0" + gap + "s"
	case s > 0 && s < 0.01:
		return "<0.01" + gap + "s"
	}
	return fixed(s, 2) + gap + "s"
}

func writeStages(p page, r *bench.Record) {
	p.table(stageColumns, stageRows(r))
	if r.Bottleneck != "" {
		p.hang("  bottleneck: ", r.Bottleneck)
	}
}

// ledger is one account of where tokens went.
type ledger struct{ name, text string }

func ledgers(r *bench.Record) []ledger {
	pad, over := r.Padding, r.Overlap
	out := []ledger{}
	if pad.Padded > 0 {
		out = append(out, ledger{"padding", fmt.Sprintf("%s× linear, %s× quadratic: %s issued, %s real, %s padding",
			number(pad.Linear), number(pad.Quadratic), plural(pad.Padded, "token"), bench.Thousands(pad.Real), percent(1-float64(pad.Real)/float64(pad.Padded)))})
	}
	if over.Factor > 0 {
		out = append(out, ledger{"overlap", fmt.Sprintf("%s× content: %s encoded again, plus %s and %s (corpus)",
			number(over.Factor), plural(over.Tokens, "content token"), plural(over.Special, "special token"), plural(over.Prompt, "prompt token"))})
	}
	return append(out, ledger{"truncation", truncationText(r.Truncation)})
}

func truncationText(t bench.Truncation) string {
	s := "nothing cut"
	if t.DocsCut > 0 || t.Dropped > 0 {
		s = fmt.Sprintf("%s cut, %s dropped", plural(t.DocsCut, "document"), plural(t.Dropped, "token"))
	}
	s += fmt.Sprintf("; %s, %s repaired, %s left out", plural(t.Empty, "empty document"), plural(t.Repaired, "invalid UTF-8 sequence"), plural(t.BadLines, "broken line"))
	if t.Policy != "" {
		s = "policy " + t.Policy + ": " + s
	}
	return s
}

func writeLedgers(p page, r *bench.Record) {
	p.section("Ledgers")
	for _, l := range ledgers(r) {
		p.row(l.name, l.text)
	}
}

func utilizationText(u bench.Utilization, what string) string {
	if u.Peak <= 0 {
		return ""
	}
	return fmt.Sprintf("%s = %s %s, of %s", percent(u.Value), scaled(u.FLOPS, "FLOP/s"), what, scaled(u.Peak, "FLOP/s"))
}

const (
	onReal = "on real tokens"
	issued = "issued, padding and masked attention included"
)

func writeUtilization(p page, r *bench.Record) {
	mfu, hfu := utilizationText(r.MFU, onReal), utilizationText(r.HFU, issued)
	if mfu == "" && hfu == "" {
		if len(r.Engine.Devices) > 0 && r.MFU.Source != "" {
			p.section("Use of the machine")
			p.row("MFU", r.MFU.Source)
		}
		return
	}
	p.section("Use of the machine")
	p.row("MFU", mfu)
	p.row("", r.MFU.Formula)
	p.row("HFU", hfu)
	if r.HFU.Formula != r.MFU.Formula {
		p.row("", r.HFU.Formula)
	}
	p.row("peak", r.MFU.Source)
}

func writeAccuracy(p page, r *bench.Record) {
	a := r.Accuracy
	state := "FAILED"
	if a.Passed {
		state = "passed"
	}
	p.section("Accuracy: " + state)
	p.row("level", join(", ", a.Level, given(a.Reference != "", "against "+a.Reference)))
	if len(a.Probes) > 0 {
		p.row("distance", figures(a))
	}
	p.row("real texts", retrievalText(a.Retrieval))
	p.row("error", a.Error)
	p.table(probeColumns(a), probeRows(a))
}

// retrievalText is what converted weights cost on a labelled collection.
func retrievalText(r *bench.Retrieval) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%s %s of the original weights' on %s (%s against %s; %s, %s); cosines of %s: least %s, mean %s",
		r.Measure, fixed(r.Ratio, 4)+"×", r.Collection, fixed(r.Value, 4), fixed(r.Original, 4), plural(int64(r.Documents), "document"),
		queries(r.Queries), plural(int64(r.Texts), "text"), fixed(r.Min, 5), fixed(r.Mean, 5))
}

func probeColumns(a bench.Accuracy) []column {
	what := "1 − cosine alone"
	if a.Output == bench.OutputLogits {
		what = "off alone, share of the spread"
	}
	return []column{{"Probes (tokens)", true}, {what, true}, {"in a batch", true}}
}

func probeRows(a bench.Accuracy) [][]string {
	var rows [][]string
	for _, b := range a.Probes {
		if a.Output == bench.OutputLogits {
			rows = append(rows, []string{bench.Thousands(int64(b.Tokens)), bench.Deviation(b.DiffAlone), bench.Deviation(b.DiffBatch)})
			continue
		}
		rows = append(rows, []string{bench.Thousands(int64(b.Tokens)), imprecision(b.Alone), imprecision(b.Batch)})
	}
	return rows
}

// writeStart tells what the clock left out: cold start and warm-up, and what
// memory it took.
func writeStart(p page, r *bench.Record) {
	c := r.Cold
	parts := join(", ", timed("load the model", c.ModelLoad), timed("import it", c.Import), timed("create the session", c.SessionCreate), timed("first run", c.FirstRun))
	if c.Total > 0 {
		parts = seconds(c.Total) + " to the first vector" + given(parts != "", ": ") + parts
	}
	memory := memoryText(r.Memory)
	if parts == "" && c.CorpusScan == 0 && r.Warmup.Seconds == 0 && memory == "" {
		return
	}
	p.section("Outside the clock")
	p.row("cold start", parts)
	p.row("corpus scan", given(c.CorpusScan > 0, seconds(c.CorpusScan)+", not part of the cold start"))
	p.row("warm-up", warmupText(r.Warmup))
	p.row("memory", memory)
}

func timed(what string, s float64) string { return given(s > 0, what+" "+seconds(s)) }

// warmupText names the length bucket whose first run cost most over its second.
func warmupText(w bench.Warmup) string {
	if w.Seconds <= 0 {
		return ""
	}
	s := fmt.Sprintf("%s over %s", seconds(w.Seconds), plural(int64(len(w.Buckets)), "length bucket"))
	var worst bench.BucketWarmup
	for _, b := range w.Buckets {
		if b.Second > 0 && (worst.Second == 0 || b.First/b.Second > worst.First/worst.Second) {
			worst = b
		}
	}
	if worst.Second > 0 {
		s += fmt.Sprintf("; first against second run at most %s× (%s against %s at %s)",
			brief(worst.First/worst.Second), seconds(worst.First), seconds(worst.Second), plural(int64(worst.Tokens), "token"))
	}
	return s
}

// list writes a section of one item a line; none leaves the section out.
func list(p page, title string, items []string) {
	if len(items) == 0 {
		return
	}
	p.section(title)
	for _, s := range items {
		p.hang("  - ", s)
	}
}

func warningText(w bench.Warning) string {
	s := w.Code + ": " + w.Text
	if w.Advice != "" {
		s += " (advice: " + w.Advice + ")"
	}
	return s
}

func writeVerdict(p page, r *bench.Record) {
	if r.Verdict.Publishable {
		p.section("Verdict: publishable")
		return
	}
	p.section("Verdict: not publishable")
	for i, reason := range r.Verdict.Reasons {
		p.hang(fmt.Sprintf("  %d. ", i+1), reason)
	}
	if len(r.Verdict.Reasons) == 0 {
		p.hang("  ", "the record holds no verdict")
	}
}

// environmentRows gives the fingerprint under the labels that text and Markdown
// share.
func environmentRows(r *bench.Record) []ledger {
	e := r.Env
	cpu := e.CPU
	clock := join(", ", given(cpu.Governor != "", "governor "+join(" / ", cpu.Governor, cpu.Driver)), given(cpu.Turbo != "", "turbo "+cpu.Turbo),
		given(cpu.CurrentMHz > 0, fixed(cpu.CurrentMHz/1000, 2)+gap+"GHz now"), given(cpu.MaxMHz > 0, fixed(cpu.MaxMHz/1000, 2)+gap+"GHz at most"))
	lim := e.Limits
	quota := "no CPU quota"
	if lim.Quota > 0 {
		quota = "quota of " + trimNumber(lim.Quota) + gap + "CPUs"
	}
	limits := ""
	if lim.Affinity > 0 {
		limits = join(", ", fmt.Sprintf("%s in the affinity mask (%s)", plural(int64(lim.Affinity), "CPU"), orNone(lim.AffinityList)), quota,
			given(lim.MemoryBytes > 0, memorySize(lim.MemoryBytes)+" memory limit"), given(lim.Nice != 0, fmt.Sprintf("nice %d", lim.Nice)))
	}
	memory := ""
	if e.Memory.TotalBytes > 0 {
		memory = join(", ", memorySize(e.Memory.TotalBytes), memorySize(e.Memory.AvailableBytes)+" available",
			given(e.Memory.SwapUsedBytes > 0, memorySize(e.Memory.SwapUsedBytes)+" swapped out"),
			given(e.Memory.HugePages != "", "huge pages "+e.Memory.HugePages), given(cpu.NUMANodes > 0, plural(int64(cpu.NUMANodes), "NUMA node")))
	}
	return []ledger{
		{"processor", join(", ", cpu.Model, given(cpu.Sockets > 0, plural(int64(cpu.Sockets), "socket")), given(cpu.Cores > 0, plural(int64(cpu.Cores), "core")),
			given(cpu.Logical > 0, plural(int64(cpu.Logical), "CPU")), smtText(cpu.SMT), strings.Join(cpu.ISA, " "))},
		{"clock", clock},
		{"limits", limits},
		{"memory", memory},
		{"load", fmt.Sprintf("%.2f, %.2f, %.2f over 1, 5 and 15 minutes before the run%s", e.Load.One, e.Load.Five, e.Load.Fifteen, loadAfter(r))},
		{"system", join(", ", given(e.OS != "", e.OS+"/"+e.Arch), e.Kernel, e.Distribution, e.Virtualization, given(e.Container != "", "in "+e.Container), given(e.HostHash != "", "host "+e.HostHash))},
		{"software", join(", ", "encbench "+orNone(r.Tool.Version), commitText(r.Tool), r.Tool.Go, given(r.Engine.Library != "", r.Engine.Library+" "+shortHash(r.Engine.LibrarySHA256)))},
		{"hashes", join(", ", hash("model", r.Model.SHA256), hash("config", r.Model.ConfigSHA256), hash("tokenizer", r.Model.TokenizerSHA256), hash("corpus", r.Corpus.SHA256), hash("input", r.Corpus.Selection.SHA256))},
		{"command", strings.Join(r.Command, " ")},
		{"started", given(!r.Started.IsZero(), r.Started.UTC().Format("2006-01-02 15:04:05 UTC"))},
		{"unknown", strings.Join(e.Unknown, ", ")},
	}
}

func smtText(s string) string {
	if s == "notsupported" {
		return "no SMT"
	}
	return given(s != "", "SMT "+s)
}

func loadAfter(r *bench.Record) string {
	if len(r.Samples) == 0 {
		return ""
	}
	return fmt.Sprintf("; %.2f after it", r.Samples[len(r.Samples)-1].LoadAvg)
}

func commitText(t bench.Tool) string {
	switch {
	case t.Commit == "":
		return "commit unknown"
	case t.Dirty:
		return "commit " + shortHash(t.Commit) + " with changes"
	}
	return "commit " + shortHash(t.Commit)
}

func hash(what, h string) string { return given(h != "", what+" "+shortHash(h)) }

func writeEnvironment(p page, r *bench.Record) {
	p.section("Environment")
	for _, l := range environmentRows(r) {
		p.row(l.name, l.text)
	}
}
