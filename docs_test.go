package encbench_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"encbench/bench"
	"encbench/corpus/chunk"
	"encbench/engine"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDeviceLimits holds the table of devices' limits in docs/protocol.md to the code's.
func TestDeviceLimits(t *testing.T) {
	text := read(t, "docs/protocol.md")
	for name, dtype := range map[string]string{"float32 (TF32 off)": "float32", "tf32": "tf32", "float16": "float16", "bfloat16": "bfloat16"} {
		l := bench.DeviceLimits(dtype, false)
		mean, batch := "–", fmt.Sprint(l.Batch)
		if l.Mean > 0 {
			mean = fmt.Sprint(l.Mean)
		}
		if l.Batch == 0 {
			batch = strings.Replace(fmt.Sprint(l.Diff), "e-0", "e-", 1)
		}
		if want := fmt.Sprintf("| %s | %v | %s | %s |", name, l.Cosine, mean, batch); !strings.Contains(text, want) {
			t.Errorf("docs/protocol.md does not say %q", want)
		}
	}
}

// TestProtocolDocument holds the figures in docs/protocol.md to the code's.
func TestProtocolDocument(t *testing.T) {
	text := strings.Join(strings.Fields(read(t, "docs/protocol.md")), " ")
	for _, want := range []string{
		fmt.Sprintf("Every cosine must be at least %v", bench.GateCosine),
		fmt.Sprintf("may differ by more than %s", strings.Replace(fmt.Sprintf("%g", bench.GateDiff), "e-0", "e-", 1)),
		fmt.Sprintf("at least %d samples and %d timed seconds", bench.PublishSamples, bench.PublishSeconds),
		fmt.Sprintf("within ±%g %% of the median", 100*bench.PublishWidth),
		fmt.Sprintf("(%d,%03d resamples", bench.Resamples/1000, bench.Resamples%1000),
		fmt.Sprintf("%d buckets of 32 tokens up to 512", engine.Bucket(512)+1),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("docs/protocol.md does not say %q", want)
		}
	}
}

// TestGateTable holds the limits of converted weights in docs/protocol.md to the code's.
func TestGateTable(t *testing.T) {
	text := read(t, "docs/protocol.md")
	for _, row := range []struct {
		name, dtype string
		bits        int
	}{{"float16", "float16", 0}, {"bfloat16", "bfloat16", 0}, {"int8", "int8", 8}, {"int8, 7-bit activations", "int8", 7}} {
		rows := bench.GateLimits(row.dtype, row.bits, false)
		least, mean, ratio := bench.RetrievalLimits(row.dtype, row.bits)
		want := fmt.Sprintf("| %s | %g | %g | %g, %g | %g |\n", row.name, rows.Cosine, rows.Mean, least, mean, ratio)
		if !strings.Contains(text, want) {
			t.Errorf("docs/protocol.md has no row %q", want)
		}
	}
}

// TestWindowTable computes the table of window counts in docs/protocol.md.
func TestWindowTable(t *testing.T) {
	cells := map[string][]string{}
	for line := range strings.Lines(read(t, "docs/protocol.md")) {
		row := strings.Split(strings.Trim(line, "| \n"), " | ")
		cells[row[0]] = row[1:]
	}
	if len(cells["n"]) < 5 || len(cells["n"]) != len(cells["windows"]) {
		t.Fatalf("no table of n and windows: found %q and %q", cells["n"], cells["windows"])
	}
	for i, cell := range cells["n"] {
		n, err := strconv.Atoi(strings.ReplaceAll(cell, ",", ""))
		if err != nil {
			t.Fatal(err)
		}
		want := strconv.Itoa(chunk.Window{Size: 510, Overlap: 100}.Count(n))
		if cells["windows"][i] != want {
			t.Errorf("%d tokens: the table says %s windows, the code %s", n, cells["windows"][i], want)
		}
	}
}

var (
	makeTarget = regexp.MustCompile("(?m)(?:`|^    )make ([a-z0-9-]+)")
	helpLine   = regexp.MustCompile(`(?m)^([a-z0-9-]+):.*## .+$`)
	phony      = regexp.MustCompile(`(?s)\.PHONY: (.*?[^\\])\n`)
	link       = regexp.MustCompile(`\]\(([^)#]+)\)`)
)

// TestDocumentsNameWhatExists: make targets and relative links.
func TestDocumentsNameWhatExists(t *testing.T) {
	makefile := read(t, "Makefile")
	targets := map[string]bool{}
	for _, m := range helpLine.FindAllStringSubmatch(makefile, -1) {
		targets[m[1]] = true
	}
	declared := strings.Fields(strings.ReplaceAll(phony.FindStringSubmatch(makefile)[1], `\`, ""))
	if helped := slices.Sorted(maps.Keys(targets)); !slices.Equal(helped, slices.Sorted(slices.Values(declared))) {
		t.Errorf("targets with a help line %v, targets declared phony %v", helped, declared)
	}
	for _, name := range projectFiles(t) {
		if filepath.Ext(name) != ".md" {
			continue
		}
		text := read(t, name)
		for _, m := range makeTarget.FindAllStringSubmatch(text, -1) {
			if !targets[m[1]] {
				t.Errorf("%s names `make %s`, which the Makefile does not have", name, m[1])
			}
		}
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
			}
		}
	}
}
