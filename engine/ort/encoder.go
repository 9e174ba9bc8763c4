//go:build cgo

package ort

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"encbench/engine"
)

// Options configures an encoder.
type Options struct {
	Layout Layout           // from Plan
	Slots  int              // batches in flight; 0 = 2
	Alloc  engine.Allocator // memory of the runs' inputs and outputs; nil = C heap
}

// Encoder runs a graph. Submit, Collect and Close belong to one goroutine; the
// workers are the encoder's own and end at Close.
type Encoder struct {
	graph Graph
	opt   Options
	// One session serves any number of one-thread runs. Runs with threads of their
	// own need a session each, because a session has one thread pool.
	sessions []*session
	alloc    engine.Allocator
	slots    slots
	vectors  [][]float32 // of each slot
	workers  sync.WaitGroup
	sorter   sorter

	create time.Duration
}

// Open creates the sessions for the graph and starts the workers. The weights stay
// mapped or copied by ONNX Runtime; g.Bytes may be dropped afterwards.
func Open(rt *Runtime, g Graph, opt Options) (*Encoder, error) {
	if rt == nil {
		return nil, errors.New("ort: no runtime loaded")
	}
	if err := g.Validate(); err != nil {
		return nil, fmt.Errorf("ort: graph: %w", err)
	}
	if g.Elem != engine.F32 {
		return nil, fmt.Errorf("ort: a graph that gives %v: the processor's encoder takes float32", g.Elem)
	}
	l := opt.Layout
	if l.Workers < 1 || l.Intra < 1 || l.Batch < 1 || l.UBatch < 0 {
		return nil, fmt.Errorf("ort: layout of %d workers, %d threads a run, batch %d, micro-batch %d", l.Workers, l.Intra, l.Batch, l.UBatch)
	}
	if l.UBatch > 1 && !g.Masked() {
		return nil, fmt.Errorf("ort: groups of %d rows need padding, and the graph has no mask input", l.UBatch)
	}
	if opt.Slots == 0 {
		opt.Slots = 2
	}
	e := &Encoder{graph: g, opt: opt, alloc: opt.Alloc}
	if e.alloc == nil {
		e.alloc = Heap{}
	}
	start := time.Now()
	for len(e.sessions) == 0 || l.Intra > 1 && len(e.sessions) < l.Workers {
		s, err := newSession(&g, l.Intra)
		if err != nil {
			return nil, errors.Join(err, e.closeSessions())
		}
		e.sessions = append(e.sessions, s)
	}
	e.create = time.Since(start)
	e.graph.Bytes = nil
	e.slots, e.vectors = newSlots(opt.Slots, l.Batch), make([][]float32, opt.Slots)
	for i := range l.Workers {
		w := &worker{enc: e, session: e.sessions[i%len(e.sessions)], runs: map[shape]*run{}}
		e.workers.Add(1)
		go func() {
			defer e.workers.Done()
			defer w.free()
			for j := range e.slots.jobs {
				w.do(j)
			}
		}()
	}
	return e, nil
}

// Dim gives the number of values in a vector.
func (e *Encoder) Dim() int { return e.graph.Dim }

// Slots gives the number of batches that may be in flight.
func (e *Encoder) Slots() int { return len(e.slots.all) }

// CreateTime is how long the sessions took to load, optimise and pre-pack.
func (e *Encoder) CreateTime() time.Duration { return e.create }

// Submit queues b's groups for the workers.
func (e *Encoder) Submit(i int, b *engine.Batch) error {
	s, err := e.slots.idle(i)
	if err != nil {
		return err
	}
	if err := e.graph.check(b, e.opt.Layout.Batch); err != nil {
		return err
	}
	need := b.Rows() * e.graph.Dim
	if cap(e.vectors[i]) < need {
		e.vectors[i] = make([]float32, need)
	}
	e.slots.submit(s, b, engine.HostRows(e.vectors[i][:need], e.graph.Dim), &e.sorter, e.opt.Layout.UBatch)
	return nil
}

// Collect waits for the slot's rows. When ctx ends first, groups that have not
// started are dropped and the running ones are waited for.
func (e *Encoder) Collect(ctx context.Context, i int) (engine.Rows, engine.Work, error) {
	s, _, err := e.slots.collect(ctx, i)
	if err != nil {
		return engine.Rows{}, engine.Work{}, err
	}
	return s.out, s.work, nil
}

// Close ends the workers and frees the session.
func (e *Encoder) Close() error {
	if e.slots.closed {
		return nil
	}
	if err := e.slots.close(); err != nil {
		return err
	}
	e.workers.Wait()
	return e.closeSessions()
}

func (e *Encoder) closeSessions() error {
	var errs []error
	for _, s := range e.sessions {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

var _ engine.Encoder = (*Encoder)(nil)
