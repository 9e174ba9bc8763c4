package assets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

const (
	pipTailLines = 12                     // of pip's output that an error shows
	pipTailBytes = 64 << 10               // of pip's output that are kept
	pipPoll      = 200 * time.Millisecond // between two looks at the download's size
	pipGrace     = 5 * time.Second        // for pip to end after it was killed
)

// pipArgs is the command after the Python: everything that decides which wheel
// pip takes is explicit, so the user's Python version and machine do not.
func pipArgs(e *Entry, requirements, to string) []string {
	args := []string{"-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--require-hashes", "-r", requirements}
	for tag := range strings.SplitSeq(e.Pip.Platform, ".") {
		args = append(args, "--platform", tag)
	}
	return append(args, "--implementation", e.Pip.Implementation, "--python-version", e.Pip.PythonVersion, "--abi", e.Pip.ABI,
		"--progress-bar", "off", "-d", to)
}

// download runs pip and gives the path of the wheel below dir. pip's temporary
// files are below dir too, so that they vanish with it after a kill.
func (s *Store) download(ctx context.Context, e *Entry, dir string) (string, error) {
	requirements := filepath.Join(dir, "requirements.txt")
	// Neither may be called like a Python module: the directory is on its path.
	to, tmp := filepath.Join(dir, "wheel-download"), filepath.Join(dir, "pip-scratch")
	line := fmt.Sprintf("%s==%s --hash=sha256:%s\n", e.Package, e.Version, e.SHA256)
	err := errors.Join(os.WriteFile(requirements, []byte(line), 0o644), os.Mkdir(to, 0o755), os.Mkdir(tmp, 0o755))
	if err != nil {
		return "", err
	}
	python, err := exec.LookPath(s.opt.Python)
	if err != nil {
		return "", fmt.Errorf("%w: %w; set ENCBENCH_PYTHON to a Python that has pip", ErrPython, err)
	}
	// A relative path would be read against the command's own directory.
	if python, err = filepath.Abs(python); err != nil {
		return "", err
	}
	tail := &tailBuffer{}
	// Interrupted by ctx, and killed with everything it started.
	cmd := exec.CommandContext(ctx, python, pipArgs(e, requirements, to)...)
	cmd.Stdout, cmd.Stderr = tail, tail
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "PYTHONUNBUFFERED=1", "PIP_DISABLE_PIP_VERSION_CHECK=1")
	cmd.Dir = dir
	ownGroup(cmd)
	cmd.WaitDelay = pipGrace
	s.opt.Log.Debug("run pip", "command", cmd.String())

	stop := s.watch(e, to, tmp)
	err = runLocked(cmd)
	stop()
	if ctx.Err() != nil {
		return "", fmt.Errorf("run pip: %w", context.Cause(ctx))
	}
	if err != nil {
		return "", pipError(python, err, tail.String())
	}
	wheel := filepath.Join(to, e.Wheel)
	if _, err := os.Stat(wheel); err != nil {
		return "", fmt.Errorf("%w: it ended well but left no %s%s", ErrPip, e.Wheel, said(tail.String()))
	}
	return wheel, nil
}

// runLocked runs a command on one OS thread: the signal that ends pip when this
// process dies is tied to the thread that started it.
func runLocked(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return cmd.Run()
}

func pipError(python string, err error, output string) error {
	words := said(output)
	switch {
	case strings.Contains(output, "No module named pip"):
		return fmt.Errorf("%w: %s%s\ninstall pip for it, or set ENCBENCH_PYTHON to a Python that has pip", ErrNoPip, python, words)
	case strings.Contains(output, "No space left on device"), strings.Contains(output, "Disk quota exceeded"):
		return fmt.Errorf("%w: pip download: %w%s", ErrNoSpace, err, words)
	case strings.Contains(output, "DO NOT MATCH THE HASHES"):
		return fmt.Errorf("%w: the file it was given is not the locked one: %w%s\nthe mirror that pip uses serves other bytes; see: %s -m pip config list",
			ErrPip, err, words, python)
	}
	return fmt.Errorf("%w: %w%s\ncheck the network and pip's index and proxy settings; see: %s -m pip config list", ErrPip, err, words, python)
}

// said ends a sentence about pip with the last lines of its output, set off from
// the error around them.
func said(output string) string {
	if strings.TrimSpace(output) == "" {
		return ", and pip printed nothing"
	}
	lines := strings.Split(strings.TrimSpace(output), "\n")
	if n := len(lines) - pipTailLines; n > 0 {
		lines = lines[n:]
	}
	for i, l := range lines {
		lines[i] = "    " + strings.TrimRight(l, "\r ")
	}
	return ":\n" + strings.Join(lines, "\n")
}

// watch reports the growth of the download, which pip itself shows to terminals
// only. The function it gives ends it.
func (s *Store) watch(e *Entry, dirs ...string) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	m := s.meter(e, "download", e.Size)
	m.set(0)
	wg.Go(func() {
		// pip moves the file at the end, so the figure would fall back.
		var largest int64
		for {
			select {
			case <-done:
				return
			case <-time.After(pipPoll):
			}
			for _, d := range dirs {
				largest = max(largest, treeBytes(d))
			}
			m.set(largest)
		}
	})
	return func() { close(done); wg.Wait() }
}

// treeBytes is the size of the files below dir; what vanishes meanwhile counts
// as nothing.
func treeBytes(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if i, err := d.Info(); err == nil {
				n += i.Size()
			}
		}
		return nil
	})
	return n
}

// tailBuffer keeps the end of what is written to it.
type tailBuffer struct{ b bytes.Buffer }

func (t *tailBuffer) Write(p []byte) (int, error) {
	t.b.Write(p)
	if extra := t.b.Len() - pipTailBytes; extra > 0 {
		t.b.Next(extra)
	}
	return len(p), nil
}

func (t *tailBuffer) String() string { return t.b.String() }
