//go:build !linux

package model

import "io/fs"

// identify is for Linux; elsewhere nothing is remembered.
func (s *FileState) identify(fs.FileInfo) bool { return false }
