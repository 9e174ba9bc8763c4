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

func TestInt8Graph(t *testing.T) {
	path := filepath.Join(t.TempDir(), "q.onnx")
	if err, want := Int8Graph(path), "int8 graph: no file "+path+"; "+ErrMissing.Error(); !errors.Is(err, ErrMissing) || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	if err := os.WriteFile(path, []byte("another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("int8 graph: %s has sha256 %x, expected %s of the pinned package; remove it and run `make peers`", path, sha256.Sum256([]byte("another\n")), int8GraphSHA256)
	if err := Int8Graph(path); err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// TestScriptsAgree: what the scripts obtain is what is looked for.
func TestScriptsAgree(t *testing.T) {
	for name, sum := range map[string]string{"trec_eval.sh": trecEvalSHA256, "int8_graph.sh": int8GraphSHA256} {
		script, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(script), "\n\t"+sum+" \"$@\"\n") {
			t.Errorf("%s obtains another file than %s", name, sum)
		}
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
