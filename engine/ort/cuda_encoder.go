//go:build cuda && linux && cgo && (amd64 || arm64)

package ort

import (
	"context"
	"errors"
	"fmt"
	"sync"
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
	slots     slots
	homes     []home // of the slots
	running   sync.WaitGroup
	sorter    sorter
	capture   sync.RWMutex // held alone while a shape runs for the first time with Graphs
	clock     clock
	placement Placement
	warnings  []string
	create    time.Duration
}

// home is where the rows of a slot go.
type home struct {
	device *cuda.Buffer
	host   *hostBlock // with Host
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
	e.slots = newSlots(opt.Slots, opt.Batch)
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
	e.homes = make([]home, e.opt.Slots)
	err := e.workers[0].Do(func(c *cuda.Context) (err error) {
		if e.copies, err = c.NewStream(); err != nil {
			return err
		}
		if err = e.clock.open(c, e.copies); err != nil {
			return err
		}
		bytes := e.opt.Batch * e.graph.Dim * e.graph.Elem.Size()
		for i := range e.homes {
			h := &e.homes[i]
			if e.opt.Host {
				var warning string
				h.host, warning, err = hostMemory(c, bytes, e.opt.Pageable)
				e.warn(warning)
			} else {
				h.device, err = c.Alloc(int64(bytes))
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
			for _, h := range e.homes {
				errs = append(errs, freeBuffers(c, h.device), h.host.free(c))
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
func (e *CUDAEncoder) Slots() int { return len(e.homes) }

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
	s, err := e.slots.idle(i)
	if err != nil {
		return err
	}
	if err := e.graph.check(b, e.opt.Batch); err != nil {
		return err
	}
	rows := b.Rows()
	out := engine.Rows{N: rows, Dim: e.graph.Dim, Stride: e.graph.Dim, Type: e.graph.Elem, Device: e.opt.Device}
	if e.opt.Host {
		out.Device, out.Host = -1, e.homes[i].host.data[:rows*e.graph.Dim*e.graph.Elem.Size()]
	} else {
		out.Dev = e.homes[i].device.Ptr
	}
	e.slots.submit(s, b, out, &e.sorter, e.opt.UBatch)
	return nil
}

// Collect waits for the slot's rows, which are complete then: no later work of the device
// has to wait for them. When ctx ends first, groups that have not started are dropped
// and those on the device are waited for. Rows of the device are not looked at; the
// searcher refuses what is no number. Rows of the host are.
func (e *CUDAEncoder) Collect(ctx context.Context, i int) (engine.Rows, engine.Work, error) {
	s, b, err := e.slots.collect(ctx, i)
	if err != nil {
		return engine.Rows{}, engine.Work{}, err
	}
	if e.opt.Host {
		buf := make([]float32, s.out.Dim)
		for r := range s.out.N {
			if !finite(s.out.Widen(buf, r)) {
				return engine.Rows{}, engine.Work{}, fmt.Errorf("row %d: %w", b.Base+int64(r), ErrNotFinite)
			}
		}
	}
	return s.out, s.work, nil
}

// Close ends the lanes and frees everything on the device.
func (e *CUDAEncoder) Close() error {
	if e.slots.closed {
		return nil
	}
	if err := e.slots.close(); err != nil {
		return err
	}
	e.running.Wait()
	return e.free()
}

var _ engine.Encoder = (*CUDAEncoder)(nil)
