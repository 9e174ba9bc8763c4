//go:build cuda && linux && cgo && (amd64 || arm64)

package cuda

import (
	"time"
	"unsafe"

	"gorgonia.org/cu"
)

// Stream is work of the device in order; streams run beside each other.
type Stream struct{ s cu.Stream }

// Handle is the driver's own, for libraries that take one. It is valid until the stream
// is freed.
func (s *Stream) Handle() uintptr { return uintptr(unsafe.Pointer(s.s.C())) }

// NewStream makes a stream that waits for no other.
func (c *Context) NewStream() (*Stream, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	raw, err := cu.MakeStream(cu.NonBlocking)
	if err != nil {
		return nil, c.check(err, "create a stream")
	}
	s := &Stream{raw}
	born(s, "stream", 0)
	return s, nil
}

func (s *Stream) free(c *Context) error {
	return wrap(s.s.Destroy(), c.w.info.Ordinal, "destroy a stream")
}

// Sync waits until all work of the stream is done. Faults of kernels and copies show
// here, whichever call caused them.
func (c *Context) Sync(s *Stream) error {
	if err := c.usable(); err != nil {
		return err
	}
	return c.check(s.s.Synchronize(), "wait for a stream")
}

// Event is a place in a stream.
type Event struct {
	e     cu.Event
	timed bool
}

// NewEvent makes an event; only timed ones have an Elapsed.
func (c *Context) NewEvent(timed bool) (*Event, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	flags := cu.DisableTiming
	if timed {
		flags = cu.DefaultEvent
	}
	raw, err := cu.MakeEvent(flags)
	if err != nil {
		return nil, c.check(err, "create an event")
	}
	e := &Event{raw, timed}
	born(e, "event", 0)
	return e, nil
}

func (e *Event) free(c *Context) error {
	return wrap(cu.DestroyEvent(&e.e), c.w.info.Ordinal, "destroy an event")
}

// Record puts the event at the present end of the stream.
func (c *Context) Record(e *Event, s *Stream) error {
	if err := c.usable(); err != nil {
		return err
	}
	return c.check(e.e.Record(s.s), "record an event")
}

// Wait makes what the stream is given from now on wait for the event.
func (c *Context) Wait(s *Stream, e *Event) error {
	if err := c.usable(); err != nil {
		return err
	}
	return c.check(s.s.Wait(e.e, 0), "let a stream wait")
}

// Done says whether the work before the event is done.
func (c *Context) Done(e *Event) (bool, error) {
	if err := c.usable(); err != nil {
		return false, err
	}
	err := e.e.Query()
	if err != nil && codeOf(err) == CodeNotReady {
		return false, nil
	}
	return err == nil, c.check(err, "ask an event")
}

// SyncEvent waits until the work before the event is done.
func (c *Context) SyncEvent(e *Event) error {
	if err := c.usable(); err != nil {
		return err
	}
	return c.check(e.e.Synchronize(), "wait for an event")
}

// Elapsed is the time of the device between two timed events that have both passed. The
// driver resolves about half a microsecond.
func (c *Context) Elapsed(from, to *Event) (time.Duration, error) {
	if err := c.usable(); err != nil {
		return 0, err
	}
	ms, err := from.e.Elapsed(to.e)
	return time.Duration(ms * float64(time.Millisecond)), c.check(err, "take the time between events")
}
