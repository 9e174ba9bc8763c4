package assets

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// derivedNote stands beside a derived file and says what it was when built.
type derivedNote struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

const derivedNoteName = "derived.json"

// Derived gives the path of a file that is computed from assets, calling build
// when the cache has none. name is a plain file name, and carries the version of
// the rule that builds it (techdocs-1.jsonl): another rule is another name.
//
// The file appears complete or not at all, its sha256 is kept beside it, and two
// processes that want it take turns. A file that was changed since is built
// again, as far as checkFile sees a change. build must write the same bytes each time.
func (s *Store) Derived(ctx context.Context, name string, build func(w io.Writer) error) (path string, err error) {
	dir, path, err := s.derivedPath(name)
	if err != nil {
		return "", err
	}
	if s.derivedIntact(ctx, dir, path) {
		return path, nil
	}
	defer func() {
		if err != nil {
			path, err = "", spaceAdvice(s.obtaining("derive "+name, err))
		}
	}()
	l, err := s.lock(ctx, "derived-"+name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := s.settle(dir); err != nil {
		return "", err
	}
	if s.derivedIntact(ctx, dir, path) {
		return path, nil
	}
	w, err := s.newWorkDir(ctx, "derived")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	out := filepath.Join(w.path, "out")
	if err := os.Mkdir(out, 0o755); err != nil {
		return "", err
	}
	note, err := s.buildDerived(ctx, filepath.Join(out, name), build)
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(note)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(out, derivedNoteName), append(b, '\n'), 0o444); err != nil {
		return "", err
	}
	if err := syncTree(out); err != nil {
		return "", err
	}
	s.opt.at("derived")
	return path, s.place(out, dir)
}

// VerifyDerived hashes a derived file again and gives its sha256. The error is
// ErrAbsent when there is none, or ErrCorrupt with both hashes.
func (s *Store) VerifyDerived(ctx context.Context, name string) (sum string, err error) {
	dir, path, err := s.derivedPath(name)
	if err != nil {
		return "", err
	}
	n, err := readNote(dir)
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("derived file %s: %w from %s", name, ErrAbsent, s.dir)
	}
	if err == nil {
		err = checkFile(ctx, path, n.Size, n.SHA256, true, func(int64) {})
	}
	if err != nil {
		return "", fmt.Errorf("derived file %s: %w; remove %s, it is built again when needed", name, err, dir)
	}
	return n.SHA256, nil
}

func (s *Store) derivedPath(name string) (dir, path string, err error) {
	if !plainName(name) || name == derivedNoteName {
		return "", "", fmt.Errorf("derive %q: not a plain file name", name)
	}
	dir = filepath.Join(s.dir, "derived", name)
	return dir, filepath.Join(dir, name), nil
}

func (s *Store) derivedIntact(ctx context.Context, dir, path string) bool {
	n, err := readNote(dir)
	if err != nil {
		return false
	}
	err = checkFile(ctx, path, n.Size, n.SHA256, false, func(int64) {})
	if err != nil {
		s.opt.Log.Info("derived file is built again", "path", path, "reason", err)
	}
	return err == nil
}

func readNote(dir string) (n derivedNote, err error) {
	b, err := os.ReadFile(filepath.Join(dir, derivedNoteName))
	if err != nil {
		return n, err
	}
	err = json.Unmarshal(b, &n)
	return n, err
}

func (s *Store) buildDerived(ctx context.Context, path string, build func(w io.Writer) error) (n derivedNote, err error) {
	f, err := s.opt.create(path)
	if err != nil {
		return n, err
	}
	w := &hashWriter{ctx: ctx, w: f, h: sha256.New()}
	b := bufio.NewWriterSize(w, copyBuffer)
	err = build(b)
	if err == nil {
		err = b.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return n, err
	}
	if err := errors.Join(os.Chmod(path, 0o444), os.Chtimes(path, verifiedTime, verifiedTime)); err != nil {
		return n, err
	}
	return derivedNote{Size: w.n, SHA256: hex.EncodeToString(w.h.Sum(nil))}, nil
}

// hashWriter hashes and counts what passes, and stops when ctx ends.
type hashWriter struct {
	ctx context.Context
	w   io.Writer
	h   interface {
		io.Writer
		Sum(b []byte) []byte
	}
	n int64
}

func (w *hashWriter) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.w.Write(p)
	w.h.Write(p[:n])
	w.n += int64(n)
	return n, err
}
