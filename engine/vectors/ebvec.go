package vectors

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"encbench/engine"
)

// A .ebvec file is written as a stream, while encoding goes on:
//
//	magic (8 bytes), length (u32), header as JSON, CRC-32C (u32) of all before
//	blocks: rows (u32, above 0), where the file has identifiers the end of each
//	  (u32, in the text) and the text, the rows, CRC-32C (u32) of all of the block
//	end: 0 (u32), number of rows (u64), CRC-32C (u32) of both, "EBVECend"
//
// All numbers are little-endian. A file that was cut off is good up to its last
// whole block, but a Reader gives an error behind that.
const (
	ebvecMagic     = "\x89EBVEC\r\n"
	ebvecEnd       = "EBVECend"
	ebvecMaxHeader = 1 << 20
	maxBlockText   = 1 << 30 // bytes of a block's identifiers
	maxBlockBytes  = 1 << 30 // of its rows
)

// EBVECSchema is the version of the format, the only one that is read.
const EBVECSchema = 1

// Header says what the vectors of a .ebvec file are.
type Header struct {
	Schema       int             `json:"schema"` // set by the writer
	Dim          int             `json:"dim"`
	Type         string          `json:"type"` // float32, float16 or bfloat16
	IDs          bool            `json:"ids"`  // every row has an identifier
	Model        string          `json:"model,omitempty"`
	ModelSHA256  string          `json:"model_sha256,omitempty"`
	Corpus       string          `json:"corpus,omitempty"`
	CorpusSHA256 string          `json:"corpus_sha256,omitempty"`
	Notes        []string        `json:"notes,omitempty"`
	Extra        json.RawMessage `json:"extra,omitempty"`
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func parseType(name string) (engine.Elem, bool) {
	for _, t := range []engine.Elem{engine.F32, engine.F16, engine.BF16} {
		if TypeName(t) == name {
			return t, true
		}
	}
	return 0, false
}

// openEBVEC reads the header.
func (r *Reader) openEBVEC() error {
	begin := make([]byte, 12)
	if _, err := io.ReadFull(r.in, begin); err != nil {
		return fmt.Errorf(".ebvec header: %w", ended(err))
	}
	size := binary.LittleEndian.Uint32(begin[8:])
	if size > ebvecMaxHeader {
		return fmt.Errorf("%w: a .ebvec header of %d bytes, more than %d", ErrDamaged, size, ebvecMaxHeader)
	}
	all := append(begin, make([]byte, size+4)...)
	if _, err := io.ReadFull(r.in, all[12:]); err != nil {
		return fmt.Errorf(".ebvec header: %w", ended(err))
	}
	body := all[:len(all)-4]
	if got, want := crc32.Checksum(body, castagnoli), binary.LittleEndian.Uint32(all[len(body):]); got != want {
		return fmt.Errorf("%w: the checksum of its header is %08x, want %08x", ErrDamaged, got, want)
	}
	var h Header
	if err := json.Unmarshal(body[12:], &h); err != nil {
		return fmt.Errorf("%w: its .ebvec header is not JSON: %w", ErrFormat, err)
	}
	if h.Schema != EBVECSchema {
		return fmt.Errorf("%w: .ebvec schema %d, this program knows %d", ErrFormat, h.Schema, EBVECSchema)
	}
	t, ok := parseType(h.Type)
	if !ok {
		return fmt.Errorf("%w: elements of type %.40q, want float32, float16 or bfloat16", ErrFormat, h.Type)
	}
	r.info = Info{Format: "ebvec", Type: t, Header: &h}
	if err := r.setShape(0, int64(h.Dim)); err != nil {
		return err
	}
	r.info.Rows = -1
	r.from = &blocks{ids: h.IDs}
	return nil
}

// blocks is the source of a .ebvec file. A block of the file is a block of the
// Reader, whatever its size.
type blocks struct {
	ids  bool
	head []byte
}

func (b *blocks) fill(r *Reader) (int, error) {
	var count [4]byte
	if _, err := io.ReadFull(r.in, count[:]); err != nil {
		return 0, fmt.Errorf("after row %d: %w", r.next, ended(err))
	}
	rows := int64(binary.LittleEndian.Uint32(count[:]))
	if rows == 0 {
		return 0, b.end(r)
	}
	if rows*int64(r.row) > maxBlockBytes {
		return 0, fmt.Errorf("%w: after row %d: a block of %d rows, more than %d bytes", ErrDamaged, r.next, rows, maxBlockBytes)
	}
	sum := crc32.Checksum(count[:], castagnoli)
	r.ids = idList{r.ids.text[:0], r.ids.end[:0]}
	if b.ids {
		var err error
		if sum, err = b.readIDs(r, rows, sum); err != nil {
			return 0, fmt.Errorf("identifiers after row %d: %w", r.next, err)
		}
	}
	if err := r.readRows(int(rows)); err != nil {
		return 0, err
	}
	sum = crc32.Update(sum, castagnoli, r.buf[:int(rows)*r.row])
	if _, err := io.ReadFull(r.in, count[:]); err != nil {
		return 0, fmt.Errorf("after row %d: %w", r.next+rows, ended(err))
	}
	if want := binary.LittleEndian.Uint32(count[:]); sum != want {
		return 0, fmt.Errorf("%w: the checksum of rows %d to %d is %08x, want %08x", ErrDamaged, r.next, r.next+rows-1, sum, want)
	}
	return int(rows), nil
}

// readIDs reads a block's identifiers and goes on with its checksum.
func (b *blocks) readIDs(r *Reader, rows int64, sum uint32) (uint32, error) {
	const step = 1 << 20
	raw, err := grow(r.in, b.head[:0], 4*rows, step)
	b.head = raw
	if err != nil {
		return 0, err
	}
	last := uint32(0)
	for i := 0; i < len(raw); i += 4 {
		end := binary.LittleEndian.Uint32(raw[i:])
		if end < last || end > maxBlockText {
			return 0, fmt.Errorf("%w: one ends at byte %d of their text, behind %d", ErrDamaged, end, last)
		}
		r.ids.end = append(r.ids.end, end)
		last = end
	}
	if r.ids.text, err = grow(r.in, r.ids.text, int64(last), step); err != nil {
		return 0, err
	}
	return crc32.Update(crc32.Update(sum, castagnoli, raw), castagnoli, r.ids.text), nil
}

// grow appends n bytes of in to dst, which grows by up to step or to twice its
// size as they come.
func grow(in io.Reader, dst []byte, n int64, step int) ([]byte, error) {
	for n > 0 {
		part := int(min(n, int64(max(step, len(dst)))))
		have := len(dst)
		dst = append(dst, make([]byte, part)...)
		if _, err := io.ReadFull(in, dst[have:]); err != nil {
			return dst[:have], ended(err)
		}
		n -= int64(part)
	}
	return dst, nil
}

// end reads what follows the last block.
func (b *blocks) end(r *Reader) error {
	tail := make([]byte, 4+8+4+len(ebvecEnd))
	if _, err := io.ReadFull(r.in, tail[4:]); err != nil {
		return fmt.Errorf("its end: %w", ended(err))
	}
	if got, want := crc32.Checksum(tail[:12], castagnoli), binary.LittleEndian.Uint32(tail[12:]); got != want || string(tail[16:]) != ebvecEnd {
		return fmt.Errorf("%w: the checksum of its end is %08x, want %08x, and the end mark is %q, want %q", ErrDamaged, got, want, tail[16:], ebvecEnd)
	}
	if n := binary.LittleEndian.Uint64(tail[4:]); n != uint64(r.next) {
		return fmt.Errorf("%w: it has %d rows, its end says %d", ErrDamaged, r.next, n)
	}
	if _, err := r.in.ReadByte(); err == nil {
		return fmt.Errorf("%w: bytes follow its end", ErrDamaged)
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	r.info.Rows = r.next
	return io.EOF
}

// Writer writes a .ebvec file, block by block.
type Writer struct {
	w    io.Writer
	h    Header
	t    engine.Elem
	n    int64
	buf  []byte
	flat []byte
}

// NewWriter writes the header; its Schema is set here.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	h.Schema = EBVECSchema
	t, ok := parseType(h.Type)
	if !ok || h.Dim < 1 || h.Dim > maxDim {
		return nil, fmt.Errorf("write .ebvec: %d values of type %q, want 1 to %d of float32, float16 or bfloat16", h.Dim, h.Type, maxDim)
	}
	text, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("write .ebvec header: %w", err)
	}
	if len(text) > ebvecMaxHeader {
		return nil, fmt.Errorf("write .ebvec header: %d bytes, more than %d", len(text), ebvecMaxHeader)
	}
	out := binary.LittleEndian.AppendUint32([]byte(ebvecMagic), uint32(len(text)))
	out = append(out, text...)
	out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(out, castagnoli))
	if _, err := w.Write(out); err != nil {
		return nil, fmt.Errorf("write .ebvec header: %w", err)
	}
	return &Writer{w: w, h: h, t: t}, nil
}

// Write adds rows as a block, up to 1 GiB of them. id gives the identifier of row i
// of the block; it is nil when the header says that there are none.
func (w *Writer) Write(r engine.Rows, id func(i int) []byte) error {
	if r.N == 0 {
		return nil
	}
	data, err := packed(&w.flat, r, w.h.Dim, w.t)
	switch {
	case err != nil:
		return fmt.Errorf("write .ebvec: %w", err)
	case len(data) > maxBlockBytes:
		return fmt.Errorf("write .ebvec: a block of %d bytes, more than %d", len(data), maxBlockBytes)
	case (id != nil) != w.h.IDs:
		return fmt.Errorf("write .ebvec: identifiers are %v in the header and %v of row %d", w.h.IDs, id != nil, w.n)
	}
	w.buf = binary.LittleEndian.AppendUint32(w.buf[:0], uint32(r.N))
	if id != nil {
		size := 0
		for i := range r.N {
			if size += len(id(i)); size > maxBlockText {
				return fmt.Errorf("write .ebvec: the identifiers of a block take more than %d bytes", maxBlockText)
			}
			w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(size))
		}
		for i := range r.N {
			w.buf = append(w.buf, id(i)...)
		}
	}
	sum := crc32.Update(crc32.Checksum(w.buf, castagnoli), castagnoli, data)
	var last [4]byte
	binary.LittleEndian.PutUint32(last[:], sum)
	for _, b := range [][]byte{w.buf, data, last[:]} {
		if _, err := w.w.Write(b); err != nil {
			return fmt.Errorf("write .ebvec after %d rows: %w", w.n, err)
		}
	}
	w.n += int64(r.N)
	return nil
}

// Close writes the end, without which the file counts as damaged. It does not
// close the io.Writer.
func (w *Writer) Close() error {
	out := binary.LittleEndian.AppendUint32(nil, 0)
	out = binary.LittleEndian.AppendUint64(out, uint64(w.n))
	out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(out, castagnoli))
	if _, err := w.w.Write(append(out, ebvecEnd...)); err != nil {
		return fmt.Errorf("write .ebvec after %d rows: %w", w.n, err)
	}
	return nil
}
