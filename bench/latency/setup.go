package latency

import (
	"context"
	"errors"
	"fmt"
	"time"

	"encbench/bench"
	"encbench/corpus/tokenize"
	"encbench/engine"
)

// Setup is one measurement.
type Setup struct {
	Tokens    []int    // lengths of the texts, each once
	Sources   []string // real queries that the texts are made of
	Prompt    string   // in front of every query, without a separator
	Tokenizer tokenize.Tokenizer
	MaxTokens int // of a row; longer lengths are refused

	// Open opens an encoder that takes one row at a time. The measurement closes it.
	Open func(ctx context.Context) (enc engine.Encoder, created time.Duration, err error)
	// Gate compares an encoder with its reference. What does not pass has no figure.
	Gate func(ctx context.Context, enc engine.Encoder) (bench.Accuracy, error)

	Searcher engine.Searcher // nil = text to vector alone
	K        int

	Samples int // of each length
	Cold    int // sessions opened for the first queries of each length
	Seed    uint64

	Progress func(Step) // called between queries; may be nil
	// Base is what the caller knows already: tool, command, model, engine, index, facts
	// of the machine, cold start up to the session, warnings of its own.
	Base Record
}

// Step says where a measurement is.
type Step struct {
	Phase       string // cold, warm-up, samples
	Done, Total int
}

// Validate lists everything that is wrong with the setup.
func (s *Setup) Validate() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(s.Tokens) == 0 {
		fault("no length of queries")
	}
	for i, n := range s.Tokens {
		if n < 1 {
			fault("queries of %d tokens, expected 1 or more", n)
		}
		for _, other := range s.Tokens[:i] {
			if other == n {
				fault("queries of %d tokens are asked for twice", n)
			}
		}
	}
	if s.Samples < 1 {
		fault("%d samples, expected 1 or more", s.Samples)
	}
	if s.Cold < 0 {
		fault("%d cold sessions, expected 0 or more", s.Cold)
	}
	if s.Searcher != nil && s.K < 1 {
		fault("the best %d documents, expected 1 or more", s.K)
	}
	if s.Tokenizer == nil || s.Open == nil || s.Gate == nil {
		fault("tokenizer, encoder and gate are required")
		return errors.Join(errs...)
	}
	for _, n := range s.Tokens {
		if row := s.row(n); row > s.MaxTokens {
			fault("a query of %d tokens makes a row of %d (%d special and %d prompt tokens more), the model takes %d", n, row, s.special(), s.promptTokens(), s.MaxTokens)
		}
	}
	return errors.Join(errs...)
}

func (s *Setup) special() int      { return s.Tokenizer.Template().Overhead() }
func (s *Setup) promptTokens() int { return len(s.Tokenizer.AppendIDs(nil, []byte(s.Prompt))) }
func (s *Setup) row(tokens int) int {
	return tokens + s.special() + s.promptTokens()
}
