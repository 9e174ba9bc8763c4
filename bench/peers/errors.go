package peers

import (
	"errors"
	"fmt"
	"strings"
)

// Before a peer can run.
var (
	// ErrMissing is the cause when Python, or a package of the pinned environment,
	// is not there. Its text names the command that mends it.
	ErrMissing = errors.New("run `make peers`, which installs the pinned Python environment of bench/peers")
)

// While a peer runs.
var (
	// ErrDied is the cause when the worker process ended without answering.
	ErrDied = errors.New("peer process ended")
	// ErrClosed is returned by calls on a worker that was closed or has failed.
	ErrClosed = errors.New("peer process is closed")
	// ErrIDs is the cause when a peer's token ids are not ours: the times of the
	// two must not be compared.
	ErrIDs = errors.New("the peer's token ids differ from ours")
)

// Fault is an error that the worker reported; the process lives on.
type Fault struct {
	Command string // hello, load, input or run
	Peer    string // the peer that was loaded or asked for, "" when none
	Kind    string // missing, usage or failed
	Text    string // the worker's words
	Trace   string // where the worker was, for a fault of kind failed
}

// Error gives the command, the peer, the worker's words and its trace.
func (f *Fault) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "peer %s: %s: %s", orUnknown(f.Peer), f.Command, f.Text)
	switch {
	case f.Kind == "missing":
		fmt.Fprintf(&b, "; %v", ErrMissing)
	case f.Trace != "":
		fmt.Fprintf(&b, "\n%s", f.Trace)
	}
	return b.String()
}

// Unwrap gives ErrMissing for a fault of kind missing.
func (f *Fault) Unwrap() error {
	if f.Kind == "missing" {
		return ErrMissing
	}
	return nil
}

func orUnknown(peer string) string {
	if peer == "" {
		return "(none)"
	}
	return peer
}
