// Package encbench_test holds the rules of the module's shape: who may import
// whom, which package holds which danger, and what no file may contain.
package encbench_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "encbench"

// mayImport is the import graph: for each package the packages of this module
// that its non-test files may import. Data flows from left to right,
//
//	corpus → tokenize → chunk → batch → engine → run → metrics → report
//
// and a package sees only what lies to its left; most stages see nothing and meet
// in engine/feed and bench. A new package needs a line here.
var mayImport = map[string][]string{
	"corpus":                    {},
	"corpus/tokenize":           {},
	"corpus/tokenize/train":     {"corpus/tokenize"},
	"corpus/tokenize/tokentest": {},
	"corpus/chunk":              {},

	"engine":                 {},
	"engine/feed":            {"corpus", "corpus/chunk", "corpus/tokenize", "engine"},
	"engine/model":           {"engine"},
	"engine/model/modeltest": {"engine/model"},
	"engine/onnx":            {"engine/model"},
	"engine/quant":           {"engine", "engine/model"},
	"engine/synth":           {"engine/model"},
	"engine/cpu":             {"engine", "engine/model"},
	"engine/ort":             {"cuda", "engine"},
	"engine/ort/orttest":     {},
	"engine/enginetest":      {"engine"},
	"engine/vectors":         {"engine"},
	"engine/binary":          {"engine"},
	"engine/gpu":             {"cuda", "engine", "kernels"},
	"engine/parallel":        {"engine"},

	"cuda":          {"cuda/stub"},
	"cuda/stub":     {},
	"cuda/cudatest": {"cuda"},
	"kernels":       {"cuda", "engine"},

	"metrics":              {"metrics/internal/vec"},
	"metrics/internal/vec": {},
	"metrics/ranking":      {},
	"metrics/judge":        {"metrics", "metrics/ranking"},
	"metrics/trec":         {"metrics/judge", "metrics/ranking"},
	"metrics/run":          {"metrics/ranking"},
	"metrics/stat":         {},

	"bench/env":              {},
	"bench/gpucheck":         {"bench", "bench/env/nvidia", "bench/env/peak", "cuda", "engine", "engine/cpu", "engine/gpu", "engine/model", "engine/onnx", "engine/ort", "engine/synth", "kernels"},
	"bench/env/peak":         {},
	"bench/env/nvidia":       {},
	"bench/assets":           {},
	"bench/assets/assettest": {"bench/assets"},
	"bench":                  {"corpus", "corpus/chunk", "corpus/tokenize", "engine", "engine/feed", "metrics", "bench/env"},
	"bench/eval":             {"bench", "bench/bm25", "bench/collection", "bench/env", "bench/inhouse", "corpus", "corpus/chunk", "corpus/tokenize", "engine", "engine/feed", "metrics", "metrics/judge", "metrics/ranking", "metrics/run", "metrics/stat", "metrics/trec"},
	"bench/report":           {"bench", "bench/env", "bench/eval", "metrics/stat"},
	"bench/peers":            {"bench", "bench/env", "engine", "engine/vectors"},
	"bench/rerank":           {"bench", "bench/collection", "bench/env", "bench/eval", "bench/inhouse", "corpus", "corpus/tokenize", "engine", "metrics", "metrics/judge", "metrics/ranking", "metrics/stat"},
	"bench/latency":          {"bench", "bench/env", "corpus/tokenize", "engine", "metrics/stat"},
	"bench/bm25":             {"corpus"},
	"bench/collection":       {"corpus", "metrics/judge", "metrics/trec"},
	"bench/inhouse":          {"bench/collection", "metrics/judge"},
	"bench/cmd/encbench":     {"..."}, // the only composition root
}

// testOnly packages are imported by tests and by nothing else.
var testOnly = []string{"bench/assets/assettest", "cuda/cudatest", "engine/enginetest", "engine/model/modeltest", "engine/ort/orttest"}

// onlyIn gives each danger its package. An import path covers what lies below it.
// Third-party modules that are not listed are forbidden, and the network is left
// to the user's own package client, so no package opens a connection.
var onlyIn = map[string][]string{
	"github.com/yalue/onnxruntime_go": {"engine/ort"},
	"github.com/klauspost/compress":   {"corpus", "metrics/run"},
	"github.com/spf13/pflag":          {"bench/cmd/encbench"},
	"gorgonia.org/cu":                 {"cuda"},
	"golang.org/x/sys":                {"bench/assets", "bench/cmd/encbench", "bench/env", "engine/cpu", "engine/ort"},
	"unsafe":                          {"bench/env/peak", "cuda", "engine", "engine/cpu", "engine/ort", "engine/vectors"},
	"C":                               {"bench/env/peak", "cuda", "cuda/stub", "engine/cpu", "engine/ort"},
	"net":                             {},
	"testing":                         testOnly,
}

// libraries use nothing but the standard library and need no C compiler.
var libraries = []string{"corpus/chunk", "corpus/tokenize", "corpus/tokenize/train", "metrics", "metrics/ranking", "metrics/stat"}

// maxLines is the length from which a file holds more than one subject.
const maxLines = 450

func TestImports(t *testing.T) {
	graph := imports(t)
	for _, pkg := range slices.Sorted(maps.Keys(graph)) {
		allowed, known := mayImport[pkg]
		if !known {
			t.Errorf("package %s has no line in mayImport", pkg)
			continue
		}
		for _, path := range slices.Sorted(maps.Keys(graph[pkg])) {
			for _, f := range graph[pkg][path] {
				if why := forbidden(pkg, path, allowed); why != "" {
					t.Errorf("%s imports %s: %s", f, path, why)
				}
			}
		}
	}
}

// forbidden says why a non-test file of pkg may not import path, or "".
func forbidden(pkg, path string, allowed []string) string {
	if local, ok := strings.CutPrefix(path, module+"/"); ok {
		switch {
		case slices.Contains(testOnly, local) && !slices.Contains(testOnly, pkg):
			return "only tests may"
		case strings.HasPrefix(local, "bench/cmd"):
			return "nothing imports the command"
		case !slices.Contains(allowed, local) && !slices.Equal(allowed, []string{"..."}):
			return fmt.Sprintf("not to the left of %s, which may import %v", pkg, allowed)
		}
		return ""
	}
	for _, danger := range slices.Sorted(maps.Keys(onlyIn)) {
		if path == danger || strings.HasPrefix(path, danger+"/") {
			if slices.Contains(onlyIn[danger], pkg) {
				return ""
			}
			return fmt.Sprintf("%s may be imported only by %v", danger, onlyIn[danger])
		}
	}
	if host, _, _ := strings.Cut(path, "/"); strings.Contains(host, ".") {
		return "a module that is not on the list of dependencies"
	}
	return ""
}

// imports gives, for each package, the non-test files by import path. Files that
// the present build constraints leave out are read too.
func imports(t *testing.T) map[string]map[string][]string {
	t.Helper()
	graph := map[string]map[string][]string{}
	dec := json.NewDecoder(bytes.NewReader(goList(t, "-e", "-json=Dir,ImportPath,GoFiles,CgoFiles,IgnoredGoFiles", "./...")))
	for {
		var p struct {
			Dir, ImportPath                   string
			GoFiles, CgoFiles, IgnoredGoFiles []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return graph
		} else if err != nil {
			t.Fatalf("read the output of go list: %v", err)
		}
		files := slices.DeleteFunc(slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles), func(f string) bool {
			return strings.HasSuffix(f, "_test.go")
		})
		if len(files) == 0 {
			continue
		}
		pkg := strings.TrimPrefix(p.ImportPath, module+"/")
		graph[pkg] = map[string][]string{}
		for _, f := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, f), nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, spec := range parsed.Imports {
				path, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				graph[pkg][path] = append(graph[pkg][path], pkg+"/"+f)
			}
		}
	}
}

// TestForbiddenEdges shows that the rules can fail: each edge here must.
func TestForbiddenEdges(t *testing.T) {
	for _, edge := range []struct{ from, to, want string }{
		{"corpus/chunk", "encbench/corpus", "not to the left of corpus/chunk, which may import []"},
		{"engine", "encbench/engine/feed", "not to the left of engine, which may import []"},
		{"bench", "encbench/engine/ort", "not to the left of bench, which may import [corpus corpus/chunk corpus/tokenize engine engine/feed metrics bench/env]"},
		{"bench/cmd/encbench", "encbench/engine/enginetest", "only tests may"},
		{"bench/report", "encbench/bench/cmd/encbench", "nothing imports the command"},
		{"engine/cpu", "github.com/yalue/onnxruntime_go", "github.com/yalue/onnxruntime_go may be imported only by [engine/ort]"},
		{"metrics", "github.com/klauspost/compress/zstd", "github.com/klauspost/compress may be imported only by [corpus metrics/run]"},
		{"bench", "github.com/spf13/pflag", "github.com/spf13/pflag may be imported only by [bench/cmd/encbench]"},
		{"corpus/tokenize", "unsafe", "unsafe may be imported only by [bench/env/peak cuda engine engine/cpu engine/ort engine/vectors]"},
		{"bench/assets", "net/http", "net may be imported only by []"},
		{"corpus", "golang.org/x/text/unicode/norm", "a module that is not on the list of dependencies"},
	} {
		if got := forbidden(edge.from, edge.to, mayImport[edge.from]); got != edge.want {
			t.Errorf("%s → %s: got %q, want %q", edge.from, edge.to, got, edge.want)
		}
	}
	for pkg, allowed := range mayImport {
		for _, a := range allowed {
			if _, known := mayImport[a]; !known && a != "..." {
				t.Errorf("mayImport[%s] names %s, which has no line itself", pkg, a)
			}
		}
	}
}

func TestLibrariesStandAlone(t *testing.T) {
	for _, lib := range libraries {
		deps := goList(t, "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./"+lib)
		for dep := range strings.FieldsSeq(string(deps)) {
			// A library's own internal packages are part of it.
			if dep != module+"/"+lib && !strings.HasPrefix(dep, module+"/"+lib+"/internal/") {
				t.Errorf("%s depends on %s outside the standard library", lib, dep)
			}
		}
		build := exec.Command("go", "build", "./"+lib)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Errorf("build %s without cgo: %v\n%s", lib, err, out)
		}
	}
}

func goList(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	// The graph is that of the complete build, whatever this run was built with.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out
}

// never is what no file of the project contains: the hosts of package registries
// (downloads go through the user's own client and its settings) and paths of the
// machine somebody happened to work on. Written in pieces, so that this file
// passes too.
var never = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`pypi\.` + `org`, `python` + `hosted\.`, `test\.` + `pypi`, `(proxy|sum)\.` + `golang\.`, `npm` + `js\.`, `crates\.` + `io\b`,
	`deb\.` + `debian\.`, `repo1?\.` + `maven\.`, `\b(hf\.co|hugging` + `face\.co)`, `https?://[a-z0-9.-]*(registry|` + `mirror)`,
	`(^|[^a-z0-9_.})*-])/(` + `work|farm|root)/`,
}, "|"))

func TestNoHostsNoMachinePaths(t *testing.T) {
	for _, name := range projectFiles(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if name == "go.sum" || bytes.IndexByte(text, 0) >= 0 {
			continue
		}
		for i, line := range bytes.Split(text, []byte("\n")) {
			if m := never.Find(line); m != nil {
				t.Errorf("%s:%d: names a registry's host or a path of one machine: %q", name, i+1, m)
			}
		}
	}
}

func TestNeverFinds(t *testing.T) {
	for _, s := range []string{
		"see https:" + "//py" + "pi.org/simple", "files.python" + "hosted.org", "GOPROXY=proxy." + "golang.org", "cat /" + "work" + "/main/x",
		`"/` + `farm/model"`, "https://my-" + "registry.example/x", "/" + "root/.cache",
	} {
		if !never.MatchString(s) {
			t.Errorf("%q passes", s)
		}
	}
	for _, s := range []string{"bench/" + "work" + "/x", "$(TMPDIR)/tmp/x", "a mirror of your own", "the registry that pip is set up for", "filepath.Join(root, name)"} {
		if m := never.FindString(s); m != "" {
			t.Errorf("%q is refused for %q", s, m)
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	for _, name := range projectFiles(t) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(text, []byte("\n")); lines > maxLines && !generated.Match(text) {
			t.Errorf("%s has %d lines, more than %d: split it by subject", name, lines, maxLines)
		}
	}
}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// projectFiles lists what git tracks or would track; without git, as in an
// unpacked source archive, all files outside dot directories.
func projectFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	if out, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output(); err == nil {
		for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
			if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() {
				files = append(files, name)
			}
		}
	} else if err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.Type().IsRegular():
			files = append(files, name)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("no file found to check")
	}
	return files
}
