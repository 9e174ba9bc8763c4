package eval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"encbench/bench"
	"encbench/bench/env"
	"encbench/bench/inhouse"
	"encbench/metrics/stat"
)

// SchemaVersion is the number in every record's "schema" field. It grows when a
// field changes its meaning or goes away; new fields do not change it.
const SchemaVersion = 1

// Kind is the value of every record's "kind" field, which records of encbench
// speed do not have.
const Kind = "eval"

// Record is one evaluation with everything needed to trust it and to pair it with
// another: each query's values are in it.
type Record struct {
	Schema      int             `json:"schema"`
	Kind        string          `json:"kind"`
	Tool        bench.Tool      `json:"tool"`
	Status      string          `json:"status"` // complete, interrupted, failed
	Command     []string        `json:"command"`
	Started     time.Time       `json:"started"`
	Protocol    Protocol        `json:"protocol"`
	Model       bench.Model     `json:"model"`
	Engine      bench.Engine    `json:"engine"`
	Env         env.Facts       `json:"env"`
	Accuracy    bench.Accuracy  `json:"accuracy"`
	Collections []Collection    `json:"collections"`
	Averages    []Average       `json:"averages"` // of several collections, by measure
	Memory      bench.Memory    `json:"memory"`
	Warnings    []bench.Warning `json:"warnings"`
}

// Protocol is everything that changes what a value means, beside the collection.
type Protocol struct {
	Convention string     `json:"convention"` // which queries are averaged, and how
	K          int        `json:"k"`          // documents a query at most
	Length     string     `json:"length"`     // truncate, chunk
	MaxTokens  int        `json:"max_tokens"` // of a row, special tokens and prompt included
	QueryTk    int        `json:"query_max_tokens"`
	Overlap    int        `json:"overlap"` // content tokens shared by neighbouring windows
	Pool       Pool       `json:"pool"`    // of windows; "" where there are none
	Query      Prompt     `json:"query_prompt"`
	Document   Prompt     `json:"document_prompt"`
	SpecialTk  int        `json:"special_tokens"` // a row
	Pooling    string     `json:"pooling"`        // of tokens: mean, cls
	DType      string     `json:"dtype"`          // computed in
	Similarity Similarity `json:"similarity"`
	Dim        int        `json:"dim"`         // values searched
	EncoderDim int        `json:"encoder_dim"` // values the encoder gives
	DropSelf   bool       `json:"drop_self"`   // a document with the query's identifier is dropped
	Rescore    int        `json:"rescore"`     // of the binary store
	Batch      int        `json:"batch"`       // rows handed to the encoder; moves last digits only
	Seed       uint64     `json:"seed"`        // of the intervals
	Resamples  int        `json:"resamples"`   // of the intervals
}

// Values of Protocol.Length.
const (
	LengthTruncate = "truncate"
	LengthChunk    = "chunk"
)

// Collection is the outcome on one collection. With Error set nothing else but the
// name is certain.
type Collection struct {
	// Name holds everything that makes it another collection: split, form of the
	// queries, size and seed of a limited one.
	Name   string `json:"name"`
	Layout string `json:"layout"`
	SHA256 string `json:"sha256"` // over documents, queries and judgements
	Error  string `json:"error,omitempty"`

	Documents   int    `json:"documents"`
	OfDocuments int    `json:"of_documents"`    // in the whole collection
	Queries     int    `json:"queries"`         // averaged
	OfQueries   int    `json:"of_queries"`      // judged ones of the whole collection
	Groups      int    `json:"groups"`          // of queries that are not independent; 0 = each is its own
	Split       string `json:"split,omitempty"` // of the collection's own
	Part        string `json:"part,omitempty"`  // of a split by hash: dev, heldout
	SplitDigest string `json:"split_digest,omitempty"`
	// Looks counts how often the held-out part was seen, this time included; nil
	// where it was not.
	Looks *inhouse.Looks `json:"heldout_looks,omitempty"`
	Notes []string       `json:"notes,omitempty"`

	Values    []Value      `json:"values"`
	Stores    []StoreValue `json:"stores,omitempty"` // where more than float32 was asked for
	BM25      *Baseline    `json:"bm25,omitempty"`
	QueryIDs  []string     `json:"query_ids"`              // of every value's per_query, in this order
	Clusters  []string     `json:"query_groups,omitempty"` // group of each query, where there are any
	Texts     Texts        `json:"texts"`
	Integrity Integrity    `json:"integrity"`
	Times     Times        `json:"times"`
	Run       string       `json:"run,omitempty"`     // file of the rankings
	Vectors   []string     `json:"vectors,omitempty"` // files of the vectors, documents first
}

// Limited says whether a part of the collection was left out. Its values are of
// this size only.
func (c *Collection) Limited() bool {
	return c.Documents < c.OfDocuments || c.Queries < c.OfQueries
}

// Value gives the value of a measure, nil when there is none.
func (c *Collection) Value(measure string) *Value {
	for i := range c.Values {
		if c.Values[i].Measure == measure {
			return &c.Values[i]
		}
	}
	return nil
}

// Value is a measure's mean with its interval, and what it is the mean of.
type Value struct {
	Measure  string        `json:"measure"`
	Mean     float64       `json:"mean"`
	CI       stat.Interval `json:"ci"` // 95 %
	N        int           `json:"n"`  // queries
	PerQuery []float64     `json:"per_query"`
}

// Difference is a paired comparison under the name of its measure.
type Difference struct {
	Measure string `json:"measure"`
	stat.Paired
	// Holm is the p-value corrected for all differences of the table: of BM25, or of
	// all stores.
	Holm float64 `json:"p_holm"`
}

// StoreValue is what a store of the same vectors gives and costs.
type StoreValue struct {
	Store Store `json:"store"`
	Bytes int   `json:"bytes_per_vector"`
	// PrepareS is what the searcher did once all vectors were there.
	PrepareS float64 `json:"prepare_s"`
	SearchS  float64 `json:"search_s"` // of all queries
	// Differences are store − float32 on the same queries; none for float32 itself,
	// whose values are the collection's.
	Differences []Difference `json:"differences,omitempty"`
}

// Baseline is another system's value on the same queries.
type Baseline struct {
	System      string       `json:"system"` // with its parameters
	Values      []Value      `json:"values"`
	Differences []Difference `json:"differences"` // model − baseline
	Seconds     float64      `json:"seconds"`
}

// Texts says what became of documents and queries on their way to the model.
type Texts struct {
	Rows         int64 `json:"rows"`    // encoded for documents
	Vectors      int64 `json:"vectors"` // searched
	Tokens       int64 `json:"tokens"`  // content tokens of the documents, a prompt included where it is part of the text
	Longest      int64 `json:"longest_tokens"`
	Cut          int64 `json:"documents_cut"`
	Dropped      int64 `json:"tokens_dropped"`
	Empty        int64 `json:"documents_empty"`
	QueriesCut   int64 `json:"queries_cut"`
	QueriesEmpty int64 `json:"queries_empty"`
	Repaired     int64 `json:"invalid_utf8_repaired"`
	Encoded      int64 `json:"tokens_encoded"` // content tokens of documents and queries that the model saw
	Unknown      int64 `json:"tokens_unknown"` // of them, those for what the tokenizer does not know
	Zero         int64 `json:"zero_vectors"`
}

// Integrity counts what a reader of the values must know.
type Integrity struct {
	WithoutRelevant int     `json:"queries_without_relevant"` // averaged as 0
	Unjudged        int     `json:"queries_unjudged"`         // of the whole collection: dropped
	WithoutText     int     `json:"judged_queries_without_text"`
	AbsentDocuments int     `json:"judgements_of_absent_documents"`
	Repeated        int     `json:"judgements_repeated"`
	RepeatedTexts   int     `json:"query_texts_repeated"`
	EmptyDocuments  int     `json:"documents_empty"`
	EmptyRelevant   int     `json:"documents_empty_relevant"`
	TiesAtCut       int     `json:"queries_tied_at_cut"` // where the score at k is that of the next document
	Self            int     `json:"self_hits_dropped"`
	JudgedAt10      float64 `json:"judged_at_10"` // mean share of judged documents in the first 10
}

// Times are seconds of wall time, and rates of this run, which are information and
// no measurement of speed: see encbench speed.
type Times struct {
	EncodeS    float64 `json:"encode_documents_s"` // reading, tokenizing and appending to the searcher included
	QueriesS   float64 `json:"encode_queries_s"`
	PrepareS   float64 `json:"prepare_s"` // the search, once all vectors are there; of float32
	SearchS    float64 `json:"search_s"`  // of float32
	JudgeS     float64 `json:"judge_s"`   // and writing the run
	DocsPerS   float64 `json:"documents_per_s"`
	TokensPerS float64 `json:"tokens_per_s"` // real ones, special tokens included
}

// Average is a measure over several collections.
type Average struct {
	Measure string `json:"measure"`
	// Tasks is the plain mean of the collections' means; its interval is that of a
	// fixed list of collections, whose queries vary.
	Tasks stat.Suite `json:"tasks"`
	// Queries is the mean over all queries of all collections.
	Queries stat.Suite `json:"queries"`
	// Missing names the collections that failed. With any the average is partial: it
	// is the mean over the others, and not the one that was asked for.
	Missing []string `json:"missing"`
}

// SHA256 is a hash of what changes the values: not the batch, nor how intervals are
// made.
func (p Protocol) SHA256() string {
	p.Batch, p.Seed, p.Resamples = 0, 0, 0
	text, err := json.Marshal(p)
	if err != nil {
		panic("eval: " + err.Error()) // strings and numbers alone
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
