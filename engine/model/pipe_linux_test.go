package model

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestOpenWeightsOfAPipe refuses a pipe without waiting for someone to write to it.
func TestOpenWeightsOfAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenWeights(path); err == nil || err.Error() != "read weights "+path+": not a regular file" {
		t.Errorf("got %v", err)
	}
}
