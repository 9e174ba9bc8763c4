package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"encbench/engine/model"
	"encbench/engine/model/modeltest"
	"encbench/engine/quant"
)

// files lists a directory's files.
func files(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			out = append(out, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The directory is complete, says what it is, and opens.
func TestModelConvert(t *testing.T) {
	dir := tinyEmbedder(t, "tiny-bert-cls")
	for name, text := range map[string]string{
		"README.md": "a card", ".gitattributes": "x", "model.onnx": "x", "onnx/model.onnx": "x", "pytorch_model.bin": "x", ".cache/y.json": "{}",
		"vocab.txt": "[PAD]", "training_args.bin": "x", "golden.json": "{}",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(t.TempDir())
	m, err := model.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	sha, err := m.SHA256()
	if err != nil {
		t.Fatal(err)
	}
	kept := []string{"1_Pooling/config.json", "README.md", "config.json", "golden.json", "model.safetensors", "modules.json", "tokenizer.json", "vocab.txt"}
	for dtype, want := range map[string]string{
		"float16":  "converted  0.55 MB of float32 weights to 0.28 MB of float16\nas stored  0.02 MB of weights\ncopied     6 other files\nwritten    float16\n",
		"bfloat16": "converted  0.55 MB of float32 weights to 0.28 MB of bfloat16\nas stored  0.02 MB of weights\ncopied     6 other files\nwritten    bfloat16\n",
		"int8":     "converted  0.39 MB of float32 weights to 0.10 MB of int8\nas stored  0.17 MB of weights\ncopied     6 other files\nwritten    int8\n",
	} {
		if dtype == "int8" { // an empty directory is as good as none
			if err := os.Mkdir(dtype, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		r := encbench("", "model", "convert", dir, "--dtype", dtype, "--out", dtype)
		if r.code != 0 || r.stdout != want {
			t.Errorf("%s: exit %d\n%s%s\nwant\n%s", dtype, r.code, r.stdout, r.stderr, want)
		}
		if got := files(t, dtype); !slices.Equal(got, kept) {
			t.Errorf("%s: files %v, want %v", dtype, got, kept)
		}
		var config struct {
			DType     string `json:"dtype"`
			Hidden    int    `json:"hidden_size"`
			Converted struct {
				DType string `json:"dtype"`
				Rule  int    `json:"rule"`
				From  string `json:"from_sha256"`
			} `json:"encbench_converted"`
		}
		modeltest.ReadJSON(t, filepath.Join(dtype, "config.json"), &config)
		named := dtype
		if dtype == "int8" {
			named = "float32"
		}
		if c := config.Converted; config.DType != named || config.Hidden != 64 || c.DType != dtype || c.Rule != quant.Version || c.From != sha {
			t.Errorf("%s: config.json says %+v", dtype, config)
		}
		again, err := model.Open(dtype)
		if err != nil {
			t.Fatal(err)
		}
		if got := quant.Stored(again); got != dtype {
			t.Errorf("%s: stored as %s", dtype, got)
		}
		again.Close()
	}
	if left, _ := filepath.Glob("*.partial-*"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// A model of the hub's cache is made of links, in shards, and its weights become one
// file.
func TestModelConvertHub(t *testing.T) {
	dir := tinyEmbedder(t, "micro-modernbert-shards")
	t.Setenv("HF_HUB_CACHE", modeltest.Hub(t, "", dir, "acme/micro", "c9745ed1d9f207416be6d2e6f8de32d1f16199bf", "main"))
	t.Chdir(t.TempDir())
	if r := encbench("", "model", "convert", "acme/micro", "--dtype", "int8", "--out", "micro"); r.code != 0 {
		t.Fatalf("exit %d\n%s", r.code, r.stderr)
	}
	for _, name := range files(t, "micro") {
		if st, err := os.Lstat(filepath.Join("micro", name)); err != nil || !st.Mode().IsRegular() {
			t.Errorf("%s is no file of its own: %v", name, err)
		}
		if strings.Contains(name, "index.json") || strings.Contains(name, "-of-") {
			t.Errorf("%s was copied", name)
		}
	}
	m, err := model.Open("micro")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if got := quant.Stored(m); got != "int8" {
		t.Errorf("stored as %s", got)
	}
}

// The type stands under the name that config.json has for it; numbers keep their digits.
func TestConvertedConfig(t *testing.T) {
	for _, test := range []struct{ in, to, want string }{
		{`{"dtype":"float32","eps":1e-12,"big":1152921504606846977}`, "float16", `{"big":1152921504606846977,"dtype":"float16","encbench_converted":NOTE,"eps":1e-12}`},
		{`{"torch_dtype":"float32"}`, "bfloat16", `{"encbench_converted":NOTE,"torch_dtype":"bfloat16"}`},
		{`{"a":"<b>"}`, "float32", `{"a":"<b>","encbench_converted":NOTE,"torch_dtype":"float32"}`},
		{`{"torch_dtype":"float16","dtype":"float16"}`, "int8", `{"dtype":"float16","encbench_converted":NOTE,"torch_dtype":"float16"}`},
	} {
		got, err := convertedConfig([]byte(test.in), quant.DType(test.to), "abc")
		if err != nil {
			t.Fatal(err)
		}
		note := `{"dtype":"` + test.to + `","from_sha256":"abc","rule":1}`
		if test.to == "int8" {
			note = `{"dtype":"int8","from_sha256":"abc","rule":1,"weights":"tensors of dtype I8 times the float32 of the same name and _scale, row by row"}`
		}
		want := strings.ReplaceAll(test.want, "NOTE", note)
		var flat strings.Builder
		for line := range strings.SplitSeq(string(got), "\n") {
			flat.WriteString(strings.Replace(strings.TrimSpace(line), `": `, `":`, 1))
		}
		if flat.String() != want || !json.Valid(got) {
			t.Errorf("%s to %s:\n%s\nwant\n%s", test.in, test.to, flat.String(), want)
		}
	}
}

func TestModelConvertErrors(t *testing.T) {
	dir := tinyEmbedder(t, "tiny-bert-mean")
	t.Chdir(t.TempDir())
	writeFiles(t, map[string]string{"full/x": "x", "file": "x", "g.onnx": ""})
	if err := errors.Join(os.Symlink(dir, "link"), os.Mkdir("empty", 0o755)); err != nil {
		t.Fatal(err)
	}
	see := "\nSee `encbench model convert --help`.\n"
	for _, test := range []struct {
		args, want string
		code       int
	}{
		{"--dtype int8 --out x", "name the model to be converted" + see, exitUsage},
		{"DIR --out x", "--dtype is required: float32, float16, bfloat16 or int8" + see, exitUsage},
		{"DIR --dtype auto --out x", "--dtype \"auto\": float32, float16, bfloat16 or int8" + see, exitUsage},
		{"DIR --dtype int8", "--out is required: the directory to be written" + see, exitUsage},
		{"DIR --dtype int8 --out full", "--out full exists and is not empty; name a new directory" + see, exitUsage},
		{"DIR --dtype int8 --out file", "--out file exists and is no directory; name a new one" + see, exitUsage},
		{"DIR --dtype int8 --out link/", "--out link exists and is no directory; name a new one" + see, exitUsage},
		{"DIR --dtype float32 --out x", "the weights of DIR are float32 already" + see, exitUsage},
		{"DIR DIR --dtype int8 --out x", "one model at a time, 2 given" + see, exitUsage},
		{"DIR --dtype int8 --out DIR/x", "--out DIR/x lies in the directory of the model itself; name one beside it" + see, exitUsage},
		{"link --dtype int8 --out DIR/1_Pooling/x", "--out DIR/1_Pooling/x lies in the directory of the model itself; name one beside it" + see, exitUsage},
		{"DIR --dtype int8 --out no/where/x", "--out: the directory cannot be written: stat no/where: no such file or directory\n", exitFailure},
	} {
		r := encbench("", strings.Fields("model convert "+strings.ReplaceAll(test.args, "DIR", dir))...)
		want := "encbench model convert: " + strings.ReplaceAll(test.want, "DIR", dir)
		if r.code != test.code || r.stderr != want || r.stdout != "" {
			t.Errorf("%s: exit %d\n%s\nwant %d\n%s", test.args, r.code, r.stderr, test.code, want)
		}
	}
	t.Chdir("empty")
	if r := encbench("", "model", "convert", dir, "--dtype", "int8", "--out", "."); r.code != exitUsage || r.stderr != "encbench model convert: --out . is the current directory, which cannot be replaced; name a new one"+see {
		t.Errorf("the current directory: exit %d, %s", r.code, r.stderr)
	}
	t.Chdir("..")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r := encbenchContext(ctx, "", "model", "convert", dir, "--dtype", "int8", "--out", "x"); r.code != exitFailure || r.stderr != "encbench model convert: interrupted; nothing was written\n" {
		t.Errorf("interrupted: exit %d, %s", r.code, r.stderr)
	}
	left, _ := filepath.Glob("*")
	if want := []string{"empty", "file", "full", "g.onnx", "link"}; !slices.Equal(left, want) {
		t.Errorf("left %v, want %v", left, want)
	}
}
