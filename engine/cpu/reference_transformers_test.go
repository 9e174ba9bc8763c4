package cpu

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"encbench/engine/model"
	"encbench/engine/model/modeltest"
)

// madeCase is an encoder of made-up sizes, computed by transformers: what
// testdata/reference.py writes.
type madeCase struct {
	Name    string           `json:"name"`
	Pooling *string          `json:"pooling"` // nil = a reranker
	First   int              `json:"first"`   // lowest id of a row
	Config  map[string]any   `json:"config"`
	Tensors map[string][]int `json:"tensors"`
	Rows    []struct {
		Length int       `json:"length"`
		Output []float32 `json:"output"`
	} `json:"rows"`
}

// madeValues gives n values around 0, or around 1 for a normalisation's weight, that
// follow from the tensor's name: FNV-1a seeds splitmix64.
func madeValues(name string, n int) []float32 {
	state := uint64(14695981039346656037)
	for _, b := range []byte(name) {
		state = (state ^ uint64(b)) * 1099511628211
	}
	centre := 0.
	if strings.Contains(strings.ToLower(name), "norm") && strings.HasSuffix(name, ".weight") {
		centre = 1
	}
	out := make([]float32, n)
	for i := range out {
		z := state + uint64(i+1)*0x9E3779B97F4A7C15
		z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
		z = (z ^ z>>27) * 0x94D049BB133111EB
		z ^= z >> 31
		out[i] = float32(centre + math.Ldexp(float64(z>>40)-(1<<23), -25))
	}
	return out
}

// row gives the ids and token types of a row.
func (c *madeCase) row(length, vocab, types int) (ids []int32, t []uint8) {
	for i, v := range madeValues(fmt.Sprintf("%s %d", c.Name, length), length) {
		unit := float64(v)*2 + 0.5 // [0, 1), exactly
		ids = append(ids, int32(c.First)+int32(unit*float64(vocab-c.First)))
		t = append(t, uint8(i%types))
	}
	return ids, t
}

// open writes the model directory and opens it.
func (c *madeCase) open(t *testing.T) *model.Model {
	t.Helper()
	dir := t.TempDir()
	modeltest.WriteJSON(t, filepath.Join(dir, "config.json"), c.Config)
	var tensors []modeltest.Tensor
	for _, name := range slices.Sorted(maps.Keys(c.Tensors)) {
		s := modeltest.Tensor{Name: name, DType: model.F32, Shape: c.Tensors[name]}
		n := 1
		for _, d := range s.Shape {
			n *= d
		}
		for _, v := range madeValues(name, n) {
			s.Data = binary.LittleEndian.AppendUint32(s.Data, math.Float32bits(v))
		}
		tensors = append(tensors, s)
	}
	modeltest.WriteTensors(t, filepath.Join(dir, "model.safetensors"), tensors, 0)
	opt := model.Options{Name: c.Name}
	if c.Pooling != nil {
		opt.Pooling = model.Pooling(*c.Pooling)
	}
	m, err := model.OpenWith(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	m.Normalize = false
	return m
}

// TestTransformers compares encoders of made-up sizes with transformers in float32:
// lengths at the edges of windows and blocks, fewer heads of keys than of queries,
// heads that do not divide the state, biases, other activations and poolings.
func TestTransformers(t *testing.T) {
	var made struct {
		Cases []madeCase `json:"cases"`
	}
	modeltest.ReadJSON(t, "testdata/transformers.json", &made)
	if len(made.Cases) < 12 {
		t.Fatalf("%d cases", len(made.Cases))
	}
	for _, c := range made.Cases {
		t.Run(c.Name, func(t *testing.T) {
			m := c.open(t)
			r, err := NewReference(m)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range c.Rows {
				ids, types := c.row(row.Length, m.Config.Vocab, m.Types())
				v, err := r.Encode(ids, types)
				if err != nil {
					t.Fatal(err)
				}
				if len(v) != len(row.Output) {
					t.Fatalf("%d values, transformers gives %d", len(v), len(row.Output))
				}
				if d := furthest(v, row.Output); !(d <= maxAbs) {
					t.Errorf("%d tokens: off by %v, limit %v", row.Length, d, maxAbs)
				}
			}
		})
	}
}
