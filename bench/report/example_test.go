package report_test

import (
	"fmt"
	"os"
	"strings"
	"time"

	"encbench/bench"
	"encbench/bench/env"
	"encbench/bench/report"
)

// measured stands for a record that a run returned or a file held.
func measured() *bench.Record {
	r := &bench.Record{
		Schema:   bench.SchemaVersion,
		Status:   bench.StatusComplete,
		Protocol: bench.Protocol{Name: "512/100x128", Chunk: 512, Overlap: 100, Batch: 128, Region: bench.RegionEncode, DType: "float32", SpecialTk: 2},
		Schedule: bench.Schedule{Profile: "standard", Repeats: 10, MinTime: time.Minute},
		Model:    bench.Model{Name: "minilm-l6"},
		Corpus:   bench.Corpus{Name: "techdocs"},
		Engine:   bench.Engine{Threads: 2, HowRun: "batch 128, run as 64 × 2"},
		Env:      env.Facts{OS: "linux", Arch: "amd64"},
		Accuracy: bench.Accuracy{Level: bench.LevelReference, Passed: true},
		Samples: []bench.Sample{
			{WallS: 5, Chunks: 50, RealTokens: 25_600, PaddedTokens: 25_600, DocsPerS: 4},
			{WallS: 4, Chunks: 50, RealTokens: 25_600, PaddedTokens: 25_600, DocsPerS: 5},
		},
	}
	r.Rates = bench.RatesOf(r.Samples)
	return r
}

func ExampleWrite() {
	if err := report.Write(os.Stdout, "bench", []*bench.Record{measured()}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// Unit docs/s better=higher
	// Unit chunks/s better=higher
	// Unit tokens/s better=higher
	// Unit padded-tokens/s better=higher
	// Unit MB/s better=higher
	// goos: linux
	// goarch: amd64
	// corpus: techdocs –
	// region: encode
	// dtype: float32
	// window: 512/100
	// accuracy: reference
	// # BenchmarkEncode/model=minilm-l6/batch=128/threads=2: batch 128, run as 64 × 2; encbench –; commit unknown
	// BenchmarkEncode/model=minilm-l6/batch=128/threads=2 1 5000000000 ns/op 4 docs/s 10 chunks/s 5120 tokens/s 5120 padded-tokens/s
	// BenchmarkEncode/model=minilm-l6/batch=128/threads=2 1 4000000000 ns/op 5 docs/s 12.5 chunks/s 6400 tokens/s 6400 padded-tokens/s
}

func ExampleWrite_unknownFormat() {
	fmt.Println(report.Write(os.Stdout, "xml", []*bench.Record{measured()}))
	// Output:
	// unknown format "xml", expected one of text, json, jsonl, csv, md, bench
}

func ExampleWriteComparison() {
	c, err := bench.Compare(measured(), measured())
	if err != nil {
		fmt.Println(err)
		return
	}
	var page strings.Builder
	if err := report.WriteComparison(&page, "text", &c); err != nil {
		fmt.Println(err)
		return
	}
	first, _, _ := strings.Cut(page.String(), "\n\n")
	fmt.Println(first)
	// Output:
	// encbench compare: B does 1.000× the docs/s of A (range 0.800 – 1.250): too few samples to say
	// whether they differ (A has 2, B 2, 6 are needed)
}
