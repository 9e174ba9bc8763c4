package assets

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestDerived(t *testing.T) {
	r := newRig(t, nil)
	s := r.store0()
	const name, text = "texts-1.jsonl", "one\ntwo\n"
	builds := 0
	build := func(w io.Writer) error {
		builds++
		_, err := io.WriteString(w, text)
		return err
	}
	_, err := s.VerifyDerived(t.Context(), name)
	wantErr(t, err, "derived file "+name+": asset is absent from "+r.cache)
	for range 2 {
		p, err := s.Derived(t.Context(), name, build)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(p) != name || string(r.read(p)) != text {
			t.Errorf("%s holds %q", p, r.read(p))
		}
	}
	if builds != 1 {
		t.Errorf("built %d times, expected 1", builds)
	}
	if got, err := s.VerifyDerived(t.Context(), name); err != nil || got != sum([]byte(text)) {
		t.Errorf("VerifyDerived: %s, %v", got, err)
	}

	// A changed file is told by Verify, and built again at the next use.
	dir, p, err := s.derivedPath(name)
	if err != nil {
		t.Fatal(err)
	}
	rewrite(t, p, []byte("one\ntwx\n"))
	_, err = s.VerifyDerived(t.Context(), name)
	wantErr(t, err, fmt.Sprintf("derived file %s: asset is corrupt: file %s: expected sha256 %s (8 bytes), found %s (8 bytes); remove %s, it is built again when needed",
		name, p, sum([]byte(text)), sum([]byte("one\ntwx\n")), dir))
	if _, err := s.Derived(t.Context(), name, build); err != nil || builds != 2 || string(r.read(p)) != text {
		t.Errorf("not built again: %v, %d builds, %q", err, builds, r.read(p))
	}
	r.wantClean()
}

func (r *rig) store0() *Store {
	r.entry = thingEntry([]byte("x"))
	return r.store()
}

func TestDerivedFailures(t *testing.T) {
	r := newRig(t, nil)
	broken := errors.New("the source is broken")
	_, err := r.store0().Derived(t.Context(), "x-1", func(w io.Writer) error {
		_, werr := io.WriteString(w, "half")
		return errors.Join(werr, broken)
	})
	wantErr(t, err, "derive x-1: the source is broken")
	for _, name := range []string{"", "..", "a/b", ".hidden", derivedNoteName} {
		_, err := r.store0().Derived(t.Context(), name, nil)
		wantErr(t, err, fmt.Sprintf("derive %q: not a plain file name", name))
	}
	r.opt.create = fullDisk
	_, err = r.store0().Derived(t.Context(), "x-1", func(w io.Writer) error {
		_, err := io.WriteString(w, "text")
		return err
	})
	wantErr(t, err, "no space on disk: derive x-1: write /dev/full: no space left on device; free some space, or set ENCBENCH_CACHE to a folder on another disk")
	if !errors.Is(err, ErrNoSpace) {
		t.Error("not ErrNoSpace")
	}
	if _, err := os.Stat(filepath.Join(r.cache, "derived", "x-1")); !os.IsNotExist(err) {
		t.Errorf("a failed build is visible: %v", err)
	}
	r.wantClean()
}

// TestDerivedTogether: of several that want the same file one builds it. Locks
// are per open file, so goroutines stand for processes here.
func TestDerivedTogether(t *testing.T) {
	r := newRig(t, nil)
	s := r.store0()
	var builds atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			p, err := s.Derived(t.Context(), "x-1", func(w io.Writer) error {
				builds.Add(1)
				b := bufio.NewWriter(w)
				for i := range 10000 {
					fmt.Fprintln(b, i)
				}
				return b.Flush()
			})
			if err != nil {
				t.Error(err)
				return
			}
			if b, err := os.ReadFile(p); err != nil || strings.Count(string(b), "\n") != 10000 {
				t.Errorf("read %d bytes: %v", len(b), err)
			}
		})
	}
	wg.Wait()
	if builds.Load() != 1 {
		t.Errorf("built %d times, expected 1", builds.Load())
	}
	r.wantClean()
}
