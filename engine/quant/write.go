package quant

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"

	"encbench/engine"
	"encbench/engine/model"
)

// pieceBytes is how much of a tensor is read at a time, a multiple of every element's
// size.
const pieceBytes = 1 << 20

// Write writes the file: header and data, the same bytes for the same weights. It
// stops when ctx ends. progress, unless it is nil, is told after every piece how many
// bytes of data are written, of how many.
//
// Errors name the tensor, the row and the column or, of a vector, the place of the
// value that cannot be converted, from 0, and the value.
func (c *Conversion) Write(ctx context.Context, w io.Writer, progress func(done, total int64)) error {
	if err := c.write(ctx, w, progress); err != nil {
		return fmt.Errorf("convert the weights of %s to %s: %w", c.name, c.to, err)
	}
	return nil
}

func (c *Conversion) write(ctx context.Context, w io.Writer, progress func(done, total int64)) error {
	meta := map[string]string{"encbench": fmt.Sprintf("%s, rule %d", c.to, Version)}
	f, err := model.NewWriter(w, c.Tensors(), meta)
	if err != nil {
		return err
	}
	var done, total int64
	for _, p := range c.parts {
		total += p.spec.Bytes()
	}
	out := func(b []byte) error {
		if _, err := f.Write(b); err != nil {
			return err
		}
		done += int64(len(b))
		if progress != nil {
			progress(done, total)
		}
		return ctx.Err()
	}
	for _, p := range c.parts {
		switch p.how {
		case copied:
			err = c.copy(p, out)
		case narrowed:
			err = c.narrow(p, out)
		case quantised:
			err = c.quantise(p, out)
		case scales:
			err = c.scales(p, out)
		}
		if err != nil {
			return err
		}
	}
	return f.Close()
}

// copy gives the tensor's bytes as they are.
func (c *Conversion) copy(p part, out func([]byte) error) error {
	return c.pieces(p.from, pieceBytes, func(_ int64, b []byte) error { return out(b) })
}

// narrow rounds value by value to a narrower float, or widens to float32.
func (c *Conversion) narrow(p part, out func([]byte) error) error {
	values := make([]float32, pieceBytes/2)
	buf := make([]byte, 0, 2*pieceBytes)
	size := elementBytes(p.from.DType)
	return c.pieces(p.from, pieceBytes, func(at int64, b []byte) error {
		v := values[:len(b)/size]
		widen(v, b, p.from.DType)
		if i := notFinite(v); i >= 0 {
			return place(p.from, at/int64(size)+int64(i), v[i], ErrNotFinite, "the weights are damaged; get the model again")
		}
		buf = buf[:0]
		for i, x := range v {
			switch p.spec.DType {
			case model.F16:
				h := engine.F32ToF16(x)
				if h&0x7fff == 0x7c00 {
					return place(p.from, at/int64(size)+int64(i), x, ErrRange, "float16 ends at ±65,504; bfloat16 has the range of float32")
				}
				buf = binary.LittleEndian.AppendUint16(buf, h)
			case model.BF16:
				h := engine.F32ToBF16(x)
				if h&0x7fff == 0x7f80 {
					return place(p.from, at/int64(size)+int64(i), x, ErrRange, "bfloat16 ends at ±3.39e38; leave the weights in float32")
				}
				buf = binary.LittleEndian.AppendUint16(buf, h)
			default:
				buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(x))
			}
		}
		return out(buf)
	})
}

// quantise gives the rows as int8.
func (c *Conversion) quantise(p part, out func([]byte) error) error {
	var q []byte
	return c.rows(p.from, func(row []float32) error {
		if q == nil {
			q = make([]byte, len(row))
		}
		quantiseRow(q, row, rowScale(row))
		return out(q)
	})
}

// scales gives the scale of every row.
func (c *Conversion) scales(p part, out func([]byte) error) error {
	buf := make([]byte, 0, p.spec.Bytes())
	err := c.rows(p.from, func(row []float32) error {
		buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(rowScale(row)))
		return nil
	})
	if err != nil {
		return err
	}
	return out(buf)
}

// rows reads a matrix row by row and refuses values that are not finite. The row is
// valid until the next.
func (c *Conversion) rows(t model.Tensor, use func(row []float32) error) error {
	in := t.Shape[1]
	size := elementBytes(t.DType)
	row := make([]float32, in)
	raw := make([]byte, in*size)
	r := bufio.NewReaderSize(c.weights.Section(t), pieceBytes)
	for n := range t.Shape[0] {
		if _, err := io.ReadFull(r, raw); err != nil {
			return fmt.Errorf("tensor %s: read row %d: %w", t.Name, n, err)
		}
		widen(row, raw, t.DType)
		if i := notFinite(row); i >= 0 {
			return place(t, int64(n)*int64(in)+int64(i), row[i], ErrNotFinite, "the weights are damaged; get the model again")
		}
		if err := use(row); err != nil {
			return err
		}
	}
	return nil
}

// pieces reads a tensor's bytes piece by piece; at counts from its first byte.
func (c *Conversion) pieces(t model.Tensor, size int, use func(at int64, b []byte) error) error {
	r := c.weights.Section(t)
	buf := make([]byte, min(int64(size), t.Bytes))
	for at := int64(0); at < t.Bytes; {
		b := buf[:min(int64(len(buf)), t.Bytes-at)]
		if _, err := io.ReadFull(r, b); err != nil {
			return fmt.Errorf("tensor %s: read at byte %d: %w", t.Name, at, err)
		}
		if err := use(at, b); err != nil {
			return err
		}
		at += int64(len(b))
	}
	return nil
}

// place is the error for one value of a tensor.
func place(t model.Tensor, index int64, v float32, cause error, advice string) error {
	where := fmt.Sprintf("value %d", index)
	if len(t.Shape) == 2 {
		in := int64(t.Shape[1])
		where = fmt.Sprintf("row %d, column %d", index/in, index%in)
	}
	return fmt.Errorf("tensor %s, %s: %w: %s; %s", t.Name, where, cause, strconv.FormatFloat(float64(v), 'g', -1, 32), advice)
}
