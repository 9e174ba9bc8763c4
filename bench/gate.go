package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"encbench/engine"
)

// Reference is a gated row and its reference vector.
type Reference struct {
	IDs    []int32
	Vector []float32
}

// Gate limits. The reference encoder accumulates in float64, so what separates a
// float32 engine from it is its own rounding: about 1e-7 a value on unit vectors.
// One weight off by a few percent of its layer's spread moves values by 1e-5.
const (
	GateCosine = 0.999999
	GateDiff   = 2e-6 // of one value of a unit vector
)

// probeLengths are the gated shapes, in tokens with special tokens: a row of
// next to nothing, a short one, one past a power of two, and a full chunk.
var probeLengths = [...]int{3, 64, 129, 512}

// ProbeIDs gives the gate's rows for a vocabulary: seeded random ids between the
// prefix and suffix tokens, of 3, 64, 129 and 512 tokens or the model's longest
// row where that is shorter.
func ProbeIDs(vocab int, prefix, suffix []int32, longest int) [][]int32 {
	rng := rand.New(rand.NewPCG(1, 512))
	reserved := map[int32]bool{}
	for _, id := range append(append([]int32{}, prefix...), suffix...) {
		reserved[id] = true
	}
	var out [][]int32
	for _, n := range probeLengths {
		if n > longest {
			n = longest
		}
		if len(out) > 0 && len(out[len(out)-1]) == n {
			break
		}
		row := append([]int32{}, prefix...)
		for len(row) < n-len(suffix) {
			if id := rng.Int32N(int32(vocab)); !reserved[id] {
				row = append(row, id)
			}
		}
		out = append(out, append(row, suffix...))
	}
	return out
}

// Gate runs the references through the encoder, each alone and all in one batch,
// and compares cosines and single values with the reference vectors. A row
// without a Vector is compared with its own result alone (consistency-only). The
// error is a failure to run; a failed comparison is Passed false with Error. first
// is the time of the first run, which pays for what later ones reuse.
func Gate(ctx context.Context, enc engine.Encoder, refs []Reference, from string) (acc Accuracy, first time.Duration, err error) {
	if len(refs) == 0 {
		return acc, 0, errors.New("accuracy gate: no rows to compare")
	}
	acc = Accuracy{Level: LevelReference, Threshold: GateCosine, DiffLimit: GateDiff, Min: 1, Reference: from}
	alone := make([][]float32, len(refs))
	for i, ref := range refs {
		mark := time.Now()
		vs, err := encodeRows(ctx, enc, [][]int32{ref.IDs})
		if i == 0 {
			first = time.Since(mark)
		}
		if err != nil {
			return acc, first, fmt.Errorf("accuracy gate: %w", err)
		}
		alone[i] = vs[0]
	}
	// Twice over and in both orders, so that every length has a longer neighbour.
	var batch [][]int32
	var of []int
	for i := range refs {
		batch, of = append(batch, refs[i].IDs), append(of, i)
	}
	for i := len(refs) - 1; i >= 0; i-- {
		batch, of = append(batch, refs[i].IDs), append(of, i)
	}
	together, err := encodeRows(ctx, enc, batch)
	if err != nil {
		return acc, first, fmt.Errorf("accuracy gate: %w", err)
	}
	var sum float64
	for i, ref := range refs {
		want := ref.Vector
		if want == nil {
			acc.Level, want = LevelConsistency, alone[i]
		}
		if len(want) != len(alone[i]) {
			return acc, first, fmt.Errorf("accuracy gate: reference has %d values, the encoder gives %d", len(want), len(alone[i]))
		}
		p := Probe{Tokens: len(ref.IDs), Alone: cosine(want, alone[i]), Batch: 1}
		acc.MaxDiff = max(acc.MaxDiff, difference(want, alone[i]))
		for j, k := range of {
			if k == i {
				p.Batch = min(p.Batch, cosine(want, together[j]))
				acc.MaxDiff = max(acc.MaxDiff, difference(want, together[j]))
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
	acc.Mean = sum / float64(len(refs))
	if acc.Error == "" && !(acc.MaxDiff <= acc.DiffLimit) {
		acc.Error = fmt.Sprintf("a value of a vector differs by %.2g from the reference, at most %g expected", acc.MaxDiff, acc.DiffLimit)
	}
	acc.Passed = acc.Error == ""
	return acc, first, nil
}

// encodeRows encodes rows in batches that the encoder can take.
func encodeRows(ctx context.Context, enc engine.Encoder, rows [][]int32) ([][]float32, error) {
	const most = 8 // every layout takes a batch of 8, or of one row
	step := most
	var out [][]float32
	for len(out) < len(rows) {
		part := rows[len(out):min(len(out)+step, len(rows))]
		var b engine.Batch
		b.Reset()
		b.Base = int64(len(out))
		for _, r := range part {
			b.IDs = append(b.IDs, r...)
			b.Off = append(b.Off, int32(len(b.IDs)))
		}
		if err := enc.Submit(0, &b); err != nil {
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

// difference is the largest difference of two values in the same place.
func difference(a, b []float32) float64 {
	var most float64
	for i := range a {
		d := math.Abs(float64(a[i]) - float64(b[i]))
		if math.IsNaN(d) || math.IsInf(d, 0) {
			return math.MaxFloat64 // a record cannot hold infinity
		}
		most = max(most, d)
	}
	return most
}
