package run

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"encbench/metrics/ranking"

	"github.com/klauspost/compress/zstd"
)

// A payload begins with fixedSize bytes that say how the columns are stored:
//
//	0  kind of dictionary   1  its digits   2  kind of scores   3  their exponent   4  flags
//	8  base of the scores' firsts (u64)
//	16 bytes of the dictionary's prefix (u32)
//	20 bytes of the text of queries, and 24 as stored
//	28 bytes of the text of documents, and 32 as stored
//	36 bytes of all documents spelled out
//
// and then come the prefix, query lengths (packed), query text, rows of each query
// (packed, zigzag of the difference to the query before), the dictionary's numbers
// (packed), its lengths (packed, only front coded), its text, the codes (each of
// the bits that the last document's needs), the firsts and the steps (packed).
const (
	fixedSize   = 40
	flagSigned  = 1
	flagQueries = 2 // the text of queries is a zstd frame
	flagDocs    = 4 // that of documents is
)

// pending is what a frame is made of: whole queries, the identifier of each row.
type pending struct {
	queries ranking.IDs
	off     []int32
	docs    ranking.IDs
	score   []float64
}

func (p *pending) reset() {
	p.queries.Reset()
	p.docs.Reset()
	p.off, p.score = append(p.off[:0], 0), p.score[:0]
}

// encoder turns pending queries into frames. It keeps its memory.
type encoder struct {
	z       *zstd.Encoder
	dict    dictionary
	scores  scoreColumn
	numbers []uint64
	score   []float64 // of each row, in the order of the frame
	seen    []uint32  // by code: 1 + the query that named it last
	list    []scored
	packed  []byte // query and document text, compressed
	out     []byte
}

// scored is a row on its way through a sort.
type scored struct {
	score float64
	code  int32
}

// encode gives the frame of p; the bytes are valid until the next call. before says what earlier frames held; its other fields are set here.
func (e *encoder) encode(p *pending, order string, before head) ([]byte, head, error) {
	h := before
	h.queries, h.rows = uint32(p.queries.Len()), uint32(len(p.score))
	for _, plain := range [...]bool{false, true} {
		e.dict.build(&p.docs, plain)
		if err := e.checkRepeats(p); err != nil {
			return nil, h, err
		}
		e.score = append(e.score[:0], p.score...)
		if order == OrderTREC {
			e.sort(p.off)
		}
		h.docs = uint32(e.dict.n)
		e.payload(p, plain)
		if h.payload = uint32(len(e.out) - headSize); !expands(e.dict.size, len(e.out)-headSize) {
			break
		}
	}
	h.sum = checksum(e.out[headSize:])
	appendHead(e.out[:0], h)
	return e.out, h, nil
}

// expands says whether identifiers of size bytes are more than a reader accepts
// from so many bytes of payload.
func expands(size, payload int) bool { return size > freeIDs && size/maxExpand > payload }

// checkRepeats makes sure that no list has a document twice.
func (e *encoder) checkRepeats(p *pending) error {
	e.seen = slices.Grow(e.seen[:0], e.dict.n)[:e.dict.n]
	clear(e.seen)
	for q := range p.queries.Len() {
		mark := uint32(q + 1)
		for r := p.off[q]; r < p.off[q+1]; r++ {
			code := e.dict.codes[r]
			if e.seen[code] == mark {
				return fmt.Errorf("query %.200q names document %.200q twice", p.queries.At(q), p.docs.At(int(r)))
			}
			e.seen[code] = mark
		}
	}
	return nil
}

// sort puts the rows of each list, scores and codes, in trec_eval's order. Codes
// are ordered as identifiers are.
func (e *encoder) sort(off []int32) {
	for q := range len(off) - 1 {
		score, code := e.score[off[q]:off[q+1]], e.dict.codes[off[q]:off[q+1]]
		if inOrder(score, code) {
			continue
		}
		e.list = e.list[:0]
		for i, s := range score {
			e.list = append(e.list, scored{s, code[i]})
		}
		slices.SortFunc(e.list, func(a, b scored) int {
			return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.code, a.code))
		})
		for i, s := range e.list {
			score[i], code[i] = s.score, s.code
		}
	}
}

func inOrder(score []float64, code []int32) bool {
	for i := 1; i < len(score); i++ {
		if score[i] > score[i-1] || score[i] == score[i-1] && code[i] >= code[i-1] {
			return false
		}
	}
	return true
}

// payload fills out with room for the head and the payload.
func (e *encoder) payload(p *pending, plain bool) {
	d, c := &e.dict, &e.scores
	c.build(e.score, p.off)
	var fixed [fixedSize]byte
	fixed[0], fixed[1], fixed[2], fixed[3] = d.kind, byte(d.width), c.kind, c.exponent
	if c.signed {
		fixed[4] |= flagSigned
	}
	binary.LittleEndian.PutUint64(fixed[8:], c.base)
	out := append(e.out[:0], make([]byte, headSize+fixedSize)...)
	put32 := func(at, v int) { binary.LittleEndian.PutUint32(fixed[at:], uint32(v)) }
	text := func(b []byte, at int, flag byte) {
		put32(at, len(b))
		e.packed = e.packed[:0]
		if !plain && len(b) >= minText {
			if e.packed = e.z.EncodeAll(b, e.packed); len(e.packed) < len(b)-len(b)/16 && !expands(len(b), len(e.packed)) {
				b = e.packed
				fixed[4] |= flag
			}
		}
		put32(at+4, len(b))
		out = append(out, b...)
	}

	put32(16, len(d.prefix))
	out = append(out, d.prefix...)
	e.numbers = e.numbers[:0]
	for q := range p.queries.Len() {
		e.numbers = append(e.numbers, uint64(p.queries.End[q]-p.queries.Start[q]))
	}
	out = appendPacked(out, e.numbers)
	text(p.queries.Bytes, 20, flagQueries)

	last := int32(0)
	for q := range e.numbers {
		n := p.off[q+1] - p.off[q]
		e.numbers[q] = zigzag(int64(n - last))
		last = n
	}
	out = appendPacked(out, e.numbers)

	put32(36, d.size)
	out = appendPacked(out, d.numbers)
	if d.kind == dictFront {
		out = appendPacked(out, d.lengths)
	}
	text(d.text, 28, flagDocs)
	out = appendBits(out, d.codes, codeWidth(d.n))
	out = appendPacked(out, c.firsts)
	out = appendPacked(out, c.steps)
	copy(out[headSize:], fixed[:])
	e.out = out
}

// minText is the text from which on compressing it is tried.
const minText = 64

// codeWidth gives the bits of a code where there are n documents.
func codeWidth(n int) int {
	if n == 0 {
		return 0
	}
	return bits.Len32(uint32(n - 1))
}
