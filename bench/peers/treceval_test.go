package peers

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTrecEvalRefusesOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trec_eval")
	_, err := TrecEval(path)
	if want := "trec_eval: no file " + path + "; " + ErrMissing.Error(); !errors.Is(err, ErrMissing) || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = TrecEval(path)
	want := fmt.Sprintf("trec_eval: %s has sha256 %x, expected %s of the pinned package; remove it and run `make peers`", path, sha256.Sum256([]byte("#!/bin/sh\n")), trecEvalSHA256)
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

func TestTrecEvalShAgrees(t *testing.T) {
	script, err := os.ReadFile("trec_eval.sh")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(script), "\ninner_sha256="+trecEvalSHA256+"\n") {
		t.Errorf("trec_eval.sh obtains another binary than %s", trecEvalSHA256)
	}
}

func TestProgram(t *testing.T) {
	sh := NewProgram("/bin/sh")
	out, seconds, err := sh.Run(t.Context(), "-c", "echo found")
	if err != nil || string(out) != "found\n" || !(seconds > 0) {
		t.Errorf("%q, %v s, %v", out, seconds, err)
	}
	_, _, err = sh.Run(t.Context(), "-c", "echo wrong >&2; exit 3")
	if want := "/bin/sh -c echo wrong >&2; exit 3: exit status 3; its last lines:\nwrong"; err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := sh.Run(ctx, "-c", "exec sleep 600"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want a deadline", err)
	}
}
