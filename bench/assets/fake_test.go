package assets

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The test binary is also the program that the tests kill: with
// ENCBENCH_TEST_CHILD set it runs one Get and stops at a point if told to.
func TestMain(m *testing.M) {
	if os.Getenv("ENCBENCH_TEST_CHILD") != "" {
		os.Exit(child())
	}
	os.Exit(m.Run())
}

func child() int {
	b, err := os.ReadFile(os.Getenv("ENCBENCH_TEST_LOCK"))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	entries, err := parseLock(b)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	stop := os.Getenv("ENCBENCH_TEST_STOP")
	opt := Options{entries: entries, at: func(point string) {
		if point == stop {
			fmt.Println("at " + point)
			time.Sleep(time.Hour) // until killed
		}
	}}
	if os.Getenv("ENCBENCH_TEST_EXCHANGE") == "no" {
		opt.exchange = noExchange
	}
	s, err := Open("", opt)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	get := s.Get
	if os.Getenv("ENCBENCH_TEST_CHILD") == "refresh" {
		get = s.Refresh
	}
	a, err := get(context.Background(), "thing")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("done " + a.Path)
	return 0
}

// noExchange is a file system that cannot exchange directories.
func noExchange(_, _ string) error { return errors.ErrUnsupported }

// member is one entry of a made wheel.
type member struct {
	name string
	data []byte
	mode fs.FileMode
	// declare, when not 0, is the size the header lies about.
	declare uint64
}

func zipOf(t testing.TB, members ...member) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, m := range members {
		if strings.HasSuffix(m.name, "/") {
			if _, err := z.Create(m.name); err != nil {
				t.Fatal(err)
			}
			continue
		}
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate}
		h.SetMode(m.mode | 0o644)
		var packed bytes.Buffer
		d, err := flate.NewWriter(&packed, flate.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Write(m.data); err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		h.CompressedSize64, h.UncompressedSize64 = uint64(packed.Len()), uint64(len(m.data))
		if m.declare != 0 {
			h.UncompressedSize64 = m.declare
		}
		w, err := z.CreateRaw(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(packed.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

const wheelName = "thing-1.0-py3-none-any.whl"

// thing is the made asset: a small library and a larger file in a directory.
var (
	libData  = []byte("a library, or so it says\n")
	bigData  = bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	thingZip = []member{
		{name: "pkg/"},
		{name: "pkg/lib.so", data: libData},
		{name: "pkg/model/big.bin", data: bigData},
		{name: "pkg/extra.py", data: []byte("import os\n")},
	}
)

func thingEntry(wheel []byte) Entry {
	return Entry{Name: "thing", Platform: "any", Purpose: "tests", Licence: "MIT", Package: "thing", Version: "1.0",
		Wheel: wheelName, Size: int64(len(wheel)), SHA256: sum(wheel),
		Pip: Pip{Platform: "any", PythonVersion: "3.13", Implementation: "py", ABI: "none"},
		Use: "model",
		Files: []File{
			{From: "pkg/lib.so", To: "lib.so", Size: int64(len(libData)), SHA256: sum(libData)},
			{From: "pkg/model/big.bin", To: "model/big.bin", Size: int64(len(bigData)), SHA256: sum(bigData)},
		}}
}

// rig is a cache, a fake Python whose pip hands over one wheel, and a store.
type rig struct {
	t      testing.TB
	cache  string
	mirror string // what the fake pip serves
	log    string // one line per run of the fake pip
	entry  Entry
	opt    Options
}

// fakePip does what pip download does, from a local directory. FAKE_MODE makes
// it fail in the ways pip fails.
const fakePip = `#!/bin/sh
echo "$@" >> "$FAKE_LOG"
all="$*"
while [ $# -gt 0 ]; do
  case "$1" in -d) dest=$2 ;; -r) req=$2 ;; esac
  shift
done
case "$FAKE_MODE" in
nopip) echo "$0: No module named pip" >&2; exit 1 ;;
offline) i=0; while [ $i -lt 30 ]; do echo "WARNING: Retrying after connection broken, $i"; i=$((i+1)); done
  echo "ERROR: No matching distribution found for thing==1.0" >&2; exit 1 ;;
hashes) echo "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE." >&2
  echo "    Expected sha256 aaaa" >&2; echo "         Got        bbbb" >&2; exit 1 ;;
full) echo "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device" >&2; exit 1 ;;
silent) exit 1 ;;
nothing) echo "Saved nothing"; exit 0 ;;
slow) head -c 100 "$FAKE_MIRROR"/*.whl > "$dest/part.whl"; echo $$ > "$FAKE_LOG.pid"; exec sleep 600 ;;
esac
cat "$req" > "$FAKE_LOG.req"
cp "$FAKE_MIRROR"/* "$dest/"
`

func newRig(t testing.TB, wheel []byte) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{t: t, cache: filepath.Join(dir, "cache"), mirror: filepath.Join(dir, "mirror"),
		log: filepath.Join(dir, "log"), entry: thingEntry(wheel)}
	python := filepath.Join(dir, "python")
	r.write(python, []byte(fakePip), 0o755)
	r.write(filepath.Join(r.mirror, wheelName), wheel, 0o644)
	t.Setenv("FAKE_LOG", r.log)
	t.Setenv("FAKE_MIRROR", r.mirror)
	t.Setenv("FAKE_MODE", "")
	t.Setenv("ENCBENCH_PYTHON", python)
	t.Setenv("ENCBENCH_CACHE", r.cache)
	for _, o := range overrides {
		if o.env != "" {
			t.Setenv(o.env, "")
		}
	}
	return r
}

func (r *rig) write(path string, b []byte, mode os.FileMode) {
	r.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, b, mode); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) lockJSON() []byte {
	r.t.Helper()
	b, err := json.Marshal(lockFile{Schema: lockSchema, Assets: []Entry{r.entry}})
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

// store opens the cache with the rig's entry.
func (r *rig) store() *Store {
	r.t.Helper()
	entries, err := parseLock(r.lockJSON())
	if err != nil {
		r.t.Fatal(err)
	}
	opt := r.opt
	opt.entries = entries
	s, err := Open("", opt)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// runs is how often the fake pip ran.
func (r *rig) runs() int {
	b, err := os.ReadFile(r.log)
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	return bytes.Count(b, []byte("\n"))
}

// wantClean fails when unfinished work is left in the cache.
func (r *rig) wantClean() {
	r.t.Helper()
	es, err := os.ReadDir(filepath.Join(r.cache, "tmp"))
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	for _, e := range es {
		r.t.Errorf("left in tmp: %s", e.Name())
	}
}

// wantThing fails unless the asset is in the cache, whole.
func (r *rig) wantThing() Asset {
	r.t.Helper()
	s := r.store()
	a, err := s.Lookup("thing")
	if err != nil {
		r.t.Fatal(err)
	}
	if err := s.Verify(context.Background(), "thing"); err != nil {
		r.t.Fatal(err)
	}
	if b := r.read(filepath.Join(a.Path, "big.bin")); !bytes.Equal(b, bigData) {
		r.t.Errorf("big.bin: %d bytes that are not those of the wheel", len(b))
	}
	if b := r.read(filepath.Join(a.Dir, "lib.so")); !bytes.Equal(b, libData) {
		r.t.Errorf("lib.so: %q", b)
	}
	return a
}

func (r *rig) read(path string) []byte {
	r.t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

// wantErr compares a message in whole: users and documents quote them.
func wantErr(t testing.TB, err error, want string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, expected: %s", want)
	}
	if got := err.Error(); got != want {
		t.Errorf("error\n   found: %s\nexpected: %s", got, want)
	}
}

// fullDisk writes to the device that is always full.
func fullDisk(string) (outFile, error) { return os.OpenFile("/dev/full", os.O_WRONLY, 0) }
