// Package parallel makes one encoder of several: a replica of the model on each device.
// A batch goes to the replica that is free first, so a slow device takes fewer batches
// and holds nobody up; rows come back in the order of submission, as from any encoder. A
// replica that fails takes no more batches while others are left: one that fails at once
// would take them all.
//
// Left out: rows that stay on a device. They are copied to the host, some hundred kB a
// batch.
package parallel

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"encbench/engine"
)

// Replica is one encoder with the name of where it runs, as "cuda:1".
type Replica struct {
	Name    string
	Encoder engine.Encoder
}

// Encoder spreads batches over replicas. Submit and Collect belong to one goroutine; a
// goroutine for each replica ends at Close.
type Encoder struct {
	replicas []Replica
	slots    []*slot
	queue    chan *slot
	group    sync.WaitGroup
	closed   bool
	sound    atomic.Int32 // replicas that have not failed
}

// slot is a batch in flight. It is the replica's from the queue until done.
type slot struct {
	batch  *engine.Batch
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
	rows   engine.Rows
	work   engine.Work
	err    error
	host   []byte // of rows
}

// waiting is how many batches may be in flight or wait for each slot of a replica: those
// of a device four times as slow as its neighbour keep nobody waiting.
const waiting = 2

// Open starts the replicas, which are Encoder's to close from then on, also after an
// error.
func Open(replicas []Replica) (*Encoder, error) {
	e := &Encoder{}
	var errs []error
	if len(replicas) == 0 {
		errs = append(errs, errors.New("no replica"))
	}
	slots := 0
	for _, r := range replicas {
		slots += waiting * r.Encoder.Slots()
		if d := r.Encoder.Dim(); d != replicas[0].Encoder.Dim() {
			errs = append(errs, fmt.Errorf("%s gives %d values a row, %s gives %d", replicas[0].Name, replicas[0].Encoder.Dim(), r.Name, d))
		}
	}
	if len(errs) > 0 {
		for _, r := range replicas {
			errs = append(errs, r.Encoder.Close())
		}
		return nil, fmt.Errorf("encode in parallel: %w", errors.Join(errs...))
	}
	e.sound.Store(int32(len(replicas)))
	e.queue = make(chan *slot, slots)
	for range slots {
		e.slots = append(e.slots, &slot{done: make(chan struct{}, 1)})
	}
	for _, r := range replicas {
		e.replicas = append(e.replicas, r)
		e.group.Go(func() { e.serve(r) })
	}
	return e, nil
}

// Dim gives the number of values in a vector.
func (e *Encoder) Dim() int { return e.replicas[0].Encoder.Dim() }

// Slots gives the number of batches that may be in flight, waiting ones included.
func (e *Encoder) Slots() int { return len(e.slots) }

// Submit queues b for the replica that is free first.
func (e *Encoder) Submit(i int, b *engine.Batch) error {
	s, err := e.slot(i)
	switch {
	case err != nil:
		return err
	case e.closed:
		return errors.New("encode in parallel: submit after close")
	case s.batch != nil:
		return fmt.Errorf("encode in parallel: slot %d submitted twice without a collect", i)
	case b.Rows() == 0:
		return errors.New("encode in parallel: batch without rows")
	}
	s.batch, s.err = b, nil
	s.ctx, s.cancel = context.WithCancel(context.Background())
	e.queue <- s // has room for every slot
	return nil
}

// Collect waits for the slot's rows. When ctx ends first, the batch is dropped where it
// has not begun, and else the replica is told and waited for.
func (e *Encoder) Collect(ctx context.Context, i int) (engine.Rows, engine.Work, error) {
	s, err := e.slot(i)
	if err != nil {
		return engine.Rows{}, engine.Work{}, err
	}
	if s.batch == nil {
		return engine.Rows{}, engine.Work{}, fmt.Errorf("encode in parallel: collect of idle slot %d", i)
	}
	var ended error
	select {
	case <-s.done:
	case <-ctx.Done():
		ended = ctx.Err()
		s.cancel()
		<-s.done
	}
	s.cancel()
	s.batch = nil
	if ended != nil {
		return engine.Rows{}, engine.Work{}, ended
	}
	if s.err != nil {
		return engine.Rows{}, engine.Work{}, s.err
	}
	return s.rows, s.work, nil
}

func (e *Encoder) slot(i int) (*slot, error) {
	if i < 0 || i >= len(e.slots) {
		return nil, fmt.Errorf("encode in parallel: slot %d of %d", i, len(e.slots))
	}
	return e.slots[i], nil
}

// Close ends the replicas; nothing may be in flight.
func (e *Encoder) Close() error {
	if e.closed {
		return nil
	}
	for i, s := range e.slots {
		if s.batch != nil {
			return fmt.Errorf("encode in parallel: close with slot %d in flight", i)
		}
	}
	e.closed = true
	close(e.queue)
	e.group.Wait()
	var errs []error
	for _, r := range e.replicas {
		if err := r.Encoder.Close(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.Name, err))
		}
	}
	return errors.Join(errs...)
}

// serve keeps the slots of a replica full as long as batches wait.
func (e *Encoder) serve(r Replica) {
	var flight []*slot // the oldest first; flight[0] is in the replica's slot oldest
	oldest, room := 0, r.Encoder.Slots()
	failed, leaves := false, false
	done := func(s *slot) {
		if s.err != nil && s.ctx.Err() == nil && !failed {
			failed = true
			leaves = e.sound.Add(-1) > 0
		}
		s.done <- struct{}{}
	}
	for {
		var s *slot
		switch {
		case leaves && len(flight) == 0:
			return
		case leaves:
		case len(flight) == 0:
			var open bool
			if s, open = <-e.queue; !open {
				return
			}
		case len(flight) < room:
			select {
			case s = <-e.queue: // nil when it is closed: what is in flight comes first
			default:
			}
		}
		if s == nil {
			first := flight[0]
			r.collect(oldest, first)
			flight, oldest = flight[:copy(flight, flight[1:])], (oldest+1)%room
			done(first)
			continue
		}
		if s.err = s.ctx.Err(); s.err == nil {
			s.err = r.Encoder.Submit((oldest+len(flight))%room, s.batch)
		}
		if s.err != nil {
			s.err = fmt.Errorf("%s: %w", r.Name, s.err)
			done(s)
			continue
		}
		flight = append(flight, s)
	}
}

// collect takes a batch's rows from a replica's slot.
func (r Replica) collect(at int, s *slot) {
	rows, work, err := r.Encoder.Collect(s.ctx, at)
	switch {
	case err != nil:
		s.err = fmt.Errorf("%s: %w", r.Name, err)
	case rows.Host == nil && rows.N > 0:
		s.err = fmt.Errorf("%s: its rows stay on the device, expected rows on the host", r.Name)
	default:
		s.rows, s.work = rows, work
		s.host = append(s.host[:0], rows.Host...)
		s.rows.Host = s.host
	}
}

var _ engine.Encoder = (*Encoder)(nil)
