// Package modeltest makes model directories for tests: damaged copies, copies
// in other element types, and a Hugging Face cache of links. It is imported by
// tests only.
package modeltest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"encbench/engine/model"
)

// Golden is a golden.json: rows of ids and the outputs of a reference
// implementation, vectors or logits.
type Golden struct {
	InputIDs   [][]int32   `json:"input_ids"`
	TypeIDs    [][]int     `json:"token_type_ids"` // nil = all 0
	PadID      int32       `json:"pad_id"`
	Pooling    string      `json:"pooling"`
	Normalize  bool        `json:"normalize"`
	Embeddings [][]float32 `json:"embeddings"`
	Logits     [][]float32 `json:"logits"`
}

// ReadGolden reads dir/golden.json.
func ReadGolden(tb testing.TB, dir string) Golden {
	tb.Helper()
	var g Golden
	ReadJSON(tb, filepath.Join(dir, "golden.json"), &g)
	if len(g.InputIDs) == 0 || len(g.InputIDs) != len(g.Outputs()) {
		tb.Fatalf("%s: %d rows of ids, %d outputs", dir, len(g.InputIDs), len(g.Outputs()))
	}
	return g
}

// Outputs gives the vectors, or the logits as vectors of one value.
func (g Golden) Outputs() [][]float32 {
	if g.Embeddings != nil {
		return g.Embeddings
	}
	return g.Logits
}

// Types gives the token types of row i, nil for all 0.
func (g Golden) Types(i int) []uint8 {
	if g.TypeIDs == nil {
		return nil
	}
	types := make([]uint8, len(g.TypeIDs[i]))
	for j, t := range g.TypeIDs[i] {
		types[j] = uint8(t)
	}
	return types
}

// Goldens lists the model directories with a golden.json: those in testdata, which
// cover every family, and, where the project's shared data lie beside the clone,
// the larger ones there.
func Goldens(tb testing.TB) []string {
	tb.Helper()
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		tb.Fatal("the place of modeltest is not known")
	}
	root := filepath.Join(filepath.Dir(file), "..", "..", "..")
	var dirs []string
	for _, pattern := range []string{
		filepath.Join(root, "engine", "model", "testdata", "*", "golden.json"),
		filepath.Join(root, "..", "shared", "data", "models", "tiny-*", "golden.json"),
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			tb.Fatal(err)
		}
		for _, path := range found {
			dir := filepath.Dir(path)
			if !slices.ContainsFunc(dirs, func(d string) bool { return filepath.Base(d) == filepath.Base(dir) }) {
				dirs = append(dirs, dir)
			}
		}
	}
	if len(dirs) == 0 {
		tb.Fatalf("no golden.json below %s", root)
	}
	return dirs
}

// ReadJSON reads a JSON file into v.
func ReadJSON(tb testing.TB, path string, v any) {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
}

// WriteJSON writes v to a JSON file.
func WriteJSON(tb testing.TB, path string, v any) {
	tb.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	write(tb, path, data)
}

func write(tb testing.TB, path string, data []byte) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		tb.Fatal(err)
	}
}

// Copy copies a model directory to a temporary one, links followed.
func Copy(tb testing.TB, dir string) string {
	tb.Helper()
	to := filepath.Join(tb.TempDir(), filepath.Base(dir))
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		write(tb, filepath.Join(to, rel), data)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return to
}

// Hub makes a Hugging Face cache that holds a copy of the model directory dir
// as a snapshot of name (org/name): every file is a link into blobs, as the
// hub's own client lays it out. refs are the branches and tags that point at
// the commit. It returns the cache folder and may be called again with it to
// add a revision; "" makes a new one.
func Hub(tb testing.TB, cache, dir, name, commit string, refs ...string) string {
	tb.Helper()
	if cache == "" {
		cache = filepath.Join(tb.TempDir(), "hub")
	}
	folder := filepath.Join(cache, "models--"+strings.ReplaceAll(name, "/", "--"))
	n := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		blob := filepath.Join(folder, "blobs", fmt.Sprintf("%.8s-%d", commit, n))
		n++
		write(tb, blob, data)
		link := filepath.Join(folder, "snapshots", commit, rel)
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			return err
		}
		target, err := filepath.Rel(filepath.Dir(link), blob)
		if err != nil {
			return err
		}
		return os.Symlink(target, link)
	})
	if err != nil {
		tb.Fatal(err)
	}
	for _, ref := range refs {
		write(tb, filepath.Join(folder, "refs", ref), []byte(commit))
	}
	return cache
}

// Tensor is a tensor to be written.
type Tensor struct {
	Name  string
	DType model.DType
	Shape []int
	Data  []byte
}

// ReadTensors reads all tensors of a weights file, in the order of their data.
func ReadTensors(tb testing.TB, path string) []Tensor {
	tb.Helper()
	w, err := model.OpenWeights(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer w.Close()
	file, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	var ts []Tensor
	for _, t := range w.Tensors() {
		ts = append(ts, Tensor{t.Name, t.DType, t.Shape, slices.Clone(file[t.Offset:][:t.Bytes])})
	}
	return ts
}

// WriteTensors writes a weights file. The header is not padded to a multiple of
// 8 bytes but to 8·n + pad.
func WriteTensors(tb testing.TB, path string, ts []Tensor, pad int) {
	tb.Helper()
	header := map[string]any{}
	var data []byte
	for _, t := range ts {
		header[t.Name] = map[string]any{
			"dtype": t.DType, "shape": t.Shape, "data_offsets": [2]int{len(data), len(data) + len(t.Data)},
		}
		data = append(data, t.Data...)
	}
	text, err := json.Marshal(header)
	if err != nil {
		tb.Fatal(err)
	}
	for len(text)%8 != pad%8 {
		text = append(text, ' ')
	}
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	write(tb, path, append(append(file, text...), data...))
}
