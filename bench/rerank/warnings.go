package rerank

import (
	"fmt"
	"strings"

	"encbench/bench"
	"encbench/metrics/stat"
)

// What is worth a warning.
const (
	fewQueries = 50   // below it an interval of nDCG reaches about 0.1 either way
	muchInput  = 0.05 // of the timed part in which the encoder waited for pairs
)

// warnings gives the caveats that follow from what r holds.
func warnings(r *Record) []bench.Warning {
	w := []bench.Warning{}
	add := func(code, advice, format string, args ...any) {
		w = append(w, bench.Warning{Code: code, Text: fmt.Sprintf(format, args...), Advice: advice})
	}
	switch r.Status {
	case bench.StatusInterrupted:
		add("interrupted", "", "the run was interrupted: %s done", counted(int64(len(r.Collections)), "collection"))
	case bench.StatusFailed:
		add("failed", "", "the run failed, see the error: %s done", counted(int64(len(r.Collections)), "collection"))
	}
	if r.Model.Synthetic {
		add("synthetic-model", "", "synthetic weights: speed only; values and rankings are withheld, as they mean nothing")
	}
	if r.Model.StandInTokenizer {
		add("stand-in-tokenizer", "encbench model synth --tokenizer with the model's own", "the tokenizer is a stand-in, which makes other numbers of tokens of a text: no pairs/s")
	}
	for i := range r.Collections {
		c := &r.Collections[i]
		collectionWarnings(c, r, func(code, advice, format string, args ...any) {
			text := fmt.Sprintf(format, args...)
			if len(r.Collections) > 1 {
				text = c.Name + ": " + text
			}
			add(code, advice, "%s", text)
		})
	}
	return w
}

func collectionWarnings(c *Collection, r *Record, add func(code, advice, format string, args ...any)) {
	l := &c.Ledger
	if c.Queries < c.OfQueries {
		add("limited", "", "a part of the collection: %s of %s queries; its values are of this size and cannot be set beside those of another",
			bench.Thousands(int64(c.Queries)), bench.Thousands(int64(c.OfQueries)))
	}
	if n := l.DocumentsMissing; n > 0 {
		add("documents-missing", "a run over the same documents", "%s of the run not in the collection (%s): %s not scored, standing below those that are",
			counted(int64(n), "candidate document"), quoted(l.MissingIDs, n), counted(l.PairsMissing, "pair"))
	}
	if n := l.QueriesAbsent; n > 0 {
		add("queries-absent", "", "%s of the collection without a list in the run: they count 0, before and after", counted(int64(n), "query"))
	}
	if n := l.QueriesUnknown; n > 0 {
		add("queries-unknown", "", "%s of the run not among the judged queries that were taken from the collection (%s): left out", counted(int64(n), "query"), quoted(l.UnknownIDs, n))
	}
	if n := l.QueriesShort; n > 0 {
		add("fewer-candidates", "a deeper first stage", "%s with fewer than %s: all that there are were reranked", counted(int64(n), "query"), counted(int64(r.Protocol.Top), "candidate"))
	}
	if n := l.PairsCut; n > 0 {
		add("truncated", "", "%s (%.1f %%) longer than %s and cut: %s of documents not read by the model",
			counted(n, "pair"), 100*float64(n)/float64(max(1, l.Pairs)), counted(int64(r.Protocol.MaxTokens), "token"), counted(l.Dropped, "token"))
	}
	if n := l.QueriesCut; n > 0 {
		add("queries-truncated", "--max-query-tokens", "%s longer than %s and cut: %s dropped", counted(int64(n), "query"), counted(int64(r.Protocol.QueryTk), "token"), counted(l.QueryDropped, "token"))
	}
	if n := l.QueriesEmpty; n > 0 {
		add("empty-queries", "", "%s without a token", counted(int64(n), "query"))
	}
	if n := l.DocumentsEmpty; n > 0 {
		add("empty-documents", "", "%s without a token, in %s: scored as they are", counted(n, "document"), counted(l.PairsEmpty, "pair"))
	}
	if n := l.Repaired; n > 0 {
		add("invalid-utf8", "", "%s repaired (replaced by U+FFFD)", counted(n, "invalid UTF-8 sequence"))
	}
	valueWarnings(c, add)
	rateWarnings(c, add)
}

func valueWarnings(c *Collection, add func(code, advice, format string, args ...any)) {
	if len(c.After) == 0 {
		return
	}
	if n := c.After[0].N; n < fewQueries {
		add("few-queries", "more queries", "%s: intervals are wide", counted(int64(n), "query"))
	}
	var wide []string
	for _, d := range c.Differences {
		if d.Wins+d.Losses > 0 && stat.Wide(d.CI, d.Diff, d.SD) != "" {
			wide = append(wide, fmt.Sprintf("%s (%+.4f, %.4f wide)", d.Measure, d.Diff, d.CI.Width()))
		}
	}
	if len(wide) > 0 {
		add("wide-difference", "more queries", "the interval is wider than the difference in %s", strings.Join(wide, ", "))
	}
}

func rateWarnings(c *Collection, add func(code, advice, format string, args ...any)) {
	if !c.Tokens.Known() {
		add("few-windows", "more queries, or a smaller --batch-size", "the rates have no interval: %s, %d are needed", counted(int64(c.Tokens.Windows), "window"), leastWindows)
	}
	for _, s := range c.Stages {
		if s.Name != "encode" || c.Times.TimedS <= 0 {
			continue
		}
		if wait := s.WaitS / (c.Times.TimedS * float64(s.Workers)); wait > muchInput {
			add("encoder-waits", "", "the encoder's workers were idle for %.0f %% of the timed part: at batch ends, or for want of pairs", 100*wait)
		}
	}
	if quiet, why := c.Times.Machine.Quiet(); !quiet {
		add("not-quiet", "run again on a quiet machine", "the machine was not quiet: %s", strings.Join(why, "; "))
	}
}

// counted writes n with its noun.
func counted(n int64, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "y"):
		return bench.Thousands(n) + " " + strings.TrimSuffix(noun, "y") + "ies"
	}
	return bench.Thousands(n) + " " + noun + "s"
}
