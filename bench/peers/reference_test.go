package peers

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"encbench/engine/vectors"
)

// npy gives a file of rows of three values.
func npy(t *testing.T, values []float32) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteMatrix(&b, values, 3); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestMatrix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.npy")
	write := func(file []byte) {
		t.Helper()
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []int{0, 1, 3, 400_000} { // more than a block of the reader
		values := make([]float32, 3*n)
		for i := range values {
			values[i] = float32(i) / 3
		}
		write(npy(t, values))
		got, dim, err := ReadMatrix(path)
		if err != nil || dim != 3 || !slices.Equal(got, values) {
			t.Errorf("%d rows: read %d values in rows of %d, %v", n, len(got), dim, err)
		}
	}
	whole := npy(t, []float32{1, 2, 3, 4, 5, 6})
	for _, c := range []struct {
		file []byte
		is   error
		want string
	}{
		{whole[:len(whole)-4], vectors.ErrDamaged, ": damaged file of vectors: it ends within row 1, after 8 of 12 bytes"},
		{append(slices.Clone(whole), 0), vectors.ErrDamaged, ": damaged file of vectors: bytes follow its 2 rows of 3 float32 that belong to nothing"},
		{bytes.Replace(whole, []byte("<f4"), []byte("<f2"), 1), nil, ": elements are float16, want float32"},
		{[]byte("text"), vectors.ErrFormat, `: not a readable file of vectors: it starts with "text"; .npy, .safetensors and .ebvec are read`},
	} {
		write(c.file)
		got, _, err := ReadMatrix(path)
		if err == nil || err.Error() != "read "+path+c.want || c.is != nil && !errors.Is(err, c.is) || got != nil {
			t.Errorf("got %v\nwant read %s%s", err, path, c.want)
		}
	}
	if err := WriteMatrix(fullDisk{}, []float32{1}, 1); !errors.Is(err, bytes.ErrTooLarge) {
		t.Errorf("a writer that fails: %v", err)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, bytes.ErrTooLarge }

func TestReadReference(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "v.npy")
	write := func(values []float32, ids string) {
		t.Helper()
		if err := os.WriteFile(path, npy(t, values), 0o600); err != nil {
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
		{"no rows", nil, "[]", "0 × 3 values, want at least one row"},
	} {
		write(c.values, c.ids)
		if _, err := ReadReference(path); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: error = %v, want %q and the file", c.name, err, c.want)
		}
	}
	if err := os.Remove(filepath.Join(dir, "v.ids.json")); err != nil {
		t.Fatal(err)
	}
	write2 := os.WriteFile(path, npy(t, good), 0o600)
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
