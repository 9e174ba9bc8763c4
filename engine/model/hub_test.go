package model_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"encbench/engine/model"
	"encbench/engine/model/modeltest"
)

const (
	commitA = "aaaa567890123456789012345678901234567890"
	commitB = "aaab567890123456789012345678901234567890"
	commitC = "cccc567890123456789012345678901234567890"
)

// hub makes a cache with three revisions of one model, main at A.
func hub(t *testing.T) string {
	t.Helper()
	cache := modeltest.Hub(t, "", tinyMean, "org/tiny-bert", commitA, "main", "v1.0")
	modeltest.Hub(t, cache, tinyCLS, "org/tiny-bert", commitB, "cls", "refs/pr/1")
	modeltest.Hub(t, cache, tinyCLS, "org/tiny-bert", commitC)
	t.Setenv("HF_HUB_CACHE", cache)
	return cache
}

func TestResolveHub(t *testing.T) {
	cache := hub(t)
	for ref, commit := range map[string]string{
		"org/tiny-bert":            commitA,
		"org/tiny-bert@main":       commitA,
		"org/tiny-bert@v1.0":       commitA,
		"org/tiny-bert@cls":        commitB,
		"org/tiny-bert@refs/pr/1":  commitB,
		"org/tiny-bert@" + commitC: commitC,
		"org/tiny-bert@cccc56":     commitC,
		"org/tiny-bert@aaab":       commitB,
	} {
		dir, revision, err := model.ResolveHub(ref)
		want := filepath.Join(cache, "models--org--tiny-bert", "snapshots", commit)
		if err != nil || dir != want || revision != commit {
			t.Errorf("%s: got %s, %s, %v; want %s", ref, dir, revision, err, want)
		}
	}
}

// TestHubWeights opens a model through links and finds the real weights file.
func TestHubWeights(t *testing.T) {
	cache := hub(t)
	dir, revision, err := model.ResolveHub("org/tiny-bert")
	if err != nil {
		t.Fatal(err)
	}
	m := open(t, dir, model.Options{Name: "org/tiny-bert", Revision: revision})
	if m.Source != model.SourceHub || m.Revision != commitA || m.Name != "org/tiny-bert" {
		t.Errorf("source %q, revision %q, name %q", m.Source, m.Revision, m.Name)
	}
	blobs, err := filepath.EvalSymlinks(filepath.Join(cache, "models--org--tiny-bert", "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(m.Weights.RealPath) != blobs || m.Weights.Path != filepath.Join(dir, "model.safetensors") {
		t.Errorf("weights %s, really %s; want a file of %s", m.Weights.Path, m.Weights.RealPath, blobs)
	}
	if _, err := m.Weights.Float32(m.Embedding.Word.Weight); err != nil {
		t.Error(err)
	}
}

func TestResolveHubRefuses(t *testing.T) {
	cache := hub(t)
	const form = ", the revision must be a branch, a tag or a commit, of letters, digits and ._/+=@-, not beginning with -"
	have := "; it has the revisions " + strings.Join([]string{commitA, commitB, commitC}, ", ")
	for _, c := range []struct {
		ref  string
		is   error
		want string
	}{
		{"org/other", model.ErrNotCached,
			"org/other@main is not in the Hugging Face cache (looked in CACHE); get it with: hf download org/other --revision main"},
		{"org/tiny-bert@v2", model.ErrNotCached,
			"org/tiny-bert@v2 is not in the Hugging Face cache (looked in CACHE" + have + "); get it with: hf download org/tiny-bert --revision v2"},
		{"org/tiny-bert@dddd567890123456789012345678901234567890", model.ErrNotCached,
			"org/tiny-bert@dddd567890123456789012345678901234567890 is not in the Hugging Face cache (looked in CACHE" + have +
				"); get it with: hf download org/tiny-bert --revision dddd567890123456789012345678901234567890"},
		{"org/tiny-bert@dddd", model.ErrNotCached,
			"org/tiny-bert@dddd is not in the Hugging Face cache (looked in CACHE" + have + "); get it with: hf download org/tiny-bert --revision dddd"},
		{"org/tiny-bert@refs/pr", model.ErrNotCached,
			"org/tiny-bert@refs/pr is not in the Hugging Face cache (looked in CACHE" + have + "); get it with: hf download org/tiny-bert --revision refs/pr"},
		{"org/tiny-bert@gone", model.ErrNotCached,
			"org/tiny-bert@gone is not in the Hugging Face cache (looked in CACHE" + have + "); get it with: hf download org/tiny-bert --revision gone"},
		{"org/tiny-bert@bad", model.ErrConfig,
			`read CACHE/models--org--tiny-bert/refs/bad: bad model description: holds "no commit", no commit; get the model again`},
		{"org/../tiny", model.ErrReference, `bad model reference: "org/../tiny", must be org/name or org/name@revision`},
		{"tiny-bert", model.ErrReference, `bad model reference: "tiny-bert", must be org/name or org/name@revision`},
		{"org/tiny-bert@", model.ErrReference, `bad model reference: "org/tiny-bert@"` + form},
		{"org/tiny-bert@../../x", model.ErrReference, `bad model reference: "org/tiny-bert@../../x"` + form},
		{"org/tiny-bert@-o", model.ErrReference, `bad model reference: "org/tiny-bert@-o"` + form},
		{"org/tiny-bert@--token=x", model.ErrReference, `bad model reference: "org/tiny-bert@--token=x"` + form},
		{"org/tiny-bert@a b", model.ErrReference, `bad model reference: "org/tiny-bert@a b"` + form},
		{"org/tiny-bert@a\n", model.ErrReference, `bad model reference: "org/tiny-bert@a\n"` + form},
		{"org/tiny-bert@a\x1b[2J", model.ErrReference, `bad model reference: "org/tiny-bert@a\x1b[2J"` + form},
		{"org/tiny-bert@a\u00a0b", model.ErrReference, `bad model reference: "org/tiny-bert@a\u00a0b"` + form},
		{"org/tiny-bert@$(x)", model.ErrReference, `bad model reference: "org/tiny-bert@$(x)"` + form},
		{"org/tiny-bert@a;x", model.ErrReference, `bad model reference: "org/tiny-bert@a;x"` + form},
		{"org/tiny-bert@a\\b", model.ErrReference, `bad model reference: "org/tiny-bert@a\\b"` + form},
		{"-org/tiny-bert", model.ErrReference, `bad model reference: "-org/tiny-bert", must be org/name or org/name@revision`},
		{"org/-tiny-bert", model.ErrReference, `bad model reference: "org/-tiny-bert", must be org/name or org/name@revision`},
		{"org/tiny bert", model.ErrReference, `bad model reference: "org/tiny bert", must be org/name or org/name@revision`},
		{"org/tiny-bert\n", model.ErrReference, `bad model reference: "org/tiny-bert\n", must be org/name or org/name@revision`},
		{"org/tiny-bert@stra\u00dfe-1", model.ErrNotCached,
			"org/tiny-bert@stra\u00dfe-1 is not in the Hugging Face cache (looked in CACHE" + have + "); get it with: hf download org/tiny-bert --revision stra\u00dfe-1"},
		{"org/tiny-bert@aaa", model.ErrNotCached,
			"org/tiny-bert@aaa is not in the Hugging Face cache (looked in CACHE" + have + "); get it with: hf download org/tiny-bert --revision aaa"},
	} {
		refs := filepath.Join(cache, "models--org--tiny-bert", "refs")
		for name, content := range map[string]string{"bad": "no commit", "gone": "eeee567890123456789012345678901234567890\n"} {
			if err := os.WriteFile(filepath.Join(refs, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		_, _, err := model.ResolveHub(c.ref)
		if err == nil || strings.ReplaceAll(err.Error(), cache, "CACHE") != c.want || !errors.Is(err, c.is) {
			t.Errorf("%s:\n got %v\nwant %s", c.ref, err, c.want)
		}
	}
}

func TestResolveHubAmbiguous(t *testing.T) {
	cache := modeltest.Hub(t, "", tinyMean, "org/m", "abcd567890123456789012345678901234567890")
	modeltest.Hub(t, cache, tinyMean, "org/m", "abcd999999123456789012345678901234567890")
	t.Setenv("HF_HUB_CACHE", cache)
	_, _, err := model.ResolveHub("org/m@abcd")
	want := "ambiguous revision: org/m@abcd fits abcd567890123456789012345678901234567890, abcd999999123456789012345678901234567890"
	if err == nil || err.Error() != want || !errors.Is(err, model.ErrAmbiguous) {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestHubCache(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"HF_HUB_CACHE": "/a", "HUGGINGFACE_HUB_CACHE": "/b", "HF_HOME": "/c", "XDG_CACHE_HOME": "/d"}, "/a"},
		{map[string]string{"HUGGINGFACE_HUB_CACHE": "/b", "HF_HOME": "/c", "XDG_CACHE_HOME": "/d"}, "/b"},
		{map[string]string{"HF_HOME": "/c", "XDG_CACHE_HOME": "/d"}, "/c/hub"},
		{map[string]string{"XDG_CACHE_HOME": "/d"}, "/d/huggingface/hub"},
		{nil, "/home/u/.cache/huggingface/hub"},
		{map[string]string{"HF_HOME": "~/hf"}, "/home/u/hf/hub"},
	} {
		t.Setenv("HOME", "/home/u")
		for _, name := range []string{"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"} {
			t.Setenv(name, c.env[name])
		}
		if got, err := model.HubCache(); err != nil || got != c.want {
			t.Errorf("%v: %s, %v; want %s", c.env, got, err, c.want)
		}
	}
}

func TestIsHubRef(t *testing.T) {
	for ref, want := range map[string]bool{
		"org/name": true, "org/name@v1": true, "org/name@refs/pr/1": true,
		"-org/name": false, "org/-name": false, "org/na me": false, "org/name\n": false, "org/na\x00me": false, "name": false, "./name": false, "../org": false, "/abs/dir": false, "a/b/c": false, "": false,
	} {
		if model.IsHubRef(ref) != want {
			t.Errorf("IsHubRef(%q) is not %t", ref, want)
		}
	}
}
