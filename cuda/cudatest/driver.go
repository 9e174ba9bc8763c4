//go:build cuda && linux && cgo && (amd64 || arm64)

package cudatest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"encbench/cuda"
)

// Environment of tests.
const (
	driverKey  = "ENCBENCH_CUDA_DRIVER"
	requireKey = "ENCBENCH_REQUIRE_GPU" // 1: a GPU is there, and the fake driver does not count
	flagsKey   = "ENCBENCH_FAKE_CXXFLAGS"
)

// Kernels are what the fake driver runs: sources for g++, and the PTX that names them. PTX
// is nil where the sources have a table of their own.
type Kernels struct {
	Sources []string // .cc, and .cu by the header of Include
	Include []string
	PTX     []byte
	Stamp   string // of the sources, which the PTX must have too
}

// Main runs the tests of a package; TestMain calls it. The driver is that of
// ENCBENCH_CUDA_DRIVER, that of the machine where ENCBENCH_REQUIRE_GPU is 1, or else the
// fake one with the given kernels. The driver is opened when the program starts, so the
// program starts itself again with the fake one.
func Main(m *testing.M, kernels Kernels) {
	if os.Getenv(driverKey) == "" && os.Getenv(requireKey) != "1" {
		lib, err := build(kernels)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		again(lib)
	}
	if os.Getenv(requireKey) == "1" && cuda.State().Fake {
		fmt.Fprintf(os.Stderr, "%s is 1 and the driver %s is fake\n", requireKey, cuda.State().Path)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// again starts this program with the driver at lib; it does not return.
func again(lib string) {
	self, err := os.Executable()
	if err == nil {
		err = syscall.Exec(self, os.Args, append(os.Environ(), driverKey+"="+lib))
	}
	fmt.Fprintf(os.Stderr, "start %s again with the fake driver: %v\n", self, err)
	os.Exit(1)
}

// build compiles the fake driver, once for the same sources and flags.
func build(kernels Kernels) (string, error) {
	sources, err := filepath.Glob(filepath.Join(folder(), "*.cc"))
	if err != nil || len(sources) == 0 {
		return "", fmt.Errorf("no sources of the fake driver in %s: %v", folder(), err)
	}
	sources = append(sources, kernels.Sources...)
	flags := strings.Fields(os.Getenv(flagsKey))
	table := entries(kernels)
	read := slices.Clone(sources)
	for _, dir := range append([]string{folder()}, kernels.Include...) {
		for _, pattern := range []string{"*.h", "*.cuh"} {
			headers, _ := filepath.Glob(filepath.Join(dir, pattern))
			read = append(read, headers...)
		}
	}
	sum := sha256.New()
	for _, f := range read {
		text, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %d\n%s", f, len(text), text)
	}
	fmt.Fprint(sum, flags, table)
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("encbench-fake-%d", os.Getuid()))
	lib := filepath.Join(dir, fmt.Sprintf("%x.so", sum.Sum(nil)[:12]))
	if _, err := os.Stat(lib); err == nil {
		return lib, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	if table != "" {
		path := filepath.Join(work, "entries.cc")
		if err := os.WriteFile(path, []byte(table), 0o600); err != nil {
			return "", err
		}
		sources = append(sources, path)
	}
	flags = append([]string{"-std=c++17", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-fPIC", "-pthread", "-I" + folder()}, flags...)
	for _, dir := range kernels.Include {
		flags = append(flags, "-I"+dir)
	}
	objects, err := compile(work, flags, sources)
	if err != nil {
		return "", err
	}
	part := filepath.Join(work, "fake.so")
	if err := tool("g++", append(append(flags, "-shared", "-o", part), objects...)...); err != nil {
		return "", err
	}
	return lib, os.Rename(part, lib)
}

// compile compiles each source, as many at a time as there are processors.
func compile(work string, flags, sources []string) ([]string, error) {
	objects, errs := make([]string, len(sources)), make([]error, len(sources))
	var group sync.WaitGroup
	limit := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, source := range sources {
		objects[i] = filepath.Join(work, fmt.Sprintf("%d.o", i))
		group.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			errs[i] = tool("g++", append(slices.Clone(flags), "-c", "-x", "c++", "-o", objects[i], source)...)
		})
	}
	group.Wait()
	return objects, errors.Join(errs...)
}

func tool(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("compile the fake driver: %w\n%s", err, out)
	}
	return nil
}

var entry = regexp.MustCompile(`\.visible \.entry (\w+)\(([^)]*)\)`)

// entries writes the table of kernels that the PTX names, each once. Parameters are 8
// bytes wide and none is a floating-point number, but for tensor maps, which come first;
// so each kernel is called as a function of so many maps and integers.
func entries(k Kernels) string {
	if k.PTX == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(tableHead)
	list, seen := "", map[string]bool{}
	for _, m := range entry.FindAllSubmatch(k.PTX, -1) {
		name, n, maps := string(m[1]), strings.Count(string(m[2]), ".param"), strings.Count(string(m[2]), ".b8")
		if seen[name] {
			continue
		}
		seen[name] = true
		fmt.Fprintf(&b, "extern \"C\" void %s();\n", name)
		list += fmt.Sprintf("\t{\"%s\", %d, run<%s, %d, %d>, 64, 0, 1024, %d},\n", name, n, name, maps, n-maps, maps)
	}
	fmt.Fprintf(&b, "extern \"C\" const fake::Kernel encbench_fake_kernels[] = {\n%s\t{nullptr, 0, nullptr, 0, 0, 0, 0},\n};\n", list)
	fmt.Fprintf(&b, "extern \"C\" const char encbench_fake_stamp[] = %q;\n", k.Stamp)
	return b.String()
}

// tableHead runs a kernel on fibers.
const tableHead = `#include "emu.h"
#include "fake.h"
#include "tensormap.h"
#include <cstring>
#include <utility>

template <size_t> fake::TensorMap map(void *arg) {
	fake::TensorMap m;
	memcpy(&m, arg, sizeof m);
	return m;
}
template <auto kernel, size_t... m, size_t... i> void call(void **args, std::index_sequence<m...>, std::index_sequence<i...>) {
	reinterpret_cast<void (*)(decltype(map<m>(nullptr))..., decltype(uint64_t(i))...)>(kernel)(map<m>(args[m])..., *static_cast<uint64_t *>(args[sizeof...(m) + i])...);
}
template <auto kernel, int maps, int others> int run(const fake::Launch &l) {
	emu::Geometry g{{l.grid[0], l.grid[1], l.grid[2]}, {l.block[0], l.block[1], l.block[2]}, l.cluster, l.shared};
	return emu::run(l.name, [](const void *args) {
		call<kernel>(static_cast<void **>(const_cast<void *>(args)), std::make_index_sequence<maps>{}, std::make_index_sequence<others>{});
	}, l.args, g);
}
`

// folder holds the sources of the fake driver.
func folder() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(filepath.Dir(file)), "fake")
}

// Set changes a setting of the fake driver for a test: ENCBENCH_FAKE_ and name.
func Set(t testing.TB, name, value string) {
	t.Helper()
	if !cuda.State().Fake {
		t.Skip("a setting of the fake driver")
	}
	t.Setenv("ENCBENCH_FAKE_"+name, value)
}

// Open opens device 0 for a test, which ends without anything left on it.
func Open(t testing.TB) *cuda.Worker {
	t.Helper()
	w, err := cuda.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Errorf("close the device: %v", err)
		}
		Clean(t)
	})
	return w
}

// Clean fails the test when objects of a device are not freed.
func Clean(t testing.TB) {
	t.Helper()
	if n, bytes := cuda.Live(); n != 0 || bytes != 0 {
		t.Errorf("%d objects and %d bytes are not freed:\n%s", n, bytes, strings.Join(cuda.Leaks(), "\n"))
	}
}
