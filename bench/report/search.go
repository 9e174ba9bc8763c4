package report

import (
	"bytes"
	"fmt"
	"slices"

	"encbench/bench"
)

// batchShort names the batch of a protocol: 128 for chunks, 16384t for tokens.
func batchShort(p bench.Protocol) string {
	if p.BatchTokens > 0 {
		return fmt.Sprintf("%dt", p.BatchTokens)
	}
	return fmt.Sprint(p.Batch)
}

func batchText(p bench.Protocol) string {
	if p.BatchTokens > 0 {
		return fmt.Sprintf("batches of up to %s, padding counted", plural(int64(p.BatchTokens), "token"))
	}
	return fmt.Sprintf("batch %d", p.Batch)
}

// memoryText says what the process took, and what was predicted.
func memoryText(m bench.Memory) string {
	peak := given(m.PeakRSS > 0, memorySize(m.PeakRSS)+" at the peak")
	if m.Predicted > 0 {
		peak = join(" ", peak, "("+memorySize(m.Predicted)+" predicted)")
	}
	return join(", ", peak, given(m.Weights > 0, memorySize(m.Weights)+" weights"), given(m.GoHeap > 0, memorySize(m.GoHeap)+" Go heap"))
}

var searchColumns = []column{{"Batch search", true}, {"ubatch", true}, {"chunks/s", true}, {"to the fastest", true}, {"memory", true}, {"outcome", false}}

func searchRows(s *bench.BatchSearch) [][]string {
	var rows [][]string
	for _, t := range s.Trials {
		rate, to, memory := none, none, none
		if t.Chunks.N > 0 {
			rate = number(t.Chunks.Median)
			to = ratio(t.ToFastest)
		}
		if t.Predicted > 0 {
			memory = memorySize(t.Predicted)
		}
		rows = append(rows, []string{bench.Thousands(int64(t.Batch)), t.UBatch, rate, to, memory, t.Outcome})
	}
	return rows
}

// searchReasons says why trials were excluded or failed, each reason once.
func searchReasons(s *bench.BatchSearch) []string {
	var names, reasons []string
	for _, t := range s.Trials {
		if t.Reason == "" {
			continue
		}
		name, reason := fmt.Sprintf("%d/%s", t.Batch, t.UBatch), t.Outcome+": "+t.Reason
		if at := slices.Index(reasons, reason); at >= 0 {
			names[at] += ", " + name
			continue
		}
		names, reasons = append(names, name), append(reasons, reason)
	}
	for i := range reasons {
		reasons[i] = names[i] + " " + reasons[i]
	}
	return reasons
}

func searchNote(s *bench.BatchSearch) string {
	return fmt.Sprintf("%s a pass, %s, %s: %s", plural(int64(s.Chunks), "chunk"), plural(int64(s.Rounds), "round"), seconds(s.Seconds), s.Rule)
}

// writeSearch tells how the batch was found.
func writeSearch(p page, r *bench.Record) {
	if r.Search == nil {
		return
	}
	p.table(searchColumns, searchRows(r.Search))
	for _, s := range searchReasons(r.Search) {
		p.hang("  ", s)
	}
	p.hang("  ", searchNote(r.Search))
}

// markdownSearch is writeSearch in Markdown, under a heading of the given level.
func markdownSearch(buf *bytes.Buffer, r *bench.Record, level string) {
	if r.Search == nil {
		return
	}
	fmt.Fprintf(buf, "\n%s Batch search\n\n", level)
	columns := append([]column{{"batch", true}}, searchColumns[1:]...)
	markdownTable(buf, columns, searchRows(r.Search))
	buf.WriteByte('\n')
	for _, s := range searchReasons(r.Search) {
		fmt.Fprintf(buf, "- %s\n", markdownText(s))
	}
	fmt.Fprintf(buf, "\n%s.\n", markdownText(searchNote(r.Search)))
}
