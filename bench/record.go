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
	// Search is how the batch was found, where it was searched for.
	Search   *BatchSearch `json:"batch_search,omitempty"`
	Warnings []Warning    `json:"warnings"`
	Verdict  Verdict      `json:"verdict"`
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
	WidenedBytes    int64   `json:"widened_bytes,omitempty"`   // of narrower floats that become float32 when the model is loaded
	LinearFLOP      float64 `json:"linear_flop_per_token"`     // 2 × multiply-adds of all linear layers
	AttentionFLOP   float64 `json:"attention_flop_per_token2"` // × length², of the layers that attend to all tokens: 4·hidden each
	// CausalFLOP is × length·(length+1)/2, of the layers that attend to what is before.
	CausalFLOP float64 `json:"causal_attention_flop_per_token2,omitempty"`
	// LocalAttention are the layers that attend to a window.
	LocalAttention   []LocalAttention `json:"local_attention,omitempty"`
	Synthetic        bool             `json:"synthetic"`                    // random weights: speed only
	StandInTokenizer bool             `json:"stand_in_tokenizer,omitempty"` // cuts text into other numbers of tokens than the model's own: no docs/s
}

// LocalAttention is the work of the layers with windows of one size.
type LocalAttention struct {
	Keys int     `json:"keys"`                   // that a token attends to, itself included
	FLOP float64 `json:"flop_per_token_and_key"` // of all these layers
}

// AddLocal adds a layer with a window of keys tokens.
func (m *Model) AddLocal(keys int, flop float64) {
	for i := range m.LocalAttention {
		if l := &m.LocalAttention[i]; l.Keys == keys {
			l.FLOP += flop
			return
		}
	}
	m.LocalAttention = append(m.LocalAttention, LocalAttention{keys, flop})
}

// RowFLOP is the work of one row of n tokens as the model defines it: MFU counts it.
// A token attends to no more keys than the row has, and what a window loses at the
// row's ends is left aside.
func (m *Model) RowFLOP(n int) float64 {
	t := float64(n)
	f := t*m.LinearFLOP + t*t*m.AttentionFLOP + t*(t+1)/2*m.CausalFLOP
	for _, l := range m.LocalAttention {
		f += t * float64(min(n, l.Keys)) * l.FLOP
	}
	return f
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
	// DeviceNote says why --device auto took the CPU.
	DeviceNote string `json:"device_note,omitempty"`
	// Devices are the GPUs, in the order of Device; none on the CPU.
	Devices []Device `json:"devices,omitempty"`
	// Requested is the type that was asked for, Engaged the one that matrix products
	// ran in; both are empty on the CPU, where the model's entries say it.
	Requested    string `json:"dtype_requested,omitempty"`
	Engaged      string `json:"dtype_engaged,omitempty"`
	Threads      int    `json:"threads"` // in all
	Workers      int    `json:"workers"` // concurrent runs
	Intra        int    `json:"threads_per_worker"`
	UBatch       string `json:"ubatch"`  // as asked: auto or a number
	HowRun       string `json:"how_run"` // "batch 128, run as 64 × 2"
	Optimization string `json:"optimization"`
	// ActivationBits are those that int8 layers round activations to; 0 = none.
	ActivationBits int `json:"activation_bits,omitempty"`
	Feeders        int `json:"feeders"` // tokenizing goroutines
	Slots          int `json:"slots"`
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
	// Level is reference, reference-float16 and so on where the weights were converted
	// from what the reference reads, or consistency-only.
	Level  string `json:"level"`
	Passed bool   `json:"passed"`
	Output string `json:"output,omitempty"` // logits: no cosines, differences are shares of Spread; "" = vectors

	Threshold float64 `json:"threshold"` // of every cosine
	MeanLimit float64 `json:"mean_threshold,omitempty"`
	Min       float64 `json:"min_cosine"`
	Mean      float64 `json:"mean_cosine"`
	MaxDiff   float64 `json:"max_difference"`           // largest difference of one value of a vector, as a share of its length
	DiffLimit float64 `json:"max_difference_threshold"` // 0 = not checked
	// BatchDiff is the same between a row alone and in a batch.
	BatchDiff  float64    `json:"max_batch_difference,omitempty"`
	BatchLimit float64    `json:"max_batch_difference_threshold,omitempty"` // 0 = MaxDiff covers it
	Spread     float64    `json:"logit_spread,omitempty"`                   // largest − smallest logit of the reference
	Probes     []Probe    `json:"probes"`
	Reference  string     `json:"reference"` // what the vectors were compared with
	Retrieval  *Retrieval `json:"retrieval,omitempty"`
	Error      string     `json:"error,omitempty"`
}

// OutputLogits is the Output of rerankers.
const OutputLogits = "logits"

// Probe is one gated shape.
type Probe struct {
	Tokens    int     `json:"tokens"`
	Alone     float64 `json:"cosine_alone"`
	Batch     float64 `json:"cosine_in_batch"`
	DiffAlone float64 `json:"difference_alone,omitempty"` // of a logit, as a share of the spread
	DiffBatch float64 `json:"difference_in_batch,omitempty"`
}

// Retrieval is what converted weights cost on a labelled collection, beside the
// weights that they were made from.
type Retrieval struct {
	Collection string  `json:"collection"`
	SHA256     string  `json:"sha256"` // of the part that was taken
	Documents  int     `json:"documents"`
	Queries    int     `json:"queries"`
	Measure    string  `json:"measure"`
	Value      float64 `json:"value"`
	Original   float64 `json:"original"`    // of the weights as the directory has them
	Ratio      float64 `json:"ratio"`       // Value ÷ Original
	RatioLimit float64 `json:"ratio_limit"` // at least
	// Cosines between the vectors of the two, over all texts.
	Texts   int     `json:"texts"`
	Min     float64 `json:"min_cosine"`
	P1      float64 `json:"p1_cosine"` // 1 % of the texts are below
	Mean    float64 `json:"mean_cosine"`
	Least   float64 `json:"min_cosine_limit"`
	Average float64 `json:"mean_cosine_limit"`
}

// Memory is what the process took.
type Memory struct {
	PeakRSS int64 `json:"peak_rss_bytes"`
	Weights int64 `json:"weights_bytes"`
	GoHeap  int64 `json:"go_heap_bytes"`
	// Predicted is the peak that was predicted before the encoder was opened, the sum
	// of Parts; 0 = it was not (a bare graph). Available was what the process could have.
	Predicted int64        `json:"predicted_peak_bytes,omitempty"`
	Available int64        `json:"available_bytes,omitempty"`
	Parts     []MemoryPart `json:"predicted_parts,omitempty"`
}

// MemoryPart is one part of the memory that was predicted.
type MemoryPart struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
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
