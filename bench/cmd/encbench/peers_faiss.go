package main

import (
	"context"
	"fmt"
	"strings"

	"encbench/bench"
	"encbench/bench/peers"
)

// rowBlocks are the numbers of rows in a matrix product that faiss is tried with;
// the first is its default.
var rowBlocks = []int{1024, 4096, 16384}

// faiss starts the peer with the environment that is its best at this level, which
// the first case of a level finds out, and fills its index.
func (s *searchRun) faiss(ctx context.Context, v *vectorSet, level searchLevel, k int) (*peers.Worker, peers.Indexed, error) {
	env, known := s.env[level.name]
	if !known {
		var err error
		if env, err = s.bestEnv(ctx, v, level, k); err != nil {
			return nil, peers.Indexed{}, err
		}
		s.env[level.name] = env
	}
	return s.startFaiss(ctx, v, env)
}

func (s *searchRun) startFaiss(ctx context.Context, v *vectorSet, env []string) (*peers.Worker, peers.Indexed, error) {
	w, err := peers.New(ctx, peers.Start{Python: s.python, Threads: s.threads, Env: env})
	if err != nil {
		return nil, peers.Indexed{}, err
	}
	for name, version := range w.Hello().Versions {
		if name == "python" || name == "numpy" || name == "faiss-cpu" {
			s.result.Versions[name] = version
		}
	}
	index, err := w.Index(ctx, v.config)
	if err != nil {
		w.Close()
		return nil, peers.Indexed{}, err
	}
	for _, b := range index.BLAS {
		s.result.Versions[b.Library] = b.Version
	}
	return w, index, nil
}

// bestEnv tries each environment of a level, in a process of its own.
func (s *searchRun) bestEnv(ctx context.Context, v *vectorSet, level searchLevel, k int) ([]string, error) {
	best, least := -1, 0.0
	var seen []string
	for i, env := range level.env {
		w, index, err := s.startFaiss(ctx, v, env)
		if err != nil {
			return nil, err
		}
		seconds, err := median(ctx, w, peers.Query{Queries: v.count, K: k, RowBlock: rowBlocks[0]})
		w.Close()
		if err != nil {
			return nil, err
		}
		name := strings.Join(env, " ")
		if name == "" {
			name = "as it comes"
		}
		seen = append(seen, fmt.Sprintf("%s (%v) %.2f s", name, index, seconds))
		if best < 0 || seconds < least {
			best, least = i, seconds
		}
	}
	s.note("FAISS at %s, environments tried on the first vectors at k %d, the fastest taken for all: %s.", level.name, k, strings.Join(seen, "; "))
	return level.env[best], nil
}

// block finds the block of rows with which faiss does a query fastest. A query
// alone is no matrix product.
func (s *searchRun) block(ctx context.Context, w *peers.Worker, q peers.Query) (peers.Query, []string, error) {
	if q.Single {
		return q, nil, nil
	}
	best, least := q, 0.0
	var seen []string
	for _, b := range rowBlocks {
		q.RowBlock = b
		seconds, err := median(ctx, w, q)
		if err != nil {
			return q, nil, err
		}
		seen = append(seen, fmt.Sprintf("row block %d %.2f s", b, seconds))
		if least == 0 || seconds < least {
			best, least = q, seconds
		}
	}
	return best, []string{"tried: " + strings.Join(seen, ", ")}, nil
}

// median times one untimed search and then as many as a calibration takes.
func median(ctx context.Context, w *peers.Worker, q peers.Query) (float64, error) {
	var seconds []float64
	for i := -1; i < peers.CalibrationRepeats; i++ {
		run, err := w.Search(ctx, q)
		if err != nil {
			return 0, err
		}
		if i >= 0 {
			seconds = append(seconds, run.WallS)
		}
	}
	return bench.Median(seconds), nil
}
