package vectors

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"encbench/engine"
)

// ErrFormat: the input is no file of vectors that this package reads.
var ErrFormat = errors.New("not a readable file of vectors")

// ErrDamaged: the input differs from what it says of itself, or ends early.
var ErrDamaged = errors.New("damaged file of vectors")

// Limits of what a file may claim.
const (
	maxDim  = 1 << 20
	maxRows = 1 << 40
)

// Info says what a file holds.
type Info struct {
	Format string // "npy", "safetensors" or "ebvec"
	Tensor string // name, safetensors only
	Rows   int64  // −1 when only the end of the file says it
	Dim    int
	Type   engine.Elem
	Header *Header // ebvec only
}

// Options of a Reader.
type Options struct {
	// Tensor names the matrix of a safetensors file; "" takes the only one there is.
	Tensor string
	// BlockRows is the most rows of a block; 0 means as many as fill about 4 MiB.
	BlockRows int
}

// Reader reads a matrix block by block.
type Reader struct {
	in    *bufio.Reader
	name  string
	info  Info
	block int // rows of a block
	row   int // bytes of a row
	next  int64
	buf   []byte
	ids   idList
	from  source
	end   error
}

// source is a format: it fills buf with up to Reader.block rows and gives how many,
// 0 with io.EOF once when the file has proved whole.
type source interface {
	fill(r *Reader) (rows int, err error)
}

// NewReader reads the beginning of r and finds the format by it; name stands in
// messages.
func NewReader(r io.Reader, name string, opt Options) (*Reader, error) {
	rd := &Reader{in: bufio.NewReaderSize(r, 64<<10), name: name}
	if err := rd.open(opt); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	rd.row = rd.info.Dim * Size(rd.info.Type)
	if rd.block = opt.BlockRows; rd.block <= 0 {
		rd.block = max(1, 4<<20/rd.row)
	}
	return rd, nil
}

func (r *Reader) open(opt Options) error {
	head, err := r.in.Peek(9)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch {
	case len(head) == 0:
		return fmt.Errorf("%w: it is empty", ErrFormat)
	case len(head) >= 6 && string(head[:6]) == npyMagic:
		return r.openNPY()
	case len(head) >= 8 && string(head[:8]) == ebvecMagic:
		return r.openEBVEC()
	case len(head) == 9 && head[8] == '{' && head[7] == 0 && head[6] == 0 && head[5] == 0:
		return r.openSafetensors(opt.Tensor)
	}
	return fmt.Errorf("%w: it starts with %q; .npy, .safetensors and .ebvec are read", ErrFormat, head)
}

// Info says what the file holds.
func (r *Reader) Info() Info { return r.info }

// Next gives the next rows, a view that is valid until the next call, and io.EOF
// behind the last when the file has proved whole.
func (r *Reader) Next(rows *engine.Rows) error {
	if r.end != nil {
		return r.end
	}
	n, err := r.from.fill(r)
	if err != nil {
		if err != io.EOF {
			err = fmt.Errorf("read %s: %w", r.name, err)
		}
		r.end = err
		return err
	}
	r.next += int64(n)
	*rows = engine.Rows{N: n, Dim: r.info.Dim, Stride: r.info.Dim, Type: r.info.Type, Host: r.buf[:n*r.row], Device: -1}
	return nil
}

// ID gives the identifier of row i of the last block, a view, or nil when the file
// has none.
func (r *Reader) ID(i int) []byte {
	if i >= len(r.ids.end) {
		return nil
	}
	return r.ids.at(i)
}

// Size gives the bytes of an element.
func Size(t engine.Elem) int {
	if t == engine.F32 {
		return 4
	}
	return 2
}

// TypeName gives the name of an element type.
func TypeName(t engine.Elem) string {
	switch t {
	case engine.F32:
		return "float32"
	case engine.F16:
		return "float16"
	case engine.BF16:
		return "bfloat16"
	}
	return fmt.Sprintf("element type %d", t)
}

// readRows fills buf with n rows. Rows that lie together are read together, and
// the buffer grows as they come.
func (r *Reader) readRows(n int) error {
	const step = 8 << 20
	want := n * r.row
	for have := 0; have < want; {
		size := min(want, max(have+step, 2*have))
		if cap(r.buf) < size {
			grown := make([]byte, size)
			copy(grown, r.buf[:have])
			r.buf = grown
		}
		r.buf = r.buf[:size]
		m, err := io.ReadFull(r.in, r.buf[have:size])
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("%w: it ends within row %d, after %d of %d bytes", ErrDamaged, r.next+int64((have+m)/r.row), (have+m)%r.row, r.row)
		}
		if err != nil {
			return fmt.Errorf("row %d: %w", r.next+int64((have+m)/r.row), err)
		}
		have = size
	}
	return nil
}

// matrix is a source of a stated number of rows with nothing but more bytes behind
// them.
type matrix struct {
	left  int64
	after int64 // bytes that belong behind the rows, passed over
}

func (m *matrix) fill(r *Reader) (int, error) {
	if m.left == 0 {
		n, err := io.Copy(io.Discard, io.LimitReader(r.in, m.after+1))
		switch {
		case err != nil:
			return 0, fmt.Errorf("behind the rows: %w", err)
		case n < m.after:
			return 0, fmt.Errorf("%w: it ends %d bytes early, behind the rows that were asked for", ErrDamaged, m.after-n)
		case n > m.after:
			return 0, fmt.Errorf("%w: bytes follow its %d rows of %d %s that belong to nothing", ErrDamaged, r.info.Rows, r.info.Dim, TypeName(r.info.Type))
		}
		return 0, io.EOF
	}
	n := int(min(m.left, int64(r.block)))
	m.left -= int64(n)
	return n, r.readRows(n)
}

// idList is a list of identifiers.
type idList struct {
	text []byte
	end  []uint32
}

func (l *idList) at(i int) []byte {
	start := uint32(0)
	if i > 0 {
		start = l.end[i-1]
	}
	return l.text[start:l.end[i]]
}
