//go:build cuda && linux && cgo && (amd64 || arm64)

package cuda

/*
#cgo noescape encbench_launch
#cgo nocallback encbench_launch
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unsafe"
)

// Module is code that is loaded on the device.
type Module struct{ m C.uintptr_t }

// Load gives PTX to the driver, which compiles it for the device; the driver keeps what
// it made in a cache of its own. name stands in errors, which carry the compiler's log.
func (c *Context) Load(name string, ptx []byte) (*Module, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	text := append(append(make([]byte, 0, len(ptx)+1), ptx...), 0)
	log := make([]byte, 16<<10)
	var m C.uintptr_t
	code := C.encbench_module_load(&m, unsafe.Pointer(&text[0]), (*C.char)(unsafe.Pointer(&log[0])), C.size_t(len(log)))
	if err := fail(code, c.w.info.Ordinal, "load %s", name); err != nil {
		if e := (*Error)(nil); errors.As(err, &e) {
			e.Log = strings.TrimSpace(strings.TrimRight(string(log), "\x00"))
		}
		return nil, c.keep(err)
	}
	mod := &Module{m}
	born(mod, "module "+name, 0)
	return mod, nil
}

func (m *Module) free(c *Context) error {
	return fail(C.encbench_module_unload(m.m), c.w.info.Ordinal, "unload a module")
}

// Function is a kernel of a module, valid while the module is.
type Function struct {
	Name string
	f    C.uintptr_t
}

// Attributes are what the compiler made of a kernel.
type Attributes struct {
	MaxThreads int // of a block
	Shared     int // bytes that the kernel declares itself
	Local      int // bytes a thread: spilled registers and arrays
	Registers  int // a thread
}

// Function finds a kernel by name.
func (c *Context) Function(m *Module, name string) (*Function, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	f := &Function{Name: name}
	return f, c.keep(fail(C.encbench_function(&f.f, m.m, text), c.w.info.Ordinal, "find kernel %s", name))
}

// Attributes asks what the compiler made of f.
func (c *Context) Attributes(f *Function) (Attributes, error) {
	var a Attributes
	if err := c.usable(); err != nil {
		return a, err
	}
	for i, to := range []*int{&a.MaxThreads, &a.Shared, nil, &a.Local, &a.Registers} { // CUfunction_attribute
		if to == nil {
			continue
		}
		var v C.int
		if err := c.keep(fail(C.encbench_function_attribute(&v, f.f, C.int(i)), c.w.info.Ordinal, "ask for attribute %d of %s", i, f.Name)); err != nil {
			return a, err
		}
		*to = int(v)
	}
	return a, nil
}

// AllowShared lets launches of f ask for so many bytes of shared memory, which above
// 48 KiB must be allowed first.
func (c *Context) AllowShared(f *Function, bytes int) error {
	if err := c.usable(); err != nil {
		return err
	}
	return c.keep(fail(C.encbench_function_shared(f.f, C.int(bytes)), c.w.info.Ordinal, "allow %s %d bytes of shared memory", f.Name, bytes))
}

// Blocks is how many blocks of f run on a multiprocessor at a time.
func (c *Context) Blocks(f *Function, threads, shared int) (int, error) {
	if err := c.usable(); err != nil {
		return 0, err
	}
	var n C.int
	err := fail(C.encbench_function_blocks(&n, f.f, C.int(threads), C.size_t(shared)), c.w.info.Ordinal, "ask for the occupancy of %s", f.Name)
	return int(n), c.keep(err)
}

// Arg is an argument of a kernel. Every parameter is 8 bytes wide: gorgonia.org/cu and
// the shim copy 8 bytes of each, whatever the kernel declares.
type Arg uint64

// Int, Float and Ptr make arguments; a kernel takes them as long long, double and
// pointer.
func Int[T ~int | ~int32 | ~int64 | ~uint32](v T) Arg { return Arg(int64(v)) }

// Float is a double.
func Float(v float64) Arg { return Arg(math.Float64bits(v)) }

// Ptr is memory of the device; nil is 0.
func Ptr(b *Buffer) Arg {
	if b == nil {
		return 0
	}
	return Arg(b.Ptr)
}

// Geometry is how a kernel is launched.
type Geometry struct {
	Grid, Block [3]uint32 // 0 is 1
	Cluster     uint32    // blocks along x that form a cluster; 0 is none
	Shared      uint32    // bytes of dynamic shared memory a block
}

// mostArgs is what the shim takes.
const mostArgs = 32

// Launch starts a kernel in a stream and returns at once. Faults of the kernel show when
// the stream is waited for.
func (c *Context) Launch(f *Function, g Geometry, s *Stream, args ...Arg) error {
	if err := c.usable(); err != nil {
		return err
	}
	if len(args) > mostArgs {
		return fmt.Errorf("cuda: %d arguments for %s, at most %d", len(args), f.Name, mostArgs)
	}
	for i := range 3 {
		g.Grid[i], g.Block[i] = max(g.Grid[i], 1), max(g.Block[i], 1)
	}
	var at *C.uint64_t
	if len(args) > 0 {
		at = (*C.uint64_t)(unsafe.Pointer(&args[0]))
	}
	code := C.encbench_launch(f.f, (*C.uint)(unsafe.Pointer(&g.Grid[0])), (*C.uint)(unsafe.Pointer(&g.Block[0])), C.uint(g.Cluster),
		C.uint(g.Shared), C.uintptr_t(s.Handle()), at, C.int(len(args)))
	if code == 0 {
		return nil
	}
	return c.keep(fail(code, c.w.info.Ordinal, "launch %s with grid %v, block %v, %d bytes shared", f.Name, g.Grid, g.Block, g.Shared))
}
