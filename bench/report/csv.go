package report

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"strings"
	"time"

	"encbench/bench"
)

// csvColumn is one column of the CSV format. Columns are only ever appended, so
// that a spreadsheet made for one version reads the next.
type csvColumn struct {
	name string
	of   func(*bench.Record) string
}

var csvColumns = []csvColumn{
	{"schema", func(r *bench.Record) string { return strconv.Itoa(r.Schema) }},
	{"status", func(r *bench.Record) string { return r.Status }},
	{"started", func(r *bench.Record) string { return csvTime(r.Started) }},
	{"encbench", func(r *bench.Record) string { return r.Tool.Version }},
	{"commit", func(r *bench.Record) string { return r.Tool.Commit }},
	{"dirty", func(r *bench.Record) string { return strconv.FormatBool(r.Tool.Dirty) }},
	{"protocol", func(r *bench.Record) string { return r.Protocol.Name }},
	{"region", func(r *bench.Record) string { return string(r.Protocol.Region) }},
	{"chunk", func(r *bench.Record) string { return strconv.Itoa(r.Protocol.Chunk) }},
	{"overlap", func(r *bench.Record) string { return strconv.Itoa(r.Protocol.Overlap) }},
	{"batch", func(r *bench.Record) string { return strconv.Itoa(r.Protocol.Batch) }},
	{"ubatch", func(r *bench.Record) string { return r.Engine.UBatch }},
	{"how_run", func(r *bench.Record) string { return r.Engine.HowRun }},
	{"dtype", func(r *bench.Record) string { return r.Protocol.DType }},
	{"pooling", func(r *bench.Record) string { return r.Protocol.Pooling }},
	{"profile", func(r *bench.Record) string { return r.Schedule.Profile }},
	{"model", func(r *bench.Record) string { return r.Model.Name }},
	{"model_revision", func(r *bench.Record) string { return r.Model.Revision }},
	{"model_sha256", func(r *bench.Record) string { return r.Model.SHA256 }},
	{"corpus", func(r *bench.Record) string { return r.Corpus.Name }},
	{"corpus_sha256", func(r *bench.Record) string { return r.Corpus.SHA256 }},
	{"selection", func(r *bench.Record) string { return r.Corpus.Selection.Kind }},
	{"selection_sha256", func(r *bench.Record) string { return r.Corpus.Selection.SHA256 }},
	{"backend", func(r *bench.Record) string { return strings.TrimSpace(r.Engine.Backend + " " + r.Engine.Version) }},
	{"device", func(r *bench.Record) string { return r.Engine.Device }},
	{"threads", func(r *bench.Record) string { return strconv.Itoa(r.Engine.Threads) }},
	{"processor", func(r *bench.Record) string { return r.Env.CPU.Model }},
	{"samples", func(r *bench.Record) string { return strconv.Itoa(len(r.Samples)) }},
	{"timed_s", func(r *bench.Record) string { return csvNumber(r.TimedSeconds()) }},
	{"documents", func(r *bench.Record) string { return strconv.FormatInt(r.Corpus.Documents, 10) }},
	{"chunks", func(r *bench.Record) string { return strconv.FormatInt(r.Corpus.Chunks, 10) }},
	{"projected_from_documents", func(r *bench.Record) string {
		if r.Projection == nil {
			return ""
		}
		return strconv.FormatInt(r.Projection.FromDocs, 10)
	}},
	rate("docs_per_s", func(r *bench.Record) float64 { return r.Rates.Docs.Median }),
	rate("docs_per_s_low", func(r *bench.Record) float64 { return r.Rates.Docs.Low }),
	rate("docs_per_s_high", func(r *bench.Record) float64 { return r.Rates.Docs.High }),
	rate("docs_per_s_cv", func(r *bench.Record) float64 { return r.Rates.Docs.CV }),
	rate("chunks_per_s", func(r *bench.Record) float64 { return r.Rates.Chunks.Median }),
	rate("chunks_per_s_low", func(r *bench.Record) float64 { return r.Rates.Chunks.Low }),
	rate("chunks_per_s_high", func(r *bench.Record) float64 { return r.Rates.Chunks.High }),
	rate("chunks_per_s_cv", func(r *bench.Record) float64 { return r.Rates.Chunks.CV }),
	rate("tokens_per_s", func(r *bench.Record) float64 { return r.Rates.Tokens.Median }),
	rate("padded_tokens_per_s", func(r *bench.Record) float64 { return r.Rates.Padded.Median }),
	rate("text_mb_per_s", func(r *bench.Record) float64 { return r.Rates.TextMB.Median }),
	rate("padding_linear", func(r *bench.Record) float64 { return r.Padding.Linear }),
	rate("padding_quadratic", func(r *bench.Record) float64 { return r.Padding.Quadratic }),
	{"overlap_factor", func(r *bench.Record) string { return csvNumber(r.Overlap.Factor) }},
	{"documents_truncated", func(r *bench.Record) string { return strconv.FormatInt(r.Truncation.DocsCut, 10) }},
	{"tokens_dropped", func(r *bench.Record) string { return strconv.FormatInt(r.Truncation.Dropped, 10) }},
	rate("mfu", func(r *bench.Record) float64 { return r.MFU.Value }),
	rate("hfu", func(r *bench.Record) float64 { return r.HFU.Value }),
	{"peak_flop_per_s", func(r *bench.Record) string { return csvNumber(r.MFU.Peak) }},
	{"accuracy", func(r *bench.Record) string { return r.Accuracy.Level }},
	{"accuracy_passed", func(r *bench.Record) string { return strconv.FormatBool(r.Accuracy.Passed) }},
	{"min_cosine", func(r *bench.Record) string { return csvNumber(r.Accuracy.Min) }},
	{"mean_cosine", func(r *bench.Record) string { return csvNumber(r.Accuracy.Mean) }},
	{"peak_rss_bytes", func(r *bench.Record) string { return strconv.FormatInt(r.Memory.PeakRSS, 10) }},
	{"cold_start_s", func(r *bench.Record) string { return csvNumber(r.Cold.Total) }},
	{"bottleneck", func(r *bench.Record) string { return r.Bottleneck }},
	{"warnings", func(r *bench.Record) string {
		codes := make([]string, len(r.Warnings))
		for i, w := range r.Warnings {
			codes[i] = w.Code
		}
		return strings.Join(codes, " ")
	}},
	{"publishable", func(r *bench.Record) string { return strconv.FormatBool(r.Verdict.Publishable) }},
	{"reasons", func(r *bench.Record) string { return strings.Join(r.Verdict.Reasons, "; ") }},
	{"max_difference", func(r *bench.Record) string { return csvNumber(r.Accuracy.MaxDiff) }},
	{"dtype_stored", func(r *bench.Record) string { return r.Model.Stored }},
	{"ndcg_ratio", func(r *bench.Record) string {
		if r.Accuracy.Retrieval == nil {
			return ""
		}
		return csvNumber(r.Accuracy.Retrieval.Ratio)
	}},
	{"batch_tokens", func(r *bench.Record) string { return strconv.Itoa(r.Protocol.BatchTokens) }},
	{"predicted_peak_bytes", func(r *bench.Record) string { return strconv.FormatInt(r.Memory.Predicted, 10) }},
}

// rate is a column that is empty for a record without rates.
func rate(name string, of func(*bench.Record) float64) csvColumn {
	return csvColumn{name, func(r *bench.Record) string {
		if !hasRates(r) {
			return ""
		}
		return csvNumber(of(r))
	}}
}

// csvNumber writes the shortest digits that read back as x; 0 stands for a value
// that was not measured and leaves the cell empty.
func csvNumber(x float64) string {
	if !isNumber(x) || x == 0 {
		return ""
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

func csvTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// writeCSV writes a header and one row a record. Units are in the column names;
// rates are medians, _low and _high the ends of the 95 % interval.
func writeCSV(buf *bytes.Buffer, recs []*bench.Record) error {
	w := csv.NewWriter(buf)
	line := make([]string, len(csvColumns))
	for i, c := range csvColumns {
		line[i] = c.name
	}
	if err := w.Write(line); err != nil {
		return err
	}
	for _, r := range recs {
		for i, c := range csvColumns {
			line[i] = c.of(r)
		}
		if err := w.Write(line); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}
