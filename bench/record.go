package bench

import (
	"time"

	"encbench/bench/env"
)

// SchemaVersion is the number in every record's "schema" field. It grows when a
// field changes its meaning or goes away; new fields do not change it.
const SchemaVersion = 1

// Record is one measurement with everything needed to trust it. It is written
// after every sample, so an interrupted run keeps what it measured.
type Record struct {
	Schema     int         `json:"schema"`
	Tool       Tool        `json:"tool"`
	Status     string      `json:"status"` // running, complete, interrupted, failed
	Command    []string    `json:"command"`
	Started    time.Time   `json:"started"`
	Protocol   Protocol    `json:"protocol"`
	Schedule   Schedule    `json:"schedule"`
	Model      Model       `json:"model"`
	Corpus     Corpus      `json:"corpus"`
	Engine     Engine      `json:"engine"`
	Env        env.Facts   `json:"env"`
	Cold       Cold        `json:"cold_start"`
	Warmup     Warmup      `json:"warmup"`
	Samples    []Sample    `json:"samples"`
	Rates      Rates       `json:"rates"`
	Projection *Projection `json:"projection"` // nil when the whole corpus was timed
	Stages     []Stage     `json:"stages"`
	Bottleneck string      `json:"bottleneck"`
	Padding    Padding     `json:"padding"`
	Overlap    Overlap     `json:"overlap"`
	Truncation Truncation  `json:"truncation"`
	MFU        Utilization `json:"mfu"`
	HFU        Utilization `json:"hfu"`
	Accuracy   Accuracy    `json:"accuracy"`
	Memory     Memory      `json:"memory"`
	Warnings   []Warning   `json:"warnings"`
	Verdict    Verdict     `json:"verdict"`
}

// Tool says which encbench made the record.
type Tool struct {
	Version string `json:"version"`
	Commit  string `json:"commit"` // "" when unknown
	Dirty   bool   `json:"dirty"`  // built from a changed tree
	Go      string `json:"go"`
}

// Model identifies the encoder.
type Model struct {
	Name            string  `json:"name"`     // as the user gave it
	Revision        string  `json:"revision"` // Hugging Face snapshot commit, or ""
	Source          string  `json:"source"`   // directory, hub-cache, asset, onnx
	Architecture    string  `json:"architecture"`
	SHA256          string  `json:"sha256"` // of the weights file
	ConfigSHA256    string  `json:"config_sha256"`
	TokenizerSHA256 string  `json:"tokenizer_sha256"`
	Tokenizer       string  `json:"tokenizer"` // kind
	Parameters      int64   `json:"parameters"`
	Layers          int     `json:"layers"`
	Hidden          int     `json:"hidden"`
	Heads           int     `json:"heads"`
	FFN             int     `json:"ffn"`
	Vocab           int     `json:"vocab"`
	MaxPositions    int     `json:"max_positions"`
	Stored          string  `json:"dtype_stored"`              // as on disk
	Computed        string  `json:"dtype_computed"`            // as multiplied
	LinearFLOP      float64 `json:"linear_flop_per_token"`     // 2 × multiply-adds of all linear layers
	AttentionFLOP   float64 `json:"attention_flop_per_token2"` // × length²: 4·hidden·layers
	Synthetic       bool    `json:"synthetic"`                 // random weights: speed only
}

// Corpus identifies the input and what was selected from it.
type Corpus struct {
	Name      string    `json:"name"`
	Rule      string    `json:"rule"`   // versioned construction rule of an embedded corpus, or format
	SHA256    string    `json:"sha256"` // over all documents (id, title, text)
	Documents int64     `json:"documents"`
	Chunks    int64     `json:"chunks"`
	Tokens    int64     `json:"tokens"`     // content tokens before overlap
	TextBytes int64     `json:"text_bytes"` // title and text as tokenized
	LongestTk int64     `json:"longest_tokens"`
	Selection Selection `json:"selection"`
	Repeats   string    `json:"repetition,omitempty"` // stated repetition of a regrouped corpus
}

// Selection says which chunks were timed.
type Selection struct {
	Kind   string  `json:"kind"`   // all, stratified
	Chunks int64   `json:"chunks"` // a pass
	Tokens int64   `json:"tokens"` // real tokens a pass, specials included
	Seed   uint64  `json:"seed"`
	SHA256 string  `json:"sha256"`                 // over the ids of the selected chunks: the input hash
	Rows   []int64 `json:"rows_per_bucket"`        // selected, by length bucket
	Corpus []int64 `json:"corpus_rows_per_bucket"` // in the whole corpus
}

// Engine says what ran the model, and how.
type Engine struct {
	Backend       string `json:"backend"` // onnxruntime
	Version       string `json:"version"`
	Library       string `json:"library"` // file name
	LibrarySHA256 string `json:"library_sha256"`
	Device        string `json:"device"`
	Threads       int    `json:"threads"` // in all
	Workers       int    `json:"workers"` // concurrent runs
	Intra         int    `json:"threads_per_worker"`
	UBatch        string `json:"ubatch"`  // as asked: auto or a number
	HowRun        string `json:"how_run"` // "batch 128, run as 64 × 2"
	Optimization  string `json:"optimization"`
	Feeders       int    `json:"feeders"` // tokenizing goroutines
	Slots         int    `json:"slots"`
}

// Cold is the time before the first vector, in seconds.
type Cold struct {
	ModelLoad     float64 `json:"model_load_s"`     // open the directory, hash it, load the tokenizer
	Import        float64 `json:"import_s"`         // write the graph
	SessionCreate float64 `json:"session_create_s"` // load, optimise, pre-pack
	FirstRun      float64 `json:"first_run_s"`
	Total         float64 `json:"total_s"`       // the four together: from nothing to the first vector
	CorpusScan    float64 `json:"corpus_scan_s"` // untimed tokenization of the whole corpus, not part of the total
}

// Warmup is what ran before the clock, by length bucket.
type Warmup struct {
	Seconds float64        `json:"seconds"`
	Buckets []BucketWarmup `json:"buckets"`
}

// BucketWarmup is the first and the second run of one length bucket.
type BucketWarmup struct {
	Tokens int     `json:"tokens"` // longest row of the bucket
	First  float64 `json:"first_s"`
	Second float64 `json:"second_s"`
}

// Sample is one timed pass over the selection, or one run of consecutive batches
// of a stream.
type Sample struct {
	Round        int       `json:"round"` // of the harness: samples of one round ran next to each other
	WallS        float64   `json:"wall_s"`
	Docs         int64     `json:"docs"` // documents whose last chunk was collected; 0 for a stratified selection
	Chunks       int64     `json:"chunks"`
	RealTokens   int64     `json:"real_tokens"`
	PaddedTokens int64     `json:"padded_tokens"`
	ModelFLOP    float64   `json:"model_flop"`  // of the real tokens
	IssuedFLOP   float64   `json:"issued_flop"` // padding included
	DocsPerS     float64   `json:"docs_per_s"`  // measured, or projected to the corpus
	TextBytes    int64     `json:"text_bytes"`  // source text it stands for, projected like DocsPerS
	Rows         []int64   `json:"rows_per_bucket"`
	BusyS        []float64 `json:"busy_s_per_bucket"` // worker seconds
	LoadAvg      float64   `json:"load_avg"`          // 1-minute load at the end
}

// Estimate is a median with its bootstrap 95 % interval.
type Estimate struct {
	Median float64 `json:"median"`
	Low    float64 `json:"ci_low"`
	High   float64 `json:"ci_high"`
	CV     float64 `json:"cv"` // standard deviation ÷ mean of the samples
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	N      int     `json:"n"`
}

// Rates are the five rates.
type Rates struct {
	Docs   Estimate `json:"docs_per_s"`
	Chunks Estimate `json:"chunks_per_s"`
	Tokens Estimate `json:"tokens_per_s"`
	Padded Estimate `json:"padded_tokens_per_s"`
	TextMB Estimate `json:"text_mb_per_s"`
}

// Projection says how docs/s of the corpus was computed from a sample. Its
// interval covers timing only.
type Projection struct {
	FromDocs  int64   `json:"from_documents"` // documents that the selected chunks come from
	Documents int64   `json:"documents"`      // in the corpus
	CorpusS   float64 `json:"corpus_s"`       // projected seconds for the whole corpus
	Formula   string  `json:"formula"`
}

// Stage is one row of the stage table, summed over the workers of the stage and
// all samples.
type Stage struct {
	Name    string  `json:"name"` // read, tokenize, chunk, pack, encode, collect
	Workers int     `json:"workers"`
	BusyS   float64 `json:"busy_s"`
	WaitS   float64 `json:"wait_s"`
	// Overlap is the least share of its busy time, 0 to 1, that was hidden behind
	// encode; nil when that cannot be told, because the stages share CPUs.
	Overlap *float64 `json:"overlap"`
}

// Padding is the padding ledger.
type Padding struct {
	Real      int64   `json:"real_tokens"`
	Padded    int64   `json:"padded_tokens"`
	Linear    float64 `json:"linear"`    // Σ rows×max ÷ Σ len
	Quadratic float64 `json:"quadratic"` // Σ rows×max² ÷ Σ len²
}

// Overlap is the duplication ledger, over the corpus.
type Overlap struct {
	Factor  float64 `json:"factor"` // content tokens encoded ÷ content tokens of the source
	Tokens  int64   `json:"tokens"` // content tokens encoded twice
	Special int64   `json:"special_tokens"`
	Prompt  int64   `json:"prompt_tokens"`
}

// Truncation is the ledger of what the corpus lost, over the corpus.
type Truncation struct {
	Policy   string `json:"policy"` // chunk, truncate
	DocsCut  int64  `json:"docs_truncated"`
	Dropped  int64  `json:"tokens_dropped"`
	Empty    int64  `json:"docs_empty"`
	Repaired int64  `json:"invalid_utf8_repaired"`
	BadLines int64  `json:"bad_lines"`
}

// Utilization is a share of the machine's peak.
type Utilization struct {
	Value   float64 `json:"value"` // 0..1
	FLOPS   float64 `json:"flop_per_s"`
	Peak    float64 `json:"peak_flop_per_s"`
	Source  string  `json:"peak_source"` // "probe: AVX-512 FMA, 2 threads, 0.2 s"
	Formula string  `json:"formula"`
}

// Accuracy is the outcome of the gate. Without a pass there is no rate.
type Accuracy struct {
	Level     string  `json:"level"`  // reference, consistency-only
	Passed    bool    `json:"passed"` //
	Threshold float64 `json:"threshold"`
	Min       float64 `json:"min_cosine"`
	Mean      float64 `json:"mean_cosine"`
	MaxDiff   float64 `json:"max_difference"`           // largest difference of one value of a vector
	DiffLimit float64 `json:"max_difference_threshold"` // 0 = not checked
	Probes    []Probe `json:"probes"`
	Reference string  `json:"reference"` // what the vectors were compared with
	Error     string  `json:"error,omitempty"`
}

// Probe is one gated shape.
type Probe struct {
	Tokens int     `json:"tokens"`
	Alone  float64 `json:"cosine_alone"`
	Batch  float64 `json:"cosine_in_batch"`
}

// Memory is what the process took.
type Memory struct {
	PeakRSS int64 `json:"peak_rss_bytes"`
	Weights int64 `json:"weights_bytes"`
	GoHeap  int64 `json:"go_heap_bytes"`
}

// Warning is a caveat that travels with the result; Advice names a flag or a
// command where there is one.
type Warning struct {
	Code   string `json:"code"`
	Text   string `json:"text"`
	Advice string `json:"advice,omitempty"`
}

// Verdict says whether the figures may be published, and if not, why not.
type Verdict struct {
	Publishable bool     `json:"publishable"`
	Reasons     []string `json:"reasons"`
}
