package bench

import (
	"fmt"
	"sync"
	"time"

	"encbench/bench/env"
)

// good is a record that may be published.
func good() *Record {
	r := &Record{
		Schema: SchemaVersion, Status: StatusComplete, Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Tool:     Tool{Version: "v0.1.0", Commit: "0123456789abcdef", Go: "go1.26"},
		Protocol: Protocol{Name: "512/100x128", Chunk: 512, Overlap: 100, Batch: 128, Region: RegionEndToEnd, DType: "float32", Pooling: "mean", Normalize: true, Dim: 384, SpecialTk: 2},
		Schedule: Schedule{Profile: "standard", Repeats: 10, MinTime: time.Minute},
		Model:    Model{Name: "minilm-l6", SHA256: "aa", TokenizerSHA256: "bb", Parameters: 22_565_376},
		Corpus:   Corpus{Name: "techdocs", SHA256: "cc", Documents: 20_027, Chunks: 48_726, Selection: Selection{Kind: "stratified", Chunks: 390, Seed: 1, SHA256: "dd"}},
		Engine:   Engine{Backend: "onnxruntime", Version: "1.32.0", Threads: 2, Workers: 2, Intra: 1, HowRun: "batch 128, run as 64 × 2"},
		Env:      env.Facts{HostHash: "h1", CPU: env.CPU{Model: "Example", Cores: 2, Governor: "performance"}, Limits: env.Limits{Affinity: 2, AffinityList: "0-1"}},
		Accuracy: Accuracy{Level: LevelReference, Passed: true, Threshold: 0.999, Min: 0.9999, Mean: 0.99995, Probes: []Probe{{Tokens: 3, Alone: 0.9999, Batch: 0.9999}}},
	}
	r.Samples = goodSamples()
	r.Rates = goodRates()
	r.Warnings = Warnings(r)
	r.Verdict = Judge(r, nil)
	return r
}

// goodRates keeps what every test starts from and none changes.
var goodRates = sync.OnceValue(func() Rates { return RatesOf(goodSamples()) })

func goodSamples() []Sample {
	var out []Sample
	for i := range 12 {
		wall := 6 + 0.001*float64(i*7%12)
		out = append(out, Sample{WallS: wall, Chunks: 130, RealTokens: 47_000, PaddedTokens: 47_500, TextBytes: 90_000, DocsPerS: 25 / wall})
	}
	return out
}

// rated computes what follows from the samples.
func rated(r *Record) *Record {
	r.Rates = RatesOf(r.Samples)
	r.Warnings = Warnings(r)
	r.Verdict = Judge(r, nil)
	return r
}

// walls replaces the samples by ones of these wall times.
func walls(r *Record, seconds ...float64) {
	r.Samples = nil
	for _, s := range seconds {
		r.Samples = append(r.Samples, Sample{WallS: s, Chunks: 130, RealTokens: 47_000, PaddedTokens: 47_500, DocsPerS: 25 / s})
	}
	r.Rates = RatesOf(r.Samples)
}

func times(n int, s float64) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = s
	}
	return xs
}

func lines[T any](items []T) string {
	s := ""
	for _, it := range items {
		s += fmt.Sprintf("\n  %v", it)
	}
	return s
}
