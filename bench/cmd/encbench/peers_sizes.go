package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"encbench/bench"
	"encbench/bench/peers"
)

// zstdLevel is the level that compressed runs are measured against.
const zstdLevel = 19

// sizes compares the size of compressed runs with that of their text under zstd,
// and times writing them.
func (s *scoreRun) sizes(ctx context.Context) error {
	lists := peers.Lists{Queries: 1000, Depth: 1000, Judged: 10, Documents: 8_841_823, Seed: 10}
	if s.small {
		lists.Queries, lists.Depth = 50, 100
	}
	if name := s.name("size of a compressed run", lists); s.wanted(name) {
		if err := s.refused(name, s.size(ctx, name, lists)); err != nil {
			return err
		}
	}
	if name := s.name("writing a compressed run", s.lists); s.wanted(name) {
		return s.writing(ctx, name)
	}
	return nil
}

// size compares six runs.
func (s *scoreRun) size(ctx context.Context, name string, lists peers.Lists) error {
	w, err := s.worker(ctx)
	if err != nil {
		return err
	}
	defer w.Close()
	bar := 1.0
	row := bench.ResultRow{
		Name: name, Unit: "bytes a line", PeerName: fmt.Sprintf("zstd level %d of the text, one frame", zstdLevel), Unpaired: true, Bar: &bar, Ceiling: true,
		Note: "a sample a run, made from a seed each: document numbers at random, float32 scores",
	}
	lines := float64(lists.Queries) * float64(lists.Depth)
	const runs = 6
	for i := range runs {
		lists.Seed = uint64(10 + i)
		_, text, err := s.made(ctx, lists)
		if err != nil {
			return err
		}
		ours, err := compressed(text, filepath.Join(s.dir, "size.ebrun"))
		if err != nil {
			return err
		}
		fmt.Fprintf(s.app.stderr, "%s: zstd of run %d of %d\n", name, i+1, runs)
		theirs, err := w.Zstd(ctx, text, zstdLevel)
		if err != nil {
			return err
		}
		row.Ours, row.Peer = append(row.Ours, ours/lines), append(row.Peer, float64(theirs)/lines)
	}
	return s.add(row)
}

// writing times the large run from memory to a file.
func (s *scoreRun) writing(ctx context.Context, name string) error {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	blocks, err := readRun(s.text)
	if err != nil {
		return err
	}
	size, err := sizeOf(s.text)
	if err != nil {
		return err
	}
	bar := 200.0
	row := bench.ResultRow{Name: name, Unit: "MB/s of the text it stands for", Bar: &bar, Note: "from lists in memory to a file, not synchronised to the disk"}
	for i := -1; i < s.pairs; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		f, err := os.Create(filepath.Join(s.dir, "written.ebrun"))
		if err != nil {
			return fmt.Errorf("write a run: %w", err)
		}
		start := time.Now()
		err = writeRun(f, blocks)
		seconds := time.Since(start).Seconds()
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return fmt.Errorf("write a run: %w", err)
		}
		if i >= 0 {
			row.Ours = append(row.Ours, size/1e6/seconds)
		}
	}
	return s.add(row)
}
