package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"encbench/metrics/judge"
	"encbench/metrics/stat"
)

// scoreSchema names the shape of the JSON; its number grows when a field changes
// its meaning or goes away.
const scoreSchema = "encbench.score/1"

// scoreJSON is the report as JSON.
type scoreJSON struct {
	Schema string `json:"schema"`
	scoreRulesJSON
	Qrels       qrelsJSON        `json:"qrels"`
	Runs        []runJSON        `json:"runs"`
	Comparisons []comparisonJSON `json:"comparisons,omitempty"`
	Warnings    []string         `json:"warnings,omitempty"` // of runs that do not belong together
}

// scoreRulesJSON are the rules that every figure stands under.
type scoreRulesJSON struct {
	Convention string `json:"convention"`
	Averaging  string `json:"averaging"`
	Ties       string `json:"ties"`
	Float32    bool   `json:"scores_as_float32"`
	Level      int    `json:"level,omitempty"`
	Depth      int    `json:"depth,omitempty"`
}

type qrelsJSON struct {
	Name       string `json:"name"`
	Layout     string `json:"layout"`
	Queries    int    `json:"queries"`
	Judgements int    `json:"judgements"`
	Repeated   int    `json:"repeated"`
	Skipped    int64  `json:"lines_skipped"`
}

type runJSON struct {
	Run      string        `json:"run"`
	Tag      string        `json:"tag"`
	Format   string        `json:"format"`
	Counts   countsJSON    `json:"counts"`
	Measures []measureJSON `json:"measures"`
	Missing  []string      `json:"missing,omitempty"`
	Extra    []string      `json:"extra,omitempty"`
	Queries  []queryJSON   `json:"per_query,omitempty"`
	Notes    []string      `json:"notes,omitempty"`
}

type countsJSON struct {
	Averaged           int         `json:"queries"`
	Judged             int         `json:"judged"`
	Missing            int         `json:"missing"`
	Extra              int         `json:"extra"`
	WithoutRelevant    int         `json:"without_relevant"`
	Rows               int64       `json:"rows"`
	JudgedRows         int64       `json:"judged_rows"`
	SelfHits           int         `json:"self_hits_dropped"`
	Duplicates         int         `json:"duplicates_dropped"`
	RankContradictions int         `json:"rank_contradictions"`
	LinesSkipped       int64       `json:"lines_skipped"`
	LinesForgiven      int64       `json:"lines_forgiven"`
	TiesAtCut          map[int]int `json:"queries_tied_at_cut,omitempty"`
}

type measureJSON struct {
	Measure  string         `json:"measure"`
	K        int            `json:"k,omitempty"`
	Value    float64        `json:"value"`
	Queries  int            `json:"queries"`
	Interval *stat.Interval `json:"interval,omitempty"`
	TieLow   *float64       `json:"tie_low,omitempty"`
	TieHigh  *float64       `json:"tie_high,omitempty"`
}

type queryJSON struct {
	Query  string             `json:"query"`
	Values map[string]float64 `json:"values"`
}

type comparisonJSON struct {
	Run      string `json:"run"`
	Baseline string `json:"baseline"`
	Measure  string `json:"measure"`
	// Tested says whether the difference is one of those that Holm corrects over; the
	// others have no p-values.
	Tested bool `json:"tested"`
	scoredPair
	P          *float64 `json:"p,omitempty"`
	PT         *float64 `json:"p_t,omitempty"`
	PBootstrap *float64 `json:"p_bootstrap,omitempty"`
	PHolm      *float64 `json:"p_holm,omitempty"`
}

func (r *scoreReport) rules() scoreRulesJSON {
	return scoreRulesJSON{r.convention, r.options.Describe(), r.ties, r.float32, r.level, r.depth}
}

func countsOf(sr *scoredRun) countsJSON {
	c := &sr.result.Counts
	j := countsJSON{
		Averaged: c.Averaged, Judged: c.Judged, Missing: c.Missing, Extra: c.Extra, WithoutRelevant: c.WithoutRelevant,
		Rows: c.Rows, JudgedRows: c.JudgedRows, SelfHits: c.SelfHits, Duplicates: c.Duplicates, RankContradictions: c.RankContradictions,
		LinesSkipped: sr.stats.Skipped, LinesForgiven: sr.stats.Forgiven, TiesAtCut: tiesOf(c),
	}
	return j
}

func tiesOf(c *judge.Counts) map[int]int {
	ties := map[int]int{}
	for _, t := range c.TiesAtCut {
		if t.Queries > 0 {
			ties[t.K] = t.Queries
		}
	}
	return ties
}

func (r *scoreReport) measuresOf(n int) (out []measureJSON) {
	res := r.runs[n].result
	for m, measure := range res.Measures {
		j := measureJSON{Measure: measure.String(), K: measure.Cut(), Value: res.Mean[m], Queries: len(res.Queries)}
		if averages(measure) {
			j.Interval = &r.intervals[n][m]
		}
		if r.tieRange {
			j.TieLow, j.TieHigh = &res.LowMean[m], &res.HighMean[m]
		}
		out = append(out, j)
	}
	return out
}

func (r *scoreReport) queriesOf(sr *scoredRun) (out []queryJSON) {
	res := sr.result
	for q, query := range res.Queries {
		values := map[string]float64{}
		for m, measure := range res.Measures {
			if measure.PerQuery() {
				values[measure.String()] = res.Values[m][q]
			}
		}
		out = append(out, queryJSON{jsonID(query), values})
	}
	return out
}

// jsonID gives an id as JSON can hold it: text, with \xff for a byte that is none, so
// that two ids stay two.
func jsonID(id string) string {
	if utf8.ValidString(id) {
		return id
	}
	var b strings.Builder
	for len(id) > 0 {
		r, n := utf8.DecodeRuneInString(id)
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, "\\x%02x", id[0])
		} else {
			b.WriteString(id[:n])
		}
		id = id[n:]
	}
	return b.String()
}

func jsonIDs(ids []string) (out []string) {
	for _, id := range ids {
		out = append(out, jsonID(id))
	}
	return out
}

func (r *scoreReport) comparison(p scoredPair) comparisonJSON {
	c := comparisonJSON{Run: r.runs[p.run].name, Baseline: r.runs[0].name, Measure: r.list[p.measure].String(), Tested: p.tested, scoredPair: p}
	if p.tested {
		c.P, c.PT, c.PBootstrap, c.PHolm = &p.P, &p.PT, &p.PBootstrap, &p.Holm
	}
	return c
}

func (r *scoreReport) writeJSON(out io.Writer) error {
	q := r.qrels
	doc := scoreJSON{
		Schema: scoreSchema, scoreRulesJSON: r.rules(),
		Qrels: qrelsJSON{q.name, q.stats.Layout, q.qrels.Len(), q.stats.Judgements, q.qrels.Repeated, q.stats.Skipped},
	}
	for n, sr := range r.runs {
		j := runJSON{Run: sr.name, Tag: sr.tag, Format: sr.format, Counts: countsOf(sr), Measures: r.measuresOf(n),
			Missing: jsonIDs(sr.result.Missing), Extra: jsonIDs(sr.result.Extra), Notes: r.notes(sr)}
		if r.perQuery {
			j.Queries = r.queriesOf(sr)
		}
		doc.Runs = append(doc.Runs, j)
	}
	for _, p := range r.pairs {
		doc.Comparisons = append(doc.Comparisons, r.comparison(p))
	}
	doc.Warnings = r.warnings()
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(doc)
}

// writeJSONL prints a line for each run and measure, each query where asked, and
// each comparison; "kind" tells them apart.
func (r *scoreReport) writeJSONL(out io.Writer) error {
	w := bufio.NewWriter(out)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for n, sr := range r.runs {
		for _, m := range r.measuresOf(n) {
			if err := e.Encode(struct {
				Kind string `json:"kind"`
				Run  string `json:"run"`
				measureJSON
				scoreRulesJSON
				Counts countsJSON `json:"counts"`
			}{"measure", sr.name, m, r.rules(), countsOf(sr)}); err != nil {
				return err
			}
		}
		if !r.perQuery {
			continue
		}
		for _, q := range r.queriesOf(sr) {
			if err := e.Encode(struct {
				Kind string `json:"kind"`
				Run  string `json:"run"`
				queryJSON
			}{"query", sr.name, q}); err != nil {
				return err
			}
		}
	}
	for _, p := range r.pairs {
		if err := e.Encode(struct {
			Kind string `json:"kind"`
			comparisonJSON
		}{"comparison", r.comparison(p)}); err != nil {
			return err
		}
	}
	return w.Flush()
}

var scoreColumns = []string{"run", "measure", "query", "value", "queries", "low", "high", "method",
	"difference", "difference_low", "difference_high", "p", "p_holm", "wins", "ties", "losses", "effect_dz", "convention"}

// writeTable prints a row for each run and measure, query "all", with the difference
// to the first run where there is one, and each query where asked.
func (r *scoreReport) writeTable(out io.Writer) error {
	w := csv.NewWriter(out)
	if r.format == "tsv" {
		w.Comma = '\t'
	}
	num := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	row := func(cells ...string) error {
		cells = append(cells, make([]string, len(scoreColumns)-1-len(cells))...)
		return w.Write(append(cells, r.convention))
	}
	if err := w.Write(scoreColumns); err != nil {
		return err
	}
	for n, sr := range r.runs {
		res := sr.result
		for m, measure := range res.Measures {
			cells := []string{sr.name, measure.String(), "all", num(res.Mean[m]), strconv.Itoa(len(res.Queries)), "", "", ""}
			if v := r.intervals[n][m]; averages(measure) {
				if v.Known() {
					cells[5], cells[6] = num(v.Low), num(v.High)
				}
				cells[7] = v.Method
			}
			for _, p := range r.pairs {
				if p.run != n || p.measure != m {
					continue
				}
				low, high := "", ""
				if p.CI.Known() {
					low, high = num(p.CI.Low), num(p.CI.High)
				}
				plain, holm := "", ""
				if p.tested {
					plain, holm = num(p.P), num(p.Holm)
				}
				cells = append(cells, num(p.Diff), low, high, plain, holm, strconv.Itoa(p.Wins), strconv.Itoa(p.Ties), strconv.Itoa(p.Losses), num(p.Effect))
			}
			if err := row(cells...); err != nil {
				return err
			}
			if !r.perQuery || !measure.PerQuery() {
				continue
			}
			for q, query := range res.Queries {
				if err := row(sr.name, measure.String(), query, num(res.Values[m][q])); err != nil {
					return err
				}
			}
		}
	}
	w.Flush()
	return w.Error()
}
