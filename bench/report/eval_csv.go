package report

import (
	"bytes"
	"encoding/csv"
	"strconv"

	"encbench/bench/eval"
	"encbench/metrics/stat"
)

// evalColumns are the columns of the CSV format. They are only ever appended.
var evalColumns = []string{
	"schema", "status", "started", "encbench", "commit", "model", "model_sha256", "collection", "collection_sha256",
	"documents", "of_documents", "queries", "of_queries", "k", "length", "max_tokens", "dim", "system",
	"measure", "mean", "low", "high", "interval", "difference", "difference_low", "difference_high", "p_value",
	"wins", "ties", "losses", "bytes_per_vector", "prepare_s", "search_s", "documents_cut", "error",
	"p_holm",
}

// evalCSV writes a header and one row for each collection, system and measure. The
// difference of BM25's row is model − BM25, of a store's row store − float32.
func evalCSV(buf *bytes.Buffer, r *eval.Record) error {
	w := csv.NewWriter(buf)
	if err := w.Write(evalColumns); err != nil {
		return err
	}
	for i := range r.Collections {
		c := &r.Collections[i]
		row := func(system, measure, holm string, rest ...string) error {
			line := []string{strconv.Itoa(r.Schema), r.Status, csvTime(r.Started), r.Tool.Version, r.Tool.Commit, r.Model.Name, r.Model.SHA256, c.Name, c.SHA256,
				strconv.Itoa(c.Documents), strconv.Itoa(c.OfDocuments), strconv.Itoa(c.Queries), strconv.Itoa(c.OfQueries), strconv.Itoa(r.Protocol.K),
				r.Protocol.Length, strconv.Itoa(r.Protocol.MaxTokens), strconv.Itoa(r.Protocol.Dim), system, measure}
			line = append(line, rest...)
			for len(line) < len(evalColumns)-3 {
				line = append(line, "")
			}
			return w.Write(append(line, strconv.FormatInt(c.Texts.Cut, 10), c.Error, holm))
		}
		if c.Error != "" {
			if err := row("model", "", ""); err != nil {
				return err
			}
		}
		for _, v := range c.Values {
			if err := row("model", v.Measure, "", valueCells(v)...); err != nil {
				return err
			}
		}
		if b := c.BM25; b != nil {
			for m, v := range b.Values {
				if err := row("BM25", v.Measure, plainFloat(b.Differences[m].Holm), append(valueCells(v), pairedCells(b.Differences[m].Paired)...)...); err != nil {
					return err
				}
			}
		}
		for _, s := range c.Stores {
			for _, d := range s.Differences {
				cells := append([]string{plainFloat(d.MeanB), "", "", ""}, pairedCells(d.Paired)...)
				if err := row("store "+string(s.Store), d.Measure, plainFloat(d.Holm), append(cells, strconv.Itoa(s.Bytes), plainFloat(s.PrepareS), plainFloat(s.SearchS))...); err != nil {
					return err
				}
			}
		}
	}
	w.Flush()
	return w.Error()
}

func valueCells(v eval.Value) []string {
	return append([]string{plainFloat(v.Mean)}, intervalCells(v.CI, true)...)
}

func intervalCells(v stat.Interval, method bool) []string {
	cells := []string{"", ""}
	if v.Known() {
		cells = []string{plainFloat(v.Low), plainFloat(v.High)}
	}
	if method {
		cells = append(cells, v.Method)
	}
	return cells
}

func pairedCells(p stat.Paired) []string {
	cells := append([]string{plainFloat(p.Diff)}, intervalCells(p.CI, false)...)
	return append(cells, plainFloat(p.P), strconv.Itoa(p.Wins), strconv.Itoa(p.Ties), strconv.Itoa(p.Losses))
}

// plainFloat writes the shortest digits that read back as x.
func plainFloat(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
