package assets

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Every asset of a group is in the lock file, on demand, for one platform.
func TestGroups(t *testing.T) {
	if got := strings.Join(Groups(), " "); got != "cuda13 cuda12" {
		t.Errorf("groups %s", got)
	}
	s, err := Open(t.TempDir(), Options{Platform: "linux/amd64"})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, group := range Groups() {
		names := Expand([]string{"techdocs", group, group})
		if names[0] != "techdocs" || len(names) != 8 {
			t.Errorf("%s is %v", group, names)
		}
		for _, name := range names[1:] {
			e, err := s.Entry(name)
			if err != nil {
				t.Fatal(err)
			}
			if !e.OnDemand || e.Platform != "linux/amd64" || len(e.Files) < 2 || !strings.Contains(e.Purpose, "CUDA") {
				t.Errorf("%s: %+v", name, e)
			}
			all = append(all, name)
		}
	}
	for _, e := range embedded() {
		if e.OnDemand && e.Name != "cuda-header" && !slices.Contains(all, e.Name) {
			t.Errorf("%s is on demand and in no group", e.Name)
		}
	}
}

// The libraries come in the order in which they are opened, and what is absent is left
// out.
func TestCUDALibraries(t *testing.T) {
	write := func(s *Store, name string) {
		e, err := s.entry(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range e.Files {
			f := &e.Files[i]
			p := filepath.Join(s.assetDir(e), f.To)
			if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, nil, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	// The lock file's entries with files of no bytes.
	entries := slices.Clone(embedded())
	for i := range entries {
		entries[i].Files = slices.Clone(entries[i].Files)
		for j := range entries[i].Files {
			entries[i].Files[j].Size, entries[i].Files[j].SHA256 = 0, sum(nil)
		}
	}
	s, err := Open(t.TempDir(), Options{Platform: "linux/amd64", entries: entries})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.CUDA("cuda13"); !errors.Is(err, ErrAbsent) {
		t.Errorf("without the runtime: %v", err)
	}
	_, _, err = s.CUDA("cuda11")
	wantErr(t, err, `unknown asset "cuda11": a group is one of [cuda13 cuda12]`)
	for _, name := range []string{"onnxruntime-gpu", "cuda13-cudnn", "cuda13-cublas", "cuda13-runtime"} {
		write(s, name)
	}
	runtime, libraries, err := s.CUDA("cuda13")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range libraries {
		names = append(names, filepath.Base(l))
	}
	if got := filepath.Base(runtime) + ": " + strings.Join(names, " "); got != "libonnxruntime.so.1.31.1: libcudart.so.13 libcublasLt.so.13 libcublas.so.13 libcudnn.so.9" {
		t.Error(got)
	}
}

// pip is told every tag of a wheel that carries several.
func TestPipPlatforms(t *testing.T) {
	e := thingEntry([]byte("x"))
	e.Pip.Platform = "manylinux2014_x86_64.manylinux_2_17_x86_64"
	got := strings.Join(pipArgs(&e, "r", "to"), " ")
	want := "-m pip download --no-deps --only-binary=:all: --require-hashes -r r --platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64 --implementation py --python-version 3.13 --abi none --progress-bar off -d to"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
