package onnx

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// maxText bounds the names in a graph that are read into memory.
const maxText = 1 << 16

// decoder reads Protocol Buffers messages from a file without holding it in
// memory: what is not asked for is stepped over.
type decoder struct {
	src *io.SectionReader
	buf *bufio.Reader
	pos int64 // of the next byte
}

func newDecoder(r io.ReaderAt, size int64) *decoder {
	src := io.NewSectionReader(r, 0, size)
	return &decoder{src: src, buf: bufio.NewReader(src)}
}

// malformed is a fault at the place that was reached.
func (d *decoder) malformed(format string, args ...any) error {
	return fmt.Errorf("%w: byte %d: %s", ErrMalformed, d.pos, fmt.Sprintf(format, args...))
}

// field is what stands in front of a value: its number, wire type and, for
// length-delimited values, where it ends.
type field struct {
	number, wire int
	end          int64
}

// message reads the fields of a message that ends at end. visit consumes the
// value of each field it wants and says so; the others are stepped over.
func (d *decoder) message(end int64, visit func(f field) (bool, error)) error {
	for d.pos < end {
		tag, err := d.varint(end)
		if err != nil {
			return err
		}
		f := field{number: int(tag >> 3 & (1<<29 - 1)), wire: int(tag & 7)}
		if f.number == 0 || tag>>32 != 0 {
			return d.malformed("impossible field tag %d", tag)
		}
		if f.wire == wireBytes {
			n, err := d.varint(end)
			if err != nil {
				return err
			}
			if n > uint64(end-d.pos) {
				return d.malformed("field %d of %d bytes does not fit in the %d bytes left", f.number, n, end-d.pos)
			}
			f.end = d.pos + int64(n)
		}
		used, err := visit(f)
		if err != nil {
			return err
		}
		if used {
			continue
		}
		if err := d.skip(f, end); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) skip(f field, end int64) error {
	to := d.pos
	switch f.wire {
	case wireVarint:
		_, err := d.varint(end)
		return err
	case wireI64:
		to += 8
	case wireI32:
		to += 4
	case wireBytes:
		to = f.end
	default:
		return d.malformed("field %d has the unknown wire type %d", f.number, f.wire)
	}
	if to > end {
		return d.malformed("field %d is cut off", f.number)
	}
	// Initializers may hold gigabytes: jump rather than read through.
	if n := to - d.pos; n <= int64(d.buf.Buffered()) {
		if _, err := d.buf.Discard(int(n)); err != nil {
			return err
		}
	} else {
		if _, err := d.src.Seek(to, io.SeekStart); err != nil {
			return err
		}
		d.buf.Reset(d.src)
	}
	d.pos = to
	return nil
}

func (d *decoder) varint(end int64) (uint64, error) {
	var v uint64
	for shift := 0; shift < 64; shift += 7 {
		if d.pos >= end {
			return 0, d.malformed("a number is cut off")
		}
		b, err := d.buf.ReadByte()
		if err != nil {
			return 0, d.read(err)
		}
		d.pos++
		if shift == 63 && b > 1 {
			break
		}
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, nil
		}
	}
	return 0, d.malformed("a number has more than 64 bits")
}

// text reads a length-delimited field as a string.
func (d *decoder) text(f field) (string, error) {
	if f.wire != wireBytes {
		return "", d.malformed("field %d is no text", f.number)
	}
	n := f.end - d.pos
	if n > maxText {
		return "", d.malformed("text of %d bytes, the limit is %d", n, maxText)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(d.buf, b); err != nil {
		return "", d.read(err)
	}
	d.pos += n
	return string(b), nil
}

// number reads a varint field as a signed number.
func (d *decoder) number(f field, end int64) (int64, error) {
	if f.wire != wireVarint {
		return 0, d.malformed("field %d is no number", f.number)
	}
	v, err := d.varint(end)
	return int64(v), err
}

// nested reads a length-delimited field as a message.
func (d *decoder) nested(f field, visit func(f field) (bool, error)) error {
	if f.wire != wireBytes {
		return d.malformed("field %d is no message", f.number)
	}
	return d.message(f.end, visit)
}

// read names a fault of the file itself; its end is a fault of its content,
// because the sizes inside were checked against it.
func (d *decoder) read(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return d.malformed("the file ends here")
	}
	return err
}
