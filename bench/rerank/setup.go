package rerank

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"encbench/bench/collection"
	"encbench/bench/eval"
	"encbench/corpus/tokenize"
	"encbench/engine"
	"encbench/metrics"
	"encbench/metrics/judge"
	"encbench/metrics/stat"
)

// Input is a collection and the first stage's run over it.
type Input struct {
	Collection *collection.Collection
	Part       string // of a split by hash: dev, heldout; "" = no part
	Digest     string // of that split
	Lists      *Lists // made for Collection.Queries
	First      FirstStage
}

// Setup is one reranking.
type Setup struct {
	Inputs   []Input
	Measures []metrics.Measure
	Top      int // candidates of a query

	Encoder     engine.Encoder // one value a row, the logit
	Tokenizer   tokenize.Tokenizer
	MaxTokens   int // of a row, special tokens included
	QueryTokens int // content tokens of a query
	Types       int // token types that the model has, 1 or more

	Batch   int // rows that the encoder is handed at a time
	Workers int // tokenizing goroutines
	Seed    uint64

	// OpenRun gives where the new rankings of a collection go; nil, or a nil writer,
	// keeps none. It is called when all pairs of the collection are scored.
	OpenRun func(input int, c *Collection) (eval.RunWriter, error)
	// Progress is called after every batch; it may be nil.
	Progress func(eval.Step)
	// Base is what the caller knows already: tool, command, model, engine, facts of
	// the machine, outcome of the gate, warnings of its own. A synthetic model
	// (Base.Model.Synthetic) has its speed measured and nothing else.
	Base Record
}

func (s *Setup) cut() Cut {
	return Cut{Template: s.Tokenizer.Template(), MaxTokens: s.MaxTokens, QueryTokens: s.QueryTokens, Types: s.Types}
}

// Validate lists everything that is wrong with the setup.
func (s *Setup) Validate() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(s.Inputs) == 0 {
		fault("no collection")
	}
	if len(s.Measures) == 0 {
		fault("no measure")
	}
	for _, m := range s.Measures {
		if m.Counts() || !m.PerQuery() {
			fault("%s is no mean over queries", m)
		}
	}
	if s.Top < 1 {
		fault("the first %d documents of a query, expected 1 or more", s.Top)
	}
	if s.Batch < 1 || s.Workers < 1 {
		fault("batches of %d rows made by %d goroutines, expected 1 or more of both", s.Batch, s.Workers)
	}
	if s.Encoder == nil || s.Tokenizer == nil {
		fault("encoder and tokenizer are required")
		return errors.Join(errs...)
	}
	if dim := s.Encoder.Dim(); dim != 1 {
		fault("the encoder gives %d values a row, a reranker gives one logit", dim)
	}
	return errors.Join(append(errs, s.cut().Validate())...)
}

// Protocol is everything that changes what a value or a rate means, beside the
// collection and the first stage.
type Protocol struct {
	Convention string `json:"convention"` // which queries are averaged, and how
	Top        int    `json:"top"`        // candidates of a query
	Template   string `json:"pair_template"`
	MaxTokens  int    `json:"max_tokens"`       // of a pair, special tokens included
	QueryTk    int    `json:"max_query_tokens"` // content tokens of a query
	SpecialTk  int    `json:"special_tokens"`   // a pair
	Truncation string `json:"truncation"`
	Order      string `json:"order"`
	DType      string `json:"dtype"`     // computed in
	DropSelf   bool   `json:"drop_self"` // a document with the query's identifier is dropped from the first stage
	Region     string `json:"region"`    // what the rates cover
	Batch      int    `json:"batch"`     // rows handed to the encoder; moves last digits only
	Seed       uint64 `json:"seed"`      // of the intervals
	Resamples  int    `json:"resamples"` // of the intervals
}

// Region is what the clock covers.
const Region = "tokenize+encode: from the documents' text in memory to logits in memory"

// Protocol is the setup as a record holds it. The setup must be valid.
func (s *Setup) Protocol() Protocol {
	p := s.Base.Protocol // what only the opener of the encoder knows
	opt, cut := judge.Options{}, s.cut()
	p.Convention, p.Top, p.Template = opt.Describe(), s.Top, cut.String()
	p.MaxTokens, p.QueryTk, p.SpecialTk = s.MaxTokens, s.QueryTokens, cut.overhead()
	p.Truncation = fmt.Sprintf("a query is cut to its first %d tokens, special tokens not counted; then the document to what is left of %d tokens, %d special ones included (only_second)",
		s.QueryTokens, s.MaxTokens, cut.overhead())
	p.Order = fmt.Sprintf("the first %d by logit, equal ones in the first stage's order; then documents that the collection has not, then ranks %d and below, in the first stage's order with its scores moved below the last logit",
		s.Top, s.Top+1)
	p.Region, p.Batch, p.Seed, p.Resamples = Region, s.Batch, s.Seed, stat.Replicates
	return p
}

// SHA256 is a hash of what changes the order: not the batch, nor how intervals are
// made.
func (p Protocol) SHA256() string {
	p.Batch, p.Seed, p.Resamples = 0, 0, 0
	text, err := json.Marshal(p)
	if err != nil {
		panic("rerank: " + err.Error()) // strings and numbers alone
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
