// Package enginetest holds a deterministic fake encoder and the conformance
// suite that every encoder must pass.
package enginetest

import (
	"context"
	"errors"
	"fmt"
	"math"

	"encbench/engine"
)

// Fake is a deterministic encoder without a model: row r's vector is a hash of
// its ids, normalised. It has the contract of a real one (slots, errors on
// misuse) and does its work on the caller's goroutine.
type Fake struct {
	FailAt int64 // Submit fails on the batch whose Base is FailAt; 0 = never
	dim    int
	slots  []fakeSlot
	closed bool
}

type fakeSlot struct {
	busy bool
	n    int
	out  []float32
	work engine.Work
}

// NewFake makes a fake encoder of dim values a row with the given number of slots.
func NewFake(dim, slots int) *Fake {
	return &Fake{dim: dim, slots: make([]fakeSlot, slots)}
}

// Dim gives the number of values in a vector.
func (f *Fake) Dim() int { return f.dim }

// Slots gives the number of batches that may be in flight.
func (f *Fake) Slots() int { return len(f.slots) }

// Submit encodes b into the slot.
func (f *Fake) Submit(slot int, b *engine.Batch) error {
	if f.closed {
		return errors.New("fake encoder: submit after close")
	}
	if slot < 0 || slot >= len(f.slots) {
		return fmt.Errorf("fake encoder: slot %d of %d", slot, len(f.slots))
	}
	if f.FailAt != 0 && b.Base == f.FailAt {
		return fmt.Errorf("fake encoder: told to fail at row %d", b.Base)
	}
	s := &f.slots[slot]
	if s.busy {
		return fmt.Errorf("fake encoder: slot %d submitted twice without a collect", slot)
	}
	s.busy, s.n, s.work = true, b.Rows(), engine.Work{Groups: 1}
	if need := s.n * f.dim; cap(s.out) < need {
		s.out = make([]float32, need)
	}
	s.out = s.out[:s.n*f.dim]
	for r := range s.n {
		ids := b.Row(r)
		n := int64(len(ids))
		s.work.Real += n
		s.work.RealSq += n * n
		s.work.Padded += n
		s.work.PaddedSq += n * n
		s.work.BucketNS[engine.Bucket(len(ids))] += n
		v := s.out[r*f.dim : (r+1)*f.dim]
		hash(v, ids)
	}
	return nil
}

// hash fills v with a unit vector that depends on every id and its position.
func hash(v []float32, ids []int32) {
	h := uint64(14695981039346656037)
	for _, id := range ids {
		h = (h ^ uint64(uint32(id))) * 1099511628211
	}
	var sum float64
	for i := range v {
		h ^= h << 13
		h ^= h >> 7
		h ^= h << 17
		x := float64(int64(h)) / math.MaxInt64
		v[i] = float32(x)
		sum += x * x
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(sum))
	}
}

// Collect gives the rows of the slot's batch.
func (f *Fake) Collect(ctx context.Context, slot int) (engine.Rows, engine.Work, error) {
	if slot < 0 || slot >= len(f.slots) {
		return engine.Rows{}, engine.Work{}, fmt.Errorf("fake encoder: slot %d of %d", slot, len(f.slots))
	}
	s := &f.slots[slot]
	if !s.busy {
		return engine.Rows{}, engine.Work{}, fmt.Errorf("fake encoder: collect of idle slot %d", slot)
	}
	s.busy = false
	if err := ctx.Err(); err != nil {
		return engine.Rows{}, engine.Work{}, err
	}
	return engine.HostRows(s.out, f.dim), s.work, nil
}

// Close ends the encoder; it fails when a slot is still in flight.
func (f *Fake) Close() error {
	for i := range f.slots {
		if f.slots[i].busy {
			return fmt.Errorf("fake encoder: close with slot %d in flight", i)
		}
	}
	f.closed = true
	return nil
}

var _ engine.Encoder = (*Fake)(nil)
