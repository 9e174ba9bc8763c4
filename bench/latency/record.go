package latency

import (
	"time"

	"encbench/bench"
	"encbench/bench/env"
)

// SchemaVersion is the number in every record's "schema" field. It grows when a
// field changes its meaning or goes away; new fields do not change it.
const SchemaVersion = 1

// Kind is the value of every record's "kind" field.
const Kind = "latency"

// Record is one measurement with everything needed to trust it, every sample
// included. All times are seconds.
type Record struct {
	Schema   int             `json:"schema"`
	Kind     string          `json:"kind"`
	Tool     bench.Tool      `json:"tool"`
	Status   string          `json:"status"` // complete, interrupted
	Command  []string        `json:"command"`
	Started  time.Time       `json:"started"`
	Protocol Protocol        `json:"protocol"`
	Model    bench.Model     `json:"model"`
	Queries  Queries         `json:"queries"`
	Index    *Index          `json:"index,omitempty"` // nil where nothing was searched
	Engine   bench.Engine    `json:"engine"`
	Env      env.Facts       `json:"env"`
	Accuracy bench.Accuracy  `json:"accuracy"`
	Start    bench.Cold      `json:"process_cold_start"` // up to the first vector of the process
	Clock    Clock           `json:"clock"`
	GC       GC              `json:"garbage_collection"`
	Lengths  []Length        `json:"lengths"`
	Memory   bench.Memory    `json:"memory"`
	Machine  env.Disturbance `json:"machine"`
	Warnings []bench.Warning `json:"warnings"`
}

// Protocol is everything that changes what a latency means.
type Protocol struct {
	Tokens    []int  `json:"tokens"` // of a query's text, special tokens and prompt not counted
	Prompt    string `json:"query_prompt"`
	PromptTk  int    `json:"prompt_tokens"`
	SpecialTk int    `json:"special_tokens"`
	Rows      int    `json:"rows"` // a batch: 1
	Loop      string `json:"loop"` // closed, one client
	DType     string `json:"dtype"`
	Pooling   string `json:"pooling"`
	Dim       int    `json:"dim"`
	K         int    `json:"k"` // documents of a search; 0 = none
	Samples   int    `json:"samples"`
	Seed      uint64 `json:"seed"` // of the texts
}

// Queries says what the texts were made of.
type Queries struct {
	Source string `json:"source"` // collection
	SHA256 string `json:"sha256"` // of the collection
	Count  int    `json:"count"`  // queries that words were taken from
}

// Index is what was searched.
type Index struct {
	File        string  `json:"file"`
	Rows        int     `json:"rows"`
	Dim         int     `json:"dim"`
	Store       string  `json:"store"`
	Metric      string  `json:"metric"`
	RowBytes    int     `json:"row_bytes"`
	Model       string  `json:"model,omitempty"` // as the file says
	ModelSHA256 string  `json:"model_sha256,omitempty"`
	LoadS       float64 `json:"load_s"`         // reading and preparing it
	FirstS      float64 `json:"first_search_s"` // of the process
	Path        string  `json:"path"`           // of the searches, with the instruction set
}

// Clock is what reading the clock costs. It is part of every sample.
type Clock struct {
	Read   float64 `json:"read_s"`  // median
	Least  float64 `json:"least_s"` // between two readings that differ: its resolution, or its cost
	Reads  int     `json:"reads_a_query"`
	Source string  `json:"source"` // of the kernel's time
}

// GC says what Go's collector did. It is off while samples are taken.
type GC struct {
	Between int `json:"between_samples"` // collections, untimed
	During  int `json:"during_samples"`  // that a memory limit forced; 0 is right
}

// Length is the outcome for one length of queries.
type Length struct {
	Tokens int `json:"tokens"`     // of the text
	Row    int `json:"row_tokens"` // with special tokens and prompt
	Texts  int `json:"texts"`      // different ones, taken in turn

	Cold   []Cold  `json:"cold"`
	Vector Series  `json:"text_to_vector"`
	TopK   *Series `json:"text_to_top_k,omitempty"`
	Stages []Stage `json:"stages"`
	// Allocations is what a query allocates, in objects: of text to vector, and of the
	// search.
	Allocations       float64 `json:"allocations"`
	SearchAllocations float64 `json:"search_allocations"`
}

// Cold is the first query of a session.
type Cold struct {
	CreateS   float64 `json:"session_create_s"`
	TokenizeS float64 `json:"tokenize_s"`
	EncodeS   float64 `json:"encode_s"`
	VectorS   float64 `json:"text_to_vector_s"`
}

// Stage is a part of a query, over all samples.
type Stage struct {
	Name   string         `json:"name"`   // tokenize, encode, search
	Median bench.Estimate `json:"median"` // with the bootstrap interval of bench.Summarize
	Share  float64        `json:"share"`  // of all time
}

// Series is a list of samples and what follows from it.
type Series struct {
	N           int          `json:"n"`
	Median      float64      `json:"median_s"`
	Percentiles []Percentile `json:"percentiles"`
	Mean        float64      `json:"mean_s"`
	Min         float64      `json:"min_s"`
	Max         float64      `json:"max_s"`
	Drift       float64      `json:"drift"`    // median of the last third ÷ that of the first − 1
	Outliers    int          `json:"outliers"` // flagged, kept
	Samples     []float64    `json:"samples_s"`
}

// Percentile is a quantile with its 95 % interval. Without enough samples for a figure
// Value is nil, without enough for an interval Low and High are.
type Percentile struct {
	P           float64  `json:"p"`
	Value       *float64 `json:"value_s"`
	Low         *float64 `json:"ci_low_s"`
	High        *float64 `json:"ci_high_s"`
	ForFigure   int      `json:"samples_for_figure"`
	ForInterval int      `json:"samples_for_interval"`
}

// Percentiles that are given.
var percentiles = []float64{0.50, 0.95, 0.99}
