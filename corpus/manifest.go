package corpus

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
)

// Manifest identifies a corpus: two corpora with one SHA256 hold the same
// documents in the same order.
type Manifest struct {
	Name      string `json:"name"`       // embedded corpus or path
	Rule      string `json:"rule"`       // versioned construction rule, or format
	Documents int64  `json:"documents"`  //
	TextBytes int64  `json:"text_bytes"` // sum over documents of len(AppendText)
	Longest   int64  `json:"longest"`    // largest len(AppendText), bytes
	SHA256    string `json:"sha256"`     // over id, title and text of each document, each after its length as 8 bytes, little endian
}

// Tally computes a Manifest while documents pass by. The zero value is ready.
type Tally struct {
	documents, bytes, longest int64
	sum                       hash.Hash
	text                      []byte
}

// Add counts d. It allocates only until its buffer holds the longest document.
func (t *Tally) Add(d Doc) {
	if t.sum == nil {
		t.sum = sha256.New()
	}
	t.text = d.AppendText(t.text[:0])
	n := int64(len(t.text))
	t.documents++
	t.bytes += n
	t.longest = max(t.longest, n)
	t.text = t.text[:0]
	for _, part := range [...][]byte{d.ID, d.Title, d.Text} {
		t.text = binary.LittleEndian.AppendUint64(t.text, uint64(len(part)))
		t.text = append(t.text, part...)
	}
	t.sum.Write(t.text)
}

// Manifest gives what was counted so far.
func (t *Tally) Manifest(name, rule string) Manifest {
	if t.sum == nil {
		t.sum = sha256.New()
	}
	return Manifest{
		Name: name, Rule: rule, Documents: t.documents, TextBytes: t.bytes, Longest: t.longest,
		SHA256: hex.EncodeToString(t.sum.Sum(nil)),
	}
}

// Scan reads s to its end and gives its manifest under the name and rule. visit
// sees each document (nil: none does); its error ends the scan. s is not closed.
func Scan(s Scanner, name, rule string, visit func(Doc) error) (Manifest, error) {
	var t Tally
	for s.Scan() {
		d := s.Doc()
		t.Add(d)
		if visit == nil {
			continue
		}
		if err := visit(d); err != nil {
			return t.Manifest(name, rule), err
		}
	}
	if err := s.Err(); err != nil {
		return t.Manifest(name, rule), fmt.Errorf("scan corpus %s: %w", name, err)
	}
	return t.Manifest(name, rule), nil
}

// Hashing passes documents on and keeps the tally of them.
type Hashing struct {
	Scanner
	t Tally
}

// NewHashing wraps s.
func NewHashing(s Scanner) *Hashing { return &Hashing{Scanner: s} }

// Scan moves to the next document and counts it.
func (h *Hashing) Scan() bool {
	if !h.Scanner.Scan() {
		return false
	}
	h.t.Add(h.Doc())
	return true
}

// Manifest gives what went by so far, without name and rule.
func (h *Hashing) Manifest() Manifest { return h.t.Manifest("", "") }
