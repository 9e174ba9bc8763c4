package rerank

import (
	"time"

	"encbench/bench"
	"encbench/bench/env"
	"encbench/bench/eval"
	"encbench/bench/inhouse"
)

// SchemaVersion is the number in every record's "schema" field. It grows when a
// field changes its meaning or goes away; new fields do not change it.
const SchemaVersion = 1

// Kind is the value of every record's "kind" field.
const Kind = "rerank"

// Record is one reranking with everything needed to trust it: each query's values,
// each window's time, and what was cut, missing or empty on the way.
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
	Cold        bench.Cold      `json:"cold_start"`
	Accuracy    bench.Accuracy  `json:"accuracy"`
	Collections []Collection    `json:"collections"`
	Memory      bench.Memory    `json:"memory"`
	Warnings    []bench.Warning `json:"warnings"`
}

// FirstStage is the run that was reranked.
type FirstStage struct {
	File   string `json:"file"`
	SHA256 string `json:"sha256"` // of the file, unpacked
	Tag    string `json:"tag"`
	Model  string `json:"model,omitempty"` // of a file that says it
	Depth  int    `json:"depth,omitempty"` // at which a file says its lists were cut; 0 = not known
}

// Collection is the outcome on one collection.
type Collection struct {
	// Name holds everything that makes it another collection: split, form of the
	// queries, size and seed of a limited one.
	Name        string     `json:"name"`
	Layout      string     `json:"layout"`
	SHA256      string     `json:"sha256"` // over documents, queries and judgements
	First       FirstStage `json:"first_stage"`
	Documents   int        `json:"documents"`
	Queries     int        `json:"queries"`    // of the collection, each judged
	OfQueries   int        `json:"of_queries"` // judged ones of the whole collection
	Split       string     `json:"split,omitempty"`
	Part        string     `json:"part,omitempty"` // of a split by hash: dev, heldout
	SplitDigest string     `json:"split_digest,omitempty"`
	// Looks counts how often the held-out part was seen, this time included; nil
	// where it was not.
	Looks *inhouse.Looks `json:"heldout_looks,omitempty"`
	Notes []string       `json:"notes,omitempty"`

	// Values before and after, by measure, and after − before; none of a synthetic
	// model.
	Before      []eval.Value      `json:"before,omitempty"`
	After       []eval.Value      `json:"after,omitempty"`
	Differences []eval.Difference `json:"differences,omitempty"`
	QueryIDs    []string          `json:"query_ids,omitempty"`    // of every value's per_query, in this order
	Clusters    []string          `json:"query_groups,omitempty"` // group of each query, where there are any
	Groups      int               `json:"groups"`                 // of queries that are not independent; 0 = each is its own

	Pairs  Rate          `json:"pairs"`  // 0 with a stand-in tokenizer: its pairs are of other lengths
	Tokens Rate          `json:"tokens"` // real ones, special tokens included
	Ledger Ledger        `json:"ledger"`
	Stages []bench.Stage `json:"stages"`
	Times  Times         `json:"times"`
	// Windows are the stretches that the rates' intervals are over.
	Windows []Window `json:"windows"`
	Run     string   `json:"run,omitempty"` // file of the new rankings
}

// Ledger is what became of queries and documents on their way into pairs. Every
// token of a pair is of one of three kinds: Tokens = SpecialTokens + QueryTokens +
// DocumentTokens.
type Ledger struct {
	QueriesReranked int   `json:"queries_reranked"`
	QueriesShort    int   `json:"queries_with_fewer_candidates"` // than Top
	QueriesCut      int   `json:"queries_cut"`
	QueriesEmpty    int   `json:"queries_without_token"`
	QueriesTied     int   `json:"queries_with_equal_logits"` // between candidates
	QueryDropped    int64 `json:"query_tokens_dropped"`      // once a query

	Pairs          int64 `json:"pairs"`
	PairsCut       int64 `json:"pairs_cut"`
	Dropped        int64 `json:"document_tokens_dropped"` // once a pair
	Tokens         int64 `json:"tokens"`                  // of all pairs
	SpecialTokens  int64 `json:"special_tokens"`
	QueryTokens    int64 `json:"query_tokens"`
	DocumentTokens int64 `json:"document_tokens"`
	PaddedTokens   int64 `json:"padded_tokens"` // as issued
	Longest        int64 `json:"longest_pair_tokens"`

	Documents      int64 `json:"documents"` // distinct, scored
	DocumentsCut   int64 `json:"documents_cut"`
	DocumentsEmpty int64 `json:"documents_empty"`
	PairsEmpty     int64 `json:"pairs_with_empty_document"`
	Repaired       int64 `json:"invalid_utf8_repaired"`

	// Missing documents stand in the run and not in the collection: their pairs are
	// not scored.
	DocumentsMissing int      `json:"documents_missing"`
	PairsMissing     int64    `json:"pairs_missing"`
	MissingIDs       []string `json:"documents_missing_first,omitempty"`
	// Absent queries have judgements and no list in the run: they count 0 before and
	// after. Unknown ones are the reverse, and left out of the new run.
	QueriesAbsent  int      `json:"queries_absent"`
	QueriesUnknown int      `json:"queries_unknown"`
	UnknownIDs     []string `json:"queries_unknown_first,omitempty"`
	SelfHits       int      `json:"self_hits_dropped"`
}

// Times are seconds of wall time. Only TimedS is what the rates are over.
type Times struct {
	ReadS   float64 `json:"read_s"`    // scanning the collection for the candidates' texts
	WarmupS float64 `json:"warm_up_s"` // a row of each length
	TimedS  float64 `json:"timed_s"`   // texts to logits
	FinishS float64 `json:"finish_s"`  // order, judge and write
	TotalS  float64 `json:"total_s"`
	// EncodeS is the time in which workers of the encoder were busy, divided by their
	// number.
	EncodeS float64 `json:"encode_s"`
	// Machine is what kept the run from having its CPUs to itself.
	Machine env.Disturbance `json:"machine"`
}
