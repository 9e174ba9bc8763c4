package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
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
		return "–"
	}
	return fmt.Sprintf("%.4f – %.4f", v.Low, v.High)
}

// textTable is a table whose columns of numbers end at the right.
type textTable struct {
	right []bool
	rows  [][]string
}

// columns begins a table; the titles of columns of numbers begin with ">".
func columns(titles ...string) *textTable {
	t := &textTable{}
	for i, title := range titles {
		name, right := strings.CutPrefix(title, ">")
		titles[i], t.right = name, append(t.right, right)
	}
	t.rows = append(t.rows, titles)
	return t
}

func (t *textTable) row(cells ...string) { t.rows = append(t.rows, cells) }

// write prints the table with two spaces between columns and none at line ends.
func (t *textTable) write(w io.Writer) {
	widths := make([]int, len(t.right))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range t.rows {
		var line strings.Builder
		for i, cell := range row {
			room := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if t.right[i] {
				line.WriteString(room + cell)
			} else {
				line.WriteString(cell + room)
			}
			line.WriteString("  ")
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

// writeText prints the report for people.
func (r *scoreReport) writeText(out io.Writer) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "%s\n\n", r.headline(r.runs))
	if r.perQuery {
		r.queryLines(w)
	}
	titles := []string{"run", "measure", ">mean", ">95 % interval", ">queries", "interval by"}
	if r.tieRange {
		titles = append(titles, ">over tie orders")
	}
	t := columns(titles...)
	for n, sr := range r.runs {
		res := sr.result
		for m, measure := range res.Measures {
			interval, method := "", ""
			if averages(measure) {
				interval, method = span(r.intervals[n][m]), strings.TrimPrefix(r.intervals[n][m].Method, "none: ")
			}
			cells := []string{sr.name, measure.String(), figure(measure, res.Mean[m]), interval, bench.Thousands(int64(len(res.Queries))), method}
			if r.tieRange {
				cells = append(cells, figure(measure, res.LowMean[m])+" – "+figure(measure, res.HighMean[m]))
			}
			t.row(cells...)
		}
	}
	t.write(w)
	if len(r.pairs) > 0 {
		fmt.Fprintln(w)
		if err := r.writePairs(w); err != nil {
			return err
		}
	}
	for _, warning := range r.warnings() {
		fmt.Fprintf(w, "\nwarning: %s\n", warning)
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

// queryLines prints every query's values, a table for each run.
func (r *scoreReport) queryLines(w io.Writer) {
	for _, sr := range r.runs {
		res := sr.result
		t := columns("run", "query", "measure", ">value")
		for q, query := range res.Queries {
			for m, measure := range res.Measures {
				if measure.PerQuery() {
					t.row(sr.name, shownID(query), measure.String(), figure(measure, res.Values[m][q]))
				}
			}
		}
		t.write(w)
		fmt.Fprintln(w)
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
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "Differences to %s, paired by query: %s.\n", r.runs[0].name, r.testing())
	t := columns("run", "measure", ">difference", ">95 % interval", ">p", ">p (Holm)", ">wins", ">ties", ">losses", ">effect", ">detectable", ">queries")
	num := func(n int) string { return bench.Thousands(int64(n)) }
	for _, p := range r.pairs {
		interval, plain, holm := "–", "", ""
		if p.CI.Known() {
			interval = fmt.Sprintf("%+.4f to %+.4f", p.CI.Low, p.CI.High)
		}
		if p.tested {
			plain, holm = pValue(p.P), pValue(p.Holm)
		}
		t.row(r.runs[p.run].name, r.list[p.measure].String(), fmt.Sprintf("%+.4f", p.Diff), interval, plain, holm,
			num(p.Wins), num(p.Ties), num(p.Losses), fmt.Sprintf("%.2f", p.Effect), fmt.Sprintf("%.4f", p.Detectable), num(p.N))
	}
	t.write(w)
	for n := 1; n < len(r.runs); n++ {
		for _, warning := range r.pairWarnings(n) {
			fmt.Fprintf(w, "warning: %s: %s\n", r.runs[n].name, warning)
		}
	}
	return w.Flush()
}

// testing says how intervals and p-values were made.
func (r *scoreReport) testing() string {
	exact, drawn, tested, all := false, false, 0, true
	for _, p := range r.pairs {
		if !p.tested {
			all = false
			continue
		}
		tested++
		if strings.HasSuffix(p.Test, "exact") {
			exact = true
		} else {
			drawn = true
		}
	}
	first := &r.pairs[0]
	b := bench.Thousands(int64(first.B))
	text := fmt.Sprintf("bootstrap intervals (%s replicates, seed %d)", b, first.Seed)
	if tested == 0 {
		return text + "; none of the measures is tested"
	}
	switch {
	case exact && drawn:
		text += fmt.Sprintf(", paired randomisation test (exact up to %d queries that differ, else %s replicates)", stat.ExactFlips, b)
	case exact:
		text += ", exact paired randomisation test"
	default:
		text += fmt.Sprintf(", paired randomisation test (%s replicates)", b)
	}
	text += ", p corrected by Holm over " + several(tested, "test", "tests")
	if !all && len(r.measures) == 0 {
		text += "; without -m the others are not tested"
	}
	return text + "; detectable is the smallest difference that so many queries show with 80 % power"
}

// pairWarnings says what the differences of a run do not support, one line for all
// measures that share a reason.
func (r *scoreReport) pairWarnings(run int) (warnings []string) {
	var wide []string
	others := map[string][]string{}
	var order []string
	least, most, filled := 0, 0, 0
	for _, p := range r.pairs {
		if p.run != run {
			continue
		}
		name := r.list[p.measure].String()
		filled = max(filled, p.Filled)
		text := ""
		if p.Wins+p.Losses > 0 {
			text = stat.Wide(p.CI, p.Diff, p.SD)
		}
		if text != "" {
			wide = append(wide, name)
			if n := stat.NeededN(p.SD, p.Diff); n > 0 && p.CI.Holds(0) {
				if least == 0 || n < least {
					least = n
				}
				most = max(most, n)
			}
		}
		for _, w := range p.Warnings {
			if w == text {
				continue
			}
			if others[w] == nil {
				order = append(order, w)
			}
			others[w] = append(others[w], name)
		}
	}
	if len(wide) > 0 {
		line := "the interval is wider than the difference in " + strings.Join(wide, ", ")
		switch num := func(n int) string { return bench.Thousands(int64(n)) }; {
		case most > least:
			line += fmt.Sprintf("; where it holds 0, about %s to %s queries would show such a difference with 80 %% power", num(least), num(most))
		case most > 0:
			line += fmt.Sprintf("; about %s queries would show such a difference with 80 %% power", num(most))
		}
		warnings = append(warnings, line)
	}
	for _, w := range order {
		warnings = append(warnings, strings.Join(others[w], ", ")+": "+w)
	}
	if filled > 0 {
		warnings = append(warnings, several(filled, "query", "queries")+" that only one of the two runs has count 0 for the other")
	}
	return warnings
}

// pValue writes a p-value with the digits that resampling can tell.
func pValue(p float64) string {
	if p < 0.001 {
		return fmt.Sprintf("%.1e", p)
	}
	return fmt.Sprintf("%.4f", p)
}
