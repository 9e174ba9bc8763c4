package peers

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// npy writes a file as numpy does, with the given header text and values.
func npy(version byte, header string, values []float32) []byte {
	b := append([]byte(npyMagic), version, 0)
	if version == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(header)))
	}
	b = append(b, header...)
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

const header23 = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }          \n"

func TestReadNPY(t *testing.T) {
	values := []float32{1, -2, 3.5, 0, float32(math.Inf(1)), 6}
	for _, version := range []byte{1, 2, 3} {
		rows, cols, data, err := ReadNPY(bytes.NewReader(npy(version, header23, values)))
		if err != nil || rows != 2 || cols != 3 || !slices.Equal(data, values) {
			t.Errorf("version %d: %d × %d %v, %v", version, rows, cols, data, err)
		}
	}
	rows, cols, data, err := ReadNPY(iotest.OneByteReader(bytes.NewReader(npy(1, header23, values))))
	if err != nil || rows != 2 || cols != 3 || !slices.Equal(data, values) {
		t.Errorf("a byte at a time: %d × %d %v, %v", rows, cols, data, err)
	}
	// More values than one read takes.
	big := make([]float32, 300*400)
	for i := range big {
		big[i] = float32(i)
	}
	_, _, data, err = ReadNPY(bytes.NewReader(npy(1, strings.Replace(header23, "(2, 3)", "(300, 400)", 1), big)))
	if err != nil || !slices.Equal(data, big) {
		t.Errorf("300 × 400: %d values, %v", len(data), err)
	}
	if _, _, data, err = ReadNPY(bytes.NewReader(npy(1, strings.Replace(header23, "(2, 3)", "(0, 3)", 1), nil))); err != nil || len(data) != 0 {
		t.Errorf("no rows: %v, %v", data, err)
	}
}

func TestReadNPYErrors(t *testing.T) {
	six := make([]float32, 6)
	good := npy(1, header23, six)
	with := func(old, new string) []byte { return npy(1, strings.Replace(header23, old, new, 1), six) }
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "first 8 bytes: EOF"},
		{"not npy", []byte("PK\x03\x04 a zip file"), `starts with "PK\x03\x04 a"`},
		{"version", append([]byte(npyMagic), 9, 0, 0, 0), "format version 9.0, know 1 to 3"},
		{"huge header", append([]byte(npyMagic), 2, 0, 255, 255, 255, 255), "header length 4294967295 is above the limit"},
		{"cut header", good[:20], "bytes of header: unexpected EOF"},
		{"double", with("<f4", "<f8"), "element type <f8, want <f4"},
		{"big-endian", with("<f4", ">f4"), "element type >f4, want <f4"},
		{"columns", with("False", "True"), "column order, want row order"},
		{"vector", with("(2, 3)", "(6,)"), "shape (6,), want two dimensions"},
		{"cube", with("(2, 3)", "(1, 2, 3)"), "want two dimensions"},
		{"overflow", with("(2, 3)", "(9999999999999, 9999999999999)"), "above the limit"},
		{"overflow of int64", with("(2, 3)", "(99999999999999999999, 1)"), "above the limit"},
		{"no shape", with("'shape'", "'form'"), "want descr, fortran_order and shape"},
		{"short", good[:len(good)-4], "2 × 3 float32 are 24 bytes, found 20"},
		{"cut value", good[:len(good)-3], "2 × 3 float32 are 24 bytes, found 21"},
		{"long", append(slices.Clone(good), 0), "2 × 3 float32 are 24 bytes, found more"},
		{"a value too many", append(slices.Clone(good), 0, 0, 0, 0), "found more"},
	} {
		_, _, data, err := ReadNPY(bytes.NewReader(c.file))
		if err == nil || !strings.Contains(err.Error(), c.want) || data != nil {
			t.Errorf("%s: error = %v, want %q", c.name, err, c.want)
		}
	}
	broken := errors.New("disk on fire")
	_, _, _, err := ReadNPY(iotest.DataErrReader(&failing{good[:len(good)-8], broken}))
	if !errors.Is(err, broken) {
		t.Errorf("a read error: %v, want it wrapped", err)
	}
}

// failing gives its data and then its error.
type failing struct {
	data []byte
	err  error
}

func (f *failing) Read(p []byte) (int, error) {
	if len(f.data) == 0 {
		return 0, f.err
	}
	n := copy(p, f.data)
	f.data = f.data[n:]
	return n, nil
}

func FuzzReadNPY(f *testing.F) {
	f.Add(npy(1, header23, []float32{1, 2, 3, 4, 5, 6}))
	f.Add(npy(2, header23, []float32{1, 2, 3}))
	f.Add(npy(1, strings.Replace(header23, "(2, 3)", "(65536, 65536)", 1), []float32{1}))
	f.Add([]byte(npyMagic))
	f.Fuzz(func(t *testing.T, file []byte) {
		rows, cols, data, err := ReadNPY(bytes.NewReader(file))
		if err != nil {
			if data != nil {
				t.Fatalf("data beside an error: %v", err)
			}
			return
		}
		if len(data) != rows*cols {
			t.Fatalf("%d × %d with %d values", rows, cols, len(data))
		}
		if tail := file[len(file)-4*len(data):]; !slices.Equal(bits(data), raw(tail)) {
			t.Fatal("values are not the end of the file")
		}
	})
}

func bits(v []float32) []uint32 {
	out := make([]uint32, len(v))
	for i := range v {
		out[i] = math.Float32bits(v[i])
	}
	return out
}

func raw(b []byte) []uint32 {
	out := make([]uint32, len(b)/4)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return out
}

func TestReadReference(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "v.npy")
	write := func(values []float32, ids string) {
		t.Helper()
		if err := os.WriteFile(path, npy(1, header23, values), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "v.ids.json"), []byte(ids), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	good := []float32{1, 2, 3, 4, 5, 6}
	write(good, "[[101, 7, 102], [101, 102]]\n")
	ref, err := ReadReference(path)
	if err != nil || ref.Rows != 2 || ref.Dim != 3 || !slices.Equal(ref.Vector(1), []float32{4, 5, 6}) || !slices.Equal(ref.IDs[0], []int32{101, 7, 102}) {
		t.Fatalf("ReadReference = %+v, %v", ref, err)
	}
	nan := slices.Clone(good)
	nan[4] = float32(math.NaN())
	for _, c := range []struct {
		name   string
		values []float32
		ids    string
		want   string
	}{
		{"rows", good, "[[1]]", "2 vectors, but ids of 1 rows"},
		{"empty row", good, "[[1], []]", "row 1 has no ids"},
		{"not ids", good, `{"ids": 3}`, "want a list of lists of integers"},
		{"fraction", good, `[[1.5], [2]]`, "want a list of lists of integers"},
		{"trailing text", good, "[[1], [2]]\n[[3]]", "want a list of lists of integers: invalid character '[' after top-level value"},
		{"NaN", nan, "[[1], [2]]", "row 1, value 1 is NaN"},
		{"short", good[:5], "[[1], [2]]", "are 24 bytes, found 20"},
	} {
		write(c.values, c.ids)
		if _, err := ReadReference(path); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: error = %v, want %q and the file", c.name, err, c.want)
		}
	}
	if err := os.Remove(filepath.Join(dir, "v.ids.json")); err != nil {
		t.Fatal(err)
	}
	write2 := os.WriteFile(path, npy(1, header23, good), 0o600)
	if _, err := ReadReference(path); write2 != nil || err == nil || !strings.Contains(err.Error(), "v.ids.json") || !strings.Contains(err.Error(), "reference.py") {
		t.Errorf("no ids: error = %v", err)
	}
	for _, name := range []string{filepath.Join(dir, "none.npy"), filepath.Join(dir, "v.bin")} {
		if _, err := ReadReference(name); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error = %v", name, err)
		}
	}
}

func TestCosines(t *testing.T) {
	a := []float32{1, 0, 0, 2}
	b := []float32{3, 0, 1, 1}
	low, mean, err := Cosines(a, b, 2)
	if want := math.Sqrt(0.5); err != nil || math.Abs(low-want) > 1e-12 || math.Abs(mean-(1+want)/2) > 1e-12 {
		t.Errorf("Cosines = %v, %v, %v", low, mean, err)
	}
	for _, bad := range [][]float32{{0, 0, 1, 1}, {float32(math.NaN()), 0, 1, 1}, {float32(math.Inf(1)), 0, 1, 1}} {
		if _, _, err := Cosines(bad, b, 2); err == nil || !strings.Contains(err.Error(), "row 0 is zero or not finite") {
			t.Errorf("Cosines of %v: error = %v", bad, err)
		}
	}
	for _, dim := range []int{0, 3} {
		if _, _, err := Cosines(a, b, dim); err == nil {
			t.Errorf("4 values in rows of %d were accepted", dim)
		}
	}
	if _, _, err := Cosines(a[:2], b, 2); err == nil {
		t.Error("blocks of different size were accepted")
	}
	if _, _, err := Cosines(nil, nil, 2); err == nil {
		t.Error("no rows were accepted")
	}
}
