package model

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// addConfigs seeds a fuzz target with the config.json of every checkpoint in testdata.
func addConfigs(f *testing.F) {
	paths, err := filepath.Glob("testdata/*/config.json")
	if err != nil || len(paths) == 0 {
		f.Fatal(paths, err)
	}
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

// FuzzConfig checks that whatever config.json says, a family either refuses it in one
// line or describes layers whose sizes fit together.
func FuzzConfig(f *testing.F) {
	addConfigs(f)
	f.Add([]byte(`{"model_type":"bert"}`))
	f.Add([]byte(`{"model_type":"modernbert","num_hidden_layers":268435456,"hidden_size":2,"num_attention_heads":1,"intermediate_size":1,"vocab_size":1,"max_position_embeddings":1,"hidden_activation":"relu","global_attn_every_n_layers":1,"local_attention":2,"global_rope_theta":2,"local_rope_theta":2,"pad_token_id":0}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := parseConfig(data)
		if err != nil {
			if text := err.Error(); strings.ContainsAny(text, "\n\x00") || len(text) > 4000 {
				t.Errorf("error %q", text)
			}
			return
		}
		c := d.config
		if c.Layers < 1 || c.Hidden < 1 || c.Vocab < 1 || c.Positions < 1 || c.PadID < 0 || c.PadID >= c.Vocab ||
			c.Heads%c.KVHeads != 0 || c.HeadDim < 1 || !(c.NormEps >= 0 && c.NormEps < 1) || c.Act == "" {
			t.Fatalf("config %+v", c)
		}
		n := names{w: newWeights("none")}
		e := d.layout.embedding(&n)
		if e.Word.Rows != c.Vocab || e.Word.Dim != c.Hidden || (e.Position.Weight != "" && e.Position.Rows-e.FirstPosition != c.Positions) {
			t.Fatalf("embedding %+v of %+v", e, c)
		}
		for _, i := range []int{0, c.Layers / 2, c.Layers - 1} {
			l := d.layout.layer(&n, i)
			a, ff := l.Attention, l.FeedForward
			if a.Query.In != c.Hidden || a.Query.Out != a.Heads*a.HeadDim || a.Key.Out != a.KVHeads*a.HeadDim || a.Value.Out != a.Key.Out ||
				a.Output.In != a.Query.Out || a.Output.Out != c.Hidden || ff.Up.Out != ff.Down.In || ff.Down.Out != c.Hidden ||
				a.Rope.Dim%2 != 0 || a.Rope.Dim > a.HeadDim || a.Window < 0 {
				t.Fatalf("layer %d: %+v", i, l)
			}
			for _, x := range l.linears() {
				if x.In < 1 || x.Out < 1 || x.Row < 0 || (x.Rows > 0 && x.Row+x.Out > x.Rows) || x.Scale != "" {
					t.Fatalf("layer %d: map %+v", i, x)
				}
			}
		}
		if l, ok := d.layout.(classifier); ok {
			if head, pooling := l.head(&n); head[len(head)-1].Linear.Out != 1 || pooling == "" {
				t.Fatalf("head %+v by %q", head, pooling)
			}
		}
	})
}

// FuzzShardIndex checks that an index either is refused or names files beside it.
func FuzzShardIndex(f *testing.F) {
	data, err := os.ReadFile("testdata/micro-modernbert-shards/model.safetensors.index.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"weight_map":{"a":"../x.safetensors","b":"/x.safetensors","c":".safetensors"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		index, files, err := parseIndex(data)
		if err != nil {
			return
		}
		known := map[string]bool{}
		for _, name := range files {
			if filepath.Base(name) != name || !filepath.IsLocal(name) || known[name] {
				t.Fatalf("file %q", name)
			}
			known[name] = true
		}
		for tensor, name := range index {
			if !known[name] {
				t.Fatalf("tensor %q is in %q, which is not listed", tensor, name)
			}
		}
	})
}

// FuzzModules checks the module list and the configs that it leads to.
func FuzzModules(f *testing.F) {
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join("testdata/micro-bert-dense", name))
		if err != nil {
			f.Fatal(err)
		}
		return data
	}
	f.Add(read("modules.json"), read("1_Pooling/config.json"), read("2_Dense/config.json"))
	f.Add([]byte(`[{"type":"sentence_transformers.Transformer"},{"type":"sentence_transformers.Pooling","path":"p"},{"type":"sentence_transformers.Dense","path":"d"},{"type":"sentence_transformers.Normalize"}]`),
		[]byte(`{"pooling_mode_max_tokens":true}`), []byte(`{"in_features":1,"out_features":1}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, list, pooling, dense []byte) {
		var entries []moduleEntry
		if json.Unmarshal(list, &entries) == nil {
			for _, e := range entries { // the files that an honest list leads to
				if e.Path == "p" || e.Path == "d" {
					put(t, filepath.Join(dir, e.Path, "config.json"), map[string][]byte{"p": pooling, "d": dense}[e.Path])
				}
			}
		}
		put(t, filepath.Join(dir, "modules.json"), list)
		m, err := readModules(dir)
		if err != nil {
			return
		}
		if m.path == "" || (m.pooled != (m.mode != "")) || (!m.pooled && (m.normalize || len(m.dense) > 0)) {
			t.Fatalf("modules %+v", m)
		}
		for _, d := range m.dense {
			if d.in < 1 || d.out < 1 || d.folder == "" || d.folder == "." {
				t.Fatalf("dense %+v", d)
			}
		}
	})
}

func put(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
