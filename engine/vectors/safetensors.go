package vectors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"encbench/engine"
)

// maxHeader bounds the header of a safetensors file, as the format's own library
// has it.
const maxHeader = 100_000_000

var tensorTypes = map[string]engine.Elem{"F32": engine.F32, "F16": engine.F16, "BF16": engine.BF16}

// tensor is an entry of the header.
type tensor struct {
	DType   string  `json:"dtype"`
	Shape   []int64 `json:"shape"`
	Offsets []int64 `json:"data_offsets"` // two: where the data begin and end
}

// openSafetensors reads the header and goes to the tensor of that name, or to the
// only matrix when name is "".
func (r *Reader) openSafetensors(name string) error {
	var head [8]byte
	if _, err := io.ReadFull(r.in, head[:]); err != nil {
		return err
	}
	size := binary.LittleEndian.Uint64(head[:])
	if size > maxHeader {
		return fmt.Errorf("%w: a safetensors header of %d bytes, more than %d", ErrFormat, size, maxHeader)
	}
	var text bytes.Buffer
	if n, err := io.Copy(&text, io.LimitReader(r.in, int64(size))); err != nil {
		return fmt.Errorf("safetensors header: %w", err)
	} else if n < int64(size) {
		return fmt.Errorf("safetensors header: %w: it ends after %d of %d bytes", ErrDamaged, n, size)
	}
	tensors, end, err := parseTensors(text.Bytes())
	if err != nil {
		return err
	}
	name, err = pick(tensors, name)
	if err != nil {
		return err
	}
	t := tensors[name]
	elem, ok := tensorTypes[t.DType]
	if !ok {
		return fmt.Errorf("%w: tensor %.200q has elements of type %.40s, want F32, F16 or BF16", ErrFormat, name, t.DType)
	}
	r.info = Info{Format: "safetensors", Tensor: name, Type: elem}
	if err := r.setShape(t.Shape[0], t.Shape[1]); err != nil {
		return fmt.Errorf("tensor %.200q: %w", name, err)
	}
	bytes := r.info.Rows * int64(r.info.Dim*Size(elem)) // below 2^63 by the limits
	if t.Offsets[1]-t.Offsets[0] != bytes {
		return fmt.Errorf("%w: tensor %.200q of %d × %d %s needs %d bytes, its data_offsets %v hold %d",
			ErrDamaged, name, r.info.Rows, r.info.Dim, t.DType, bytes, t.Offsets, t.Offsets[1]-t.Offsets[0])
	}
	if n, err := io.Copy(io.Discard, io.LimitReader(r.in, t.Offsets[0])); err != nil {
		return fmt.Errorf("tensor %.200q: %w", name, err)
	} else if n < t.Offsets[0] {
		return fmt.Errorf("%w: it ends %d bytes before tensor %.200q", ErrDamaged, t.Offsets[0]-n, name)
	}
	r.from = &matrix{left: r.info.Rows, after: end - t.Offsets[1]}
	return nil
}

// parseTensors gives the tensors of a header by name, and where their data end.
func parseTensors(text []byte) (map[string]tensor, int64, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, 0, fmt.Errorf("%w: its safetensors header is not JSON: %w", ErrFormat, err)
	}
	out, end := map[string]tensor{}, int64(0)
	for name, body := range raw {
		if name == "__metadata__" {
			continue
		}
		var t tensor
		if err := json.Unmarshal(body, &t); err != nil {
			return nil, 0, fmt.Errorf("%w: tensor %.200q: %w", ErrDamaged, name, err)
		}
		if len(t.Offsets) != 2 || t.Offsets[0] < 0 || t.Offsets[1] < t.Offsets[0] || t.Offsets[1] > math.MaxInt64/2 {
			return nil, 0, fmt.Errorf("%w: tensor %.200q has the impossible data_offsets %v", ErrDamaged, name, t.Offsets)
		}
		end = max(end, t.Offsets[1])
		out[name] = t
	}
	return out, end, checkLayout(out)
}

// checkLayout makes sure that the tensors' data lie end to end, as the format
// demands: what overlaps is not what its writer meant.
func checkLayout(tensors map[string]tensor) error {
	names := slices.SortedFunc(maps.Keys(tensors), func(a, b string) int {
		x, y := tensors[a].Offsets, tensors[b].Offsets
		return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]), cmp.Compare(a, b))
	})
	end, last := int64(0), ""
	for _, name := range names {
		switch from := tensors[name].Offsets[0]; {
		case from < end:
			return fmt.Errorf("%w: tensor %.200q begins at byte %d of the data, within tensor %.200q, which ends at %d", ErrDamaged, name, from, last, end)
		case from > end:
			return fmt.Errorf("%w: tensor %.200q begins at byte %d of the data, and bytes %d to %d belong to no tensor", ErrDamaged, name, from, end, from-1)
		}
		end, last = tensors[name].Offsets[1], name
	}
	return nil
}

// pick gives the name of the matrix to read.
func pick(tensors map[string]tensor, name string) (string, error) {
	var all, matrices []string
	for n, t := range tensors {
		all = append(all, n)
		if len(t.Shape) == 2 {
			matrices = append(matrices, n)
		}
	}
	slices.Sort(all)
	slices.Sort(matrices)
	t, ok := tensors[name]
	switch {
	case name != "" && !ok:
		return "", fmt.Errorf("%w: it has no tensor %.200q, but %s", ErrFormat, name, some(all))
	case name != "" && len(t.Shape) != 2:
		return "", fmt.Errorf("%w: tensor %.200q has shape %v, want two dimensions, rows and values", ErrFormat, name, t.Shape)
	case name != "":
		return name, nil
	case len(matrices) == 0:
		return "", fmt.Errorf("%w: none of its tensors (%s) has two dimensions", ErrFormat, some(all))
	case len(matrices) > 1:
		return "", fmt.Errorf("%w: it has several matrices (%s); name one", ErrFormat, some(matrices))
	}
	return matrices[0], nil
}

// some lists names, the first few of many.
func some(names []string) string {
	const most = 6
	if len(names) == 0 {
		return "none"
	}
	var out []string
	for _, n := range names[:min(most, len(names))] {
		out = append(out, fmt.Sprintf("%.60q", n))
	}
	if len(names) > most {
		out = append(out, fmt.Sprintf("%d more", len(names)-most))
	}
	return strings.Join(out, ", ")
}
