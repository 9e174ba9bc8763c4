package synth

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"encbench/engine/model"
)

// Options say how a directory is written.
type Options struct {
	Seed  int64
	DType model.DType // "" = F32
	// Tokenizer writes tokenizer.json; nil writes none. Kind says what it is.
	Tokenizer func(w io.Writer) error
	Kind      string // model.SyntheticReal or SyntheticStandIn
	// Progress is told the bytes of the weights written so far and in all.
	Progress func(done, total int64)
}

// CheckDirectory refuses, before any work, a place where WriteDirectory could not
// put a directory: something that is there and is not an empty directory, the current
// one, which cannot be replaced, or a parent that is not there.
func CheckDirectory(dir string) error {
	// A link with a slash after it would be followed, and then replaced.
	dir = filepath.Clean(dir)
	st, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		parent := filepath.Dir(dir)
		if st, err := os.Stat(parent); err != nil {
			return fmt.Errorf("write stand-in %s: folder %s: %w; make it first", dir, parent, cause(err))
		} else if !st.IsDir() {
			return fmt.Errorf("write stand-in %s: %s is not a folder", dir, parent)
		}
		return nil
	case err != nil:
		return fmt.Errorf("write stand-in %s: %w", dir, cause(err))
	case !st.IsDir():
		return fmt.Errorf("write stand-in %s: %w and is not a folder; name a new one", dir, fs.ErrExist)
	}
	if here, err := os.Stat("."); err == nil && os.SameFile(here, st) {
		return fmt.Errorf("write stand-in %s: it is the current folder, which cannot be replaced; name a new one", dir)
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("write stand-in %s: %w", dir, cause(err))
	}
	if len(list) > 0 {
		return fmt.Errorf("write stand-in %s: %w and is not empty (%s); name a new folder, or remove it", dir, fs.ErrExist, list[0].Name())
	}
	return nil
}

// cause strips the operation and path that os errors repeat.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// WriteDirectory writes a stand-in of shape s to dir, which must not exist or be
// empty: description, weights, tokenizer. The directory grows beside dir under
// another name and takes its own at the end, so that dir is whole or not there; on
// an error, that of ctx among them, nothing is left. It gives the size in bytes of
// everything.
func WriteDirectory(ctx context.Context, dir string, s Shape, opt Options) (size int64, err error) {
	if opt.DType == "" {
		opt.DType = model.F32
	}
	if err := CheckDirectory(dir); err != nil {
		return 0, err
	}
	dir = filepath.Clean(dir)
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+".partial-")
	if err != nil {
		return 0, fmt.Errorf("write stand-in %s: %w", dir, cause(err))
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write stand-in %s: %w", dir, err), os.RemoveAll(tmp))
		}
	}()
	if err := os.Chmod(tmp, 0o755); err != nil {
		return 0, cause(err)
	}
	if size, err = writeFiles(ctx, tmp, s, opt); err != nil {
		return 0, err
	}
	// Rename replaces nothing: of an empty directory the name is freed first.
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, cause(err)
	}
	return size, os.Rename(tmp, dir)
}

func writeFiles(ctx context.Context, dir string, s Shape, opt Options) (size int64, err error) {
	for name, data := range s.Describe(opt.Seed, opt.DType, opt.Kind) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return 0, err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return 0, err
		}
		size += int64(len(data))
	}
	if opt.Tokenizer != nil {
		n, err := writeFile(filepath.Join(dir, "tokenizer.json"), opt.Tokenizer)
		if err != nil {
			return 0, err
		}
		size += n
	}
	n, err := writeFile(filepath.Join(dir, "model.safetensors"), func(w io.Writer) error {
		return WriteWeights(ctx, w, s, opt.Seed, opt.DType, opt.Progress)
	})
	return size + n, err
}

// writeFile creates a file with what write writes, and gives its size.
func writeFile(path string, write func(io.Writer) error) (int64, error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	st, statErr := f.Stat()
	if err = errors.Join(err, statErr, f.Close()); err != nil {
		return 0, err
	}
	return st.Size(), nil
}
