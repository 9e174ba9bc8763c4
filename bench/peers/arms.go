package peers

import (
	"fmt"
	"slices"
	"strconv"
)

// Rows names the input that both sides of an arm read.
type Rows string

// The inputs.
const (
	RowsFull     Rows = "full-512"       // ids and text of chunks of exactly 512 tokens
	RowsMixed    Rows = "mixed"          // ids and text of chunks as the corpus has them
	RowsTechdocs Rows = "techdocs-texts" // whole documents' text
	RowsGostd    Rows = "gostd-texts"    // whole Go sources' text
)

// Arm is one comparison: a peer, the arrangements in which it may be at its
// best, what both sides do, and what the ratio of rates should reach.
type Arm struct {
	Name       string   `json:"name"`
	Peer       string   `json:"peer"`
	Input      Rows     `json:"input"`
	Region     string   `json:"region"` // encode, tokenize+encode, tokenize: what both clocks cover
	Candidates []Config `json:"candidates"`
	Bar        float64  `json:"bar"`     // peer's seconds ÷ ours to reach; 0 = for information
	Vectors    bool     `json:"vectors"` // the peer gives vectors, to be compared with ours
}

// For gives the arm with the model directory and the folder for exported graphs
// filled in.
func (a Arm) For(model, cache string) Arm {
	a.Candidates = slices.Clone(a.Candidates)
	for i := range a.Candidates {
		a.Candidates[i].Model, a.Candidates[i].Cache = model, cache
	}
	return a
}

// PairsAtLeast is the number of ABBA pairs below which a ratio near one is not
// claimed.
const PairsAtLeast = 12

// CalibrationRepeats is the number of timed passes by whose median a candidate
// is judged.
const CalibrationRepeats = 3

// Arms lists the comparisons with the given number of threads on both sides.
// Candidates that never came near a peer's best are left out, with the figures,
// in README.md.
func Arms(threads int) ([]Arm, error) {
	if threads < 1 {
		return nil, fmt.Errorf("arms: threads is %d, want at least 1", threads)
	}
	arms := []Arm{
		{
			Name: "onnxruntime (Python), one-thread workers", Peer: "ort-python",
			Input: RowsFull, Region: "encode", Bar: 0.99,
			Candidates: slices.Concat(
				configs("ort-python", threads, threads, []int{1, 2}, map[string]string{"graph": "fused"}),
				configs("ort-python", threads, threads, []int{1, 2}, map[string]string{"graph": "exported"}),
			),
		},
		{
			Name: "onnxruntime (Python), one session", Peer: "ort-python",
			Input: RowsFull, Region: "encode", Bar: 1.05,
			Candidates: slices.Concat(
				configs("ort-python", threads, 1, []int{1, 8, 32}, map[string]string{"graph": "exported"}),
				configs("ort-python", threads, 1, []int{1, 8, 32}, map[string]string{"graph": "exported", "pooling": "numpy"}),
			),
		},
		{
			Name: "OpenVINO (Python)", Peer: "openvino", Input: RowsFull, Region: "encode",
			Candidates: openVINO(threads, "encode"),
		},
		{
			Name: "sentence-transformers, torch, default batch", Peer: "st-torch",
			Input: RowsMixed, Region: "tokenize+encode", Bar: 1.3,
			Candidates: configs("st-torch", threads, 1, []int{32}, nil),
		},
		{
			Name: "sentence-transformers, torch, best batch", Peer: "st-torch",
			Input: RowsMixed, Region: "tokenize+encode", Bar: 1.15,
			Candidates: configs("st-torch", threads, 1, []int{1, 8, 32, 128}, nil),
		},
		{
			Name: "sentence-transformers, openvino", Peer: "st-openvino",
			Input: RowsMixed, Region: "tokenize+encode", Bar: 0.95,
			Candidates: configs("st-openvino", threads, 1, []int{1, 2, 8, 32}, map[string]string{"hint": "LATENCY"}),
		},
		{
			Name: "HF tokenizers + OpenVINO (Python)", Peer: "openvino",
			Input: RowsMixed, Region: "tokenize+encode",
			Candidates: openVINO(threads, "tokenize+encode"),
		},
		{
			Name: "sentence-transformers, onnx", Peer: "st-onnx",
			Input: RowsMixed, Region: "tokenize+encode",
			Candidates: slices.Concat(
				configs("st-onnx", threads, 1, []int{1, 8, 32}, map[string]string{"graph": "exported"}),
				configs("st-onnx", threads, 1, []int{1, 8, 32}, map[string]string{"graph": "fused"}),
			),
		},
		{
			Name: "HF tokenizers + onnxruntime (Python)", Peer: "ort-python",
			Input: RowsMixed, Region: "tokenize+encode",
			Candidates: slices.Concat(
				configs("ort-python", threads, threads, []int{1, 2, 8}, map[string]string{"graph": "fused", "region": "tokenize+encode"}),
				configs("ort-python", threads, 1, []int{1, 8, 32}, map[string]string{"graph": "fused", "region": "tokenize+encode"}),
			),
		},
	}
	for i := range arms {
		arms[i].Vectors = true
	}
	for _, input := range []Rows{RowsTechdocs, RowsGostd} {
		arms = append(arms, TokenizerArm("HF tokenizers, encode_batch_fast, one thread", input, "", 40))
	}
	return arms, nil
}

// TokenizerArm compares the tokenizer of a file, "" for the model's own, on one thread
// with the tokenizers package.
func TokenizerArm(name string, input Rows, file string, bar float64) Arm {
	var options map[string]string
	if file != "" {
		options = map[string]string{"tokenizer": file}
	}
	return Arm{
		Name: name, Peer: "hf-tokenizers", Input: input, Region: "tokenize", Bar: bar,
		Candidates: configs("hf-tokenizers", 1, 1, []int{100, 1000}, options),
	}
}

// TransformersArm compares rows of so many tokens with transformers on torch, in the
// batches given.
func TransformersArm(name string, tokens, threads int, batches []int, bar float64) Arm {
	a := Arm{
		Name: name, Peer: "transformers", Input: Rows(fmt.Sprintf("full-%d", tokens)), Region: "encode", Bar: bar, Vectors: true,
		Candidates: configs("transformers", threads, 1, batches, nil),
	}
	for i := range a.Candidates {
		a.Candidates[i].MaxSeqLength = tokens
	}
	return a
}

// Int8Arm compares int8 with onnxruntime: on graphs that its own quantiser makes of the
// exported and the fused one, or on the graph of a file, which gives token states.
func Int8Arm(name string, threads int, file string) Arm {
	a := Arm{Name: name, Peer: "ort-python", Input: RowsFull, Region: "encode", Bar: 1, Vectors: true}
	add := func(options map[string]string) {
		a.Candidates = append(a.Candidates, configs("ort-python", threads, threads, []int{1, 2}, options)...)
		if threads > 1 {
			a.Candidates = append(a.Candidates, configs("ort-python", threads, 1, []int{1, 8}, options)...)
		}
	}
	if file != "" {
		add(map[string]string{"file": file, "pooling": "numpy"})
		return a
	}
	for _, graph := range []string{"exported", "fused"} {
		for _, scales := range []string{"tensor", "channel"} {
			add(map[string]string{"graph": graph, "int8": scales})
		}
	}
	return a
}

// openVINO is one stream that all threads share and one stream a thread.
func openVINO(threads int, region string) []Config {
	one := configs("openvino", threads, 1, []int{1, 8, 32}, map[string]string{"hint": "LATENCY", "streams": "1", "region": region})
	if threads == 1 {
		return one
	}
	return slices.Concat(one,
		configs("openvino", threads, 1, []int{1, 2, 8}, map[string]string{"hint": "THROUGHPUT", "streams": strconv.Itoa(threads), "region": region}))
}

func configs(peer string, threads, workers int, batches []int, options map[string]string) []Config {
	out := make([]Config, 0, len(batches))
	for _, b := range batches {
		out = append(out, Config{Peer: peer, Threads: threads, Workers: workers, MaxSeqLength: 512, Batch: b, Options: options})
	}
	return out
}
