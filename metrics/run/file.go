package run

import (
	"errors"
	"fmt"
	"io"

	"encbench/metrics/ranking"

	"github.com/klauspost/compress/zstd"
)

// File is a whole run file with access to its frames by number. It is not for
// several goroutines at a time.
type File struct {
	r      io.ReaderAt
	name   string
	h      Header
	totals Totals
	frames []FrameInfo
	slot   slot
}

// FrameInfo is a frame as the index has it.
type FrameInfo struct {
	Offset, Bytes int64 // in the file, head included
	Queries, Rows int64
	First         string // its first query, cut at 64 bytes
}

// OpenFile reads header, trailer and index of a file of the given size. A file
// without its end is an ErrTruncated; a Reader still gives its whole frames.
func OpenFile(r io.ReaderAt, size int64, name string) (*File, error) {
	h, at, err := readHeader(io.NewSectionReader(r, 0, size))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	f := &File{r: r, name: name, h: h}
	if err := f.readIndex(at, size); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(maxFrameIDs))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	f.slot.dec.z = z
	return f, nil
}

// readIndex fills totals and frames; first is where the first frame begins.
func (f *File) readIndex(first, size int64) error {
	if size < first+8+4+trailerSize {
		return fmt.Errorf("%w: it has %d bytes, too few for an index", ErrTruncated, size)
	}
	var last [trailerSize]byte
	if _, err := f.r.ReadAt(last[:], size-trailerSize); err != nil {
		return fmt.Errorf("trailer at byte %d: %w", size-trailerSize, err)
	}
	t, at, err := parseTrailer(last[:])
	if err != nil {
		return err
	}
	length := size - trailerSize - at
	if at < first || length < 12 || length-12 > indexBound(at) {
		return fmt.Errorf("%w: its index cannot begin at byte %d of %d", ErrDamaged, at, size)
	}
	raw := make([]byte, length)
	if _, err := f.r.ReadAt(raw, at); err != nil {
		return fmt.Errorf("index at byte %d: %w", at, err)
	}
	if string(raw[:4]) != indexMark {
		return fmt.Errorf("%w: its index starts with %q, want %q", ErrDamaged, raw[:4], indexMark)
	}
	frames, err := parseIndex(raw)
	if err != nil {
		return err
	}
	var queries, rows int64
	offset := first
	for n := range frames {
		i := &frames[n]
		i.Offset = offset
		if i.Bytes < headSize || i.Bytes > at-offset {
			return fmt.Errorf("%w: frame %d of %d bytes at byte %d ends behind the frames", ErrDamaged, n+1, i.Bytes, offset)
		}
		offset += i.Bytes
		queries += i.Queries
		rows += i.Rows
	}
	if offset != at || len(frames) != t.Frames || queries != t.Queries || rows != t.Rows {
		return fmt.Errorf("%w: its index holds %d frames, %d queries and %d rows up to byte %d, its trailer says %d, %d and %d up to %d",
			ErrDamaged, len(frames), queries, rows, offset, t.Frames, t.Queries, t.Rows, at)
	}
	f.totals, f.frames = t, frames
	return nil
}

// Header gives the file's header.
func (f *File) Header() Header { return f.h }

// Totals gives the counts of the file's end.
func (f *File) Totals() Totals { return f.totals }

// Frames gives the index. It belongs to the File.
func (f *File) Frames() []FrameInfo { return f.frames }

// Frame fills b with frame i, from 0. What b then holds belongs to the File and
// is valid until the next call of Frame or Find. A damaged frame is a *Damage.
func (f *File) Frame(i int, b *ranking.Block) error {
	if err := f.load(i, false); err != nil {
		return err
	}
	*b = f.slot.dec.block
	return nil
}

// load reads and decodes frame i.
func (f *File) load(i int, queriesOnly bool) error {
	info := f.frames[i]
	damaged := func(reason string) error {
		return &Damage{File: f.name, Frame: i + 1, Offset: info.Offset, Queries: info.Queries, Rows: info.Rows, Reason: reason, Kind: ErrDamaged}
	}
	raw := make([]byte, info.Bytes+slack)
	if _, err := f.r.ReadAt(raw[:info.Bytes], info.Offset); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: frame %d at byte %d: %w", f.name, i+1, info.Offset, err)
	}
	h, err := parseHead(raw[:headSize])
	switch {
	case err != nil:
		return damaged(err.Error())
	case int64(h.payload)+headSize != info.Bytes, int64(h.queries) != info.Queries, int64(h.rows) != info.Rows:
		return damaged(fmt.Sprintf("it has %d bytes, %d queries and %d rows, the index says %d, %d and %d",
			int64(h.payload)+headSize, h.queries, h.rows, info.Bytes, info.Queries, info.Rows))
	}
	f.slot.head, f.slot.payload, f.slot.err = h, raw[headSize:info.Bytes], nil
	if f.slot.decode(queriesOnly); f.slot.err != nil {
		return damaged(f.slot.err.Error())
	}
	return nil
}

// Find fills b with one query alone, as Frame does; false when the file has no
// such query. It reads frame after frame and decodes documents and scores of one.
func (f *File) Find(query string, b *ranking.Block) (bool, error) {
	for i := range f.frames {
		if err := f.load(i, true); err != nil {
			return false, err
		}
		ids := &f.slot.dec.block.Queries
		for q := range ids.Len() {
			if string(ids.At(q)) != query {
				continue
			}
			if err := f.load(i, false); err != nil {
				return false, err
			}
			*b = one(&f.slot.dec.block, q)
			return true, nil
		}
	}
	return false, nil
}

// one gives a view of query q alone.
func one(b *ranking.Block, q int) ranking.Block {
	lo, hi := b.Off[q], b.Off[q+1]
	out := ranking.Block{Off: []int32{0, hi - lo}, Docs: b.Docs, Sorted: b.Sorted, Score: b.Score[lo:hi]}
	out.Queries.Append(b.Queries.At(q))
	if b.Doc != nil {
		out.Doc = b.Doc[lo:hi]
	} else {
		out.Docs.Start, out.Docs.End = b.Docs.Start[lo:hi], b.Docs.End[lo:hi]
	}
	return out
}
