package peers

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"encbench/bench"
)

// TokenizeJob asks for the token ids of the texts of a file, without special tokens.
type TokenizeJob struct {
	Tokenizer string `json:"tokenizer"` // tokenizer.json
	Texts     string `json:"texts"`     // as AppendText makes it
	Out       string `json:"out"`       // gets the ids, for CompareIDs
}

// Tokenized is the answer to Tokenize.
type Tokenized struct {
	Texts  int64 `json:"texts"`
	Tokens int64 `json:"tokens"`
}

// Tokenize has every text tokenized by the tokenizers package.
func (w *Worker) Tokenize(ctx context.Context, j TokenizeJob) (Tokenized, error) {
	var a Tokenized
	w.peer = "hf-tokenizers"
	err := w.ask(ctx, "tokenize", j, &a)
	return a, err
}

// TrainJob asks for a Unigram tokenizer of Size ids that is learnt from texts.
type TrainJob struct {
	Template string `json:"template"` // tokenizer.json of XLM-RoBERTa's kind: everything but the pieces
	Texts    string `json:"texts"`    // as AppendText makes it
	Out      string `json:"out"`      // gets tokenizer.json
	Size     int    `json:"size"`     // pieces at most, but for the mask token
}

// Trained is the answer to Train.
type Trained struct {
	Pieces int     `json:"pieces"`
	WallS  float64 `json:"wall_s"`
}

// Train has a tokenizer trained by the tokenizers package.
func (w *Worker) Train(ctx context.Context, j TrainJob) (Trained, error) {
	var a Trained
	w.peer = "hf-tokenizers"
	err := w.ask(ctx, "train", j, &a)
	return a, err
}

// AppendText appends a text as a worker reads it: its length in bytes, 32 bits
// little-endian, and the bytes. The worker replaces what is not UTF-8.
func AppendText(dst, text []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(text))), text...)
}

// Disagreement is a text of which a peer makes other ids than we do. It is an ErrIDs.
type Disagreement struct {
	Number       int64 // of the text, from 0
	Text         []byte
	Ours, Theirs []int32
}

// Error shows the text and the ids of both, whole.
func (d *Disagreement) Error() string {
	return fmt.Sprintf("%v: text %d, %q\nours:   %v\ntheirs: %v", ErrIDs, d.Number, d.Text, d.Ours, d.Theirs)
}

// Unwrap gives ErrIDs.
func (d *Disagreement) Unwrap() error { return ErrIDs }

// Parity is what CompareIDs saw when all ids were equal.
type Parity struct {
	Texts, Bytes, Tokens int64
	TextsSHA256          string // of the file of texts
	IDsSHA256            string // as Run.IDsSHA
}

// CompareIDs holds the ids that a peer wrote for texts against those that encode
// gives, whose result may be overwritten by its next call. Another id is a
// *Disagreement; files that do not belong together are errors, too.
func CompareIDs(texts, ids io.Reader, encode func(text []byte) []int32) (Parity, error) {
	var a Parity
	sum, all := sha256.New(), bench.NewIDsHash()
	t, r := records{r: bufio.NewReader(texts), sum: sum, unit: 1}, records{r: bufio.NewReader(ids), unit: 4}
	var theirs []int32
	for {
		text, err := t.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return a, fmt.Errorf("read text %d: %w", a.Texts, err)
		}
		packed, err := r.next()
		if err != nil {
			return a, fmt.Errorf("read the peer's ids of text %d: %w", a.Texts, err)
		}
		theirs = theirs[:0]
		for ; len(packed) > 0; packed = packed[4:] {
			theirs = append(theirs, int32(binary.LittleEndian.Uint32(packed)))
		}
		ours := encode(text)
		if !slices.Equal(ours, theirs) {
			return a, &Disagreement{Number: a.Texts, Text: slices.Clone(text), Ours: slices.Clone(ours), Theirs: theirs}
		}
		all.Add(ours)
		a.Texts, a.Bytes, a.Tokens = a.Texts+1, a.Bytes+int64(len(text)), a.Tokens+int64(len(ours))
	}
	if _, err := r.next(); !errors.Is(err, io.EOF) {
		return a, fmt.Errorf("read the peer's ids: the file goes on after those of the last text, number %d", a.Texts-1)
	}
	a.TextsSHA256, a.IDsSHA256 = hex.EncodeToString(sum.Sum(nil)), all.Hex()
	return a, nil
}

// records reads lists that begin with their length, 32 bits little-endian, in units
// of so many bytes.
type records struct {
	r    *bufio.Reader
	sum  hash.Hash // of everything read; nil = none
	unit int64
	buf  []byte
}

// next gives a list, valid until the next call, or io.EOF at the end.
func (r *records) next() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return nil, err
	}
	// Not more at once than there may be: a wrong length would ask for gigabytes.
	left := r.unit * int64(binary.LittleEndian.Uint32(head[:]))
	r.buf = r.buf[:0]
	for left > 0 {
		n := min(left, 1<<20)
		at := len(r.buf)
		r.buf = slices.Grow(r.buf, int(n))[:at+int(n)]
		if _, err := io.ReadFull(r.r, r.buf[at:]); err != nil {
			if errors.Is(err, io.EOF) { // the head was there
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		left -= n
	}
	if r.sum != nil {
		r.sum.Write(head[:])
		r.sum.Write(r.buf)
	}
	return r.buf, nil
}
