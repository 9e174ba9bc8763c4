package cpu

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"

	"encbench/engine"
)

// Metric says how a query and a row are scored.
type Metric = engine.Metric

// The metrics.
const (
	InnerProduct = engine.InnerProduct
	Cosine       = engine.Cosine
	L2           = engine.L2
)

// Store says how rows are kept.
type Store = engine.Store

// The ways to keep rows.
const (
	StoreGiven = engine.StoreGiven
	StoreF32   = engine.StoreF32
	StoreF16   = engine.StoreF16
	StoreBF16  = engine.StoreBF16
	StoreInt8  = engine.StoreInt8
)

// Path says how a search goes about. All give the same result.
type Path uint8

const (
	// PathAuto takes the narrowest codes that this machine has an instruction for,
	// and wider ones, or none, where a probe finds that they separate too little.
	PathAuto Path = iota
	// PathExact scores every row by the rule.
	PathExact
	// PathInt16 scans 16-bit codes first; AVX2 or AVX-512.
	PathInt16
	// PathInt8 scans 8-bit codes first; AVX-512 VNNI.
	PathInt8
)

// String gives the path's name as a flag spells it.
func (p Path) String() string {
	switch p {
	case PathAuto:
		return "auto"
	case PathExact:
		return "exact"
	case PathInt16:
		return "int16"
	case PathInt8:
		return "int8"
	}
	return fmt.Sprintf("Path(%d)", uint8(p))
}

// Options of a search. Only Dim has to be set.
type Options struct {
	Dim     int    // values of a row, 1 or more
	Metric  Metric // default InnerProduct
	Store   Store  // default: as the rows come
	Threads int    // 0 = GOMAXPROCS
	Path    Path   // default PathAuto
	// ISA names the instruction set to use, one of ISAs; "" is the best of them.
	ISA string
}

// Validate lists everything that is wrong.
func (o Options) Validate() error {
	var errs []error
	if o.Dim < 1 {
		errs = append(errs, fmt.Errorf("dim: expected 1 or more, found %d", o.Dim))
	}
	if o.Metric > L2 {
		errs = append(errs, fmt.Errorf("metric: expected ip, cosine or l2, found %s", o.Metric))
	}
	if o.Store > StoreInt8 {
		errs = append(errs, fmt.Errorf("store: expected given, float32, float16, bfloat16 or int8, found %s", o.Store))
	}
	if o.Threads < 0 {
		errs = append(errs, fmt.Errorf("threads: expected 0 or more, found %d", o.Threads))
	}
	kernels, err := pick(o.ISA)
	switch {
	case o.Path > PathInt8:
		errs = append(errs, fmt.Errorf("path: expected auto, exact, int16 or int8, found %s", o.Path))
	case err != nil:
		errs = append(errs, err)
	case !kernels.has(o.Path):
		errs = append(errs, fmt.Errorf("path: %s has no instructions for %s; use auto", kernels.name, o.Path))
	}
	return errors.Join(errs...)
}

// ISAs lists the instruction sets that this build and this machine have, best
// first; the last is always "go".
func ISAs() []string {
	var names []string
	for _, k := range available() {
		names = append(names, k.name)
	}
	return names
}

// pick gives the kernels of a name from ISAs, the best for "".
func pick(name string) (*kernels, error) {
	all := available()
	if name == "" {
		return all[0], nil
	}
	for _, k := range all {
		if k.name == name {
			return k, nil
		}
	}
	return nil, fmt.Errorf("isa: expected one of %s, found %s", strings.Join(ISAs(), ", "), name)
}

// Searcher finds the exact best rows on the processor. Plain defines what it
// gives; how it gets there is in the package's comment. Several Searches may run at
// the same time, each on Threads goroutines; Append and Build run alone.
type Searcher struct {
	opt     Options
	kernels *kernels
	rows    store

	build sync.Mutex // guards index while searches build it
	index index
	mu    sync.Mutex // guards what follows
	idle  []*worker
	scans []*scan // idle
	stats Stats
	probe [2][65]verdict // by path (int8, int16) and bits.Len(k)
}

var _ engine.Searcher = (*Searcher)(nil)

// NewSearcher gives an empty search.
func NewSearcher(opt Options) (*Searcher, error) {
	if err := opt.Validate(); err != nil {
		return nil, fmt.Errorf("open a search: %w", err)
	}
	if opt.Threads == 0 {
		opt.Threads = runtime.GOMAXPROCS(0)
	}
	k, _ := pick(opt.ISA)
	return &Searcher{opt: opt, kernels: k, rows: newStore(opt, k)}, nil
}

// Rows gives the number of rows.
func (s *Searcher) Rows() int { return s.rows.n }

// RowBytes gives the bytes a row takes as stored, its codes for the scan aside; 0
// before the first row, when the type is not known.
func (s *Searcher) RowBytes() int {
	if s.rows.elem == StoreInt8 {
		return s.rows.stride + 4
	}
	return s.rows.stride
}

// Close frees the rows. The Searcher may not be used afterwards.
func (s *Searcher) Close() error {
	for _, sc := range s.scans {
		sc.free()
	}
	s.rows, s.index, s.idle, s.scans = store{}, index{}, nil, nil
	return nil
}

// Stats tells how the latest finished Search went about it.
type Stats struct {
	Queries int
	// Exact counts the queries whose every row was scored by the rule, because the
	// bound could not separate enough rows, or as Path says.
	Exact int
	// Rescanned counts the queries whose guessed threshold was too high, so that
	// their rows were scanned a second time.
	Rescanned int
	// Rescored counts rows scored by the rule for the other queries.
	Rescored int64
	// Distinct is the number of rows that differ; equal rows are scanned once. 0
	// where all queries took the exact path.
	Distinct int
	Path     Path   // of most queries: PathExact, PathInt16 or PathInt8
	ISA      string // one of ISAs
	Reason   string // why this path, for a report
}

// Stats gives the statistics of the latest finished Search.
func (s *Searcher) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// finite says whether v is neither NaN nor an infinity.
func finite(v float32) bool { return math.Float32bits(v)&(0xff<<23) != 0xff<<23 }
