package assets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestGetThroughPip(t *testing.T) {
	r := newRig(t, zipOf(t, thingZip...))
	var stages []string
	r.opt.Progress = func(p Progress) {
		if p.Done > p.Total {
			t.Errorf("progress beyond the end: %+v", p)
		}
		if !slices.Contains(stages, p.Stage) {
			stages = append(stages, p.Stage)
		}
	}
	s := r.store()
	a, err := s.Get(context.Background(), "thing")
	if err != nil {
		t.Fatal(err)
	}
	if want := r.wantThing(); a.Path != want.Path || a.Dir != want.Dir || a.Version != "1.0" || a.SHA256 != "" {
		t.Errorf("Get %+v, Lookup %+v", a, want)
	}
	if got := strings.Join(stages, " "); got != "download verify unpack" {
		t.Errorf("stages: %s", got)
	}
	if _, err := os.Stat(filepath.Join(a.Dir, "extra.py")); !os.IsNotExist(err) {
		t.Errorf("a member that is not locked was unpacked: %v", err)
	}
	if st, err := os.Stat(filepath.Join(a.Dir, "lib.so")); err != nil || st.Mode().Perm() != 0o444 {
		t.Errorf("mode of a finished file: %v %v", st.Mode(), err)
	}
	r.wantClean()

	// What pip was told decides the wheel: the whole command is the contract.
	work := strings.Fields(string(r.read(r.log)))
	dest := filepath.Dir(work[len(work)-1])
	want := fmt.Sprintf("-m pip download --no-deps --only-binary=:all: --require-hashes -r %s/requirements.txt "+
		"--platform any --implementation py --python-version 3.13 --abi none --progress-bar off -d %s/wheel-download", dest, dest)
	if got := strings.Join(work, " "); got != want {
		t.Errorf("pip's arguments\n   found: %s\nexpected: %s", got, want)
	}
	if got, want := string(r.read(r.log+".req")), "thing==1.0 --hash=sha256:"+r.entry.SHA256+"\n"; got != want {
		t.Errorf("requirements %q, expected %q", got, want)
	}

	if _, err := s.Get(context.Background(), "thing"); err != nil || r.runs() != 1 {
		t.Errorf("second Get: %v, pip ran %d times, expected 1", err, r.runs())
	}
	if _, err := s.Refresh(context.Background(), "thing"); err != nil || r.runs() != 2 {
		t.Errorf("Refresh: %v, pip ran %d times, expected 2", err, r.runs())
	}
	r.wantThing()
	r.wantClean()
}

func TestGetKeepsWheel(t *testing.T) {
	wheel := zipOf(t, thingZip...)
	r := newRig(t, wheel)
	r.entry.Files, r.entry.Use = nil, wheelName
	a, err := r.store().Get(context.Background(), "thing")
	if err != nil {
		t.Fatal(err)
	}
	if string(r.read(a.Path)) != string(wheel) || a.SHA256 != sum(wheel) || filepath.Base(a.Path) != wheelName {
		t.Errorf("kept wheel: %+v", a)
	}
	r.wantClean()
}

func TestGetWheelByHand(t *testing.T) {
	wheel := zipOf(t, thingZip...)
	r := newRig(t, wheel)
	t.Setenv("ENCBENCH_PYTHON", filepath.Join(r.cache, "no-such-python"))
	byHand := filepath.Join(r.cache, "wheels", wheelName)
	r.write(byHand, wheel[:100], 0o644)
	_, err := r.store().Get(context.Background(), "thing")
	wantErr(t, err, fmt.Sprintf("obtain asset thing 1.0: asset is corrupt: file %s: expected sha256 %s (%d bytes), found %s (100 bytes); "+
		"replace or remove %s; run: encbench assets get thing", wheelName, sum(wheel), len(wheel), sum(wheel[:100]), byHand))
	r.wantClean()
	r.write(byHand, wheel, 0o644)
	if _, err := r.store().Get(context.Background(), "thing"); err != nil {
		t.Fatal(err)
	}
	r.wantThing()
	if r.runs() != 0 {
		t.Errorf("pip ran %d times", r.runs())
	}
}

func TestGetFailures(t *testing.T) {
	wheel := zipOf(t, thingZip...)
	python := func(r *rig) string { return os.Getenv("ENCBENCH_PYTHON") }
	byHand := func(r *rig) string {
		return fmt.Sprintf("\nwithout pip or a network: put %s (sha256 %s) into %s/wheels, or provide your own files", wheelName, r.entry.SHA256, r.cache)
	}
	for _, c := range []struct {
		name   string
		mode   string
		change func(r *rig)
		is     error
		want   func(r *rig) string
	}{
		{"no python", "", func(r *rig) { t.Setenv("ENCBENCH_PYTHON", "no-such-python") }, ErrPython, func(r *rig) string {
			return `obtain asset thing 1.0: python not found: exec: "no-such-python": executable file not found in $PATH; set ENCBENCH_PYTHON to a Python that has pip` + byHand(r)
		}},
		{"no pip", "nopip", nil, ErrNoPip, func(r *rig) string {
			return fmt.Sprintf("obtain asset thing 1.0: python has no pip: %[1]s:\n    %[1]s: No module named pip\ninstall pip for it, or set ENCBENCH_PYTHON to a Python that has pip", python(r)) + byHand(r)
		}},
		{"no network", "offline", nil, ErrPip, func(r *rig) string {
			var tail strings.Builder
			for i := 30 - pipTailLines + 1; i < 30; i++ {
				fmt.Fprintf(&tail, "    WARNING: Retrying after connection broken, %d\n", i)
			}
			return fmt.Sprintf("obtain asset thing 1.0: pip failed: exit status 1:\n%s    ERROR: No matching distribution found for thing==1.0\n"+
				"check the network and pip's index and proxy settings; see: %s -m pip config list", &tail, python(r)) + byHand(r)
		}},
		{"pip finds other hashes", "hashes", nil, ErrPip, func(r *rig) string {
			return fmt.Sprintf("obtain asset thing 1.0: pip failed: the file it was given is not the locked one: exit status 1:\n"+
				"    ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n        Expected sha256 aaaa\n             Got        bbbb\n"+
				"the mirror that pip uses serves other bytes; see: %s -m pip config list", python(r)) + byHand(r)
		}},
		{"pip finds the disk full", "full", nil, ErrNoSpace, func(r *rig) string {
			return "obtain asset thing 1.0: no space on disk: pip download: exit status 1:\n" +
				"    ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device; free some space, or set ENCBENCH_CACHE to a folder on another disk"
		}},
		{"pip says nothing", "silent", nil, ErrPip, func(r *rig) string {
			return "obtain asset thing 1.0: pip failed: exit status 1, and pip printed nothing\n" +
				"check the network and pip's index and proxy settings; see: " + python(r) + " -m pip config list" + byHand(r)
		}},
		{"pip leaves nothing", "nothing", nil, ErrPip, func(r *rig) string {
			return "obtain asset thing 1.0: pip failed: it ended well but left no " + wheelName + ":\n    Saved nothing" + byHand(r)
		}},
		{"corrupt wheel", "", func(r *rig) { r.write(filepath.Join(r.mirror, wheelName), wheel[:len(wheel)-1], 0o644) }, ErrCorrupt, func(r *rig) string {
			return fmt.Sprintf("obtain asset thing 1.0: asset is corrupt: file %s: expected sha256 %s (%d bytes), found %s (%d bytes); run: encbench assets get thing",
				wheelName, sum(wheel), len(wheel), sum(wheel[:len(wheel)-1]), len(wheel)-1)
		}},
		{"too little room", "", func(r *rig) { r.opt.free = func(string) (int64, error) { return 1000, nil } }, ErrNoSpace, func(r *rig) string {
			return fmt.Sprintf("obtain asset thing 1.0: no space on disk: %d bytes needed in %s, 1000 free; free some space, or set ENCBENCH_CACHE to a folder on another disk",
				len(libData)+len(bigData)+2*len(wheel), r.cache)
		}},
		{"disk full while unpacking", "", func(r *rig) { r.opt.create = fullDisk }, ErrNoSpace, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, wheel)
			t.Setenv("FAKE_MODE", c.mode)
			if c.change != nil {
				c.change(r)
			}
			_, err := r.store().Get(context.Background(), "thing")
			if !errors.Is(err, c.is) {
				t.Errorf("error is not %q: %v", c.is, err)
			}
			if c.want != nil {
				wantErr(t, err, c.want(r))
			} else {
				// The path has a random part.
				dir := filepath.Join(r.cache, "tmp", "thing-")
				pre := "obtain asset thing 1.0: unpack " + wheelName + `: member "pkg/lib.so": write ` + dir
				post := "/out/lib.so: write /dev/full: no space left on device; free some space, or set ENCBENCH_CACHE to a folder on another disk"
				if m := strings.Replace(err.Error(), "no space on disk: ", "", 1); !strings.HasPrefix(err.Error(), "no space on disk: "+pre) || !strings.HasSuffix(m, post) {
					t.Errorf("error\n   found: %s\nexpected: no space on disk: %s…%s", err, pre, post)
				}
			}
			r.wantClean()
			if _, err := r.store().Lookup("thing"); !errors.Is(err, ErrAbsent) {
				t.Errorf("Lookup after a failed Get: %v", err)
			}
		})
	}
}

func TestGetCancelled(t *testing.T) {
	r := newRig(t, zipOf(t, thingZip...))
	t.Setenv("FAKE_MODE", "slow")
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		waitFor(t, func() bool { return fileHas(r.log+".pid", "\n") })
		cancel()
	}()
	_, err := r.store().Get(ctx, "thing")
	wantErr(t, err, "obtain asset thing 1.0: run pip: context canceled")
	r.wantClean()
	wantGone(t, r.log+".pid")

	// Also while another process holds the lock.
	s := r.store()
	l, err := s.lock(context.Background(), r.entry.dirName())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel = context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = r.store().Get(ctx, "thing")
	wantErr(t, err, fmt.Sprintf("obtain asset thing 1.0: wait for another process that holds %s/lock/%s: context deadline exceeded", r.cache, r.entry.dirName()))
}

func TestLookupAndVerify(t *testing.T) {
	r := newRig(t, zipOf(t, thingZip...))
	s := r.store()
	absent := fmt.Sprintf("asset thing 1.0: asset is absent from %s; run: encbench assets get thing", r.cache)
	_, err := s.Lookup("thing")
	wantErr(t, err, absent)
	wantErr(t, s.Verify(context.Background(), "thing"), absent)
	_, err = s.Lookup("nothing")
	wantErr(t, err, `unknown asset "nothing", known are: thing`)
	if st := s.List(); len(st) != 1 || st[0].State != "absent" || !errors.Is(st[0].Err, ErrAbsent) {
		t.Errorf("List of an empty cache: %+v", st)
	}
	if _, err := os.Stat(r.cache); !os.IsNotExist(err) {
		t.Errorf("looking made the cache: %v", err)
	}
	a, err := s.Get(context.Background(), "thing")
	if err != nil {
		t.Fatal(err)
	}
	if st := s.List(); st[0].State != "present" || st[0].Path != a.Path || st[0].Bytes != int64(len(libData)+len(bigData)) {
		t.Errorf("List: %+v", st)
	}

	lib := filepath.Join(a.Dir, "lib.so")
	flipped := slices.Clone(libData)
	flipped[3] ^= 1
	corrupt := func(what string) string {
		return fmt.Sprintf("asset thing 1.0: asset is corrupt: file %s%s; run: encbench assets get --force thing", lib, what)
	}
	differs := corrupt(fmt.Sprintf(": expected sha256 %s (%d bytes), found %s (%d bytes)", sum(libData), len(libData), sum(flipped), len(flipped)))

	// Same bytes, other time: hashed once, then stamped again.
	now := time.Now()
	if err := os.Chtimes(lib, now, now); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lookup("thing"); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(lib); err != nil || !st.ModTime().Equal(verifiedTime) {
		t.Errorf("not stamped again: %v %v", st.ModTime(), err)
	}

	// A write of other bytes shows at the next use, and Get does not hide it.
	rewrite(t, lib, flipped)
	_, err = s.Lookup("thing")
	wantErr(t, err, differs)
	_, err = s.Get(context.Background(), "thing")
	wantErr(t, err, differs)
	if st := s.List(); st[0].State != "corrupt" {
		t.Errorf("List of a corrupt asset: %+v", st)
	}

	// A small file is read in any case, whatever its time says.
	if err := os.Chtimes(lib, verifiedTime, verifiedTime); err != nil {
		t.Fatal(err)
	}
	_, err = s.Lookup("thing")
	wantErr(t, err, differs)
	wantErr(t, s.Verify(context.Background(), "thing"), differs)

	if err := os.Remove(lib); err != nil {
		t.Fatal(err)
	}
	_, err = s.Lookup("thing")
	wantErr(t, err, corrupt(" is missing, expected sha256 "+sum(libData)))
	if _, err := s.Refresh(context.Background(), "thing"); err != nil {
		t.Fatal(err)
	}
	r.wantThing()
	r.wantClean()
}

// TestCheckFile: from which size on an unchanged time is believed.
func TestCheckFile(t *testing.T) {
	for _, c := range []struct {
		size int
		seen bool
	}{{alwaysHashed, true}, {alwaysHashed + 1, false}} {
		b := make([]byte, c.size)
		want := sum(b)
		b[c.size/2] = 1
		path := filepath.Join(t.TempDir(), "file")
		if err := errors.Join(os.WriteFile(path, b, 0o644), os.Chtimes(path, verifiedTime, verifiedTime)); err != nil {
			t.Fatal(err)
		}
		check := func(full bool) error {
			return checkFile(t.Context(), path, int64(c.size), want, full, func(int64) {})
		}
		if err := check(false); errors.Is(err, ErrCorrupt) != c.seen {
			t.Errorf("%d bytes: %v, expected that the change is seen: %v", c.size, err, c.seen)
		}
		wantErr(t, check(true), fmt.Sprintf("asset is corrupt: file %s: expected sha256 %s (%d bytes), found %s (%d bytes)", path, want, c.size, sum(b), c.size))
		now := time.Now()
		if err := os.Chtimes(path, now, now); err != nil {
			t.Fatal(err)
		}
		if err := check(false); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%d bytes, another time: %v", c.size, err)
		}
	}
}

func TestNeeded(t *testing.T) {
	newRig(t, nil) // no variable is set
	open := func(platform string) *Store {
		s, err := Open("", Options{Platform: platform})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	want := func(platform, want string) {
		t.Helper()
		if got := strings.Join(open(platform).Needed(), " "); got != want {
			t.Errorf("on %s: %q, expected %q", platform, got, want)
		}
	}
	want("linux/amd64", "onnxruntime all-minilm-l6-v2 techdocs")
	want("plan9/386", "all-minilm-l6-v2 techdocs")
	if e, err := open("linux/amd64").Entry("cuda-header"); err != nil || !e.OnDemand {
		t.Errorf("cuda-header is not on demand: %v", err)
	}
	t.Setenv("ENCBENCH_ORT_LIBRARY", "/usr/lib/libonnxruntime.so")
	want("linux/amd64", "all-minilm-l6-v2 techdocs")
	t.Setenv("ENCBENCH_MODEL_DIR", "/models/mine")
	want("linux/amd64", "techdocs")
}

func TestPlatform(t *testing.T) {
	r := newRig(t, zipOf(t, thingZip...))
	r.entry.Platform, r.opt.Platform = "linux/arm64", "plan9/386"
	_, err := r.store().Get(context.Background(), "thing")
	wantErr(t, err, "asset thing for plan9/386: asset is not available for this platform, it exists for: linux/arm64; provide your own files")
	if !errors.Is(err, ErrPlatform) {
		t.Error("not ErrPlatform")
	}
	if st := r.store().List(); st[0].State != "other platform" {
		t.Errorf("List: %+v", st)
	}
}

func rewrite(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}
