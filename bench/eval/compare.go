package eval

import (
	"fmt"
	"slices"
	"strings"

	"encbench/bench"
	"encbench/metrics/stat"
)

// Comparison holds record b against record a on the queries of the collections that
// are in both: every difference is b − a.
type Comparison struct {
	A           Side               `json:"a"`
	B           Side               `json:"b"`
	Rows        []Row              `json:"rows"`
	Averages    []AverageRow       `json:"averages"`    // with more than one collection, by measure
	Differences []bench.Difference `json:"differences"` // what differs and may: the cause is among them
	Notes       []string           `json:"notes"`
}

// Side is one record of a comparison.
type Side struct {
	Model   string `json:"model"`
	Started string `json:"started"` // RFC 3339
	Status  string `json:"status"`
	Dim     int    `json:"dim"`
	Tokens  int    `json:"max_tokens"`
	Length  string `json:"length"`
}

// Row is a measure on a collection, paired by query.
type Row struct {
	Collection string  `json:"collection"`
	Measure    string  `json:"measure"`
	A          float64 `json:"a"`
	B          float64 `json:"b"`
	// Paired is b against a: wins are queries on which b is ahead.
	Paired stat.Paired `json:"paired"`
	// Holm is the p-value corrected for all rows of the comparison.
	Holm float64 `json:"p_holm"`
}

// AverageRow is the mean of the differences over the collections, each weighing the
// same.
type AverageRow struct {
	Measure string     `json:"measure"`
	Change  stat.Suite `json:"change"`
}

// Compare pairs two records by query, or gives a *bench.Refusal that names what
// stands in the way: another convention, no measure in common, or no collection
// that both hold in the same version and size. Collections are the same when their
// hashes over documents, queries and judgements are; the size of a limited one is
// part of it. Models, prompts, lengths, dimensions, engines and machines are what
// one compares: they never refuse, and are listed.
func Compare(a, b *Record) (*Comparison, error) {
	c := &Comparison{A: side(a), B: side(b), Rows: []Row{}, Averages: []AverageRow{}, Notes: []string{}}
	measures, uncut := common(a, b)
	pairs, others := pair(a, b)
	if bad := obstacles(a, b, measures, uncut, pairs); len(bad) > 0 {
		return nil, &bench.Refusal{Fields: bad}
	}
	changes := map[string][][]float64{}
	var p []float64
	for _, pr := range pairs {
		for _, m := range measures {
			va, vb := pr.a.Value(m), pr.b.Value(m)
			row := Row{Collection: pr.a.Name, Measure: m, A: va.Mean, B: vb.Mean,
				Paired: stat.Against(va.PerQuery, vb.PerQuery, stat.Options{Seed: a.Protocol.Seed, Groups: pr.a.Clusters, Unit: true})}
			c.Rows = append(c.Rows, row)
			p = append(p, row.Paired.P)
			change := make([]float64, len(va.PerQuery))
			for i := range change {
				change[i] = vb.PerQuery[i] - va.PerQuery[i]
			}
			changes[m] = append(changes[m], change)
		}
	}
	for i, corrected := range stat.Holm(p) {
		c.Rows[i].Holm = corrected
	}
	if len(pairs) > 1 {
		for _, m := range measures {
			c.Averages = append(c.Averages, AverageRow{m, stat.Stratified(changes[m], nil, stat.Options{})})
		}
	}
	c.Differences = variations(a, b)
	if len(others) > 0 {
		c.Notes = append(c.Notes, "in one record only, left out: "+strings.Join(others, ", "))
	}
	if len(uncut) > 0 {
		c.Notes = append(c.Notes, "left out because the records keep another number of documents a query: "+strings.Join(uncut, ", "))
	}
	for _, s := range []struct {
		name string
		r    *Record
	}{{"A", a}, {"B", b}} {
		if s.r.Status != bench.StatusComplete {
			c.Notes = append(c.Notes, s.name+" is "+s.r.Status+": only the collections that were done are compared")
		}
	}
	return c, nil
}

func side(r *Record) Side {
	return Side{Model: r.Model.Name, Started: r.Started.UTC().Format("2006-01-02T15:04:05Z"), Status: r.Status,
		Dim: r.Protocol.Dim, Tokens: r.Protocol.MaxTokens, Length: r.Protocol.Length}
}

// common gives the measures of both records, in the order of a, and those that are
// left out: a measure without a cut-off depends on how many documents were kept.
func common(a, b *Record) (measures, uncut []string) {
	for _, m := range measuresOf(a) {
		switch {
		case !slices.Contains(measuresOf(b), m):
		case a.Protocol.K != b.Protocol.K && !strings.Contains(m, "@"):
			uncut = append(uncut, m)
		default:
			measures = append(measures, m)
		}
	}
	return measures, uncut
}

func measuresOf(r *Record) []string {
	var out []string
	for i := range r.Collections {
		for _, v := range r.Collections[i].Values {
			if !slices.Contains(out, v.Measure) {
				out = append(out, v.Measure)
			}
		}
	}
	return out
}

type pairing struct{ a, b *Collection }

// pair gives the collections of both records, and the names of the others.
func pair(a, b *Record) (pairs []pairing, others []string) {
	find := func(r *Record, c *Collection) *Collection {
		for i := range r.Collections {
			if d := &r.Collections[i]; d.Error == "" && d.SHA256 == c.SHA256 && slices.Equal(d.QueryIDs, c.QueryIDs) {
				return d
			}
		}
		return nil
	}
	for i := range a.Collections {
		c := &a.Collections[i]
		if c.Error != "" {
			continue
		}
		if d := find(b, c); d != nil {
			pairs = append(pairs, pairing{c, d})
		} else {
			others = append(others, c.Name)
		}
	}
	for i := range b.Collections {
		if c := &b.Collections[i]; c.Error == "" && find(a, c) == nil {
			others = append(others, c.Name)
		}
	}
	return pairs, others
}

// obstacles lists what forbids a comparison.
func obstacles(a, b *Record, measures, uncut []string, pairs []pairing) []bench.Difference {
	d := differ(nil, a, b, equalFields...)
	if len(pairs) == 0 {
		d = append(d, bench.Difference{Field: "collections (name, hash of documents, queries and judgements)", A: collectionsText(a), B: collectionsText(b)})
	}
	if len(measures) == 0 && len(pairs) > 0 {
		if len(uncut) > 0 {
			d = differ(d, a, b, depthField)
		} else {
			d = append(d, bench.Difference{Field: "measures", A: orNone(strings.Join(measuresOf(a), " ")), B: orNone(strings.Join(measuresOf(b), " "))})
		}
	}
	return d
}

func collectionsText(r *Record) string {
	var parts []string
	for i := range r.Collections {
		if c := &r.Collections[i]; c.Error == "" {
			parts = append(parts, fmt.Sprintf("%s %.12s", c.Name, c.SHA256))
		}
	}
	return orNone(strings.Join(parts, ", "))
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}

type field struct {
	name string
	of   func(*Record) any
}

// equalFields must be equal for any two records, depthField for a measure without a
// cut-off.
var (
	equalFields = []field{
		{"protocol.convention", func(r *Record) any { return r.Protocol.Convention }},
		{"protocol.drop_self", func(r *Record) any { return r.Protocol.DropSelf }},
	}
	depthField = field{"protocol.k", func(r *Record) any { return r.Protocol.K }}
)

// freeFields may differ, what matters most first.
var freeFields = []field{
	depthField,
	{"model.name", func(r *Record) any { return r.Model.Name }},
	{"model.revision", func(r *Record) any { return r.Model.Revision }},
	{"model.sha256", func(r *Record) any { return short(r.Model.SHA256) }},
	{"model.tokenizer_sha256", func(r *Record) any { return short(r.Model.TokenizerSHA256) }},
	{"model.parameters", func(r *Record) any { return r.Model.Parameters }},
	{"protocol.pooling", func(r *Record) any { return r.Protocol.Pooling }},
	{"protocol.length", func(r *Record) any { return r.Protocol.Length }},
	{"protocol.max_tokens", func(r *Record) any { return r.Protocol.MaxTokens }},
	{"protocol.overlap", func(r *Record) any { return r.Protocol.Overlap }},
	{"protocol.pool", func(r *Record) any { return r.Protocol.Pool }},
	{"protocol.query_prompt", func(r *Record) any { return fmt.Sprintf("%q", r.Protocol.Query.Text) }},
	{"protocol.document_prompt", func(r *Record) any { return fmt.Sprintf("%q", r.Protocol.Document.Text) }},
	{"protocol.similarity", func(r *Record) any { return r.Protocol.Similarity }},
	{"protocol.dim", func(r *Record) any { return r.Protocol.Dim }},
	{"protocol.dtype", func(r *Record) any { return r.Protocol.DType }},
	{"protocol.batch", func(r *Record) any { return r.Protocol.Batch }},
	{"engine.backend", func(r *Record) any { return r.Engine.Backend }},
	{"engine.version", func(r *Record) any { return r.Engine.Version }},
	{"engine.device", func(r *Record) any { return r.Engine.Device }},
	{"engine.devices", func(r *Record) any { return r.Engine.Parts() }},
	{"engine.threads", func(r *Record) any { return r.Engine.Threads }},
	{"env.host_hash", func(r *Record) any { return r.Env.HostHash }},
	{"tool.version", func(r *Record) any { return r.Tool.Version }},
	{"tool.commit", func(r *Record) any { return short(r.Tool.Commit) }},
}

func short(hash string) string { return hash[:min(len(hash), 12)] }

// variations lists what differs and may.
func variations(a, b *Record) []bench.Difference {
	return differ([]bench.Difference{}, a, b, freeFields...)
}

func differ(d []bench.Difference, a, b *Record, fields ...field) []bench.Difference {
	for _, f := range fields {
		if x, y := f.of(a), f.of(b); x != y {
			d = append(d, bench.Difference{Field: f.name, A: orNone(fmt.Sprint(x)), B: orNone(fmt.Sprint(y))})
		}
	}
	return d
}
