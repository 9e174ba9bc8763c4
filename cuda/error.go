package cuda

import (
	"errors"
	"fmt"
)

// ErrNotBuilt is the error of a program that was built without the tag cuda.
var ErrNotBuilt = errors.New("this program was built without CUDA; `make build` adds it where the CUDA header can be had, see BUILD.md")

// ErrClosed is the error of a Worker that is closed.
var ErrClosed = errors.New("cuda: the device is closed")

// Codes of the driver that decide what is done next.
const (
	CodeOutOfMemory     = 2
	codeUnavailable     = 46
	CodeNoDevice        = 100
	CodeECC             = 214
	CodeInvalidPTX      = 218
	CodeUnsupportedPTX  = 222
	CodeNotFound        = 500
	CodeNotReady        = 600
	CodeIllegalAddress  = 700
	CodeLaunchResources = 701
	CodeLaunchFailed    = 719
)

// sticky codes end the context: every later call gives the same code.
var sticky = map[int]bool{
	46: true, 214: true, 220: true, 226: true, 700: true, 702: true, 709: true, 710: true,
	714: true, 715: true, 716: true, 717: true, 718: true, 719: true, 999: true,
}

// Error is a call of the driver that failed.
type Error struct {
	Op     string // what was tried, with sizes
	Device int    // its ordinal; -1 where none is meant
	Code   int    // of the driver
	Name   string // CUDA_ERROR_…
	Text   string // the driver's own
	Log    string // of the compiler, for a module
}

// Error gives the operation, the device, code, name and text, and the compiler's log.
func (e *Error) Error() string {
	where := ""
	if e.Device >= 0 {
		where = fmt.Sprintf(" on device %d", e.Device)
	}
	s := fmt.Sprintf("cuda: %s%s: %d", e.Op, where, e.Code)
	if e.Name != "" {
		s += " " + e.Name
	}
	if e.Text != "" {
		s += ": " + e.Text
	}
	if e.Log != "" {
		s += "\n" + e.Log
	}
	return s
}

// Sticky says whether the device's context is lost with this error.
func (e *Error) Sticky() bool { return sticky[e.Code] }

// Is makes errors of the same code equal, whatever was tried.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Op == ""
}

// CodeOf gives the driver's code of an error, 0 where it has none.
func CodeOf(err error) int {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Code
	}
	return 0
}
