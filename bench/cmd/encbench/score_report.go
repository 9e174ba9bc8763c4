package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"encbench/bench"
	"encbench/metrics"
	"encbench/metrics/stat"
)

// scoreReport is everything that score prints: judged runs with intervals, and how
// they differ from the first.
type scoreReport struct {
	*scoring
	qrels     *scoredQrels
	runs      []*scoredRun
	intervals [][]stat.Interval // by run and measure; of counts without a method
	pairs     []scoredPair
}

// scoredPair compares a run with the first one by one measure.
type scoredPair struct {
	run     int
	measure int
	stat.Paired
	// tested pairs are the family that Holm corrects over; the others have neither.
	tested bool
	Holm   float64 `json:"-"`
	Filled int     `json:"filled"` // values of queries that one of the two runs has not
}

// decisive are the measures that are tested where none is asked for by name.
var decisive = []string{"nDCG@10", "R@100", "AP", "RR"}

// tests says whether the differences of a measure are tested.
func (s *scoring) tests(m metrics.Measure) bool {
	name := strings.TrimSuffix(m.String(), fmt.Sprintf("(rel=%d)", s.level))
	name = strings.Replace(name, fmt.Sprintf("(rel=%d)@", s.level), "@", 1)
	return averages(m) && !m.Coverage() && (len(s.measures) > 0 || slices.Contains(decisive, name))
}

// closedForm is the number of queries from which on Student's t stands for the
// bootstrap: the two agree to a tenth of the interval's width long before, and
// resampling a thousand values for each of twenty measures takes longer than judging
// them.
const closedForm = 1000

// averages says whether a measure has a mean that an interval and a test are about.
func averages(m metrics.Measure) bool { return !m.Counts() && m.PerQuery() }

func newScoreReport(s *scoring, q *scoredQrels, runs []*scoredRun) *scoreReport {
	r := &scoreReport{scoring: s, qrels: q, runs: runs}
	opt := stat.Options{B: s.replicates, Seed: s.seed, Unit: true, Threads: s.threads}
	if !r.plainTrec() {
		most := 0
		for _, sr := range runs {
			most = max(most, len(sr.result.Queries))
		}
		for _, sr := range runs {
			var row []stat.Interval
			for m, measure := range sr.result.Measures {
				var v stat.Interval
				opt := opt
				opt.Binary = measure.Binary()
				// Runs that stand side by side have one method.
				if values := sr.result.Values[m]; averages(measure) && (opt.Binary || most < closedForm) {
					v = stat.For(values, opt)
				} else if averages(measure) {
					v = stat.StudentT(values, opt)
				}
				row = append(row, v)
			}
			r.intervals = append(r.intervals, row)
		}
	}
	for n := 1; n < len(runs); n++ {
		for m, measure := range s.list {
			if averages(measure) {
				base, other, filled := pairUp(runs[0], runs[n], m)
				r.pairs = append(r.pairs, scoredPair{run: n, measure: m, Paired: stat.Against(base, other, opt), tested: s.tests(measure), Filled: filled})
			}
		}
	}
	var p []float64
	var tested []int
	for i, pair := range r.pairs {
		if pair.tested {
			p, tested = append(p, pair.P), append(tested, i)
		}
	}
	for i, holm := range stat.Holm(p) {
		r.pairs[tested[i]].Holm = holm
	}
	return r
}

// plainTrec says whether the output is trec_eval's text, which has no intervals.
func (r *scoreReport) plainTrec() bool { return r.convention == "trec_eval" && r.format == "text" }

// pairUp lines the values of two runs up by query id. A query that only one of them
// averages counts 0 for the other.
func pairUp(a, b *scoredRun, measure int) (x, y []float64, filled int) {
	va, vb := a.result.Values[measure], b.result.Values[measure]
	i, j := 0, 0
	qa, qb := a.result.Queries, b.result.Queries
	for i < len(qa) || j < len(qb) {
		switch c := comparePlaces(qa, qb, i, j); {
		case c == 0:
			x, y = append(x, va[i]), append(y, vb[j])
			i, j = i+1, j+1
		case c < 0:
			x, y, filled = append(x, va[i]), append(y, 0), filled+1
			i++
		default:
			x, y, filled = append(x, 0), append(y, vb[j]), filled+1
			j++
		}
	}
	return x, y, filled
}

// comparePlaces orders the next queries of two sorted lists; a list at its end comes
// last.
func comparePlaces(a, b []string, i, j int) int {
	switch {
	case i == len(a):
		return 1
	case j == len(b):
		return -1
	}
	return strings.Compare(a[i], b[j])
}

func (r *scoreReport) write(a *app) error {
	switch {
	case r.format == "json":
		return r.writeJSON(a.stdout)
	case r.format == "jsonl":
		return r.writeJSONL(a.stdout)
	case r.format == "csv" || r.format == "tsv":
		if err := r.writeTable(a.stdout); err != nil {
			return err
		}
		r.caveats(a.stderr)
		return nil
	case r.plainTrec():
		for _, sr := range r.runs {
			if err := r.writeTrec(a.stdout, sr); err != nil {
				return err
			}
		}
		r.caveats(a.stderr)
		if len(r.pairs) > 0 {
			fmt.Fprintln(a.stdout)
			return r.writePairs(a.stdout)
		}
		return nil
	}
	return r.writeText(a.stdout)
}

// caveats writes what a format for programs has no place for.
func (r *scoreReport) caveats(w io.Writer) {
	for _, sr := range r.runs {
		fmt.Fprintf(w, "encbench score: %s: %s\n", sr.name, r.headline([]*scoredRun{sr}))
		for _, note := range r.notes(sr) {
			fmt.Fprintf(w, "encbench score: %s: %s\n", sr.name, note)
		}
	}
	for _, warning := range r.warnings() {
		fmt.Fprintf(w, "encbench score: warning: %s\n", warning)
	}
}

// warnings says which runs do not belong together.
func (r *scoreReport) warnings() (warnings []string) {
	var first *scoredRun
	for _, sr := range r.runs {
		switch {
		case sr.corpusSHA256 == "":
		case first == nil:
			first = sr
		case sr.corpusSHA256 != first.corpusSHA256:
			warnings = append(warnings, fmt.Sprintf("%s is a run over %s, %s one over %s: values of two collections do not compare",
				sr.name, corpusText(sr), first.name, corpusText(first)))
		}
	}
	return warnings
}

func corpusText(sr *scoredRun) string {
	return fmt.Sprintf("%q (hash %.12s)", sr.corpus, sr.corpusSHA256)
}

// headline says by which convention means were taken, and over how many queries.
func (r *scoreReport) headline(runs []*scoredRun) string {
	var counts []string
	for _, sr := range runs {
		c := sr.result.Counts
		counts = append(counts, fmt.Sprintf("%s averaged (%s missing from the run, %s of the run without judgements, %s without a relevant document)",
			several(c.Averaged, "query", "queries"), bench.Thousands(int64(c.Missing)), bench.Thousands(int64(c.Extra)), bench.Thousands(int64(c.WithoutRelevant))))
	}
	if counts = slices.Compact(counts); len(counts) == 1 {
		return r.options.Describe() + "; " + counts[0]
	}
	for i, sr := range runs {
		counts[i] = sr.name + ": " + counts[i]
	}
	return r.options.Describe() + "\n" + strings.Join(counts, "\n")
}

// notes says what does not fit and what was forgiven, for people.
func (r *scoreReport) notes(sr *scoredRun) (notes []string) {
	c := &sr.result.Counts
	note := func(n int64, format string, args ...any) {
		if n > 0 {
			notes = append(notes, fmt.Sprintf(format, args...))
		}
	}
	list := func(ids []string) string { return someIDs(ids, 5) }
	num := func(n int) string { return bench.Thousands(int64(n)) }
	note(int64(c.Missing), "missing from the run: %s", list(sr.result.Missing))
	note(int64(c.Extra), "of the run without judgements, ignored: %s", list(sr.result.Extra))
	if c.JudgedRows == 0 {
		notes = append(notes, "warning: no document of any ranking is judged; compare the document ids of run and judgements")
	}
	for _, t := range c.TiesAtCut {
		note(int64(t.Queries), "equal scores on both sides of rank %d in %s of %s queries: measures at %d depend on the tie rule (--ties %s)", t.K, num(t.Queries), num(c.Judged-c.Missing), t.K, r.ties)
	}
	note(int64(c.RankContradictions), "the rank column disagrees with the order in %s; scores decide, unless --ties rank is given", several(c.RankContradictions, "query", "queries"))
	note(int64(c.SelfHits), "dropped %s with the query's own id", several(c.SelfHits, "document", "documents"))
	note(int64(c.Duplicates), "dropped %s, the document standing earlier in the ranking", several(c.Duplicates, "row", "rows"))
	note(int64(c.Repeated), "%s given again with the same grade", several(c.Repeated, "judgement", "judgements"))
	if s := sr.stats; s.Fault != nil {
		note(s.Skipped, "skipped %s, the first: %v", several(int(s.Skipped), "line", "lines"), s.Fault)
	}
	note(sr.stats.Forgiven, "accepted %s that a strict reading refuses", several(int(sr.stats.Forgiven), "line", "lines"))
	note(int64(sr.stats.Marks), "removed a byte order mark")
	if q := r.qrels.stats; q.Fault != nil {
		note(q.Skipped, "skipped %s of the judgements, the first: %v", several(int(q.Skipped), "line", "lines"), q.Fault)
	}
	note(int64(r.qrels.stats.Marks), "removed a byte order mark from the judgements")
	if r.qrels.stats.Layout != "query iteration document grade" {
		notes = append(notes, "judgements read as: "+r.qrels.stats.Layout)
	}
	for _, d := range sr.damage {
		notes = append(notes, "passed over: "+d)
	}
	if sr.collected {
		notes = append(notes, "the queries of the run do not stand together; it was read in memory")
	}
	return notes
}

// someIDs shows the first n ids and how many there are.
func someIDs(ids []string, n int) string {
	var b strings.Builder
	for i, id := range ids[:min(n, len(ids))] {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", id)
	}
	if len(ids) > n {
		fmt.Fprintf(&b, " and %s more", bench.Thousands(int64(len(ids)-n)))
	}
	return b.String()
}

// several is "1 query", "2,500 queries".
func several(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return bench.Thousands(int64(n)) + " " + many
}
