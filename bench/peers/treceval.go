package peers

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Program is a program that is timed as a process of its own, from its start to
// its end.
type Program struct{ path string }

// NewProgram names the program at path.
func NewProgram(path string) Program { return Program{path} }

// TrecEval gives the trec_eval binary at path. The error is ErrMissing where
// nothing is, and says so when it is another binary than the pinned one.
func TrecEval(path string) (Program, error) {
	if err := pinned("trec_eval", path, trecEvalSHA256); err != nil {
		return Program{}, err
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
