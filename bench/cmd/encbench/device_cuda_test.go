//go:build cuda && linux && cgo && (amd64 || arm64)

package main

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"encbench/cuda/cudatest"
	"encbench/kernels"
)

// stock is the command as make build makes it, and the fake driver that it is started
// with: the one binary of all machines.
type stock struct {
	command string
	env     []string
}

var buildStock = sync.OnceValues(func() (stock, error) {
	dir, err := os.MkdirTemp("", "encbench-stock-")
	if err != nil {
		return stock{}, err
	}
	s := stock{command: filepath.Join(dir, "encbench")}
	if out, err := exec.Command("go", "build", "-tags", "cuda", "-o", s.command, ".").CombinedOutput(); err != nil {
		return s, errors.New(string(out))
	}
	const from = "../../../kernels/"
	stamp, err := kernels.Stamp(os.DirFS(from + "src"))
	if err != nil {
		return s, err
	}
	lib, err := cudatest.Build(cudatest.Kernels{
		Sources: []string{from + "src/all.cu", from + "src/wide.cu", from + "emu/emu.cc", from + "emu/hopper.cc"}, Include: []string{from + "emu", from + "src"},
		PTX: slices.Concat(kernels.SM80.PTX(), kernels.SM90A.PTX()), Stamp: stamp,
	})
	s.env = lib.Env()
	return s, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if s, err := buildStock(); err == nil {
		os.RemoveAll(filepath.Dir(s.command))
	}
	os.Exit(code)
}

// start runs the stock command; env is added to its environment.
func start(t *testing.T, env []string, args ...string) result {
	t.Helper()
	s, err := buildStock()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), s.command, args...)
	cmd.Env = append(append(os.Environ(), s.env...), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if e := (*exec.ExitError)(nil); err != nil && !errors.As(err, &e) {
		t.Fatal(err)
	}
	return result{code: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}
}

// deviceVectors writes 700 documents and 20 queries of 24 values.
func deviceVectors(t *testing.T) {
	t.Helper()
	if _, err := buildStock(); err != nil { // before the test leaves its folder
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	rng := rand.New(rand.NewPCG(3, 4))
	values := func(n int) []float32 {
		out := make([]float32, n)
		for i := range out {
			out[i] = float32(rng.NormFloat64())
		}
		return out
	}
	putVectors(t, "docs.npy", 24, values(24*700)...)
	putVectors(t, "queries.npy", 24, values(24*20)...)
}

// A search on devices gives the bytes of one on the processor.
func TestDeviceSearch(t *testing.T) {
	deviceVectors(t)
	for _, args := range []string{"-k 5", "-k 700 --metric cosine", "-k 9 --metric l2 --store float16", "-k 3 --store bfloat16"} {
		base := append([]string{"search", "--docs", "docs.npy", "--queries", "queries.npy"}, strings.Fields(args)...)
		want := start(t, nil, append(base, "--device", "cpu")...)
		if want.code != 0 || strings.Count(want.stdout, "\n") < 60 {
			t.Fatalf("%s: exit %d: %s", args, want.code, want.stderr)
		}
		for _, device := range []string{"auto", "cuda:0", "cuda:1,0", "cuda"} {
			got := start(t, []string{"ENCBENCH_FAKE_DEVICES=2"}, append(base, "--device", device)...)
			if got.code != 0 || got.stdout != want.stdout {
				t.Errorf("%s on %s: exit %d, %d bytes, want %d\n%s", args, device, got.code, len(got.stdout), len(want.stdout), got.stderr)
			}
			said := regexp.MustCompile(`cuda:\d .*fake.*: [\d,]+ rows, .*\n(?s:.*)certified  \d+ quer`)
			if !said.MatchString(got.stderr) {
				t.Errorf("%s on %s says %q", args, device, got.stderr)
			}
		}
	}
}

func TestDeviceSearchFaults(t *testing.T) {
	deviceVectors(t)
	search := strings.Fields("search --docs docs.npy --queries queries.npy -k 5 --out o.npy --device")
	for _, c := range []struct {
		device, env string
		code        int
		want        string
	}{
		{"cuda:1", "", 1, "--device cuda:1: the driver shows 1 device, numbered from 0"},
		{"cuda:0", "ENCBENCH_FAKE_CAPABILITY=7.5", 1, "--device cuda:0: cuda:0 is a .* (sm_75): encbench needs sm_80 or later"},
		{"cuda:0", "ENCBENCH_CUDA_DRIVER=/none.so", 1, "--device cuda:0: no CUDA driver: /none.so: cannot open .*; `encbench doctor` says more"},
		{"cuda", "ENCBENCH_FAKE_DEVICES=0", 1, "--device cuda: .*no device"},
		{"cuda:0", "ENCBENCH_FAKE_FAIL=cuMemAlloc_v2:1+:2", 1, "2 CUDA_ERROR_OUT_OF_MEMORY"},
		{"cuda:0", "ENCBENCH_FAKE_FAIL=kernel:3:700", 1, "700 CUDA_ERROR_ILLEGAL_ADDRESS"},
		{"cuda:0", "ENCBENCH_FAKE_FAIL=cuModuleLoadDataEx:1:222", 1, "222 CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
		{"cuda:0,0", "", 2, `--device "cuda:0,0": device 0 twice`},
		{"gpu", "", 2, `--device "gpu": auto, cpu, cuda (all devices), cuda:0, or cuda:0,1 for two at a time`},
	} {
		r := start(t, []string{c.env}, append(search, c.device)...)
		want := regexp.QuoteMeta(c.want)
		want = strings.ReplaceAll(want, `\.\*`, ".*")
		if r.code != c.code || !regexp.MustCompile(want).MatchString(r.stderr) || r.stdout != "" {
			t.Errorf("%s, %s: exit %d, %q; want %d, %s", c.device, c.env, r.code, r.stderr, c.code, c.want)
		}
		if left, _ := filepath.Glob("o.npy*"); len(left) > 0 {
			t.Errorf("%s, %s: %v is left", c.device, c.env, left)
		}
	}
	for _, args := range []string{"--store int8", "--path exact"} {
		r := start(t, nil, append(append(search, "cuda:0"), strings.Fields(args)...)...)
		if r.code != 2 || !strings.Contains(r.stderr, "is for the processor: --device cpu") {
			t.Errorf("%s: exit %d, %q", args, r.code, r.stderr)
		}
	}
}

// Where no device can be used auto takes the processor and says why.
func TestDeviceAuto(t *testing.T) {
	deviceVectors(t)
	for env, want := range map[string]string{
		"ENCBENCH_CUDA_DRIVER=/none.so": "device     cpu; CUDA is off: no CUDA driver: /none.so: cannot open",
		"ENCBENCH_FAKE_CAPABILITY=7.5":  "(sm_75): encbench needs sm_80 or later",
		"ENCBENCH_FAKE_DEVICES=0":       "device     cpu; CUDA is off: ",
		"ENCBENCH_FAKE_INIT=803":        "device     cpu; CUDA is off: ",
	} {
		r := start(t, []string{env}, strings.Fields("search --docs docs.npy --queries queries.npy -k 2")...)
		if r.code != 0 || !strings.Contains(r.stderr, want) || strings.Count(r.stdout, "\n") != 40 {
			t.Errorf("%s: exit %d, %q, want %q", env, r.code, r.stderr, want)
		}
	}
}
