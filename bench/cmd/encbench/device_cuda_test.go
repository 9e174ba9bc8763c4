//go:build cuda && linux && cgo && (amd64 || arm64)

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"encbench/bench"
	"encbench/bench/assets"
	"encbench/bench/assets/assettest"
	"encbench/bench/eval"
	"encbench/cuda/cudatest"
	"encbench/engine/ort/orttest"
	"encbench/kernels"
)

// stock is the command as make build makes it, and the fake driver that it is started
// with: the one binary of all machines.
type stock struct {
	command string
	env     []string
}

// home is the folder of this package, which tests leave.
var home, _ = os.Getwd()

var buildStock = sync.OnceValues(func() (stock, error) {
	dir, err := os.MkdirTemp("", "encbench-stock-")
	if err != nil {
		return stock{}, err
	}
	s := stock{command: filepath.Join(dir, "encbench")}
	build := exec.Command("go", "build", "-tags", "cuda", "-o", s.command, ".")
	build.Dir = home
	if out, err := build.CombinedOutput(); err != nil {
		return s, errors.New(string(out))
	}
	from := filepath.Join(home, "../../../kernels") + "/"
	stamp, err := kernels.Stamp(os.DirFS(from+"device"), os.DirFS(from+"src"))
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

// provided is the environment of an ONNX Runtime with a CUDA provider.
func provided(t *testing.T) []string {
	t.Helper()
	needAll(t)
	s, err := assets.Open("", assets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	real, err := s.Lookup("onnxruntime")
	if err != nil {
		t.Fatal(err)
	}
	lib, err := orttest.Double()
	if err != nil {
		t.Fatal(err)
	}
	return []string{orttest.RealKey + "=" + real.Path, "ENCBENCH_ORT_LIBRARY=" + lib, "ENCBENCH_FAKE_DEVICES=2"}
}

// A measurement on devices has a record with a table of them, each through the gate.
func TestDeviceSpeed(t *testing.T) {
	env := provided(t)
	speed := strings.Fields("speed --sample 8 --repeats 3 --min-time 0s --batch-size 2 --threads 1 --format json")
	r := start(t, env, append(speed, "--device", "cpu,cuda:1,cuda:0,1", "--dtype", "float32,tf32,float16")...)
	if r.code != 2 || !strings.Contains(r.stderr, "--dtype tf32 is a way of CUDA devices") {
		t.Errorf("tf32 on the processor: exit %d, %s", r.code, r.stderr)
	}
	// What nvidia-smi tells while it runs is in the record.
	dir := t.TempDir()
	const uuid = "GPU-656e6362-656e-6368-2066-616b65000000"
	line := uuid + ", encbench fake device, 550.00, 0000:00:00.0, 300.00, 350.00, 290.5, 1410, 1980, 2619, 55, 0x4, Enabled, Enabled, Disabled, 5, 16, 4, 99"
	if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte("#!/bin/sh\necho '"+line+"'\ncase $3 in -lms*) exec sleep 600;; esac\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	env = append(env, "PATH="+dir+":"+os.Getenv("PATH"))
	r = start(t, env, append(speed, "--device", "cuda:1,cuda:0,1", "--dtype", "tf32,float16")...)
	if r.code != 0 {
		t.Fatalf("exit %d: %s", r.code, r.stderr)
	}
	var records []bench.Record
	for dec := json.NewDecoder(strings.NewReader(r.stdout)); dec.More(); {
		var one []bench.Record
		if err := dec.Decode(&one); err != nil {
			t.Fatal(err)
		}
		records = append(records, one...)
	}
	if len(records) != 4 {
		t.Fatalf("%d records, want 4", len(records))
	}
	for i, rec := range records {
		e := rec.Engine
		want := []struct{ device, dtype string }{{"cuda:1", "tf32"}, {"cuda:1", "float16"}, {"cuda:0,1", "tf32"}, {"cuda:0,1", "float16"}}[i]
		if e.Device != want.device || e.Engaged != want.dtype || e.Requested != want.dtype || rec.Protocol.DType != want.dtype {
			t.Errorf("record %d: %s, %s asked for, %s engaged, protocol %s; want %+v", i, e.Device, e.Requested, e.Engaged, rec.Protocol.DType, want)
		}
		rows, names := int64(0), []string{}
		for _, d := range e.Devices {
			rows, names = rows+d.Rows, append(names, d.Name)
			if d.UUID == uuid && (d.PowerLimit != 300 || d.DefaultLimit != 350 || d.Power != 290.5 || d.ClockMHz != 1410 || d.HeldDown != "power limit (100 %)") {
				t.Errorf("record %d: what nvidia-smi told is %+v", i, d)
			}
			if (d.Measured > 0) != (want.dtype == "float16") || (d.HowPeak != "") != (want.dtype == "float16") {
				t.Errorf("record %d, %s: a measured peak of %g, %s", i, want.dtype, d.Measured, d.HowPeak)
			}
			if !d.Fake || d.MinCosine < 0.99 || d.Capability != "9.0" || d.BusyS <= 0 || d.Peak != 0 {
				t.Errorf("record %d: device %+v", i, d)
			}
		}
		if strings.Join(names, " ") != map[string]string{"cuda:1": "cuda:1", "cuda:0,1": "cuda:0 cuda:1"}[e.Device] {
			t.Errorf("record %d: devices %v", i, names)
		}
		var timed int64
		for _, s := range rec.Samples {
			timed += s.Chunks
		}
		if len(rec.Samples) != 3 || rows != timed || !rec.Accuracy.Passed || rec.MFU.Peak != 0 || rec.MFU.Source == "" || rec.Rates.Chunks.Median <= 0 {
			t.Errorf("record %d: %d samples, %d rows of %d, passed %v, %+v", i, len(rec.Samples), rows, timed, rec.Accuracy.Passed, rec.MFU)
		}
		if !slices.ContainsFunc(rec.Verdict.Reasons, func(s string) bool { return strings.Contains(s, ": a driver of tests") }) {
			t.Errorf("record %d may be published: %v", i, rec.Verdict.Reasons)
		}
	}
}

// An evaluation on devices has the values of one on the processor, and its stores search
// there.
func TestDeviceEval(t *testing.T) {
	env := provided(t)
	run := strings.Fields("eval --data techdocs-qa --docs 50 --queries 12 --batch-size 16 --measures nDCG@10 --store float16,int8 --format json")
	value := func(device string) (eval.Record, []float64) {
		r := start(t, env, append(run, "--device", device)...)
		if r.code != 0 {
			t.Fatalf("%s: exit %d: %s", device, r.code, r.stderr)
		}
		var rec eval.Record
		if err := json.Unmarshal([]byte(r.stdout), &rec); err != nil {
			t.Fatal(err)
		}
		values := []float64{rec.Collections[0].Values[0].Mean}
		for _, s := range rec.Collections[0].Stores {
			if s.Store != eval.StoreFloat32 {
				values = append(values, s.Differences[0].Diff)
			}
		}
		return rec, values
	}
	_, want := value("cpu")
	rec, got := value("cuda:0,1")
	if len(want) != 3 || len(got) != 3 {
		t.Fatalf("values %v on devices, %v on the processor", got, want)
	}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-3 {
			t.Errorf("values %v on devices, %v on the processor", got, want)
		}
	}
	if e := rec.Engine; e.Device != "cuda:0,1" || len(e.Devices) != 2 || e.Devices[1].MinCosine < 0.999 || e.Engaged != "float32" || rec.Model.Computed != "float32" {
		t.Errorf("engine %+v", e)
	}
	// Advice names a flag of the command.
	r := start(t, env, strings.Fields("eval --data techdocs-qa --docs 20 --queries 5 --measures nDCG@10 --device cuda:0 --format json")...)
	if r.code != 0 || !strings.Contains(r.stdout, "choose smaller groups (--batch-size)") {
		t.Errorf("little memory: exit %d, %s\n%s", r.code, r.stderr, r.stdout)
	}
	r = start(t, append(env, "ENCBENCH_CUDA_DRIVER=/none.so", "ENCBENCH_ORT_LIBRARY="), strings.Fields("eval --data techdocs-qa --docs 20 --queries 5 --measures nDCG@10")...)
	if r.code != 0 || !strings.Contains(r.stdout, "CUDA is off") || !strings.Contains(r.stdout, "no CUDA driver: /none.so") {
		t.Errorf("no driver: exit %d, %s\n%s", r.code, r.stderr, r.stdout)
	}
}

// A reranker's order on devices is that on the processor.
func TestDeviceRerank(t *testing.T) {
	env := provided(t)
	t.Chdir(t.TempDir())
	writeLabelled(t)
	writeReranker(t, "reranker")
	writeFirstStage(t)
	run := strings.Fields("rerank --model reranker --data labelled.jsonl --run first.run --batch-size 4 --run-out")
	for _, device := range []string{"cpu", "cuda:0,1"} {
		out := strings.NewReplacer(":", "", ",", "").Replace(device) + ".run"
		r := start(t, env, append(append(slices.Clone(run), out), "--device", device)...)
		if r.code != 0 || !strings.Contains(r.stdout, device) {
			t.Fatalf("%s: exit %d: %s\n%s", device, r.code, r.stderr, r.stdout)
		}
	}
	order := func(name string) (ids []string) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			ids = append(ids, f[0]+" "+f[2])
		}
		return ids
	}
	if a, b := order("cpu.run"), order("cuda01.run"); !slices.Equal(a, b) || len(a) < 10 {
		t.Errorf("orders\n%v\n%v", a, b)
	}
}

// Captured runs give the vectors that pass the gate, and the report says how they ran.
func TestDeviceGraphs(t *testing.T) {
	r := start(t, provided(t), strings.Fields("speed --sample 8 --repeats 2 --min-time 0s --batch-size 4 --threads 1 --device cuda:0 --ubatch-size 2 --cuda-graphs")...)
	if r.code != 0 || !strings.Contains(strings.Join(strings.Fields(r.stdout), " "), "run in groups of 2 rows padded to their length bucket, captured, in two streams") {
		t.Errorf("exit %d: %s\n%s", r.code, r.stderr, r.stdout)
	}
}

// Where there are devices and no provider auto encodes on the processor, and says what to
// get.
func TestDeviceAutoWithoutProvider(t *testing.T) {
	env := provided(t)
	s, err := assets.Open("", assets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// The cache as it is, without what a user may have got for devices.
	cache := t.TempDir()
	if err := os.Mkdir(filepath.Join(cache, "assets"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"derived", "assets/*"} {
		found, err := filepath.Glob(filepath.Join(s.Dir(), pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			name, err := filepath.Rel(s.Dir(), f)
			if err == nil && !strings.HasPrefix(name, "assets/cuda1") && !strings.HasPrefix(name, "assets/onnxruntime-gpu") {
				err = os.Symlink(f, filepath.Join(cache, name))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	r := start(t, append(env, "ENCBENCH_ORT_LIBRARY=", "ENCBENCH_CACHE="+cache), strings.Fields("speed --sample 2 --repeats 1 --min-time 0s --batch-size 2 --threads 1 --format json")...)
	const want = "CUDA is off: encoding on a CUDA device needs ONNX Runtime's CUDA provider, which is not here: run `encbench assets get cuda12`"
	var one bench.Record
	if err := json.Unmarshal([]byte(r.stdout), &one); r.code != 0 || err != nil {
		t.Fatalf("exit %d, %v: %s", r.code, err, r.stderr)
	}
	if e := one.Engine; e.Device != "cpu" || !strings.HasPrefix(e.DeviceNote, want) || !strings.Contains(r.stderr, want) {
		t.Errorf("device %s, %s; %s", e.Device, e.DeviceNote, r.stderr)
	}
	// A library of the user's for the processor is one to encode with there.
	own := strings.TrimPrefix(env[0], orttest.RealKey+"=")
	without := "encoding on a CUDA device needs ONNX Runtime's CUDA provider, which " + own + " was built without"
	r = start(t, append(env, "ENCBENCH_ORT_LIBRARY="+own), strings.Fields("eval --data techdocs-qa --docs 20 --queries 5 --measures nDCG@10 --format json")...)
	if r.code != 0 || !strings.Contains(r.stderr, "CUDA is off: "+without) {
		t.Errorf("a library for the processor: exit %d, %s", r.code, r.stderr)
	}
	r = start(t, append(env, "ENCBENCH_ORT_LIBRARY="+own), "doctor")
	if !strings.Contains(r.stdout, "note  provider   "+without) {
		t.Errorf("doctor: exit %d, %s", r.code, r.stdout)
	}
}

// What goes wrong on a device ends a measurement with the device's name and the reason,
// and the record of what was measured.
func TestDeviceSpeedFaults(t *testing.T) {
	env := provided(t)
	t.Chdir(t.TempDir())
	speed := strings.Fields("speed --sample 8 --repeats 3 --min-time 0s --batch-size 2 --threads 1 --device cuda:0,1")
	for _, c := range []struct {
		name string
		env  []string
		args string
		code int
		want string
	}{
		{"no provider", []string{"ENCBENCH_ORT_LIBRARY=", "ENCBENCH_CACHE=" + t.TempDir(), "ENCBENCH_MODEL_DIR=" + assettest.Need(t, "all-minilm-l6-v2")}, "", 1, "encoding on a CUDA device needs ONNX Runtime's CUDA provider, which is not here: run `encbench assets get cuda12`"},
		{"provider for the processor alone", []string{"ENCBENCH_ORT_LIBRARY=" + strings.TrimPrefix(env[0], orttest.RealKey+"=")}, "", 1, " was built without: name an onnxruntime-gpu with --ort-library"},
		{"out of memory", []string{"ENCBENCH_FAKE_FAIL=cuMemAlloc_v2:2:2"}, "", 1, "2 CUDA_ERROR_OUT_OF_MEMORY"},
		{"too little memory", []string{"ENCBENCH_FAKE_MEMORY=100000"}, "", 1, "bytes are free); runs of the longest rows may take up to "},
		{"little memory", []string{"ENCBENCH_FAKE_MEMORY=20000000"}, "", 0, "device-memory: cuda:0: runs of the longest rows may take up to "},
		{"advice", []string{"ENCBENCH_FAKE_MEMORY=20000000"}, "--format json", 0, "choose smaller groups (--ubatch-size)"},
		{"int8", nil, "--dtype int8", 2, "int8 layers are for the processor: on a CUDA device use --dtype float16, bfloat16, tf32 or float32, or --device cpu"},
		{"tf32 by the environment", []string{"NVIDIA_TF32_OVERRIDE=1"}, "", 2, "NVIDIA_TF32_OVERRIDE=1 makes products of float32 run in TF32: unset it, or use --dtype tf32"},
		{"no tf32 by the environment", []string{"NVIDIA_TF32_OVERRIDE=0"}, "--dtype tf32", 2, "NVIDIA_TF32_OVERRIDE=0 switches TF32 off: unset it, or use --dtype float32"},
		{"graphs without a shape", nil, "--cuda-graphs", 2, "--cuda-graphs has fixed shapes: give --ubatch-size a number of rows"},
		{"graphs on the processor", nil, "--cuda-graphs --ubatch-size 2 --device cpu", 2, "--cuda-graphs is for CUDA devices"},
		{"lost", []string{"ENCBENCH_FAKE_FAIL=copy-in:40:700"}, "", 1, "700 CUDA_ERROR_ILLEGAL_ADDRESS"},
	} {
		r := start(t, append(slices.Clone(env), c.env...), append(slices.Clone(speed), strings.Fields(c.args)...)...)
		if r.code != c.code || !strings.Contains(r.stdout+r.stderr, c.want) {
			t.Errorf("%s: exit %d, %q; want %d, %q", c.name, r.code, r.stdout+r.stderr, c.code, c.want)
		}
	}
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

// Doctor says what encoding on a device lacks: the provider where there is a device, and
// the libraries that a provider needs.
func TestDeviceDoctor(t *testing.T) {
	cache := t.TempDir()
	r := start(t, []string{"ENCBENCH_CACHE=" + cache, "ENCBENCH_ORT_LIBRARY="}, "doctor")
	for _, want := range []string{"ok    cuda:0     encbench fake device", "note  provider   encoding on a CUDA device needs ONNX Runtime's CUDA provider, which is not here: run `encbench assets get cuda12`"} {
		if r.code != 0 || !strings.Contains(r.stdout, want) {
			t.Errorf("exit %d, %s\nwant %s", r.code, r.stdout, want)
		}
	}
	r = start(t, []string{"ENCBENCH_CACHE=" + cache, "ENCBENCH_ORT_LIBRARY=", "ENCBENCH_CUDA_DRIVER=/none.so"}, "doctor")
	if r.code != 0 || strings.Contains(r.stdout, "provider ") || !strings.Contains(r.stdout, "note  driver     /none.so: cannot open") {
		t.Errorf("no driver: exit %d, %s", r.code, r.stdout)
	}
	// A runtime with a provider beside it, of which nothing is here.
	dir := t.TempDir()
	lib, err := orttest.Double()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(lib)
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "libonnxruntime.so.1.31.1")
	if err := os.WriteFile(own, text, 0o755); err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(dir, "p.c")
	if err := os.WriteFile(source, []byte("int p;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	needed := filepath.Join(dir, "needed")
	if err := os.Mkdir(needed, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"-shared", "-Wl,-soname,libcublas.so.12", "-o", filepath.Join(needed, "libcublas.so.12"), source},
		{"-shared", "-o", filepath.Join(dir, "libonnxruntime_providers_cuda.so"), source, "-Wl,--no-as-needed", filepath.Join(needed, "libcublas.so.12")},
	} {
		if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
			t.Fatalf("gcc %v: %v\n%s", args, err, out)
		}
	}
	env := append(provided(t), "ENCBENCH_ORT_LIBRARY="+own, "LD_LIBRARY_PATH=")
	r = start(t, env, "doctor")
	if want := "libcublas.so.12 is missing; run `encbench assets get "; r.code != 0 || !strings.Contains(r.stdout, want) {
		t.Errorf("exit %d, %s%s\nwant %s", r.code, r.stdout, r.stderr, want)
	}
	r = start(t, append(env, "LD_LIBRARY_PATH="+needed), "doctor")
	if strings.Contains(r.stdout, "libcublas.so.12 is missing") {
		t.Errorf("in LD_LIBRARY_PATH: exit %d, %s", r.code, r.stdout)
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
