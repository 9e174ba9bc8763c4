//go:build cuda && linux && cgo && (amd64 || arm64)

package cuda

/*
#cgo noescape encbench_launch_maps
#cgo nocallback encbench_launch_maps
#cgo noescape encbench_tensor_map
#cgo nocallback encbench_tensor_map
#include "shim.h"
#include "tensormap.h"
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// TensorMap says how the copy engine of a device of capability 9.0 reads a matrix. What is
// in it is the driver's own business.
type TensorMap [128]byte

// Layout is a matrix of 16-bit elements on the device: its rows begin RowBytes after each
// other, a multiple of 16, as is where At begins.
type Layout struct {
	At            *Buffer
	BFloat        bool // bfloat16, else float16
	Rows, Columns int
	RowBytes      int64
}

// TensorMap makes the map by which boxes of boxRows × boxColumns elements are read into
// shared memory: with the swizzle of 128 bytes, zeros outside the matrix. boxRows is at
// most 256, boxColumns at most 64.
func (c *Context) TensorMap(l Layout, boxRows, boxColumns int) (TensorMap, error) {
	var m TensorMap
	if err := c.usable(); err != nil {
		return m, err
	}
	bfloat := C.int(0)
	if l.BFloat {
		bfloat = 1
	}
	code := C.encbench_tensor_map(unsafe.Pointer(&m), bfloat, C.uintptr_t(l.At.Ptr), C.uint64_t(l.Rows), C.uint64_t(l.Columns), C.uint64_t(l.RowBytes),
		C.uint32_t(boxRows), C.uint32_t(boxColumns))
	return m, c.keep(fail(code, c.w.info.Ordinal, "make a tensor map of %d rows of %d values, %d bytes apart, in boxes of %d × %d", l.Rows, l.Columns, l.RowBytes, boxRows, boxColumns))
}

// LaunchMaps is Launch for a kernel whose first parameters are tensor maps. They are
// parameters by value, where the driver keeps those of each launch apart: in memory of the
// device a map would need a fence of its own before each use, which PTX has from 8.3 on
// only, and launches under way would have to be waited for before it changes.
func (c *Context) LaunchMaps(f *Function, g Geometry, s *Stream, maps []TensorMap, args ...Arg) error {
	if err := c.usable(); err != nil {
		return err
	}
	if len(args) == 0 || len(args) > mostArgs || len(maps) == 0 || len(maps) > 4 {
		return fmt.Errorf("cuda: %d tensor maps and %d arguments for %s, 1 to 4 and 1 to %d are possible", len(maps), len(args), f.Name, mostArgs)
	}
	for i := range 3 {
		g.Grid[i], g.Block[i] = max(g.Grid[i], 1), max(g.Block[i], 1)
	}
	code := C.encbench_launch_maps(f.f, (*C.uint)(unsafe.Pointer(&g.Grid[0])), (*C.uint)(unsafe.Pointer(&g.Block[0])), C.uint(g.Shared),
		C.uintptr_t(s.Handle()), unsafe.Pointer(&maps[0]), C.int(len(maps)), (*C.uint64_t)(unsafe.Pointer(&args[0])), C.int(len(args)))
	if code == 0 {
		return nil
	}
	return c.keep(fail(code, c.w.info.Ordinal, "launch %s with grid %v, block %v, %d bytes shared", f.Name, g.Grid, g.Block, g.Shared))
}
