package report

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"encbench/bench"
)

// ResultsPage is the name of the page that Results renders.
const ResultsPage = "README.md"

const resultsIntro = `<!-- Rendered from the JSON files beside it by "make results"; edit those. -->

# Measured results

Every figure here is computed from the raw samples in the JSON file named with it. "Ours" and "peer" are medians;
a ratio is ours ÷ peer: the median over pairs of an interleaved (ABBA) run, or, where marked "unpaired", of the two
medians. Intervals are bootstrap 95 % intervals of it (10,000 resamples). A bar is **met** when the better end of the
interval reaches it and the median is within 0.01 of it or beyond, on at least 12 pairs (6 samples where unpaired).
Where n cases were counted, "ours" is the worst of them and has no interval. Absolute figures belong to the machine
named; compare ratios. A value of quality is a mean over queries with its interval over them; a reference is another
system's value on the same queries.
`

// Results renders the committed results (bench.Result) in the JSON files of dir:
// the file contents by name, to be written into dir. The same files always give
// the same bytes. A dir without such files gives a page that says so.
func Results(dir string) (map[string][]byte, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("render results: %w", err)
	}
	slices.Sort(names)
	var buf bytes.Buffer
	buf.WriteString(resultsIntro)
	if len(names) == 0 {
		buf.WriteString("\nNothing has been measured yet.\n")
	}
	for _, name := range names {
		res, err := bench.ReadResult(name)
		if err != nil {
			return nil, fmt.Errorf("render results: %w", err)
		}
		writeResult(&buf, filepath.Base(name), res)
	}
	plainSpaces(&buf)
	return map[string][]byte{ResultsPage: buf.Bytes()}, nil
}

func writeResult(buf *bytes.Buffer, file string, res *bench.Result) {
	fmt.Fprintf(buf, "\n## %s\n\n", markdownText(res.Title))
	for _, n := range res.Notes {
		fmt.Fprintf(buf, "%s\n\n", markdownText(n))
	}
	if len(res.Rows) > 0 {
		columns := []column{{"what", false}, {"unit", false}, {"ours", true}, {"peer", true}, {"peer is", false}, {"ratio", true}, {"95 % interval", true}, {"n", true}, {"bar", true}, {"verdict", false}}
		var rows [][]string
		for i := range res.Rows {
			rows = append(rows, resultCells(&res.Rows[i]))
		}
		resultTable(buf, columns, rows)
	}
	if len(res.Means) > 0 {
		columns := []column{{"what", false}, {"measure", false}, {"value", true}, {"95 % interval", true}, {"queries", true}, {"reference", true}, {"reference is", false}, {"difference", true}, {"verdict", false}}
		var rows [][]string
		for i := range res.Means {
			rows = append(rows, meanCells(&res.Means[i]))
		}
		resultTable(buf, columns, rows)
	}
	first := true
	note := func(name, text string) {
		if text == "" {
			return
		}
		if first {
			buf.WriteByte('\n')
			first = false
		}
		fmt.Fprintf(buf, "- %s: %s\n", markdownText(name), markdownText(text))
	}
	for _, r := range res.Rows {
		note(r.Name, r.Note)
	}
	for _, m := range res.Means {
		note(m.Name+", "+m.Measure, m.Note)
	}
	var versions []string
	for _, k := range slices.Sorted(maps.Keys(res.Versions)) {
		versions = append(versions, k+" "+res.Versions[k])
	}
	fmt.Fprintf(buf, "\n%s. Commit %s%s. Samples: [%s](%s).\n\n", markdownText(strings.TrimRight(res.Machine, ".")), shortHash(res.Commit),
		given(res.Date != "", ", "+markdownText(res.Date)), markdownText(file), file)
	if len(versions) > 0 {
		fmt.Fprintf(buf, "Versions: %s.\n\n", markdownText(strings.Join(versions, ", ")))
	}
	fmt.Fprintf(buf, "    %s\n", oneLine(res.Command))
}

// resultTable is markdownTable for cells that hold Markdown already.
func resultTable(buf *bytes.Buffer, columns []column, rows [][]string) {
	markdownGrid(buf, columns, rows, func(s string) string { return s })
}

func resultCells(r *bench.ResultRow) []string {
	j := r.Judge()
	v := j.Value
	n := bench.Thousands(int64(v.N))
	if r.Counted {
		cells := []string{markdownText(r.Name), markdownText(r.Unit), number(v.Value), none, "", none, none, n}
		return append(cells, barText(r), resultVerdict(r, j))
	}
	cells := []string{markdownText(r.Name), markdownText(r.Unit), number(bench.Median(r.Ours))}
	if len(r.Peer) == 0 {
		cells = append(cells, none, "", none, interval(v.Value, v.Low, v.High), n)
	} else {
		if r.Unpaired {
			n = fmt.Sprintf("%d + %d, unpaired", len(r.Ours), len(r.Peer))
		}
		cells = append(cells, number(bench.Median(r.Peer)), markdownText(r.PeerName), ratioValue(v), ratioInterval(v), n)
	}
	return append(cells, barText(r), resultVerdict(r, j))
}

// meanCells is a mean over queries with four decimals, as measures are read.
func meanCells(m *bench.ResultMean) []string {
	cells := []string{markdownText(m.Name), markdownText(m.Measure), fixed(m.Value, 4), fmt.Sprintf("%s – %s", fixed(m.Low, 4), fixed(m.High, 4)), bench.Thousands(int64(m.Queries))}
	if m.Reference == nil {
		return append(cells, none, "", none, none)
	}
	cells = append(cells, fixed(*m.Reference, 4), markdownText(m.ReferenceName), fmt.Sprintf("%+.4f", m.Value-*m.Reference))
	switch {
	case m.Within == nil:
		return append(cells, none)
	case m.Met():
		return append(cells, fmt.Sprintf("within %s", trimNumber(*m.Within)))
	}
	return append(cells, fmt.Sprintf("**MISSED**: expected within %s", trimNumber(*m.Within)))
}

func barText(r *bench.ResultRow) string {
	if r.Bar == nil {
		return none
	}
	sign := "≥ "
	if r.Ceiling {
		sign = "≤ "
	}
	unit := "×"
	if len(r.Peer) == 0 {
		unit = ""
	}
	return sign + trimNumber(*r.Bar) + unit
}

// trimNumber writes a bar as it was stated: no digits beyond it.
func trimNumber(x float64) string {
	s := fixed(x, 3)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

func resultVerdict(r *bench.ResultRow, j bench.Judged) string {
	switch {
	case !j.HasBar:
		return none
	case !j.Enough:
		return fmt.Sprintf("**not judged**: %d of %d", j.Value.N, j.Need)
	case j.Met:
		return "met"
	}
	by := fixed(-j.By, 3) + "×"
	if len(r.Peer) == 0 {
		by = number(-j.By) + " " + markdownText(r.Unit)
	}
	return "**MISSED** by " + by
}
