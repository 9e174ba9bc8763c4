package assets

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

// groups are assets that are wanted together: what ONNX Runtime needs to run on a device,
// with either major version of CUDA. The driver decides: version 580 and later runs CUDA
// 13, earlier ones from 525 on CUDA 12.
var groups = []struct {
	name   string
	assets []string
}{
	{"cuda13", []string{"onnxruntime-gpu", "cuda13-runtime", "cuda13-nvrtc", "cuda13-cublas", "cuda13-curand", "cuda13-cufft", "cuda13-cudnn"}},
	{"cuda12", []string{"onnxruntime-gpu-cuda12", "cuda12-runtime", "cuda12-nvrtc", "cuda12-cublas", "cuda12-curand", "cuda12-cufft", "cuda12-cudnn"}},
}

// Groups lists the names that stand for several assets.
func Groups() []string {
	var out []string
	for _, g := range groups {
		out = append(out, g.name)
	}
	return out
}

// Expand replaces the names of groups by those of their assets.
func Expand(names []string) []string {
	var out []string
	for _, name := range names {
		assets := []string{name}
		for _, g := range groups {
			if g.name == name {
				assets = g.assets
			}
		}
		for _, a := range assets {
			if !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	return out
}

// opened are the libraries that others ask for by name, in the order in which each finds
// the earlier ones loaded. The rest are asked for by their neighbours.
var opened = []string{"libcudart.so.*", "libnvrtc.so.*", "libcublasLt.so.*", "libcublas.so.*", "libcurand.so.*", "libcufft.so.*", "libcudnn.so.*"}

// CUDA gives the ONNX Runtime library of a group (cuda13, cuda12) and the CUDA libraries
// to be opened before it, in their order. What is not in the cache is left out, for it may
// be installed on the machine. The error is ErrAbsent where the runtime itself is not
// here.
func (s *Store) CUDA(group string) (runtime string, libraries []string, err error) {
	names := Expand([]string{group})
	if len(names) < 2 {
		return "", nil, fmt.Errorf("%w %q: a group is one of %v", ErrUnknown, group, Groups())
	}
	first, err := s.Lookup(names[0])
	if err != nil {
		return "", nil, err
	}
	var files []string
	for _, name := range names[1:] {
		a, err := s.Lookup(name)
		switch {
		case errors.Is(err, ErrAbsent):
			continue
		case err != nil:
			return "", nil, err
		}
		for _, f := range a.Files {
			files = append(files, filepath.Join(a.Dir, filepath.FromSlash(f.To)))
		}
	}
	for _, pattern := range opened {
		for _, f := range files {
			if ok, _ := filepath.Match(pattern, filepath.Base(f)); ok {
				libraries = append(libraries, f)
			}
		}
	}
	return first.Path, libraries, nil
}
