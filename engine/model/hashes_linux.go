package model

import (
	"io/fs"
	"syscall"
)

// identify adds what the kernel says of a file.
func (s *FileState) identify(st fs.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if ok {
		s.ChangeTime, s.Device, s.Inode = sys.Ctim.Nano(), uint64(sys.Dev), sys.Ino
	}
	return ok
}
