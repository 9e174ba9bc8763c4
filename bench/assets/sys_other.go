//go:build unix && !linux

package assets

import (
	"errors"
	"os/exec"
	"syscall"
)

// ownGroup puts a command into a process group of its own, and kills the whole
// group when its context ends. Only Linux can tie it to this process's life.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// exchange is for Linux.
func exchange(_, _ string) error { return errors.ErrUnsupported }
