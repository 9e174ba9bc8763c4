package inhouse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockPoll is how often a busy lock is tried again: flock itself cannot be
// interrupted by a context.
const lockPoll = 10 * time.Millisecond

// Locked calls do while it holds the lock of a folder, which leaves no file behind
// and which the kernel lets go of when the process ends, however it ends. It waits
// for whoever holds the lock, do itself included.
func Locked(ctx context.Context, dir string, do func() error) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return do()
		case errors.Is(err, syscall.EWOULDBLOCK), errors.Is(err, syscall.EINTR):
		default:
			return fmt.Errorf("lock %s: %w", dir, err)
		}
		select {
		case <-time.After(lockPoll):
		case <-ctx.Done():
			return fmt.Errorf("wait for another program that holds %s: %w", dir, context.Cause(ctx))
		}
	}
}

// replace writes a file that appears whole or not at all.
func replace(path string, write func(w io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	err = errors.Join(write(f), f.Chmod(0o644), f.Sync())
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
