package run

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
)

// Schema is the version of the format that this package writes, and the only one
// that it reads.
const Schema = 1

// Orders of the rows in a list.
const (
	OrderTREC  = "trec"  // score descending, then document identifier descending by bytes
	OrderGiven = "given" // as they were written
)

// Limits that hold for every file, so that a reader knows what it may be asked
// for before it allocates.
const (
	MaxID        = 1 << 20 // bytes of an identifier
	maxHeader    = 1 << 20 // bytes of the JSON header
	maxFrameRows = 1 << 28 // rows of a frame, which a single list can fill
	maxFrameIDs  = 1 << 30 // bytes of a frame's identifiers, queries and documents apart
	maxPayload   = 1 << 31 // bytes

	// A frame's identifiers may take this many times the bytes of its payload once
	// they take more than freeIDs.
	maxExpand = 200
	freeIDs   = 64 << 20
)

const (
	magic       = "\x89EBRUN\r\n" // a high byte and a line end: what a transfer as text breaks
	frameMark   = "EBfr"
	indexMark   = "EBix"
	endMark     = "EBRUNend"
	headSize    = 48
	trailerSize = 48
	maxFirst    = 64 // bytes of a frame's first query in the index
)

var (
	// ErrFormat: the bytes are no run file of a known schema.
	ErrFormat = errors.New("not a compressed run file")
	// ErrDamaged: a part of the file differs from what was written.
	ErrDamaged = errors.New("damaged run file")
	// ErrTruncated: the file ends before its end mark.
	ErrTruncated = errors.New("truncated run file")
)

// Header says what a run is.
type Header struct {
	Schema       int             `json:"schema"`                  // set by the writer
	K            int             `json:"k"`                       // depth that lists were cut at; 0 = not known
	Order        string          `json:"order"`                   // OrderTREC (also for "") or OrderGiven
	Tag          string          `json:"tag,omitempty"`           // name of the run, the last column of TREC text
	Protocol     string          `json:"protocol,omitempty"`      // hash of the protocol it was made by
	Model        string          `json:"model,omitempty"`         // name
	ModelSHA256  string          `json:"model_sha256,omitempty"`  // of its weights
	Corpus       string          `json:"corpus,omitempty"`        // name
	CorpusSHA256 string          `json:"corpus_sha256,omitempty"` // of its documents
	Notes        []string        `json:"notes,omitempty"`         // conventions that a reader of figures must know
	Extra        json.RawMessage `json:"extra,omitempty"`         // anything, as JSON
}

// Sniff says whether a file that begins with head is a run file; 8 bytes decide.
func Sniff(head []byte) bool { return len(head) >= len(magic) && string(head[:len(magic)]) == magic }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is CRC-32C, which processors compute at memory speed.
func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// appendHeader appends the beginning of a file.
func appendHeader(dst []byte, h Header) ([]byte, error) {
	h.Schema = Schema
	switch h.Order {
	case "":
		h.Order = OrderTREC
	case OrderTREC, OrderGiven:
	default:
		return nil, fmt.Errorf("write run header: order %q, know %q and %q", h.Order, OrderTREC, OrderGiven)
	}
	if h.K < 0 {
		return nil, fmt.Errorf("write run header: k %d is negative", h.K)
	}
	text, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("write run header: %w", err)
	}
	if len(text) > maxHeader {
		return nil, fmt.Errorf("write run header: %d bytes, more than %d", len(text), maxHeader)
	}
	start := len(dst)
	dst = append(dst, magic...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(text)))
	dst = append(dst, text...)
	return binary.LittleEndian.AppendUint32(dst, checksum(dst[start:])), nil
}

// parseHeader reads what appendHeader wrote, without the checksum behind it.
func parseHeader(text []byte) (Header, error) {
	var h Header
	if err := json.Unmarshal(text, &h); err != nil {
		return h, fmt.Errorf("%w: its header is not JSON: %w", ErrFormat, err)
	}
	if h.Schema != Schema {
		return h, fmt.Errorf("%w: schema %d, this program knows %d", ErrFormat, h.Schema, Schema)
	}
	if h.Order != OrderTREC && h.Order != OrderGiven || h.K < 0 {
		return h, fmt.Errorf("%w: order %q and k %d in its header", ErrFormat, h.Order, h.K)
	}
	return h, nil
}

// head is the fixed beginning of a frame.
type head struct {
	payload       uint32 // bytes
	number        uint32 // of the frame, from 0
	queries       uint32
	rows          uint32
	docs          uint32 // distinct documents
	queriesBefore uint64 // in earlier frames
	rowsBefore    uint64
	sum           uint32 // CRC-32C of the payload
}

func appendHead(dst []byte, h head) []byte {
	start := len(dst)
	dst = append(dst, frameMark...)
	for _, v := range [...]uint32{h.payload, h.number, h.queries, h.rows, h.docs} {
		dst = binary.LittleEndian.AppendUint32(dst, v)
	}
	dst = binary.LittleEndian.AppendUint64(dst, h.queriesBefore)
	dst = binary.LittleEndian.AppendUint64(dst, h.rowsBefore)
	dst = binary.LittleEndian.AppendUint32(dst, h.sum)
	return binary.LittleEndian.AppendUint32(dst, checksum(dst[start:]))
}

// parseHead reads a frame's head from headSize bytes. It fails on another mark, a
// wrong checksum, and counts beyond the limits.
func parseHead(b []byte) (head, error) {
	u32 := func(at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
	if string(b[:4]) != frameMark {
		return head{}, fmt.Errorf("its head starts with %q, want %q", b[:4], frameMark)
	}
	if got, want := checksum(b[:44]), u32(44); got != want {
		return head{}, fmt.Errorf("the checksum of its head is %08x, want %08x", got, want)
	}
	h := head{
		payload: u32(4), number: u32(8), queries: u32(12), rows: u32(16), docs: u32(20),
		queriesBefore: binary.LittleEndian.Uint64(b[24:]), rowsBefore: binary.LittleEndian.Uint64(b[32:]), sum: u32(40),
	}
	// Packed columns take at least a byte for 32 values and are never compressed
	// further, and a list has no document twice.
	switch {
	case h.payload > maxPayload, h.rows > maxFrameRows, h.queries > maxFrameRows:
	case uint64(h.queries) > blockLen*uint64(h.payload), uint64(h.rows) > blockLen*uint64(h.payload):
	case h.docs > h.rows, h.queries == 0, uint64(h.rows) > uint64(h.queries)*uint64(h.docs):
	default:
		return h, nil
	}
	return head{}, fmt.Errorf("%d queries, %d rows and %d documents cannot lie in %d bytes", h.queries, h.rows, h.docs, h.payload)
}
