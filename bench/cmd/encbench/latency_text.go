package main

import (
	"fmt"
	"slices"
	"strings"

	"encbench/bench"
	"encbench/bench/latency"
	"encbench/bench/report"
)

// latencySheet lays a record out.
func latencySheet(r *latency.Record) *sheet {
	s := &sheet{title: fmt.Sprintf("encbench latency: %s, one query at a time on %s", r.Model.Name, count(r.Engine.Threads, "thread"))}
	if r.Status != bench.StatusComplete {
		s.marks = append(s.marks, fmt.Sprintf("%s: measured until then: %s of each length", strings.ToUpper(r.Status), count(r.Lengths[len(r.Lengths)-1].Vector.N, "sample")))
	}
	if r.Model.Synthetic {
		s.marks = append(s.marks, syntheticMark)
	}
	for i := range r.Lengths {
		l := &r.Lengths[i]
		if l.Vector.N == 0 {
			continue
		}
		head := fmt.Sprintf("%s: %s to the vector", count(l.Tokens, "token"), millis(l.Vector.Median))
		if l.TopK != nil {
			head += fmt.Sprintf(", %s to the best %s of %s", millis(l.TopK.Median), bench.Thousands(int64(min(r.Protocol.K, r.Index.Rows))), count(r.Index.Rows, "row"))
		}
		sure := "median, warm"
		if l.Vector.Percentiles[0].Value == nil {
			sure = fmt.Sprintf("median of %s, too few for a figure, warm", count(l.Vector.N, "sample"))
		}
		s.heads = append(s.heads, head+" ("+sure+")")
	}
	s.sections = append(s.sections, section{title: "Text to vector, warm (ms)", table: percentileTable(r, func(l *latency.Length) *latency.Series { return &l.Vector })})
	if r.Index != nil {
		s.sections = append(s.sections, section{title: fmt.Sprintf("Text to top %s, warm (ms)", bench.Thousands(int64(min(r.Protocol.K, r.Index.Rows)))), table: percentileTable(r, func(l *latency.Length) *latency.Series { return l.TopK })})
	}
	s.sections = append(s.sections,
		section{title: "Stages, warm (ms)", table: latencyStages(r)},
		section{title: "Text to vector, cold: the first query of a session (ms)", table: coldTable(r)},
		section{title: "Cold start of the process", facts: [][2]string{{"in all", coldFact(r.Start)}}},
		section{title: "How sure", facts: sureFacts(r)},
		section{title: "What ran", facts: latencyFacts(r)},
		section{title: "Environment", facts: environmentFacts(r.Env, r.Tool, r.Model, r.Engine, r.Memory, r.Command, r.Started.UTC().Format("2006-01-02 15:04:05 UTC"))},
		section{title: "Warnings", list: warningLines(r.Warnings)})
	return s
}

// millis writes seconds as milliseconds with their unit.
func millis(s float64) string { return report.Number(1e3*s) + " ms" }

// percentileTable has a line for each length.
func percentileTable(r *latency.Record, of func(*latency.Length) *latency.Series) *textTable {
	t := columns(">tokens", ">p50", ">95 % interval", ">p95", ">95 % interval", ">p99", ">95 % interval", ">min", ">max", ">samples")
	for i := range r.Lengths {
		l := &r.Lengths[i]
		s := of(l)
		if s.N == 0 {
			continue
		}
		row := []string{bench.Thousands(int64(l.Tokens))}
		for _, p := range s.Percentiles {
			figure, between := "–", "–"
			if p.Value != nil {
				figure = report.Number(1e3 * *p.Value)
			}
			if p.Low != nil {
				between = report.Number(1e3**p.Low) + " – " + report.Number(1e3**p.High)
			}
			row = append(row, figure, between)
		}
		t.row(append(row, report.Number(1e3*s.Min), report.Number(1e3*s.Max), bench.Thousands(int64(s.N)))...)
	}
	return t
}

// latencyStages splits the time of a query.
func latencyStages(r *latency.Record) *textTable {
	t := columns(">tokens", "stage", ">median", ">95 % interval", ">share of all time", ">allocations")
	for i := range r.Lengths {
		l := &r.Lengths[i]
		for k, s := range l.Stages {
			tokens, allocations := "", ""
			switch {
			case k == 0:
				tokens = bench.Thousands(int64(l.Tokens))
			case s.Name == "encode":
				allocations = report.Number(l.Allocations) // with tokenizing
			case s.Name == "search":
				allocations = report.Number(l.SearchAllocations)
			}
			if s.Median.N == 0 {
				continue
			}
			between := "–"
			if bench.Coverage(s.Median.N) >= 0.95 {
				between = report.Number(1e3*s.Median.Low) + " – " + report.Number(1e3*s.Median.High)
			}
			t.row(tokens, s.Name, report.Number(1e3*s.Median.Median), between, fmt.Sprintf("%.2f %%", 100*s.Share), allocations)
		}
	}
	return t
}

// coldTable has a line for each length, over its sessions.
func coldTable(r *latency.Record) *textTable {
	t := columns(">tokens", ">sessions", ">median", ">min", ">max", ">× warm", ">opening a session (median)")
	for i := range r.Lengths {
		l := &r.Lengths[i]
		if len(l.Cold) == 0 {
			continue
		}
		var first, open []float64
		for _, c := range l.Cold {
			first, open = append(first, c.VectorS), append(open, c.CreateS)
		}
		over := "–"
		if l.Vector.Median > 0 {
			over = fmt.Sprintf("%.2f", bench.Median(first)/l.Vector.Median)
		}
		t.row(bench.Thousands(int64(l.Tokens)), bench.Thousands(int64(len(first))), report.Number(1e3*bench.Median(first)),
			report.Number(1e3*slices.Min(first)), report.Number(1e3*slices.Max(first)), over, report.Number(1e3*bench.Median(open)))
	}
	return t
}

// sureFacts say what the figures rest on.
func sureFacts(r *latency.Record) [][2]string {
	var needs []string
	for _, p := range r.Lengths[0].Vector.Percentiles {
		if p.P > 50 {
			needs = append(needs, fmt.Sprintf("p%.0f needs %s for an interval and %s to stand as a figure", p.P, bench.Thousands(int64(p.ForInterval)), bench.Thousands(int64(p.ForFigure))))
		}
	}
	var drift []string
	outliers := 0
	for i := range r.Lengths {
		s := &r.Lengths[i].Vector
		if r.Lengths[i].TopK != nil {
			s = r.Lengths[i].TopK
		}
		drift = append(drift, fmt.Sprintf("%+.1f %% at %s", 100*s.Drift, count(r.Lengths[i].Tokens, "token")))
		outliers += s.Outliers
	}
	c := r.Clock
	return [][2]string{
		{"samples", strings.Join(needs, "; ") + " (MLPerf's rule at 99 %)"},
		{"intervals", "95 %, order statistics by the binomial distribution; of stages bootstrap of the median"},
		{"drift", "last third of the samples against the first: " + strings.Join(drift, ", ")},
		{"outliers", count(outliers, "sample") + " far from the others, all kept"},
		{"clock", fmt.Sprintf("%.0f ns a reading, %d in a query, not subtracted", 1e9*c.Read, c.Reads) + where(c.Source != "", "; source "+c.Source)},
		{"collector", "off while samples are taken; between them it ran " + count(r.GC.Between, "time") + ", untimed"},
	}
}

// latencyFacts say what was run.
func latencyFacts(r *latency.Record) [][2]string {
	p := r.Protocol
	prompt := "no prompt"
	if p.Prompt != "" {
		prompt = fmt.Sprintf("prompt %q of %s", p.Prompt, count(p.PromptTk, "token"))
	}
	texts := 0
	for i := range r.Lengths {
		texts = max(texts, r.Lengths[i].Texts)
	}
	index := ""
	if x := r.Index; x != nil {
		index = joined(x.File, count(x.Rows, "row")+" of "+count(x.Dim, "value")+" kept as "+x.Store, "metric "+x.Metric, x.Path,
			"loaded in "+report.Seconds(x.LoadS), "first search "+report.Seconds(x.FirstS), where(x.Model != "", "made by "+x.Model))
	}
	return [][2]string{
		{"model", modelFact(r.Model)},
		{"queries", fmt.Sprintf("%s of each length, cut and joined from the %s of %s, seed %d; %s special tokens and %s on top", count(texts, "text"), count(r.Queries.Count, "query"), r.Queries.Source, p.Seed, bench.Thousands(int64(p.SpecialTk)), prompt)},
		{"vectors", joined(where(p.Pooling != "", p.Pooling+" pooling"), p.DType, count(p.Dim, "value"))},
		{"index", index},
		{"loop", "closed: one client, the next query when the last is done; nothing queues"},
		{"engine", engineFact(r.Engine)},
		{"accuracy", accuracyFact(r.Accuracy)},
	}
}
