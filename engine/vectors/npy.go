package vectors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"encbench/engine"
)

const (
	npyMagic     = "\x93NUMPY"
	npyMaxHeader = 1 << 20 // bytes; numpy writes 64 to 128 for a matrix
)

var (
	npyDescr   = regexp.MustCompile(`'descr'\s*:\s*'([^']*)'`)
	npyFortran = regexp.MustCompile(`'fortran_order'\s*:\s*(True|False)`)
	npyShape   = regexp.MustCompile(`'shape'\s*:\s*\(([^)]*)\)`)
	npyMatrix  = regexp.MustCompile(`^\s*(\d+)\s*,\s*(\d+)\s*,?\s*$`)
)

// openNPY reads the header of numpy's format, versions 1 to 3 (NEP 1).
func (r *Reader) openNPY() error {
	var head [12]byte
	size := 10
	if _, err := io.ReadFull(r.in, head[:8]); err != nil {
		return fmt.Errorf(".npy header: %w", ended(err))
	}
	switch head[6] {
	case 1:
	case 2, 3:
		size = 12
	default:
		return fmt.Errorf("%w: .npy version %d.%d, want 1 to 3", ErrFormat, head[6], head[7])
	}
	if _, err := io.ReadFull(r.in, head[8:size]); err != nil {
		return fmt.Errorf(".npy header: %w", ended(err))
	}
	n := uint32(binary.LittleEndian.Uint16(head[8:]))
	if size == 12 {
		n = binary.LittleEndian.Uint32(head[8:])
	}
	if n > npyMaxHeader {
		return fmt.Errorf("%w: a .npy header of %d bytes, more than %d", ErrDamaged, n, npyMaxHeader)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r.in, text); err != nil {
		return fmt.Errorf(".npy header: %w", ended(err))
	}
	r.info.Format = "npy"
	if err := r.parseNPY(string(text)); err != nil {
		return err
	}
	r.from = &matrix{left: r.info.Rows}
	return nil
}

func (r *Reader) parseNPY(header string) error {
	descr, order, shape := npyDescr.FindStringSubmatch(header), npyFortran.FindStringSubmatch(header), npyShape.FindStringSubmatch(header)
	if order == nil || shape == nil {
		return fmt.Errorf("%w: .npy header %.200q, want descr, fortran_order and shape", ErrDamaged, header)
	}
	if descr == nil {
		return fmt.Errorf("%w: .npy header %.200q has no simple element type, want <f4 or <f2", ErrFormat, header)
	}
	switch descr[1] {
	case "<f4":
		r.info.Type = engine.F32
	case "<f2":
		r.info.Type = engine.F16
	case "<f8":
		return fmt.Errorf(`%w: elements are <f8 (float64), want <f4 or <f2; rounding them is yours to do: save with .astype("float32")`, ErrFormat)
	default:
		return fmt.Errorf(`%w: elements are %s, want <f4 or <f2; save with .astype("float32")`, ErrFormat, descr[1])
	}
	if order[1] != "False" {
		return fmt.Errorf("%w: its matrix lies in column order, want row order; save with numpy.ascontiguousarray", ErrFormat)
	}
	m := npyMatrix.FindStringSubmatch(shape[1])
	if m == nil {
		return fmt.Errorf("%w: shape (%s), want two dimensions, rows and values", ErrFormat, strings.TrimSpace(shape[1]))
	}
	rows, err1 := strconv.ParseInt(m[1], 10, 64)
	dim, err2 := strconv.ParseInt(m[2], 10, 64)
	if err1 != nil || err2 != nil {
		return fmt.Errorf("%w: shape (%s)", ErrFormat, shape[1])
	}
	return r.setShape(rows, dim)
}

// setShape checks and takes the shape of a matrix.
func (r *Reader) setShape(rows, dim int64) error {
	if dim < 1 || dim > maxDim || rows < 0 || rows > maxRows {
		return fmt.Errorf("%w: shape %d × %d, want up to %d rows of 1 to %d values", ErrFormat, rows, dim, int64(maxRows), maxDim)
	}
	r.info.Rows, r.info.Dim = rows, int(dim)
	return nil
}

// ended turns the end of the input into the fault of a file that is cut off.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends there", ErrDamaged)
	}
	return err
}

// npyHeader gives the beginning of a .npy file, a multiple of 64 bytes as numpy
// makes it. descr is a Python literal.
func npyHeader(descr string, rows, cols int64) []byte {
	text := fmt.Sprintf("{'descr': %s, 'fortran_order': False, 'shape': (%d, %d), }", descr, rows, cols)
	text += strings.Repeat(" ", 63-(10+len(text))%64) + "\n"
	out := append([]byte(npyMagic), 1, 0)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(text)))
	return append(out, text...)
}

// NPYWriter writes rows in numpy's format. As the header has their number, it must
// be known before.
type NPYWriter struct {
	w    io.Writer
	rows int64
	dim  int
	t    engine.Elem
	n    int64
	buf  []byte
}

// NewNPYWriter writes the header for rows × dim elements. numpy has no bfloat16.
func NewNPYWriter(w io.Writer, rows int64, dim int, t engine.Elem) (*NPYWriter, error) {
	descr := map[engine.Elem]string{engine.F32: "'<f4'", engine.F16: "'<f2'"}[t]
	if descr == "" {
		return nil, fmt.Errorf("write .npy: numpy has no %s; write float32 or .ebvec", TypeName(t))
	}
	if rows < 0 || dim < 1 {
		return nil, fmt.Errorf("write .npy: shape %d × %d", rows, dim)
	}
	if _, err := w.Write(npyHeader(descr, rows, int64(dim))); err != nil {
		return nil, fmt.Errorf("write .npy header: %w", err)
	}
	return &NPYWriter{w: w, rows: rows, dim: dim, t: t}, nil
}

// Write adds rows of the stated type and size.
func (w *NPYWriter) Write(r engine.Rows) error {
	if w.n+int64(r.N) > w.rows {
		return fmt.Errorf("write .npy: %d rows were announced, %d come", w.rows, w.n+int64(r.N))
	}
	b, err := packed(&w.buf, r, w.dim, w.t)
	if err != nil {
		return fmt.Errorf("write .npy: %w", err)
	}
	if _, err := w.w.Write(b); err != nil {
		return fmt.Errorf("write .npy after %d rows: %w", w.n, err)
	}
	w.n += int64(r.N)
	return nil
}

// Close makes sure that the announced rows came. It does not close the io.Writer.
func (w *NPYWriter) Close() error {
	if w.n != w.rows {
		return fmt.Errorf("write .npy: %d rows were announced, %d came", w.rows, w.n)
	}
	return nil
}

// packed gives the bytes of rows without gaps, a view of them where there is none,
// or of buf.
func packed(buf *[]byte, r engine.Rows, dim int, t engine.Elem) ([]byte, error) {
	size := Size(r.Type)
	switch {
	case r.N == 0:
		return nil, nil
	case r.Dim != dim || r.Type != t:
		return nil, fmt.Errorf("rows of %d %s, want %d %s", r.Dim, TypeName(r.Type), dim, TypeName(t))
	case r.N < 0, r.Stride < r.Dim, len(r.Host) < ((r.N-1)*r.Stride+r.Dim)*size:
		return nil, fmt.Errorf("%d rows of %d values, %d apart, are not in %d bytes of host memory", r.N, r.Dim, r.Stride, len(r.Host))
	case r.Stride == r.Dim:
		return r.Host[:r.N*dim*size], nil
	}
	*buf = (*buf)[:0]
	for i := range r.N {
		start := i * r.Stride * size
		*buf = append(*buf, r.Host[start:start+dim*size]...)
	}
	return *buf, nil
}

// hitsDescr is the element type of a matrix of hits.
const hitsDescr = "[('row', '<i8'), ('score', '<f4')]"

// IsHitsNPY says whether a file that begins with head is one of WriteHitsNPY's.
func IsHitsNPY(head []byte) bool {
	begin := npyHeader(hitsDescr, 0, 0)
	end := bytes.Index(begin, []byte("'shape'"))
	at := len(npyMagic) + 4 // behind version and length
	return len(head) >= end && bytes.HasPrefix(head, []byte(npyMagic)) && bytes.Equal(head[at:end], begin[at:end])
}

// WriteHitsNPY writes the outcome of a search as a matrix of records, a row for
// each query and a column for each place: field "row" (int64, −1 where nothing
// filled the place) and field "score" (float32). numpy.load reads it.
func WriteHitsNPY(w io.Writer, h *engine.Hits) error {
	out := npyHeader(hitsDescr, int64(h.Queries), int64(h.K))
	for i, row := range h.Row[:h.Queries*h.K] {
		out = binary.LittleEndian.AppendUint64(out, uint64(row))
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(h.Score[i]))
		if len(out) > 1<<20 || i == h.Queries*h.K-1 {
			if _, err := w.Write(out); err != nil {
				return fmt.Errorf("write .npy after %d of %d hits: %w", i, h.Queries*h.K, err)
			}
			out = out[:0]
		}
	}
	if len(out) > 0 {
		if _, err := w.Write(out); err != nil {
			return fmt.Errorf("write .npy header: %w", err)
		}
	}
	return nil
}
