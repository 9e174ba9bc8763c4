// Package bench measures: it defines the protocol, runs the harness, gates
// speed on accuracy, and keeps what it saw in a Record. It is handed encoders
// as values and imports no backend.
package bench

import (
	"fmt"
	"time"
)

// Region names what the clock covers.
type Region string

// The timed regions, from narrow to wide.
const (
	RegionEncode         Region = "encode"          // ids in memory to vectors in memory
	RegionTokenizeEncode Region = "tokenize+encode" // text in memory to vectors in memory
	RegionEndToEnd       Region = "end-to-end"      // file to vectors in memory
)

// Protocol is everything that changes what a rate means. Two records whose
// protocols differ are not comparable.
type Protocol struct {
	Name      string `json:"name"`           // see ProtocolName
	Chunk     int    `json:"chunk"`          // tokens a chunk, special tokens and prompt included
	Overlap   int    `json:"overlap"`        // content tokens shared by neighbours (Hugging Face: stride)
	Batch     int    `json:"batch"`          // chunks a batch; with BatchTokens at most
	Region    Region `json:"region"`         //
	DType     string `json:"dtype"`          // computed in
	Prompt    string `json:"prompt"`         // document prompt in force, in every window
	Pooling   string `json:"pooling"`        // mean, cls
	Normalize bool   `json:"normalize"`      // L2
	Dim       int    `json:"dim"`            // values a vector
	SpecialTk int    `json:"special_tokens"` // special tokens a chunk
	PromptTk  int    `json:"prompt_tokens"`  // prompt tokens a chunk
	// BatchTokens is how many tokens a batch may hold, its chunks padded to the
	// longest; 0 = batches of Batch chunks.
	BatchTokens int `json:"batch_tokens,omitempty"`
}

// ProtocolName names what a rate means in short: "512/100x128" for chunks of 512
// tokens, 100 of them overlap, in batches of 128; "512/100x16384t" for batches of up
// to 16,384 tokens.
func ProtocolName(chunk, overlap, batch, batchTokens int) string {
	if batchTokens > 0 {
		return fmt.Sprintf("%d/%dx%dt", chunk, overlap, batchTokens)
	}
	return fmt.Sprintf("%d/%dx%d", chunk, overlap, batch)
}

// BatchChunks is how many chunks a batch holds: with BatchTokens the fewest that a
// full one can, those of the longest chunks.
func (p Protocol) BatchChunks() int {
	if p.BatchTokens > 0 && p.Chunk > 0 {
		return max(1, min(p.BatchTokens/p.Chunk, p.Batch))
	}
	return p.Batch
}

// Content is the number of content tokens a window holds.
func (p Protocol) Content() int { return p.Chunk - p.SpecialTk - p.PromptTk }

// Schedule is how long and how often: it changes how sure a rate is, not what
// it means.
type Schedule struct {
	Profile   string        `json:"profile"`     // quick, standard, mlperf-like
	Repeats   int           `json:"repeats"`     // samples at least
	MinChunks int64         `json:"min_chunks"`  // chunks in all at least; 0 on a CPU
	MinTime   time.Duration `json:"min_time_ns"` // timed seconds in all at least
}
