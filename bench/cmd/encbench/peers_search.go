package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"encbench/bench"
	"encbench/bench/peers"
	"encbench/engine"
	"encbench/engine/cpu"
)

// searchCase is a set of vectors and what is searched in it.
type searchCase struct {
	name     string // "100,000 × 384 Gaussian"
	ks       []int
	one      int // queries of the arm that sends them one by one; 0 = no such arm
	sample   int // queries held against the plain search
	bars     searchBars
	fallback string // row for the share of queries that took the exact path; "" = none
	avx2     bool   // measured with AVX2 alone too
	memory   int64  // bytes that the machine must have
	vectors  func(ctx context.Context) (rows, queries []float32, dim int, err error)
}

// searchBars are ours ÷ peer to reach, parallel to ks, 0 = none.
type searchBars struct {
	best, avx2 []float64
	one        float64
	exact      float64 // instead, where the probe chose the exact pass; 0 = the same
}

// searchLevel is an instruction set on both sides.
type searchLevel struct {
	name string // as the row says it
	isa  string // ours; one of cpu.ISAs
	// What may be faiss's best: its level, and the processor whose kernels OpenBLAS
	// takes. Its own choice is not always the fastest on a newer processor.
	env [][]string
}

func searchLevels() []searchLevel {
	core := func(names ...string) (env [][]string) {
		for _, n := range names {
			env = append(env, []string{"OPENBLAS_CORETYPE=" + n})
		}
		return env
	}
	isas := cpu.ISAs()
	avx2 := searchLevel{name: "AVX2 only", isa: "avx2"}
	for _, e := range core("Haswell", "Zen") {
		avx2.env = append(avx2.env, append(e, "FAISS_SIMD_LEVEL=AVX2"))
	}
	switch best := isas[0]; {
	case best == "go":
		return []searchLevel{{name: "plain Go", isa: "go", env: [][]string{nil}}}
	case best == avx2.isa:
		return []searchLevel{avx2}
	default:
		levels := []searchLevel{{name: best, isa: best, env: append([][]string{nil}, core("SkylakeX", "Haswell", "Zen")...)}}
		if slices.Contains(isas, avx2.isa) {
			levels = append(levels, avx2)
		}
		return levels
	}
}

// search runs the arms against FAISS.
func (r *peersRun) search(ctx context.Context) error {
	s := &searchRun{peersRun: r, levels: searchLevels(), env: map[string][]string{}, fallback: map[string][]float64{}}
	for _, c := range s.cases() {
		if !slices.ContainsFunc(s.arms(c), func(a searchArm) bool { return r.wanted(a.name) }) {
			continue
		}
		if r.memory < c.memory {
			r.note("%s was left out: it needs a machine with %d GiB, this one has %d", c.name, c.memory>>30, r.memory>>30)
			continue
		}
		if err := s.run(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.fallback)) {
		bar := 1.0
		err := r.add(bench.ResultRow{
			Name: name, Unit: "% of queries", Ours: s.fallback[name], Bar: &bar, Ceiling: true, Counted: true,
			Note: "counted for each arm above that searches all queries at once",
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// searchRun is the search part at work.
type searchRun struct {
	*peersRun
	levels []searchLevel
	env    map[string][]string // by level: faiss's best environment, once it was found
	// By name of a row: the percentage of queries that took the exact path, by arm.
	fallback map[string][]float64
}

// searchArm is one row.
type searchArm struct {
	name    string
	level   searchLevel
	k       int
	queries int // of the case's, from the first on
	one     bool
	bar     float64
}

// arms lists the rows of a case. The number of queries of a batch is known when
// the vectors are.
func (s *searchRun) arms(c searchCase) []searchArm {
	var arms []searchArm
	for i, level := range s.levels {
		bars := c.bars.best
		if level.isa == "avx2" {
			bars = c.bars.avx2
			if i > 0 && !c.avx2 {
				continue
			}
			if len(bars) == 0 {
				bars = c.bars.best
			}
		}
		for j, k := range c.ks {
			a := searchArm{name: fmt.Sprintf("%s, k %s, %s", c.name, bench.Thousands(int64(k)), level.name), level: level, k: k}
			if len(bars) > 0 {
				a.bar = bars[j]
			}
			arms = append(arms, a)
		}
		if c.one > 0 {
			arms = append(arms, searchArm{
				name: fmt.Sprintf("%s, one query at a time, k %d, %s", c.name, c.ks[0], level.name), level: level, k: c.ks[0], queries: c.one, one: true, bar: c.bars.one,
			})
		}
	}
	return arms
}

// vectorSet is a case's data in memory and on disk.
type vectorSet struct {
	rows, queries []float32
	dim, n, count int
	config        peers.IndexConfig
	plain         engine.Hits // of the sample, at the greatest k
}

func (v *vectorSet) query(q int) []float32 { return v.queries[q*v.dim : (q+1)*v.dim] }

func (v *vectorSet) row(i int64) []float32 { return v.rows[int(i)*v.dim : (int(i)+1)*v.dim] }

// run measures one case.
func (s *searchRun) run(ctx context.Context, c searchCase) error {
	fmt.Fprintf(s.app.stderr, "%s: making vectors\n", c.name)
	v := &vectorSet{config: peers.IndexConfig{Rows: filepath.Join(s.dir, "rows.npy"), Queries: filepath.Join(s.dir, "queries.npy"), Threads: s.threads}}
	var err error
	if v.rows, v.queries, v.dim, err = c.vectors(ctx); err != nil {
		return err
	}
	v.n, v.count = len(v.rows)/v.dim, len(v.queries)/v.dim
	if err := errors.Join(saveNPY(v.config.Rows, v.rows, v.dim), saveNPY(v.config.Queries, v.queries, v.dim)); err != nil {
		return err
	}
	fmt.Fprintf(s.app.stderr, "%s: %d queries by the plain search\n", c.name, min(c.sample, v.count))
	if err := s.plain(ctx, c, v); err != nil {
		return err
	}
	debug.FreeOSMemory() // its copy of the rows; the peer needs room for one, too
	for _, level := range s.levels {
		var arms []searchArm
		for _, a := range s.arms(c) {
			if a.level.name == level.name && s.wanted(a.name) {
				if a.queries == 0 || a.queries > v.count {
					a.queries = v.count
				}
				arms = append(arms, a)
			}
		}
		if len(arms) == 0 {
			continue
		}
		if err := s.level(ctx, c, v, level, arms); err != nil {
			return err
		}
	}
	return errors.Join(os.Remove(v.config.Rows), os.Remove(v.config.Queries))
}

// plain asks the definition of the search for a sample of the queries.
func (s *searchRun) plain(ctx context.Context, c searchCase, v *vectorSet) error {
	p, err := cpu.NewPlain(cpu.Options{Dim: v.dim})
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.Append(ctx, 0, nil, engine.HostRows(v.rows, v.dim)); err != nil {
		return err
	}
	n := min(c.sample, v.count)
	return p.Search(ctx, engine.HostRows(v.queries[:n*v.dim], v.dim), slices.Max(c.ks), &v.plain)
}

// level measures a case's arms at one level, on one index of either side.
func (s *searchRun) level(ctx context.Context, c searchCase, v *vectorSet, level searchLevel, arms []searchArm) error {
	ours, err := cpu.NewSearcher(cpu.Options{Dim: v.dim, Threads: s.threads, ISA: level.isa})
	if err != nil {
		return err
	}
	defer ours.Close()
	start := time.Now()
	if err := ours.Append(ctx, 0, nil, engine.HostRows(v.rows, v.dim)); err != nil {
		return err
	}
	if err := ours.Build(ctx); err != nil {
		return err
	}
	built := time.Since(start).Seconds()
	w, theirs, err := s.faiss(ctx, v, level, arms[0].k)
	if err != nil {
		return err
	}
	defer w.Close()
	index := fmt.Sprintf("index filled in %.2f s, the peer's in %.2f s", built, theirs.IndexS)
	for _, a := range arms {
		if err := s.arm(ctx, c, v, a, ours, w, theirs, index); err != nil {
			var fault *peers.Fault
			if !errors.As(err, &fault) && !errors.Is(err, peers.ErrRows) && !errors.Is(err, errPlain) {
				return err
			}
			s.note("%s was not timed: %v", a.name, err)
		}
	}
	return nil
}

// errPlain is the cause when our own fast search is not what the plain one says.
var errPlain = errors.New("the fast search gives other hits than the plain one")

// arm checks one row's results on both sides and times it.
func (s *searchRun) arm(ctx context.Context, c searchCase, v *vectorSet, a searchArm, ours *cpu.Searcher, w *peers.Worker, index peers.Indexed, built string) error {
	mine := newOurSearch(ours, v, a)
	if _, err := mine.pass(ctx); err != nil {
		return err
	}
	if err := mine.check(v); err != nil {
		return err
	}
	stats := ours.Stats()
	query := peers.Query{Queries: a.queries, K: a.k, Single: a.one, RowBlock: rowBlocks[0]}
	query, trials, err := s.block(ctx, w, query)
	if err != nil {
		return err
	}
	query.Out = filepath.Join(s.dir, "peer.rows")
	if _, err := w.Search(ctx, query); err != nil {
		return err
	}
	found, err := peers.ReadRows(query.Out, a.queries, a.k)
	if err != nil {
		return err
	}
	query.Out = ""
	diff, err := peers.Compare(found, mine.found, a.k, int64(v.n), func(q int, row int64) float64 {
		return engine.Dot64(v.query(q), v.row(row))
	}, peers.DotBound(v.dim))
	if err != nil {
		return err
	}
	fmt.Fprintf(s.app.stderr, "%s: %v; timing\n", a.name, diff)
	x, y, err := peers.Interleave(ctx, s.pairs, func() (float64, error) { return mine.pass(ctx) }, func() (float64, error) {
		run, err := w.Search(ctx, query)
		return run.WallS, err
	})
	if err != nil {
		return err
	}
	amount, unit := 2*float64(v.n)*float64(v.dim)*float64(a.queries)/1e9, "GFLOP/s (2 × rows × dim × queries)"
	if a.one {
		amount, unit = float64(a.queries), "queries/s"
	}
	row := bench.ResultRow{
		Name: a.name, Unit: unit,
		PeerName: fmt.Sprintf("IndexFlatIP, %v, row block %d", index, query.RowBlock),
		Note: strings.Join(append([]string{
			fmt.Sprintf("%s queries, ids and score bits of %d of them equal to the plain search's", bench.Thousands(int64(a.queries)), min(a.queries, v.plain.Queries)),
			diff.String(), pathOf(stats, a.one), built,
		}, trials...), "; "),
	}
	for i := range x {
		row.Ours, row.Peer = append(row.Ours, amount/x[i]), append(row.Peer, amount/y[i])
	}
	if c.bars.exact > 0 && stats.Path == cpu.PathExact {
		a.bar = c.bars.exact
	}
	if a.bar > 0 {
		row.Bar = &a.bar
	}
	if c.fallback != "" && !a.one {
		s.fallback[c.fallback] = append(s.fallback[c.fallback], 100*float64(stats.Exact)/float64(stats.Queries))
	}
	return s.add(row)
}

// pathOf says how the latest of our searches went about it.
func pathOf(s cpu.Stats, one bool) string {
	text := fmt.Sprintf("ours: path %s", s.Path)
	if s.Reason != "" {
		text += " (" + s.Reason + ")"
	}
	if one {
		return text
	}
	return text + fmt.Sprintf(", %d of %d queries exact, %d scanned twice, %d rows scored by the rule", s.Exact, s.Queries, s.Rescanned, s.Rescored)
}

// ourSearch is our half of an arm.
type ourSearch struct {
	searcher *cpu.Searcher
	set      *vectorSet
	arm      searchArm
	hits     engine.Hits
	found    []int64   // row numbers of the latest pass
	scores   []float32 // beside them
}

func newOurSearch(s *cpu.Searcher, v *vectorSet, a searchArm) *ourSearch {
	return &ourSearch{searcher: s, set: v, arm: a, found: make([]int64, a.queries*a.k), scores: make([]float32, a.queries*a.k)}
}

// pass searches everything once and gives its seconds.
func (o *ourSearch) pass(ctx context.Context) (float64, error) {
	dim, step := o.set.dim, o.arm.queries
	if o.arm.one {
		step = 1
	}
	start := time.Now()
	for q := 0; q < o.arm.queries; q += step {
		if err := o.searcher.Search(ctx, engine.HostRows(o.set.queries[q*dim:(q+step)*dim], dim), o.arm.k, &o.hits); err != nil {
			return 0, err
		}
		copy(o.found[q*o.arm.k:], o.hits.Row)
		copy(o.scores[q*o.arm.k:], o.hits.Score)
	}
	return time.Since(start).Seconds(), nil
}

// check holds the first queries against the plain search: row numbers and score
// bits.
func (o *ourSearch) check(v *vectorSet) error {
	for q := range min(o.arm.queries, v.plain.Queries) {
		rows, scores := v.plain.Query(q)
		n := min(o.arm.k, len(rows))
		if !slices.Equal(o.found[q*o.arm.k:q*o.arm.k+n], rows[:n]) {
			return fmt.Errorf("%w: query %d, row numbers", errPlain, q)
		}
		for i := range n {
			if got := o.scores[q*o.arm.k+i]; got != scores[i] {
				return fmt.Errorf("%w: query %d, place %d: score %v, expected %v", errPlain, q, i+1, got, scores[i])
			}
		}
	}
	return nil
}

func saveNPY(path string, values []float32, dim int) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write vectors: %w", err)
	}
	return errors.Join(peers.WriteMatrix(f, values, dim), f.Close())
}
