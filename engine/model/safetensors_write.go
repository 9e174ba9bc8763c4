package model

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
)

// TensorSpec says what a tensor of a weights file that is to be written will be.
type TensorSpec struct {
	Name  string
	DType DType
	Shape []int // row-major; empty for a single value
}

// Bytes is the size of the tensor's data; the dtype must be one of the format.
func (t TensorSpec) Bytes() int64 { return elements(t.Shape) * dtypeBytes[t.DType] }

// dataAlignment is where the data of a file that a Writer writes begin: a cache
// line, and more than the 8 bytes that the format asks for.
const dataAlignment = 64

// alignment is the largest power of two up to dataAlignment that divides the
// tensor's size.
func (t TensorSpec) alignment() int64 {
	return cmp.Or(t.Bytes()&-t.Bytes()&(2*dataAlignment-1), dataAlignment)
}

// Arrange gives the tensors in an order in which each lies at a multiple of its
// own size's largest power of two, up to 64 bytes: the format leaves no gaps, so
// only the order aligns. Tensors of equal alignment keep their order; a file whose
// sizes are all multiples of 64 bytes keeps its order altogether. tensors is left
// alone.
func Arrange(tensors []TensorSpec) []TensorSpec {
	out := slices.Clone(tensors)
	slices.SortStableFunc(out, func(a, b TensorSpec) int {
		return cmp.Compare(b.alignment(), a.alignment())
	})
	return out
}

// Writer writes a safetensors file as a stream: the header at once, then the data
// of every tensor in the order of the header. It holds no tensor in memory.
type Writer struct {
	w       io.Writer
	tensors []TensorSpec
	at      int   // the tensor that is written
	left    int64 // bytes of it
}

// NewWriter writes the header of a file with these tensors, in this order, and
// gives a writer for their data: little-endian, row-major, one tensor right after
// the other. metadata are the header's free-form strings; the format's readers want
// "format": "pt", which is put there unless metadata has another. The data begin at
// a multiple of 64 bytes; Arrange puts tensors in an order in which all of them are
// aligned, and one that would not lie at a multiple of its elements' size is
// refused, as are names, dtypes, shapes and sizes that OpenWeights would not read.
//
// The caller writes exactly the bytes of the tensors and then calls Close; buffering
// and the file itself are the caller's.
func NewWriter(w io.Writer, tensors []TensorSpec, metadata map[string]string) (*Writer, error) {
	header, err := encodeHeader(tensors, metadata)
	if err != nil {
		return nil, fmt.Errorf("write weights: %w", err)
	}
	if _, err := w.Write(header); err != nil {
		return nil, fmt.Errorf("write weights: header: %w", err)
	}
	out := &Writer{w: w, tensors: slices.Clone(tensors), at: -1}
	out.next()
	return out, nil
}

// encodeHeader gives the length field and the JSON, padded with spaces.
func encodeHeader(tensors []TensorSpec, metadata map[string]string) ([]byte, error) {
	meta := map[string]string{"format": "pt"}
	for k, v := range metadata {
		meta[k] = v
	}
	buf := bytes.NewBuffer(make([]byte, 8)) // room for the length
	buf.WriteString(`{"__metadata__":`)
	// Keys of maps come sorted, so that equal files are equal bytes.
	text, err := json.Marshal(meta)
	if err != nil {
		return nil, err
	}
	buf.Write(text)
	end := int64(0)
	seen := map[string]bool{"__metadata__": true}
	for _, t := range tensors {
		if seen[t.Name] {
			return nil, fmt.Errorf("%w: tensor %.200q twice", ErrHeader, t.Name)
		}
		seen[t.Name] = true
		if err := t.check(end); err != nil {
			return nil, err
		}
		name, err := json.Marshal(t.Name)
		if err != nil {
			return nil, err
		}
		shape := append([]int{}, t.Shape...) // [] rather than null
		dims, err := json.Marshal(shape)
		if err != nil {
			return nil, err
		}
		start := end
		end += t.Bytes()
		fmt.Fprintf(buf, `,%s:{"dtype":%q,"shape":%s,"data_offsets":[%d,%d]}`, name, string(t.DType), dims, start, end)
	}
	buf.WriteByte('}')
	for buf.Len()%dataAlignment != 0 {
		buf.WriteByte(' ')
	}
	if n := buf.Len() - 8; n > maxHeader || len(tensors) > maxTensors {
		return nil, fmt.Errorf("%w: %d tensors with a header of %d bytes, the limits are %d and %d", ErrHeader, len(tensors), n, maxTensors, maxHeader)
	}
	header := buf.Bytes()
	binary.LittleEndian.PutUint64(header, uint64(len(header)-8))
	return header, nil
}

// check refuses a tensor that could not be read again; start is where its data
// would begin, from the start of all data.
func (t TensorSpec) check(start int64) error {
	size, ok := dtypeBytes[t.DType]
	switch {
	case t.Name == "" || len(t.Name) > maxName:
		return fmt.Errorf("%w: tensor name %.200q has %d bytes, must be 1 to %d", ErrHeader, t.Name, len(t.Name), maxName)
	case !ok:
		return fmt.Errorf("%w %.200q of tensor %.200q", ErrDType, string(t.DType), t.Name)
	case len(t.Shape) > maxRank:
		return fmt.Errorf("%w: tensor %.200q has %d dimensions, more than %d", ErrHeader, t.Name, len(t.Shape), maxRank)
	}
	need := size
	for _, d := range t.Shape {
		if d < 0 || d > math.MaxInt32 || (d > 0 && need > math.MaxInt64/2/int64(d)) {
			return fmt.Errorf("%w: tensor %.200q has the impossible shape %v", ErrHeader, t.Name, t.Shape)
		}
		need *= int64(d)
	}
	if start > math.MaxInt64/2-need {
		return fmt.Errorf("%w: tensor %.200q of %d bytes ends beyond the largest file", ErrHeader, t.Name, need)
	}
	if start%size != 0 {
		return fmt.Errorf("%w: tensor %.200q of dtype %s would begin at byte %d of the data, no multiple of %d; put the tensors into the order of Arrange",
			ErrHeader, t.Name, t.DType, start, size)
	}
	return nil
}

// next goes to the next tensor that has data.
func (w *Writer) next() {
	for w.left == 0 && w.at < len(w.tensors) {
		if w.at++; w.at < len(w.tensors) {
			w.left = w.tensors[w.at].Bytes()
		}
	}
}

// Tensor gives the tensor whose data come next, false when all are written. The
// shape is the writer's.
func (w *Writer) Tensor() (TensorSpec, bool) {
	if w.at >= len(w.tensors) {
		return TensorSpec{}, false
	}
	return w.tensors[w.at], true
}

// Write writes the next bytes of the data; they may reach over the ends of tensors.
// More bytes than the tensors have are an error, and none of them is written.
func (w *Writer) Write(p []byte) (int, error) {
	room := int64(0)
	if w.at < len(w.tensors) {
		room = w.left
		for _, t := range w.tensors[w.at+1:] {
			room += t.Bytes()
		}
	}
	if int64(len(p)) > room {
		return 0, fmt.Errorf("write weights: %d bytes for the last %d that the header announces", len(p), room)
	}
	n, err := w.w.Write(p)
	for rest := int64(n); rest > 0; {
		part := min(rest, w.left)
		w.left -= part
		rest -= part
		w.next()
	}
	if err != nil {
		return n, fmt.Errorf("write weights: %w", err)
	}
	return n, nil
}

// Close says whether every tensor was written. It closes nothing.
func (w *Writer) Close() error {
	if t, more := w.Tensor(); more {
		return fmt.Errorf("write weights: %w: tensor %.200q lacks %d of its %d bytes", ErrTruncated, t.Name, w.left, t.Bytes())
	}
	return nil
}
