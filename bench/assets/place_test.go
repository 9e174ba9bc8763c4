package assets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestPlaceWithoutExchange: where two directories cannot be exchanged, the old
// one is kept until the new one is in its place.
func TestPlaceWithoutExchange(t *testing.T) {
	r := newRig(t, zipOf(t, thingZip...))
	r.opt.exchange = noExchange
	s := r.store()
	a, err := s.Get(t.Context(), "thing")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Refresh(t.Context(), "thing"); err != nil || r.runs() != 2 {
		t.Errorf("Refresh: %v, pip ran %d times, expected 2", err, r.runs())
	}
	r.wantThing()
	r.wantClean()

	// The second rename fails: the old one is back.
	missing := filepath.Join(r.cache, "tmp", "none")
	err = s.swapInTwo(missing, a.Dir)
	wantErr(t, err, fmt.Sprintf("rename %s %s: no such file or directory", missing, a.Dir))
	r.wantThing()

	// Killed after the second rename: what is aside goes away.
	aside := asideOf(a.Dir)
	r.write(filepath.Join(aside, "lib.so"), []byte("old"), 0o444)
	if _, err := s.Refresh(t.Context(), "thing"); err != nil {
		t.Fatal(err)
	}
	r.wantThing()
	r.wantClean()
	if _, err := os.Lstat(aside); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("still aside: %v", err)
	}
}

// TestDerivedSetAside: the same for derived files.
func TestDerivedSetAside(t *testing.T) {
	r := newRig(t, nil)
	s := r.store0()
	builds := 0
	build := func(w io.Writer) error { builds++; _, err := io.WriteString(w, "text"); return err }
	if _, err := s.Derived(t.Context(), "x-1", build); err != nil {
		t.Fatal(err)
	}
	dir, _, err := s.derivedPath("x-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, asideOf(dir)); err != nil {
		t.Fatal(err)
	}
	p, err := s.Derived(t.Context(), "x-1", build)
	if err != nil || builds != 1 || string(r.read(p)) != "text" {
		t.Errorf("%v, %d builds, expected that the first one was put back", err, builds)
	}
}

// TestSweepPassesOver: what is no directory of ours in tmp neither blocks nor
// fails a Get, and stays.
func TestSweepPassesOver(t *testing.T) {
	r := newRig(t, zipOf(t, thingZip...))
	tmp := filepath.Join(r.cache, "tmp")
	r.write(filepath.Join(tmp, "file"), nil, 0o644)
	locked, outside := filepath.Join(tmp, "locked"), filepath.Join(filepath.Dir(r.cache), "outside")
	r.write(filepath.Join(outside, "precious"), []byte("x"), 0o644)
	if err := errors.Join(syscall.Mkfifo(filepath.Join(tmp, "fifo"), 0o644), os.Symlink(outside, filepath.Join(tmp, "link")),
		os.Symlink("nowhere", filepath.Join(tmp, "dangling")), os.Mkdir(locked, 0)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	done := make(chan error, 1)
	go func() { _, err := r.store().Get(ctx, "thing"); done <- err }()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(patience):
		t.Fatal("Get is blocked")
	}
	r.wantThing()
	es, err := os.ReadDir(tmp)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range es {
		names = append(names, e.Name())
	}
	want := "dangling fifo file link"
	if os.Geteuid() != 0 { // root may open it, and removes it
		want += " locked"
	}
	if got := strings.Join(names, " "); got != want {
		t.Errorf("tmp holds %q, expected %q", got, want)
	}
	if string(r.read(filepath.Join(outside, "precious"))) != "x" {
		t.Error("what a link points to was changed")
	}
}

func TestCheck(t *testing.T) {
	const advice = "; set ENCBENCH_CACHE to a folder that you may write"
	r := newRig(t, zipOf(t, thingZip...))
	file := filepath.Join(filepath.Dir(r.cache), "file")
	r.write(file, nil, 0o644)
	for _, c := range []struct{ name, cache, want string }{
		{"absent", r.cache, ""},
		{"absent, below an absent one", filepath.Join(r.cache, "a", "b"), ""},
		{"plain file", file, "cannot use the cache folder " + file + ": " + file + ": expected a folder, found a file" + advice},
		{"below a plain file", file + "/x/y", "cannot use the cache folder " + file + "/x/y: " + file + ": expected a folder, found a file" + advice},
		{"where no folder can be made", "/proc/x", "cannot use the cache folder /proc/x: make a folder in /proc: no such file or directory" + advice},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("ENCBENCH_CACHE", c.cache)
			err := r.store().Check()
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				if _, err := os.Stat(r.cache); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("looking made the cache: %v", err)
				}
				return
			}
			wantErr(t, err, c.want)
			if !errors.Is(err, ErrCache) {
				t.Error("not ErrCache")
			}
			_, err = r.store().Get(t.Context(), "thing")
			wantErr(t, err, "obtain asset thing 1.0: "+c.want)
			_, err = r.store().Derived(t.Context(), "x-1", nil)
			wantErr(t, err, "derive x-1: "+c.want)
		})
	}

	if _, err := r.store().Get(t.Context(), "thing"); err != nil {
		t.Fatal(err)
	}
	before := tree(t, r.cache)
	if err := r.store().Check(); err != nil {
		t.Error(err)
	}
	if after := tree(t, r.cache); after != before {
		t.Errorf("Check left %q, there was %q", after, before)
	}
	tmp := filepath.Join(r.cache, "tmp")
	if err := os.Remove(tmp); err != nil {
		t.Fatal(err)
	}
	r.write(tmp, nil, 0o644)
	wantErr(t, r.store().Check(), "cannot use the cache folder "+r.cache+": "+tmp+": expected a folder, found a file"+advice)
}

// tree lists what is below dir.
func tree(t testing.TB, dir string) string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(p string, _ os.DirEntry, err error) error { out = append(out, p); return err })
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, "\n")
}
