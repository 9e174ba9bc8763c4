package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Flow is what a Pipeline moves: batches in, rows out.
type Flow struct {
	// Next gives the next batch, io.EOF after the last. The batch stays the
	// pipeline's until Done gets it.
	Next func(ctx context.Context) (*Batch, error)
	// Done takes a finished batch with its rows (valid during the call) and the
	// work that the backend issued for it. Batches come back in the order of Next.
	Done func(b *Batch, rows Rows, w Work) error
}

// PipelineTimes is where the pipeline's own goroutine spent its time.
type PipelineTimes struct {
	Next    time.Duration // waiting for input
	Submit  time.Duration // sorting and splitting, up to the hand-over
	Collect time.Duration // waiting for the encoder
	Done    time.Duration // taking the rows
}

// Pipeline runs a flow through an encoder, keeping all of its slots busy: each
// slot is collected just before it is reused, and all are drained at the end. It
// stops at the first error or when ctx ends; slots in flight are then collected
// and thrown away, so the encoder is idle when Pipeline returns. It starts no
// goroutine.
func Pipeline(ctx context.Context, enc Encoder, flow Flow) (PipelineTimes, error) {
	var t PipelineTimes
	slots := make([]*Batch, enc.Slots())
	mark := time.Now()
	lap := func(d *time.Duration) {
		now := time.Now()
		*d += now.Sub(mark)
		mark = now
	}
	collect := func(slot int) error {
		b := slots[slot]
		slots[slot] = nil
		rows, w, err := enc.Collect(ctx, slot)
		lap(&t.Collect)
		if err != nil {
			return err
		}
		if rows.N != b.Rows() {
			return fmt.Errorf("encoder gave %d rows for a batch of %d", rows.N, b.Rows())
		}
		err = flow.Done(b, rows, w)
		lap(&t.Done)
		return err
	}
	run := func() error {
		slot := 0
		for ; ; slot = (slot + 1) % len(slots) {
			b, err := flow.Next(ctx)
			lap(&t.Next)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			if slots[slot] != nil {
				if err := collect(slot); err != nil {
					return err
				}
			}
			if err := enc.Submit(slot, b); err != nil {
				return err
			}
			slots[slot] = b
			lap(&t.Submit)
		}
		for range slots {
			if slots[slot] != nil {
				if err := collect(slot); err != nil {
					return err
				}
			}
			slot = (slot + 1) % len(slots)
		}
		return nil
	}
	err := run()
	if err != nil {
		// A slot in flight reads its batch: nothing may be freed or reused before
		// the encoder has let go of it.
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		for slot, b := range slots {
			if b != nil {
				enc.Collect(ended, slot)
			}
		}
	}
	return t, err
}
