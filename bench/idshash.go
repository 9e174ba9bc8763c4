package bench

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
)

// IDsHash hashes rows of token ids: sha256 over the rows in order, each as its
// number of ids and then the ids, all little-endian 32-bit integers. Of the rows
// that were encoded it is the input hash of a record.
type IDsHash struct {
	sum hash.Hash
	buf []byte
}

// NewIDsHash gives the hash of no rows.
func NewIDsHash() *IDsHash { return &IDsHash{sum: sha256.New()} }

// Add appends one row's ids.
func (h *IDsHash) Add(ids []int32) {
	h.buf = binary.LittleEndian.AppendUint32(h.buf[:0], uint32(len(ids)))
	for _, id := range ids {
		h.buf = binary.LittleEndian.AppendUint32(h.buf, uint32(id))
	}
	h.sum.Write(h.buf)
}

// Hex gives the hash of what was added so far.
func (h *IDsHash) Hex() string { return hex.EncodeToString(h.sum.Sum(nil)) }
