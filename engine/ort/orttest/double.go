// Package orttest builds an ONNX Runtime for tests that has a CUDA provider: its API is the
// real library's, which runs the graphs on the CPU, and it believes in the fake driver's
// memory and streams (../testdata/fake_ort.cc).
package orttest

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// RealKey is the variable by which the double finds the real library.
const RealKey = "ENCBENCH_FAKE_ORT_REAL"

// Sources are the texts that the double is made of.
func Sources() []string {
	_, file, _, _ := runtime.Caller(0)
	dir := filepath.Dir(filepath.Dir(file))
	return []string{filepath.Join(dir, "testdata", "fake_ort.cc"), filepath.Join(dir, "..", "..", "cuda", "fake", "fake.h")}
}

// Headers is the folder of ONNX Runtime's C header, as onnxruntime_go carries it.
func Headers() (string, error) {
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/yalue/onnxruntime_go")
	list.Dir = filepath.Dir(Sources()[0]) // tests leave their folders
	out, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("find the header of ONNX Runtime: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Double compiles the library with g++, once for the same text, and gives its path. A
// program that loads it needs RealKey with the path of the real one.
func Double() (string, error) {
	include, err := Headers()
	if err != nil {
		return "", err
	}
	sources := Sources()
	sum := sha256.New()
	for _, f := range append([]string{filepath.Join(include, "onnxruntime_c_api.h")}, sources...) {
		text, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		sum.Write(text)
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("encbench-fake-%d", os.Getuid()))
	lib := filepath.Join(dir, fmt.Sprintf("ort-%x.so", sum.Sum(nil)[:12]))
	if _, err := os.Stat(lib); err == nil {
		return lib, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	part := fmt.Sprintf("%s.%d", lib, os.Getpid())
	out, err := exec.Command("g++", "-std=c++17", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-isystem", include,
		"-I"+filepath.Dir(sources[1]), "-o", part, sources[0], "-ldl", "-pthread").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("compile the fake ONNX Runtime: %w\n%s", err, out)
	}
	return lib, os.Rename(part, lib)
}
