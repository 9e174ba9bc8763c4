package peers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"time"
)

// trecEvalSHA256 is that of the one binary that is compared with; trec_eval.sh
// obtains it and README.md says from where.
const trecEvalSHA256 = "a282ee9c22966f306c4bcbbfda9142ff22f371012a2994782194e6afdadbe6e4"

// Program is a program that is timed as a process of its own, from its start to
// its end.
type Program struct{ path string }

// NewProgram names the program at path.
func NewProgram(path string) Program { return Program{path} }

// TrecEval gives the trec_eval binary at path. The error is ErrMissing where
// nothing is, and says so when it is another binary than the pinned one.
func TrecEval(path string) (Program, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Program{}, fmt.Errorf("trec_eval: no file %s; %w", path, ErrMissing)
	}
	if err != nil {
		return Program{}, fmt.Errorf("trec_eval: %w", err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return Program{}, fmt.Errorf("trec_eval: %w", err)
	}
	if found := hex.EncodeToString(sum.Sum(nil)); found != trecEvalSHA256 {
		return Program{}, fmt.Errorf("trec_eval: %s has sha256 %s, expected %s of the pinned package; remove it and run `make peers`", path, found, trecEvalSHA256)
	}
	return Program{path}, nil
}

// Run runs the program and gives what it wrote to standard output and the
// seconds from its start to its end. A failure carries the last lines of its
// standard error; the end of ctx kills it.
func (p Program) Run(ctx context.Context, args ...string) (out []byte, seconds float64, err error) {
	cmd := exec.CommandContext(ctx, p.path, args...)
	var stdout bytes.Buffer
	keep := &tail{limit: stderrKeep}
	cmd.Stdout, cmd.Stderr = &stdout, keep
	start := time.Now()
	err = cmd.Run()
	seconds = time.Since(start).Seconds()
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, 0, fmt.Errorf("%s: %w%s", strings.Join(cmd.Args, " "), err, said(keep))
	}
	return stdout.Bytes(), seconds, nil
}

func said(t *tail) string {
	if s := t.lines(stderrLine); s != "" {
		return "; its last lines:\n" + s
	}
	return ""
}
