package report

import (
	"fmt"
	"strings"

	"encbench/bench"
	"encbench/bench/eval"
	"encbench/metrics/stat"
)

// value writes a measure's value: four decimals, as published values have.
func value(x float64) string { return fixed(x, 4) }

// change writes a difference with its sign.
func change(x float64) string {
	s := fixed(x, 4)
	if x > 0 && strings.Trim(s, "0.") != "" {
		s = "+" + s
	}
	return s
}

// between writes an interval of values.
func between(v stat.Interval) string {
	if !v.Known() {
		return none
	}
	return value(v.Low) + " – " + value(v.High)
}

func betweenChanges(v stat.Interval) string {
	if !v.Known() {
		return none
	}
	return change(v.Low) + " to " + change(v.High) // a dash between two signs reads as a third
}

var valueColumns = []column{{"Values", false}, {"mean", true}, {"95 % interval", true}, {"queries", true}, {"interval by", false}}

func valueRows(values []eval.Value) [][]string {
	var rows [][]string
	for _, v := range values {
		rows = append(rows, []string{v.Measure, value(v.Mean), between(v.CI), bench.Thousands(int64(v.N)), strings.TrimPrefix(v.CI.Method, "none: ")})
	}
	return rows
}

// baselineColumns put BM25 beside the model.
var baselineColumns = []column{{"BM25 beside it", false}, {"BM25", true}, {"95 % interval", true}, {"model − BM25", true}, {"95 % interval", true}, {"p", true}, {"p Holm", true}, {"better, equal, worse", true}}

func baselineRows(b *eval.Baseline) [][]string {
	var rows [][]string
	for i, v := range b.Values {
		d := b.Differences[i]
		rows = append(rows, []string{v.Measure, value(v.Mean), between(v.CI), change(d.Diff), betweenChanges(d.CI), pvalue(d.P), pvalue(d.Holm), outcomes(d.Paired)})
	}
	return rows
}

func outcomes(p stat.Paired) string {
	return fmt.Sprintf("%s, %s, %s", bench.Thousands(int64(p.Wins)), bench.Thousands(int64(p.Ties)), bench.Thousands(int64(p.Losses)))
}

var storeColumns = []column{{"Stores", false}, {"bytes a vector", true}, {"prepare", true}, {"search", true}, {"measure", false}, {"− float32", true}, {"95 % interval", true}, {"p", true}, {"p Holm", true}, {"better, equal, worse", true}}

func storeRows(stores []eval.StoreValue) [][]string {
	var rows [][]string
	for _, s := range stores {
		first := []string{string(s.Store), bench.Thousands(int64(s.Bytes)), seconds(s.PrepareS), seconds(s.SearchS)}
		if len(s.Differences) == 0 {
			rows = append(rows, append(first, "", "", "", "", "", ""))
		}
		for i, d := range s.Differences {
			if i > 0 {
				first = []string{"", "", "", ""}
			}
			rows = append(rows, append(first, d.Measure, change(d.Diff), betweenChanges(d.CI), pvalue(d.P), pvalue(d.Holm), outcomes(d.Paired)))
		}
	}
	return rows
}

// summaryTable has a line for each collection and the averages below.
func summaryTable(r *eval.Record) ([]column, [][]string) {
	columns := []column{{"Collections", false}, {"documents", true}, {"queries", true}}
	var measures []string
	for i := range r.Collections {
		if r.Collections[i].Error == "" {
			for _, v := range r.Collections[i].Values {
				measures = append(measures, v.Measure)
				columns = append(columns, column{v.Measure, true})
			}
			break
		}
	}
	columns = append(columns, column{"", false})
	var rows [][]string
	for i := range r.Collections {
		c := &r.Collections[i]
		row := []string{counted(c.Name), bench.Thousands(int64(c.Documents)), bench.Thousands(int64(c.Queries))}
		if c.Error != "" {
			row = []string{c.Name, none, none}
		}
		for _, m := range measures {
			cell := none
			if v := c.Value(m); v != nil {
				cell = value(v.Mean)
			}
			row = append(row, cell)
		}
		rows = append(rows, append(row, given(c.Error != "", "FAILED")))
	}
	if len(r.Averages) == 0 {
		return columns, rows
	}
	partial := given(len(r.Averages[0].Missing) > 0, "PARTIAL")
	tasks, queries := []string{"mean of collections", "", ""}, []string{"mean of queries", "", bench.Thousands(int64(r.Averages[0].Queries.N))}
	for _, a := range r.Averages {
		tasks, queries = append(tasks, value(a.Tasks.Mean)), append(queries, value(a.Queries.Mean))
	}
	return columns, append(rows, append(tasks, partial), append(queries, partial))
}

// averageText says what the averages are.
func averageText(r *eval.Record) []string {
	if len(r.Averages) == 0 {
		return nil
	}
	a := r.Averages[0]
	out := []string{
		fmt.Sprintf("mean of collections: each of %s weighs the same; %s %s, 95 %% interval %s (%s)",
			plural(int64(a.Tasks.Tasks), "collection"), a.Measure, value(a.Tasks.Mean), between(a.Tasks.CI), strings.TrimPrefix(a.Tasks.CI.Method, "none: ")),
		fmt.Sprintf("mean of queries: each of %s weighs the same, so a collection weighs as many queries as it has", queries(a.Queries.N)),
	}
	if len(a.Missing) > 0 {
		out = append(out, "PARTIAL: not the averages that were asked for, because "+strings.Join(a.Missing, ", ")+" is missing")
	}
	return out
}

// evalFacts say what was run.
func evalFacts(r *eval.Record) []ledger {
	p := r.Protocol
	length := fmt.Sprintf("texts are cut to %s", plural(int64(p.MaxTokens), "token"))
	if p.Length == eval.LengthChunk {
		length = fmt.Sprintf("documents become windows of %s with %d overlap, queries are cut; %s", plural(int64(p.MaxTokens), "token"), p.Overlap, poolText(p.Pool))
	}
	length += fmt.Sprintf(" (%d special ones included)", p.SpecialTk)
	dim := plural(int64(p.Dim), "value") + " a vector"
	if p.Dim < p.EncoderDim {
		dim = fmt.Sprintf("the first %d of %d values, brought to length one again", p.Dim, p.EncoderDim)
	}
	facts := []ledger{
		{"model", modelText(r.Model)},
		{"prompts", promptText("query", p.Query) + "; " + promptText("document", p.Document)},
		{"length", length},
		{"vectors", join(", ", given(p.Pooling != "", p.Pooling+" pooling"), p.DType, dim, similarityText(p.Similarity))},
		{"search", join(", ", "exact", given(len(r.Engine.Devices) > 0, "on "+r.Engine.Device), fmt.Sprintf("the best %s a query", plural(int64(p.K), "document")))},
		{"averages", p.Convention},
		{"intervals", fmt.Sprintf("95 %%, %s, seed %d", plural(int64(p.Resamples), "resample"), p.Seed)},
		{"engine", join(", ", engineText(r.Engine), r.Engine.HowRun)},
	}
	return append(append(facts, deviceFacts(r.Engine)...), ledger{"accuracy", accuracyLine(r.Accuracy)})
}

func poolText(p eval.Pool) string {
	switch p {
	case eval.PoolMax:
		return "a document's score is that of its best window"
	case eval.PoolFirst:
		return "a document's score is that of its first window"
	case eval.PoolMean:
		return "a document's score is the mean of its windows'"
	}
	return string(p)
}

func similarityText(s eval.Similarity) string {
	if s == eval.Cosine {
		return "cosine (vectors of length one)"
	}
	return "inner product"
}

func promptText(side string, p eval.Prompt) string {
	if p.Text == "" {
		return side + ": none"
	}
	name := ""
	if p.Name != "" {
		name = fmt.Sprintf(" (%q of the model)", p.Name)
	}
	return fmt.Sprintf("%s: %q%s, %s", side, p.Text, name, plural(int64(p.Tokens), "token"))
}

// collectionFacts say what became of a collection's texts and judgements.
func collectionFacts(c *eval.Collection) []ledger {
	x, in, t := c.Texts, c.Integrity, c.Times
	size := fmt.Sprintf("%s, %s", plural(int64(c.Documents), "document"), queries(c.Queries))
	if c.Limited() {
		size = fmt.Sprintf("LIMITED to %s of %s documents and %s of %s queries", bench.Thousands(int64(c.Documents)), bench.Thousands(int64(c.OfDocuments)),
			bench.Thousands(int64(c.Queries)), bench.Thousands(int64(c.OfQueries)))
	}
	texts := fmt.Sprintf("%s, %s; longest document %s", plural(x.Vectors, "vector"), scaledPlural(x.Tokens, "content token"), plural(x.Longest, "token"))
	if x.Unknown > 0 && x.Encoded > 0 {
		texts += "; " + percent(float64(x.Unknown)/float64(x.Encoded)) + " of the tokens unknown to the tokenizer"
	}
	cut := "no document"
	if x.Cut > 0 {
		cut = fmt.Sprintf("%s (%s), %s dropped", plural(x.Cut, "document"), percent(float64(x.Cut)/float64(max(1, c.Documents))), plural(x.Dropped, "token"))
	}
	if x.QueriesCut > 0 {
		cut += "; " + queries(int(x.QueriesCut))
	}
	return []ledger{
		{"size", join(", ", size, given(c.Groups > 0, "in "+plural(int64(c.Groups), "group")), given(c.Layout != "", c.Layout), given(c.Split != "", "split "+c.Split), given(c.Part != "", c.Part+" part of split "+shortHash(c.SplitDigest)))},
		{"texts", texts},
		{"cut", cut},
		{"times", fmt.Sprintf("encode %s (%s documents/s, this run's, for information), queries %s, prepare the search %s, search %s, judge and write %s",
			seconds(t.EncodeS), brief(t.DocsPerS), seconds(t.QueriesS), seconds(t.PrepareS), seconds(t.SearchS), seconds(t.JudgeS))},
		{"integrity", join(", ", percent(in.JudgedAt10)+" of the first 10 judged", counting(in.TiesAtCut, "query tied at the cut", "queries tied at the cut"),
			counting(in.WithoutRelevant, "query without a relevant document", "queries without a relevant document"),
			counting(in.Unjudged, "query without judgements dropped", "queries without judgements dropped"),
			counting(in.WithoutText, "judged query without text", "judged queries without text"),
			counting(in.AbsentDocuments, "judgement of an absent document", "judgements of absent documents"),
			counting(in.Repeated, "judgement repeated", "judgements repeated"),
			counting(in.RepeatedTexts, "query text repeated", "query texts repeated"),
			counting(in.EmptyDocuments, "empty document", "empty documents"), given(in.EmptyRelevant > 0, bench.Thousands(int64(in.EmptyRelevant))+" of them relevant"),
			counting(in.Self, "self match dropped", "self matches dropped"))},
		{"held-out", looks(c)},
		{"hash", shortHash(c.SHA256)},
		{"run", c.Run},
		{"vectors", strings.Join(c.Vectors, ", ")},
	}
}

// counting is a count with its noun, nothing where it is 0.
func counting(n int, one, many string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 " + one
	}
	return bench.Thousands(int64(n)) + " " + many
}

func queries(n int) string {
	if n == 1 {
		return "1" + gap + "query"
	}
	return bench.Thousands(int64(n)) + gap + "queries"
}

// looks says how often the held-out part was seen.
func looks(c *eval.Collection) string {
	if c.Looks == nil {
		return ""
	}
	return fmt.Sprintf("look %s, of which %s with the queries of now", bench.Thousands(int64(c.Looks.Total)), bench.Thousands(int64(c.Looks.Digest)))
}
