package ort

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Library is one that ONNX Runtime's CUDA provider needs, and where it was found.
type Library struct {
	Name  string // its soname with the version that is wanted, as libcublas.so.13
	Later bool   // opened when an operator asks for it, not when the provider is loaded
	Path  string // "" when it was not found
	Where string // the search path that has it: assets, beside the runtime, LD_LIBRARY_PATH, the system
	Asset string // of this program that has it; "" of the driver
	Other string // a file of another version, where the wanted one was not found
}

// Found says whether the library is there.
func (l Library) Found() bool { return l.Path != "" }

// String says what was found, and what to do where nothing was.
func (l Library) String() string {
	if l.Found() {
		return fmt.Sprintf("%s: %s (%s)", l.Name, l.Path, l.Where)
	}
	s := l.Name + " is missing"
	if l.Other != "" {
		s += fmt.Sprintf(" (%s is of another version)", l.Other)
	}
	if l.Later {
		s += ", which some operators need"
	}
	if l.Asset == "" {
		return s + "; install NVIDIA's driver"
	}
	return s + "; run `encbench assets get " + l.Asset + "`, or add the folder that has it to LD_LIBRARY_PATH"
}

const (
	driverLibrary   = "libcuda.so.1"
	providerLibrary = "libonnxruntime_providers_cuda.so"
)

// ErrNoProvider: the ONNX Runtime library was built for the processor alone.
var ErrNoProvider = errors.New("this ONNX Runtime has no CUDA provider")

// Libraries says of each library that the CUDA provider beside an ONNX Runtime library
// needs where it is found: in dirs (those of assets, which are opened before it), beside
// the runtime, in LD_LIBRARY_PATH, or where the system's loader looks. Nothing is loaded.
// The error is ErrNoProvider where there is no provider.
func Libraries(runtime string, dirs []string) ([]Library, error) {
	return libraries(runtime, dirs, os.Getenv("LD_LIBRARY_PATH"), systemFolders("/etc/ld.so.conf", 0))
}

func libraries(runtime string, dirs []string, path string, system []string) ([]Library, error) {
	dir := filepath.Dir(runtime)
	file := filepath.Join(dir, providerLibrary)
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s is not beside %s; run `encbench assets get cuda13` (driver 580 or later) or `encbench assets get cuda12`, or name an onnxruntime-gpu with --ort-library", ErrNoProvider, providerLibrary, runtime)
	}
	needed, err := imported(file)
	if err != nil {
		return nil, fmt.Errorf("read what %s needs: %w", file, err)
	}
	var out []Library
	for _, name := range needed {
		if wanted(name) {
			out = append(out, Library{Name: name})
		}
	}
	for _, name := range later(needed) {
		out = append(out, Library{Name: name, Later: true})
	}
	if !slices.Contains(needed, driverLibrary) { // opened by the CUDA runtime
		out = append(out, Library{Name: driverLibrary})
	}
	for i := range out {
		l := &out[i]
		if l.Name != driverLibrary {
			l.Asset = assetOf(l.Name, needed)
		}
		for _, place := range []struct {
			where string
			dirs  []string
		}{{"assets", dirs}, {"beside the runtime", []string{dir}}, {"LD_LIBRARY_PATH", filepath.SplitList(path)}, {"the system", system}} {
			for _, d := range place.dirs {
				l.look(d, place.where)
			}
		}
	}
	return out, nil
}

// look looks in a folder, unless the library was found in one before it.
func (l *Library) look(dir, where string) {
	if l.Found() || dir == "" {
		return
	}
	file := filepath.Join(dir, l.Name)
	if st, err := os.Stat(file); err == nil && !st.IsDir() {
		l.Path, l.Where, l.Other = file, where, ""
		return
	}
	base, _, _ := strings.Cut(l.Name, ".so.")
	if others, _ := filepath.Glob(filepath.Join(dir, base+".so.*")); len(others) > 0 && l.Other == "" {
		l.Other = others[0]
	}
}

// imported are the libraries that an ELF file names.
func imported(file string) ([]string, error) {
	f, err := elf.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ImportedLibraries()
}

// wanted says whether a library is CUDA's, and not one that every system has.
func wanted(name string) bool {
	return strings.HasPrefix(name, "libcu") || strings.HasPrefix(name, "libnv")
}

// later are the libraries that the provider opens itself, by the major version of CUDA
// that it is linked to, and that are not among those it names.
func later(needed []string) []string {
	var out []string
	for _, v := range []struct{ runtime, fft, compiler string }{{"libcudart.so.12", "libcufft.so.11", "libnvrtc.so.12"}, {"libcudart.so.13", "libcufft.so.12", "libnvrtc.so.13"}} {
		if !slices.Contains(needed, v.runtime) {
			continue
		}
		for _, name := range []string{"libcudnn.so.9", v.fft, v.compiler} {
			if !slices.Contains(needed, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// assetOf is the asset that has a library, for a provider that needs the given ones.
func assetOf(name string, needed []string) string {
	group := "cuda13"
	if slices.Contains(needed, "libcudart.so.12") {
		group = "cuda12"
	}
	base, _, _ := strings.Cut(name, ".so.")
	asset := map[string]string{
		"libcudart": "runtime", "libnvrtc": "nvrtc", "libcublas": "cublas", "libcublasLt": "cublas",
		"libcurand": "curand", "libcufft": "cufft", "libcudnn": "cudnn",
	}[base]
	if asset == "" {
		return group
	}
	return group + "-" + asset
}

// systemFolders are the folders of a configuration of the loader and those that it always
// searches. A configuration that cannot be read has none.
func systemFolders(conf string, depth int) []string {
	var out []string
	text, err := os.ReadFile(conf)
	if err == nil && depth < 4 {
		for line := range strings.Lines(string(text)) {
			line, _, _ = strings.Cut(line, "#")
			fields := strings.Fields(line)
			switch {
			case len(fields) == 2 && fields[0] == "include":
				pattern := fields[1]
				if !filepath.IsAbs(pattern) {
					pattern = filepath.Join(filepath.Dir(conf), pattern)
				}
				files, _ := filepath.Glob(pattern)
				for _, f := range files {
					out = append(out, systemFolders(f, depth+1)...)
				}
			case len(fields) == 1 && filepath.IsAbs(fields[0]):
				out = append(out, fields[0])
			}
		}
	}
	if depth == 0 {
		out = append(out, "/lib64", "/usr/lib64", "/lib", "/usr/lib", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu")
	}
	return out
}
