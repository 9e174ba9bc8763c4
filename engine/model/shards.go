package model

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// shardIndex is model.safetensors.index.json: which file holds which tensor.
type shardIndex struct {
	Map map[string]string `json:"weight_map"`
}

// maxShards bounds the files that are held open.
const maxShards = 1000

// openShards opens the files that an index names and holds both against each other:
// every tensor of the index is in its file, and every tensor of a file in the index.
func openShards(path string) (*Weights, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read weights %s: %w", path, plain(err))
	}
	index, files, err := parseIndex(data)
	if err != nil {
		return nil, fmt.Errorf("read weights %s: %w", path, err)
	}
	w := newWeights(path)
	for _, file := range files {
		if _, err := w.open(filepath.Join(filepath.Dir(path), file)); err != nil {
			w.Close()
			return nil, err
		}
	}
	if err := w.matches(index, files); err != nil {
		w.Close()
		return nil, fmt.Errorf("read weights %s: %w", path, err)
	}
	return w, nil
}

// parseIndex reads an index and lists the files it names, sorted.
func parseIndex(data []byte) (map[string]string, []string, error) {
	var raw shardIndex
	if err := decode(data, &raw); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if len(raw.Map) == 0 {
		return nil, nil, fmt.Errorf("%w: weight_map names no tensors", ErrConfig)
	}
	files := slices.Sorted(maps.Values(raw.Map))
	files = slices.Compact(files)
	if len(files) > maxShards {
		return nil, nil, fmt.Errorf("%w: weight_map names %d files, more than %d", ErrConfig, len(files), maxShards)
	}
	for _, f := range files {
		if f != filepath.Base(f) || strings.ContainsAny(f, `/\`) || !strings.HasSuffix(f, ".safetensors") || !filepath.IsLocal(f) {
			return nil, nil, fmt.Errorf("%w: weight_map names the file %.200q, must be a .safetensors file beside the index", ErrConfig, f)
		}
	}
	return raw.Map, files, nil
}

// matches holds the headers against the index. Files that overlap were found when
// they were opened.
func (w *Weights) matches(index map[string]string, files []string) error {
	for _, name := range slices.Sorted(maps.Keys(index)) {
		t, ok := w.Tensor(name)
		if !ok {
			return fmt.Errorf("%w: %.200q, which the index places in %s; get the files again", ErrMissingTensor, name, index[name])
		}
		if in := files[t.file]; in != index[name] {
			return fmt.Errorf("%w: tensor %.200q is in %s, the index places it in %s; get the files again", ErrConfig, name, in, index[name])
		}
	}
	for _, t := range w.tensors {
		if _, ok := index[t.Name]; !ok {
			return fmt.Errorf("%w: tensor %.200q of %s is not in the index; get the files again", ErrConfig, t.Name, files[t.file])
		}
	}
	return nil
}

// openModelWeights opens model.safetensors, or the files of its index, and says what
// else it saw when there is neither.
func openModelWeights(dir string) (*Weights, error) {
	path := filepath.Join(dir, "model.safetensors")
	if exists(path) {
		return OpenWeights(path)
	}
	if index := path + ".index.json"; exists(index) {
		return openShards(index)
	}
	if exists(filepath.Join(dir, "pytorch_model.bin")) {
		return nil, fmt.Errorf("%s: %w: no model.safetensors but pytorch_model.bin: weights in PyTorch's own format are not read; convert them to model.safetensors", dir, ErrUnsupported)
	}
	return OpenWeights(path)
}
