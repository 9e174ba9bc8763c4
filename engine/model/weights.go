package model

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Weights are the open safetensors files of a model: their headers in memory, their
// data on disk. Methods are safe for concurrent use until Close.
type Weights struct {
	Path     string            // as it was opened: the file, or the index of several
	RealPath string            // of a single file, with symbolic links resolved; "" for several
	Size     int64             // of all files, in bytes
	Metadata map[string]string // the header's free-form strings; of several files the first one's

	files   []*weightsFile
	tensors []Tensor // by file, in the order of their data
	byName  map[string]int
	hashes  HashCache
	sha     func() (string, error)
}

// weightsFile is one safetensors file.
type weightsFile struct {
	path   string // as it was opened
	prefix string // before the names of its tensors
	real   string // with symbolic links resolved; a hub cache is made of them
	size   int64
	file   *os.File
}

// name is what the file is called in lists: with links resolved it may be a hash.
func (f *weightsFile) name() string { return f.prefix + filepath.Base(f.path) }

// OpenWeights opens a safetensors file and checks its header against itself and
// against the size of the file. The caller closes the result. Errors name the
// file, what was expected and what was found.
func OpenWeights(path string) (*Weights, error) {
	w := newWeights(path)
	f, err := w.open(path)
	if err != nil {
		return nil, err
	}
	w.RealPath = f.real
	return w, nil
}

func newWeights(path string) *Weights {
	w := &Weights{Path: path, byName: map[string]int{}}
	w.sha = sync.OnceValues(w.hash)
	return w
}

// open adds a file whose tensors keep their names.
func (w *Weights) open(path string) (*weightsFile, error) { return w.add(path, "") }

// add opens a file and lists its tensors, with prefix before their names. On an error
// the weights are as before.
func (w *Weights) add(path, prefix string) (*weightsFile, error) {
	f, tensors, meta, err := openFile(path)
	if err != nil {
		return nil, fmt.Errorf("read weights %s: %w", path, err)
	}
	if err := w.fits(f, tensors, prefix); err != nil {
		f.file.Close()
		return nil, fmt.Errorf("read weights %s: %w", path, err)
	}
	if len(w.files) == 0 {
		w.Metadata = meta
	}
	for _, t := range tensors {
		t.Name, t.file = prefix+t.Name, len(w.files)
		w.byName[t.Name] = len(w.tensors)
		w.tensors = append(w.tensors, t)
	}
	f.prefix = prefix
	w.files = append(w.files, f)
	w.Size += f.size
	return f, nil
}

// fits makes sure that a file can stand beside the others: a runtime takes them from
// one folder, and a name belongs to one tensor.
func (w *Weights) fits(f *weightsFile, tensors []Tensor, prefix string) error {
	if len(w.files) == 0 {
		return nil
	}
	if rel, err := filepath.Rel(w.Folder(), f.real); err != nil || !filepath.IsLocal(rel) {
		return fmt.Errorf("%w: it really is %s, %s is in %s: the files must lie in one folder; copy the model's directory without its links and open the copy",
			ErrUnsupported, f.real, w.files[0].path, w.Folder())
	}
	for _, t := range tensors {
		if i, ok := w.byName[prefix+t.Name]; ok {
			return fmt.Errorf("%w: tensor %.200q is in %s too", ErrHeader, t.Name, w.files[w.tensors[i].file].path)
		}
	}
	return nil
}

func openFile(path string) (f *weightsFile, tensors []Tensor, meta map[string]string, err error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, nil, nil, plain(err)
	}
	if real, err = filepath.Abs(real); err != nil {
		return nil, nil, nil, err
	}
	// Asked before it is opened: opening a pipe waits for its writer.
	st, err := os.Stat(real)
	if err != nil {
		return nil, nil, nil, plain(err)
	}
	if !st.Mode().IsRegular() {
		return nil, nil, nil, fmt.Errorf("not a regular file")
	}
	file, err := os.Open(real)
	if err != nil {
		return nil, nil, nil, plain(err)
	}
	defer func() {
		if err != nil {
			file.Close()
		}
	}()
	if st, err = file.Stat(); err != nil {
		return nil, nil, nil, plain(err)
	}
	f = &weightsFile{path: path, real: real, size: st.Size(), file: file}
	tensors, meta, err = f.readHeader()
	return f, tensors, meta, err
}

// plain strips the operation and path that os errors repeat.
func plain(err error) error {
	if p, ok := err.(*os.PathError); ok {
		return p.Err
	}
	return err
}

func (f *weightsFile) readHeader() ([]Tensor, map[string]string, error) {
	var length [8]byte
	if f.size < int64(len(length)) {
		return nil, nil, fmt.Errorf("%w: a safetensors file has at least 8 bytes, the file has %d; get the file again", ErrTruncated, f.size)
	}
	if _, err := f.file.ReadAt(length[:], 0); err != nil {
		return nil, nil, fmt.Errorf("read header length: %w", plain(err))
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > uint64(f.size-8) {
		return nil, nil, fmt.Errorf("%w: its length is given as %d bytes, the file has only %d after the length field; this is no safetensors file, or a damaged one",
			ErrHeader, n, f.size-8)
	}
	if n > maxHeader {
		return nil, nil, fmt.Errorf("%w: its length is given as %d bytes, the format's limit is %d", ErrHeader, n, maxHeader)
	}
	header := make([]byte, n)
	if _, err := f.file.ReadAt(header, 8); err != nil {
		return nil, nil, fmt.Errorf("read header: %w", plain(err))
	}
	base := int64(n) + 8
	tensors, meta, err := parseHeader(header, base)
	if err != nil {
		return nil, nil, err
	}
	end := base
	if len(tensors) > 0 {
		last := tensors[len(tensors)-1]
		end = last.Offset + last.Bytes
	}
	switch {
	case end > f.size:
		return nil, nil, fmt.Errorf("%w: header says %d bytes, file has %d; get the file again", ErrTruncated, end, f.size)
	case end < f.size:
		return nil, nil, fmt.Errorf("%w: header says %d bytes, file has %d: %d bytes at its end belong to nothing", ErrHeader, end, f.size, f.size-end)
	}
	return tensors, meta, nil
}

// Tensors lists the tensors, file by file in the order of their data. The caller owns
// the slice, not the shapes in it.
func (w *Weights) Tensors() []Tensor { return slices.Clone(w.tensors) }

// Tensor finds a tensor by name.
func (w *Weights) Tensor(name string) (Tensor, bool) {
	i, ok := w.byName[name]
	if !ok {
		return Tensor{}, false
	}
	return w.tensors[i], true
}

// Folder is the folder of the real files, links resolved, as an absolute path: what a
// runtime that reads external weights needs, together with Location.
func (w *Weights) Folder() string { return filepath.Dir(w.files[0].real) }

// Location gives the real file of a tensor of w, by its path from Folder, with
// slashes: its base name, but for modules of sentence-transformers that keep weights
// of their own in a folder below.
func (w *Weights) Location(t Tensor) string {
	f := w.files[t.file]
	rel, err := filepath.Rel(w.Folder(), f.real)
	if err != nil {
		panic("model: " + f.real + " was let in beside " + w.Folder())
	}
	return filepath.ToSlash(rel)
}

// pathOf gives the file that has a tensor, or ought to.
func (w *Weights) pathOf(name string) string {
	if t, ok := w.Tensor(name); ok {
		return w.files[t.file].path
	}
	for _, f := range w.files {
		if f.prefix != "" && strings.HasPrefix(name, f.prefix) {
			return f.path
		}
	}
	return w.Path
}

// Section reads the stored bytes of a tensor of w, little-endian in row-major order.
func (w *Weights) Section(t Tensor) *io.SectionReader {
	return io.NewSectionReader(w.files[t.file].file, t.Offset, t.Bytes)
}

// Float32 reads a tensor as float32 values in row-major order, F16 and BF16
// widened exactly. The caller owns the result.
func (w *Weights) Float32(name string) ([]float32, error) {
	t, err := w.find(name)
	if err != nil {
		return nil, err
	}
	if !t.DType.Float() {
		return nil, fmt.Errorf("read weights %s: %w: tensor %s has dtype %s, needed is one of F32, F16, BF16",
			w.files[t.file].path, ErrUnsupported, name, t.DType)
	}
	dst := make([]float32, elements(t.Shape))
	size := dtypeBytes[t.DType]
	err = w.parts(t, func(at int64, part []byte) {
		first := at / size
		widen(dst[first:first+int64(len(part))/size], part, t.DType)
	})
	return dst, err
}

// Int8 reads a tensor of dtype I8 in row-major order. The caller owns the result.
func (w *Weights) Int8(name string) ([]int8, error) {
	t, err := w.find(name)
	if err != nil {
		return nil, err
	}
	if t.DType != I8 {
		return nil, fmt.Errorf("read weights %s: %w: tensor %s has dtype %s, needed is I8",
			w.files[t.file].path, ErrUnsupported, name, t.DType)
	}
	dst := make([]int8, t.Bytes)
	err = w.parts(t, func(at int64, part []byte) {
		for i, b := range part {
			dst[at+int64(i)] = int8(b)
		}
	})
	return dst, err
}

func (w *Weights) find(name string) (Tensor, error) {
	t, ok := w.Tensor(name)
	if !ok {
		return Tensor{}, fmt.Errorf("read weights %s: %w: %s", w.Path, ErrMissingTensor, name)
	}
	return t, nil
}

// parts reads a tensor's bytes piece by piece, each a multiple of every element's
// size; at counts from the tensor's first byte.
func (w *Weights) parts(t Tensor, use func(at int64, part []byte)) error {
	f := w.files[t.file]
	buf := make([]byte, min(t.Bytes, 1<<20))
	for at := int64(0); at < t.Bytes; {
		part := buf[:min(int64(len(buf)), t.Bytes-at)]
		if _, err := f.file.ReadAt(part, t.Offset+at); err != nil {
			return fmt.Errorf("read weights %s: tensor %s: %w", f.path, t.Name, plain(err))
		}
		use(at, part)
		at += int64(len(part))
	}
	return nil
}

// Close closes the files. Tensors read before stay valid.
func (w *Weights) Close() (err error) {
	for _, f := range w.files {
		if e := f.file.Close(); err == nil {
			err = e
		}
	}
	return err
}
