//go:build cuda && linux && cgo && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"sync"

	"gorgonia.org/cu"
)

// Worker holds a device: a goroutine on a thread of its own, to which the device's
// primary context belongs. Methods may be called from any goroutine but from inside Do.
type Worker struct {
	info  Info
	calls chan call
	quit  chan struct{} // closed by Close
	gone  chan struct{} // closed when the thread has ended
	close sync.Once
	err   error // of closing, once gone
}

type call struct {
	do   func(*Context) error
	done chan outcome
}

// outcome is what a call came to: an error, or a panic that its caller is to have.
type outcome struct {
	err   error
	panic any
}

// Context is the device's context on the Worker's thread, valid inside Worker.Do.
type Context struct {
	w      *Worker
	device cu.Device
	lost   error // the first sticky error
}

// Open opens a device by its ordinal. It retains the primary context, which takes about a
// quarter of a second and some hundred MB of the device's memory when nothing in the
// process did before. The error says why the device cannot be used.
func Open(ordinal int) (*Worker, error) {
	if err := ready(); err != nil {
		return nil, err
	}
	n, err := cu.NumDevices()
	switch {
	case err != nil:
		return nil, wrap(err, -1, "count the devices")
	case n == 0:
		return nil, &Error{Op: "open", Device: ordinal, Code: CodeNoDevice, Name: "CUDA_ERROR_NO_DEVICE", Text: "the driver shows no device; is CUDA_VISIBLE_DEVICES set?"}
	case ordinal < 0 || ordinal >= n:
		return nil, fmt.Errorf("cuda: device %d: the driver shows %d, numbered from 0", ordinal, n)
	}
	info, err := infoOf(ordinal)
	if err != nil {
		return nil, err
	}
	if err := info.Supported(); err != nil {
		return nil, err
	}
	w := &Worker{info: info, calls: make(chan call), quit: make(chan struct{}), gone: make(chan struct{})}
	opened := make(chan error)
	go w.run(opened)
	if err := <-opened; err != nil {
		return nil, err
	}
	return w, nil
}

// Info describes the device.
func (w *Worker) Info() Info { return w.info }

// run is the thread.
func (w *Worker) run(opened chan<- error) {
	runtime.LockOSThread() // ends with the goroutine: a thread with a context is not reused
	defer close(w.gone)
	c := &Context{w: w}
	if err := c.enter(); err != nil {
		opened <- err
		return
	}
	defer func() { w.err = c.leave() }()
	opened <- nil
	for {
		select {
		case call := <-w.calls:
			call.done <- c.call(call.do)
		case <-w.quit:
			return
		}
	}
}

// call runs f. Its panic is for the goroutine that asked.
func (c *Context) call(f func(*Context) error) (o outcome) {
	defer func() {
		if r := recover(); r != nil {
			o.panic = fmt.Sprintf("%v\n\n%s", r, debug.Stack())
		}
	}()
	return outcome{err: f(c)}
}

// enter makes the device's primary context that of the thread.
func (c *Context) enter() error {
	var err error
	if c.device, err = cu.GetDevice(c.w.info.Ordinal); err != nil {
		return wrap(err, c.w.info.Ordinal, "find the device")
	}
	ctx, err := c.device.RetainPrimaryCtx()
	if err != nil {
		return wrap(err, c.w.info.Ordinal, "create the context")
	}
	if err := cu.SetCurrentContext(ctx); err != nil {
		return errors.Join(wrap(err, c.w.info.Ordinal, "use the context"), wrap(c.device.ReleasePrimaryCtx(), c.w.info.Ordinal, "release the context"))
	}
	return nil
}

func (c *Context) leave() error {
	err := cu.SetCurrentContext(cu.CUContext{})
	return errors.Join(wrap(err, c.w.info.Ordinal, "leave the context"), wrap(c.device.ReleasePrimaryCtx(), c.w.info.Ordinal, "release the context"))
}

// Do runs f on the device's thread and gives its error, or its panic. Calls wait for each
// other. It is ErrClosed when the Worker is closed.
func (w *Worker) Do(f func(*Context) error) error {
	done := make(chan outcome, 1)
	select {
	case w.calls <- call{f, done}:
	case <-w.gone:
		return ErrClosed
	}
	select {
	case o := <-done:
		if o.panic != nil {
			panic(o.panic)
		}
		return o.err
	case <-w.gone: // f ended the goroutine
		return ErrClosed
	}
}

// Close gives the context back and ends the thread. What was not freed stays allocated
// while anything else in the process holds the context. Closing twice is closing once.
func (w *Worker) Close() error {
	w.close.Do(func() { close(w.quit) })
	<-w.gone
	return w.err
}

// Info describes the device.
func (c *Context) Info() Info { return c.w.info }

// check makes an error of what gorgonia.org/cu gave, and remembers one that ends the
// context.
func (c *Context) check(err error, op string, args ...any) error {
	return c.keep(wrap(err, c.w.info.Ordinal, op, args...))
}

func (c *Context) keep(err error) error {
	if e := (*Error)(nil); errors.As(err, &e) && e.Sticky() && c.lost == nil {
		c.lost = err
	}
	return err
}

// usable is the error of a context that is lost.
func (c *Context) usable() error {
	if c.lost != nil {
		return fmt.Errorf("cuda: device %d was lost before: %w", c.w.info.Ordinal, c.lost)
	}
	return nil
}

// Memory gives the free and all memory of the device in bytes.
func (c *Context) Memory() (free, total int64, err error) {
	if err := c.usable(); err != nil {
		return 0, 0, err
	}
	free, total, err = cu.MemInfo()
	return free, total, c.check(err, "ask for the free memory")
}

// codeOf is the driver's code in an error of gorgonia.org/cu.
func codeOf(err error) int {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if v := reflect.ValueOf(e); v.CanInt() {
			return int(v.Int())
		}
	}
	return 999
}
