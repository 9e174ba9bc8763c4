package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"encbench/bench"
	"encbench/bench/peers"
	"encbench/metrics/ranking"
	"encbench/metrics/run"
	"encbench/metrics/trec"
)

// scoreRun is the score part at work.
type scoreRun struct {
	*peersRun
	lists       peers.Lists // the large run
	qrels, text string      // its files
	lines       float64
}

// score runs the arms of scoring and run files.
func (r *peersRun) score(ctx context.Context) error {
	s := &scoreRun{peersRun: r, lists: peers.Lists{Queries: 6980, Depth: 1000, Judged: 10, Documents: 8_841_823, Seed: 1}}
	if r.small {
		s.lists.Queries, s.lists.Depth = 300, 100
	}
	s.lines = float64(s.lists.Queries) * float64(s.lists.Depth)
	for _, part := range []func(context.Context) error{s.agreement, s.files, s.metricsOnly, s.sizes} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// name says what a row is about.
func (s *scoreRun) name(what string, l peers.Lists) string {
	return fmt.Sprintf("%s, %s queries × %s", what, bench.Thousands(int64(l.Queries)), bench.Thousands(int64(l.Depth)))
}

// prepare makes the files of the large run, once.
func (s *scoreRun) prepare(ctx context.Context) error {
	if s.text != "" {
		return nil
	}
	var err error
	s.qrels, s.text, err = s.made(ctx, s.lists)
	return err
}

// listsRule names what is made by peers.Lists; it changes when that does.
const listsRule = 1

// made gives the files of a run and its judgements: the large run's are kept in the
// cache, the others are temporary.
func (s *scoreRun) made(ctx context.Context, l peers.Lists) (qrels, text string, err error) {
	name := fmt.Sprintf("lists-%d-%dx%d-%d-%d-%d-%t", listsRule, l.Queries, l.Depth, l.Judged, l.Documents, l.Seed, l.Ties)
	file := s.temporary
	if l == s.lists && !s.small {
		store, err := s.app.store()
		if err != nil {
			return "", "", err
		}
		file = store.Derived
	}
	if qrels, err = file(ctx, name+".qrels", l.WriteQrels); err != nil {
		return "", "", err
	}
	text, err = file(ctx, name+".run", l.WriteRun)
	return qrels, text, err
}

// temporary is the cache's Derived for a file that goes with the command.
func (s *scoreRun) temporary(_ context.Context, name string, build func(io.Writer) error) (string, error) {
	path := filepath.Join(s.dir, name)
	f, err := os.Create(path)
	if err != nil {
		return "", fmt.Errorf("make a run: %w", err)
	}
	return path, errors.Join(build(f), f.Close())
}

// files times `encbench score` against the trec_eval binary, each as a process of
// its own that reads the same judgements and run and prints the same bytes.
func (s *scoreRun) files(ctx context.Context) error {
	arms := []struct {
		name, file string
		bar        float64
	}{
		{s.name("TREC text to trec_eval's default measures", s.lists), ".run", 15},
		{s.name("compressed run to trec_eval's default measures", s.lists), ".ebrun", 60},
	}
	var theirs peers.Program
	for _, arm := range arms {
		if !s.wanted(arm.name) {
			continue
		}
		if theirs == (peers.Program{}) {
			binary := s.trecEval
			if binary == "" {
				binary = filepath.Join(filepath.Dir(s.python), "trec_eval")
			}
			var err error
			if theirs, err = peers.TrecEval(binary); err != nil {
				return err
			}
			s.result.Versions["trec_eval"] = "9.0.4"
		}
		if err := s.prepare(ctx); err != nil {
			return err
		}
		file := s.text
		if arm.file != ".run" {
			file = filepath.Join(s.dir, "lists.ebrun")
			if _, err := compressed(s.text, file); err != nil {
				return err
			}
		}
		if err := s.refused(arm.name, s.process(ctx, arm.name, file, arm.bar, theirs)); err != nil {
			return err
		}
	}
	return nil
}

// process is one arm of files.
func (s *scoreRun) process(ctx context.Context, name, file string, bar float64, theirs peers.Program) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	mine := peers.NewProgram(self)
	fmt.Fprintf(s.app.stderr, "%s: timing\n", name)
	a, _, err := mine.Run(ctx, "score", "--convention", "trec_eval", s.qrels, file)
	if err != nil {
		return err
	}
	b, _, err := theirs.Run(ctx, s.qrels, s.text)
	if err != nil {
		return err
	}
	if !bytes.Equal(a, b) {
		return fmt.Errorf("%w:\n%s\nours:\n%s", peers.ErrValues, b, a)
	}
	x, y, err := peers.Interleave(ctx, s.pairs,
		func() (float64, error) {
			_, seconds, err := mine.Run(ctx, "score", "--convention", "trec_eval", s.qrels, file)
			return seconds, err
		},
		func() (float64, error) {
			_, seconds, err := theirs.Run(ctx, s.qrels, s.text)
			return seconds, err
		})
	if err != nil {
		return err
	}
	size, err := sizeOf(s.text)
	if err != nil {
		return err
	}
	row := bench.ResultRow{
		Name: name, Unit: "million lines/s", PeerName: "trec_eval QRELS RUN, on the text", Bar: &bar,
		Note: fmt.Sprintf("whole processes, from start to end, files in the page cache; both print the same %d bytes; the text has %.1f MB", len(a), size/1e6),
	}
	for i := range x {
		row.Ours, row.Peer = append(row.Ours, s.lines/1e6/x[i]), append(row.Peer, s.lines/1e6/y[i])
	}
	return s.add(row)
}

// compressed writes a text run as a compressed one and gives its size in bytes.
func compressed(text, path string) (float64, error) {
	blocks, err := readRun(text)
	if err != nil {
		return 0, err
	}
	f, err := os.Create(path)
	if err != nil {
		return 0, fmt.Errorf("write a run: %w", err)
	}
	if err := errors.Join(writeRun(f, blocks), f.Close()); err != nil {
		return 0, err
	}
	return sizeOf(path)
}

// readRun gives a text run's blocks.
func readRun(path string) (blocks []*ranking.Block, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read a run: %w", err)
	}
	defer f.Close()
	src := trec.NewReader(f, path, trec.Options{})
	for {
		b := new(ranking.Block)
		if err := src.Next(b); errors.Is(err, io.EOF) {
			return blocks, nil
		} else if err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
}

// writeRun writes blocks as a compressed run.
func writeRun(w io.Writer, blocks []*ranking.Block) error {
	out, err := run.NewWriter(w, run.Header{Tag: "made"})
	if err != nil {
		return err
	}
	for _, b := range blocks {
		if err := out.Write(b); err != nil {
			return err
		}
	}
	return out.Close()
}

func sizeOf(path string) (float64, error) {
	st, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return float64(st.Size()), nil
}
