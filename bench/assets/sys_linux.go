package assets

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownGroup puts a command into a process group of its own, kills the whole group
// when its context ends, and lets the kernel kill the command when this process
// dies, so that no pip goes on filling a directory that nobody wants.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// exchange puts each of two directories where the other is, in one step: at no
// moment is there nothing. The error is errors.ErrUnsupported where the file
// system cannot.
func exchange(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) {
		err = errors.ErrUnsupported
	}
	return os.NewSyscallError("exchange "+from+" and "+to, err)
}
