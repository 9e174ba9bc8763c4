package assets

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait for another process in these tests.
const patience = 30 * time.Second

func waitFor(t testing.TB, cond func() bool) {
	for end := time.Now().Add(patience); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("waited %v in vain", patience)
			return
		}
	}
}

func fileHas(path, text string) bool {
	b, err := os.ReadFile(path)
	return err == nil && strings.Contains(string(b), text)
}

// wantGone fails unless the process whose id is in the file ends soon.
func wantGone(t testing.TB, pidFile string) {
	t.Helper()
	b, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return true
		}
		// An orphan stays a zombie where process 1 reaps nobody.
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}

// spawn starts this test binary as a process that runs Get (or Refresh) and
// stops at the named point.
func (r *rig) spawn(what, stop string) (*exec.Cmd, *bufio.Scanner) {
	r.t.Helper()
	lock := filepath.Join(filepath.Dir(r.cache), "lock.json")
	if _, err := os.Stat(lock); err != nil {
		r.write(lock, r.lockJSON(), 0o644)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "ENCBENCH_TEST_CHILD="+what, "ENCBENCH_TEST_LOCK="+lock, "ENCBENCH_TEST_STOP="+stop)
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); errors.Is(err, syscall.ENOEXEC) {
		r.t.Skip("an emulator runs this test, and the kernel cannot start another program of its architecture")
	} else if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_ = cmd.Process.Kill() // has ended, unless the test failed
		_ = cmd.Wait()
	})
	return cmd, bufio.NewScanner(out)
}

func kill(t testing.TB, cmd *exec.Cmd, out *bufio.Scanner) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for out.Scan() {
		t.Errorf("output after the point where it stopped: %s", out.Text())
	}
	err := cmd.Wait()
	if st, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !st.Signaled() {
		t.Fatalf("the child was not killed: %v", err)
	}
}

// TestKilledGet kills a real process with SIGKILL at every stage of Get. What
// was unfinished is invisible, what was finished is kept, and the next run
// succeeds and removes the rest.
func TestKilledGet(t *testing.T) {
	for _, c := range []struct {
		what, point string
		finished    bool
	}{
		{"get", "locked", false},
		{"get", "workdir", false},
		{"get", "downloaded", false},
		{"get", "unpacked lib.so", false},
		{"get", "unpacked model/big.bin", false},
		{"get", "filled", false},
		{"get", "placed", true},
		{"refresh", "unpacked lib.so", true},
		{"refresh", "filled", true},
		{"refresh", "placed", true},
		{"refresh", "aside", true},
	} {
		t.Run(c.what+" "+c.point, func(t *testing.T) {
			r := newRig(t, zipOf(t, thingZip...))
			before := 1
			if c.point == "aside" {
				t.Setenv("ENCBENCH_TEST_EXCHANGE", "no")
				r.opt.exchange = noExchange
			}
			if c.what == "refresh" {
				if _, err := r.store().Get(t.Context(), "thing"); err != nil {
					t.Fatal(err)
				}
				before++
			}
			cmd, out := r.spawn(c.what, c.point)
			if !out.Scan() || out.Text() != "at "+c.point {
				t.Fatalf("the child said %q, expected that it stops at %s", out.Text(), c.point)
			}
			kill(t, cmd, out)

			_, err := r.store().Lookup("thing")
			if c.point == "aside" {
				// Between the two renames nothing is there, and Get puts it back.
				if !errors.Is(err, ErrAbsent) {
					t.Errorf("Lookup: %v", err)
				}
			} else if c.finished && err != nil || !c.finished && !errors.Is(err, ErrAbsent) {
				t.Errorf("after the kill, finished %v, Lookup says: %v", c.finished, err)
			}
			if _, err := r.store().Get(t.Context(), "thing"); err != nil {
				t.Fatalf("Get after the kill: %v", err)
			}
			r.wantThing()
			if c.finished {
				if r.runs() != before {
					t.Errorf("pip ran %d times, expected %d: a finished asset was not kept", r.runs(), before)
				}
				// Nothing was obtained, so nothing was swept yet.
				if _, err := r.store().Refresh(t.Context(), "thing"); err != nil {
					t.Fatal(err)
				}
			}
			r.wantClean()
			if hidden, err := filepath.Glob(filepath.Join(r.cache, "assets", ".*")); err != nil || len(hidden) != 0 {
				t.Errorf("left aside: %v %v", hidden, err)
			}
		})
	}
}

// TestKilledWhilePipRuns also wants pip itself gone, so that it does not fill a
// directory that nobody owns.
func TestKilledWhilePipRuns(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a command with its parent")
	}
	r := newRig(t, zipOf(t, thingZip...))
	t.Setenv("FAKE_MODE", "slow")
	cmd, out := r.spawn("get", "")
	waitFor(t, func() bool { return fileHas(r.log+".pid", "\n") })
	kill(t, cmd, out)
	wantGone(t, r.log+".pid")
	if es, err := os.ReadDir(filepath.Join(r.cache, "tmp")); err != nil || len(es) != 1 {
		t.Errorf("tmp after the kill: %v %v, expected the one unfinished directory", es, err)
	}
	t.Setenv("FAKE_MODE", "")
	if _, err := r.store().Get(t.Context(), "thing"); err != nil {
		t.Fatal(err)
	}
	r.wantThing()
	r.wantClean()
}

// TestTwoProcesses starts several processes that want the same asset: all get
// it, and it is downloaded once.
func TestTwoProcesses(t *testing.T) {
	r := newRig(t, zipOf(t, thingZip...))
	var outs []*bufio.Scanner
	var cmds []*exec.Cmd
	for range 4 {
		cmd, out := r.spawn("get", "")
		cmds, outs = append(cmds, cmd), append(outs, out)
	}
	for i, out := range outs {
		if !out.Scan() || !strings.HasPrefix(out.Text(), "done "+r.cache) {
			t.Errorf("process %d: %s", i, out.Text())
		}
		if err := cmds[i].Wait(); err != nil && !errors.Is(err, io.EOF) {
			t.Errorf("process %d: %v", i, err)
		}
	}
	if r.runs() != 1 {
		t.Errorf("pip ran %d times, expected 1", r.runs())
	}
	r.wantThing()
	r.wantClean()
}

// TestSweepSparesTheLiving: a second asset's Get must not remove the directory
// in which a living process works.
func TestSweepSparesTheLiving(t *testing.T) {
	r := newRig(t, zipOf(t, thingZip...))
	cmd, out := r.spawn("get", "downloaded")
	if !out.Scan() {
		t.Fatal("the child said nothing")
	}
	s := r.store()
	w, err := s.newWorkDir(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	es, err := os.ReadDir(filepath.Join(r.cache, "tmp"))
	if err != nil || len(es) != 2 {
		t.Errorf("tmp holds %v %v, expected two directories", es, err)
	}
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	kill(t, cmd, out)
	if w, err = s.newWorkDir(t.Context(), "other"); err != nil {
		t.Fatal(err)
	}
	if es, err = os.ReadDir(filepath.Join(r.cache, "tmp")); err != nil || len(es) != 1 {
		t.Errorf("tmp holds %v %v, expected one directory", es, err)
	}
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
}
