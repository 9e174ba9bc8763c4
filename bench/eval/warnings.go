package eval

import (
	"fmt"
	"strings"

	"encbench/bench"
	"encbench/metrics/stat"
)

// What is worth a warning.
const (
	fewQueries   = 50   // below it an interval of nDCG reaches about 0.1 either way
	wideInterval = 0.05 // half of an interval
	manyUnknown  = 0.02 // of the tokens: English text has next to none
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
		var names []string
		for _, c := range r.Collections {
			if c.Error != "" {
				names = append(names, c.Name)
			}
		}
		add("failed", "", "no values for %s, see the errors", strings.Join(names, ", "))
	}
	if len(r.Averages) > 0 && len(r.Averages[0].Missing) > 0 {
		add("partial-average", "", "the averages are partial: they leave out %s", strings.Join(r.Averages[0].Missing, ", "))
	}
	if p := r.Protocol; p.Dim < p.EncoderDim {
		add("dimensions", "", "the first %d of %d values are used: only a model that was trained for it (Matryoshka) keeps its quality", p.Dim, p.EncoderDim)
	}
	if r.Accuracy.Level == bench.LevelConsistency {
		add("consistency-only", "--model with the Hugging Face directory", "a bare .onnx has no reference: only its consistency was checked")
	}
	if r.Model.Synthetic {
		add("synthetic-model", "", "random weights: the values mean nothing")
	}
	for i := range r.Collections {
		if c := &r.Collections[i]; c.Error == "" {
			collectionWarnings(c, r, func(code, advice, format string, args ...any) {
				text := fmt.Sprintf(format, args...)
				if len(r.Collections) > 1 {
					text = c.Name + ": " + text
				}
				add(code, advice, "%s", text)
			})
		}
	}
	return w
}

func collectionWarnings(c *Collection, r *Record, add func(code, advice, format string, args ...any)) {
	if c.Limited() {
		add("limited", "", "a part of the collection: %s of %s documents, %s of %s queries; its values are of this size and cannot be set beside those of another",
			bench.Thousands(int64(c.Documents)), bench.Thousands(int64(c.OfDocuments)), bench.Thousands(int64(c.Queries)), bench.Thousands(int64(c.OfQueries)))
	}
	if len(c.Values) > 0 {
		v := &c.Values[0]
		half := max(v.CI.High-v.Mean, v.Mean-v.CI.Low)
		switch {
		case v.N < fewQueries:
			add("few-queries", "more queries", "%s: %s", counted(int64(v.N), "query"), unsure(v, half))
		case !v.CI.Known() || half > wideInterval:
			add("wide-interval", "more queries", "%s", unsure(v, half))
		}
	}
	if c.BM25 != nil {
		wideDifferences("the model", "BM25", c.BM25.Differences, add)
	}
	for _, v := range c.Stores {
		wideDifferences("store "+string(v.Store), string(StoreFloat32), v.Differences, add)
	}
	if x := c.Texts; x.Cut > 0 {
		add("truncated", "--chunk encodes all of it in windows", "%s (%.1f %%) longer than %s and cut: %s of text not encoded",
			counted(x.Cut, "document"), 100*float64(x.Cut)/float64(max(1, c.Documents)), counted(int64(r.Protocol.MaxTokens), "token"), counted(x.Dropped, "token"))
	}
	if n := c.Texts.QueriesCut; n > 0 {
		add("queries-truncated", "--max-tokens", "%s longer than %s and cut", counted(n, "query"), counted(int64(r.Protocol.QueryTk), "token"))
	}
	if n := c.Texts.QueriesEmpty; n > 0 {
		add("empty-queries", "", "%s without a token: every document is as near as their special tokens say", counted(n, "query"))
	}
	if x := c.Texts; x.Encoded > 0 && float64(x.Unknown) > manyUnknown*float64(x.Encoded) {
		add("unknown-tokens", "a model for the language", "%.1f %% of the tokens stand for what the tokenizer does not know: it was made for another language or script", 100*float64(x.Unknown)/float64(x.Encoded))
	}
	if n := c.Texts.Zero; n > 0 {
		add("zero-vectors", "", "%s of zeros alone: the model gives nothing for their texts", counted(n, "vector"))
	}
	if n := c.Texts.Repaired; n > 0 {
		add("invalid-utf8", "", "%s repaired (replaced by U+FFFD)", counted(n, "invalid UTF-8 sequence"))
	}
	if n := c.Integrity.AbsentDocuments; n > 0 {
		add("absent-documents", "", "%s name documents that the collection does not have: no model can find them", counted(int64(n), "judgement"))
	}
	if n := c.Integrity.WithoutText; n > 0 {
		add("queries-without-text", "", "%s with judgements and no text: they are not averaged", counted(int64(n), "query"))
	}
	if n := c.Integrity.WithoutRelevant; n > 0 {
		add("without-relevant", "", "%s without a relevant document, which count 0", counted(int64(n), "query"))
	}
	if x := c.Integrity; c.Queries > 0 && float64(x.TiesAtCut) > 0.01*float64(c.Queries) {
		add("ties-at-cut", "", "equal scores on both sides of rank %s for %s: which documents are in is decided by their order in the corpus", bench.Thousands(int64(r.Protocol.K)), counted(int64(x.TiesAtCut), "query"))
	}
}

// wideDifferences warns of differences that are smaller than their interval is wide.
func wideDifferences(of, from string, differences []Difference, add func(code, advice, format string, args ...any)) {
	var wide []string
	for _, d := range differences {
		if d.Wins+d.Losses > 0 && stat.Wide(d.CI, d.Diff, d.SD) != "" {
			wide = append(wide, fmt.Sprintf("%s (%+.4f, %.4f wide)", d.Measure, d.Diff, d.CI.Width()))
		}
	}
	if len(wide) > 0 {
		add("wide-difference", "more queries", "%s against %s: the interval is wider than the difference in %s", of, from, strings.Join(wide, ", "))
	}
}

// unsure says how far a value is certain.
func unsure(v *Value, half float64) string {
	if !v.CI.Known() {
		return fmt.Sprintf("%s has no interval (%s)", v.Measure, strings.TrimPrefix(v.CI.Method, "none: "))
	}
	return fmt.Sprintf("the 95 %% interval of %s reaches ±%.3f: smaller differences say nothing", v.Measure, half)
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
