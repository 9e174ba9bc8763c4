package run

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"

	"encbench/metrics/ranking"

	"github.com/klauspost/compress/zstd"
)

// frameRows and frameIDs end a frame: it takes another query only while its rows
// and the bytes of its identifiers, counted row by row, stay within them.
const (
	frameRows = 64 << 10
	frameIDs  = 16 << 20
)

// Writer writes a run file as a stream. Frames are encoded on as many goroutines
// as there are processors, each of which ends with its frame, and written in
// order by the calls of Write and Close. After an error every call gives it again.
type Writer struct {
	w     io.Writer
	h     Header
	z     *zstd.Encoder
	err   error
	queue []*job // frames under way, in order
	free  []*job
	now   *job            // being filled
	known map[string]bool // every query so far
	at    int64           // bytes written
	next  head            // of the frame after those begun: number and what came before
	index []FrameInfo
	ties  int64

	workers, rows int
}

// job is a frame on its way.
type job struct {
	pending pending
	enc     encoder
	before  head
	first   string // first query, cut
	frame   []byte
	head    head
	err     error
	done    chan struct{}
}

// NewWriter writes the header and gives a Writer for the rest. h.Schema is set by
// it, an empty h.Order means OrderTREC.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	begin, err := appendHeader(nil, h)
	if err != nil {
		return nil, err
	}
	if h.Order == "" {
		h.Order = OrderTREC
	}
	workers := runtime.GOMAXPROCS(0)
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(workers), zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true))
	if err != nil {
		return nil, fmt.Errorf("write run file: %w", err)
	}
	out := &Writer{w: w, h: h, z: z, known: map[string]bool{}, workers: workers, rows: frameRows}
	if err := out.write(begin); err != nil {
		return nil, err
	}
	return out, nil
}

// Write adds the queries of b. b is the caller's again when Write returns. It
// refuses a query that was written before, a list longer than the header's K, an
// empty identifier or one above MaxID bytes, a score that is no number, and, at the
// latest in Close, a document that occurs twice in a list; the error names them. In OrderTREC the rows of a query may
// come in any order.
func (w *Writer) Write(b *ranking.Block) error {
	if w.err == nil {
		w.err = w.add(b)
	}
	return w.err
}

func (w *Writer) add(b *ranking.Block) error {
	if err := checkShape(b); err != nil {
		return err
	}
	for q := range b.Queries.Len() {
		id := b.Queries.At(q)
		lo, hi := int(b.Off[q]), int(b.Off[q+1])
		size, err := w.checkQuery(b, id, lo, hi)
		if err != nil {
			return err
		}
		if p := w.pending(); p.queries.Len() > 0 &&
			(len(p.score)+hi-lo > w.rows || len(p.docs.Bytes)+len(p.queries.Bytes)+size+len(id) > frameIDs) {
			if err := w.flush(); err != nil {
				return err
			}
		}
		p := w.pending()
		p.queries.Append(id)
		for r := lo; r < hi; r++ {
			p.docs.Append(b.DocAt(r))
		}
		p.score = append(p.score, b.Score[lo:hi]...)
		p.off = append(p.off, int32(len(p.score)))
		if k := w.h.K; k > 0 && hi-lo >= k && tiedAtEnd(b.Score[lo:hi]) {
			w.ties++
		}
	}
	return nil
}

// tiedAtEnd says whether the lowest score of a list occurs more than once.
func tiedAtEnd(scores []float64) bool {
	n, low := 0, scores[0]
	for _, s := range scores {
		switch {
		case s < low:
			n, low = 1, s
		case s == low:
			n++
		}
	}
	return n > 1
}

// checkShape makes sure that what b says of itself holds together.
func checkShape(b *ranking.Block) error {
	rows := len(b.Score)
	if b.Len() == 0 && len(b.Off) == 0 && rows == 0 {
		return nil
	}
	ok := len(b.Off) == b.Queries.Len()+1 && b.Off[0] == 0 && int(b.Off[len(b.Off)-1]) == rows
	for q := 0; ok && q < b.Queries.Len(); q++ {
		ok = b.Off[q] <= b.Off[q+1]
	}
	if b.Doc == nil {
		ok = ok && b.Docs.Len() == rows
	} else {
		ok = ok && len(b.Doc) == rows
		for r := 0; ok && r < rows; r++ {
			ok = b.Doc[r] >= 0 && int(b.Doc[r]) < b.Docs.Len()
		}
	}
	if !ok {
		return fmt.Errorf("write run: a block of %d queries, %d offsets, %d rows and %d documents does not hold together",
			b.Queries.Len(), len(b.Off), rows, b.Docs.Len())
	}
	return nil
}

// checkQuery refuses what a file may not hold and gives the bytes of the
// documents' identifiers.
func (w *Writer) checkQuery(b *ranking.Block, id []byte, lo, hi int) (size int, err error) {
	switch {
	case len(id) == 0:
		return 0, fmt.Errorf("write run: query %d has an empty identifier", int(w.next.queriesBefore)+w.pending().queries.Len()+1)
	case len(id) > MaxID:
		return 0, fmt.Errorf("write run: the identifier of query %.40q… has %d bytes, more than %d", id, len(id), MaxID)
	case hi-lo > maxFrameRows:
		return 0, fmt.Errorf("write run: query %.200q has %d rows, more than %d", id, hi-lo, maxFrameRows)
	case w.h.K > 0 && hi-lo > w.h.K:
		return 0, fmt.Errorf("write run: query %.200q has %d rows, and the header says that lists were cut at %d", id, hi-lo, w.h.K)
	case w.known[string(id)]:
		return 0, fmt.Errorf("write run: query %.200q came before; a run holds all rows of a query together", id)
	}
	w.known[string(id)] = true
	for r := lo; r < hi; r++ {
		doc := b.DocAt(r)
		size += len(doc)
		switch s := b.Score[r]; {
		case len(doc) == 0:
			return 0, fmt.Errorf("write run: query %.200q has an empty document identifier in its row %d", id, r-lo+1)
		case len(doc) > MaxID:
			return 0, fmt.Errorf("write run: query %.200q: document %.40q… has an identifier of %d bytes, more than %d", id, doc, len(doc), MaxID)
		case s != s:
			return 0, fmt.Errorf("write run: query %.200q: the score of document %.200q is not a number", id, doc)
		}
	}
	if size > maxFrameIDs {
		return 0, fmt.Errorf("write run: the identifiers of query %.200q take %d bytes, more than %d", id, size, maxFrameIDs)
	}
	return size, nil
}

// pending gives the frame that is being filled.
func (w *Writer) pending() *pending {
	if w.now == nil {
		if n := len(w.free); n > 0 {
			w.now, w.free = w.free[n-1], w.free[:n-1]
		} else {
			w.now = &job{}
			w.now.enc.z = w.z
		}
		w.now.pending.reset()
	}
	return &w.now.pending
}

// flush sends the frame that is being filled to be encoded, and writes those that
// are done, so that at most workers+1 are under way.
func (w *Writer) flush() error {
	j := w.now
	w.now = nil
	j.before, j.done = w.next, make(chan struct{})
	j.first = string(j.pending.queries.At(0)[:min(maxFirst, len(j.pending.queries.At(0)))])
	w.next.number++
	w.next.queriesBefore += uint64(j.pending.queries.Len())
	w.next.rowsBefore += uint64(len(j.pending.score))
	go func() {
		defer close(j.done)
		j.frame, j.head, j.err = j.enc.encode(&j.pending, w.h.Order, j.before)
	}()
	w.queue = append(w.queue, j)
	return w.drain(w.workers)
}

// drain writes frames in order until at most left are under way.
func (w *Writer) drain(left int) error {
	for len(w.queue) > left {
		j := w.queue[0]
		<-j.done
		w.queue = w.queue[1:]
		if j.err != nil {
			return fmt.Errorf("write run: %w", j.err)
		}
		w.index = append(w.index, FrameInfo{Bytes: int64(len(j.frame)), Queries: int64(j.head.queries), Rows: int64(j.head.rows), First: j.first})
		if err := w.write(j.frame); err != nil {
			return err
		}
		w.free = append(w.free, j)
	}
	return nil
}

func (w *Writer) write(b []byte) error {
	n, err := w.w.Write(b)
	w.at += int64(n)
	if err != nil {
		return fmt.Errorf("write run file after %d bytes: %w", w.at, err)
	}
	return nil
}

// errClosed is what a Writer gives after its Close.
var errClosed = errors.New("write run: the writer is closed")

// Close writes the frames under way, the index and the trailer. It does not close
// the io.Writer. Without it the file counts as truncated.
func (w *Writer) Close() error {
	if w.err == nil && w.now != nil && w.now.pending.queries.Len() > 0 {
		w.err = w.flush()
	}
	if w.err == nil {
		w.err = w.drain(0)
	}
	for _, j := range w.queue {
		<-j.done
	}
	if w.err == nil {
		if w.err = w.write(appendIndex(nil, w.index, w.at, Totals{
			Frames: len(w.index), Queries: int64(w.next.queriesBefore), Rows: int64(w.next.rowsBefore), TiesAtCut: w.ties,
		})); w.err == nil {
			w.err = errClosed
			return nil
		}
	}
	return w.err
}

// TiesAtCut gives how many lists so far have their lowest score more than once
// and are as long as the header's K: which of the equal documents were kept is
// chance, or the order of a search.
func (w *Writer) TiesAtCut() int64 { return w.ties }

// Totals is what a file says at its end of all frames.
type Totals struct {
	Frames    int
	Queries   int64
	Rows      int64
	TiesAtCut int64 // as Writer.TiesAtCut
}

// appendIndex appends the index, which lies at the given place, and the trailer.
func appendIndex(dst []byte, frames []FrameInfo, at int64, t Totals) []byte {
	var body []byte
	body = binary.AppendUvarint(body, uint64(len(frames)))
	for _, f := range frames {
		body = binary.AppendUvarint(body, uint64(f.Bytes))
		body = binary.AppendUvarint(body, uint64(f.Queries))
		body = binary.AppendUvarint(body, uint64(f.Rows))
		body = binary.AppendUvarint(body, uint64(len(f.First)))
		body = append(body, f.First...)
	}
	start := len(dst)
	dst = append(dst, indexMark...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(body)))
	dst = append(dst, body...)
	dst = binary.LittleEndian.AppendUint32(dst, checksum(dst[start:]))
	start = len(dst)
	for _, v := range [...]uint64{uint64(at), uint64(t.Queries), uint64(t.Rows), uint64(t.TiesAtCut)} {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(t.Frames))
	dst = binary.LittleEndian.AppendUint32(dst, checksum(dst[start:]))
	return append(dst, endMark...)
}
