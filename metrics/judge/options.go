package judge

import (
	"fmt"
	"slices"
	"strings"

	"encbench/metrics"
	"encbench/metrics/ranking"
)

// Convention names the tool whose habits decide what a caller left open.
type Convention int

const (
	// IRMeasures averages over every query of the judgements; one that the run
	// misses counts 0. The default.
	IRMeasures Convention = iota
	// TrecEval averages over the queries that are in both. Grades must be whole.
	TrecEval
	// MTEB averages over the queries that are in both.
	MTEB
	// BEIR averages over the queries that are in both, after it has dropped the
	// document whose identifier is the query's from each ranking.
	BEIR
)

var conventionNames = []string{"ir_measures", "trec_eval", "mteb", "beir"}

// Conventions lists the names that ParseConvention accepts.
func Conventions() []string { return slices.Clone(conventionNames) }

// String gives the name that ParseConvention accepts.
func (c Convention) String() string {
	if c < 0 || int(c) >= len(conventionNames) {
		return fmt.Sprintf("convention(%d)", int(c))
	}
	return conventionNames[c]
}

// ParseConvention gives the convention of that name.
func ParseConvention(name string) (Convention, error) {
	if i := slices.Index(conventionNames, name); i >= 0 {
		return Convention(i), nil
	}
	return 0, fmt.Errorf("unknown convention %q: %s", name, strings.Join(conventionNames, ", "))
}

// Choice is a yes or no that may be left to the convention.
type Choice int

const (
	ByConvention Choice = iota
	No
	Yes
)

// or gives the choice, def where it was left open.
func (c Choice) or(def bool) bool {
	if c == ByConvention {
		return def
	}
	return c == Yes
}

// Options says how a run is judged. The zero value is the default convention.
type Options struct {
	Convention Convention
	Ties       ranking.Ties
	Float32    bool // compare scores as 32-bit floats, as trec_eval before version 10
	// Complete averages over every query of the judgements: one that the run misses
	// has an empty ranking.
	Complete Choice
	// DropSelf removes a document whose identifier is the query's, by identifier.
	DropSelf Choice
	// Level is the lowest grade of a relevant document for ExcludeWithoutRelevant and
	// Counts.WithoutRelevant; 0 means metrics.Level. Measures carry their own.
	Level float64
	// Depth, if positive, cuts every ranking after so many documents.
	Depth int
	// ExcludeWithoutRelevant leaves queries without a relevant document (grade at
	// least Level) out of the mean; else they count with what the measure gives, 0.
	ExcludeWithoutRelevant bool
	// JudgedOnly removes documents without a judgement before ranks are counted, and
	// after Depth has cut. For TrecEval a negative grade is no judgement.
	JudgedOnly bool
	// KeepFirst keeps the first of several rows with the same document and counts
	// the others; else they are an error.
	KeepFirst bool
	// Infinite accepts scores of ±Inf; else they are an error, as NaN always is.
	Infinite bool
	// Range asks for the lowest and highest value over every order of equal scores.
	Range bool
}

// complete says whether missing queries are averaged.
func (o *Options) complete() bool { return o.Complete.or(o.Convention == IRMeasures) }

// level is the lowest grade of a relevant document.
func (o *Options) level() float64 {
	if o.Level == 0 {
		return metrics.Level
	}
	return o.Level
}

// dropSelf says whether self matches are removed.
func (o *Options) dropSelf() bool { return o.DropSelf.or(o.Convention == BEIR) }

// Describe says in words which queries are averaged, for the head of an output.
func (o *Options) Describe() string {
	s := o.Convention.String() + ": mean over "
	if o.complete() {
		s += "every judged query, a missing one counts 0"
	} else {
		s += "the queries that are in both run and judgements"
	}
	if o.ExcludeWithoutRelevant {
		s += ", those without a relevant document left out"
	}
	if o.dropSelf() {
		s += "; documents with the query's id dropped"
	}
	if o.Depth > 0 {
		s += fmt.Sprintf("; rankings cut after %d documents", o.Depth)
	}
	if o.JudgedOnly {
		s += "; documents without a judgement dropped"
	}
	if o.Ties != ranking.Descending {
		s += "; ties " + o.Ties.String()
	}
	if o.Float32 {
		s += "; scores compared as float32"
	}
	return s
}
