package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"encbench/bench/assets/assettest"
)

func TestModelSynthUsage(t *testing.T) {
	dir := t.TempDir()
	full := filepath.Join(dir, "full")
	if err := os.MkdirAll(filepath.Join(full, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"", "model synth takes one name, 0 given; --list prints them"},
		{"a b", "model synth takes one name, 2 given; --list prints them"},
		{"minilm-l6 --list", `unexpected argument "minilm-l6"`},
		{"minilm-l6", "name the directory to write with --out"},
		{"minilm-l6 --out x --dtype int8", `--dtype "int8": float32, float16 or bfloat16`},
		{"minilm-l6 --out " + full, "--out: write stand-in " + full + ": file already exists and is not empty (x); name a new folder, or remove it"},
		{"minilm-l6 --out " + full + "/y/z", "--out: write stand-in " + full + "/y/z: folder " + full + "/y: no such file or directory; make it first"},
	} {
		r := encbench("", append([]string{"model", "synth"}, strings.Fields(c.args)...)...)
		if want := "encbench model synth: " + c.want + "\nSee `encbench model synth --help`.\n"; r.code != exitUsage || r.stderr != want || r.stdout != "" {
			t.Errorf("%s: exit %d, %q\n%s\nwant\n%s", c.args, r.code, r.stdout, r.stderr, want)
		}
	}
	r := encbench("", "model", "synth", "bert", "--out", "x")
	if r.code != exitUsage || !strings.HasPrefix(r.stderr, `encbench model synth: unknown shape "bert"; known are granite-english-r2, `) {
		t.Errorf("exit %d\n%s", r.code, r.stderr)
	}
}

func TestModelSynthList(t *testing.T) {
	r := encbench("", "model", "synth", "--list")
	if r.code != 0 || r.stderr != "" {
		t.Fatalf("exit %d\n%s", r.code, r.stderr)
	}
	compareGolden(t, "synth-list.txt", r.stdout)
}

// compareGolden holds text against a file of testdata.
func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("differs from %s; run with -update and read the difference\n%s", path, got)
	}
}

// A BERT shape comes with MiniLM's vocabulary, another with a tokenizer that is
// trained or given; what is written is a model that other commands take.
func TestModelSynth(t *testing.T) {
	for _, name := range []string{"all-minilm-l6-v2", "techdocs"} {
		assettest.Need(t, name)
	}
	dir := t.TempDir()
	mini := filepath.Join(dir, "mini")
	r := encbench("", "model", "synth", "minilm-l6", "--out", mini, "--dtype", "float16", "--seed", "3")
	if want := `model       minilm-l6, the shape of sentence-transformers/all-MiniLM-L6-v2
parameters  22,565,376, and 147,840 of a pooler that embeddings do not use
weights     float16, drawn from seed 3
tokenizer   real: WordPiece, 30,522 ids, from all-minilm-l6-v2
written     DIR, 45,906,196 bytes
note        synthetic weights: speed only
`; r.code != 0 || strings.ReplaceAll(r.stdout, mini, "DIR") != want {
		t.Errorf("exit %d\n%s\n%s\nwant\n%s", r.code, r.stderr, r.stdout, want)
	}
	small := filepath.Join(dir, "small")
	r = encbench("", "model", "synth", "granite-small-english-r2", "--out", small, "--dtype", "bfloat16")
	if want := `model            granite-small-english-r2, the shape of ibm-granite/granite-embedding-small-english-r2
parameters       47,662,464
weights          bfloat16, drawn from seed 1
tokenizer        stand-in: BPE, 50,368 ids, from techdocs
trained_merges   49,996, every id used
chars_per_token  5.104 on techdocs
written          DIR, 98,008,071 bytes
note             synthetic weights: speed only; chunks/s and tokens/s hold, docs/s do not
`; r.code != 0 || strings.ReplaceAll(r.stdout, small, "DIR") != want {
		t.Errorf("exit %d\n%s\n%s\nwant\n%s", r.code, r.stderr, r.stdout, want)
	}

	// The trained tokenizer may be given as a file, a foreign one may not.
	tokenizer := filepath.Join(small, "tokenizer.json")
	given := filepath.Join(dir, "given")
	r = encbench("", "model", "synth", "granite-small-english-r2", "--out", given, "--dtype", "bfloat16", "--tokenizer", tokenizer)
	if want := "tokenizer   real: BPE, 50,368 ids, from " + tokenizer + "\n"; r.code != 0 || !strings.Contains(r.stdout, want) {
		t.Errorf("exit %d\n%s\n%s\nwant\n%s", r.code, r.stderr, r.stdout, want)
	}
	for _, c := range []struct{ shape, tokenizer, want string }{
		{"minilm-l6", tokenizer, "tokenizer " + tokenizer + " is a BPE model, that of sentence-transformers/all-MiniLM-L6-v2 is WordPiece: give the model's own"},
		{"qwen3-embedding-0.6b", tokenizer, "tokenizer " + tokenizer + " has 50,368 ids, Qwen/Qwen3-Embedding-0.6B has 151,669: give the model's own"},
	} {
		r := encbench("", "model", "synth", c.shape, "--out", filepath.Join(dir, "none"), "--tokenizer", c.tokenizer)
		if want := "encbench model synth: " + c.want + "\nSee `encbench model synth --help`.\n"; r.code != exitUsage || r.stderr != want {
			t.Errorf("exit %d\n%s\nwant\n%s", r.code, r.stderr, want)
		}
	}
	missing := filepath.Join(dir, "missing.json")
	r = encbench("", "model", "synth", "minilm-l6", "--out", filepath.Join(dir, "none"), "--tokenizer", missing)
	if want := "encbench model synth: load tokenizer: open " + missing + ": no such file or directory\n"; r.code != exitFailure || r.stderr != want {
		t.Errorf("exit %d\n%s\nwant\n%s", r.code, r.stderr, want)
	}

	// Ctrl-C leaves nothing.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r = encbenchContext(ctx, "", "model", "synth", "minilm-l6", "--out", filepath.Join(dir, "none"))
	if want := "encbench model synth: interrupted; nothing was written\n"; r.code != exitFailure || r.stderr != want {
		t.Errorf("exit %d\n%s\nwant\n%s", r.code, r.stderr, want)
	}
	if list, err := filepath.Glob(filepath.Join(dir, "*none*")); err != nil || len(list) > 0 {
		t.Errorf("left: %v, %v", list, err)
	}
}
