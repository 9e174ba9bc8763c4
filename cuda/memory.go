//go:build cuda && linux && cgo && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"gorgonia.org/cu"
)

// object is what Context.Free takes.
type object interface {
	free(*Context) error
}

// Free frees objects of this Worker: nil, and what was freed before, is nothing to do.
// On a lost context they are forgotten, as the driver took them back.
func (c *Context) Free(objects ...object) error {
	var errs []error
	for _, o := range objects {
		if o == nil || !died(o) {
			continue
		}
		if err := o.free(c); err != nil && c.lost == nil {
			errs = append(errs, c.keep(err))
		}
	}
	return errors.Join(errs...)
}

// Buffer is memory of the device, or a part of such memory.
type Buffer struct {
	Ptr   uintptr // on the device
	Bytes int64
}

// Alloc allocates memory of the device, of at least one byte. The content is undefined.
func (c *Context) Alloc(bytes int64) (*Buffer, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	p, err := cu.MemAlloc(max(bytes, 1))
	if err != nil {
		err = c.check(err, "allocate %d bytes", bytes)
		if free, total, err2 := cu.MemInfo(); err2 == nil && CodeOf(err) == CodeOutOfMemory {
			err = fmt.Errorf("%w (%d of %d bytes are free)", err, free, total)
		}
		return nil, err
	}
	b := &Buffer{uintptr(p), bytes}
	born(b, "device memory", bytes)
	return b, nil
}

func (b *Buffer) free(c *Context) error {
	return wrap(cu.MemFree(cu.DevicePtr(b.Ptr)), c.w.info.Ordinal, "free %d bytes", b.Bytes)
}

// View is memory of the device that something else owns.
func View(ptr uintptr, bytes int64) *Buffer { return &Buffer{ptr, bytes} }

// Slice is a view of n bytes from an offset on. It panics outside the buffer.
func (b *Buffer) Slice(from, n int64) *Buffer {
	if from < 0 || n < 0 || from+n > b.Bytes {
		panic(fmt.Sprintf("cuda: bytes %d to %d of a buffer of %d", from, from+n, b.Bytes))
	}
	return &Buffer{b.Ptr + uintptr(from), n}
}

// ToDevice copies src to the beginning of dst. src must stay as it is until the stream
// has come past the copy; it is page-locked, or the call waits.
func (c *Context) ToDevice(dst *Buffer, src []byte, s *Stream) error {
	if err := c.copies(dst, len(src)); err != nil || len(src) == 0 {
		return err
	}
	return c.check(cu.MemcpyHtoDAsync(cu.DevicePtr(dst.Ptr), unsafe.Pointer(&src[0]), int64(len(src)), s.s), "copy %d bytes to the device", len(src))
}

// ToHost copies the beginning of src to dst, which is complete when the stream has come
// past the copy.
func (c *Context) ToHost(dst []byte, src *Buffer, s *Stream) error {
	if err := c.copies(src, len(dst)); err != nil || len(dst) == 0 {
		return err
	}
	return c.check(cu.MemcpyDtoHAsync(unsafe.Pointer(&dst[0]), cu.DevicePtr(src.Ptr), int64(len(dst)), s.s), "copy %d bytes from the device", len(dst))
}

// Move copies all of src, memory of the device, to the beginning of dst.
func (c *Context) Move(dst, src *Buffer, s *Stream) error {
	if err := c.copies(dst, int(src.Bytes)); err != nil || src.Bytes == 0 {
		return err
	}
	return c.check(cu.MemcpyDtoDAsync(cu.DevicePtr(dst.Ptr), cu.DevicePtr(src.Ptr), src.Bytes, s.s), "copy %d bytes on the device", src.Bytes)
}

// Fill sets every byte of b.
func (c *Context) Fill(b *Buffer, v byte, s *Stream) error {
	if err := c.copies(b, int(b.Bytes)); err != nil || b.Bytes == 0 {
		return err
	}
	return c.check(cu.MemsetD8Async(cu.DevicePtr(b.Ptr), v, b.Bytes, s.s), "set %d bytes", b.Bytes)
}

// copies checks a copy of n bytes from or to the beginning of b.
func (c *Context) copies(b *Buffer, n int) error {
	if int64(n) > b.Bytes {
		return fmt.Errorf("cuda: a copy of %d bytes and a buffer of %d", n, b.Bytes)
	}
	return c.usable()
}
