package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	"encbench/bench/assets"
	"encbench/cuda"
	"encbench/engine/ort"
)

// Versions of the driver from which on it runs CUDA 12 and 13.
const (
	cuda12Driver = 12000 // release 525
	cuda13Driver = 13000 // release 580
)

// cudaGroups are the groups of assets that a driver of a version runs, the best first.
func cudaGroups(version int) []string {
	switch {
	case version >= cuda13Driver:
		return []string{"cuda13", "cuda12"}
	case version >= cuda12Driver:
		return []string{"cuda12"}
	}
	return nil
}

// cudaFiles finds ONNX Runtime with its CUDA provider: the library that the user names, or
// the assets for the driver's version, with the libraries to be opened before it. The error
// is assets.ErrAbsent where none is here.
func (a *app) cudaFiles(own string) (path string, libraries []string, err error) {
	if path, _, err = assets.Override("onnxruntime", own); err != nil || path != "" {
		return path, nil, err
	}
	s, err := a.store()
	if err != nil {
		return "", nil, err
	}
	err = assets.ErrAbsent
	for _, g := range cudaGroups(cuda.State().Version) {
		if path, libraries, err = s.CUDA(g); !errors.Is(err, assets.ErrAbsent) {
			return path, libraries, err
		}
	}
	return "", nil, err
}

// encodePlace is placeOf for an encoder: auto takes the CPU, with a note of why, where
// there are devices and no provider to encode on them.
func (a *app) encodePlace(name, library string) (place, error) {
	p, err := placeOf(name)
	if err != nil || name != "auto" || len(p.cuda) == 0 {
		return p, err
	}
	path, libraries, err := a.cudaFiles(library)
	var off error
	switch {
	case errors.Is(err, assets.ErrAbsent) || errors.Is(err, assets.ErrPlatform):
		off = noProvider(err, cuda.State().Version)
	case err == nil && len(libraries) == 0: // the user's own; what cannot be opened is told of later
		if rt, err := ort.Load(path); err == nil {
			off = withCUDA(rt)
		}
	}
	if off != nil {
		p = place{name: "cpu", note: "CUDA is off: " + off.Error()}
		fmt.Fprintf(a.stderr, "%s\n", p.note)
	}
	return p, nil
}

// errNoProvider: there is nothing to encode with on devices.
var errNoProvider = errors.New("encoding on a CUDA device needs ONNX Runtime's CUDA provider")

// withCUDA says that a library of the user's was built for the processor alone.
func withCUDA(rt *ort.Runtime) error {
	yes, err := rt.CUDA()
	if err == nil && !yes {
		err = fmt.Errorf("%w, which %s was built without: name an onnxruntime-gpu with --ort-library, or use --device cpu", errNoProvider, rt.Path)
	}
	return err
}

// noProvider says what to do where cudaFiles found none for a driver of a version.
func noProvider(err error, version int) error {
	groups := cudaGroups(version)
	if errors.Is(err, assets.ErrPlatform) {
		return fmt.Errorf("%w, of which there is no package for %s/%s: name yours with --ort-library, or use --device cpu", errNoProvider, runtime.GOOS, runtime.GOARCH)
	}
	if groups == nil {
		return fmt.Errorf("%w, and that a driver for CUDA 12, 525 or later; this one is for CUDA %d.%d: update it, or use --device cpu", errNoProvider, version/1000, version%1000/10)
	}
	return fmt.Errorf("%w, which is not here: run `encbench assets get %s` (1.5 to 1.9 GB), name yours with --ort-library, or use --device cpu", errNoProvider, groups[0])
}

// providerFiles is cudaFiles with the folders of the libraries.
func (a *app) providerFiles(own string) (path string, folders []string, err error) {
	path, libraries, err := a.cudaFiles(own)
	for _, l := range libraries {
		if dir := filepath.Dir(l); !slices.Contains(folders, dir) {
			folders = append(folders, dir)
		}
	}
	return path, folders, err
}

// cudaRuntime opens ONNX Runtime with its CUDA provider. Its packages are large, and never
// obtained unasked.
func (a *app) cudaRuntime(own string) (*ort.Runtime, error) {
	path, libraries, err := a.cudaFiles(own)
	if errors.Is(err, assets.ErrAbsent) || errors.Is(err, assets.ErrPlatform) {
		return nil, noProvider(err, cuda.State().Version)
	}
	if err == nil && len(libraries) > 0 {
		err = ort.Preload(libraries)
	}
	if err != nil {
		return nil, err
	}
	rt, err := ort.Load(path)
	if err != nil {
		return nil, err
	}
	return rt, withCUDA(rt)
}
