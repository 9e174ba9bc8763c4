package main

import (
	"fmt"
	"math"
	"strings"

	"encbench/bench"
	"encbench/bench/env"
	"encbench/bench/eval"
	"encbench/bench/report"
	"encbench/bench/rerank"
	"encbench/metrics/stat"
)

// syntheticMark stands on every report of a model with random weights.
const syntheticMark = "synthetic weights: speed only"

// rerankSheet lays a record out.
func rerankSheet(r *rerank.Record) *sheet {
	s := &sheet{title: "encbench rerank: " + r.Model.Name}
	if len(r.Collections) == 1 {
		s.title += " on " + r.Collections[0].Name
	}
	if r.Status != bench.StatusComplete {
		s.marks = append(s.marks, fmt.Sprintf("%s: %s done", strings.ToUpper(r.Status), count(len(r.Collections), "collection")))
	}
	if r.Model.Synthetic {
		s.marks = append(s.marks, syntheticMark)
	}
	for i := range r.Collections {
		c := &r.Collections[i]
		name := ""
		if len(r.Collections) > 1 {
			name = c.Name + ": "
		}
		if len(c.After) > 0 {
			s.heads = append(s.heads, name+valueHead(c))
		}
		s.heads = append(s.heads, name+rateHead(c))
	}
	for i := range r.Collections {
		c := &r.Collections[i]
		name := ""
		if len(r.Collections) > 1 {
			name = " of " + c.Name
		}
		s.sections = append(s.sections,
			section{title: "Values" + name, table: rerankValues(c)},
			section{title: "Change" + name + ", paired by query", table: rerankChange(c)},
			section{title: "Pairs" + name, facts: rerankLedger(c, r)},
			section{title: "Stages" + name, table: stageTable(c)})
	}
	s.sections = append(s.sections,
		section{title: "What ran", facts: rerankFacts(r)},
		section{title: "Environment", facts: environmentFacts(r.Env, r.Tool, r.Model, r.Engine, r.Memory, r.Command, r.Started.UTC().Format("2006-01-02 15:04:05 UTC"))},
		section{title: "Warnings", list: warningLines(r.Warnings)})
	return s
}

// valueHead says what the first measure came to.
func valueHead(c *rerank.Collection) string {
	d := c.Differences[0]
	change := fmt.Sprintf("%+.4f", d.Diff)
	if d.CI.Known() {
		change += fmt.Sprintf(" (95 %% interval %+.4f to %+.4f)", d.CI.Low, d.CI.High)
	}
	return fmt.Sprintf("%s %.4f → %.4f, %s, over %s", d.Measure, c.Before[0].Mean, c.After[0].Mean, change, count(c.After[0].N, "query"))
}

// rateHead gives pairs and tokens a second.
func rateHead(c *rerank.Collection) string {
	if c.Pairs.PerS == 0 { // of a stand-in tokenizer
		return fmt.Sprintf("%s tokens/s%s: %s in %s", report.Number(c.Tokens.PerS), rateInterval(c.Tokens), count(c.Ledger.Pairs, "pair"), report.Seconds(c.Times.TimedS))
	}
	return fmt.Sprintf("%s pairs/s%s, %s tokens/s: %s in %s", report.Number(c.Pairs.PerS), rateInterval(c.Pairs), report.Number(c.Tokens.PerS),
		count(c.Ledger.Pairs, "pair"), report.Seconds(c.Times.TimedS))
}

func rateInterval(r rerank.Rate) string {
	if !r.Known() {
		return fmt.Sprintf(" (no interval from %s)", count(r.Windows, "window"))
	}
	return fmt.Sprintf(" (95 %% interval %s – %s)", report.Number(r.Low), report.Number(r.High))
}

// rerankValues puts before and after side by side.
func rerankValues(c *rerank.Collection) *textTable {
	t := columns("measure", ">before", ">95 % interval", ">after", ">95 % interval", "interval by")
	for i := range c.Differences {
		value := func(v eval.Value) []string { return []string{fmt.Sprintf("%.4f", v.Mean), span(v.CI)} }
		row := append([]string{c.After[i].Measure}, value(c.Before[i])...)
		t.row(append(append(row, value(c.After[i])...), strings.TrimPrefix(c.After[i].CI.Method, "none: "))...)
	}
	return t
}

// rerankChange is what the order changed, paired by query.
func rerankChange(c *rerank.Collection) *textTable {
	t := columns("measure", ">after − before", ">95 % interval", ">p", ">p (Holm)", ">better, equal, worse")
	for _, d := range c.Differences {
		between := "–"
		if d.CI.Known() {
			between = fmt.Sprintf("%+.4f to %+.4f", d.CI.Low, d.CI.High)
		}
		t.row(d.Measure, fmt.Sprintf("%+.4f", d.Diff), between, pValue(d.P), pValue(d.Holm), outcomesOf(d.Paired))
	}
	return t
}

func outcomesOf(p stat.Paired) string {
	n := func(n int) string { return bench.Thousands(int64(n)) }
	return n(p.Wins) + ", " + n(p.Ties) + ", " + n(p.Losses)
}

// rerankLedger says what became of queries and documents.
func rerankLedger(c *rerank.Collection, r *rerank.Record) [][2]string {
	l, t := &c.Ledger, &c.Times
	part := func(n int64) string { return percentOf(n, l.Tokens) }
	cut := "no pair"
	if l.PairsCut > 0 {
		cut = fmt.Sprintf("%s (%s) and %s: %s dropped", count(l.PairsCut, "pair"), percentOf(l.PairsCut, l.Pairs), count(l.DocumentsCut, "document"), count(l.Dropped, "document token"))
	}
	queries := "no query"
	if l.QueriesCut > 0 {
		queries = fmt.Sprintf("%s: %s dropped", count(l.QueriesCut, "query"), count(l.QueryDropped, "token"))
	}
	missing := ""
	if l.DocumentsMissing > 0 {
		missing = fmt.Sprintf("%s and %s of the run are not in the collection", count(l.DocumentsMissing, "document"), count(l.PairsMissing, "pair"))
	}
	some := func(n int64, noun, text string) string {
		return where(n > 0, strings.TrimSpace(count(n, noun)+" "+text))
	}
	hash := func(h string) string { return where(h != "", fmt.Sprintf("hash %.12s", h)) }
	return [][2]string{
		{"scored", fmt.Sprintf("%s of %s and %s, the first %s", count(l.Pairs, "pair"), count(l.QueriesReranked, "query"), count(l.Documents, "document"), bench.Thousands(int64(r.Protocol.Top)))},
		{"tokens", fmt.Sprintf("%s: %s of documents, %s of queries, %s special; %s a pair, longest %s", bench.Thousands(l.Tokens),
			part(l.DocumentTokens), part(l.QueryTokens), part(l.SpecialTokens), report.Number(float64(l.Tokens)/float64(max(1, l.Pairs))), bench.Thousands(l.Longest))},
		{"padding", where(l.PaddedTokens > l.Tokens, fmt.Sprintf("%s issued, %.3f× the real ones", count(l.PaddedTokens, "token"), float64(l.PaddedTokens)/float64(max(1, l.Tokens))))},
		{"cut", cut},
		{"queries cut", queries},
		{"missing", missing},
		{"integrity", joined(some(int64(l.QueriesShort), "query", "with fewer candidates"), some(int64(l.QueriesAbsent), "judged query", "without a list"),
			some(int64(l.QueriesUnknown), "query", "of the run left out"), some(int64(l.QueriesTied), "query", "with equal logits"), some(int64(l.QueriesEmpty), "query", "without a token"),
			some(l.DocumentsEmpty, "document", "without a token"), some(int64(l.SelfHits), "document", "with the query's own id dropped"), some(l.Repaired, "invalid UTF-8 sequence", "repaired"))},
		{"collection", joined(count(c.Documents, "document"), count(c.Queries, "query")+where(c.Queries < c.OfQueries, " of "+bench.Thousands(int64(c.OfQueries))), c.Layout, where(c.Split != "", "split "+c.Split),
			where(c.Part != "", c.Part+" part"), hash(c.SHA256))},
		{"first stage", joined(c.First.File, where(c.First.Tag != "", "tag "+c.First.Tag), where(c.First.Model != "", "model "+c.First.Model), hash(c.First.SHA256))},
		{"times", fmt.Sprintf("reading %s, warm-up %s, timed %s (encoder busy %s), order, judge and write %s", report.Seconds(t.ReadS), report.Seconds(t.WarmupS), report.Seconds(t.TimedS), report.Seconds(t.EncodeS), report.Seconds(t.FinishS))},
		{"run", c.Run},
		{"notes", strings.Join(c.Notes, "; ")},
	}
}

// percentOf writes n as a share of all.
func percentOf(n, all int64) string {
	share := 100 * float64(n) / float64(max(1, all))
	if share > 0 && share < 0.05 {
		return "<0.1 %"
	}
	return fmt.Sprintf("%.1f %%", share)
}

// stageTable is where the timed part went.
func stageTable(c *rerank.Collection) *textTable {
	t := columns("stage", ">workers", ">busy", ">share", ">waiting")
	for _, s := range c.Stages {
		share := "–"
		if all := c.Times.TimedS * float64(s.Workers); all > 0 {
			share = fmt.Sprintf("%.1f %%", 100*s.BusyS/all)
		}
		t.row(s.Name, bench.Thousands(int64(s.Workers)), report.Seconds(s.BusyS), share, report.Seconds(s.WaitS))
	}
	return t
}

// rerankFacts say what was run.
func rerankFacts(r *rerank.Record) [][2]string {
	p := r.Protocol
	facts := [][2]string{
		{"model", modelFact(r.Model)},
		{"pairs", p.Template},
		{"length", p.Truncation},
		{"order", p.Order},
		{"timed", p.Region},
		{"averages", where(!r.Model.Synthetic, p.Convention)},
		{"intervals", fmt.Sprintf("95 %%, %s resamples, seed %d; of rates over windows of consecutive batches", bench.Thousands(int64(p.Resamples)), p.Seed)},
		{"engine", engineFact(r.Engine)},
	}
	facts = append(facts, report.DeviceFacts(r.Engine)...)
	return append(facts, [2]string{"accuracy", accuracyFact(r.Accuracy)}, [2]string{"cold start", coldFact(r.Cold)})
}

// modelFact names a model.
func modelFact(m bench.Model) string {
	size := ""
	if m.Parameters > 0 {
		size = report.Number(float64(m.Parameters)/1e6) + " M parameters"
	}
	dtype := m.Computed
	if m.Stored != m.Computed && m.Stored != "" {
		dtype = "stored " + m.Stored + ", computed " + m.Computed
	}
	return joined(m.Name, where(m.Synthetic, syntheticMark), where(m.StandInTokenizer, "stand-in tokenizer"), m.Architecture, size,
		where(m.Layers > 0, fmt.Sprintf("%s × %d", count(m.Layers, "layer"), m.Hidden)), dtype, m.Source)
}

func engineFact(e bench.Engine) string {
	return joined(strings.TrimSpace(e.Backend+" "+e.Version), e.Device, count(e.Threads, "thread"), e.HowRun)
}

func accuracyFact(a bench.Accuracy) string {
	state := "FAILED"
	if a.Passed {
		state = "passed"
	}
	for _, x := range []float64{a.Min, a.Mean, a.MaxDiff} {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return joined(state, a.Level, a.Error)
		}
	}
	return joined(state, a.Level) + ": " + a.Figures()
}

func coldFact(c bench.Cold) string {
	if c.Total <= 0 {
		return ""
	}
	return fmt.Sprintf("%s to the first result: load the model %s, import it %s, create the session %s, first run %s",
		report.Seconds(c.Total), report.Seconds(c.ModelLoad), report.Seconds(c.Import), report.Seconds(c.SessionCreate), report.Seconds(c.FirstRun))
}

// environmentFacts are what decides speed, and what it takes to do it again.
func environmentFacts(e env.Facts, t bench.Tool, m bench.Model, g bench.Engine, memory bench.Memory, command []string, started string) [][2]string {
	commit := "commit unknown"
	if t.Commit != "" {
		commit = fmt.Sprintf("commit %.12s", t.Commit) + where(t.Dirty, " with changes")
	}
	hash := func(what, h string) string { return where(h != "", fmt.Sprintf("%s %.12s", what, h)) }
	return [][2]string{
		{"processor", joined(e.CPU.Model, where(e.CPU.Cores > 0, count(e.CPU.Cores, "core")), where(e.CPU.Logical > 0, count(e.CPU.Logical, "CPU")), where(e.CPU.Governor != "", "governor "+e.CPU.Governor))},
		{"limits", cpuLimitsOf(e)},
		{"system", joined(where(e.OS != "", e.OS+"/"+e.Arch), e.Kernel, where(e.HostHash != "", "host "+e.HostHash))},
		{"software", joined("encbench "+t.Version, commit, t.Go, where(g.Library != "", fmt.Sprintf("%s %.12s", g.Library, g.LibrarySHA256)))},
		{"hashes", joined(hash("model", m.SHA256), hash("config", m.ConfigSHA256), hash("tokenizer", m.TokenizerSHA256))},
		{"memory", where(memory.PeakRSS > 0, report.Size(memory.PeakRSS)+" at the peak")},
		{"command", strings.Join(command, " ")},
		{"started", started},
	}
}

func warningLines(warnings []bench.Warning) (lines []string) {
	for _, w := range warnings {
		lines = append(lines, w.Code+": "+w.Text+where(w.Advice != "", " (advice: "+w.Advice+")"))
	}
	return lines
}
