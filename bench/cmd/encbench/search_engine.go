package main

import (
	"context"
	"fmt"
	"io"

	"encbench/engine"
	"encbench/engine/cpu"
)

// searchEngine is what a search runs on.
type searchEngine interface {
	engine.Searcher
	// build makes what the search goes over besides the rows.
	build(ctx context.Context) error
	rowBytes() int
	// count adds the account of the latest search.
	count()
	// report says how the searches went, a line each.
	report(w io.Writer)
}

// cpuSearch is a search on the processor.
type cpuSearch struct {
	*cpu.Searcher
	path cpu.Path
	sum  cpu.Stats // over blocks of queries
}

func newCPUSearch(opt cpu.Options) (searchEngine, error) {
	s, err := cpu.NewSearcher(opt)
	if err != nil {
		return nil, err
	}
	return &cpuSearch{Searcher: s, path: opt.Path}, nil
}

func (s *cpuSearch) build(ctx context.Context) error {
	if s.path == cpu.PathExact {
		return nil
	}
	return s.Build(ctx)
}

func (s *cpuSearch) rowBytes() int { return s.RowBytes() }

func (s *cpuSearch) count() {
	st, sum := s.Stats(), &s.sum
	sum.Queries += st.Queries
	sum.Exact += st.Exact
	sum.Rescanned += st.Rescanned
	sum.Rescored += st.Rescored
	sum.Distinct, sum.Path, sum.ISA, sum.Reason = st.Distinct, st.Path, st.ISA, st.Reason
}

func (s *cpuSearch) report(w io.Writer) {
	if s.sum.Queries > 0 {
		fmt.Fprintf(w, "path       %s on %s (%s); %s the exact path, %s twice\n", s.sum.Path, s.sum.ISA, s.sum.Reason,
			count(s.sum.Exact, "query")+" took", count(s.sum.Rescanned, "query")+" scanned")
	}
}
