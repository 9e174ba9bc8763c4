package encbench_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite THIRD_PARTY_NOTICES")

const (
	command  = "./bench/cmd/encbench"
	notices  = "THIRD_PARTY_NOTICES"
	lockFile = "bench/assets/assets.lock"
)

// linked names the licence of each module that may be part of the built command.
// A new dependency needs a line here, written after reading its licence.
var linked = map[string]string{
	"github.com/klauspost/compress":   "BSD-3-Clause, with parts under MIT and Apache-2.0",
	"github.com/spf13/pflag":          "BSD-3-Clause",
	"github.com/yalue/onnxruntime_go": "MIT",
	"golang.org/x/sys":                "BSD-3-Clause",
	"github.com/google/uuid":          "BSD-3-Clause",
	"github.com/pkg/errors":           "BSD-2-Clause",
	"gorgonia.org/cu":                 "Apache-2.0; its README says that parts come from a package without a licence",
}

// TestNotices holds THIRD_PARTY_NOTICES to what the command is really built from
// and to what the lock file really names. `make notices` rewrites the file.
func TestNotices(t *testing.T) {
	var b strings.Builder
	b.WriteString(`Third-party notices

This file is made by "make notices" from the modules that the command is built
from and from the lock file of downloaded assets; a test keeps it current.

Part 1. Linked into the command

`)
	modules := linkedModules(t)
	for _, m := range modules {
		fmt.Fprintf(&b, "  %s %s: %s\n", m.Path, m.Version, linked[m.Path])
	}
	b.WriteString("  the Go standard library and runtime: BSD-3-Clause, the text of golang.org/x/sys\n")
	b.WriteString("  C headers of ONNX Runtime, within onnxruntime_go: MIT, Copyright (c) Microsoft Corporation\n")
	b.WriteString(`
Part 2. Downloaded at run time, on the user's request, by the user's own pip

Nothing of these is part of the source or of the command. The licence files that
their packages hold are kept beside them in the cache.

`)
	b.WriteString(lockedAssets(t))
	b.WriteString("\nPart 3. The licence texts of part 1\n")
	for _, m := range modules {
		for _, file := range licenceFiles(t, m) {
			name, err := filepath.Rel(m.Dir, file)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "\n%s\n%s %s, %s\n\n%s\n", strings.Repeat("=", 78), m.Path, m.Version, name, bytes.TrimSpace(text))
		}
	}
	if *update {
		if err := os.WriteFile(notices, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(notices)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != b.String() {
		t.Errorf("%s is not what the command and the lock file give: run `make notices`", notices)
	}
}

// goModule is a module with the directories of its linked packages.
type goModule struct {
	Path, Version, Dir string
	packages           []string
}

// linkedModules lists the third-party modules of the command, sorted by path.
func linkedModules(t *testing.T) []goModule {
	t.Helper()
	var modules []goModule
	out := goList(t, "-tags", "cuda", "-deps", "-f", `{{with .Module}}{{if not .Main}}{"Path":"{{.Path}}","Version":"{{.Version}}","Dir":"{{.Dir}}","Package":"{{$.Dir}}"}{{end}}{{end}}`, command)
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var m struct {
			goModule
			Package string
		}
		if err := dec.Decode(&m); err != nil {
			t.Fatalf("read the output of go list: %v", err)
		}
		if linked[m.Path] == "" {
			t.Errorf("the command links %s, which has no line in linked: read its licence and add one", m.Path)
		}
		at := slices.IndexFunc(modules, func(o goModule) bool { return o.Path == m.Path })
		if at < 0 {
			at = len(modules)
			modules = append(modules, m.goModule)
		}
		modules[at].packages = append(modules[at].packages, m.Package)
	}
	slices.SortFunc(modules, func(a, b goModule) int { return strings.Compare(a.Path, b.Path) })
	return modules
}

// licenceFiles finds the licences of a module's linked packages: those in their
// own directories, and in every directory above up to the module's.
func licenceFiles(t *testing.T, m goModule) []string {
	t.Helper()
	var dirs []string
	for _, dir := range m.packages {
		for ; ; dir = filepath.Dir(dir) {
			dirs = append(dirs, dir)
			if dir == m.Dir || len(dir) <= len(m.Dir) {
				break
			}
		}
	}
	slices.Sort(dirs)
	var files []string
	for _, dir := range slices.Compact(dirs) {
		for _, pattern := range []string{"LICENSE*", "LICENCE*", "COPYING*", "NOTICE*", "PATENTS*"} {
			found, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, found...)
		}
	}
	if len(files) == 0 {
		t.Errorf("no licence file in %s", m.Path)
	}
	return files
}

// lockedAssets lists what the lock file names, a line for each package and
// version.
func lockedAssets(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(lockFile)
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Assets []struct{ Name, Package, Version, Licence, Purpose string }
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		t.Fatalf("read %s: %v", lockFile, err)
	}
	var lines []string
	for _, a := range lock.Assets {
		line := fmt.Sprintf("  %s %s: %s; %s\n", a.Package, a.Version, a.Licence, a.Purpose)
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		t.Fatalf("%s names no asset", lockFile)
	}
	return strings.Join(lines, "")
}
