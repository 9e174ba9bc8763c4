//go:build cuda && linux && cgo && (amd64 || arm64)

package stub

/*
#cgo LDFLAGS: -L${SRCDIR}/lib -ldl -lpthread
#include "stub.h"
*/
import "C"

// Driver is what was found when the program started.
type Driver struct {
	Path    string   // the library that was looked for
	Error   string   // why it was not opened; "" where it was
	Fake    bool     // a driver of tests, on no GPU
	Init    int      // the code of cuInit; 100, no device, where no driver is
	Version int      // major × 1000 + minor × 10; 0 where the driver gives none
	Missing []string // functions that the driver lacks; calling one gives 500, not found
}

// State opens the driver, if no call to it did, and says what was found.
func State() Driver {
	var s C.encbench_driver
	C.encbench_driver_state(&s)
	d := Driver{Path: C.GoString(s.path), Fake: s.fake != 0, Init: int(s.init), Version: int(s.version)}
	if s.error != nil {
		d.Error = C.GoString(s.error)
	}
	for i := range s.missing {
		d.Missing = append(d.Missing, C.GoString(C.encbench_driver_missing(i)))
	}
	return d
}
