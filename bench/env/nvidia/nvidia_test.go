package nvidia

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

const answer = `GPU-1234abcd-0000-1111-2222-333344445555, NVIDIA H100 80GB HBM3, 580.65.06, 00000000:1B:00.0, 650.00, 700.00, 88.31, 1980, 1980, 2619, 41, 0x0000000000000004, Enabled, Enabled, Disabled, 5, 16, 4, 0
GPU-9999abcd-0000-1111-2222-333344445555, NVIDIA A10, 580.65.06, 00000000:3B:00.0, [N/A], 150.00, [N/A], 210, 1695, 405, 31, 0x0000000000000001, Disabled, [Not Supported], [N/A], 1, 8, 0, 0
`

func TestParse(t *testing.T) {
	got, err := parse(answer)
	want := []GPU{
		{UUID: "GPU-1234abcd-0000-1111-2222-333344445555", Name: "NVIDIA H100 80GB HBM3", Driver: "580.65.06", PCI: "00000000:1b:00.0",
			PowerLimit: 650, DefaultLimit: 700, Power: 88.31, ClockMHz: 1980, MaxClockMHz: 1980, MemoryMHz: 2619, Celsius: 41, Throttled: "power limit",
			Persistence: "Enabled", ECC: "Enabled", MIG: "Disabled", PCIeGen: 5, PCIeWidth: 16, MemoryUsed: 4},
		{UUID: "GPU-9999abcd-0000-1111-2222-333344445555", Name: "NVIDIA A10", Driver: "580.65.06", PCI: "00000000:3b:00.0",
			DefaultLimit: 150, ClockMHz: 210, MaxClockMHz: 1695, MemoryMHz: 405, Celsius: 31, Persistence: "Disabled", PCIeGen: 1, PCIeWidth: 8},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	if g := Find(got, "gpu-9999ABCD-0000-1111-2222-333344445555"); g == nil || g.Name != "NVIDIA A10" {
		t.Errorf("Find gave %+v", g)
	}
	if g := Find(got, "MIG-9999abcd"); g != nil {
		t.Errorf("Find of a slice gave %+v", g)
	}
	if _, err := parse("GPU-1, NVIDIA H100\n"); err == nil || !strings.Contains(err.Error(), "wrong number of fields") {
		t.Errorf("a short line: %v", err)
	}
}

// tool puts a nvidia-smi of the test first in PATH.
func tool(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestQuery(t *testing.T) {
	tool(t, "case $1 in --query-gpu=uuid,name,*) cat <<'X'\n"+answer+"X\n;; *) exit 3;; esac")
	got, err := Query(t.Context())
	if err != nil || len(got) != 2 {
		t.Errorf("%d devices, %v", len(got), err)
	}
	tool(t, "echo 'NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver.'; exit 9")
	if _, err := Query(t.Context()); err == nil || !strings.Contains(err.Error(), "could not communicate") {
		t.Errorf("a tool that fails: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Query(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "nvidia-smi: ") {
		t.Errorf("no tool: %v", err)
	}
}

// A watch takes the mean of what it saw, with the share of the time in which a clock was
// held down, and ends its tool.
func TestWatch(t *testing.T) {
	first, second := strings.Split(answer, "\n")[0], strings.Split(answer, "\n")[1]
	cooler := strings.Replace(strings.Replace(strings.Replace(first, "88.31", "100.31", 1), "0x0000000000000004", "0x0000000000000000", 1), " 1980, 1980", " 1880, 1980", 1)
	tool(t, "case $3 in -lms=1000) ;; *) exit 3;; esac; cat <<'X'\n"+strings.Join([]string{first, second, "rubbish", cooler, second}, "\n")+"\nX\nexec sleep 600")
	w := StartWatch(t.Context())
	for seen := 0; seen < 4; time.Sleep(time.Millisecond) {
		w.mutex.Lock()
		seen = 0
		for _, all := range w.seen {
			seen += len(all)
		}
		w.mutex.Unlock()
	}
	got := w.Stop()
	want := []Load{
		{UUID: "GPU-1234abcd-0000-1111-2222-333344445555", Samples: 2, Power: 94.31, ClockMHz: 1930, Celsius: 41, HeldDown: "power limit (50 %)"},
		{UUID: "GPU-9999abcd-0000-1111-2222-333344445555", Samples: 2, ClockMHz: 210, Celsius: 31},
	}
	if len(got) != 2 || math.Abs(got[0].Power-want[0].Power) > 1e-9 {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	if got[0].Power = want[0].Power; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if l := FindLoad(got, "gpu-9999ABCD-0000-1111-2222-333344445555"); l == nil || l.ClockMHz != 210 {
		t.Errorf("FindLoad gave %+v", l)
	}
	t.Setenv("PATH", t.TempDir())
	if got := StartWatch(t.Context()).Stop(); got != nil {
		t.Errorf("no tool: %+v", got)
	}
}
