package peers

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"encbench/bench/assets/assettest"
)

// The test binary plays the worker when this variable names a way to behave.
const fakeEnv = "ENCBENCH_FAKE_PEER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(fakeEnv); mode != "" {
		fake(mode)
	}
	os.Exit(m.Run())
}

// fake speaks the worker's protocol from a fixed script and exits.
func fake(mode string) {
	answer := func(v any) {
		line, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s\n", line)
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m map[string]any
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			fmt.Fprintf(os.Stderr, "fake: %v\n", err)
			os.Exit(9)
		}
		switch m["cmd"] {
		case "hello":
			answer(map[string]any{"ok": true, "cpus": 2, "versions": map[string]string{"python": "3"},
				"env": map[string]string{"OMP_NUM_THREADS": os.Getenv("OMP_NUM_THREADS"), "OPENBLAS_CORETYPE": os.Getenv("OPENBLAS_CORETYPE")}})
		case "load":
			if m["peer"] == "absent" {
				answer(map[string]any{"error": "import torch: No module named 'torch'", "kind": "missing"})
				continue
			}
			answer(map[string]any{"ok": true, "load_s": 0.5})
		case "input":
			answer(map[string]any{"ok": true, "rows": 3, "checked": 3, "mismatches": 1, "mismatch_rows": []int{2}})
		case "run":
			fmt.Fprintln(os.Stderr, "about to run")
			switch mode {
			case "crash":
				fmt.Fprintln(os.Stderr, "Segmentation fault, as it were")
				os.Exit(7)
			case "hang":
				time.Sleep(time.Hour)
			case "family", "orphan":
				// A child that holds standard output and error, as an exporter would.
				child := exec.Command("sleep", "600")
				child.Stdout, child.Stderr = os.Stdout, os.Stderr
				if err := child.Start(); err != nil {
					panic(err)
				}
				text := strconv.Itoa(child.Process.Pid)
				part := m["out"].(string) + ".part"
				if err := errors.Join(os.WriteFile(part, []byte(text), 0o600), os.Rename(part, m["out"].(string))); err != nil {
					panic(err)
				}
				if mode == "orphan" {
					os.Exit(7)
				}
				time.Sleep(time.Hour)
			case "noise":
				fmt.Println("Loading weights: 100%")
			case "fault":
				answer(map[string]any{"error": "ValueError: bad shape", "kind": "failed", "trace": "Traceback:\n  line 9\n"})
			case "zero":
				answer(map[string]any{"ok": true, "wall_s": 0})
			default:
				answer(map[string]any{"ok": true, "wall_s": 1.5, "cpu_s": 3, "rows": 3, "dim": 4, "out": m["out"]})
			}
		case "tokenize":
			if m["tokenizer"] != "t.json" || m["texts"] != "a.texts" || m["out"] != "a.ids" {
				answer(map[string]any{"error": "no such file", "kind": "usage"})
				continue
			}
			answer(map[string]any{"ok": true, "texts": 3, "tokens": 17})
		case "train":
			answer(map[string]any{"ok": true, "pieces": m["size"].(float64) + 1, "wall_s": 2})
		case "close":
			if mode == "stubborn" {
				os.Exit(3)
			}
			answer(map[string]any{"ok": true})
			os.Exit(0)
		}
	}
	os.Exit(0)
}

// start launches the test binary as a worker that behaves as mode says.
func start(t *testing.T, mode string) *Worker {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("OPENBLAS_CORETYPE", "PRESCOTT")
	w, err := launch(exec.Command(self, "-test.run=^$"), Start{Threads: 3, Env: []string{fakeEnv + "=" + mode}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	if err := w.ask(t.Context(), "hello", map[string]any{}, &w.hello); err != nil {
		t.Fatal(err)
	}
	return w
}

func config(peer string) Config {
	return Config{Peer: peer, Model: "model", Threads: 3, Batch: 8}
}

func TestWorkerConversation(t *testing.T) {
	w := start(t, "good")
	ctx := t.Context()
	if got := w.Hello(); got.CPUs != 2 || got.Versions["python"] != "3" || got.Env["OMP_NUM_THREADS"] != "3" || got.Env["OPENBLAS_CORETYPE"] != "" {
		t.Errorf("hello = %+v, want 2 cpus, python 3, 3 threads, no OPENBLAS_CORETYPE", got)
	}
	if got, err := w.Load(ctx, config("st-torch")); err != nil || got.LoadS != 0.5 {
		t.Errorf("Load = %+v, %v", got, err)
	}
	in, err := w.Input(ctx, "rows.jsonl")
	if err != nil || in.Rows != 3 || in.Mismatches != 1 || !slices.Equal(in.MismatchRows, []int{2}) {
		t.Errorf("Input = %+v, %v", in, err)
	}
	if err := in.Check(); !errors.Is(err, ErrIDs) || !strings.Contains(err.Error(), "1 of 3 rows") {
		t.Errorf("Check of a mismatch = %v, want ErrIDs naming 1 of 3 rows", err)
	}
	if err := (Input{Rows: 3, Checked: 3}).Check(); err != nil {
		t.Errorf("Check without mismatch = %v", err)
	}
	if err := (Input{Rows: 3, Checked: 2}).Check(); !errors.Is(err, ErrIDs) {
		t.Errorf("Check with an unchecked row = %v, want ErrIDs", err)
	}
	run, err := w.Run(ctx, "v.npy")
	if err != nil || run.WallS != 1.5 || run.CPUS != 3 || run.Dim != 4 || run.Out != "v.npy" {
		t.Errorf("Run = %+v, %v", run, err)
	}
	if s, err := w.Measure(ctx, config("st-torch"), 2); err != nil || !slices.Equal(s, []float64{1.5, 1.5}) {
		t.Errorf("Measure = %v, %v, want two passes of 1.5 s", s, err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("second Close = %v", err)
	}
	if _, err := w.Run(ctx, ""); !errors.Is(err, ErrClosed) {
		t.Errorf("Run after Close = %v, want ErrClosed", err)
	}
}

func TestWorkerCrash(t *testing.T) {
	w := start(t, "crash")
	if _, err := w.Load(t.Context(), config("st-torch")); err != nil {
		t.Fatal(err)
	}
	_, err := w.Run(t.Context(), "")
	const want = "peer st-torch: run: peer process ended (exit status 7); its last lines:\nabout to run\nSegmentation fault, as it were"
	if !errors.Is(err, ErrDied) || err.Error() != want {
		t.Errorf("Run = %v\nwant %s", err, want)
	}
	if _, err := w.Run(t.Context(), ""); !errors.Is(err, ErrClosed) {
		t.Errorf("Run after a crash = %v, want ErrClosed", err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("Close after a crash = %v", err)
	}
}

func TestWorkerTimeout(t *testing.T) {
	w := start(t, "hang")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := w.Run(ctx, "")
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "run: no answer") {
		t.Errorf("Run = %v, want a deadline", err)
	}
	if w.cmd.ProcessState == nil {
		t.Error("the process was not collected")
	}
	if _, err := w.Run(t.Context(), ""); !errors.Is(err, ErrClosed) {
		t.Errorf("Run after a timeout = %v, want ErrClosed", err)
	}
}

// TestWorkerLeavesNobody: an interrupted and a failed run end the worker and what
// it started.
func TestWorkerLeavesNobody(t *testing.T) {
	for _, c := range []struct {
		mode string
		is   error
	}{{"family", context.Canceled}, {"orphan", ErrDied}} {
		t.Run(c.mode, func(t *testing.T) {
			w := start(t, c.mode)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			pidFile := filepath.Join(t.TempDir(), "pid")
			var pid int
			watched := make(chan error, 1)
			go func() {
				watched <- until(func() bool {
					b, err := os.ReadFile(pidFile)
					if err != nil {
						return false
					}
					pid, err = strconv.Atoi(string(b))
					return err == nil
				})
				cancel()
			}()
			var err error
			if c.mode == "orphan" {
				_, err = w.Run(t.Context(), pidFile)
			} else {
				_, err = w.Run(ctx, pidFile)
			}
			if !errors.Is(err, c.is) {
				t.Errorf("Run = %v, want %v", err, c.is)
			}
			if err := <-watched; err != nil {
				t.Fatal(err)
			}
			if w.cmd.ProcessState == nil {
				t.Error("the process was not collected")
			}
			if err := w.Close(); err != nil {
				t.Errorf("Close = %v", err)
			}
			if err := until(func() bool { return gone(pid) }); err != nil {
				t.Errorf("process %d, which the worker started, lives on: %v", pid, err)
			}
		})
	}
}

// TestWorkerCancelledBefore: a context that had ended before the command leaves
// the worker to Close, which ends it.
func TestWorkerCancelledBefore(t *testing.T) {
	w := start(t, "good")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Run(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v", err)
	}
	if err := w.Close(); err != nil || w.cmd.ProcessState == nil {
		t.Errorf("Close = %v, state %v", err, w.cmd.ProcessState)
	}
}

// TestScriptEndsWithItsParent kills the parent of the real script while that is
// busy, so that no end of input tells it.
func TestScriptEndsWithItsParent(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		assettest.Without(t, "no python3 in PATH")
	}
	dir, _, err := writeScripts()
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	busy := filepath.Join(dir, "busy.py")
	text := "import os, sys, time\nimport parent\nparent.follow()\nprint(os.getpid(), flush=True)\ntime.sleep(600)\n"
	if err := os.WriteFile(busy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	// The shell is the parent; the script leads a group of its own, as a worker's.
	sh := exec.Command("sh", "-c", `"$0" -c 'import os, sys; os.setpgid(0, 0); os.execv(sys.executable, [sys.executable, sys.argv[1]])' "$1" & wait`, python, busy)
	sh.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	out, err := sh.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sh.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }() // gone, unless the test fails
	if err := sh.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = sh.Wait() // it was killed
	if err := until(func() bool { return gone(pid) }); err != nil {
		t.Errorf("the script lives on: %v", err)
	}
}

// until waits for another process.
func until(cond func() bool) error {
	const patience = 30 * time.Second
	for end := time.Now().Add(patience); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("waited %v in vain", patience)
		}
	}
	return nil
}

// gone tells whether a process has ended. An orphan stays a zombie where process
// 1 reaps nobody.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func TestWorkerOutOfStep(t *testing.T) {
	w := start(t, "noise")
	_, err := w.Run(t.Context(), "")
	if err == nil || !strings.Contains(err.Error(), `answer is not the protocol's: "Loading weights: 100%"`) {
		t.Errorf("Run = %v, want the line that is not an answer", err)
	}
	if _, err := w.Run(t.Context(), ""); !errors.Is(err, ErrClosed) {
		t.Errorf("Run afterwards = %v, want ErrClosed", err)
	}
}

func TestWorkerFaults(t *testing.T) {
	w := start(t, "fault")
	_, err := w.Load(t.Context(), config("absent"))
	const missing = "peer absent: load: import torch: No module named 'torch'; run `make peers`, which installs the pinned Python environment of bench/peers"
	if !errors.Is(err, ErrMissing) || err.Error() != missing {
		t.Errorf("Load = %v\nwant %s", err, missing)
	}
	_, err = w.Run(t.Context(), "")
	var fault *Fault
	if !errors.As(err, &fault) || fault.Kind != "failed" || err.Error() != "peer absent: run: ValueError: bad shape\nTraceback:\n  line 9" {
		t.Errorf("Run = %v, want the fault with its trace", err)
	}
	if _, err := w.Input(t.Context(), "rows.jsonl"); err != nil {
		t.Errorf("the worker must live after a fault: %v", err)
	}
}

func TestWorkerRefusesNoTime(t *testing.T) {
	w := start(t, "zero")
	if _, err := w.Run(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "wall time is 0 s") {
		t.Errorf("Run = %v, want a refusal of 0 seconds", err)
	}
}

func TestWorkerBadLeave(t *testing.T) {
	w := start(t, "stubborn")
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("Close = %v, want exit status 3", err)
	}
}

func TestNewWithoutPython(t *testing.T) {
	_, err := New(t.Context(), Start{Python: filepath.Join(t.TempDir(), "bin", "python"), Threads: 2})
	if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "make peers") {
		t.Errorf("New = %v, want ErrMissing naming make peers", err)
	}
	if _, err := New(t.Context(), Start{Python: "python3"}); err == nil || !strings.Contains(err.Error(), "threads is 0") {
		t.Errorf("New with no threads = %v", err)
	}
}

func TestConfigValidate(t *testing.T) {
	err := Config{Threads: 2, Workers: 3, MaxSeqLength: -1}.Validate()
	const want = "peer is not named\nmodel directory is not named\nworkers is 3, want 0 to 2 (threads)\nmax_seq_length is -1, want 0 or more\nbatch is 0, want at least 1"
	if err == nil || err.Error() != want {
		t.Errorf("Validate = %v\nwant %s", err, want)
	}
}

func TestTail(t *testing.T) {
	k := &tail{limit: 10}
	for _, s := range []string{"first\n", "second\n", "third\n"} {
		if n, err := k.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatalf("Write(%q) = %d, %v", s, n, err)
		}
	}
	if got := k.lines(1); got != "third" {
		t.Errorf("lines(1) = %q", got)
	}
	if got := k.lines(9); got != "ond\nthird" {
		t.Errorf("lines(9) = %q, want the last 10 bytes", got)
	}
}

// TestScripts compiles the Python files where a Python is.
func TestScripts(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		assettest.Without(t, "no python3 in PATH")
	}
	dir, entry, err := writeScripts()
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if _, err := os.Stat(entry); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.py"))
	if err != nil || len(files) != 8 {
		t.Fatalf("scripts = %v, %v, want 8", files, err)
	}
	before, err := os.Stat("__pycache__")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	cmd := exec.Command(python, append([]string{"-m", "py_compile", "reference.py"}, files...)...)
	cmd.Env = append(os.Environ(), "PYTHONPYCACHEPREFIX="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("py_compile: %v\n%s", err, out)
	}
	after, err := os.Stat("__pycache__")
	if err == nil && (before == nil || !after.ModTime().Equal(before.ModTime())) {
		t.Error("compiled files were written beside the sources")
	}
}

// TestRealWorkerWithoutPackages talks to the real script with a bare Python: it
// must greet, and name what is missing.
func TestRealWorkerWithoutPackages(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		assettest.Without(t, "no python3 in PATH")
	}
	// By way of a wrapper, with -S: no site-packages, whatever the machine has.
	bare := filepath.Join(t.TempDir(), "python")
	script := "#!/bin/sh\nshift\nfile=$1\nexec '" + python + "' -S -s -u \"$file\"\n"
	if err := os.WriteFile(bare, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var stderr bytes.Buffer
	w, err := New(ctx, Start{Python: bare, Threads: 1, Stderr: &stderr})
	if err != nil {
		t.Fatal(err)
	}
	dir := w.dir
	if w.Hello().Versions["python"] == "" || w.Hello().CPUs < 1 {
		t.Errorf("hello = %+v", w.Hello())
	}
	c := config("hf-tokenizers")
	c.Threads = 1
	c.Model = filepath.Join(t.TempDir(), "none")
	if _, err := w.Load(ctx, c); err == nil || !strings.Contains(err.Error(), "is missing") {
		t.Errorf("Load without a model = %v", err)
	}
	c.Model = t.TempDir()
	if _, err := w.Load(ctx, c); !errors.Is(err, ErrMissing) {
		t.Errorf("Load without packages = %v, want ErrMissing", err)
	}
	c.Peer = "st-openvino"
	if _, err := w.Load(ctx, c); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "overlay-openvino is missing") {
		t.Errorf("Load without the overlay = %v, want ErrMissing", err)
	}
	c.Peer = "nonesuch"
	if _, err := w.Load(ctx, c); err == nil || !strings.Contains(err.Error(), "unknown peer 'nonesuch', know ort-python") {
		t.Errorf("Load of an unknown peer = %v", err)
	}
	if _, err := w.Run(ctx, ""); err == nil || !strings.Contains(err.Error(), "run before load and input") {
		t.Errorf("Run before Load = %v", err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("Close = %v, stderr %s", err, stderr.String())
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the scripts' folder is still there: %v", err)
	}
}
