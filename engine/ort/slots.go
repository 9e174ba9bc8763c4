//go:build cgo

package ort

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"encbench/engine"
)

// slot is one batch in flight.
type slot struct {
	batch   *engine.Batch
	order   []int32
	groups  []group
	out     engine.Rows
	pending atomic.Int32
	cancel  atomic.Bool
	done    chan struct{}

	mu   sync.Mutex
	work engine.Work
	err  error
}

// of gives the rows of a group by their numbers in the batch.
func (s *slot) of(g group) []int32 { return s.order[g.from : g.from+g.n] }

// count counts a group off, and says whether it was the batch's last: then something has
// to be sent to done. After an error the groups that have not begun are dropped.
func (s *slot) count(w engine.Work, err error) (last bool) {
	s.mu.Lock()
	s.work.Add(w)
	if err != nil && s.err == nil {
		s.err = err
		s.cancel.Store(true)
	}
	s.mu.Unlock()
	return s.pending.Add(-1) == 0
}

// charge shares the time of each row of a group among the lengths.
func (s *slot) charge(w *engine.Work, g group, each int64) {
	for _, row := range s.of(g) {
		w.BucketNS[engine.Bucket(s.batch.Len(int(row)))] += each
	}
}

// job is a group to be run.
type job struct {
	slot *slot
	g    group
}

// slots are the batches in flight of an encoder, and the queue of their groups. Its
// methods belong to the goroutine of Submit and Collect.
type slots struct {
	all    []slot
	jobs   chan job // closed by close
	closed bool
}

// newSlots makes n slots for batches of at most so many rows: a batch has no more groups
// than rows, so that submitting never blocks.
func newSlots(n, rows int) slots {
	s := slots{all: make([]slot, n), jobs: make(chan job, n*rows)}
	for i := range s.all {
		s.all[i].done = make(chan struct{}, 1)
	}
	return s
}

// idle gives slot i for a new batch.
func (s *slots) idle(i int) (*slot, error) {
	switch {
	case s.closed:
		return nil, errors.New("ort: submit after close")
	case i < 0 || i >= len(s.all):
		return nil, fmt.Errorf("ort: slot %d of %d", i, len(s.all))
	case s.all[i].batch != nil:
		return nil, fmt.Errorf("ort: slot %d submitted twice without a collect", i)
	}
	return &s.all[i], nil
}

// submit queues the groups of a batch whose rows go to out.
func (s *slots) submit(to *slot, b *engine.Batch, out engine.Rows, by *sorter, ubatch int) {
	to.batch, to.out, to.err, to.work = b, out, nil, engine.Work{}
	to.cancel.Store(false)
	to.order, to.groups = by.split(b.Off, ubatch, to.order, to.groups)
	to.pending.Store(int32(len(to.groups)))
	for _, g := range to.groups {
		s.jobs <- job{to, g}
	}
}

// collect waits for the batch of slot i and gives it back. When ctx ends first, groups that
// have not started are dropped and the running ones are waited for.
func (s *slots) collect(ctx context.Context, i int) (*slot, *engine.Batch, error) {
	if i < 0 || i >= len(s.all) {
		return nil, nil, fmt.Errorf("ort: slot %d of %d", i, len(s.all))
	}
	of := &s.all[i]
	b := of.batch
	if b == nil {
		return nil, nil, fmt.Errorf("ort: collect of idle slot %d", i)
	}
	var ended error
	select {
	case <-of.done:
	case <-ctx.Done():
		of.cancel.Store(true)
		<-of.done
		ended = ctx.Err()
	}
	of.batch = nil
	return of, b, errors.Join(ended, of.err)
}

// close ends the queue, and refuses while a batch is in flight.
func (s *slots) close() error {
	for i := range s.all {
		if s.all[i].batch != nil {
			return fmt.Errorf("ort: close with slot %d in flight", i)
		}
	}
	s.closed = true
	close(s.jobs)
	return nil
}

// work is what a run of rows of a batch, padded to a shape, issues.
func (g *Graph) work(b *engine.Batch, rows []int32, sh shape) engine.Work {
	long := int64(sh.len)
	w := engine.Work{Groups: 1, Padded: int64(sh.rows) * long, PaddedSq: int64(sh.rows) * long * long}
	for _, row := range rows {
		n := int64(b.Len(int(row)))
		w.Real += n
		w.RealSq += n * n
	}
	if g.FLOP != nil {
		w.FLOP = g.FLOP(sh.rows, sh.len)
	}
	return w
}
