package modeltest

import (
	"encoding/binary"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"encbench/engine/model"
)

// Fault says what is wrong, or only different, in a copy of a model directory.
// Zero fields change nothing; several may be set.
type Fault struct {
	Tensor string  // float32 tensor with one changed weight
	Index  int     // of the weight
	Add    float32 // added to it

	Drop   string            // tensor that is left out
	Rename map[string]string // tensors under other names
	Prefix string            // put before every tensor's name
	DType  model.DType       // F16 or BF16: float32 tensors are rounded to it
	Pad    int               // bytes that misalign the data, 1 to 7
	Cut    int               // bytes cut off the end of the weights

	Pooling   model.Pooling  // 1_Pooling/config.json says this
	NoModules bool           // modules.json is left out
	Config    map[string]any // values of config.json; nil removes the key
	Remove    string         // file that is left out
}

// Damage copies the model directory dir to a temporary one, brings in the
// fault, and returns the copy's path.
func Damage(tb testing.TB, dir string, f Fault) string {
	tb.Helper()
	to := Copy(tb, dir)
	weights := filepath.Join(to, "model.safetensors")
	ts := f.tensors(tb, ReadTensors(tb, weights))
	WriteTensors(tb, weights, ts, f.Pad)
	if f.Cut > 0 {
		st, err := os.Stat(weights)
		if err != nil {
			tb.Fatal(err)
		}
		if err := os.Truncate(weights, st.Size()-int64(f.Cut)); err != nil {
			tb.Fatal(err)
		}
	}
	if f.Pooling != "" {
		path := filepath.Join(to, "1_Pooling", "config.json")
		var c map[string]any
		ReadJSON(tb, path, &c)
		c["pooling_mode_mean_tokens"] = f.Pooling == model.PoolMean
		c["pooling_mode_cls_token"] = f.Pooling == model.PoolCLS
		WriteJSON(tb, path, c)
	}
	if len(f.Config) > 0 {
		path := filepath.Join(to, "config.json")
		var c map[string]any
		ReadJSON(tb, path, &c)
		maps.Copy(c, f.Config)
		maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
		WriteJSON(tb, path, c)
	}
	if f.NoModules {
		remove(tb, filepath.Join(to, "modules.json"))
	}
	if f.Remove != "" {
		remove(tb, filepath.Join(to, f.Remove))
	}
	return to
}

func remove(tb testing.TB, path string) {
	tb.Helper()
	if err := os.Remove(path); err != nil {
		tb.Fatal(err)
	}
}

func (f Fault) tensors(tb testing.TB, ts []Tensor) []Tensor {
	tb.Helper()
	found := f.Tensor == ""
	dropped := f.Drop == ""
	ts = slices.DeleteFunc(ts, func(t Tensor) bool {
		hit := t.Name == f.Drop
		dropped = dropped || hit
		return hit
	})
	for i := range ts {
		t := &ts[i]
		if t.Name == f.Tensor {
			found = true
			at := t.Data[4*f.Index:]
			v := math.Float32frombits(binary.LittleEndian.Uint32(at)) + f.Add
			binary.LittleEndian.PutUint32(at, math.Float32bits(v))
		}
		if f.DType != "" && t.DType == model.F32 {
			t.round(f.DType)
		}
		if name, ok := f.Rename[t.Name]; ok {
			t.Name = name
		}
		t.Name = f.Prefix + t.Name
	}
	if !found || !dropped {
		tb.Fatalf("no tensor %q or %q to damage", f.Tensor, f.Drop)
	}
	return ts
}

// round rewrites float32 data as F16 or BF16, to nearest, ties to even; values
// must be within F16's normal range or become 0.
func (t *Tensor) round(to model.DType) {
	var data []byte
	for i := 0; i < len(t.Data); i += 4 {
		bits := binary.LittleEndian.Uint32(t.Data[i:])
		var h uint16
		if to == model.BF16 {
			h = uint16((bits + 0x7fff + bits>>16&1) >> 16)
		} else if e := bits >> 23 & 0xff; e > 127-15 {
			bits += 0xfff + bits>>13&1
			rebased := bits>>13&0x3ffff - (127-15)<<10 // exponent and fraction
			h = uint16(bits>>16&0x8000 | rebased)
		}
		data = binary.LittleEndian.AppendUint16(data, h)
	}
	t.DType, t.Data = to, data
}
