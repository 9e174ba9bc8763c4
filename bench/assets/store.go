package assets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// Options says how a Store obtains assets. The zero value is right for a user.
type Options struct {
	// Python runs pip. Default: ENCBENCH_PYTHON, then python3.
	Python string
	// Platform selects among the entries of an asset, as GOOS/GOARCH. Default:
	// the platform of this build. Another one is for making a bundle elsewhere.
	Platform string
	// Log takes what happens, at debug level, and waiting for another process, at
	// info level. Nil discards it.
	Log *slog.Logger
	// Progress is called a few times a second while an asset is obtained, from
	// one goroutine at a time. Nil reports nothing.
	Progress func(Progress)

	entries []Entry      // of the lock file; tests give their own
	at      func(string) // called at named points of Get; tests stop there
	create  createFunc   // opens a file for writing; tests fill the disk
	// exchange swaps two directories; tests give a file system that cannot.
	exchange func(from, to string) error
	free     func(dir string) (int64, error)
}

// Progress is how far the work on one asset has come.
type Progress struct {
	Asset string
	Stage string // download, verify, unpack
	Done  int64  // bytes
	Total int64  // bytes; the download's Done is an estimate until it ends
}

// Store is a cache directory. It is safe for use by several goroutines and
// several processes at once.
type Store struct {
	dir string
	opt Options
}

// Asset is a finished asset. Its files must not be changed.
type Asset struct {
	Name     string
	Version  string
	Platform string // of its lock entry
	Licence  string
	Package  string
	Dir      string // all files of the asset, licence texts included
	Path     string // what is used: a file or a directory in Dir
	SHA256   string // of Path when it is a file, else ""
	Files    []File // To is below Dir
}

// Open gives the store in dir, which need not exist: Get creates it. An empty
// dir means DefaultDir.
func Open(dir string, opt Options) (*Store, error) {
	if dir == "" {
		d, err := DefaultDir()
		if err != nil {
			return nil, err
		}
		dir = d
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open asset cache %s: %w", dir, err)
	}
	if opt.Python == "" {
		opt.Python = os.Getenv("ENCBENCH_PYTHON")
	}
	if opt.Python == "" {
		opt.Python = "python3"
	}
	if opt.Platform == "" {
		opt.Platform = runtime.GOOS + "/" + runtime.GOARCH
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Progress == nil {
		opt.Progress = func(Progress) {}
	}
	if opt.entries == nil {
		opt.entries = embedded()
	}
	if opt.at == nil {
		opt.at = func(string) {}
	}
	if opt.create == nil {
		opt.create = createFile
	}
	if opt.exchange == nil {
		opt.exchange = exchange
	}
	if opt.free == nil {
		opt.free = freeBytes
	}
	return &Store{dir: abs, opt: opt}, nil
}

// DefaultDir is the cache directory of a user who names none: ENCBENCH_CACHE,
// else encbench in the user's cache directory.
func DefaultDir() (string, error) {
	if d := os.Getenv("ENCBENCH_CACHE"); d != "" {
		return d, nil
	}
	d, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache directory: %w; set ENCBENCH_CACHE to a folder", err)
	}
	return filepath.Join(d, "encbench"), nil
}

// Dir is the cache directory, absolute.
func (s *Store) Dir() string { return s.dir }

// WheelDir is where wheels given by hand are looked for.
func (s *Store) WheelDir() string { return filepath.Join(s.dir, "wheels") }

// Names lists the assets of the lock file, in its order, whatever the platform,
// those on demand included.
func (s *Store) Names() []string {
	var out []string
	for i := range s.opt.entries {
		if n := s.opt.entries[i].Name; !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// Needed lists, in the order of Names, the assets that this machine's user needs:
// those that exist for the store's platform, are not obtained on demand only, and
// whose environment variable (ENCBENCH_ORT_LIBRARY, ENCBENCH_MODEL_DIR) names no
// files of the user's own.
func (s *Store) Needed() []string {
	var out []string
	for _, name := range s.Names() {
		if e, err := s.entry(name); err != nil || e.OnDemand {
			continue
		}
		if o := overrides[name]; o.env != "" && os.Getenv(o.env) != "" {
			continue
		}
		out = append(out, name)
	}
	return out
}

// Entry gives the lock entry of an asset for the store's platform. The error is
// ErrUnknown or ErrPlatform.
func (s *Store) Entry(name string) (Entry, error) {
	e, err := s.entry(name)
	if err != nil {
		return Entry{}, err
	}
	return *e, nil
}

func (s *Store) entry(name string) (*Entry, error) {
	var platforms []string
	for i := range s.opt.entries {
		e := &s.opt.entries[i]
		if e.Name != name {
			continue
		}
		if e.Platform == "any" || e.Platform == s.opt.Platform {
			return e, nil
		}
		platforms = append(platforms, e.Platform)
	}
	if platforms == nil {
		return nil, fmt.Errorf("%w %q, known are: %s", ErrUnknown, name, strings.Join(s.Names(), ", "))
	}
	return nil, fmt.Errorf("asset %s for %s: %w, it exists for: %s; %s",
		name, s.opt.Platform, ErrPlatform, strings.Join(platforms, ", "), ownFiles(name))
}

func (s *Store) assetDir(e *Entry) string { return filepath.Join(s.dir, "assets", e.dirName()) }

func (s *Store) asset(e *Entry) Asset {
	dir := s.assetDir(e)
	a := Asset{Name: e.Name, Version: e.Version, Platform: e.Platform, Licence: e.Licence, Package: e.Package,
		Dir: dir, Path: filepath.Join(dir, filepath.FromSlash(e.Use)), Files: slices.Clone(e.kept())}
	for _, f := range a.Files {
		if f.To == e.Use {
			a.SHA256 = f.SHA256
		}
	}
	return a
}

// Lookup gives an asset that is in the cache, and never downloads. It hashes
// every file of up to 8 MiB, and larger ones when their size or modification time
// is not what it was when they were verified: a large file whose bytes changed
// and whose time did not (a failing disk, or a deliberate hand) shows to Verify
// only. The error is ErrAbsent, ErrCorrupt, ErrUnknown or
// ErrPlatform, and names the command that mends it.
func (s *Store) Lookup(name string) (Asset, error) {
	e, err := s.entry(name)
	if err != nil {
		return Asset{}, err
	}
	return s.lookup(context.Background(), e, false)
}

// Verify hashes every file of an asset again. Errors are those of Lookup;
// ErrCorrupt names the file and both hashes.
func (s *Store) Verify(ctx context.Context, name string) error {
	e, err := s.entry(name)
	if err != nil {
		return err
	}
	_, err = s.lookup(ctx, e, true)
	return err
}

func (s *Store) lookup(ctx context.Context, e *Entry, full bool) (Asset, error) {
	a := s.asset(e)
	if _, err := os.Stat(a.Dir); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return Asset{}, fmt.Errorf("asset %s %s: %w from %s; run: encbench assets get %s",
			e.Name, e.Version, ErrAbsent, s.dir, e.Name)
	}
	read := func(int64) {}
	if full {
		read = s.meter(e, "verify", e.bytes()).add
	}
	for _, f := range a.Files {
		p := filepath.Join(a.Dir, filepath.FromSlash(f.To))
		err := checkFile(ctx, p, f.Size, f.SHA256, full, read)
		if errors.Is(err, ErrCorrupt) {
			return Asset{}, fmt.Errorf("asset %s %s: %w; run: encbench assets get --force %s", e.Name, e.Version, err, e.Name)
		}
		if err != nil {
			return Asset{}, fmt.Errorf("check asset %s %s: %w", e.Name, e.Version, err)
		}
	}
	return a, nil
}

// Status is the state of one lock entry.
type Status struct {
	Entry Entry
	State string // present, absent, corrupt, or "other platform"
	Dir   string // its directory in the cache, there or not
	Path  string // when present
	Bytes int64  // of the finished asset
	Err   error  // why not present
}

// List tells the state of every entry of the lock file, in its order.
func (s *Store) List() []Status {
	out := make([]Status, 0, len(s.opt.entries))
	for i := range s.opt.entries {
		e := &s.opt.entries[i]
		st := Status{Entry: *e, Dir: s.assetDir(e), Bytes: e.bytes()}
		a, err := s.lookup(context.Background(), e, false)
		switch {
		case err == nil:
			st.State, st.Path = "present", a.Path
		case errors.Is(err, ErrAbsent):
			st.State, st.Err = "absent", err
			if e.Platform != "any" && e.Platform != s.opt.Platform {
				st.State = "other platform"
			}
		default:
			st.State, st.Err = "corrupt", err
		}
		out = append(out, st)
	}
	return out
}
