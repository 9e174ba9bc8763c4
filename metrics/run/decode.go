package run

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"encbench/metrics/ranking"

	"github.com/klauspost/compress/zstd"
)

// decoder turns frames into blocks. It keeps its memory: a block is valid until
// the next decode.
type decoder struct {
	z         *zstd.Decoder
	block     ranking.Block
	scores    scoreColumn
	numbers   []uint64
	lengths   []uint64
	unspelled bool   // give a dictionary in place of documents, where that is less work
	queries   []byte // text of the queries, when it was compressed
	text      []byte // text of the documents, when it was compressed
	ids       []byte // the documents, spelled out
	unspelt   digitDictionary
}

// errShort is the fault of a payload whose columns do not fit it.
var errShort = errors.New("its columns do not fit its size")

// cursor walks through a payload. What does not fit sets bad and gives nothing.
type cursor struct {
	b       []byte // the payload and slack behind it
	at, end int
	bad     bool
}

func (c *cursor) take(n int) []byte {
	if n < 0 || n > c.end-c.at {
		c.bad = true
		return nil
	}
	b := c.b[c.at : c.at+n]
	c.at += n
	return b
}

func (c *cursor) unpack(dst []uint64) {
	if c.bad {
		return
	}
	at, ok := unpack(dst, c.b, c.at, c.end)
	if !ok {
		c.bad = true
		return
	}
	c.at = at
}

// layout is the fixed beginning of a payload.
type layout struct {
	dict, width, score, exponent, flags byte
	base                                uint64
	prefix, queryText, queryStored      int
	docText, docStored, docSize         int
}

func parseLayout(b []byte) (layout, error) {
	u32 := func(at int) int { return int(binary.LittleEndian.Uint32(b[at:])) }
	l := layout{
		dict: b[0], width: b[1], score: b[2], exponent: b[3], flags: b[4], base: binary.LittleEndian.Uint64(b[8:]),
		prefix: u32(16), queryText: u32(20), queryStored: u32(24), docText: u32(28), docStored: u32(32), docSize: u32(36),
	}
	switch {
	case l.dict != dictDigits && l.dict != dictFront, l.width > maxDigits:
		return l, fmt.Errorf("dictionary of kind %d and %d digits", l.dict, l.width)
	case l.score < scoreF32 || l.score > scoreShort, l.exponent > maxExponent:
		return l, fmt.Errorf("scores of kind %d and exponent %d", l.score, l.exponent)
	case l.flags&^(flagSigned|flagQueries|flagDocs) != 0:
		return l, fmt.Errorf("flags %#x", l.flags)
	case l.prefix > MaxID:
		return l, fmt.Errorf("a prefix of %d bytes", l.prefix)
	case max(l.queryText, l.docText, l.docSize) > maxFrameIDs:
		return l, fmt.Errorf("identifiers of %d bytes", max(l.queryText, l.docText, l.docSize))
	}
	return l, nil
}

// decode fills the block from a payload, which has slack bytes behind it and whose
// checksum was right. It never panics: what no writer makes is an error.
func (d *decoder) decode(h head, payload []byte) error {
	c := &cursor{b: payload, end: int(h.payload)}
	l, q, err := d.decodeQueries(h, c)
	if err != nil {
		return err
	}
	b := &d.block
	// Rows of each query.
	c.unpack(d.numbers)
	if c.bad {
		return errShort
	}
	b.Off = append(slices.Grow(b.Off[:0], q+1), 0)
	rows, n := int64(0), int64(0)
	for _, v := range d.numbers {
		n += unzigzag(v)
		if rows += n; n < 0 || n > int64(h.rows) || rows > int64(h.rows) {
			return fmt.Errorf("its queries have other than %d rows", h.rows)
		}
		b.Off = append(b.Off, int32(rows))
	}
	if rows != int64(h.rows) {
		return fmt.Errorf("its queries have %d rows, not %d", rows, h.rows)
	}
	if err := d.documents(h, l, c); err != nil {
		return err
	}
	w := codeWidth(int(h.docs))
	codes := c.take((int(h.rows)*w + 7) / 8)
	if c.bad {
		return errShort
	}
	b.Doc = slices.Grow(b.Doc[:0], int(rows))[:rows]
	if top := unpackCodes(b.Doc, codes[:len(codes)+slack], uint(w)); rows > 0 && uint32(top) >= h.docs {
		return fmt.Errorf("a row names document %d of %d", top, h.docs)
	}
	return d.decodeScores(h, l, c)
}

// decodeQueries reads a payload's layout and its queries, and leaves room for
// their number in numbers.
func (d *decoder) decodeQueries(h head, c *cursor) (l layout, n int, err error) {
	fixed := c.take(fixedSize)
	if c.bad {
		return l, 0, errShort
	}
	if l, err = parseLayout(fixed); err != nil {
		return l, 0, err
	}
	c.take(l.prefix)
	n = int(h.queries)
	d.numbers = slices.Grow(d.numbers[:0], n)[:n]
	c.unpack(d.numbers)
	text, err := d.textColumn(c, &d.queries, l.queryText, l.queryStored, l.flags&flagQueries != 0)
	if err != nil {
		return l, 0, fmt.Errorf("queries: %w", err)
	}
	ids := &d.block.Queries
	ids.Reset()
	// Not ids.Bytes: that memory would be taken for the block's own.
	ids.Start, ids.End = slices.Grow(ids.Start, n), slices.Grow(ids.End, n)
	at := uint64(0)
	for _, size := range d.numbers {
		if size == 0 || size > MaxID || at+size > uint64(len(text)) {
			return l, 0, fmt.Errorf("a query of %d bytes", size)
		}
		ids.Start, ids.End = append(ids.Start, uint32(at)), append(ids.End, uint32(at+size))
		at += size
	}
	if at != uint64(len(text)) {
		return l, 0, fmt.Errorf("%d bytes of queries are left over", uint64(len(text))-at)
	}
	ids.Bytes = text
	return l, n, nil
}

// textColumn gives a column of text, a view of the payload or of buf.
func (d *decoder) textColumn(c *cursor, buf *[]byte, size, stored int, packed bool) ([]byte, error) {
	b := c.take(stored)
	switch {
	case c.bad:
		return nil, errShort
	case !packed && size != stored:
		return nil, errShort
	case !packed:
		return b, nil
	case expands(size, stored):
		return nil, fmt.Errorf("%d bytes would become %d, more than %d times", stored, size, maxExpand)
	}
	*buf = slices.Grow((*buf)[:0], size)
	out, err := d.z.DecodeAll(b, (*buf)[:0:size])
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	if len(out) != size {
		return nil, fmt.Errorf("zstd: %d bytes, want %d", len(out), size)
	}
	*buf = out
	return out, nil
}

// documents reads the dictionary.
func (d *decoder) documents(h head, l layout, c *cursor) error {
	n := int(h.docs)
	if (n == 0) != (h.rows == 0) {
		return fmt.Errorf("%d rows of %d documents", h.rows, n)
	}
	if expands(l.docSize, int(h.payload)) {
		return fmt.Errorf("documents of %d bytes in a frame of %d, more than %d times", l.docSize, h.payload, maxExpand)
	}
	d.numbers = slices.Grow(d.numbers[:0], n)[:n]
	c.unpack(d.numbers)
	if l.dict == dictFront {
		d.lengths = slices.Grow(d.lengths[:0], n)[:n]
		c.unpack(d.lengths)
	}
	text, err := d.textColumn(c, &d.text, l.docText, l.docStored, l.flags&flagDocs != 0)
	if err != nil {
		return fmt.Errorf("documents: %w", err)
	}
	prefix := c.b[fixedSize : fixedSize+l.prefix]
	ids := &d.block.Docs
	d.block.Sorted, d.block.Dictionary = true, nil
	digits := digitWriter{prefix, int(l.width)}
	if l.dict == dictDigits {
		size, err := digits.keys(d.numbers, text)
		if err == nil && size != l.docSize {
			err = fmt.Errorf("the documents take %d bytes, not %d", size, l.docSize)
		}
		if err != nil {
			return err
		}
		if d.unspelled {
			ids.Reset()
			d.unspelt = digitDictionary{digits, d.numbers}
			d.block.Dictionary = &d.unspelt
			return nil
		}
	}
	ids.Start, ids.End = slices.Grow(ids.Start[:0], n)[:n], slices.Grow(ids.End[:0], n)[:n]
	room := l.docSize + len(prefix) + maxDigits
	d.ids = slices.Grow(d.ids[:0], room)[:room]
	if l.dict == dictDigits {
		digits.write(d.ids, ids.Start, ids.End, d.numbers)
	} else {
		size, err := writeFront(d.ids[:l.docSize], ids.Start, ids.End, d.numbers, d.lengths, text)
		if err == nil && size != l.docSize {
			err = fmt.Errorf("the documents take %d bytes, not %d", size, l.docSize)
		}
		if err != nil {
			return err
		}
	}
	ids.Bytes = d.ids[:l.docSize]
	return nil
}

// writeFront spells the identifiers of a front-coded dictionary into buf and gives
// the bytes used.
func writeFront(buf []byte, start, end []uint32, shared, lengths []uint64, text []byte) (int, error) {
	at, last := 0, 0 // where this identifier and the one before it begin
	for i, same := range shared {
		rest := lengths[i]
		switch {
		case same > uint64(at-last), rest > uint64(len(text)), same+rest > uint64(len(buf)-at):
			return 0, fmt.Errorf("document %d does not fit", i)
		case same+rest == 0, same+rest > MaxID:
			return 0, fmt.Errorf("document %d has %d bytes", i, same+rest)
		}
		before := buf[last:at]
		copy(buf[at:], before[:same])
		copy(buf[at+int(same):], text[:rest])
		text = text[rest:]
		next := at + int(same+rest)
		// What the two share is equal by construction.
		if i > 0 && bytes.Compare(buf[at+int(same):next], before[same:]) <= 0 {
			return 0, fmt.Errorf("document %d is out of order", i)
		}
		start[i], end[i] = uint32(at), uint32(next)
		last, at = at, next
	}
	if len(text) > 0 {
		return 0, fmt.Errorf("%d bytes of documents are left over", len(text))
	}
	return at, nil
}

// decodeScores reads the last columns.
func (d *decoder) decodeScores(h head, l layout, c *cursor) error {
	b, s := &d.block, &d.scores
	s.kind, s.exponent, s.signed, s.base = l.score, l.exponent, l.flags&flagSigned != 0, l.base
	lists := 0
	for q := range b.Queries.Len() {
		if b.Off[q] < b.Off[q+1] {
			lists++
		}
	}
	steps := int(h.rows) - lists
	s.firsts = slices.Grow(s.firsts[:0], lists)[:lists]
	s.steps = slices.Grow(s.steps[:0], steps)[:steps]
	c.unpack(s.firsts)
	c.unpack(s.steps)
	if c.bad || c.at != c.end {
		return errShort
	}
	b.Score = slices.Grow(b.Score[:0], int(h.rows))[:h.rows]
	if !s.restore(b.Score, b.Off) {
		return errors.New("a score is no number")
	}
	return nil
}
