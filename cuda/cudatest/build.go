//go:build cuda && linux && cgo && (amd64 || arm64)

package cudatest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Kernels are what the fake driver runs: sources for g++, and the PTX that names them. PTX
// is nil where the sources have a table of their own.
type Kernels struct {
	Sources  []string // .cc, and .cu by the header of Include
	Include  []string
	PTX      []byte
	Stamp    string   // of the sources, which the PTX must have too
	Sanitize bool     // compile all of it for AddressSanitizer and UBSan
	Lacks    []string // functions of the driver that it is not to have
}

// Library is a fake driver that was built.
type Library struct {
	Path string
	env  []string // of a program that uses it
}

// Env is what the environment of a program has that is to use the library.
func (l Library) Env() []string { return slices.Clone(l.env) }

// read reads all sources.
func (k Kernels) read() error {
	own, err := filepath.Glob(filepath.Join(folder(), "*.cc"))
	for _, source := range append(own, k.Sources...) {
		err = errors.Join(err, digest(io.Discard, source, append([]string{folder()}, k.Include...), map[string]bool{}))
	}
	return err
}

// Build compiles the fake driver with kernels. What was compiled before of the same text
// with the same flags is taken from a folder beside other temporary files.
func Build(kernels Kernels) (Library, error) {
	sources, err := filepath.Glob(filepath.Join(folder(), "*.cc"))
	if err != nil || len(sources) == 0 {
		return Library{}, fmt.Errorf("no sources of the fake driver in %s: %v", folder(), err)
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("encbench-fake-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Library{}, err
	}
	sources = append(sources, kernels.Sources...)
	if table := entries(kernels); table != "" {
		path := filepath.Join(dir, fmt.Sprintf("%x.cc", sha256.Sum256([]byte(table))))
		if err := replace(path, []byte(table)); err != nil {
			return Library{}, err
		}
		sources = append(sources, path)
	}
	include := append([]string{folder()}, kernels.Include...)
	flags := []string{"-std=c++17", "-g", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-fPIC", "-pthread"}
	if kernels.Sanitize {
		flags = append(flags, "-O1", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
	} else {
		flags = append(flags, "-O2")
	}
	for _, dir := range include {
		flags = append(flags, "-I"+dir)
	}
	objects, err := compile(dir, flags, include, sources)
	if err != nil {
		return Library{}, err
	}
	if len(kernels.Lacks) > 0 {
		script := "{ local: " + strings.Join(kernels.Lacks, "; ") + "; };\n"
		path := filepath.Join(dir, fmt.Sprintf("%x.map", sha256.Sum256([]byte(script))))
		if err := replace(path, []byte(script)); err != nil {
			return Library{}, err
		}
		flags = append(flags, "-Wl,--version-script="+path)
	}
	lib := filepath.Join(dir, fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(objects, "\n")+strings.Join(flags, "\n"))))[:24]+".so")
	err = produce(lib, func(part string) error {
		return tool("g++", append(append(slices.Clone(flags), "-shared", "-o", part), objects...)...)
	})
	if err != nil {
		return Library{}, err
	}
	out := Library{Path: lib, env: []string{driverKey + "=" + lib}}
	if kernels.Sanitize {
		preload, err := exec.Command("g++", "-print-file-name=libasan.so").Output()
		if err != nil {
			return Library{}, fmt.Errorf("find the library of AddressSanitizer: %w", err)
		}
		// Leaks are not looked for, as Go's memory is none that it knows; Go has handlers of
		// its own for signals.
		out.env = append(out.env, "LD_PRELOAD="+strings.TrimSpace(string(preload)),
			"ASAN_OPTIONS=detect_leaks=0:handle_segv=0:use_sigaltstack=0", "UBSAN_OPTIONS=print_stacktrace=1")
	}
	return out, nil
}

// Run runs one test of this program with the library and gives what it printed. The error
// is that of a test that fails.
func (l Library) Run(t testing.TB, test string, env ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$", "-test.v")
	cmd.Env = append(append(plainEnv(), l.env...), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// compile compiles each source, as many at a time as there are processors, and gives the
// objects, whose names are the hash of all that they come from.
func compile(dir string, flags, include, sources []string) ([]string, error) {
	objects, errs := make([]string, len(sources)), make([]error, len(sources))
	var group sync.WaitGroup
	limit := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, source := range sources {
		sum := sha256.New()
		fmt.Fprintln(sum, flags)
		if err := digest(sum, source, include, map[string]bool{}); err != nil {
			return nil, err
		}
		objects[i] = filepath.Join(dir, fmt.Sprintf("%x.o", sum.Sum(nil)[:12]))
		group.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			errs[i] = produce(objects[i], func(part string) error {
				return tool("g++", append(slices.Clone(flags), "-c", "-x", "c++", "-o", part, source)...)
			})
		})
	}
	group.Wait()
	return objects, errors.Join(errs...)
}

var included = regexp.MustCompile(`(?m)^#include "([^"]+)"`)

// digest hashes a source and what it includes.
func digest(sum io.Writer, file string, include []string, seen map[string]bool) error {
	if seen[file] {
		return nil
	}
	seen[file] = true
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	// Not its folder: a copy of a source is that source.
	fmt.Fprintf(sum, "%s %d\n%s", filepath.Base(file), len(text), text)
	for _, m := range included.FindAllSubmatch(text, -1) {
		for _, dir := range append([]string{filepath.Dir(file)}, include...) {
			path := filepath.Join(dir, string(m[1]))
			if _, err := os.Stat(path); err == nil {
				if err := digest(sum, path, include, seen); err != nil {
					return err
				}
				break
			}
		}
	}
	return nil
}

// produce makes a file that is not there yet; several programs may do so at once.
func produce(path string, with func(part string) error) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), "part-")
	if err != nil {
		return err
	}
	f.Close()
	defer os.Remove(f.Name())
	if err := with(f.Name()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func replace(path string, text []byte) error {
	return produce(path, func(part string) error { return os.WriteFile(part, text, 0o600) })
}

func tool(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Env = plainEnv()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compile the fake driver: %w\n%s", err, out)
	}
	return nil
}

// plainEnv is the environment of programs that are not sanitized.
func plainEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "LD_PRELOAD=") })
}
