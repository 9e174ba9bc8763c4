package model

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// Tensor says where a tensor lies in its weights file.
type Tensor struct {
	Name   string
	DType  DType
	Shape  []int
	Offset int64 // of the first byte, from the start of the file
	Bytes  int64

	file int // of the weights' files
}

// Bounds on what a header may hold, far above any model's, so that a hostile one
// costs little more than reading it.
const (
	maxHeader  = 100_000_000 // bytes, as the format's own library has it
	maxTensors = 100_000
	maxName    = 4 << 10  // bytes of a tensor's name
	maxEntry   = 16 << 10 // bytes of what follows the name
	maxRank    = 8
)

// headerEntry is a tensor as the header's JSON has it.
type headerEntry struct {
	DType   *DType   `json:"dtype"`
	Shape   *[]int64 `json:"shape"`
	Offsets *[]int64 `json:"data_offsets"`
}

// parseHeader reads the JSON header of a safetensors file. base is the offset of
// the data, header length + 8. The tensors come in the order of their data. It
// checks everything the header says of itself: types, shapes, that offsets agree
// with shapes, and that the data follow one another without overlap or gap.
func parseHeader(header []byte, base int64) ([]Tensor, map[string]string, error) {
	dec := json.NewDecoder(bytes.NewReader(header))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, fmt.Errorf("%w: the header is not a JSON object", ErrHeader)
	}
	var (
		tensors []Tensor
		meta    map[string]string
		seen    = map[string]bool{}
	)
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, nil, fmt.Errorf("%w: the header is not JSON: %w", ErrHeader, explained("", err))
		}
		name := key.(string) // keys of objects are strings, or Token fails
		if len(name) > maxName {
			return nil, nil, fmt.Errorf("%w: the name of tensor %.200q… has %d bytes, more than %d", ErrHeader, name, len(name), maxName)
		}
		if seen[name] {
			return nil, nil, fmt.Errorf("%w: tensor %.200q stands in the header twice", ErrHeader, name)
		}
		if len(tensors) == maxTensors {
			return nil, nil, fmt.Errorf("%w: it names more than %d tensors", ErrHeader, maxTensors)
		}
		seen[name] = true
		if name == "__metadata__" {
			if err := dec.Decode(&meta); err != nil {
				return nil, nil, fmt.Errorf("%w: __metadata__ is not a map of strings: %w", ErrHeader, explained("", err))
			}
			continue
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, nil, fmt.Errorf("%w: tensor %.200q: %w", ErrHeader, name, explained("", err))
		}
		if len(raw) > maxEntry {
			return nil, nil, fmt.Errorf("%w: what is said of tensor %.200q has %d bytes, more than %d", ErrHeader, name, len(raw), maxEntry)
		}
		var e headerEntry
		if err := decode(raw, &e); err != nil {
			return nil, nil, fmt.Errorf("%w: tensor %.200q: %w", ErrHeader, name, err)
		}
		t, err := e.tensor(name, base)
		if err != nil {
			return nil, nil, err
		}
		tensors = append(tensors, t)
	}
	if _, err := dec.Token(); err != nil {
		return nil, nil, fmt.Errorf("%w: the header is not JSON: %w", ErrHeader, explained("", err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, nil, fmt.Errorf("%w: text after the header's JSON object", ErrHeader)
	}
	return tensors, meta, inOrder(tensors, base)
}

// tensor checks an entry by itself.
func (e headerEntry) tensor(name string, base int64) (Tensor, error) {
	if e.DType == nil || e.Shape == nil || e.Offsets == nil {
		return Tensor{}, fmt.Errorf("%w: tensor %.200q lacks dtype, shape or data_offsets", ErrHeader, name)
	}
	size, ok := dtypeBytes[*e.DType]
	if !ok {
		return Tensor{}, fmt.Errorf("%w %.200q of tensor %.200q", ErrDType, string(*e.DType), name)
	}
	if len(*e.Shape) > maxRank {
		return Tensor{}, fmt.Errorf("%w: tensor %.200q has %d dimensions, more than %d", ErrHeader, name, len(*e.Shape), maxRank)
	}
	shape := make([]int, len(*e.Shape))
	need := size
	for i, d := range *e.Shape {
		if d < 0 || d > math.MaxInt32 || (d > 0 && need > math.MaxInt64/d) {
			return Tensor{}, fmt.Errorf("%w: tensor %.200q has the impossible shape %v", ErrHeader, name, *e.Shape)
		}
		need *= d
		shape[i] = int(d)
	}
	off := *e.Offsets
	if len(off) != 2 {
		return Tensor{}, fmt.Errorf("%w: tensor %.200q has %d data_offsets, must be 2", ErrHeader, name, len(off))
	}
	if off[0] < 0 || off[1] < off[0] || off[1] > math.MaxInt64-base {
		return Tensor{}, fmt.Errorf("%w: tensor %.200q has the impossible data_offsets %v", ErrHeader, name, off)
	}
	if got := off[1] - off[0]; got != need {
		return Tensor{}, fmt.Errorf("%w: tensor %.200q of shape %s and dtype %s needs %d bytes, its data_offsets [%d, %d] hold %d",
			ErrHeader, name, shapeText(shape), *e.DType, need, off[0], off[1], got)
	}
	return Tensor{Name: name, DType: *e.DType, Shape: shape, Offset: base + off[0], Bytes: need}, nil
}

// inOrder sorts the tensors by their data and makes sure that the data start at
// base and follow one another without overlap or gap, as the format demands.
func inOrder(tensors []Tensor, base int64) error {
	slices.SortFunc(tensors, func(a, b Tensor) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.Name, b.Name))
	})
	end := base
	for i, t := range tensors {
		if t.Offset != end {
			before := "the header"
			if i > 0 {
				before = fmt.Sprintf("tensor %.200q", tensors[i-1].Name)
			}
			if t.Offset < end {
				return fmt.Errorf("%w: the data of tensor %.200q overlap those of %s", ErrHeader, t.Name, before)
			}
			return fmt.Errorf("%w: %d bytes between %s and tensor %.200q belong to nothing", ErrHeader, t.Offset-end, before, t.Name)
		}
		end = t.Offset + t.Bytes
	}
	return nil
}

func elements(shape []int) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= int64(d)
	}
	return n
}
