package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"encbench/engine"
)

// Reference is a gated row and what the reference encoder gives for it.
type Reference struct {
	IDs    []int32
	Types  []uint8 // token types, nil = all 0
	Vector []float32
}

// Gate runs the references through the encoder, each alone and all in one batch,
// and holds the results to the limits. A row without a Vector is compared with its
// own result alone (consistency-only). The error is a failure to run; a failed
// comparison is Passed false with Error. first is the time of the first run, which
// pays for what later ones reuse.
//
// A single value a row is a logit, and cosines of single values say nothing: logits
// are held to differences, as shares of the spread of the reference's (see spread).
func Gate(ctx context.Context, enc engine.Encoder, refs []Reference, from string, limits Limits) (acc Accuracy, first time.Duration, err error) {
	if len(refs) == 0 {
		return acc, 0, errors.New("accuracy gate: no rows to compare")
	}
	g := gating{refs: refs}
	acc = Accuracy{
		Level: limits.Level, Threshold: limits.Cosine, MeanLimit: limits.Mean, DiffLimit: limits.Diff, BatchLimit: limits.Batch,
		Min: 1, Reference: from,
	}
	if first, err = g.encode(ctx, enc); err != nil {
		return acc, first, fmt.Errorf("accuracy gate: %w", err)
	}
	for i := range refs {
		if want := refs[i].Vector; want == nil {
			acc.Level = LevelConsistency
		} else if len(want) != len(g.alone[i]) {
			return acc, first, fmt.Errorf("accuracy gate: reference has %d values, the encoder gives %d", len(want), len(g.alone[i]))
		}
	}
	if len(g.alone[0]) == 1 {
		g.logits(&acc)
	} else {
		g.vectors(&acc)
	}
	acc.Passed = acc.Error == ""
	return acc, first, nil
}

// gating is a gate at work.
type gating struct {
	refs  []Reference
	alone [][]float32
	batch [][]float32
	of    []int // reference of each row of the batch
}

// encode runs every row alone and all rows twice over in one batch, in both orders,
// so that every length has a longer neighbour.
func (g *gating) encode(ctx context.Context, enc engine.Encoder) (first time.Duration, err error) {
	g.alone = make([][]float32, len(g.refs))
	for i := range g.refs {
		mark := time.Now()
		vs, err := encodeRows(ctx, enc, g.refs[i:i+1])
		if i == 0 {
			first = time.Since(mark)
		}
		if err != nil {
			return first, err
		}
		g.alone[i] = vs[0]
	}
	var rows []Reference
	for i := range g.refs {
		rows, g.of = append(rows, g.refs[i]), append(g.of, i)
	}
	for i := len(g.refs) - 1; i >= 0; i-- {
		rows, g.of = append(rows, g.refs[i]), append(g.of, i)
	}
	g.batch, err = encodeRows(ctx, enc, rows)
	return first, err
}

// want is what row i should be.
func (g *gating) want(i int) []float32 {
	if v := g.refs[i].Vector; v != nil {
		return v
	}
	return g.alone[i]
}

// vectors compares cosines and single values.
func (g *gating) vectors(acc *Accuracy) {
	var sum float64
	for i, ref := range g.refs {
		want := g.want(i)
		unit := length(want)
		p := Probe{Tokens: len(ref.IDs), Alone: cosine(want, g.alone[i]), Batch: 1}
		acc.MaxDiff = max(acc.MaxDiff, difference(want, g.alone[i], unit))
		for j, k := range g.of {
			if k == i {
				p.Batch = min(p.Batch, cosine(want, g.batch[j]))
				acc.MaxDiff = max(acc.MaxDiff, difference(want, g.batch[j], unit))
				acc.BatchDiff = max(acc.BatchDiff, difference(g.alone[i], g.batch[j], unit))
			}
		}
		acc.Probes = append(acc.Probes, p)
		low := min(p.Alone, p.Batch)
		acc.Min = min(acc.Min, low)
		sum += low
		if !(low >= acc.Threshold) && acc.Error == "" {
			acc.Error = fmt.Sprintf("%d tokens: cosine %.8f alone, %.8f in a batch, at least %g expected", p.Tokens, p.Alone, p.Batch, acc.Threshold)
		}
	}
	acc.Mean = sum / float64(len(g.refs))
	switch {
	case acc.Error != "":
	case acc.BatchLimit > 0 && !(acc.BatchDiff <= acc.BatchLimit):
		acc.Error = fmt.Sprintf("a row's vector depends on its batch: a value differs by %.2g between the row alone and in a batch, at most %.2g expected", acc.BatchDiff, acc.BatchLimit)
	case acc.MeanLimit > 0 && !(acc.Mean >= acc.MeanLimit):
		acc.Error = fmt.Sprintf("the mean cosine is %.8f, at least %g expected", acc.Mean, acc.MeanLimit)
	case acc.DiffLimit > 0 && !(acc.MaxDiff <= acc.DiffLimit):
		acc.Error = fmt.Sprintf("a value of a vector differs by %.2g from the reference, at most %.2g expected", acc.MaxDiff, acc.DiffLimit)
	}
}

// logits compares single values.
func (g *gating) logits(acc *Accuracy) {
	acc.Output, acc.Threshold, acc.MeanLimit, acc.Min, acc.Mean = OutputLogits, 0, 0, 0, 0
	acc.Spread = g.spread()
	for i, ref := range g.refs {
		want := g.want(i)
		p := Probe{Tokens: len(ref.IDs), DiffAlone: difference(want, g.alone[i], acc.Spread)}
		for j, k := range g.of {
			if k == i {
				p.DiffBatch = max(p.DiffBatch, difference(want, g.batch[j], acc.Spread))
				acc.BatchDiff = max(acc.BatchDiff, difference(g.alone[i], g.batch[j], acc.Spread))
			}
		}
		acc.Probes = append(acc.Probes, p)
		most := max(p.DiffAlone, p.DiffBatch)
		acc.MaxDiff = max(acc.MaxDiff, most)
		if acc.DiffLimit > 0 && !(most <= acc.DiffLimit) && acc.Error == "" {
			acc.Error = fmt.Sprintf("%d tokens: a logit differs by %.2g of the logits' spread of %.3g alone, %.2g in a batch, at most %.2g expected",
				p.Tokens, p.DiffAlone, acc.Spread, p.DiffBatch, acc.DiffLimit)
		}
	}
	if acc.Error == "" && acc.BatchLimit > 0 && !(acc.BatchDiff <= acc.BatchLimit) {
		acc.Error = fmt.Sprintf("a pair's logit depends on its batch: it differs by %.2g of the logits' spread between the pair alone and in a batch, at most %.2g expected", acc.BatchDiff, acc.BatchLimit)
	}
}

// leastSpread is the least spread of logits as a share of the largest: rounding grows
// with the values, and pairs of random ids may all be as irrelevant.
const leastSpread = 0.01

// spread is the distance of the largest from the smallest logit that is expected: what
// the order of documents hangs on.
func (g *gating) spread() float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for i := range g.refs {
		v := float64(g.want(i)[0])
		low, high = min(low, v), max(high, v)
	}
	s := max(high-low, leastSpread*max(math.Abs(low), math.Abs(high)))
	if !(s > 0) || math.IsInf(s, 0) { // all zero, or no number: no share of anything
		return 1
	}
	return s
}

// encodeRows encodes rows in batches that the encoder can take.
func encodeRows(ctx context.Context, enc engine.Encoder, rows []Reference) ([][]float32, error) {
	const most = 8 // every layout takes a batch of 8, or of one row
	step := most
	var out [][]float32
	for len(out) < len(rows) {
		part := rows[len(out):min(len(out)+step, len(rows))]
		b := batchOf(part)
		b.Base = int64(len(out))
		if err := enc.Submit(0, b); err != nil {
			if errors.Is(err, engine.ErrBatchTooLarge) && step > 1 {
				step = 1
				continue
			}
			return nil, err
		}
		got, _, err := enc.Collect(ctx, 0)
		if err != nil {
			return nil, err
		}
		for r := range got.N {
			out = append(out, append([]float32{}, got.Float32(r)...))
		}
	}
	return out, nil
}

// batchOf puts rows into a batch, with token types where any row has them.
func batchOf(rows []Reference) *engine.Batch {
	var b engine.Batch
	b.Reset()
	typed := false
	for _, r := range rows {
		b.IDs = append(b.IDs, r.IDs...)
		b.Off = append(b.Off, int32(len(b.IDs)))
		typed = typed || r.Types != nil
	}
	if typed {
		for _, r := range rows {
			types := r.Types
			if types == nil {
				types = make([]uint8, len(r.IDs))
			}
			b.Types = append(b.Types, types...)
		}
	}
	return &b
}

// cosine is computed in float64; it is 0 when a vector is zero or not finite.
func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		ab += x * y
		aa += x * x
		bb += y * y
	}
	c := ab / math.Sqrt(aa*bb)
	if math.IsNaN(c) || math.IsInf(c, 0) {
		return 0
	}
	return c
}

// difference is the largest difference of two values in the same place, over unit.
func difference(a, b []float32, unit float64) float64 {
	var most float64
	for i := range a {
		d := math.Abs(float64(a[i])-float64(b[i])) / unit
		if math.IsNaN(d) || math.IsInf(d, 0) {
			return math.MaxFloat64 // a record cannot hold infinity
		}
		most = max(most, d)
	}
	return most
}

// length is the L2 norm, 1 where there is none to divide by.
func length(v []float32) float64 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if n := math.Sqrt(sum); n > 0 && !math.IsInf(n, 0) {
		return n
	}
	return 1
}
