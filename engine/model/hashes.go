package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// HashCache remembers the sha256 of files that did not change, so that opening a
// model does not read its weights. HashDir is one.
type HashCache interface {
	// Get gives the sha256 that was put for exactly this state of a file; ok is false
	// where there is none.
	Get(f FileState) (sum string, ok bool)
	// Put remembers it. What cannot be remembered is computed again.
	Put(f FileState, sum string)
}

// FileState tells the states of a file apart without reading it. ChangeTime, which no
// program can set, tells even those apart between which the time of modification was
// put back.
type FileState struct {
	Path       string // absolute, links resolved
	Size       int64
	ModTime    int64 // ns
	ChangeTime int64 // ns
	Device     uint64
	Inode      uint64
}

// settled is how long a file must have been left alone before its state is
// remembered. Within the granularity of a file system's clock, up to 2 s, a file can
// change twice and show one time; the rest is for clocks that differ.
const settled = 10 * time.Second

// SHA256 gives the lower-case hex sha256 of the weights: of one file its own, of
// several that of the list that sha256sum prints of them, sorted by the names that
// they have in the model's directory, whether those are links or not. It is found
// once: in Options.Hashes, or by reading the files.
func (w *Weights) SHA256() (string, error) { return w.sha() }

func (w *Weights) hash() (string, error) {
	if len(w.files) == 1 {
		return w.files[0].sha256(w.hashes, time.Now)
	}
	files := slices.Clone(w.files)
	slices.SortFunc(files, func(a, b *weightsFile) int { return strings.Compare(a.name(), b.name()) })
	list := sha256.New()
	for _, f := range files {
		sum, err := f.sha256(w.hashes, time.Now)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(list, "%s  %s\n", sum, f.name())
	}
	return hex.EncodeToString(list.Sum(nil)), nil
}

// sha256 gives the file's hash, from the cache where it has this state of the file. A
// state is remembered only when it was settled before the file was read and was the
// same afterwards.
func (f *weightsFile) sha256(cache HashCache, now func() time.Time) (string, error) {
	before, known := f.state()
	known = known && cache != nil && now().Sub(time.Unix(0, max(before.ModTime, before.ChangeTime))) >= settled
	if known {
		if sum, ok := cache.Get(before); ok && isSHA256.MatchString(sum) {
			return sum, nil
		}
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f.file, 0, f.size)); err != nil {
		return "", fmt.Errorf("hash weights %s: %w", f.path, plain(err))
	}
	sum := hex.EncodeToString(h.Sum(nil))
	if after, ok := f.state(); known && ok && after == before {
		cache.Put(before, sum)
	}
	return sum, nil
}

// state reads the state of the open file, whatever its path now names; ok is false
// where the system does not tell files apart.
func (f *weightsFile) state() (s FileState, ok bool) {
	st, err := f.file.Stat()
	if err != nil {
		return FileState{}, false
	}
	s = FileState{Path: f.real, Size: st.Size(), ModTime: st.ModTime().UnixNano()}
	return s, s.identify(st)
}

var isSHA256 = regexp.MustCompile(`^[0-9a-f]{64}$`)

// HashDir is a HashCache in a folder, which is made when it is needed: a small text
// file for each path, replaced when the file there changed. Several processes may
// share it.
type HashDir string

// Get reads an entry.
func (d HashDir) Get(f FileState) (string, bool) {
	data, err := os.ReadFile(d.entry(f))
	if err != nil {
		return "", false
	}
	sum, ok := strings.CutPrefix(string(data), f.text())
	return strings.TrimSuffix(sum, "\n"), ok
}

// Put writes an entry, or nothing where the folder cannot be written.
func (d HashDir) Put(f FileState, sum string) {
	if os.MkdirAll(string(d), 0o755) != nil {
		return
	}
	t, err := os.CreateTemp(string(d), ".new-*")
	if err != nil {
		return
	}
	_, err = t.WriteString(f.text() + sum + "\n")
	if e := t.Close(); err == nil {
		err = e
	}
	if err != nil || os.Rename(t.Name(), d.entry(f)) != nil {
		os.Remove(t.Name())
	}
}

// entry is the path of the entry for the file's path.
func (d HashDir) entry(f FileState) string {
	name := sha256.Sum256([]byte(f.Path))
	return filepath.Join(string(d), hex.EncodeToString(name[:])+".sha256")
}

// text is what an entry says before the hash.
func (f FileState) text() string {
	return fmt.Sprintf("path %q\nsize %d\nmodified %d\nchanged %d\ndevice %d\ninode %d\nsha256 ",
		f.Path, f.Size, f.ModTime, f.ChangeTime, f.Device, f.Inode)
}
