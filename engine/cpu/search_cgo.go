//go:build cgo && amd64 && !noasm

package cpu

// #cgo CFLAGS: -O3 -std=c11 -Wall -Wno-psabi
// #cgo LDFLAGS: -lm
// #cgo noescape encbench_search_dot64
// #cgo nocallback encbench_search_dot64
// #cgo noescape encbench_search_tile
// #cgo nocallback encbench_search_tile
// #cgo noescape encbench_search_pairs
// #cgo nocallback encbench_search_pairs
// #cgo noescape encbench_search_finite32
// #cgo nocallback encbench_search_finite32
// #cgo noescape encbench_search_finite16
// #cgo nocallback encbench_search_finite16
// #cgo noescape encbench_search_encode
// #cgo nocallback encbench_search_encode
// #cgo noescape encbench_search_rank
// #cgo nocallback encbench_search_rank
// #cgo noescape encbench_scan_run
// #cgo nocallback encbench_scan_run
// #include "search_kernels.h"
import "C"

import (
	"errors"
	"sync"
	"unsafe"

	"encbench/engine"
)

// errMemory means that the C library found no memory.
var errMemory = errors.New("out of memory for the candidates of a search; search fewer queries at once")

// available lists the kernels that this machine can run, best first.
var available = sync.OnceValue(func() []*kernels {
	var all []*kernels
	for i := range int(C.encbench_search_isas()) {
		if C.encbench_search_has(C.int(i)) != 0 {
			all = append(all, compiled(C.int(i)))
		}
	}
	return append(all, plainKernels)
})

// at gives the address of element i for C, nil where the slice is.
func at[T, P any](v []T, i int) *P {
	if v == nil {
		return nil
	}
	return (*P)(unsafe.Pointer(&v[i]))
}

// compiled binds the kernels of one instruction set.
func compiled(isa C.int) *kernels {
	k := &kernels{name: C.GoString(C.encbench_search_name(isa))}
	k.dot64 = func(a, b []float32) float64 {
		return float64(C.encbench_search_dot64(isa, at[float32, C.float](a, 0), at[float32, C.float](b, 0), C.int64_t(len(a))))
	}
	k.tile = func(dst []float32, s *store, row, rows int, q *queries, query, n int) {
		C.encbench_search_tile(isa, C.int(s.elem), C.int(s.opt.Metric), at[float32, C.float](dst, 0),
			at[byte, C.uint8_t](s.bytes(row), 0), C.int64_t(s.stride), C.int64_t(rows), C.int64_t(s.opt.Dim),
			at[float32, C.float](s.scale, row), at[float64, C.double](s.norm, row),
			at[float64, C.double](q.f64, query*q.pad), C.int64_t(q.pad), at[float64, C.double](q.norm, query), C.int64_t(n))
	}
	k.pairs = func(dst []float32, pairs []pair, s *store, q *queries) {
		first := int(pairs[0].row) / segmentRows * segmentRows
		C.encbench_search_pairs(isa, C.int(s.elem), C.int(s.opt.Metric), at[float32, C.float](dst, 0),
			at[pair, C.struct_encbench_pair](pairs, 0), C.int64_t(len(pairs)), at[byte, C.uint8_t](s.bytes(first), 0),
			C.int64_t(first), C.int64_t(s.stride), C.int64_t(s.opt.Dim), at[float32, C.float](s.scale, first),
			at[float64, C.double](s.norm, first), at[float64, C.double](q.f64, 0), C.int64_t(q.pad), at[float64, C.double](q.norm, 0))
	}
	k.finite = func(r engine.Rows, row int) bool {
		b := r.Bytes(row)
		switch r.Type {
		case engine.F32:
			return C.encbench_search_finite32(isa, at[byte, C.uint32_t](b, 0), C.int64_t(r.Dim)) != 0
		case engine.F16:
			return C.encbench_search_finite16(isa, at[byte, C.uint16_t](b, 0), C.int64_t(r.Dim), 0x7c00) != 0
		}
		return C.encbench_search_finite16(isa, at[byte, C.uint16_t](b, 0), C.int64_t(r.Dim), 0x7f80) != 0
	}
	k.rank = func(upper []float32, slot []uint32, rank int, owner, marks []uint32) float32 {
		if len(upper) == 0 {
			return float32(C.encbench_search_rank(nil, nil, 0, 1, nil, nil))
		}
		return float32(C.encbench_search_rank(at[float32, C.float](upper, 0), at[uint32, C.uint32_t](slot, 0), C.int64_t(len(upper)),
			C.int64_t(rank), at[uint32, C.uint32_t](owner, 0), at[uint32, C.uint32_t](marks, 0)))
	}
	bind := func(bits int) *scanner {
		rows := int(C.encbench_search_panel(isa, C.int(bits)))
		if rows == 0 {
			return nil
		}
		sc := &scanner{bits: bits, rows: rows}
		sc.encode = func(panel []byte, x []float32, factor []float64, n int, mean []float64, meanNorm float64, l2 bool, scratch []float64, totals *[3]float64) {
			C.encbench_search_encode(isa, C.int(bits), at[byte, C.uint8_t](panel, 0), at[float32, C.float](x, 0), at[float64, C.double](factor, 0),
				C.int64_t(n), C.int64_t(len(mean)), at[float64, C.double](mean, 0), C.double(meanNorm), flag(l2),
				at[float64, C.double](scratch, 0), (*C.double)(&totals[0]))
		}
		sc.run = func(s *scan, c *codes, dim, first, step, count int, q []byte, owner, marks []uint32) {
			C.encbench_scan_run(isa, C.int(bits), s.c, at[byte, C.uint8_t](c.data, 0), C.int64_t(dim), C.int64_t(c.panels(sc)),
				C.int64_t(c.slots), C.int64_t(first), C.int64_t(step), C.int64_t(count), at[byte, C.uint8_t](q, 0),
				at[uint32, C.uint32_t](owner, 0), at[uint32, C.uint32_t](marks, 0))
		}
		return sc
	}
	k.int8, k.int16 = bind(8), bind(16)
	return k
}

func flag(b bool) C.int {
	if b {
		return 1
	}
	return 0
}

// scan holds the lists of a group of queries, in C memory.
type scan struct{ c *C.struct_encbench_scan }

// newScan makes the lists of queries, of old where that has as many. rows is what the
// whole scan sees, limit what a list may hold, how the way its bounds are raised.
func newScan(old *scan, asked []asked, k, rows, limit int, how raising) (*scan, error) {
	n := C.int64_t(len(asked))
	if n > 1 {
		n = (n + 5) / 6 * 6
	}
	switch {
	case old == nil:
	case old.c.queries == n:
		C.encbench_scan_reset(old.c)
	default:
		old.free()
		old = nil
	}
	if old == nil {
		c := C.encbench_scan_new(C.int64_t(len(asked)))
		if c == nil {
			return nil, errMemory
		}
		old = &scan{c}
	}
	c := old.c
	c.k, c.rows, c.limit, c.refresh, c.guess = C.int64_t(k), C.int64_t(rows), C.int64_t(limit), 1024, C.int32_t(how)
	for i, a := range asked {
		l := C.encbench_scan_list(c, C.int64_t(i))
		l.bound, l.row_factor, l.residual_factor = C.float(a.bound), C.float(a.rowFactor), C.float(a.residualFactor)
		l.bias_factor, l.gap, l.start = C.float(a.biasFactor), C.float(a.gap), C.int32_t(a.start)
	}
	return old, nil
}

// list gives what was found for query i, views until free; ok is false where it was
// too much.
func (s *scan) list(i int) (upper []float32, slot []uint32, bound float32, ok bool) {
	l := C.encbench_scan_list(s.c, C.int64_t(i))
	if l.n > 0 {
		upper = unsafe.Slice((*float32)(unsafe.Pointer(l.upper)), l.n)
		slot = unsafe.Slice((*uint32)(unsafe.Pointer(l.slot)), l.n)
	}
	return upper, slot, float32(l.bound), l.overflow == 0
}

func (s *scan) err() error {
	if s.c.failed != 0 {
		return errMemory
	}
	return nil
}

func (s *scan) free() { C.encbench_scan_free(s.c) }
