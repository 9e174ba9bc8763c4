package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"encbench/bench"
	"encbench/bench/peers"
	"encbench/metrics"
	"encbench/metrics/judge"
	"encbench/metrics/ranking"
	"encbench/metrics/run"
	"encbench/metrics/trec"
)

// valueTolerance is the relative difference up to which two tools agree on a value
// that neither has rounded.
const valueTolerance = 1e-12

// irMeasures is what ir_measures is asked for, with the decimals to which the
// script behind some of them rounds.
var (
	irMeasures = []string{
		"nDCG", "nDCG@10", "nDCG(dcg='exp-log2')@10", "AP", "AP@100", "RR", "RR@10", "R@5", "R@100", "P@5", "P(rel=2)@10",
		"Success@1", "Success@5", "Rprec", "Bpref", "infAP", "Judged@10", "SetP", "SetR", "SetF", "NumRet", "NumRel", "ERR@10", "Accuracy",
	}
	irPrinted = map[string]int{"nDCG(dcg='exp-log2')@10": 5, "ERR@10": 5}
)

// agreementCase is one tool that our values are held against.
type agreementCase struct {
	name, tool, what string
	measures         []string
	lists            peers.Lists
	opt              judge.Options
	printed          map[string]int // see peers.Agree
}

// agreement holds our values against other tools' on random runs. It times
// nothing; what it finds is a note, and a difference stops the command.
func (s *scoreRun) agreement(ctx context.Context) error {
	queries := 200
	if s.small {
		queries = 30
	}
	for _, c := range []agreementCase{
		{
			"agreement with pytrec_eval", "pytrec_eval", "lists of 1 to 60 with ties, unjudged documents and missing queries, scores compared as float32",
			[]string{peers.EveryMeasure}, peers.Lists{Queries: queries, Depth: 60, Judged: 30, Documents: 10_000, Ties: true},
			judge.Options{Convention: judge.TrecEval, Float32: true}, nil,
		},
		{
			"agreement with ir_measures", "ir_measures", "lists of 60 without ties, which its providers order differently, by its default providers",
			irMeasures, peers.Lists{Queries: queries, Depth: 60, Judged: 30, Documents: 10_000},
			judge.Options{Convention: judge.IRMeasures}, irPrinted,
		},
	} {
		if !s.wanted(c.name) {
			continue
		}
		if err := s.agree(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

func (s *scoreRun) agree(ctx context.Context, c agreementCase) error {
	const rounds = 6
	w, err := s.worker(ctx)
	if err != nil {
		return err
	}
	defer w.Close()
	var all peers.Agreement
	var known, unknown []string
	for round := range rounds {
		c.lists.Seed = uint64(100 + round)
		qrels, text, err := s.made(ctx, c.lists)
		if err != nil {
			return err
		}
		theirs, err := values(ctx, w, peers.Judgement{Tool: c.tool, Qrels: qrels, Run: text, Measures: c.measures, Threads: 1}, s.dir)
		if err != nil {
			return err
		}
		theirs, known, unknown = comparable(theirs)
		blocks, err := readRun(text)
		if err != nil {
			return err
		}
		ours, err := judged(ctx, qrels, &inMemory{blocks: blocks}, known, c.opt, s.threads)
		if err != nil {
			return err
		}
		a, err := peers.Agree(theirs, ours, valueTolerance, c.printed)
		if err != nil {
			return fmt.Errorf("run %d: %w", round+1, err)
		}
		all.Compared, all.Worst = all.Compared+a.Compared, max(all.Worst, a.Worst)
	}
	note := fmt.Sprintf("Values equal to %s's: %s of %d measures on %d random runs of %d queries (%s), relative difference at most %.1g.",
		c.tool, bench.Thousands(int64(all.Compared)), len(known), rounds, c.lists.Queries, c.what, all.Worst)
	if len(unknown) > 0 {
		note += " Not compared, as encbench has no such value of a query: " + strings.Join(unknown, ", ") + "."
	}
	s.note("%s", note)
	return nil
}

// worker starts the scoring peers' process.
func (s *scoreRun) worker(ctx context.Context) (*peers.Worker, error) {
	w, err := peers.New(ctx, peers.Start{Python: s.python, Threads: s.threads})
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"python", "numpy", "numba", "pytrec-eval-terrier", "ranx", "ir-measures", "cramjam"} {
		if v := w.Hello().Versions[name]; v != "" {
			s.result.Versions[name] = v
		}
	}
	return w, nil
}

// values gives a tool's values for every query.
func values(ctx context.Context, w *peers.Worker, j peers.Judgement, dir string) ([]peers.Value, error) {
	if _, err := w.Judge(ctx, j); err != nil {
		return nil, err
	}
	out := filepath.Join(dir, "values.jsonl")
	if _, err := w.Evaluate(ctx, out); err != nil {
		return nil, err
	}
	return peers.ReadValues(out)
}

// comparable keeps the values of measures that we have too, and names both kinds.
// The geometric means of trec_eval are means of logarithms, which are no values of
// a query, and its number of queries is none either.
func comparable(all []peers.Value) (kept []peers.Value, known, unknown []string) {
	ours := map[string]bool{}
	for _, v := range all {
		has, seen := ours[v.Measure]
		if !seen {
			_, err := metrics.Parse(v.Measure)
			has = err == nil && v.Measure != "num_q" && !strings.HasPrefix(v.Measure, "gm_")
			ours[v.Measure] = has
		}
		if has {
			kept = append(kept, v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		if ours[name] {
			known = append(known, name)
		} else {
			unknown = append(unknown, name)
		}
	}
	return kept, known, unknown
}

// judged gives our values by query and measure, under the names asked for.
func judged(ctx context.Context, qrels string, src ranking.Source, names []string, opt judge.Options, threads int) (func(query, measure string) (float64, bool), error) {
	q, err := readQrels(qrels)
	if err != nil {
		return nil, err
	}
	measures, err := parsed(names)
	if err != nil {
		return nil, err
	}
	res, err := judgeAll(ctx, q, measures, opt, src, threads)
	if err != nil {
		return nil, err
	}
	place := make(map[string]int, len(res.Queries))
	for i, id := range res.Queries {
		place[id] = i
	}
	return func(query, measure string) (float64, bool) {
		m, i := slices.Index(names, measure), -1
		if p, ok := place[query]; ok {
			i = p
		}
		if m < 0 || i < 0 {
			return 0, false
		}
		return res.Values[m][i], true
	}, nil
}

func parsed(names []string) ([]metrics.Measure, error) {
	var out []metrics.Measure
	for _, name := range names {
		m, err := metrics.Parse(name)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

func readQrels(path string) (*judge.Qrels, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read judgements: %w", err)
	}
	defer f.Close()
	return trec.ReadQrels(f, path)
}

func judgeAll(ctx context.Context, q *judge.Qrels, measures []metrics.Measure, opt judge.Options, src ranking.Source, threads int) (*judge.Result, error) {
	j, err := judge.New(q, measures, opt)
	if err != nil {
		return nil, err
	}
	if err := j.Run(ctx, src, threads); err != nil {
		return nil, err
	}
	return j.Result()
}

// inMemory is a run that has been read.
type inMemory struct {
	mu     sync.Mutex
	blocks []*ranking.Block
	next   int
}

// Next gives a view of the next block.
func (m *inMemory) Next(b *ranking.Block) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.next == len(m.blocks) {
		return io.EOF
	}
	*b = *m.blocks[m.next]
	b.Seq = m.next
	m.next++
	return nil
}

// metricsOnly times measures over lists in memory against the tools that work on such.
func (s *scoreRun) metricsOnly(ctx context.Context) error {
	lists := peers.Lists{Queries: 1000, Depth: 1000, Judged: 10, Documents: 8_841_823, Seed: 2}
	if s.small {
		lists.Queries, lists.Depth = 100, 100
	}
	names := []string{"nDCG@10", "AP", "RR", "R@100", "P@10"}
	for _, arm := range []struct {
		tool     string
		measures []string // parallel to names
		bar      float64
		threads  int
		says     string
	}{
		{"pytrec_eval", []string{"ndcg_cut_10", "map", "recip_rank", "recall_100", "P_10"}, 10, s.threads, "RelevanceEvaluator.evaluate, evaluator built, run a dict, one thread as it has no other"},
		{"pytrec_eval", []string{"ndcg_cut_10", "map", "recip_rank", "recall_100", "P_10"}, 0, 1, "the same"},
		{"ranx", []string{"ndcg@10", "map", "mrr", "recall@100", "precision@10"}, 2, s.threads, "evaluate, compiled, Qrels and Run built, means only"},
	} {
		name := s.name(fmt.Sprintf("metrics only, against %s, threads of ours: %d", arm.tool, arm.threads), lists)
		if !s.wanted(name) {
			continue
		}
		m := &memoryArm{name: name, names: names, theirs: arm.measures, tool: arm.tool, threads: arm.threads, lists: lists, says: arm.says}
		if arm.bar > 0 {
			m.bar = &arm.bar
		}
		if err := s.refused(name, s.metricsArm(ctx, m)); err != nil {
			return err
		}
	}
	return nil
}

// memoryArm is one row of metricsOnly.
type memoryArm struct {
	name, tool, says string
	names, theirs    []string
	threads          int
	lists            peers.Lists
	bar              *float64
}

func (s *scoreRun) metricsArm(ctx context.Context, m *memoryArm) error {
	qrels, text, err := s.made(ctx, m.lists)
	if err != nil {
		return err
	}
	w, err := s.worker(ctx)
	if err != nil {
		return err
	}
	defer w.Close()
	theirs, err := values(ctx, w, peers.Judgement{Tool: m.tool, Qrels: qrels, Run: text, Measures: asked(m.theirs), Threads: s.threads}, s.dir)
	if err != nil {
		return err
	}
	blocks, err := coded(text)
	if err != nil {
		return err
	}
	opt := judge.Options{Convention: judge.TrecEval, Float32: true}
	lookup, err := judged(ctx, qrels, &inMemory{blocks: blocks}, m.names, opt, m.threads)
	if err != nil {
		return err
	}
	agreed, err := peers.Agree(theirs, func(query, measure string) (float64, bool) {
		if i := slices.Index(m.theirs, measure); i >= 0 {
			return lookup(query, m.names[i])
		}
		return 0, false
	}, valueTolerance, nil)
	if err != nil {
		return err
	}
	q, err := readQrels(qrels)
	if err != nil {
		return err
	}
	measures, err := parsed(m.names)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.app.stderr, "%s: timing\n", m.name)
	x, y, err := peers.Interleave(ctx, s.pairs,
		func() (float64, error) {
			start := time.Now()
			_, err := judgeAll(ctx, q, measures, opt, &inMemory{blocks: blocks}, m.threads)
			return time.Since(start).Seconds(), err
		},
		func() (float64, error) {
			run, err := w.Evaluate(ctx, "")
			return run.WallS, err
		})
	if err != nil {
		return err
	}
	rows := float64(m.lists.Queries) * float64(m.lists.Depth)
	row := bench.ResultRow{
		Name: m.name, Unit: "million ranked documents/s", PeerName: m.tool + ": " + m.says, Bar: m.bar,
		Note: fmt.Sprintf("%s; %s values equal, relative difference at most %.1g; ours from document numbers and scores in memory to the values of every query and their means",
			strings.Join(m.names, ", "), bench.Thousands(int64(agreed.Compared)), agreed.Worst),
	}
	for i := range x {
		row.Ours, row.Peer = append(row.Ours, rows/1e6/x[i]), append(row.Peer, rows/1e6/y[i])
	}
	return s.add(row)
}

// asked gives measures as pytrec_eval is asked for them, cut-offs behind a point;
// ranx takes the names as they are.
func asked(names []string) []string {
	out := slices.Clone(names)
	for i, name := range out {
		if at := strings.LastIndexByte(name, '_'); at >= 0 && strings.Trim(name[at+1:], "0123456789") == "" {
			out[i] = name[:at] + "." + name[at+1:]
		}
	}
	return out
}

// coded gives a text run's blocks with document numbers, as a compressed run has
// them.
func coded(text string) (blocks []*ranking.Block, err error) {
	plain, err := readRun(text)
	if err != nil {
		return nil, err
	}
	pr, pw := io.Pipe()
	go func() { pw.CloseWithError(writeRun(pw, plain)) }()
	defer pr.Close()
	src, err := run.NewReader(pr, text, run.Options{})
	if err != nil {
		return nil, err
	}
	for {
		var b ranking.Block
		if err := src.Next(&b); errors.Is(err, io.EOF) {
			return blocks, nil
		} else if err != nil {
			return nil, err
		}
		blocks = append(blocks, &ranking.Block{
			Queries: ownIDs(b.Queries), Off: slices.Clone(b.Off), Doc: slices.Clone(b.Doc), Docs: ownIDs(b.Docs),
			Sorted: b.Sorted, Score: slices.Clone(b.Score), Rank: slices.Clone(b.Rank),
		})
	}
}

func ownIDs(ids ranking.IDs) ranking.IDs {
	return ranking.IDs{Bytes: slices.Clone(ids.Bytes), Start: slices.Clone(ids.Start), End: slices.Clone(ids.End)}
}
