package bench_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"encbench/bench"
	"encbench/corpus"
	"encbench/corpus/chunk"
	"encbench/engine"
	"encbench/engine/feed"
)

// endlessDocs makes n documents without keeping any of them.
type endlessDocs struct {
	n, next int
	buf     []byte
}

func (d *endlessDocs) Scan() bool { d.next++; return d.next <= d.n }
func (d *endlessDocs) Doc() corpus.Doc {
	d.buf = append(d.buf[:0], longText[:1+d.next*7919%len(longText)]...)
	return corpus.Doc{Text: d.buf}
}
func (d *endlessDocs) Err() error   { return nil }
func (d *endlessDocs) Close() error { return nil }

var longText = strings.Repeat("the quick brown fox ", 300)

// watched measures the live heap every few batches.
type watched struct {
	engine.Encoder
	batches int
	peak    uint64
}

func (w *watched) Collect(ctx context.Context, slot int) (engine.Rows, engine.Work, error) {
	if w.batches++; w.batches%50 == 0 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		w.peak = max(w.peak, m.HeapAlloc)
	}
	return w.Encoder.Collect(ctx, slot)
}

// passOver gives the peak of the live heap and the number of allocations of one
// pass over n documents.
func passOver(t *testing.T, n int) (peak uint64, allocs uint64, chunks int64) {
	t.Helper()
	src := bench.Documents{
		Options: feed.Options{Tokenizer: bytesTokenizer{}, Window: chunk.Window{Size: 510, Overlap: 100}, Batch: 128, Workers: 2},
		Scan:    func() (corpus.Scanner, error) { return &endlessDocs{n: n}, nil },
	}
	w := &watched{Encoder: engine.NewNull(384, 2)}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	_, chunks, err := bench.TimePass(context.Background(), src, w, nil)
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	return w.peak, after.Mallocs - before.Mallocs, chunks
}

// A corpus a hundred times longer takes no more memory, and no allocation per
// chunk: 100 documents more or less are one allocation.
func TestMemoryDoesNotGrowWithTheCorpus(t *testing.T) {
	const docs = 2000
	passOver(t, docs)
	shortPeak, shortAllocs, shortChunks := passOver(t, docs)
	longPeak, longAllocs, longChunks := passOver(t, 100*docs)
	report := fmt.Sprintf("%d chunks: peak %.1f MB, %d allocations; %d chunks: peak %.1f MB, %d allocations",
		shortChunks, float64(shortPeak)/1e6, shortAllocs, longChunks, float64(longPeak)/1e6, longAllocs)
	t.Log(report)
	const noise = 2 << 20
	if longPeak > shortPeak+noise {
		t.Errorf("the heap grows with the corpus: %s", report)
	}
	if more := float64(longAllocs) - float64(shortAllocs); more > 0.001*float64(longChunks-shortChunks) {
		t.Errorf("%.4f allocations a chunk: %s", more/float64(longChunks-shortChunks), report)
	}
}
