package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"encbench/bench"
	"encbench/bench/peers"
	"encbench/corpus"
	"encbench/corpus/tokenize"
)

// tokenizerInputs are the corpora that tokenizers are timed on.
var tokenizerInputs = []struct {
	corpus string
	rows   peers.Rows
}{{corpus.Techdocs, peers.RowsTechdocs}, {corpus.Gostd, peers.RowsGostd}}

// tokenizerBar is how many times as fast as the peer's one thread ours should be, 0
// where no bar is set.
func tokenizerBar(info tokenize.Info) float64 {
	switch {
	case info.Kind == "WordPiece":
		return 40
	case info.Kind == "Unigram":
		return 20
	case strings.Contains(info.PreTokenizer, "ByteLevel"):
		return 60
	}
	return 0
}

// speedOf times a tokenizer on one core, on documents of a corpus, each once, with
// caches emptied at the start of a pass on both sides.
func (t *tokenizersRun) speedOf(ctx context.Context, row, file string, tok tokenize.Tokenizer, info tokenize.Info, input peers.Rows, name string) error {
	if t.corpora[name] == nil {
		t.note("%s was left out: the corpus is not available here", row)
		return nil
	}
	mine, err := t.corpora.tokenizeSide(t.dir, tok, name, t.bytes)
	if err != nil {
		return err
	}
	mine.how = fmt.Sprintf("%.1f MB of documents, each once", mine.amount)
	w, err := t.worker(ctx, 1)
	if err != nil {
		return err
	}
	defer w.Close()
	arm := peers.TokenizerArm(row, input, file, tokenizerBar(info)).For(t.dir, t.cache)
	return t.refused(row, t.peerArm(ctx, w, against{arm: arm, row: row, mine: mine, pairs: t.pairs}))
}

// What a pass on one and on two cores covers.
const (
	coresBytes = 128 << 20
	coresTake  = 8       // documents at a time
	aluSteps   = 1 << 26 // a tenth of a second
)

// twoCores compares what a second core adds to a tokenizer with what it adds to
// arithmetic in registers, which shares nothing: cores of a virtual machine are not
// always whole ones, and a clock may fall when both work.
func (t *tokenizersRun) twoCores(ctx context.Context, row string, tok tokenize.Tokenizer) error {
	if runtime.GOMAXPROCS(0) < 2 || t.threads < 2 {
		t.note("%s was left out: it needs two CPUs", row)
		return nil
	}
	most, steps := int64(coresBytes), aluSteps
	if t.small {
		most, steps = t.bytes, steps/64
	}
	texts, total, err := t.corpora.texts(corpus.Techdocs, most)
	if err != nil {
		return err
	}
	toks := []tokenize.Tokenizer{tok.Clone(), tok.Clone()}
	ids := make([][]int32, len(toks))
	words := func(cores int) time.Duration {
		var next atomic.Int64
		return together(cores, func(core int) {
			tok, mine := toks[core], ids[core]
			tok.Reset()
			for from := int(next.Add(coresTake)) - coresTake; from < len(texts); from = int(next.Add(coresTake)) - coresTake {
				for _, text := range texts[from:min(from+coresTake, len(texts))] {
					mine = tok.AppendIDs(mine[:0], text)
				}
			}
			ids[core] = mine // not before: cores that write beside each other wait for each other
		})
	}
	var sum atomic.Uint64
	alu := func(cores int) time.Duration {
		return together(cores, func(core int) { sum.Add(xorshift(uint64(core+1), steps/cores)) })
	}
	fmt.Fprintf(t.app.stderr, "%s: timing\n", row)
	x, y, err := peers.Interleave(ctx, t.pairs, gain(words), gain(alu))
	if err != nil {
		return err
	}
	bar := 0.95
	return t.add(bench.ResultRow{
		Name: row, Unit: "times as fast on two cores as on one", Ours: x, Peer: y, PeerName: "the same of arithmetic in registers", Bar: &bar,
		Note: fmt.Sprintf("%.1f MB of techdocs, each document once, to whichever core is free; a tokenizer a core", float64(total)/1e6),
	})
}

// gain gives how many times as fast work is on two cores as on one, in the order one,
// two, two, one, so that a drift falls on both alike. It takes the place of seconds
// in pairs of measurements.
func gain(work func(cores int) time.Duration) peers.Timer {
	return func() (float64, error) {
		one := work(1)
		two := work(2) + work(2)
		one += work(1)
		return one.Seconds() / two.Seconds(), nil
	}
}

// together runs work on each of cores threads and gives the time until all are done.
func together(cores int, work func(core int)) time.Duration {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	ready.Add(cores)
	for core := range cores {
		done.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready.Done()
			<-start
			work(core)
		})
	}
	ready.Wait()
	began := time.Now()
	close(start)
	done.Wait()
	return time.Since(began)
}

// xorshift is Marsaglia's generator (2003): arithmetic that stays in registers.
func xorshift(x uint64, steps int) uint64 {
	for range steps {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}
