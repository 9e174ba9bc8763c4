package cpu

import (
	"encoding/binary"
	"fmt"
	"math"
	"sort"
	"unsafe"

	"encbench/engine"
)

// segmentRows is how many rows lie in one piece of memory: growth copies no more
// than that.
const segmentRows = 4096

// store holds the rows by their local number: 0 for the first row appended.
type store struct {
	opt     Options
	kernels *kernels
	elem    Store // of the rows, StoreGiven while there are none
	stride  int   // bytes of a row
	n       int
	segment [][]byte
	scale   []float32 // of each row, StoreInt8 only
	norm    []float64 // of each row, Cosine only
	block   []block
	next    int64 // least base of the next block
	// owner numbers each row's document from 0; nil as long as every row is its own.
	owner     []uint32
	documents uint32
	known     map[int32]uint32
}

// block is a run of rows numbered without a gap.
type block struct {
	first int
	base  int64
}

func newStore(opt Options, k *kernels) store { return store{opt: opt, kernels: k} }

// number gives the number under which a row was appended.
func (s *store) number(local uint32) int64 {
	at := 0
	if len(s.block) > 1 {
		at = sort.Search(len(s.block), func(i int) bool { return s.block[i].first > int(local) }) - 1
	}
	return s.block[at].base + int64(local) - int64(s.block[at].first)
}

// bytes gives one row as stored.
func (s *store) bytes(row int) []byte {
	start := row % segmentRows * s.stride
	return s.segment[row/segmentRows][start : start+s.stride : start+s.stride]
}

// values widens one row into dst, or gives a view.
func (s *store) values(dst []float32, row int) []float32 {
	b := s.bytes(row)
	switch s.elem {
	case StoreF32:
		return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), s.opt.Dim)
	case StoreF16:
		for i := range dst {
			dst[i] = engine.F16ToF32(binary.LittleEndian.Uint16(b[2*i:]))
		}
	case StoreBF16:
		for i := range dst {
			dst[i] = engine.BF16ToF32(binary.LittleEndian.Uint16(b[2*i:]))
		}
	default:
		for i := range dst {
			dst[i] = float32(int8(b[i])) * s.scale[row]
		}
	}
	return dst
}

// room makes the segments hold n rows; what lies beyond s.n has no meaning.
func (s *store) room(n int) {
	for len(s.segment)*segmentRows < n || len(s.segment) > 0 && s.short(n) {
		last := len(s.segment) - 1
		if last >= 0 && len(s.segment[last]) < segmentRows*s.stride {
			// Only the last segment is ever short: it doubles.
			rows := min(segmentRows, max(n-last*segmentRows, 2*len(s.segment[last])/s.stride))
			grown := make([]byte, rows*s.stride)
			copy(grown, s.segment[last])
			s.segment[last] = grown
			continue
		}
		s.segment = append(s.segment, make([]byte, min(segmentRows, n-len(s.segment)*segmentRows)*s.stride))
	}
}

// short says whether the last segment is to hold more rows than it has room for.
func (s *store) short(n int) bool {
	last := len(s.segment) - 1
	return len(s.segment[last]) < min(segmentRows, n-last*segmentRows)*s.stride
}

// add stores a checked block.
func (s *store) add(base int64, owner []int32, r engine.Rows) error {
	if r.N == 0 {
		return nil
	}
	elem := s.opt.Store
	if elem == StoreGiven {
		elem = [...]Store{engine.F32: StoreF32, engine.F16: StoreF16, engine.BF16: StoreBF16}[r.Type]
	}
	switch {
	case base < s.next:
		return fmt.Errorf("append rows to a search: blocks must ascend: expected a first row of %d or more, found %d", s.next, base)
	case s.elem != StoreGiven && s.elem != elem:
		return fmt.Errorf("append rows to a search: expected rows of %s like those before, found %s; set the type to store", s.elem, elem)
	case s.n+r.N > maxRows:
		return fmt.Errorf("append rows to a search: expected %d rows at most, found %d", maxRows, s.n+r.N)
	}
	s.elem, s.stride = elem, s.opt.Dim*[...]int{StoreF32: 4, StoreF16: 2, StoreBF16: 2, StoreInt8: 1}[elem]
	s.room(s.n + r.N)
	scale, norm := s.scale, s.norm
	buf := make([]float32, s.opt.Dim)
	for i := range r.N {
		unit, err := s.put(s.bytes(s.n+i), buf, r, i, base+int64(i))
		if err != nil {
			return err
		}
		if elem == StoreInt8 {
			scale = append(scale, unit)
		}
	}
	s.scale = scale
	if s.opt.Metric == Cosine {
		for i := range r.N {
			v := s.values(buf, s.n+i)
			norm = append(norm, math.Sqrt(s.kernels.dot64(v, v)))
		}
		s.norm = norm
	}
	s.own(owner, r.N)
	if last := len(s.block) - 1; last < 0 || s.block[last].base+int64(s.n-s.block[last].first) != base {
		s.block = append(s.block, block{first: s.n, base: base})
	}
	s.n, s.next = s.n+r.N, base+int64(r.N)
	return nil
}

// put stores one row and gives its scale.
func (s *store) put(dst []byte, buf []float32, r engine.Rows, i int, number int64) (scale float32, err error) {
	given := [...]Store{engine.F32: StoreF32, engine.F16: StoreF16, engine.BF16: StoreBF16}[r.Type]
	if s.elem == given {
		copy(dst, r.Bytes(i))
		return 0, nil
	}
	v := r.Widen(buf, i)
	switch s.elem {
	case StoreF32:
		for j, x := range v {
			binary.NativeEndian.PutUint32(dst[4*j:], math.Float32bits(x))
		}
	case StoreInt8:
		scale = int8Scale(v)
		for j, x := range v {
			dst[j] = byte(int8Code(x, scale))
		}
	default:
		for j, x := range v {
			var code uint16
			var back float32
			if s.elem == StoreF16 {
				code = engine.F32ToF16(x)
				back = engine.F16ToF32(code)
			} else {
				code = engine.F32ToBF16(x)
				back = engine.BF16ToF32(code)
			}
			if !finite(back) {
				return 0, fmt.Errorf("append rows to a search: row %d: value %d is %v, too large for %s; store float32", number, j, x, s.elem)
			}
			binary.LittleEndian.PutUint16(dst[2*j:], code)
		}
	}
	return scale, nil
}

// own numbers the documents of n new rows.
func (s *store) own(owner []int32, n int) {
	if owner == nil && s.owner == nil {
		return
	}
	if s.owner == nil {
		s.owner, s.known = make([]uint32, s.n), map[int32]uint32{}
		for i := range s.owner {
			s.owner[i] = uint32(i)
		}
		s.documents = uint32(s.n)
	}
	for i := range n {
		if owner != nil && i > 0 && owner[i] == owner[i-1] {
			s.owner = append(s.owner, s.owner[len(s.owner)-1])
			continue
		}
		id, found := s.documents, false
		if owner != nil {
			if id, found = s.known[owner[i]]; !found {
				id = s.documents
				s.known[owner[i]] = id
			}
		}
		if !found {
			s.documents++
		}
		s.owner = append(s.owner, id)
	}
}
