//go:build cuda && linux && cgo && (amd64 || arm64)

package ort

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"encbench/cuda"
	"encbench/engine"
)

// CUDAEncoder runs a graph on a device. Submit, Collect and Close belong to one
// goroutine. Each session has a thread and a stream of its own and takes groups from all
// slots in flight; ids reach the device on one copy stream beside them.
type CUDAEncoder struct {
	graph     Graph
	opt       CUDAOptions
	lib       library
	workers   []*cuda.Worker // of the lanes
	copies    *cuda.Stream
	lanes     []*lane
	slots     []deviceSlot
	jobs      chan deviceJob
	running   sync.WaitGroup
	sorter    sorter
	capture   sync.RWMutex // held alone while a shape runs for the first time with Graphs
	clock     clock
	placement Placement
	warnings  []string
	closed    bool
	create    time.Duration
}

// deviceSlot is one batch in flight.
type deviceSlot struct {
	batch   *engine.Batch
	order   []int32
	groups  []group
	own     *cuda.Buffer // its rows, without Host
	host    *hostBlock   // with Host
	out     engine.Rows
	pending atomic.Int32
	cancel  atomic.Bool
	done    chan struct{}

	mu   sync.Mutex
	work engine.Work
	err  error
}

type deviceJob struct {
	slot *deviceSlot
	g    group
}

// OpenCUDA creates the sessions for the graph on a device. It refuses a graph of which
// anything but shapes would run on the processor. g.Bytes may be dropped afterwards.
func OpenCUDA(rt *Runtime, g Graph, opt CUDAOptions) (*CUDAEncoder, error) {
	if rt == nil {
		return nil, errors.New("ort: no runtime loaded")
	}
	opt = opt.withDefaults()
	if err := errors.Join(g.Validate(), opt.validate(&g)); err != nil {
		return nil, fmt.Errorf("ort: encode on device %d: %w", opt.Device, err)
	}
	e := &CUDAEncoder{graph: g, opt: opt, sorter: sorter{tokens: opt.GroupTokens, step: opt.step(&g), most: g.MaxLen}}
	start := time.Now()
	if err := e.open(rt); err != nil {
		return nil, errors.Join(fmt.Errorf("ort: %w", err), e.free())
	}
	e.create = time.Since(start)
	e.graph.Bytes = nil
	// A batch has at most Batch groups, so Submit never blocks.
	e.jobs = make(chan deviceJob, opt.Slots*opt.Batch)
	for _, l := range e.lanes {
		e.running.Go(l.serve)
	}
	return e, nil
}

// open makes everything on the device.
func (e *CUDAEncoder) open(rt *Runtime) error {
	for range e.opt.Sessions {
		w, err := cuda.Open(e.opt.Device)
		if err != nil {
			return err
		}
		e.workers = append(e.workers, w)
	}
	e.slots = make([]deviceSlot, e.opt.Slots)
	for i := range e.slots {
		e.slots[i].done = make(chan struct{}, 1)
	}
	err := e.workers[0].Do(func(c *cuda.Context) (err error) {
		if e.copies, err = c.NewStream(); err != nil {
			return err
		}
		if err = e.clock.open(c, e.copies); err != nil {
			return err
		}
		bytes := e.opt.Batch * e.graph.Dim * e.graph.Elem.Size()
		for i := range e.slots {
			s := &e.slots[i]
			if e.opt.Host {
				var warning string
				s.host, warning, err = hostMemory(c, bytes, e.opt.Pageable)
				e.warn(warning)
			} else {
				s.own, err = c.Alloc(int64(bytes))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if e.lib, err = openLibrary(rt); err != nil {
		return fmt.Errorf("ONNX Runtime %s: %w", rt.Path, err)
	}
	for _, w := range e.workers {
		l := &lane{e: e, w: w, runs: map[stationShape]*deviceRun{}}
		e.lanes = append(e.lanes, l)
		if err := w.Do(l.open); err != nil {
			return err
		}
		p := l.placement
		if err := p.refuse(rt.Version); err != nil {
			return err
		}
		e.placement = p
	}
	return nil
}

// free gives everything back; nothing may run.
func (e *CUDAEncoder) free() error {
	var errs []error
	for i, l := range e.lanes {
		errs = append(errs, e.workers[i].Do(l.free))
	}
	e.lib.close()
	if len(e.workers) > 0 {
		errs = append(errs, e.workers[0].Do(func(c *cuda.Context) error {
			var errs []error
			for i := range e.slots {
				if s := &e.slots[i]; s.host != nil || s.own != nil {
					errs = append(errs, freeBuffers(c, s.own), s.host.free(c))
				}
			}
			if e.copies != nil {
				errs = append(errs, c.Free(e.copies))
			}
			errs = append(errs, e.clock.free(c))
			return errors.Join(errs...)
		}))
	}
	for _, w := range e.workers {
		errs = append(errs, w.Close())
	}
	return errors.Join(errs...)
}

// Dim gives the number of values in a vector.
func (e *CUDAEncoder) Dim() int { return e.graph.Dim }

// Slots gives the number of batches that may be in flight.
func (e *CUDAEncoder) Slots() int { return len(e.slots) }

// CreateTime is how long the device and the sessions took to open.
func (e *CUDAEncoder) CreateTime() time.Duration { return e.create }

// Placement says where the graph's nodes run, as ONNX Runtime reported it.
func (e *CUDAEncoder) Placement() Placement { return e.placement }

// Warnings are what makes the encoder slower than it could be, with what to do.
func (e *CUDAEncoder) Warnings() []string { return e.warnings }

// warn notes a warning once.
func (e *CUDAEncoder) warn(text string) {
	if text != "" && len(e.warnings) == 0 {
		e.warnings = append(e.warnings, text)
	}
}

// Submit queues b's groups for the sessions.
func (e *CUDAEncoder) Submit(i int, b *engine.Batch) error {
	if e.closed {
		return errors.New("ort: submit after close")
	}
	if i < 0 || i >= len(e.slots) {
		return fmt.Errorf("ort: slot %d of %d", i, len(e.slots))
	}
	s := &e.slots[i]
	if s.batch != nil {
		return fmt.Errorf("ort: slot %d submitted twice without a collect", i)
	}
	if err := e.graph.check(b, e.opt.Batch); err != nil {
		return err
	}
	rows := b.Rows()
	out := engine.Rows{N: rows, Dim: e.graph.Dim, Stride: e.graph.Dim, Type: e.graph.Elem, Device: e.opt.Device}
	if e.opt.Host {
		out.Device, out.Host = -1, s.host.data[:rows*e.graph.Dim*e.graph.Elem.Size()]
	} else {
		out.Dev = s.own.Ptr
	}
	s.batch, s.out, s.err, s.work = b, out, nil, engine.Work{}
	s.cancel.Store(false)
	s.order, s.groups = e.sorter.split(b.Off, e.opt.UBatch, s.order, s.groups)
	s.pending.Store(int32(len(s.groups)))
	for _, g := range s.groups {
		e.jobs <- deviceJob{s, g}
	}
	return nil
}

// Collect waits for the slot's rows, which are complete then: no later work of the device
// has to wait for them. When ctx ends first, groups that have not started are dropped
// and those on the device are waited for. Rows of the device are not looked at; the
// searcher refuses what is no number. Rows of the host are.
func (e *CUDAEncoder) Collect(ctx context.Context, i int) (engine.Rows, engine.Work, error) {
	if i < 0 || i >= len(e.slots) {
		return engine.Rows{}, engine.Work{}, fmt.Errorf("ort: slot %d of %d", i, len(e.slots))
	}
	s := &e.slots[i]
	if s.batch == nil {
		return engine.Rows{}, engine.Work{}, fmt.Errorf("ort: collect of idle slot %d", i)
	}
	var ended error
	select {
	case <-s.done:
	case <-ctx.Done():
		s.cancel.Store(true)
		<-s.done
		ended = ctx.Err()
	}
	base := s.batch.Base
	s.batch = nil
	if err := errors.Join(ended, s.err); err != nil {
		return engine.Rows{}, engine.Work{}, err
	}
	if e.opt.Host {
		buf := make([]float32, s.out.Dim)
		for r := range s.out.N {
			if !finite(s.out.Widen(buf, r)) {
				return engine.Rows{}, engine.Work{}, fmt.Errorf("row %d: %w", base+int64(r), ErrNotFinite)
			}
		}
	}
	return s.out, s.work, nil
}

// Close ends the lanes and frees everything on the device.
func (e *CUDAEncoder) Close() error {
	if e.closed {
		return nil
	}
	for i := range e.slots {
		if e.slots[i].batch != nil {
			return fmt.Errorf("ort: close with slot %d in flight", i)
		}
	}
	e.closed = true
	close(e.jobs)
	e.running.Wait()
	return e.free()
}

var _ engine.Encoder = (*CUDAEncoder)(nil)
