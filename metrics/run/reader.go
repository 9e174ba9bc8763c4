package run

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"

	"encbench/metrics/ranking"

	"github.com/klauspost/compress/zstd"
)

// Options of a Reader.
type Options struct {
	// Workers is how many frames are decoded ahead, each on a goroutine that ends
	// with its frame; 0 means one for each processor, 1 decodes within Next.
	Workers int
	// Skip passes over damaged frames and a missing end instead of failing; what was
	// lost is in Damage.
	Skip bool
	// Unspelled lets a block have a Dictionary in place of Docs, for who looks a few
	// documents up.
	Unspelled bool
	// QueriesOnly decodes queries and leaves Off, documents and scores of the blocks
	// empty.
	QueriesOnly bool
}

// Reader reads a run file as a stream. It holds a few frames in memory, whatever
// the size of the file. It is a [ranking.Source] for one goroutine: those that
// decode are its own.
type Reader struct {
	in   *bufio.Reader
	name string
	opt  Options
	h    Header
	z    *zstd.Decoder

	at     int64 // bytes read
	next   head  // number of the frame that comes next and what should lie before it
	queue  []*slot
	free   []*slot
	last   *slot // whose block the caller has
	seq    int   // of the next block
	end    error // nothing more to read: io.EOF or a fault
	failed error
	totals Totals
	damage []*Damage
}

// slot is a frame on its way.
type slot struct {
	dec     decoder
	payload []byte // and slack behind it
	head    head
	offset  int64
	err     error
	done    chan struct{}
}

// NewReader reads the header from r; name stands in messages. An input that is no
// run file is an ErrFormat, one that ends within the header an ErrTruncated.
func NewReader(r io.Reader, name string, opt Options) (*Reader, error) {
	if opt.Workers <= 0 {
		opt.Workers = runtime.GOMAXPROCS(0)
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(opt.Workers), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(maxFrameIDs))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	rd := &Reader{in: bufio.NewReaderSize(r, 256<<10), name: name, opt: opt, z: z}
	rd.h, rd.at, err = readHeader(rd.in)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return rd, nil
}

// readHeader reads the beginning of a file and gives its size.
func readHeader(r io.Reader) (Header, int64, error) {
	begin := make([]byte, len(magic)+4)
	n, err := io.ReadFull(r, begin)
	switch {
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return Header{}, 0, err
	case n < len(magic) && n > 0 && string(begin[:n]) == magic[:n], n >= len(magic) && Sniff(begin) && n < len(begin):
		return Header{}, 0, fmt.Errorf("%w: it ends within its header, after %d bytes", ErrTruncated, n)
	case !Sniff(begin):
		return Header{}, 0, fmt.Errorf("%w: it starts with %q, want %q", ErrFormat, begin[:min(n, len(magic))], magic)
	}
	size := binary.LittleEndian.Uint32(begin[len(magic):])
	if size > maxHeader {
		return Header{}, 0, fmt.Errorf("%w: its header has %d bytes, more than %d", ErrDamaged, size, maxHeader)
	}
	all := append(begin, make([]byte, int(size)+4)...)
	if n, err := io.ReadFull(r, all[len(begin):]); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return Header{}, 0, fmt.Errorf("%w: it ends within its header, after %d bytes", ErrTruncated, len(begin)+n)
	} else if err != nil {
		return Header{}, 0, err
	}
	body := all[:len(all)-4]
	if got, want := checksum(body), binary.LittleEndian.Uint32(all[len(body):]); got != want {
		return Header{}, 0, fmt.Errorf("%w: the checksum of its header is %08x, want %08x", ErrDamaged, got, want)
	}
	h, err := parseHeader(body[len(begin):])
	return h, int64(len(all)), err
}

// Header gives the file's header.
func (r *Reader) Header() Header { return r.h }

// Totals gives what the file's end says; it is zero before Next gave io.EOF, and
// where the end is lost.
func (r *Reader) Totals() Totals { return r.totals }

// Damage gives what was passed over so far, with Options.Skip.
func (r *Reader) Damage() []*Damage { return r.damage }

// Next fills b with the next frame: whole queries, Sorted and with codes. What b
// then holds belongs to the Reader and is valid until the next call; what b held
// before is let go. At the end it gives io.EOF. A damaged or truncated file gives
// its whole frames first and then a *Damage, on every further call too.
func (r *Reader) Next(b *ranking.Block) error {
	if r.last != nil {
		r.free = append(r.free, r.last)
		r.last = nil
	}
	for r.failed == nil {
		for r.end == nil && len(r.queue) < r.opt.Workers {
			r.end = r.readFrame()
		}
		if len(r.queue) == 0 {
			r.failed = r.end
			break
		}
		s := r.queue[0]
		r.queue = r.queue[1:]
		if s.done != nil {
			<-s.done
		}
		if s.err == nil {
			*b, r.last = s.dec.block, s
			b.Seq = r.seq
			r.seq++
			return nil
		}
		r.fault(r.damaged(s, s.err.Error()))
		r.free = append(r.free, s)
	}
	for _, s := range r.queue {
		if s.done != nil {
			<-s.done
		}
	}
	r.queue = nil
	return r.failed
}

// damaged describes a frame that was lost.
func (r *Reader) damaged(s *slot, reason string) *Damage {
	return &Damage{
		File: r.name, Frame: int(s.head.number) + 1, Offset: s.offset,
		Queries: int64(s.head.queries), Rows: int64(s.head.rows), Reason: reason, Kind: ErrDamaged,
	}
}

// fault passes over d or fails with it.
func (r *Reader) fault(d *Damage) {
	if r.opt.Skip {
		r.damage = append(r.damage, d)
	} else {
		r.failed = d
	}
}

// readFrame reads the next frame and begins to decode it. At the end of the input
// it gives io.EOF, or the fault for which nothing more can be read.
func (r *Reader) readFrame() error {
	b, err := r.in.Peek(headSize)
	if err != nil && err != io.EOF {
		return fmt.Errorf("read %s after %d bytes: %w", r.name, r.at, err)
	}
	if len(b) >= 4 && string(b[:4]) == indexMark {
		return r.readEnd()
	}
	if len(b) < headSize {
		return r.truncated(r.next, "the file ends there, before its index; "+wholeBefore(r.next.queriesBefore, r.next.rowsBefore), -1)
	}
	h, err := parseHead(b)
	if err == nil && (h.number < r.next.number || h.queriesBefore < r.next.queriesBefore || h.rowsBefore < r.next.rowsBefore) {
		err = fmt.Errorf("it says that it is frame %d", h.number+1)
	}
	if err != nil {
		return r.resync(err.Error())
	}
	if h.number != r.next.number {
		r.lost(r.at, h, fmt.Sprintf("frame %d comes in its place", h.number+1))
	}
	s := r.slot()
	s.head, s.offset = h, r.at
	r.discard(headSize)
	if err := r.readPayload(s); err != nil {
		return err
	}
	r.next = head{number: h.number + 1, queriesBefore: h.queriesBefore + uint64(h.queries), rowsBefore: h.rowsBefore + uint64(h.rows)}
	r.queue = append(r.queue, s)
	if r.opt.Workers == 1 {
		s.decode(r.opt.QueriesOnly)
		return nil
	}
	s.done = make(chan struct{})
	go func() {
		defer close(s.done)
		s.decode(r.opt.QueriesOnly)
	}()
	return nil
}

// discard passes over n bytes that were peeked at.
func (r *Reader) discard(n int) {
	r.in.Discard(n)
	r.at += int64(n)
}

func (r *Reader) slot() *slot {
	if n := len(r.free); n > 0 {
		s := r.free[n-1]
		r.free = r.free[:n-1]
		s.err, s.done = nil, nil
		return s
	}
	return &slot{dec: decoder{z: r.z, unspelled: r.opt.Unspelled}}
}

// lost queues a gap of frames before h, which begins at offset.
func (r *Reader) lost(offset int64, h head, reason string) {
	s := r.slot()
	s.offset, s.err = offset, errors.New(reason)
	s.head = r.next
	s.head.queries, s.head.rows = uint32(h.queriesBefore-r.next.queriesBefore), uint32(h.rowsBefore-r.next.rowsBefore)
	r.queue = append(r.queue, s)
}

// truncated is the fault of a file that ends within the frame h or, with lost −1,
// where its frame or its index should begin.
func (r *Reader) truncated(h head, reason string, lost int64) error {
	d := &Damage{File: r.name, Frame: int(h.number) + 1, Offset: r.at, Queries: lost, Rows: int64(h.rows), Reason: reason, Kind: ErrTruncated}
	if lost < 0 {
		d.Rows = -1
	}
	if !r.opt.Skip {
		return d
	}
	r.damage = append(r.damage, d)
	return io.EOF
}

// readPayload fills s.payload. Memory grows with what is really there.
func (r *Reader) readPayload(s *slot) error {
	const step = 4 << 20
	want := int(s.head.payload)
	s.payload = s.payload[:0]
	for len(s.payload) < want {
		have := len(s.payload)
		n := min(want-have, max(step, have))
		s.payload = slices.Grow(s.payload, n+slack)[:have+n]
		m, err := io.ReadFull(r.in, s.payload[have:])
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			r.at = s.offset
			return r.truncated(s.head, fmt.Sprintf("the file ends after %d of its %d bytes; %s",
				headSize+have+m, headSize+want, wholeBefore(r.next.queriesBefore, r.next.rowsBefore)), int64(s.head.queries))
		}
		if err != nil {
			return fmt.Errorf("read %s after %d bytes: %w", r.name, r.at+int64(have+m), err)
		}
	}
	s.payload = slices.Grow(s.payload, slack)
	r.at += int64(want)
	return nil
}

// decode checks the payload and spells out the block.
func (s *slot) decode(queriesOnly bool) {
	if got := checksum(s.payload); got != s.head.sum {
		s.err = fmt.Errorf("the checksum of its %d bytes is %08x, want %08x", len(s.payload), got, s.head.sum)
		return
	}
	payload := s.payload[:len(s.payload)+slack]
	if queriesOnly {
		_, _, s.err = s.dec.decodeQueries(s.head, &cursor{b: payload, end: int(s.head.payload)})
		return
	}
	s.err = s.dec.decode(s.head, payload)
}

// resync looks for the next frame or the index after a damaged head.
func (r *Reader) resync(reason string) error {
	start := r.at
	if !r.opt.Skip {
		return &Damage{File: r.name, Frame: int(r.next.number) + 1, Offset: start, Queries: -1, Rows: -1, Reason: reason, Kind: ErrDamaged}
	}
	for {
		r.discard(1)
		b, err := r.in.Peek(64 << 10)
		if err != nil && err != io.EOF {
			return fmt.Errorf("read %s after %d bytes: %w", r.name, r.at, err)
		}
		i := bytes.Index(b, []byte("EB")) // begins both marks
		if i < 0 {
			i = max(len(b)-1, 0)
		}
		r.discard(i)
		b, _ = r.in.Peek(headSize)
		if len(b) < headSize {
			r.at = start
			return r.truncated(r.next, reason+", and no frame follows", -1)
		}
		if h, err := parseHead(b); err == nil && h.number >= r.next.number && h.queriesBefore >= r.next.queriesBefore && h.rowsBefore >= r.next.rowsBefore {
			r.lost(start, h, reason)
			r.next.number, r.next.queriesBefore, r.next.rowsBefore = h.number, h.queriesBefore, h.rowsBefore
			return nil
		}
		if end, ok := r.peekEnd(); ok {
			r.lost(start, head{queriesBefore: uint64(end.Queries), rowsBefore: uint64(end.Rows)}, reason)
			r.next = head{number: uint32(end.Frames), queriesBefore: uint64(end.Queries), rowsBefore: uint64(end.Rows)}
			return nil
		}
	}
}
