package bench

import (
	"fmt"
	"strings"
)

// Comparison holds record b against record a: every ratio is b ÷ a. The two are
// taken as independent runs.
type Comparison struct {
	A           Side         `json:"a"`
	B           Side         `json:"b"`
	Rates       []RateRatio  `json:"rates"`
	Differences []Difference `json:"differences"` // what differs and may: the cause is among them
	Notes       []string     `json:"notes"`       // how to read the ratios
}

// Side is one record of a comparison, with its quality beside its speed.
type Side struct {
	Model       string  `json:"model"`
	Started     string  `json:"started"` // RFC 3339
	Status      string  `json:"status"`
	Samples     int     `json:"samples"`
	TimedS      float64 `json:"timed_s"`
	Level       string  `json:"accuracy_level"`
	Min         float64 `json:"min_cosine"`
	Mean        float64 `json:"mean_cosine"`
	MaxDiff     float64 `json:"max_difference"`
	Publishable bool    `json:"publishable"`
}

// RateRatio is one rate of both records. Where an arm has fewer than 6 samples the
// intervals are ranges and there is no p-value: too few samples to say.
type RateRatio struct {
	Name  string   `json:"name"` // documents, chunks, tokens
	Unit  string   `json:"unit"`
	A     Estimate `json:"a"`
	B     Estimate `json:"b"`
	Ratio Ratio    `json:"b_over_a"`
	P     *float64 `json:"p_value"` // Mann-Whitney U, two-sided; nil below 6 samples an arm
}

// Significance is the p-value below which two rates count as different.
const Significance = 0.05

// Difference is a field in which two records differ, with both values as text.
type Difference struct {
	Field string `json:"field"` // as in the record: "protocol.chunk"
	A     string `json:"a"`
	B     string `json:"b"`
}

// Refusal is the error for two records whose rates do not mean the same. It
// lists every field that stands in the way.
type Refusal struct{ Fields []Difference }

func (r *Refusal) Error() string {
	parts := make([]string, len(r.Fields))
	for i, d := range r.Fields {
		switch d.Field {
		case fieldPassed:
			parts[i] = fmt.Sprintf("%s: the accuracy gate of %s failed, so there is no rate", d.Field, lacking(d, text(false), "A and of B"))
		case fieldSamples:
			parts[i] = fmt.Sprintf("%s: %s measured nothing", d.Field, lacking(d, text(0), "both A and B"))
		default:
			parts[i] = fmt.Sprintf("%s: %s against %s", d.Field, d.A, d.B)
		}
	}
	return "not comparable: " + strings.Join(parts, "; ")
}

// lacking names the records whose value is the one that no record may have.
func lacking(d Difference, bad, both string) string {
	switch {
	case d.A == bad && d.B == bad:
		return both
	case d.A == bad:
		return "A"
	}
	return "B"
}

// Compare gives the ratios of two records, or a *Refusal naming every field that
// makes their rates mean different things: the schema, the timed region, window,
// overlap and batch, the type computed in, the accuracy level, the input, or a
// gate that one of them did not pass.
//
// What the same input is depends on the tokenizer. With one tokenizer the token
// ids must be the same (selection.sha256). Two tokenizers cut the same text into
// different ids, so there the corpus (corpus.sha256) and the rule that picked the
// chunks must be the same; docs/s then still counts the same documents, and a
// note says that chunks and tokens do not.
//
// Prompt, pooling, normalization and dimension belong to the model: they must be
// equal for one model, and are listed as differences between two. Two models,
// machines, engines, thread counts, micro-batches or commits are what one
// compares, so they never refuse.
func Compare(a, b *Record) (Comparison, error) {
	if bad := obstacles(a, b); len(bad) > 0 {
		return Comparison{}, &Refusal{Fields: bad}
	}
	c := Comparison{A: side(a), B: side(b), Differences: variations(a, b), Notes: notes(a, b)}
	for _, s := range fiveRates[:3] {
		xa, xb := s.values(a.Samples), s.values(b.Samples)
		if xa == nil || xb == nil {
			continue
		}
		r := RateRatio{Name: s.Name, Unit: s.Unit, A: Summarize(xa), B: Summarize(xb), Ratio: RatioCI(xb, xa)}
		if min(len(xa), len(xb)) >= minInterval {
			_, p := MannWhitney(xb, xa)
			r.P = &p
		}
		c.Rates = append(c.Rates, r)
	}
	return c, nil
}

func side(r *Record) Side {
	return Side{
		Model: r.Model.Name, Started: r.Started.UTC().Format("2006-01-02T15:04:05Z"), Status: r.Status,
		Samples: len(r.Samples), TimedS: r.TimedSeconds(),
		Level: r.Accuracy.Level, Min: r.Accuracy.Min, Mean: r.Accuracy.Mean, MaxDiff: r.Accuracy.MaxDiff,
		Publishable: r.Verdict.Publishable,
	}
}

func notes(a, b *Record) []string {
	n := []string{}
	switch standIn := a.Model.StandInTokenizer || b.Model.StandInTokenizer; {
	case sameTokenizer(a, b):
	case standIn:
		n = append(n, "the tokenizers differ, and one is a stand-in, of which there is no docs/s: chunks/s and tokens/s are of other text, and say nothing of documents")
	default:
		n = append(n, "the tokenizers differ: the same documents become different chunks and tokens, so docs/s is the ratio to read")
	}
	if a.Projection != nil || b.Projection != nil {
		n = append(n, "docs/s is projected from a sample of chunks: its interval covers timing only")
	}
	if a.Env.HostHash != b.Env.HostHash || a.Env.CPU.Model != b.Env.CPU.Model {
		n = append(n, "the machines differ: the ratio is of machines as much as of programs")
	}
	for _, side := range []struct {
		name string
		r    *Record
	}{{"A", a}, {"B", b}} {
		if side.r.Model.Synthetic {
			n = append(n, side.name+" has synthetic weights: speed only, its vectors mean nothing")
		}
		switch side.r.Status {
		case StatusComplete:
		case StatusInterrupted:
			n = append(n, side.name+" was interrupted: its figures cover what was measured until then")
		case StatusFailed:
			n = append(n, side.name+" failed: its figures cover what was measured until then")
		default:
			n = append(n, side.name+" is not a finished run: its status is "+orUnknown(side.r.Status))
		}
		if k := len(side.r.Samples); k < minInterval {
			n = append(n, fmt.Sprintf("%s has %s: fewer than %d give no 95 %% interval and no p-value, so ranges are shown", side.name, count(k, "sample"), minInterval))
		}
		if !side.r.Verdict.Publishable {
			n = append(n, side.name+" is not publishable, see its report")
		}
	}
	return n
}
