package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"encbench/engine"
	"encbench/engine/vectors"
)

// A search over the vectors that eval leaves finds what eval found, to the last bit.
func TestEvalVectors(t *testing.T) {
	needAll(t)
	t.Chdir(t.TempDir())
	writeLabelled(t)
	rec := evalRecord(t, "--data", "labelled.jsonl", "--truncate-dim", "128", "--vectors-out", "v", "--run-out", "eval.run")
	c := rec.Collections[0]
	if fmt.Sprint(c.Vectors) != "[v-docs.ebvec v-queries.ebvec]" {
		t.Errorf("files %v", c.Vectors)
	}
	for name, rows := range map[string]int64{"v-docs.ebvec": 24, "v-queries.ebvec": 6} {
		if h, n := vectorHeader(t, name); h.Dim != 128 || !h.IDs || h.ModelSHA256 != rec.Model.SHA256 || h.CorpusSHA256 != c.SHA256 || n != rows {
			t.Errorf("%s: %d rows, header %+v", name, n, h)
		}
	}
	ok(t, "search", "--docs", "v-docs.ebvec", "--queries", "v-queries.ebvec", "-k", "1000", "--out", "search.run")
	if want, got := scoresOf(t, "eval.run"), scoresOf(t, "search.run"); len(want) != 6*24 || !maps.Equal(want, got) {
		t.Errorf("eval found %d rows, search %d, or others", len(want), len(got))
	}
	// Windows have a row each, under their document's identifier; an earlier result is
	// replaced.
	rec = evalRecord(t, "--data", "labelled.jsonl", "--chunk", "16", "--overlap", "4", "--vectors-out", "v")
	if _, n := vectorHeader(t, "v-docs.ebvec"); n != rec.Collections[0].Texts.Vectors || n <= 24 {
		t.Errorf("%d rows of windows, %d were searched", n, rec.Collections[0].Texts.Vectors)
	}
	if left, _ := filepath.Glob("*.partial*"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	// Nothing is left of a collection that fails, and nothing else is overwritten.
	writeFiles(t, map[string]string{"x-docs.ebvec": "mine", "bad.jsonl": "{\n"})
	r := encbench("", "eval", "--data", "labelled.jsonl", "--vectors-out", "x")
	if want := "encbench eval: --vectors-out x-docs.ebvec exists and is no earlier result; name another file, or remove it\nSee `encbench eval --help`.\n"; r.code != exitUsage || r.stderr != want {
		t.Errorf("exit %d\n%s", r.code, r.stderr)
	}
	if r := encbench("", "eval", "--data", "labelled.jsonl", "--vectors-out", "o", "--out", "o-docs.ebvec"); r.code != exitUsage || !strings.Contains(r.stderr, "--vectors-out and --out both name o-docs.ebvec; give the record a name of its own") {
		t.Errorf("exit %d\n%s", r.code, r.stderr)
	}
	encbench("", "eval", "--data", "labelled.jsonl,bad.jsonl", "--vectors-out", "m")
	if files, _ := filepath.Glob("m*"); strings.Join(files, " ") != "m-labelled-docs.ebvec m-labelled-queries.ebvec" {
		t.Errorf("files %v", files)
	}
}

// vectorHeader reads a file of vectors to its end.
func vectorHeader(t *testing.T, name string) (h *vectors.Header, rows int64) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := vectors.NewReader(f, name, vectors.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for {
		var rows engine.Rows
		err := r.Next(&rows)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return r.Info().Header, r.Info().Rows
}

// scoresOf reads a run as "query document" and the score's text.
func scoresOf(t *testing.T, name string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		out[f[0]+" "+f[2]] = f[4]
	}
	return out
}
