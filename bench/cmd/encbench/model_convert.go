package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"encbench/engine/model"
	"encbench/engine/quant"

	"github.com/spf13/pflag"
)

var modelConvertCommand = &command{
	name:  "model convert",
	args:  "MODEL",
	short: "write a model's directory with its weights in another element type",
	long: `
Writes a Hugging Face directory that is complete: config.json, which says what was
converted, tokenizer and modules as they are, and model.safetensors. float16 and
bfloat16 round every weight to the nearest; a value beyond float16 is an error that
names it. int8 is for the linear maps of the layers, each row with a scale of its
own in float32; the rest stays as it is stored. Only encbench reads int8: other
programs take its numbers for weights, with a warning at most.

The other commands convert by themselves (--dtype) and keep the outcome; this is
for taking it elsewhere. DIR must not exist, or be empty, and appears when all is
written. "encbench model verify MODEL --dtype TYPE" tells what the type costs.`,
	examples: []example{
		{"encbench model convert minilm-l6 --dtype int8 --out minilm-int8", "the pinned model with int8 layers, in a folder of your own"},
	},
	define: func(fs *pflag.FlagSet) runner {
		f := &modelConvertFlags{}
		fs.StringVar(&f.dtype, "dtype", "", "`TYPE` of the new weights: float32, float16, bfloat16 or int8")
		fs.StringVar(&f.out, "out", "", "`DIR` to be written")
		poolingFlag(fs, &f.pooling)
		return f
	},
}

type modelConvertFlags struct{ dtype, out, pooling string }

func (f *modelConvertFlags) run(ctx context.Context, a *app, args []string) error {
	switch {
	case len(args) == 0:
		return usagef("name the model to be converted")
	case f.dtype == "":
		return usagef("--dtype is required: float32, float16, bfloat16 or int8")
	case f.out == "":
		return usagef("--out is required: the directory to be written")
	}
	to, err := quant.ParseDType(f.dtype)
	if err != nil {
		return usagef("--dtype %q: float32, float16, bfloat16 or int8", f.dtype)
	}
	if err := emptyDir(f.out); err != nil {
		return err
	}
	m, err := a.oneModel(ctx, args, f.pooling)
	if err != nil {
		return err
	}
	defer m.close()
	if m.dir == nil {
		return usagef("%s is a graph, whose weights have types of their own; name a Hugging Face directory", m.graph)
	}
	if err := outside(f.out, m.dir.Dir); err != nil {
		return err
	}
	files, err := quant.Files(m.dir, to)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(files, func(f quant.File) bool { return f.Changed() }) {
		return usagef("the weights of %s are %s already", m.facts.Name, m.facts.Stored)
	}
	d, err := newDirectory(f.out)
	if err != nil {
		return err
	}
	defer d.discard()
	c := conversion{app: a, model: m, to: to, dir: d}
	if err := c.copyFiles(); err != nil {
		return err
	}
	if err := c.writeConfig(); err != nil {
		return err
	}
	for _, file := range files {
		if err := c.writeWeights(ctx, file); err != nil {
			return err
		}
	}
	if err := d.commit(); err != nil {
		return err
	}
	c.print()
	return nil
}

// conversion is one `encbench model convert` at work.
type conversion struct {
	app   *app
	model *loadedModel
	to    quant.DType
	dir   *directory

	before, after, size int64 // bytes converted, what became of them, and of all weights written
	copied              int   // other files
}

// transformer is the folder of config.json and the main weights, from the model's
// directory.
func (c *conversion) transformer() (string, error) {
	d := c.model.dir
	rel, err := filepath.Rel(d.Dir, filepath.Dir(d.Weights.Path))
	if err != nil || !filepath.IsLocal(rel) && rel != "." {
		return "", fmt.Errorf("convert %s: its weights are in %s, outside of its directory", c.model.facts.Name, d.Weights.Path)
	}
	return rel, nil
}

// otherWeights end the names of files that hold weights: of this format, and of others,
// which would not be converted.
var otherWeights = []string{".safetensors", ".safetensors.index.json", ".bin", ".bin.index.json", ".onnx", ".onnx_data", ".h5", ".msgpack", ".ot", ".pt", ".pth", ".ckpt", ".gguf", ".tflite", ".npz"}

// otherFolders hold the same model for other programs.
var otherFolders = []string{"onnx", "openvino", "coreml"}

// copyFiles copies everything but weights and what begins with a dot; links are
// followed, as a hub's cache is made of them.
func (c *conversion) copyFiles() error {
	from := c.model.dir.Dir
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := e.Name()
		rel, err := filepath.Rel(from, path)
		if err != nil || rel == "." {
			return err
		}
		st, err := os.Stat(path)
		switch {
		case err != nil:
			return err
		case st.IsDir() && (strings.HasPrefix(name, ".") || slices.Contains(otherFolders, name)):
			return fs.SkipDir
		case !st.Mode().IsRegular() || strings.HasPrefix(name, ".") || name == "config.json" && !c.isModule(rel):
			return nil
		case slices.ContainsFunc(otherWeights, func(end string) bool { return strings.HasSuffix(name, end) }):
			return nil
		}
		c.copied++
		return c.dir.create(rel, func(w io.Writer) error {
			r, err := os.Open(path)
			if err != nil {
				return err
			}
			defer r.Close()
			_, err = io.Copy(w, r)
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("copy the files of %s: %w", c.model.facts.Name, err)
	}
	return nil
}

// isModule says whether a config.json is a module's and not the transformer's.
func (c *conversion) isModule(rel string) bool {
	own, err := c.transformer()
	return err == nil && filepath.Dir(rel) != own
}

// writeConfig writes config.json with the new type and where the weights come from.
func (c *conversion) writeConfig() error {
	own, err := c.transformer()
	if err != nil {
		return err
	}
	path := filepath.Join(c.model.dir.Dir, own, "config.json")
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("convert %s: %w", c.model.facts.Name, err)
	}
	text, err := convertedConfig(data, c.to, c.model.facts.SHA256)
	if err != nil {
		return fmt.Errorf("convert %s: %w", path, err)
	}
	return c.dir.create(filepath.Join(own, "config.json"), func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// convertedConfig gives config.json with the weights' type, under the name that it has
// there, and a note of the conversion. int8 weights leave the type of the rest alone.
func convertedConfig(data []byte, to quant.DType, sha256 string) ([]byte, error) {
	config := map[string]any{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&config); err != nil {
		return nil, err
	}
	if to != quant.Int8 {
		named := false
		for _, key := range []string{"dtype", "torch_dtype"} {
			if _, ok := config[key]; ok {
				config[key], named = string(to), true
			}
		}
		if !named {
			config["torch_dtype"] = string(to) // releases old and new read it
		}
	}
	note := map[string]any{"dtype": string(to), "rule": quant.Version, "from_sha256": sha256}
	if to == quant.Int8 {
		note["weights"] = "tensors of dtype I8 times the float32 of the same name and " + model.ScaleSuffix + ", row by row"
	}
	config["encbench_converted"] = note
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(config)
	return buf.Bytes(), err
}

// writeWeights converts one file.
func (c *conversion) writeWeights(ctx context.Context, file quant.File) error {
	path := filepath.FromSlash(file.Path)
	if filepath.Dir(path) == "." {
		own, err := c.transformer()
		if err != nil {
			return err
		}
		path = filepath.Join(own, path)
	}
	before, after := file.Converted()
	c.before += before
	c.after += after
	bar := c.app.progress()
	defer bar.clear()
	return c.dir.create(path, func(w io.Writer) error {
		return file.Write(ctx, w, func(done, total int64) {
			if done == total {
				c.size += total
			}
			bar.show(share(done, total), func() string { return fmt.Sprintf("converting, %s of %s", megabytes(done), megabytes(total)) })
		})
	})
}

func (c *conversion) print() {
	t := tabwriter.NewWriter(c.app.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "converted\t%s of %s weights to %s of %s\n", megabytes(c.before), c.model.facts.Stored, megabytes(c.after), c.to)
	if rest := c.size - c.after; rest > 0 {
		fmt.Fprintf(t, "as stored\t%s of weights\n", megabytes(rest))
	}
	fmt.Fprintf(t, "copied\t%s\n", count(c.copied, "other file"))
	fmt.Fprintf(t, "written\t%s\n", c.dir.path)
	t.Flush()
}

// directory is one that appears whole or not at all: it grows under another name
// beside its place.
type directory struct{ path, tmp string }

// emptyDir refuses a path at which something is, and the current folder, which cannot
// be replaced.
func emptyDir(path string) error {
	// A link with a slash after it would be followed, and then replaced.
	path = filepath.Clean(path)
	if st, err := os.Lstat(path); err == nil && !st.IsDir() {
		return usagef("--out %s exists and is no directory; name a new one", path)
	} else if here, hereErr := os.Stat("."); err == nil && hereErr == nil && os.SameFile(here, st) {
		return usagef("--out %s is the current directory, which cannot be replaced; name a new one", path)
	}
	entries, err := os.ReadDir(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return usagef("--out %s exists and is no directory; name a new one", path)
	case len(entries) > 0:
		return usagef("--out %s exists and is not empty; name a new directory", path)
	}
	return nil
}

// outside refuses a place within the directory that is copied: it would be copied into
// itself. A place that is not there is left to newDirectory to report.
func outside(path, dir string) error {
	real := func(path string) string {
		abs, err := filepath.Abs(path)
		if err != nil {
			return path
		}
		if link, err := filepath.EvalSymlinks(abs); err == nil {
			return link
		}
		return abs
	}
	rel, err := filepath.Rel(real(dir), real(filepath.Dir(filepath.Clean(path))))
	if err == nil && filepath.IsLocal(rel) {
		return usagef("--out %s lies in the directory of the model itself; name one beside it", path)
	}
	return nil
}

func newDirectory(path string) (*directory, error) {
	path = filepath.Clean(path)
	tmp, err := os.MkdirTemp(filepath.Dir(path), filepath.Base(path)+".partial-*")
	if err != nil {
		return nil, fmt.Errorf("--out: the directory cannot be written: %w", err)
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return nil, errors.Join(fmt.Errorf("--out: %w", err), os.RemoveAll(tmp))
	}
	return &directory{path: path, tmp: tmp}, nil
}

// create writes a file, and the folders above it.
func (d *directory) create(rel string, write func(w io.Writer) error) error {
	path := filepath.Join(d.tmp, rel)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", d.path, err)
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", d.path, err)
	}
	return errors.Join(write(f), f.Close())
}

// commit gives the directory its name.
func (d *directory) commit() error {
	// An empty directory makes room; one that was filled meanwhile stays.
	if err := os.Remove(d.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("write %s: %w", d.path, err)
	}
	if err := os.Rename(d.tmp, d.path); err != nil {
		return fmt.Errorf("write %s: %w", d.path, err)
	}
	d.tmp = ""
	return nil
}

// discard removes what was not committed.
func (d *directory) discard() {
	if d.tmp != "" {
		os.RemoveAll(d.tmp)
	}
}
