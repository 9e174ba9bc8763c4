package model

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// Weights is an open safetensors file: its header in memory, its data on disk.
// Methods are safe for concurrent use until Close.
type Weights struct {
	Path     string            // as it was opened
	RealPath string            // with symbolic links resolved; a hub cache is made of them
	Size     int64             // of the file, in bytes
	Metadata map[string]string // the header's free-form strings

	file    *os.File
	tensors []Tensor // in the order of their data
	byName  map[string]int
	sha     func() (string, error)
}

// OpenWeights opens a safetensors file and checks its header against itself and
// against the size of the file. The caller closes the result. Errors name the
// file, what was expected and what was found.
func OpenWeights(path string) (*Weights, error) {
	w, err := openWeights(path)
	if err != nil {
		return nil, fmt.Errorf("read weights %s: %w", path, err)
	}
	return w, nil
}

func openWeights(path string) (w *Weights, err error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, plain(err)
	}
	f, err := os.Open(real)
	if err != nil {
		return nil, plain(err)
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	st, err := f.Stat()
	if err != nil {
		return nil, plain(err)
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("not a regular file")
	}
	w = &Weights{Path: path, RealPath: real, Size: st.Size(), file: f}
	w.sha = sync.OnceValues(w.hash)
	if err := w.readHeader(); err != nil {
		return nil, err
	}
	return w, nil
}

// plain strips the operation and path that os errors repeat.
func plain(err error) error {
	if p, ok := err.(*os.PathError); ok {
		return p.Err
	}
	return err
}

func (w *Weights) readHeader() error {
	var length [8]byte
	if w.Size < int64(len(length)) {
		return fmt.Errorf("%w: a safetensors file has at least 8 bytes, the file has %d; get the file again", ErrTruncated, w.Size)
	}
	if _, err := w.file.ReadAt(length[:], 0); err != nil {
		return fmt.Errorf("read header length: %w", plain(err))
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > uint64(w.Size-8) {
		return fmt.Errorf("%w: its length is given as %d bytes, the file has only %d after the length field; this is no safetensors file, or a damaged one",
			ErrHeader, n, w.Size-8)
	}
	if n > maxHeader {
		return fmt.Errorf("%w: its length is given as %d bytes, the format's limit is %d", ErrHeader, n, maxHeader)
	}
	header := make([]byte, n)
	if _, err := w.file.ReadAt(header, 8); err != nil {
		return fmt.Errorf("read header: %w", plain(err))
	}
	base := int64(n) + 8
	tensors, meta, err := parseHeader(header, base)
	if err != nil {
		return err
	}
	end := base
	if len(tensors) > 0 {
		last := tensors[len(tensors)-1]
		end = last.Offset + last.Bytes
	}
	switch {
	case end > w.Size:
		return fmt.Errorf("%w: header says %d bytes, file has %d; get the file again", ErrTruncated, end, w.Size)
	case end < w.Size:
		return fmt.Errorf("%w: header says %d bytes, file has %d: %d bytes at its end belong to nothing", ErrHeader, end, w.Size, w.Size-end)
	}
	w.tensors, w.Metadata = tensors, meta
	w.byName = make(map[string]int, len(tensors))
	for i, t := range tensors {
		w.byName[t.Name] = i
	}
	return nil
}

// Tensors lists the tensors in the order of their data. The caller owns the
// slice, not the shapes in it.
func (w *Weights) Tensors() []Tensor { return slices.Clone(w.tensors) }

// Tensor finds a tensor by name.
func (w *Weights) Tensor(name string) (Tensor, bool) {
	i, ok := w.byName[name]
	if !ok {
		return Tensor{}, false
	}
	return w.tensors[i], true
}

// Float32 reads a tensor as float32 values in row-major order, F16 and BF16
// widened exactly. The caller owns the result.
func (w *Weights) Float32(name string) ([]float32, error) {
	t, ok := w.Tensor(name)
	if !ok {
		return nil, fmt.Errorf("read weights %s: %w: %s", w.Path, ErrMissingTensor, name)
	}
	if !t.DType.Float() {
		return nil, fmt.Errorf("read weights %s: %w: tensor %s has dtype %s, needed is one of F32, F16, BF16",
			w.Path, ErrUnsupported, name, t.DType)
	}
	dst := make([]float32, elements(t.Shape))
	size := dtypeBytes[t.DType]
	buf := make([]byte, min(t.Bytes, 1<<20)) // a multiple of every element size
	for done := int64(0); done < t.Bytes; {
		part := buf[:min(int64(len(buf)), t.Bytes-done)]
		if _, err := w.file.ReadAt(part, t.Offset+done); err != nil {
			return nil, fmt.Errorf("read weights %s: tensor %s: %w", w.Path, name, plain(err))
		}
		first := done / size
		done += int64(len(part))
		widen(dst[first:done/size], part, t.DType)
	}
	return dst, nil
}

// SHA256 gives the lower-case hex sha256 of the whole file. The file is read
// on the first call only.
func (w *Weights) SHA256() (string, error) { return w.sha() }

func (w *Weights) hash() (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(w.file, 0, w.Size)); err != nil {
		return "", fmt.Errorf("hash weights %s: %w", w.Path, plain(err))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Close closes the file. Tensors read before stay valid.
func (w *Weights) Close() error { return w.file.Close() }
