package bench_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"encbench/bench"
	"encbench/corpus/chunk"
	"encbench/engine/feed"
)

func TestProtocolName(t *testing.T) {
	if got := bench.ProtocolName(512, 100, 128, 0); got != "512/100x128" {
		t.Errorf("batches of chunks: %s", got)
	}
	p := bench.Protocol{Name: bench.ProtocolName(512, 100, 8192, 16384), Chunk: 512, Batch: 8192, BatchTokens: 16384}
	if p.Name != "512/100x16384t" || p.BatchChunks() != 32 {
		t.Errorf("batches of tokens: %s, %d chunks", p.Name, p.BatchChunks())
	}
	if p.Batch = 7; p.BatchChunks() != 7 {
		t.Errorf("%d chunks in a batch of at most 7", p.BatchChunks())
	}
}

// Batches packed beforehand are those that a feeder makes of the same documents.
func TestPackedBatchesAreThoseOfTheFeeder(t *testing.T) {
	var list []string
	for i := range 300 {
		list = append(list, strings.Repeat("x", i*i*7919%(1+i)))
	}
	for _, limit := range []feed.Limit{{Rows: 1}, {Rows: 128}, {Rows: 128, Tokens: 32}, {Rows: 1000, Tokens: 100}, {Rows: 3, Tokens: 90}, {Rows: 1000, Tokens: 1 << 20}} {
		f, err := feed.New(context.Background(), &texts{list: list}, feed.Options{
			Tokenizer: bytesTokenizer{}, Window: chunk.Window{Size: 30, Overlap: 10}, Batch: limit.Rows, BatchTokens: limit.Tokens, Workers: 2,
		})
		if err != nil {
			t.Fatal(err)
		}
		var rows []bench.Row
		var want [][]int32
		var bases []int64
		for {
			b, err := f.Next(context.Background())
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for r := range b.Rows() {
				rows = append(rows, bench.Row{Doc: b.Doc[r], IDs: slices.Clone(b.Row(r))})
			}
			want, bases = append(want, slices.Clone(b.Off)), append(bases, b.Base)
			f.Recycle(b)
		}
		f.Close()
		packed := bench.PackLimit(rows, limit)
		if len(packed) != len(want) {
			t.Fatalf("%+v: %d batches, the feeder makes %d", limit, len(packed), len(want))
		}
		at := 0
		for i, b := range packed {
			if !slices.Equal(b.Off, want[i]) || b.Base != bases[i] {
				t.Fatalf("%+v: batch %d starts at %d with offsets %v, the feeder's at %d with %v", limit, i, b.Base, b.Off, bases[i], want[i])
			}
			for r := range b.Rows() {
				if !slices.Equal(b.Row(r), rows[at].IDs) || b.Doc[r] != rows[at].Doc {
					t.Fatalf("%+v: batch %d has another row %d", limit, i, r)
				}
				at++
			}
		}
		if limit.Tokens == 0 && len(rows) > 0 && !slices.EqualFunc(packed, bench.Pack(rows, limit.Rows), func(a, b *feed.Batch) bool { return slices.Equal(a.IDs, b.IDs) }) {
			t.Errorf("%+v: Pack makes other batches", limit)
		}
	}
}
