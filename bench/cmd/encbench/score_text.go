package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"

	"encbench/bench"
	"encbench/metrics"
	"encbench/metrics/stat"
)

// figure writes a value of a measure: four decimals, or a whole number for counts.
func figure(m metrics.Measure, v float64) string {
	if m.Counts() {
		return bench.Thousands(int64(v))
	}
	return fmt.Sprintf("%.4f", v)
}

func span(v stat.Interval) string {
	if !v.Known() {
		return "-"
	}
	return fmt.Sprintf("%.4f to %.4f", v.Low, v.High)
}

// writeText prints the report for people.
func (r *scoreReport) writeText(out io.Writer) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "%s\n\n", r.headline(r.runs))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if r.perQuery {
		r.queryLines(t)
	}
	fmt.Fprintf(t, "run\tmeasure\tmean\t95 %% interval\tqueries")
	if r.tieRange {
		fmt.Fprint(t, "\tover tie orders")
	}
	fmt.Fprintln(t)
	for n, sr := range r.runs {
		res := sr.result
		for m, measure := range res.Measures {
			interval := ""
			if averages(measure) {
				interval = span(r.intervals[n][m])
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s", sr.name, measure, figure(measure, res.Mean[m]), interval, bench.Thousands(int64(len(res.Queries))))
			if r.tieRange {
				fmt.Fprintf(t, "\t%s to %s", figure(measure, res.LowMean[m]), figure(measure, res.HighMean[m]))
			}
			fmt.Fprintln(t)
		}
	}
	t.Flush()
	if methods := r.methods(); len(methods) > 0 {
		fmt.Fprintf(w, "Intervals: %s.\n", strings.Join(methods, "; "))
	}
	if len(r.pairs) > 0 {
		fmt.Fprintln(w)
		if err := r.writePairs(w); err != nil {
			return err
		}
	}
	for _, sr := range r.runs {
		notes := r.notes(sr)
		if len(notes) > 0 {
			fmt.Fprintf(w, "\n%s:\n", sr.name)
		}
		for _, note := range notes {
			fmt.Fprintf(w, "- %s\n", note)
		}
	}
	return w.Flush()
}

// methods lists how the intervals were made, with an example of the measures.
func (r *scoreReport) methods() (methods []string) {
	measures := map[string][]string{}
	var order []string
	for n := range r.runs {
		for m, v := range r.intervals[n] {
			if v.Method == "" {
				continue
			}
			if measures[v.Method] == nil {
				order = append(order, v.Method)
			}
			if name := r.list[m].String(); !slices.Contains(measures[v.Method], name) {
				measures[v.Method] = append(measures[v.Method], name)
			}
		}
	}
	for _, method := range order {
		names := measures[method]
		text := strings.Join(names[:min(3, len(names))], ", ")
		if len(names) > 3 {
			text += fmt.Sprintf(" and %d more", len(names)-3)
		}
		methods = append(methods, fmt.Sprintf("%s (%s)", method, text))
	}
	return methods
}

// queryLines prints every query's values, a column for each run.
func (r *scoreReport) queryLines(t *tabwriter.Writer) {
	for _, sr := range r.runs {
		res := sr.result
		fmt.Fprintf(t, "run\tquery\tmeasure\tvalue\n")
		for q, query := range res.Queries {
			for m, measure := range res.Measures {
				if measure.PerQuery() {
					fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", sr.name, shownID(query), measure, figure(measure, res.Values[m][q]))
				}
			}
		}
		fmt.Fprintln(t)
	}
}

// shownID gives an id for a table on a screen: quoted where it holds what would move
// the cursor or is no text.
func shownID(id string) string {
	if !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl) {
		return strconv.Quote(id)
	}
	return id
}

// writePairs prints the differences to the first run.
func (r *scoreReport) writePairs(out io.Writer) error {
	first := &r.pairs[0]
	fmt.Fprintf(out, "Differences to %s, paired by query: bootstrap intervals, paired randomisation test (%s replicates, seed %d), p corrected by Holm over %s.\n",
		r.runs[0].name, bench.Thousands(int64(first.B)), first.Seed, several(len(r.pairs), "comparison", "comparisons"))
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "run\tmeasure\tdifference\t95 %% interval\tp\tp (Holm)\twins\tties\tlosses\teffect\tqueries\n")
	for _, p := range r.pairs {
		interval := "-"
		if p.CI.Known() {
			interval = fmt.Sprintf("%+.4f to %+.4f", p.CI.Low, p.CI.High)
		}
		fmt.Fprintf(t, "%s\t%s\t%+.4f\t%s\t%s\t%s\t%s\t%s\t%s\t%.2f\t%s\n", r.runs[p.run].name, r.list[p.measure], p.Diff, interval,
			pValue(p.P), pValue(p.Holm), bench.Thousands(int64(p.Wins)), bench.Thousands(int64(p.Ties)), bench.Thousands(int64(p.Losses)), p.Effect, bench.Thousands(int64(p.N)))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	said := map[string]bool{}
	for _, p := range r.pairs {
		warnings := p.Warnings
		if p.Filled > 0 {
			warnings = append(warnings, fmt.Sprintf("%s that only one of the two runs has count 0 for the other", several(p.Filled, "query", "queries")))
		}
		for _, warning := range warnings {
			line := fmt.Sprintf("warning: %s, %s: %s", r.runs[p.run].name, r.list[p.measure], warning)
			if !said[line] {
				said[line] = true
				fmt.Fprintln(out, line)
			}
		}
	}
	return nil
}

// pValue writes a p-value with the digits that resampling can tell.
func pValue(p float64) string {
	if p < 0.001 {
		return fmt.Sprintf("%.1e", p)
	}
	return fmt.Sprintf("%.4f", p)
}
