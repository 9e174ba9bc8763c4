package engine

import (
	"context"
	"fmt"
	"time"
)

// Null is an encoder without a model: a row's vector is its length and its first
// id, and zeros. It takes no time worth the name, which makes it the probe for
// the ceiling of everything around an encoder. Rows are collected for real.
type Null struct {
	dim   int
	slots []nullSlot
}

type nullSlot struct {
	batch *Batch
	out   []float32
}

// NewNull makes a null encoder of dim values a row and the given number of slots.
// A row has room for its length, and from two values on for its first id.
func NewNull(dim, slots int) *Null { return &Null{dim: dim, slots: make([]nullSlot, slots)} }

// Dim gives the number of values in a vector.
func (n *Null) Dim() int { return n.dim }

// Slots gives the number of batches that may be in flight.
func (n *Null) Slots() int { return len(n.slots) }

// Submit takes b into the slot.
func (n *Null) Submit(slot int, b *Batch) error {
	s, err := n.slot(slot)
	if err != nil {
		return err
	}
	if s.batch != nil {
		return fmt.Errorf("null encoder: slot %d submitted twice without a collect", slot)
	}
	s.batch = b
	return nil
}

// Collect writes the vectors of the slot's batch.
func (n *Null) Collect(ctx context.Context, slot int) (Rows, Work, error) {
	s, err := n.slot(slot)
	if err != nil {
		return Rows{}, Work{}, err
	}
	b := s.batch
	if b == nil {
		return Rows{}, Work{}, fmt.Errorf("null encoder: collect of idle slot %d", slot)
	}
	s.batch = nil
	if err := ctx.Err(); err != nil {
		return Rows{}, Work{}, err
	}
	start := time.Now()
	if need := b.Rows() * n.dim; cap(s.out) < need {
		s.out = make([]float32, need)
	}
	s.out = s.out[:b.Rows()*n.dim]
	w := Work{Groups: 1}
	for r := range b.Rows() {
		ids := b.Row(r)
		size := int64(len(ids))
		w.Real += size
		w.RealSq += size * size
		v := s.out[r*n.dim : (r+1)*n.dim]
		v[0] = float32(size)
		if size > 0 && n.dim > 1 {
			v[1] = float32(ids[0])
		}
	}
	each := max(1, int64(time.Since(start))/int64(max(1, b.Rows())))
	for r := range b.Rows() {
		w.BucketNS[Bucket(b.Len(r))] += each
	}
	w.Padded, w.PaddedSq = w.Real, w.RealSq
	return HostRows(s.out, n.dim), w, nil
}

// Close fails when a batch is in flight.
func (n *Null) Close() error {
	for i := range n.slots {
		if n.slots[i].batch != nil {
			return fmt.Errorf("null encoder: close with slot %d in flight", i)
		}
	}
	return nil
}

func (n *Null) slot(i int) (*nullSlot, error) {
	if i < 0 || i >= len(n.slots) {
		return nil, fmt.Errorf("null encoder: slot %d of %d", i, len(n.slots))
	}
	return &n.slots[i], nil
}

var _ Encoder = (*Null)(nil)
