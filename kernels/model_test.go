package kernels

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestParts(t *testing.T) {
	for _, c := range []struct {
		name string
		peak float64 // TFLOP/s dense, of the data sheets
	}{{"A100 SXM 80 GB", 312}, {"L4", 121}, {"L40S", 362}, {"H100 SXM", 989}, {"H200", 989}} {
		for _, p := range Parts {
			if p.Name == c.name && math.Abs(p.TFLOPS()/c.peak-1) > 0.02 {
				t.Errorf("%s: %.0f TFLOP/s, the data sheet has %.0f", c.name, p.TFLOPS(), c.peak)
			}
		}
	}
}

// The model's numbers, worked out by hand.
func TestExpect(t *testing.T) {
	h100 := Parts[3]
	// A tile of 128 × 256 and 768 dimensions: 2 · 128 · 256 · 768 / 4,096 clocks, and 3 ·
	// 32,768 / 128 of the epilogue.
	e := Expect(h100, SM90A, 1024, 2_000_000, 768)
	// Of shared memory: 128 queries read once and 256 rows twice, all written once.
	if e.Math != 12288+768 || e.Epilogue != 768 || e.Shared != 1536*(2*128+3*256)/128+768 {
		t.Errorf("%+v", e)
	}
	// 384 rows of 1,536 bytes by 5,120 · 0.8 / 132 bytes a clock.
	if want := 384 * 1536 / (5120 * 0.8 / 132); math.Abs(e.Cache-want) > 1e-6 || e.Bound != "cache" || e.Tile != e.Cache {
		t.Errorf("%+v, want %g clocks from the cache", e, want)
	}
	// 8 · 7,813 tiles in 474 turns.
	if want := 474 * e.Cache / 1.83e9; math.Abs(e.Seconds/want-1) > 1e-12 {
		t.Errorf("%g s, want %g", e.Seconds, want)
	}
	for _, c := range []struct {
		part          string
		v             Variant
		queries       int
		bound         string
		least, atMost float64 // share of peak, or of memory's bytes where that is the bound
	}{
		{"H100 SXM", SM90A, 1024, "cache", 0.6, 1},
		{"A100 SXM 80 GB", SM80, 1024, "math", 0.6, 1},
		{"H100 SXM", SM80, 1, "memory", 0.85, 0.9},
		{"H200", SM90A, 1, "memory", 0.85, 0.9},
		{"L4", SM80, 1, "memory", 0.85, 0.9},
	} {
		for _, p := range Parts {
			if p.Name != c.part {
				continue
			}
			e := Expect(p, c.v, c.queries, 2_000_000, 768)
			share := e.Peak
			if e.Bound == "memory" {
				share = e.Bytes
			}
			if e.Bound != c.bound || share < c.least || share > c.atMost+1e-9 {
				t.Errorf("%s, %v, %d queries: %+v", c.part, c.v, c.queries, e)
			}
		}
	}
}

func TestOccupancy(t *testing.T) {
	for _, c := range []struct {
		device                     string
		registers, threads, shared int
		blocks                     int
		by                         string
	}{
		{"sm_80", 56, 256, 73728, 2, "shared memory"}, // 164 KiB by 73
		{"sm_89", 56, 256, 73728, 1, "shared memory"},
		{"sm_80", 145, 256, 0, 1, "registers"}, // 8 warps of 4,864
		{"sm_90a", 168, 384, 196672, 1, "registers"},
		{"sm_86", 16, 256, 0, 6, "warps"},
		{"sm_80", 16, 32, 0, 32, "blocks"},
	} {
		if n, by := Occupancy(c.device, c.registers, c.threads, c.shared); n != c.blocks || by != c.by {
			t.Errorf("%+v: %d, limited by %s", c, n, by)
		}
	}
}

func TestResourceTable(t *testing.T) {
	text := []byte(".visible .entry encbench_sort(\n)\n.maxntid 1024, 1, 1\n")
	table, err := ResourceTable([]Resources{{"sort", "sm_80", 22, 0}}, text)
	if want := "| sort | sm_80 | 1024 | 22 | 32768 | 2 | warps | 100 % |\n"; err != nil || !strings.HasSuffix(table, "|\n"+want) {
		t.Errorf("%v\n%s", err, table)
	}
	_, err = ResourceTable([]Resources{{"gone", "sm_80", 22, 0}}, text)
	if want := "kernels: no bounds of gone on sm_80: is its PTX of these sources?"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Every kernel is in the committed table for every device of its text, and every source of
// kernels names the table.
func TestEveryKernelIsInTheTable(t *testing.T) {
	table, err := os.ReadFile("ptx/resources.md")
	if err != nil {
		t.Fatal(err)
	}
	entries := regexp.MustCompile(`\.visible \.entry encbench_(\w+)\(`)
	for v, devices := range map[Variant][]string{SM80: {"sm_80", "sm_86", "sm_89", "sm_90"}, SM90A: {"sm_90a"}} {
		for _, m := range entries.FindAllSubmatch(v.PTX(), -1) {
			for _, d := range devices {
				if row := "| " + string(m[1]) + " | " + d + " |"; !strings.Contains(string(table), row) {
					t.Errorf("ptx/resources.md has no row %s", row)
				}
			}
		}
	}
	files, err := filepath.Glob("src/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\tKERNEL(") || strings.Contains(string(text), "\nKERNEL(") {
			if !strings.Contains(string(text), "ptx/resources.md") {
				t.Errorf("%s does not name the table of what its kernels take", f)
			}
		}
	}
	model, err := os.ReadFile("ptx/model.md")
	if err != nil || string(model) != ModelTable() {
		t.Errorf("ptx/model.md is not what kernels.ModelTable gives (%v): run `make kernels`", err)
	}
}
