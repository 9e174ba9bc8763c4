package run

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// maxIndex bounds the body of an index, and so does indexBound: a reader holds it
// in memory.
const maxIndex = 1 << 30

// indexBound says how large the body of an index can be behind so many bytes of
// file. A frame takes fewer bytes there, three numbers of up to 5 and maxFirst + 1,
// than head and fixed beginning of its payload have.
func indexBound(before int64) int64 { return min(maxIndex, before+binary.MaxVarintLen64) }

// parseTrailer reads the last trailerSize bytes of a file; at is where the index
// lies.
func parseTrailer(b []byte) (t Totals, at int64, err error) {
	u64 := func(at int) int64 { return int64(binary.LittleEndian.Uint64(b[at:])) }
	if string(b[40:]) != endMark {
		return t, 0, fmt.Errorf("%w: it ends with %q, not with %q", ErrTruncated, b[40:], endMark)
	}
	if got, want := checksum(b[:36]), binary.LittleEndian.Uint32(b[36:]); got != want {
		return t, 0, fmt.Errorf("%w: the checksum of its trailer is %08x, want %08x", ErrDamaged, got, want)
	}
	t = Totals{Frames: int(binary.LittleEndian.Uint32(b[32:])), Queries: u64(8), Rows: u64(16), TiesAtCut: u64(24)}
	return t, u64(0), nil
}

// parseIndex reads an index from its mark to its checksum; it leaves Offset 0.
func parseIndex(b []byte) ([]FrameInfo, error) {
	body := b[8 : len(b)-4]
	if got, want := checksum(b[:len(b)-4]), binary.LittleEndian.Uint32(b[len(b)-4:]); got != want {
		return nil, fmt.Errorf("%w: the checksum of its index is %08x, want %08x", ErrDamaged, got, want)
	}
	bad := false
	number := func() int64 {
		v, n := binary.Uvarint(body)
		if n <= 0 || v > 1<<62 {
			bad, n, v = true, 0, 0
		}
		body = body[n:]
		return int64(v)
	}
	count := number()
	if bad || count > int64(len(body))/4 { // four numbers each
		return nil, fmt.Errorf("%w: an index of %d bytes cannot hold %d frames", ErrDamaged, len(b), count)
	}
	frames := make([]FrameInfo, count)
	for i := range frames {
		f := &frames[i]
		f.Bytes, f.Queries, f.Rows = number(), number(), number()
		if n := number(); n <= min(maxFirst, int64(len(body))) {
			f.First, body = string(body[:n]), body[n:]
		} else {
			bad = true
		}
	}
	if bad || len(body) > 0 {
		return nil, fmt.Errorf("%w: its index does not hold together", ErrDamaged)
	}
	return frames, nil
}

// readEnd reads index and trailer behind the last frame.
func (r *Reader) readEnd() error {
	start := r.at
	fault := func(kind error, reason string) error {
		d := &Damage{File: r.name, Offset: start, Queries: -1, Rows: -1, Reason: reason, Kind: kind}
		if !r.opt.Skip {
			return d
		}
		r.damage = append(r.damage, d)
		return io.EOF
	}
	whole := "; " + wholeBefore(r.next.queriesBefore, r.next.rowsBefore)
	begin, _ := r.in.Peek(8) // what keeps it from 8 bytes meets the reading below too
	size := uint32(0)
	if len(begin) == 8 {
		size = binary.LittleEndian.Uint32(begin[4:])
	}
	if int64(size) > indexBound(start) {
		return fault(ErrDamaged, fmt.Sprintf("an index of %d bytes", size)+whole)
	}
	want := 8 + int64(size) + 4 + trailerSize
	all, err := io.ReadAll(io.LimitReader(r.in, want))
	switch {
	case err != nil:
		return fmt.Errorf("read %s after %d bytes: %w", r.name, start+int64(len(all)), err)
	case int64(len(all)) < want:
		return fault(ErrTruncated, fmt.Sprintf("the file ends after %d of its %d bytes", len(all), want)+whole)
	}
	r.at += want
	frames, err := parseIndex(all[:len(all)-trailerSize])
	if err != nil {
		return fault(ErrDamaged, reasonOf(err)+whole)
	}
	t, at, err := parseTrailer(all[len(all)-trailerSize:])
	switch {
	case err != nil:
		return fault(ErrDamaged, reasonOf(err)+whole)
	case at != start || t.Frames != len(frames):
		return fault(ErrDamaged, fmt.Sprintf("the trailer says that an index of %d frames begins at byte %d, and one of %d begins at %d", t.Frames, at, len(frames), start))
	case t.Frames < int(r.next.number), t.Queries < int64(r.next.queriesBefore), t.Rows < int64(r.next.rowsBefore):
		return fault(ErrDamaged, fmt.Sprintf("it counts %d frames, %d queries and %d rows, and %d, %d and %d came before",
			t.Frames, t.Queries, t.Rows, r.next.number, r.next.queriesBefore, r.next.rowsBefore))
	}
	r.totals = t
	if t.Frames > int(r.next.number) {
		r.lost(start, head{queriesBefore: uint64(t.Queries), rowsBefore: uint64(t.Rows)}, "the index comes in its place")
		r.next.number = uint32(t.Frames)
	}
	if _, err := r.in.ReadByte(); err == nil {
		return fault(ErrDamaged, "more bytes follow; to join run files, merge them")
	}
	return io.EOF
}

// reasonOf gives the text of a fault without its kind.
func reasonOf(err error) string {
	for _, kind := range []error{ErrDamaged, ErrTruncated, ErrFormat} {
		if errors.Is(err, kind) {
			return err.Error()[len(kind.Error())+2:]
		}
	}
	return err.Error()
}

// peekEnd says whether a whole index and trailer lie ahead, as far as they fit the
// buffer.
func (r *Reader) peekEnd() (Totals, bool) {
	b, _ := r.in.Peek(8)
	if len(b) < 8 || string(b[:4]) != indexMark {
		return Totals{}, false
	}
	size := int64(binary.LittleEndian.Uint32(b[4:])) + 12 + trailerSize
	if size > int64(r.in.Size()) {
		return Totals{}, false
	}
	b, _ = r.in.Peek(int(size))
	if int64(len(b)) < size {
		return Totals{}, false
	}
	t, _, err := parseTrailer(b[size-trailerSize:])
	if _, bad := parseIndex(b[:size-trailerSize]); err != nil || bad != nil {
		return Totals{}, false
	}
	return t, t.Frames >= 0
}
