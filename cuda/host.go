//go:build cuda && linux && cgo && (amd64 || arm64)

package cuda

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"gorgonia.org/cu"
)

// Pinned is page-locked memory of the host. Copies from and to it run beside the host's
// own work; those of other memory wait.
type Pinned struct {
	Data []byte
	p    unsafe.Pointer
}

// AllocHost allocates page-locked memory, zeroed.
func (c *Context) AllocHost(bytes int) (*Pinned, error) {
	h, err := c.allocHost(bytes)
	if err != nil {
		return nil, err
	}
	born(h, "page-locked memory", int64(bytes))
	return h, nil
}

func (c *Context) allocHost(bytes int) (*Pinned, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	var p unsafe.Pointer
	n := max(bytes, 1)
	if err := c.keep(fail(C.encbench_host_alloc(&p, C.size_t(n)), c.w.info.Ordinal, "page-lock %d bytes of the host's memory", bytes)); err != nil {
		return nil, err
	}
	h := &Pinned{unsafe.Slice((*byte)(p), n)[:bytes], p}
	clear(h.Data)
	return h, nil
}

// free waits for the device first: a copy may still be under way, after a fault between
// the copy and the wait for it.
func (h *Pinned) free(c *Context) error {
	h.Data = nil
	wait := wrap(cu.Synchronize(), c.w.info.Ordinal, "wait before page-locked memory is freed")
	return errors.Join(wait, wrap(cu.MemFreeHost(h.p), c.w.info.Ordinal, "free page-locked memory"))
}

// Registered is memory of the host that something else owns and that is page-locked
// while this lives.
type Registered struct{ data []byte }

// Register page-locks memory, which stays where it is and is not freed before the
// Registered is. It must not be of Go's heap: a mapped file, or memory of C's.
func (c *Context) Register(data []byte) (*Registered, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, errors.New("cuda: no bytes to page-lock")
	}
	if err := c.keep(fail(C.encbench_host_register(unsafe.Pointer(&data[0]), C.size_t(len(data))), c.w.info.Ordinal, "page-lock %d bytes that are there", len(data))); err != nil {
		return nil, err
	}
	r := &Registered{data}
	born(r, "registered memory", int64(len(data)))
	return r, nil
}

func (r *Registered) free(c *Context) error {
	wait := wrap(cu.Synchronize(), c.w.info.Ordinal, "wait before memory is unlocked")
	return errors.Join(wait, fail(C.encbench_host_unregister(unsafe.Pointer(&r.data[0])), c.w.info.Ordinal, "unlock memory of the host"))
}

// Host gives page-locked memory, an engine.Allocator. Where page-locking is refused it
// gives plain memory, from which copies work and wait, warns once, and Pageable says so.
// It may be used from any goroutine but from inside Do of its Worker.
type Host struct {
	w     *Worker
	warn  func(string)
	mutex sync.Mutex
	given map[*byte]*Pinned // what was page-locked
	plain map[*byte]*plain
	why   error // the first refusal
	bytes int64 // of all refusals
}

// plain is memory that is not page-locked.
type plain struct{ p unsafe.Pointer }

func (p *plain) free(*Context) error {
	C.free(p.p)
	return nil
}

// NewHost makes an allocator. warn, which may be nil, gets the one warning.
func NewHost(w *Worker, warn func(string)) *Host {
	return &Host{w: w, warn: warn, given: map[*byte]*Pinned{}, plain: map[*byte]*plain{}}
}

// Alloc gives n bytes, zeroed. The error is that of a device that is lost or closed, or
// of a host without memory.
func (h *Host) Alloc(n int) ([]byte, error) {
	var got *Pinned
	err := h.w.Do(func(c *Context) (err error) {
		got, err = c.allocHost(n)
		return err
	})
	if err == nil {
		born(got, "page-locked memory", int64(n))
		h.mutex.Lock()
		defer h.mutex.Unlock()
		h.given[unsafe.SliceData(got.Data)] = got
		return got.Data, nil
	}
	if e := (*Error)(nil); !errors.As(err, &e) || e.Sticky() {
		return nil, err
	}
	p := C.encbench_plain_alloc(C.size_t(max(n, 1)))
	if p == nil {
		return nil, fmt.Errorf("cuda: the host has no %d bytes, page-locked or not: %w", n, err)
	}
	o := &plain{p}
	born(o, "memory that could not be page-locked", int64(n))
	data := unsafe.Slice((*byte)(p), max(n, 1))[:n]
	h.mutex.Lock()
	h.plain[unsafe.SliceData(data)] = o
	h.bytes += int64(n)
	first := h.why == nil
	if first {
		h.why = err
	}
	h.mutex.Unlock()
	if first && h.warn != nil {
		h.warn(fmt.Sprintf("%v; plain memory is used, copies do not overlap with work and are slower (raise the limit of locked memory, ulimit -l, or free memory of the host)", err))
	}
	return data, nil
}

// Free takes memory of Alloc back. It panics on other memory.
func (h *Host) Free(b []byte) {
	at := unsafe.SliceData(b)
	h.mutex.Lock()
	locked, other := h.given[at], h.plain[at]
	delete(h.given, at)
	delete(h.plain, at)
	h.mutex.Unlock()
	switch {
	case locked != nil:
		// On a device that is lost or closed the driver took it back.
		if err := h.w.Do(func(c *Context) error { return c.Free(locked) }); err != nil {
			died(locked)
		}
	case other != nil:
		died(other)
		C.free(other.p)
	default:
		panic("cuda: freed memory that this allocator did not give")
	}
}

// Pageable gives how many bytes were given that are not page-locked, in all, and why; 0
// and nil where none were. Reports name copies from such memory pageable.
func (h *Host) Pageable() (bytes int64, why error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.bytes, h.why
}
