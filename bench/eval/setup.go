package eval

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"encbench/bench/collection"
	"encbench/corpus/tokenize"
	"encbench/engine"
	"encbench/metrics"
	"encbench/metrics/ranking"
)

// Pool says how the scores of a document's windows become the document's score.
type Pool string

// The poolings of windows.
const (
	PoolMax   Pool = "max"   // the best window's score: MaxP
	PoolFirst Pool = "first" // the first window's score; the others are not encoded
	PoolMean  Pool = "mean"  // the mean of the windows' scores
)

// Pools lists the poolings, the default first.
func Pools() []string { return []string{string(PoolMax), string(PoolFirst), string(PoolMean)} }

// Store names how a document's vector is kept for the search.
type Store string

// The stores. All but float32 lose something.
const (
	StoreFloat32  Store = "float32"
	StoreFloat16  Store = "float16"
	StoreBFloat16 Store = "bfloat16"
	StoreInt8     Store = "int8"
	StoreBinary   Store = "binary"
)

// Stores lists the stores, the widest first.
func Stores() []string {
	return []string{string(StoreFloat32), string(StoreFloat16), string(StoreBFloat16), string(StoreInt8), string(StoreBinary)}
}

// Similarity says what a score is.
type Similarity string

// The similarities.
const (
	Cosine Similarity = "cosine" // vectors are brought to length one first
	Dot    Similarity = "dot"    // inner product of the vectors as they are
)

// Prompt is a text put before every query or every document, without a separator.
type Prompt struct {
	Name   string `json:"name"` // in the model's directory; "" = the user's own, or none
	Text   string `json:"text"`
	Tokens int    `json:"tokens"` // that it takes, set by Run
}

// Input is one collection, or why it cannot be had.
type Input struct {
	Name       string
	Collection *collection.Collection
	Err        error  // in place of Collection
	Part       string // of a split by hash: dev, heldout; "" = no part
	Digest     string // of that split
}

// Searcher opens a searcher of vectors of dim values, kept as store says, and tells
// the bytes that one vector takes in it.
type Searcher func(dim int, store Store) (s engine.Searcher, bytes int, err error)

// RunWriter takes the rankings of one collection, block by block.
type RunWriter interface {
	Write(b *ranking.Block) error
	Close() error
}

// VectorWriter takes the vectors of one collection as they are searched, block by
// block, documents first; id gives the identifier of row i of a block. A document of
// several windows has a row for each that is searched.
type VectorWriter interface {
	Documents(r engine.Rows, id func(i int) []byte) error
	Queries(r engine.Rows, id func(i int) []byte) error
	Close() error
}

// Setup is one evaluation.
type Setup struct {
	Inputs   []Input
	Measures []metrics.Measure
	K        int // documents a query

	Encoder   engine.Encoder
	Tokenizer tokenize.Tokenizer
	Query     Prompt
	Document  Prompt
	MaxTokens int // of a row, special tokens and prompt included; longer texts are cut
	// QueryTokens is the same for queries; 0 = MaxTokens.
	QueryTokens int
	Chunk       bool // documents become windows of MaxTokens instead of being cut
	Overlap     int  // content tokens shared by neighbouring windows
	Pool        Pool // of the windows
	Dim         int  // first values of every vector that are used; 0 = all
	// Similarity is cosine unless it is set. Normalized says that the encoder's
	// vectors have length one already, so that cosine leaves them as they are.
	Similarity Similarity
	Normalized bool

	Searcher Searcher
	Stores   []Store // beside float32, on the same vectors
	Rescore  int     // of the binary store, for the record

	DropSelf bool // a document whose identifier is the query's is dropped

	// BM25 says whether BM25 is put beside the model on a collection; nil = on none.
	BM25 func(in Input) bool

	Batch   int // rows that the encoder is handed at a time
	Workers int // tokenizing goroutines
	Seed    uint64

	// OpenRun gives where the rankings of a collection go; nil, or a nil writer,
	// keeps none. It is called before the first search.
	OpenRun func(input int, c *Collection) (RunWriter, error)
	// OpenVectors gives where the vectors of a collection go; nil keeps none. It is
	// called before the first document is encoded.
	OpenVectors func(input int, c *Collection) (VectorWriter, error)
	// Progress is called after every batch and block; it may be nil.
	Progress func(Step)
	// Base is what the caller knows already: tool, command, model, engine, facts of
	// the machine, outcome of the gate, warnings of its own.
	Base Record
}

// Step says where an evaluation is.
type Step struct {
	Collection, Collections int // from 0
	Name                    string
	Phase                   string
	Done, Total             int64 // Total 0 = not known
}

// Validate lists everything that is wrong with the setup.
func (s *Setup) Validate() error {
	if s.Encoder == nil {
		return s.validate(0, false)
	}
	return s.validate(s.Encoder.Dim(), true)
}

// ValidateFor is Validate before the encoder is open, whose vectors will have dim
// values; 0 = not known yet.
func (s *Setup) ValidateFor(dim int) error { return s.validate(dim, true) }

func (s *Setup) validate(dim int, encoder bool) error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(s.Inputs) == 0 {
		fault("no collection")
	}
	if len(s.Measures) == 0 {
		fault("no measure")
	}
	if s.K < 1 {
		fault("%d documents a query, expected 1 or more", s.K)
	}
	for _, m := range s.Measures {
		switch {
		case m.Counts() || !m.PerQuery():
			fault("%s is no mean over queries", m)
		case s.K >= 1 && m.Cut() > s.K:
			fault("%s looks at %d documents a query, %d are kept; keep as many", m, m.Cut(), s.K)
		}
	}
	if !encoder || s.Tokenizer == nil || s.Searcher == nil {
		fault("encoder, tokenizer and searcher are required")
		return errors.Join(errs...)
	}
	if s.Dim < 0 || dim > 0 && s.Dim > dim {
		fault("the first %d values of vectors that have %d", s.Dim, dim)
	}
	if !slices.Contains(Pools(), string(s.Pool)) {
		fault("unknown pooling of windows %q: %s", s.Pool, strings.Join(Pools(), ", "))
	}
	if s.Similarity != Cosine && s.Similarity != Dot {
		fault("unknown similarity %q: cosine or dot", s.Similarity)
	}
	for i, st := range s.Stores {
		switch {
		case !slices.Contains(Stores(), string(st)):
			fault("unknown store %q: %s", st, strings.Join(Stores(), ", "))
		case st == StoreFloat32 || slices.Contains(s.Stores[:i], st):
			fault("store %s is there already", st)
		}
	}
	for _, side := range []struct {
		what string
		p    Prompt
		most int
	}{{"query", s.Query, s.queryTokens()}, {"document", s.Document, s.MaxTokens}} {
		if left := side.most - s.special() - s.tokens(side.p); left < 1 {
			fault("%d tokens leave no room for the text of a %s beside %d special and %d prompt tokens", side.most, side.what, s.special(), s.tokens(side.p))
		}
	}
	if left := s.window(); s.Chunk && left >= 1 && (s.Overlap < 0 || s.Overlap >= left) {
		fault("an overlap of %d tokens, expected 0 to %d: a window has %d content tokens", s.Overlap, left-1, left)
	}
	if s.Batch < 1 {
		fault("batches of %d rows, expected 1 or more", s.Batch)
	}
	return errors.Join(errs...)
}

func (s *Setup) special() int { return s.Tokenizer.Template().Overhead() }

func (s *Setup) tokens(p Prompt) int { return len(s.Tokenizer.AppendIDs(nil, []byte(p.Text))) }

// window is how many content tokens a window has beside special tokens and prompt.
func (s *Setup) window() int { return s.MaxTokens - s.special() - s.tokens(s.Document) }

func (s *Setup) queryTokens() int {
	if s.QueryTokens > 0 {
		return s.QueryTokens
	}
	return s.MaxTokens
}

// dim is the number of values that are searched.
func (s *Setup) dim() int {
	if s.Dim > 0 {
		return s.Dim
	}
	return s.Encoder.Dim()
}
