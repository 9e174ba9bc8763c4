//go:build cuda && linux && cgo && (amd64 || arm64)

package ort

import (
	"errors"
	"fmt"

	"encbench/cuda"
)

// hostBlock is memory of the host that the device copies from and to: page-locked, or,
// where the system does not give such, of the C heap, which copies wait for.
type hostBlock struct {
	data   []byte
	pinned *cuda.Pinned
}

// hostMemory allocates n bytes, unless asked for otherwise page-locked. warning says why
// they are not.
func hostMemory(c *cuda.Context, n int, pageable bool) (b *hostBlock, warning string, err error) {
	if pageable {
		data, err := Heap{}.Alloc(n)
		return &hostBlock{data, nil}, "", err
	}
	p, err := c.AllocHost(n)
	if err == nil {
		return &hostBlock{p.Data, p}, "", nil
	}
	if e := (*cuda.Error)(nil); !errors.As(err, &e) || e.Sticky() {
		return nil, "", err
	}
	data, heap := Heap{}.Alloc(n)
	if heap != nil {
		return nil, "", errors.Join(err, heap)
	}
	return &hostBlock{data, nil}, fmt.Sprintf("memory for copies is not page-locked, so that copies wait for the device and do not overlap its work: %v; raise the limit of locked memory (ulimit -l)", err), nil
}

func (b *hostBlock) free(c *cuda.Context) error {
	if b == nil {
		return nil
	}
	data := b.data
	b.data = nil
	if b.pinned != nil {
		return c.Free(b.pinned)
	}
	if data != nil {
		Heap{}.Free(data)
	}
	return nil
}

// freeBuffers frees what is there: an interface that holds a nil pointer is no nil.
func freeBuffers(c *cuda.Context, buffers ...*cuda.Buffer) error {
	var errs []error
	for _, b := range buffers {
		if b != nil {
			errs = append(errs, c.Free(b))
		}
	}
	return errors.Join(errs...)
}
