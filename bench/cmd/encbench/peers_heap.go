package main

import (
	"context"
	"fmt"
	"runtime"

	"encbench/bench"
	"encbench/corpus"
	"encbench/engine"
)

// heapPasses is how often the heap arm passes over techdocs in one run.
const heapPasses = 100

// heap compares the peak of the live heap in the last passes of one long run with
// that in its first, through the whole pipeline with a null encoder: the corpus
// is techdocs a hundred times in a row.
func (r *peersRun) heap(ctx context.Context, name string) error {
	src := bench.Documents{Options: r.in.feed(peersBatch, false), Scan: func() (corpus.Scanner, error) {
		return &repeated{open: r.in.corpora[corpus.Techdocs].open, left: heapPasses}, nil
	}}
	w := &heapWatch{Encoder: engine.NewNull(r.in.enc.Dim(), 2), pass: r.in.batches, peaks: make([]float64, 1, heapPasses+1)}
	runtime.GC()
	runtime.ReadMemStats(&w.stats)
	before := w.stats.Mallocs
	_, chunks, err := bench.TimePass(ctx, src, w, nil)
	if err != nil {
		return err
	}
	runtime.ReadMemStats(&w.stats)
	bar := 1.01
	const some = 6
	if len(w.peaks) < heapPasses {
		return fmt.Errorf("%s: %d passes were seen of %d", name, len(w.peaks), heapPasses)
	}
	return r.add(bench.ResultRow{
		Name: name, Unit: "MB of live heap at the peak of a pass",
		Ours: w.peaks[heapPasses-some : heapPasses], Peer: w.peaks[:some], PeerName: "the first six of the hundred passes",
		Unpaired: true, Bar: &bar, Ceiling: true,
		Note: fmt.Sprintf("%d allocations for %d chunks, the pipeline's own buffers included", w.stats.Mallocs-before, chunks),
	})
}

// heapWatch measures the live heap, after a collection, twenty times a pass.
type heapWatch struct {
	engine.Encoder
	pass, batches int // batches of a pass, and seen so far
	peaks         []float64
	stats         runtime.MemStats
}

func (w *heapWatch) Collect(ctx context.Context, slot int) (engine.Rows, engine.Work, error) {
	if w.batches++; w.batches%max(1, w.pass/20) == 0 {
		runtime.GC()
		runtime.ReadMemStats(&w.stats)
		last := &w.peaks[len(w.peaks)-1]
		*last = max(*last, float64(w.stats.HeapAlloc)/1e6)
	}
	if w.batches%w.pass == 0 && len(w.peaks) < cap(w.peaks) {
		w.peaks = append(w.peaks, 0)
	}
	return w.Encoder.Collect(ctx, slot)
}

// repeated scans a corpus several times in a row.
type repeated struct {
	open func() (corpus.Source, error)
	left int
	src  corpus.Source
	err  error
}

func (s *repeated) Scan() bool {
	for s.err == nil {
		if s.src != nil {
			if s.src.Scan() {
				return true
			}
			s.err = s.src.Err()
			s.src.Close()
			s.src = nil
			continue
		}
		if s.left == 0 {
			return false
		}
		s.left--
		s.src, s.err = s.open()
	}
	return false
}

func (s *repeated) Doc() corpus.Doc { return s.src.Doc() }
func (s *repeated) Err() error      { return s.err }
func (s *repeated) Close() error {
	if s.src == nil {
		return nil
	}
	return s.src.Close()
}
