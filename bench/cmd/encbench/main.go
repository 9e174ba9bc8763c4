// Command encbench measures retrieval encoders: how many documents a second a
// model processes on this machine, whether its vectors are right, and where the
// time goes.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"encbench/bench/env"
)

// app is what a subcommand may touch of the outside world.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	terminal       bool // stderr is a terminal: progress is drawn in place
	// memory gives what the process can still take; nil = what the system says.
	memory func() env.Room
	// probe is how long the machine's peak is measured; 0 = probeTime.
	probe time.Duration
}

// probeTime is how long the machine's peak is measured.
const probeTime = 300 * time.Millisecond

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// The first signal asks for a drained end; from then on the next one kills.
	context.AfterFunc(ctx, stop)
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, terminal: isTerminal(os.Stderr)}
	os.Exit(a.run(ctx, os.Args[1:]))
}

// Exit codes.
const (
	exitFailure = 1
	exitUsage   = 2
)

// usageError is a fault of the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// usagef makes a usageError.
func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// errQuiet ends a command with exit code 1 after it has said everything itself.
var errQuiet = errors.New("")

// run finds the subcommand, runs it and gives the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	if group := asksForGroup(args); group != nil {
		a.groupHelp(group)
		return 0
	}
	c, rest, err := find(args)
	switch {
	case err != nil:
		fmt.Fprintf(a.stderr, "encbench: %v\n", err)
		return exitUsage
	case c == nil:
		a.overview()
		return 0
	}
	out := &checked{w: a.stdout}
	a = &app{stdin: interruptible(ctx, a.stdin), stdout: out, stderr: a.stderr, terminal: a.terminal, memory: a.memory, probe: a.probe}
	fs := c.flagSet()
	opt := c.define(fs)
	if err := fs.Parse(rest); err != nil {
		if errors.Is(err, errHelp) {
			c.help(a.stdout, fs)
			if out.err != nil {
				return exitFailure
			}
			return 0
		}
		fmt.Fprintf(a.stderr, "encbench %s: %v\nSee `encbench %s --help`.\n", c.name, err, c.name)
		return exitUsage
	}
	err = opt.run(ctx, a, fs.Args())
	if err == nil && out.err != nil {
		err = fmt.Errorf("write standard output: %w", out.err)
	}
	var usage *usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		fmt.Fprintf(a.stderr, "encbench %s: %v\nSee `encbench %s --help`.\n", c.name, err, c.name)
		return exitUsage
	case errors.Is(err, errQuiet):
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		fmt.Fprintf(a.stderr, "encbench %s: interrupted; nothing was written\n", c.name)
	default:
		fmt.Fprintf(a.stderr, "encbench %s: %v\n", c.name, err)
	}
	return exitFailure
}
