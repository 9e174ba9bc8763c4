//go:build cuda && linux && cgo && (amd64 || arm64)

package kernels_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// shown are faults, each of which the emulation must show in one order at least: a text
// of a source and what stands there instead, and part of what is to be told.
var shown = []struct {
	name, kernel, file, old, now, want string
}{
	{"none", "wide", "wide.cuh", "", "", "right"},
	{"none", "tile", "tile.cuh", "", "", "right"},
	{"a stage is read before it has come", "wide", "wide.cuh", "mbarrier_wait(full + stage, done / W::STAGES & 1);", "", "wrong"},
	{"a stage is given back while it is read", "wide", "wide.cuh", "wgmma_wait<1>();", "wgmma_wait<2>();", "wrong"},
	{"scores are read before they are there", "wide", "wide.cuh", "wgmma_wait<0>();", "", "that it did not wait for"},
	{"products without a fence", "wide", "wide.cuh", "wgmma_fence();", "", "a product, and no wgmma.fence after its registers were written"},
	{"a barrier of too few", "wide", "wide.cuh", "mbarrier_init(empty + s, W::WARPS);", "mbarrier_init(empty + s, W::WARPS - 1);", "nobody can go on"},
	{"more bytes than are expected", "wide", "wide.cuh", "mbarrier_expect(full + stage, W::STAGE);", "mbarrier_expect(full + stage, W::STAGE - 128);", "nobody can go on"},
	{"barriers that the copy engine does not know of", "wide", "wide.cuh", "mbarriers_ready();", "", "which the copy engine does not know of"},
	{"barriers that others do not see yet", "wide", "wide.cuh", "	barrier();\n", "", "no barrier was made at byte"},
	{"another swizzle", "wide", "wide.cuh", "swizzle = 1;", "swizzle = 2;", "is not one of swizzled rows of 128 bytes"},
	{"the wrong part of a row", "wide", "wide.cuh", "a + 2 * k, b + 2 * k, type", "a + 2 * k, b + k, type", "wrong"},
	{"a phase too far", "wide", "wide.cuh", "~(done / W::STAGES) & 1", "done / W::STAGES & 1", "nobody can go on"},
	{"a stage is filled while others read it", "tile", "tile.cuh", "			barrier(); // the step has come, and nobody reads the stage that is filled next\n", "", "wrong"},
	{"a step is read before it has come", "tile", "tile.cuh", "cp_async_wait<S::STAGES - 2>();", "cp_async_wait<S::STAGES - 1>();", "ends with copies that it did not wait for"},
	{"a row is swizzled otherwise", "tile", "tile.cuh", "stage + at(row, part), there", "stage + row * 128 + part * 16, there", "wrong"},
}

// orders are those in which a fault is looked for.
var orders = []string{"forward", "reverse", "random:1", "random:2"}

// The emulation shows faults: without them nothing that it finds right would mean much.
func TestFaultsAreShown(t *testing.T) {
	dir := t.TempDir()
	compile := func(out string, args ...string) error {
		args = append([]string{"-std=c++17", "-O1", "-ffp-contract=off", "-I" + filepath.Join("..", "cuda", "fake"), "-Iemu", "-o", out}, args...)
		if text, err := exec.Command("g++", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("compile %s: %w\n%s", out, err, text)
		}
		return nil
	}
	var objects []string
	for _, f := range []string{"emu", "hopper"} {
		objects = append(objects, filepath.Join(dir, f+".o"))
		if err := compile(objects[len(objects)-1], "-Isrc", "-c", filepath.Join("emu", f+".cc")); err != nil {
			t.Fatal(err)
		}
	}
	var group sync.WaitGroup
	limit := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, p := range shown {
		group.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			src, program := filepath.Join(dir, fmt.Sprint("src", i)), filepath.Join(dir, fmt.Sprint("faults", i))
			if err := os.CopyFS(src, os.DirFS("src")); err != nil {
				t.Error(err)
				return
			}
			path := filepath.Join(src, p.file)
			text, err := os.ReadFile(path)
			if n := strings.Count(string(text), p.old); err != nil || p.old != "" && n != 1 {
				t.Errorf("%s: %q is in %s %d times (%v)", p.name, p.old, p.file, n, err)
				return
			}
			if p.old != "" {
				text = []byte(strings.Replace(string(text), p.old, p.now, 1))
			}
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Error(err)
				return
			}
			if err := compile(program, append([]string{"-I" + src, "-x", "c++", filepath.Join("testdata", "faults.cc"), "-x", "none"}, objects...)...); err != nil {
				t.Error(err)
				return
			}
			var told []string
			for _, order := range orders {
				run := exec.Command(program, p.kernel)
				run.Env = append(os.Environ(), "ENCBENCH_EMU_ORDER="+order)
				out, err := run.Output()
				if err != nil {
					out = []byte(err.Error())
				}
				said := strings.TrimSpace(string(out))
				if p.old == "" && said != "right" {
					t.Errorf("%s without a fault, %s: %s", p.kernel, order, said)
				}
				told = append(told, said)
			}
			t.Logf("%s: %s", p.name, strings.Join(slices.Compact(told), "; "))
			if !strings.Contains(strings.Join(told, "\n"), p.want) || p.old != "" && strings.Join(told, "") == strings.Repeat("right", len(orders)) {
				t.Errorf("%s: the emulation told\n%s\nwant %q", p.name, strings.Join(told, "\n"), p.want)
			}
		})
	}
	group.Wait()
}
