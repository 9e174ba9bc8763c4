package synth_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"encbench/engine/cpu"
	"encbench/engine/model"
	"encbench/engine/synth"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// parameters of the models, from their cards and papers; where two are given the
// second is the pooler's.
var parameters = map[string][2]int64{
	"granite-english-r2":           {149_014_272, 0},
	"granite-small-english-r2":     {47_662_464, 0},
	"granite-97m-multilingual-r2":  {97_441_152, 0},
	"granite-311m-multilingual-r2": {311_664_384, 0},
	"modernbert-base":              {149_014_272, 0},
	"modernbert-large":             {394_781_696, 0},
	"gte-modernbert-base":          {149_014_272, 0},
	"bge-small":                    {33_212_160, 147_840},
	"bge-base":                     {108_891_648, 590_592},
	"bge-large":                    {334_092_288, 1_049_600},
	"e5-small":                     {33_212_160, 147_840},
	"e5-base":                      {108_891_648, 590_592},
	"minilm-l6":                    {22_565_376, 147_840},
	"multilingual-e5-small":        {117_505_920, 147_840},
	"multilingual-e5-base":         {277_453_056, 590_592},
	"qwen3-embedding-0.6b":         {595_776_512, 0},
	"ms-marco-minilm-l12":          {33_360_385, 0},
	"bge-reranker-base":            {278_044_417, 0},
	"gte-reranker-modernbert-base": {149_605_633, 0},
	"granite-reranker-english-r2":  {149_605_633, 0},
}

// hollow writes a stand-in whose weights are a hole of the right size.
func hollow(tb testing.TB, s synth.Shape, dtype model.DType) string {
	tb.Helper()
	dir := tb.TempDir()
	for name, data := range s.Describe(7, dtype, model.SyntheticStandIn) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	var header bytes.Buffer
	specs := s.Tensors(dtype)
	if _, err := model.NewWriter(&header, specs, nil); err != nil {
		tb.Fatal(err)
	}
	size := int64(header.Len())
	for _, t := range specs {
		size += t.Bytes()
	}
	path := filepath.Join(dir, "model.safetensors")
	if err := os.WriteFile(path, header.Bytes(), 0o644); err != nil {
		tb.Fatal(err)
	}
	if err := os.Truncate(path, size); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// Every shape has the parameters of its model, and its directory is one that package
// model reads as that.
func TestShapes(t *testing.T) {
	if len(synth.Shapes()) != len(parameters) {
		t.Errorf("%d shapes, %d parameter counts", len(synth.Shapes()), len(parameters))
	}
	for _, s := range synth.Shapes() {
		want := parameters[s.Name]
		if encoder, pooler := s.Parameters(); [2]int64{encoder, pooler} != want {
			t.Errorf("%s has %d parameters and %d of a pooler, want %v", s.Name, encoder, pooler, want)
		}
		m, err := model.Open(hollow(t, s, model.F16))
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		encoder, pooler := m.Parameters()
		if [2]int64{encoder, pooler} != want {
			t.Errorf("%s is read as %d parameters and %d of a pooler, want %v", s.Name, encoder, pooler, want)
		}
		c := m.Config
		got := fmt.Sprintf("%s %d %d %d %d %d %d", m.Kind, c.Layers, c.Hidden, c.Heads, c.FFN, c.Vocab, m.MaxPositions())
		if want := fmt.Sprintf("%s %d %d %d %d %d %d", s.Kind, s.Layers, s.Hidden, s.Heads, s.FFN, s.Vocab, s.Positions); got != want {
			t.Errorf("%s is read as %s, want %s", s.Name, got, want)
		}
		if m.Pooling != s.Pooling || s.Kind == model.Embedder && (m.Normalize != s.Normalize || m.MaxSeqLength != s.MaxSeq || m.LowerCase != s.LowerCase || !maps.Equal(m.Prompts, s.Prompts)) {
			t.Errorf("%s: pooling %s, normalised %t, at most %d, lower case %t, prompts %q", s.Name, m.Pooling, m.Normalize, m.MaxSeqLength, m.LowerCase, m.Prompts)
		}
		if shape, ok := m.SyntheticShape(); !ok || shape != (model.Synthetic{Shape: s.Name, Seed: 7, Tokenizer: model.SyntheticStandIn}) || !m.Synthetic || !m.SyntheticTokenizer() {
			t.Errorf("%s does not say that it is synthetic: %+v", s.Name, shape)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Every tensor of a checkpoint is one that the description names, or the pooler.
func TestNoTensorIsLeftOver(t *testing.T) {
	for _, s := range synth.Shapes() {
		encoder, pooler := s.Parameters()
		total := int64(0)
		for _, spec := range s.Tensors(model.F16) {
			total += spec.Bytes() / 2
		}
		if total != encoder+pooler {
			t.Errorf("%s: the file has %d values, the model %d", s.Name, total, encoder+pooler)
		}
	}
}

// The layers are those of the models where families differ inside.
func TestLayers(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"granite-small-english-r2", "gelu 80000/10000 windows 0 64 64 0 64 64 0 64 64 0 64 64"},
		{"granite-97m-multilingual-r2", "silu 150000/160000 windows 0 64 64 0 64 64 0 64 64 0 64 64"},
		{"granite-311m-multilingual-r2", "gelu 150000/160000 windows 0 64 64 0 64 64 0 64 64 0 64 64 0 64 64 0 64 64 0 64 64 0"},
		{"gte-modernbert-base", "gelu 160000/10000 windows 0 64 64 0 64 64 0 64 64 0 64 64 0 64 64 0 64 64 0 64 64 0"},
		{"bge-small", "gelu 0/0 windows 0 0 0 0 0 0 0 0 0 0 0 0"},
	} {
		s, err := synth.Find(c.name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := model.Open(hollow(t, s, model.BF16))
		if err != nil {
			t.Fatal(err)
		}
		var windows []string
		for _, l := range m.Layers {
			windows = append(windows, fmt.Sprint(l.Attention.Window))
		}
		got := fmt.Sprintf("%s %.0f/%.0f windows %s", m.Layers[0].FeedForward.Act, m.Layers[0].Attention.Rope.Theta, m.Layers[1].Attention.Rope.Theta, strings.Join(windows, " "))
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		m.Close()
	}
}

// The description files of one shape of each family.
func TestDescribeGolden(t *testing.T) {
	var got strings.Builder
	for _, name := range []string{"granite-97m-multilingual-r2", "bge-small", "multilingual-e5-base", "qwen3-embedding-0.6b", "ms-marco-minilm-l12", "gte-reranker-modernbert-base"} {
		s, err := synth.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		files := s.Describe(42, model.BF16, model.SyntheticReal)
		for _, file := range slices.Sorted(maps.Keys(files)) {
			fmt.Fprintf(&got, "== %s/%s\n%s", name, file, files[file])
		}
	}
	path := filepath.Join("testdata", "describe.golden.txt")
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("differs from %s, read why before -update:\n%s", path, got.String())
	}
}

// The weights are the same bytes on every machine, and others for another seed.
func TestWeightsGolden(t *testing.T) {
	s, err := synth.Find("minilm-l6")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		seed   int64
		dtype  model.DType
		sha256 string
	}{
		{1, model.F32, "b26cead0a75b1db48cec1d6e020dcb4412712750cff4e344ad6e08bf1c1e5960"},
		{1, model.F16, "f79b26cb6fba6c44ecc511c174d1c8e1acf8a8257935e8578d4894094a5cd2fb"},
		{-5, model.BF16, "2e9a4341b1cb227e5be5347ed7788c8aed23f72d7d7441f52b4a8693d093ca94"},
	} {
		h := sha256.New()
		calls, last := 0, int64(0)
		err := synth.WriteWeights(t.Context(), h, s, c.seed, c.dtype, func(done, total int64) {
			if calls++; done <= last || done > total {
				t.Errorf("progress %d after %d of %d", done, last, total)
			}
			last = done
		})
		encoder, pooler := s.Parameters()
		if size := (encoder + pooler) * (model.TensorSpec{DType: c.dtype}).Bytes(); err != nil || last != size {
			t.Errorf("%v, %d bytes of %d in %d calls", err, last, size, calls)
		}
		if got := fmt.Sprintf("%x", h.Sum(nil)); got != c.sha256 {
			t.Errorf("seed %d, %s: sha256 %s, want %s", c.seed, c.dtype, got, c.sha256)
		}
	}
}

// 16-bit weights are the float32 ones, rounded.
func TestDTypesAgree(t *testing.T) {
	s, err := synth.Find("minilm-l6")
	if err != nil {
		t.Fatal(err)
	}
	dirs := map[model.DType]*model.Weights{}
	for dtype := range map[model.DType]float64{model.F32: 0, model.F16: 1, model.BF16: 2} {
		path := filepath.Join(t.TempDir(), "model.safetensors")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(synth.WriteWeights(t.Context(), f, s, 3, dtype, nil), f.Close()); err != nil {
			t.Fatal(err)
		}
		if dirs[dtype], err = model.OpenWeights(path); err != nil {
			t.Fatal(err)
		}
		defer dirs[dtype].Close()
	}
	for _, name := range []string{"encoder.layer.3.output.dense.weight", "encoder.layer.0.output.LayerNorm.weight", "embeddings.LayerNorm.bias"} {
		exact, err := dirs[model.F32].Float32(name)
		if err != nil {
			t.Fatal(err)
		}
		for dtype, digits := range map[model.DType]float64{model.F16: 1 << 11, model.BF16: 1 << 8} {
			rounded, err := dirs[dtype].Float32(name)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range rounded {
				if diff := math.Abs(float64(v) - float64(exact[i])); diff > max(math.Abs(float64(exact[i]))/digits, math.Pow(2, -25)) {
					t.Fatalf("%s: value %d of %s is %g, in float32 %g", dtype, i, name, v, exact[i])
				}
			}
		}
	}
}

func TestRefuses(t *testing.T) {
	if _, err := synth.Find("bert"); err == nil || !errors.Is(err, synth.ErrUnknownShape) ||
		!strings.HasPrefix(err.Error(), `unknown shape "bert"; known are granite-english-r2, granite-small-english-r2, `) {
		t.Error(err)
	}
	s, err := synth.Find("minilm-l6")
	if err != nil {
		t.Fatal(err)
	}
	if err := synth.WriteWeights(t.Context(), io.Discard, s, 1, "I8", nil); err == nil || err.Error() != `synthesise minilm-l6: unsupported model: dtype "I8"; supported are F32, F16, BF16` {
		t.Error(err)
	}
}

// names lists what is in a folder.
func names(tb testing.TB, dir string) string {
	tb.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && path != dir {
			rel, _ := filepath.Rel(dir, path)
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return strings.Join(out, " ")
}

func TestWriteDirectory(t *testing.T) {
	s, err := synth.Find("minilm-l6")
	if err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	dir := filepath.Join(parent, "model")
	tokenizer := func(w io.Writer) error { _, err := io.WriteString(w, "{}"); return err }
	opt := synth.Options{Seed: 1, DType: model.F16, Tokenizer: tokenizer, Kind: model.SyntheticReal}

	// Neither a failure nor an interruption leaves anything.
	failing := opt
	failing.Tokenizer = func(io.Writer) error { return errors.New("no tokenizer") }
	if _, err := synth.WriteDirectory(t.Context(), dir, s, failing); err == nil || err.Error() != "write stand-in "+dir+": no tokenizer" || names(t, parent) != "" {
		t.Errorf("%v; left: %s", err, names(t, parent))
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := opt
	stopped.Progress = func(int64, int64) { cancel() }
	if _, err := synth.WriteDirectory(ctx, dir, s, stopped); !errors.Is(err, context.Canceled) || names(t, parent) != "" {
		t.Errorf("%v; left: %s", err, names(t, parent))
	}

	if err := os.Mkdir(dir, 0o755); err != nil { // an empty one may be there
		t.Fatal(err)
	}
	size, err := synth.WriteDirectory(t.Context(), dir, s, opt)
	if err != nil {
		t.Fatal(err)
	}
	want := "1_Pooling 1_Pooling/config.json README.md config.json config_sentence_transformers.json model.safetensors modules.json sentence_bert_config.json tokenizer.json tokenizer_config.json"
	if got := names(t, dir); got != want || names(t, parent) != "model "+"model/"+strings.ReplaceAll(want, " ", " model/") {
		t.Errorf("written: %s", got)
	}
	sum := int64(0)
	for _, name := range strings.Fields(want) {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		} else if st.Mode().IsRegular() {
			sum += st.Size()
		}
	}
	if sum != size {
		t.Errorf("%d bytes said, %d there", size, sum)
	}
	if m, err := model.Open(dir); err != nil {
		t.Error(err)
	} else {
		m.Close()
	}
	if _, err := synth.WriteDirectory(t.Context(), dir, s, opt); err == nil || err.Error() != "write stand-in "+dir+": file already exists and is not empty (1_Pooling); name a new folder, or remove it" {
		t.Error(err)
	}
}

func TestCheckDirectory(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	here := t.TempDir()
	t.Chdir(here)
	const current = ": it is the current folder, which cannot be replaced; name a new one"
	for _, c := range []struct{ path, want string }{
		{"", "write stand-in ." + current},
		{"./", "write stand-in ." + current},
		{here, "write stand-in " + here + current},
		{link, "write stand-in " + link + ": file already exists and is not a folder; name a new one"},
		{link + "/", "write stand-in " + link + ": file already exists and is not a folder; name a new one"},
		{file, "write stand-in " + file + ": file already exists and is not a folder; name a new one"},
		{filepath.Join(dir, "none", "x"), "write stand-in " + dir + "/none/x: folder " + dir + "/none: no such file or directory; make it first"},
		{filepath.Join(file, "x"), "write stand-in " + file + "/x: not a directory"},
	} {
		if err := synth.CheckDirectory(c.path); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	for _, path := range []string{filepath.Join(dir, "new"), filepath.Join(dir, "new") + "/", t.TempDir()} {
		if err := synth.CheckDirectory(path); err != nil {
			t.Error(err)
		}
	}
}

// The vectors of different texts differ, whatever the text, and are finite.
func TestVectorsDiffer(t *testing.T) {
	for _, name := range []string{"minilm-l6", "granite-small-english-r2"} {
		s, err := synth.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "model")
		if _, err := synth.WriteDirectory(t.Context(), dir, s, synth.Options{Seed: 1, DType: model.BF16, Kind: model.SyntheticReal}); err != nil {
			t.Fatal(err)
		}
		m, err := model.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		ref, err := cpu.NewReference(m)
		if err != nil {
			t.Fatal(err)
		}
		var rows [][]int32
		for k := range int32(4) {
			row := []int32{101}
			for i := range int32(14) {
				row = append(row, (k*7919+i*(k*104_729+31))%int32(s.Vocab))
			}
			rows = append(rows, append(row, 102))
		}
		rows = append(rows, slices.Repeat([]int32{5}, 16), []int32{101, 102}, []int32{int32(s.Vocab) - 1})
		var vectors [][]float32
		for _, row := range rows {
			v, err := ref.Encode(row, nil)
			if err != nil {
				t.Fatal(err)
			}
			vectors = append(vectors, v)
		}
		for i, a := range vectors {
			for k, b := range vectors[:i] {
				var ab, aa, bb float64
				for d := range a {
					ab += float64(a[d]) * float64(b[d])
					aa += float64(a[d]) * float64(a[d])
					bb += float64(b[d]) * float64(b[d])
				}
				if cos := ab / math.Sqrt(aa*bb); !(math.Abs(cos) < 0.95) {
					t.Errorf("%s: texts %d and %d have cosine %g", name, k, i, cos)
				}
			}
		}
	}
}
