package bench

import (
	"fmt"
	"math"
)

// The most that a sample can hold: no machine is that fast, and none ran that
// long.
const (
	mostPerSecond = 1e18 // of any rate
	mostSeconds   = 1e9
)

// check reports the first field of a record, as read from a file, that no run
// writes: a file that was edited, or that another program made.
func (r *Record) check() error {
	p := r.Protocol
	switch {
	case p.Chunk <= 0:
		return fmt.Errorf("field \"protocol.chunk\" is %d or absent, expected the tokens of a chunk; the record is not whole, measure again", p.Chunk)
	case p.Overlap < 0 || p.Overlap >= p.Chunk:
		return fmt.Errorf("field \"protocol.overlap\" is %d, expected 0 to %d", p.Overlap, p.Chunk-1)
	case p.Batch <= 0:
		return fmt.Errorf("field \"protocol.batch\" is %d or absent, expected the chunks of a batch; the record is not whole, measure again", p.Batch)
	case p.BatchTokens < 0 || p.BatchTokens > 0 && p.BatchTokens < p.Chunk:
		return fmt.Errorf("field \"protocol.batch_tokens\" is %d, expected 0 or at least the %d tokens of a chunk", p.BatchTokens, p.Chunk)
	}
	for i := range r.Samples {
		if name, x := r.Samples[i].absurd(); name != "" {
			return fmt.Errorf("field \"samples[%d].%s\" is %v, which no run measures; the record was changed, measure again", i, name, x)
		}
	}
	for _, c := range fiveRates {
		e := *c.In(&r.Rates)
		name := "rates." + c.Field
		if e.CV < 0 || e.Min < 0 || e.Min > e.Low || e.Low > e.Median || e.Median > e.High || e.High > e.Max {
			return fmt.Errorf("field %q does not hold 0 ≤ min ≤ ci_low ≤ median ≤ ci_high ≤ max (%v, %v, %v, %v, %v); the record was changed, measure again",
				name, e.Min, e.Low, e.Median, e.High, e.Max)
		}
		xs := c.values(r.Samples)
		if want := Median(xs); e.N != len(xs) || math.Abs(e.Median-want) > 1e-9*want {
			return fmt.Errorf("field %q is %v from %d samples, but the samples give %v from %d; the record was changed, measure again",
				name+".median", e.Median, e.N, want, len(xs))
		}
	}
	return nil
}

// absurd gives the first field that no run writes, or "".
func (s *Sample) absurd() (name string, value any) {
	if s.WallS <= 0 || s.WallS > mostSeconds {
		return "wall_s", s.WallS
	}
	if s.Chunks <= 0 {
		return "chunks", s.Chunks
	}
	for _, f := range []struct {
		name string
		n    int64
	}{
		{"round", int64(s.Round)}, {"docs", s.Docs}, {"real_tokens", s.RealTokens}, {"text_bytes", s.TextBytes}, {"padded_tokens", s.PaddedTokens},
	} {
		if f.n < 0 {
			return f.name, f.n
		}
	}
	if s.PaddedTokens < s.RealTokens {
		return "padded_tokens", s.PaddedTokens
	}
	for _, f := range []struct {
		name string
		x    float64
	}{
		{"docs_per_s", s.DocsPerS}, {"model_flop", s.per(s.ModelFLOP)}, {"issued_flop", s.per(s.IssuedFLOP)},
		{"chunks", s.per(float64(s.Chunks))}, {"padded_tokens", s.per(float64(s.PaddedTokens))}, {"text_bytes", s.per(float64(s.TextBytes))},
	} {
		if f.x < 0 || f.x > mostPerSecond {
			return f.name, f.x
		}
	}
	return "", nil
}
