package assets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockPoll is how often a busy lock is tried again: flock itself cannot be
// interrupted by a context.
const lockPoll = 20 * time.Millisecond

// tryLock takes the exclusive lock of an open file, and tells whether it could.
// The kernel lets go of it when the process ends, however it ends.
func tryLock(f *os.File) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case errors.Is(err, syscall.EINTR):
			continue
		default:
			return false, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
	}
}

// lock takes the named lock of the cache, waiting as long as ctx allows. Closing
// the file gives it back.
func (s *Store) lock(ctx context.Context, name string) (*os.File, error) {
	dir := filepath.Join(s.dir, "lock")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	for waited := false; ; waited = true {
		ok, err := tryLock(f)
		if ok {
			return f, nil
		}
		if err == nil {
			if !waited {
				s.opt.Log.Info("waiting for another process", "lock", name)
			}
			select {
			case <-time.After(lockPoll):
				continue
			case <-ctx.Done():
				err = fmt.Errorf("wait for another process that holds %s: %w", f.Name(), context.Cause(ctx))
			}
		}
		return nil, errors.Join(err, f.Close())
	}
}

// workDir is a private directory for unfinished files.
type workDir struct {
	path string
	lock *os.File
}

// newWorkDir makes a directory under tmp, locked for as long as this process
// lives, after removing those whose owners are gone.
func (s *Store) newWorkDir(ctx context.Context, name string) (_ *workDir, err error) {
	tmp := filepath.Join(s.dir, "tmp")
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return nil, err
	}
	// Between making and locking a directory it looks abandoned: both happen
	// under the lock that sweeping takes.
	l, err := s.lock(ctx, "tmp")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := s.sweep(tmp); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(tmp, name+"-")
	if err != nil {
		return nil, err
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	ok, err := tryLock(f)
	if err == nil && !ok {
		err = fmt.Errorf("lock %s: held by another process", dir)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &workDir{dir, f}, nil
}

// sweep removes the directories under tmp that nobody holds. What is no directory
// is not ours and stays; what cannot be opened or removed is logged and stays:
// neither keeps an asset from being obtained.
func (s *Store) sweep(tmp string) error {
	es, err := os.ReadDir(tmp)
	if err != nil {
		return err
	}
	for _, e := range es {
		p := filepath.Join(tmp, e.Name())
		// To open a FIFO would wait for its other end.
		f, err := os.OpenFile(p, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		switch {
		case errors.Is(err, os.ErrNotExist): // its owner finished in this moment
			continue
		case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
			continue
		case errors.Is(err, os.ErrPermission):
			s.opt.Log.Info("unfinished directory stays", "path", p, "reason", err)
			continue
		case err != nil:
			return err
		}
		ok, err := tryLock(f)
		if ok {
			s.opt.Log.Debug("remove unfinished directory", "path", p)
			err = os.RemoveAll(p)
		}
		if errors.Is(err, os.ErrPermission) {
			s.opt.Log.Info("unfinished directory stays", "path", p, "reason", err)
			err = nil
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("remove unfinished directory: %w", err)
		}
	}
	return nil
}

// close removes what is left in the directory and gives the lock back.
func (w *workDir) close() error { return errors.Join(os.RemoveAll(w.path), w.lock.Close()) }
