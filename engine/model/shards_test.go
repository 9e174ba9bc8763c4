package model_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"encbench/engine/model"
	"encbench/engine/model/modeltest"
)

// joined copies the sharded checkpoint with its weights in one file.
func joined(t *testing.T) string {
	t.Helper()
	dir := modeltest.Copy(t, microShards)
	files, err := filepath.Glob(filepath.Join(dir, "model-*.safetensors"))
	if err != nil || len(files) != 5 {
		t.Fatalf("%d shards, %v", len(files), err)
	}
	var all []modeltest.Tensor
	for _, f := range files {
		all = append(all, modeltest.ReadTensors(t, f)...)
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	modeltest.WriteTensors(t, filepath.Join(dir, "model.safetensors"), all, 0)
	if err := os.Remove(filepath.Join(dir, "model.safetensors.index.json")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestShards reads weights in several files as it reads them in one, from a plain
// directory and from a hub cache, where the files have other names.
func TestShards(t *testing.T) {
	one := open(t, joined(t), model.Options{})
	const commit = "eeee567890123456789012345678901234567890"
	t.Setenv("HF_HUB_CACHE", modeltest.Hub(t, "", microShards, "org/shards", commit, "main"))
	linked, _, err := model.ResolveHub("org/shards")
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]bool{}
	for _, dir := range []string{microShards, linked} {
		m := open(t, dir, model.Options{})
		if len(m.Tensors()) != len(one.Tensors()) || m.Weights.RealPath != "" || m.Weights.Path != filepath.Join(dir, "model.safetensors.index.json") {
			t.Errorf("%s: %d tensors, real path %q", dir, len(m.Tensors()), m.Weights.RealPath)
		}
		var size int64
		seen := map[string]bool{}
		for _, x := range m.Tensors() {
			a, err := m.Weights.Float32(x.Name)
			if err != nil {
				t.Fatal(err)
			}
			b, err := one.Weights.Float32(x.Name)
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(a) != fmt.Sprint(b) {
				t.Errorf("%s: tensor %s is another", dir, x.Name)
			}
			if file := m.Weights.Location(x); !seen[file] {
				seen[file] = true
				st, err := os.Stat(filepath.Join(m.Weights.Folder(), file))
				if err != nil || file != filepath.Base(file) {
					t.Fatal(file, err)
				}
				size += st.Size()
			}
		}
		if len(seen) != 5 || m.Weights.Size != size {
			t.Errorf("%s: %d files of %d bytes, %d in all", dir, len(seen), size, m.Weights.Size)
		}
		sum, err := m.SHA256()
		if err != nil || len(sum) != 64 {
			t.Fatal(sum, err)
		}
		sums[sum] = true
	}
	// In the directory: sha256sum model-*.safetensors | sha256sum
	if !sums["5b3e3a2074c1cb69cdb3f60f5ccf4af73e4e9397a384f61c4f4335d18eed0864"] || len(sums) != 1 {
		t.Errorf("sums %v", sums)
	}
}

func TestShardsRefuse(t *testing.T) {
	const index = "model.safetensors.index.json"
	type file struct {
		Metadata map[string]any    `json:"metadata"`
		Map      map[string]string `json:"weight_map"`
	}
	edit := func(t *testing.T, dir string, change func(m map[string]string)) {
		var f file
		modeltest.ReadJSON(t, filepath.Join(dir, index), &f)
		change(f.Map)
		modeltest.WriteJSON(t, filepath.Join(dir, index), f)
	}
	shard := func(i int) string { return fmt.Sprintf("model-%05d-of-00005.safetensors", i) }
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		is     error
		want   string
	}{
		{"missing shard", func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, shard(2))); err != nil {
				t.Fatal(err)
			}
		}, os.ErrNotExist, "read weights DIR/" + shard(2) + ": no such file or directory"},
		{"tensor that no shard has", func(t *testing.T, dir string) {
			edit(t, dir, func(m map[string]string) { m["layers.9.attn.Wo.weight"] = shard(1) })
		}, model.ErrMissingTensor, `read weights DIR/` + index + `: missing tensor: "layers.9.attn.Wo.weight", which the index places in ` + shard(1) + "; get the files again"},
		{"tensor in another shard", func(t *testing.T, dir string) {
			edit(t, dir, func(m map[string]string) { m["final_norm.weight"] = shard(2) })
		}, model.ErrConfig, `read weights DIR/` + index + `: bad model description: tensor "final_norm.weight" is in ` + shard(5) + `, the index places it in ` + shard(2) + "; get the files again"},
		{"tensor in no index", func(t *testing.T, dir string) {
			edit(t, dir, func(m map[string]string) { delete(m, "final_norm.weight") })
		}, model.ErrConfig, `read weights DIR/` + index + `: bad model description: tensor "final_norm.weight" of ` + shard(5) + ` is not in the index; get the files again`},
		{"tensor in two shards", func(t *testing.T, dir string) {
			a := modeltest.ReadTensors(t, filepath.Join(dir, shard(1)))
			b := modeltest.ReadTensors(t, filepath.Join(dir, shard(2)))
			modeltest.WriteTensors(t, filepath.Join(dir, shard(2)), append(b, a[0]), 0)
		}, model.ErrHeader, `read weights DIR/` + shard(2) + `: malformed safetensors header: tensor "embeddings.norm.weight" is in DIR/` + shard(1) + ` too`},
		{"truncated shard", func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, shard(3)), 100); err != nil {
				t.Fatal(err)
			}
		}, model.ErrHeader, "read weights DIR/" + shard(3) + ": malformed safetensors header: its length is given as "},
		{"file elsewhere", func(t *testing.T, dir string) {
			edit(t, dir, func(m map[string]string) { m["final_norm.weight"] = "../" + shard(1) })
		}, model.ErrConfig, `read weights DIR/` + index + `: bad model description: weight_map names the file "../` + shard(1) + `", must be a .safetensors file beside the index`},
		{"file of another kind", func(t *testing.T, dir string) {
			edit(t, dir, func(m map[string]string) { m["final_norm.weight"] = "pytorch_model.bin" })
		}, model.ErrConfig, `read weights DIR/` + index + `: bad model description: weight_map names the file "pytorch_model.bin", must be a .safetensors file beside the index`},
		{"empty index", func(t *testing.T, dir string) {
			modeltest.WriteJSON(t, filepath.Join(dir, index), map[string]any{})
		}, model.ErrConfig, `read weights DIR/` + index + `: bad model description: weight_map names no tensors`},
		{"index of numbers", func(t *testing.T, dir string) {
			modeltest.WriteJSON(t, filepath.Join(dir, index), map[string]any{"weight_map": map[string]any{"a": 1}})
		}, model.ErrConfig, `read weights DIR/` + index + `: bad model description: weight_map: found number, expected a string`},
		{"too many files", func(t *testing.T, dir string) {
			edit(t, dir, func(m map[string]string) {
				for i := range 1001 {
					m[fmt.Sprint("t", i)] = fmt.Sprintf("%d.safetensors", i)
				}
			})
		}, model.ErrConfig, `read weights DIR/` + index + `: bad model description: weight_map names 1006 files, more than 1000`},
		{"layer that config.json does not name", func(t *testing.T, dir string) {
			var config map[string]any
			modeltest.ReadJSON(t, filepath.Join(dir, "config.json"), &config)
			config["num_hidden_layers"], config["layer_types"], config["global_attn_every_n_layers"] = 2, nil, 3
			modeltest.WriteJSON(t, filepath.Join(dir, "config.json"), config)
		}, model.ErrConfig, `read weights DIR/` + index + `: bad model description: tensor "layers.2.`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := modeltest.Copy(t, microShards)
			c.damage(t, dir)
			_, err := model.Open(dir)
			if got := text(err, dir); !strings.HasPrefix(got, "open model: "+c.want) || !errors.Is(err, c.is) {
				t.Errorf("got %s\nwant open model: %s (%v)", got, c.want, c.is)
			}
		})
	}
}
