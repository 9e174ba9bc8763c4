//go:build cuda && linux && cgo && (amd64 || arm64)

package cudatest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"encbench/cuda"
)

// Environment of tests.
const (
	driverKey   = "ENCBENCH_CUDA_DRIVER"
	requireKey  = "ENCBENCH_REQUIRE_GPU"   // 1: a GPU is there, and the fake driver does not count
	sanitizeKey = "ENCBENCH_FAKE_SANITIZE" // 1: the fake driver and its kernels run under AddressSanitizer and UBSan
)

// Main runs the tests of a package; TestMain calls it. The driver is that of
// ENCBENCH_CUDA_DRIVER, that of the machine where ENCBENCH_REQUIRE_GPU is 1, or else the
// fake one with the given kernels. The driver is opened when the program starts, so the
// program starts itself again with the fake one.
func Main(m *testing.M, kernels Kernels) {
	tested = kernels
	if os.Getenv(driverKey) == "" && os.Getenv(requireKey) != "1" {
		kernels.Sanitize = kernels.Sanitize || os.Getenv(sanitizeKey) == "1"
		lib, err := Build(kernels)
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

// tested are the kernels of this program.
var tested Kernels

// note looks at all that the tests depend on. What is looked at before tests run the go
// command does not see, and it would take an old result for that of changed kernels.
var note = sync.OnceValue(func() error {
	for _, key := range []string{driverKey, requireKey, sanitizeKey, orderKey} {
		os.Getenv(key)
	}
	return tested.read()
})

// again starts this program with a driver; it does not return.
func again(lib Library) {
	self, err := os.Executable()
	if err == nil {
		err = syscall.Exec(self, os.Args, append(os.Environ(), lib.env...))
	}
	fmt.Fprintf(os.Stderr, "start %s again with the fake driver: %v\n", self, err)
	os.Exit(1)
}

// folder holds the sources of the fake driver.
func folder() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(filepath.Dir(file)), "fake")
}

// Set changes a setting of the fake driver for a test: ENCBENCH_FAKE_ and name.
func Set(t testing.TB, name, value string) {
	t.Helper()
	if err := note(); err != nil {
		t.Fatal(err)
	}
	if !cuda.State().Fake {
		t.Skip("a setting of the fake driver")
	}
	t.Setenv("ENCBENCH_FAKE_"+name, value)
}

// Open opens device 0 for a test, which ends without anything left on it.
func Open(t testing.TB) *cuda.Worker {
	t.Helper()
	if err := note(); err != nil {
		t.Fatal(err)
	}
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
