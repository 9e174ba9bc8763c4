//go:build cgo

package ort

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"

	"encbench/bench/assets/assettest"
	"encbench/engine/enginetest"
	"encbench/engine/onnx"
)

// BenchmarkForms encodes one row a run with each form of a model's graph, on one run of
// two threads. ENCBENCH_BENCH_MODEL names a model's directory, ENCBENCH_BENCH_TOKENS the
// tokens of a row; without them it is all-MiniLM-L6-v2 at 512.
func BenchmarkForms(b *testing.B) {
	dir, tokens := os.Getenv("ENCBENCH_BENCH_MODEL"), 512
	if dir == "" {
		dir = assettest.Need(b, "all-minilm-l6-v2")
	}
	if text := os.Getenv("ENCBENCH_BENCH_TOKENS"); text != "" {
		var err error
		if tokens, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	m := openModel(b, dir)
	row := make([]int32, tokens)
	for i := range row {
		row[i] = int32((i*i + 7*i) % m.Config.Vocab)
	}
	batch := enginetest.MakeBatch(0, row)
	for _, opt := range append(forms(m), onnx.Options{Mask: true}) {
		b.Run(fmt.Sprintf("tokens=%d/plain=%t/dense=%t/mask=%t", tokens, opt.Plain, opt.DenseWindows, opt.Mask), func(b *testing.B) {
			enc := open(b, built(b, m, opt), Layout{Workers: 1, Intra: 2, Batch: 1})
			defer enc.Close()
			for b.Loop() {
				if err := enc.Submit(0, batch); err != nil {
					b.Fatal(err)
				}
				if _, _, err := enc.Collect(context.Background(), 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
