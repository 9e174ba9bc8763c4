package assets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// verifiedTime is the modification time given to every verified file. A file
// that was written to since has another one, which is how Lookup knows, without
// a stamp file, which large files to hash again.
var verifiedTime = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// alwaysHashed is the size up to which a file is hashed at every use, which takes
// some milliseconds: reference vectors, tokenizers, configurations.
const alwaysHashed = 8 << 20

// copyBuffer is the unit of hashing, copying and looking at the context.
const copyBuffer = 1 << 20

// outFile is what createFile gives; tests put a full disk behind it.
type outFile interface {
	io.WriteCloser
	Sync() error
}

type createFunc func(path string) (outFile, error)

func createFile(path string) (outFile, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}

// checkFile compares a file with its size and hash. Unless full, a file of more
// than alwaysHashed bytes passes unread when its size is right and its time is
// verifiedTime: a write through the file system is seen, bytes that change
// beneath it, or a time that was set back, are not.
func checkFile(ctx context.Context, path string, size int64, want string, full bool, read func(int64)) error {
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: file %s is missing, expected sha256 %s", ErrCorrupt, path, want)
	}
	if err != nil {
		return err
	}
	if !full && size > alwaysHashed && st.Size() == size && st.ModTime().Equal(verifiedTime) {
		return nil
	}
	got, n, err := hashFile(ctx, path, read)
	if err != nil {
		return err
	}
	if got != want || n != size {
		return mismatch(path, want, size, got, n)
	}
	if !st.ModTime().Equal(verifiedTime) {
		// A cache that was copied has lost the times. In one that is read only the
		// file is hashed each time instead.
		_ = os.Chtimes(path, verifiedTime, verifiedTime)
	}
	return nil
}

// hashFile gives the sha256 of a file in hexadecimal, and its size.
func hashFile(ctx context.Context, path string, read func(int64)) (string, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := copyContext(ctx, h, f, read)
	if err != nil {
		return "", n, fmt.Errorf("hash %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), n, nil
}

// copyContext is io.Copy that stops when ctx ends, and tells each step.
func copyContext(ctx context.Context, w io.Writer, r io.Reader, step func(int64)) (n int64, err error) {
	buf := make([]byte, copyBuffer)
	for {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		k, rerr := r.Read(buf)
		if k > 0 {
			if _, err := w.Write(buf[:k]); err != nil {
				return n, err
			}
			n += int64(k)
			step(int64(k))
		}
		if rerr == io.EOF {
			return n, nil
		}
		if rerr != nil {
			return n, rerr
		}
	}
}

// writeVerified copies r to a new file at path, of which it demands size and
// hash, and makes it durable, read only, and stamped as verified. It reads no
// more than size+1 bytes.
func (s *Store) writeVerified(ctx context.Context, path string, r io.Reader, size int64, want string, step func(int64)) (err error) {
	f, err := s.opt.create(path)
	if err != nil {
		return err
	}
	h := sha256.New()
	n, err := copyContext(ctx, io.MultiWriter(f, h), io.LimitReader(r, size+1), step)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if n > size {
		return fmt.Errorf("%w of %d bytes", ErrTooLarge, size)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want || n != size {
		return mismatch(filepath.Base(path), want, size, got, n)
	}
	if err := os.Chmod(path, 0o444); err != nil {
		return err
	}
	return os.Chtimes(path, verifiedTime, verifiedTime)
}

// syncTree makes the entries of dir and of the directories below it durable.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return syncDir(p)
	})
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	// Some file systems cannot sync a directory; the rename is atomic all the same.
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return errors.Join(fmt.Errorf("sync directory %s: %w", dir, err), f.Close())
	}
	return f.Close()
}

// freeBytes is the room for an ordinary user on the file system of dir, which
// must exist.
func freeBytes(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("ask for free space in %s: %w", dir, err)
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}

// errReadOnly is what a file system that is mounted read only answers.
var errReadOnly error = syscall.EROFS

// noSpace reports whether err is a full disk or a full quota.
func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
