package assets

import (
	"errors"
	"os"
	"path/filepath"
)

// place moves the directory from to its final place, and makes the move durable.
// What is there goes to where from was. The caller holds the lock of that place.
func (s *Store) place(from, to string) error {
	parent := filepath.Dir(to)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	_, err := os.Stat(to)
	switch {
	case err == nil:
		if err = s.opt.exchange(from, to); errors.Is(err, errors.ErrUnsupported) {
			err = s.swapInTwo(from, to)
		}
	case errors.Is(err, os.ErrNotExist):
		err = os.Rename(from, to)
	}
	if err != nil {
		return err
	}
	return syncDir(parent)
}

// swapInTwo is for file systems that cannot exchange two directories. In between
// there is nothing at to, so the old directory waits beside it, where nothing is
// swept: after a kill settle puts it back.
func (s *Store) swapInTwo(from, to string) error {
	aside := asideOf(to)
	if err := os.Rename(to, aside); err != nil {
		return err
	}
	s.opt.at("aside")
	if err := os.Rename(from, to); err != nil {
		return errors.Join(err, os.Rename(aside, to))
	}
	// from is below tmp, which is emptied when the caller is done, or swept.
	return os.Rename(aside, from)
}

// asideOf is where swapInTwo puts the old directory for a moment. No asset and no
// derived file has a name that begins with a dot.
func asideOf(to string) string {
	dir, name := filepath.Split(to)
	return filepath.Join(dir, "."+name+".old")
}

// settle ends a swapInTwo that was cut short: what stands aside goes back to its
// place, or, when the new directory reached it, away. The caller holds the lock
// of that place.
func (s *Store) settle(to string) error {
	aside := asideOf(to)
	if _, err := os.Lstat(aside); err != nil {
		return nil // nothing there, or nothing that could be used
	}
	if _, err := os.Stat(to); err == nil {
		return os.RemoveAll(aside)
	}
	s.opt.Log.Info("put back what an ended process had set aside", "path", to)
	return os.Rename(aside, to)
}
