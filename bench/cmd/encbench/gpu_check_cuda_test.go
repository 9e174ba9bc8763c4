//go:build cuda && linux && cgo && (amd64 || arm64)

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"encbench/bench/gpucheck"
)

// The whole check runs on the fake driver, goes on where it stopped, and says what it
// found.
func TestDeviceGPUCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	read := func() (r gpucheck.Record) {
		data, err := os.ReadFile("c.json")
		if err == nil {
			err = json.Unmarshal(data, &r)
		}
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	// A device that is lost in the middle: what was found before is kept.
	check := []string{"gpu-check", "--out", "c.json"}
	r := start(t, []string{"ENCBENCH_FAKE_FAIL=copy-out:200:700"}, check...)
	lost := read()
	if r.code != 1 || !strings.Contains(r.stderr, "700 CUDA_ERROR_ILLEGAL_ADDRESS") || !strings.Contains(r.stderr, "the sections after it were not run") || len(lost.Done) == 0 || len(lost.Done) > 5 || lost.Done[len(lost.Done)-1].Passed() {
		t.Errorf("lost: exit %d, %s, %d sections", r.code, r.stderr, len(lost.Done))
	}
	// Without a provider its section is left out, which is no fault, and run once there is one.
	r = start(t, []string{"ENCBENCH_CACHE=" + t.TempDir(), "ENCBENCH_ORT_LIBRARY="}, check...)
	most := read()
	if r.code != 0 || len(most.Done) != 7 || !most.Done[0].Started.Equal(lost.Done[0].Started) || most.Done[6].Passed() ||
		!strings.Contains(r.stdout, "\nencode: left out: encoding on a CUDA device needs ONNX Runtime's CUDA provider, which is not here: run `encbench assets get cuda") {
		t.Errorf("no provider: exit %d, %s\n%s", r.code, r.stderr, r.stdout)
	}
	// One that is here and cannot be opened is a fault.
	if r = start(t, []string{"ENCBENCH_ORT_LIBRARY=/none.so"}, "gpu-check", "--only", "encode"); r.code != 1 || !strings.Contains(r.stdout, "encode: FAILED") || !strings.Contains(r.stdout, "/none.so") {
		t.Errorf("a library that is not there: exit %d, %s\n%s", r.code, r.stderr, r.stdout)
	}
	r = start(t, provided(t), check...)
	whole := read()
	if r.code != 0 || len(whole.Done) != 7 || !whole.Fake || !whole.Small || !whole.Done[5].Started.Equal(most.Done[5].Started) {
		t.Fatalf("exit %d, %d sections: %s\n%s", r.code, len(whole.Done), r.stderr, r.stdout)
	}
	for _, want := range []string{
		"encbench gpu-check: encbench fake device, no GPU: the fake driver of tests, whose rates mean nothing",
		"driver: passed in ", "kernels: passed in ", "copies: passed in ", "peak: passed in ", "search: passed in ", "overlap: passed in ", "encode: passed in ",
		"load the kernels of sm_80 ", "load the kernels of sm_90a ", "64 KiB, to the device, page-locked", "places compared", "sm_90a, 130 × 300 × 64 in float16, median of 9",
		"sm_80, 880 × 64, 70 queries, k 20", "streamed, two blocks in flight", "the longer of both",
		"nodes of the graph on the device", "float16: rows of 24 tokens ", "tf32: rows of 24 tokens ", "captured graphs: rows of", "% of the time", "places of a search of them compared",
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("the report does not say %q:\n%s", want, r.stdout)
		}
	}
	for _, s := range whole.Done {
		if !s.Passed() || len(s.Values) == 0 {
			t.Errorf("section %+v", s)
		}
		for _, v := range s.Values {
			if v.Value <= 0 || v.Unit != "" && strings.HasPrefix(v.Of, "the dense") && v.Share != 0 {
				t.Errorf("section %s: %+v", s.Section, v)
			}
		}
	}
	// Nothing is left to do.
	if r = start(t, nil, append(check, "--only", "copies")...); r.code != 0 || len(read().Done) != 7 {
		t.Errorf("again: exit %d, %s", r.code, r.stderr)
	}
	// Wrong rows are found: a device that does not copy what it should.
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"--only speed", `no section "speed": driver, kernels, copies, peak, search, overlap, encode`, 2},
		{"--device 3", "--device cuda:3: the driver shows 1 device, numbered from 0", 1},
		{"--device -1", "device -1: expected 0 or more", 2},
	} {
		if r := start(t, nil, append([]string{"gpu-check"}, strings.Fields(c.args)...)...); r.code != c.code || !strings.Contains(r.stderr, c.want) || r.stdout != "" {
			t.Errorf("%s: exit %d, %q, want %q", c.args, r.code, r.stderr, c.want)
		}
	}
	if err := os.WriteFile("other.json", []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := start(t, nil, "gpu-check", "--out", "other.json"); r.code == 0 || !strings.Contains(r.stderr, "other.json") {
		t.Errorf("another file: exit %d, %q", r.code, r.stderr)
	}
	if r := start(t, []string{"ENCBENCH_CUDA_DRIVER=/none.so"}, "gpu-check"); r.code != 1 || !strings.Contains(r.stderr, "--device cuda:0: no CUDA driver: /none.so") || !strings.Contains(r.stderr, "encbench doctor") {
		t.Errorf("no driver: exit %d, %q", r.code, r.stderr)
	}
}

// What is said of the record is so: it is of the one device, it was written, and it is
// there to go on from.
func TestDeviceGPUCheckRecord(t *testing.T) {
	t.Chdir(t.TempDir())
	two := []string{"ENCBENCH_FAKE_DEVICES=2", "ENCBENCH_FAKE_CAPABILITY_1=7.5"}
	driver := strings.Fields("gpu-check --only driver --out")
	r := start(t, two, append(driver, "c.json")...)
	if r.code != 0 || !strings.Contains(r.stdout, "driver: passed") || !strings.Contains(r.stdout, "cuda:1 is a encbench fake device (sm_75)") || !strings.Contains(r.stderr, "record written to c.json") {
		t.Errorf("beside a device that is too old: exit %d, %s\n%s", r.code, r.stderr, r.stdout)
	}
	before, err := os.ReadFile("c.json")
	if err != nil {
		t.Fatal(err)
	}
	r = start(t, two[:1], append(driver, "c.json", "--device", "1")...)
	if after, _ := os.ReadFile("c.json"); r.code != 1 || !bytes.Equal(before, after) || !strings.Contains(r.stderr, "--out c.json: the record there is of encbench fake device") || strings.Contains(r.stderr, "record written") {
		t.Errorf("another device's record: exit %d, %s", r.code, r.stderr)
	}
	// The name is too long for that of the file before it is renamed.
	r = start(t, nil, append(driver, strings.Repeat("x", 245))...)
	if r.code != 1 || strings.Contains(r.stderr, "record written") || !strings.Contains(r.stderr, "file name too long") || !strings.Contains(r.stdout, "driver: passed") {
		t.Errorf("not written: exit %d, %s", r.code, r.stderr)
	}
	s, err := buildStock()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), s.command, "gpu-check")
	cmd.Env, cmd.Stderr = append(append(os.Environ(), s.env...), "ENCBENCH_FAKE_KERNEL=100000000"), &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(2*time.Second, func() { cmd.Process.Signal(os.Interrupt) }).Stop()
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(stderr.String(), "interrupted; without --out there is no record to go on from") {
		t.Errorf("interrupted: exit %d, %s", code, stderr.String())
	}
}
