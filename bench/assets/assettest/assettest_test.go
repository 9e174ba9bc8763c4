package assettest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"encbench/bench/assets"
)

// recorder is a testing.TB that keeps the outcome. Its other methods are those
// of the real test.
type recorder struct {
	testing.TB
	outcome string
}

func (r *recorder) end(kind, text string) {
	r.outcome = kind + ": " + text
	runtime.Goexit()
}

func (r *recorder) Helper()                        {}
func (r *recorder) Fatal(a ...any)                 { r.end("fatal", fmt.Sprint(a...)) }
func (r *recorder) Fatalf(format string, a ...any) { r.end("fatal", fmt.Sprintf(format, a...)) }
func (r *recorder) Skipf(format string, a ...any)  { r.end("skip", fmt.Sprintf(format, a...)) }

// need runs Need as a test of its own would, and gives the path or the outcome.
func need(t *testing.T, name string) string {
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.outcome = "path: " + Need(r, name)
	}()
	<-done
	return r.outcome
}

func TestNeed(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "cache")
	t.Setenv("ENCBENCH_CACHE", cache)
	for _, name := range []string{"ENCBENCH_ORT_LIBRARY", "ENCBENCH_MODEL_DIR", "ENCBENCH_REQUIRE_ASSETS"} {
		t.Setenv(name, "")
	}
	want := func(name, outcome string) {
		t.Helper()
		if got := need(t, name); got != outcome {
			t.Errorf("Need(%s)\n   found: %s\nexpected: %s", name, got, outcome)
		}
	}
	absent := "asset techdocs 1.44.8: asset is absent from " + cache + "; run: encbench assets get techdocs"
	want("techdocs", "skip: "+absent+" (or: make test)")
	want("nothing", `fatal: unknown asset "nothing", known are: onnxruntime, all-minilm-l6-v2, techdocs, cuda-header, `+strings.Join(assets.Expand(assets.Groups()), ", "))

	t.Setenv("ENCBENCH_REQUIRE_ASSETS", "1")
	want("techdocs", "fatal: ENCBENCH_REQUIRE_ASSETS=1: "+absent+" (or: make test)")

	t.Setenv("ENCBENCH_REQUIRE_ASSETS", "")
	t.Setenv("ENCBENCH_MODEL_DIR", cache)
	want("all-minilm-l6-v2", "fatal: use a Hugging Face model directory from ENCBENCH_MODEL_DIR: stat "+cache+": no such file or directory")
	if err := os.Mkdir(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	want("all-minilm-l6-v2", "path: "+cache)

	if !cgo {
		want("onnxruntime", "skip: ONNX Runtime cannot be opened in a build without cgo; run with CGO_ENABLED=1 and a C compiler")
	}

	// A corrupt asset fails where an absent one skips.
	s, err := assets.Open("", assets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var dir string
	for _, st := range s.List() {
		if st.Entry.Name == "techdocs" {
			dir = st.Dir
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := need(t, "techdocs"); !strings.HasPrefix(got, "fatal: asset techdocs 1.44.8: asset is corrupt: file "+dir) {
		t.Errorf("a corrupt asset: %s", got)
	}
}

// TestNeedRealAsset shows that what Need gives is there, where the asset is.
func TestNeedRealAsset(t *testing.T) {
	for _, name := range []string{"onnxruntime", "all-minilm-l6-v2", "techdocs"} {
		t.Run(name, func(t *testing.T) {
			p := Need(t, name)
			if st, err := os.Stat(p); err != nil || st.IsDir() != (name == "all-minilm-l6-v2") {
				t.Errorf("%s: %v", p, err)
			}
		})
	}
}
