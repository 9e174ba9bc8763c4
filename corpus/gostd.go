package corpus

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// GostdRule is the version of the construction rule of gostd; its manifest adds
// the Go version, as in "gostd-1 go1.26.8".
const GostdRule = "gostd-1"

// GoRoot finds the Go toolchain on PATH and gives its root folder and version,
// as in "go1.26.8". Without one the error is ErrNoToolchain. Nothing is downloaded.
func GoRoot() (root, version string, err error) {
	cmd := exec.Command("go", "env", "GOROOT", "GOVERSION")
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local")
	out, err := cmd.Output()
	if err != nil {
		return "", "", fmt.Errorf("open corpus %s: %w: run go env: %w; install Go and put it on PATH, or choose another corpus (%s, or a path)", Gostd, ErrNoToolchain, err, Techdocs)
	}
	root, version, _ = strings.Cut(strings.TrimSpace(string(out)), "\n")
	return root, version, nil
}

// OpenGostd scans the corpus gostd in the toolchain at root (see GoRoot). Rule gostd-1: one document per .go file below root/src, tests and
// vendored packages included, folders named testdata left out (they hold inputs
// of tests, some broken on purpose), in the order of OpenDir; its id is the path
// below src, its title empty. Format gives the rule with the version, which is
// the first line of root/VERSION ("devel" without that file).
func OpenGostd(root string, opt Options) (Source, error) {
	src := filepath.Join(root, "src")
	if _, err := os.Stat(filepath.Join(src, "fmt")); err != nil {
		return nil, fmt.Errorf("open corpus %s: %w: %s holds no sources of the standard library; install a full Go distribution, or choose another corpus (%s, or a path)", Gostd, ErrNoToolchain, src, Techdocs)
	}
	goFiles := func(name string, dir bool) bool {
		if dir {
			return name != "testdata"
		}
		return strings.HasSuffix(name, ".go")
	}
	version := "devel"
	if b, err := os.ReadFile(filepath.Join(root, "VERSION")); err == nil {
		version, _, _ = strings.Cut(string(b), "\n")
	}
	return openDir(src, GostdRule+" "+version, goFiles, opt)
}

// BuildGostd writes the corpus gostd as JSONL to w, so that scanning it later
// does not open thousands of files. A file that cannot be read is an error.
func BuildGostd(root string, w io.Writer) (Manifest, error) {
	s, err := OpenGostd(root, Options{Strict: true})
	if err != nil {
		return Manifest{}, err
	}
	out := newWriter(w)
	for s.Scan() {
		if err := out.add(s.Doc()); err != nil {
			return Manifest{}, errors.Join(err, s.Close())
		}
	}
	if err := errors.Join(s.Err(), s.Close()); err != nil {
		return Manifest{}, fmt.Errorf("build corpus %s: %w", Gostd, err)
	}
	return out.finish(Gostd, s.Format())
}
