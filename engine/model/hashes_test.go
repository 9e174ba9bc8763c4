package model

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// memory is a HashCache that counts.
type memory struct {
	sums       map[FileState]string
	gets, puts int
}

func (m *memory) Get(f FileState) (string, bool) {
	m.gets++
	sum, ok := m.sums[f]
	return sum, ok
}

func (m *memory) Put(f FileState, sum string) {
	m.puts++
	m.sums[f] = sum
}

func sha(data string) string {
	sum := sha256.Sum256([]byte(data))
	return hex.EncodeToString(sum[:])
}

// hashed opens path as a file of weights, whatever it holds, and hashes it at a time
// that lies ahead by later.
func hashed(t *testing.T, path string, cache HashCache, later time.Duration) string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	f := &weightsFile{path: path, real: path, size: st.Size(), file: file}
	sum, err := f.sha256(cache, func() time.Time { return time.Now().Add(later) })
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// TestHashCache changes a file in every way that leaves its size alone; what the cache
// holds of an earlier state must never come back.
func TestHashCache(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w")
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cache := &memory{sums: map[FileState]string{}}
	const hour = time.Hour

	write("one")
	if sum := hashed(t, path, cache, 0); sum != sha("one") || cache.gets+cache.puts != 0 {
		t.Fatalf("a file just written: %s, asked %d times, told %d times", sum, cache.gets, cache.puts)
	}
	write("two") // within the granularity of the clock, perhaps
	if sum := hashed(t, path, cache, 0); sum != sha("two") {
		t.Fatal("the first content came back")
	}
	if (&FileState{}).identify(stat(t, path)) == false {
		if hashed(t, path, cache, hour); cache.puts != 0 {
			t.Fatal("a file was remembered that cannot be told apart")
		}
		return // nothing is remembered on this system
	}
	if sum := hashed(t, path, cache, hour); sum != sha("two") || cache.puts != 1 {
		t.Fatalf("a settled file: %s, told %d times", sum, cache.puts)
	}
	for state := range cache.sums { // what comes back now was not computed
		cache.sums[state] = sha("remembered")
	}
	if sum := hashed(t, path, cache, hour); sum != sha("remembered") || cache.puts != 1 {
		t.Fatalf("the same file: %s, told %d times", sum, cache.puts)
	}

	before := stat(t, path)
	write("six")
	if err := os.Chtimes(path, before.ModTime(), before.ModTime()); err != nil {
		t.Fatal(err)
	}
	if after := stat(t, path); !after.ModTime().Equal(before.ModTime()) || after.Size() != before.Size() {
		t.Fatal("the time of modification was not put back")
	}
	if sum := hashed(t, path, cache, hour); sum != sha("six") {
		t.Error("a file whose time was put back: an earlier hash came back")
	}

	other := path + ".new"
	if err := os.WriteFile(other, []byte("ten"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(other, before.ModTime(), before.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	if sum := hashed(t, path, cache, hour); sum != sha("ten") {
		t.Error("a file put in its place: an earlier hash came back")
	}

	for state := range cache.sums {
		cache.sums[state] = "no hash"
	}
	if sum := hashed(t, path, cache, hour); sum != sha("ten") {
		t.Errorf("a damaged cache gives %s", sum)
	}
	if err := os.Chtimes(path, before.ModTime(), time.Now().Add(24*hour)); err != nil {
		t.Fatal(err)
	}
	cache.gets, cache.puts = 0, 0
	if sum := hashed(t, path, cache, hour); sum != sha("ten") || cache.gets+cache.puts != 0 {
		t.Errorf("a file of the future: %s, asked %d times, told %d times", sum, cache.gets, cache.puts)
	}
}

func stat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// changing writes to the file while it is being hashed.
type changing struct {
	memory
	change func()
}

func (c *changing) Get(f FileState) (string, bool) {
	c.change()
	return c.memory.Get(f)
}

func TestHashOfAChangingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w")
	if err := os.WriteFile(path, []byte("one"), 0o644); err != nil {
		t.Fatal(err)
	}
	cache := &changing{memory: memory{sums: map[FileState]string{}}}
	cache.change = func() {
		time.Sleep(20 * time.Millisecond) // past the granularity of the clock
		if err := os.WriteFile(path, []byte("two"), 0o644); err != nil {
			t.Error(err)
		}
	}
	if hashed(t, path, cache, time.Hour); cache.puts != 0 {
		t.Error("the hash of a file that changed meanwhile was remembered")
	}
}

func TestHashDir(t *testing.T) {
	d := HashDir(filepath.Join(t.TempDir(), "made", "when", "needed"))
	a := FileState{Path: "/w/a\nb", Size: 3, ModTime: 1, ChangeTime: 2, Device: 3, Inode: 4}
	if _, ok := d.Get(a); ok {
		t.Error("an empty cache knows a file")
	}
	d.Put(a, sha("a"))
	if sum, ok := d.Get(a); !ok || sum != sha("a") {
		t.Errorf("got %s, %t", sum, ok)
	}
	for _, change := range []func(*FileState){
		func(s *FileState) { s.Path = "/w/b" }, func(s *FileState) { s.Size++ }, func(s *FileState) { s.ModTime++ },
		func(s *FileState) { s.ChangeTime++ }, func(s *FileState) { s.Device++ }, func(s *FileState) { s.Inode++ },
	} {
		b := a
		change(&b)
		if sum, ok := d.Get(b); ok {
			t.Errorf("%+v has the hash of another state, %s", b, sum)
		}
	}
	b := a
	b.ModTime = 9
	d.Put(b, sha("b")) // takes the place of the earlier state
	if _, ok := d.Get(a); ok {
		t.Error("the earlier state is still known")
	}
	entries, err := os.ReadDir(string(d))
	if err != nil || len(entries) != 1 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				d.Put(b, sha("b"))
				if sum, ok := d.Get(b); !ok || sum != sha("b") {
					t.Errorf("while others write: %s, %t", sum, ok)
				}
			}
		})
	}
	wg.Wait()
	if err := os.WriteFile(d.entry(b), []byte("damaged"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, ok := d.Get(b); ok {
		t.Error("a damaged entry is believed")
	}
	// A folder that cannot be made is no error, only no cache.
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	blocked := HashDir(filepath.Join(file, "cache"))
	blocked.Put(a, sha("a"))
	if _, ok := blocked.Get(a); ok {
		t.Error("a folder below a file holds an entry")
	}
}

// TestSHA256ThroughACache hashes through Options.Hashes, and only once.
func TestSHA256ThroughACache(t *testing.T) {
	path := writeWeights(t, `{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1)
	w, err := OpenWeights(path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	cache := HashDir(filepath.Join(t.TempDir(), "hashes"))
	w.hashes = cache
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if sum, err := w.SHA256(); err != nil || sum != sha(string(data)) {
			t.Errorf("%s, %v", sum, err)
		}
	}
	if _, err := os.Stat(string(cache)); !os.IsNotExist(err) {
		t.Errorf("a file just written was remembered: %v", err)
	}
	closed, err := OpenWeights(path)
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	if _, err := closed.SHA256(); err == nil || !strings.HasPrefix(err.Error(), "hash weights "+path+": ") {
		t.Errorf("closed weights: %v", err)
	}
}
