//go:build cuda && linux && cgo && (amd64 || arm64)

package kernels_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"encbench/cuda/cudatest"
	"encbench/engine"
	"encbench/kernels"
)

// TestProperty is what kernels with a planted fault are tried with: few searches, in
// every kind of order, of data that makes lists overflow and of such that does not, with
// dimensions and numbers of rows that fill no tile.
func TestProperty(t *testing.T) {
	for i := range 6 {
		cudatest.Order(t, i)
		on(t, func(b *bench) {
			rng := rand.New(rand.NewPCG(3, uint64(i)))
			if random(rng, 20, 300, 136, engine.F16).check(b, "random"); t.Failed() {
				return
			}
			s := random(rng, 5, 500, 24, engine.BF16)
			s.room, s.panel, s.most, s.k = 64, 200, 40, 20
			for r := range s.rows { // ever better
				for d := range s.rows[r] {
					s.rows[r][d] = rounded(float32(r)/64*s.queries[0][d], s.elem)
				}
			}
			if s.check(b, "ascending") == 0 && !t.Failed() {
				t.Error("no list overflowed")
			}
		})
		if t.Failed() {
			return
		}
	}
}

// planted are faults of kernels: a text of a source and what is put in its place.
var planted = []struct {
	name, file, from, to string
	sanitize             bool
	want                 string // of what the failing test prints; a regular expression
}{
	{"write 4 bytes behind a buffer", "compact.cu", "redo[query] = over;", "redo[query + 1] = over;", true,
		`(?s)AddressSanitizer: heap-buffer-overflow.*WRITE of size 4.*encbench_compact .*compact\.cu:\d+`},
	{"read rows that are not there", "tile.cuh", "cp_async16(stage + at(row, part), there ? from : queries, there ? 16 : 0);", "cp_async16(stage + at(row, part), from, there || !query ? 16 : 0);", true,
		`(?s)AddressSanitizer: heap-buffer-overflow.*READ of size 16.*tile\.cuh:\d+`},
	{"shared memory behind its end", "select.cu", "s[i] = i < n ?", "s[i + (u32)size] = i < n ?", true,
		`(?s)AddressSanitizer: heap-buffer-overflow.*WRITE of size 8.*select\.cu:\d+`},
	{"shift by more than there are bits", "compact.cu", "(1u << lane())", "(1u << (lane() + 32))", true, `compact\.cu:\d+:\d+: runtime error: shift exponent \d+ is too large`},
	{"no barrier before a stage is read", "tile.cuh", "barrier(); // the step has come, and nobody reads the stage that is filled next", "", false, `(random|ascending), query \d+:`},
	{"barrier that one thread leaves out", "select.cu", "			barrier();\n		}\n", "			if (thread()) barrier();\n		}\n", false, `emu: encbench_sort, block \d+: (nobody can go on: \d+ of \d+ threads are at the barrier|thread \d+ is at the barrier)`},
	{"parts that are turned only where they are written", "tile.cuh", "cp_async16(stage + at(row, part)", "cp_async16(stage + row * 128 + part * 16", false, `random, query \d+:`},
	{"parts turned by another row", "tile.cuh", "ldmatrix_x4(b, stage + at(BM", "ldmatrix_x4(b, stage + at(1 + BM", false, `random, query \d+:`},
	{"no wait for copies", "tile.cuh", "cp_async_wait<S::STAGES - 2>();", "", false, `thread \d+ ends with copies that it did not wait for`},
	{"wait for one copy too few", "tile.cuh", "cp_async_wait<S::STAGES - 2>();", "cp_async_wait<S::STAGES - 1>();", false, `thread \d+ ends with copies that it did not wait for`},
	{"threshold that stays when a list overflows", "compact.cu", "if (t == 0 && least > threshold[query])", "if (t == 0 && !over && least > threshold[query])", false, `redoing a panel does not end`},
	{"panel that is not redone", "compact.cu", "redo[query] = over;", "redo[query] = 0;", false, `ascending, query \d+:`},
	{"keys that a redone panel gives twice", "compact.cu", "&& !(over && row_of(key) >= (u32)panel)", "&& !(over && row_of(key) >= (u32)panel + 1000)", false, `ascending, query \d+:|redoing a panel does not end`},
	{"list that overflows unnoticed", "compact.cu", "const bool over = offered > (u32)room;", "const bool over = false;", false, `ascending, query \d+:`},
}

// Faults that are put into a copy of the sources are found.
func TestPlanted(t *testing.T) {
	stamp, err := kernels.Stamp(os.DirFS("device"), os.DirFS("src"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range planted {
		t.Run(f.name, func(t *testing.T) {
			sources := plant(t, f.file, f.from, f.to)
			lib, err := cudatest.Build(cudatest.Kernels{Sources: sources, Include: []string{"emu", "src"}, PTX: slices.Concat(kernels.SM80.PTX(), kernels.SM90A.PTX()), Stamp: stamp, Sanitize: f.sanitize})
			if err != nil {
				t.Fatal(err)
			}
			out, err := lib.Run(t, "TestProperty")
			if err == nil || !regexp.MustCompile(f.want).MatchString(out) {
				t.Errorf("not found: %v\n%s\nwant %s", err, out, f.want)
			}
		})
	}
	t.Run("PTX of other sources", func(t *testing.T) {
		other := os.DirFS(filepath.Dir(plant(t, "key.cuh", "// score is", "// Score is")[0]))
		changed, err := kernels.Stamp(os.DirFS("device"), other)
		if err != nil || changed == stamp {
			t.Fatalf("stamps %s and %s, %v", stamp, changed, err)
		}
		lib, err := cudatest.Build(cudatest.Kernels{Sources: sourcesOf(t, "src"), Include: []string{"emu", "src"}, PTX: slices.Concat(kernels.SM80.PTX(), kernels.SM90A.PTX()), Stamp: changed})
		if err != nil {
			t.Fatal(err)
		}
		out, err := lib.Run(t, "TestProperty")
		if want := fmt.Sprintf("the PTX has stamp %q, the kernels of this library %q: make kernels", stamp, changed); err == nil || !strings.Contains(out, want) {
			t.Errorf("not found: %v\n%s\nwant %s", err, out, want)
		}
	})
}

// PTX that is not of these kernels is refused.
func TestPlantedPTX(t *testing.T) {
	for _, c := range []struct{ name, from, to, want string }{
		{"a narrow parameter", ".param .u64 encbench_compact_param_5", ".param .u32 encbench_compact_param_5", "fake ptxas: kernel encbench_compact has a parameter that is not 8 bytes wide"},
		{"another name", ".entry encbench_fill(", ".entry encbench_fall(", "fake ptxas: kernel encbench_fall is not in this library"},
		{"a parameter less", ",\n	.param .u64 encbench_fill_param_2", "", "fake ptxas: kernel encbench_fill has 2 parameters in the PTX and 3 in this library"},
		{"a kernel less", ".visible .entry encbench_sort(", ".visible .func encbench_sort(", "fake ptxas: kernel encbench_sort is not in the PTX"},
	} {
		on(t, func(b *bench) {
			text := bytes.Replace(kernels.PTX(), []byte(c.from), []byte(c.to), 1)
			if bytes.Equal(text, kernels.PTX()) {
				t.Fatalf("%s: the PTX has no %q", c.name, c.from)
			}
			m, err := b.c.Load("the kernels", text)
			if m != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", c.name, err, c.want)
			}
		})
	}
}

// plant copies the sources, puts a text in the place of one that is there once, and gives
// the .cu files of the copy.
func plant(t *testing.T, file, from, to string) []string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("src")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, file)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte(from)); n != 1 {
		t.Fatalf("%s has %d times %q: the fault is to be planted anew", file, n, from)
	}
	if err := os.WriteFile(path, bytes.Replace(text, []byte(from), []byte(to), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	return sourcesOf(t, dir)
}

// sourcesOf lists the .cu files of a folder but those that have all others in them.
func sourcesOf(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*.cu"))
	if err != nil || len(all) < 2 {
		t.Fatalf("no sources in %s: %v", dir, err)
	}
	all = slices.DeleteFunc(all, func(f string) bool { return filepath.Base(f) == "all.cu" || filepath.Base(f) == "hopper.cu" })
	return append(all, "emu/emu.cc", "emu/hopper.cc")
}
